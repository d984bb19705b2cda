//! How large the queues are.
//!
//! A consumer that does not flush leaves up to a vector less one item in its queue. So a producer can always run if the queue
//! holds that, and all that one of its runs may push, and no less: `(W_down − 1) + k · W_up`. More than that makes fewer
//! changes from node to node. How much more is good depends on how much comes: what a channel declares is the most that may
//! come of an item, and often far more than does. So when a stream has run, its queues get room for some runs as they were, and
//! what is left of the memory goes where the items are.

use super::loops::Loop;
use super::regions::Places;
use super::{Description, Kind, RegionHead};
use crate::error::{Code, Diagnostic};
use crate::machine::signal::SIGNAL_BYTES;

/// What a queue would hold, if memory allows it: so many bytes. Outside of regions, and inside, where more is done once for all that a
/// queue holds.
const GOOD_BYTES: (usize, usize) = (8 << 10, 64 << 10);
/// What a queue would hold besides what one run may push: what comes of so many runs, as a rule. Outside of regions, and inside.
const GOOD_RUNS: (usize, usize) = (3, 7);
/// What a queue of signals would hold, if that is not too little and memory allows it: outside of regions, and inside, where
/// there is one for each parent and one more.
const GOOD_SIGNALS: (usize, usize) = (64, 2048);

/// What a queue in front of a sink would hold that may have to wait for its turn: all that comes of a chunk of the source.
const HELD_BYTES: usize = 256 << 10;

/// How large the queue of an edge is, and when it counts as full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) capacity: usize,
    /// The queue is full when it has less room than this.
    pub(crate) need: usize,
    pub(crate) signals: usize,
    pub(crate) signals_need: usize,
}

/// What the queues may use: so many bytes in each copy. `scale` fixes the room besides what must be: so many runs. Sinks of an
/// ordered stream may have to wait for their turn.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) memory: usize,
    pub(crate) scale: Option<usize>,
    pub(crate) ordered: bool,
}

/// How many items went over each edge in a run before, if there was one.
pub(crate) type Measured<'a> = Option<&'a [u64]>;

/// The sizes of all queues, or why they cannot be had.
pub(crate) fn sizes(
    of: &Description,
    (places, loops): (&Places, &[Loop]),
    Budget { memory, scale, ordered }: Budget,
    measured: Measured<'_>,
) -> Result<Vec<Size>, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let mut least_bytes = 0_usize;
    for region in &of.regions {
        let bytes = parent_bytes(region);
        least_bytes = least_bytes.saturating_add(bytes);
        if bytes > memory || u32::try_from(region.parents).is_err() {
            let name = &of.nodes[region.node as usize].name;
            let message = format!(
                "the {} parents that the region of node `{name}` may keep need {bytes} bytes in each copy, which may use {memory}",
                region.parents
            );
            wrong.push(Diagnostic::new(Code::Memory, message));
        }
    }
    let mut sizes: Vec<(Size, (usize, usize))> = Vec::with_capacity(of.edges.len());
    for (number, edge) in (0_u32..).zip(&of.edges) {
        let channel = &of.channels[edge.channel as usize];
        let (up, down) = (&of.nodes[channel.node as usize], &of.nodes[edge.to as usize]);
        let run = channel.most.map_or(Some(1), |most| most.checked_mul(up.width));
        let own = |one: &&Loop| one.head == edge.to && edge.growth.is_some();
        // The queue of a back edge holds all that may be in the loop, and what a run of its head puts there meanwhile.
        let least = run.and_then(|run| match loops.iter().find(own) {
            Some(one) => one.growth.checked_mul(down.width)?.checked_add(down.width),
            None => run.max(channel.at_signal).checked_add(down.width - 1),
        });
        let item = channel.item_bytes.max(1);
        let bytes = least.and_then(|least| least.checked_mul(item));
        let (Some(run), Some(least), Some(bytes)) = (run, least, bytes) else {
            let message = format!("{} would hold more items than can be counted", of.edge_name(number));
            wrong.push(Diagnostic::new(Code::Memory, message));
            continue;
        };
        least_bytes = least_bytes.saturating_add(bytes);
        let need = run.max(channel.at_signal);
        let inside = !places.of_edge[number as usize].is_empty();
        let good = match (scale, channel.most) {
            (Some(scale), _) => need.saturating_mul(scale),
            (None, most) => {
                let expected = match measured.map(|items| expected(of, number, items)) {
                    Some(expected) => expected.min(most.map_or(usize::MAX, |_| need)),
                    None => most.map_or(up.width, |_| need),
                };
                let held = ordered && down.kind == Kind::Sink && down.settle.is_none();
                let (bytes, runs) = if inside { (GOOD_BYTES.1, GOOD_RUNS.1) } else { (GOOD_BYTES.0, GOOD_RUNS.0) };
                let good = if held { HELD_BYTES } else { bytes };
                need.saturating_add(expected.saturating_mul(runs)).max(good / item)
            }
        };
        let more =
            good.saturating_sub(need).min(if edge.growth.is_some() { need.saturating_mul(3) } else { usize::MAX });
        // An enumeration needs room for two boundaries, so that a parent that begins can end. Boundaries are forwarded
        // besides what a node raises itself.
        let raised = up.signals.0.max(up.signals.1.saturating_add(1)).max(2);
        let good_signals = if inside { GOOD_SIGNALS.1 } else { GOOD_SIGNALS.0 };
        let good_signals = scale.map_or(raised.max(good_signals), |scale| raised.saturating_mul(scale));
        least_bytes = least_bytes.saturating_add(raised.saturating_mul(SIGNAL_BYTES));
        let need = if edge.growth.is_some() { 0 } else { need };
        let size = Size { capacity: least, need, signals: raised, signals_need: raised };
        sizes.push((size, (more, good_signals - raised)));
    }
    if wrong.is_empty() && least_bytes > memory {
        let what = if of.regions.is_empty() { "the queues need" } else { "the queues and parents need" };
        let largest = largest(of, &sizes);
        let message = format!("{what} at least {least_bytes} bytes in each copy, and may use {memory}: {largest}");
        wrong.push(Diagnostic::new(Code::Memory, message));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // What is left of the memory is shared evenly between items and signals, and among edges: evenly, or by what went over them.
    let left = (memory - least_bytes) / 2;
    let even = left / of.edges.len().max(1);
    let item_bytes = |edge: &super::Edge| of.channels[edge.channel as usize].item_bytes.max(1);
    let bytes = |(edge, items): (&super::Edge, &u64)| u128::from(*items) * item_bytes(edge) as u128;
    let all = measured.map(|items| of.edges.iter().zip(items).map(bytes).sum::<u128>()).filter(|all| *all > 0);
    let with_more = |(at, (size, (items, signals))): (usize, (Size, (usize, usize)))| {
        let edge = &of.edges[at];
        let share = match (all, measured) {
            // Half of it evenly: another run may be another one.
            (Some(all), Some(items)) => (even + (left as u128 * bytes((edge, &items[at])) / all) as usize) / 2,
            _ => even,
        };
        let signals = size.signals + signals.min(even / SIGNAL_BYTES);
        Size { capacity: size.capacity + items.min(share / item_bytes(edge)), signals, ..size }
    };
    Ok(sizes.into_iter().enumerate().map(with_more).collect())
}

/// What needs most of the memory, for a message.
fn largest(of: &Description, sizes: &[(Size, (usize, usize))]) -> String {
    let edges = (0_u32..).zip(sizes).map(|(edge, (size, _))| {
        let item = of.channels[of.edges[edge as usize].channel as usize].item_bytes.max(1);
        let bytes = size.capacity.saturating_mul(item).saturating_add(size.signals.saturating_mul(SIGNAL_BYTES));
        (bytes, of.edge_name(edge))
    });
    let regions = of.regions.iter().map(|region| {
        let name = format!("the parents of node `{}`", of.nodes[region.node as usize].name);
        (parent_bytes(region), name)
    });
    let mut all: Vec<(usize, String)> = edges.chain(regions).collect();
    // Those that need the same stay in their order.
    all.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let named: Vec<String> = all.iter().take(3).map(|(bytes, name)| format!("{bytes} for {name}")).collect();
    named.join(", ")
}

/// What the parents of a region need: beside each there are a few numbers.
fn parent_bytes(region: &RegionHead) -> usize {
    region.parents.saturating_mul(region.parent_bytes.saturating_add(32))
}

/// How many items a run of its producer pushes to an edge, as it was measured.
fn expected(of: &Description, edge: u32, items: &[u64]) -> usize {
    let up = &of.nodes[of.from(edge) as usize];
    let inputs: u64 = up.inputs.iter().map(|input| items[*input as usize]).sum();
    // A source has no inputs: a run of it is as much as there is room for.
    let gain = if inputs == 0 { 1.0 } else { items[edge as usize] as f64 / inputs as f64 };
    // A conversion of a number that is too large gives the largest there is.
    (gain * up.width as f64).ceil() as usize
}

#[cfg(test)]
mod tests {
    use super::{Budget, sizes};
    use crate::plan::loops::loops;
    use crate::plan::regions::places;
    use crate::{Stream, source};

    #[test]
    fn what_went_over_edges_decides_about_what_is_left_of_the_memory() {
        let mut stream = Stream::new("gains").width(100);
        let numbers = stream.source("numbers", source::range(0..1));
        let node = stream.node("few", numbers).channel::<u64>("much", 1).channel::<u64>("little", 50);
        let (much, little) = node.each(|_, _| {});
        stream.discard("a", much);
        stream.discard("b", little);
        let (of, memory) = (&stream.description, 60_000);
        let capacities = |memory, measured| {
            let sizes =
                sizes(of, (&places(of), &loops(of)), Budget { memory, scale: None, ordered: false }, measured).unwrap();
            let capacities: Vec<usize> = sizes.iter().map(|size| size.capacity).collect();
            assert!(8 * capacities.iter().sum::<usize>() <= memory);
            capacities
        };
        // So far all that is known of the last edge is that fifty items may come of each.
        let before = capacities(memory, None);
        let after = capacities(memory, Some(&[100_000, 99_000, 10]));
        assert!(after[0] > before[0] && after[1] > before[1] && after[2] < before[2], "{before:?} {after:?}");
        assert!(after[2] >= 99 + 50 * 100, "a run may still push all that is declared");
        // Where there is no run to learn from, or nothing came, shares are equal.
        assert_eq!(capacities(memory, Some(&[0, 0, 0]))[0], before[0]);
        assert_eq!(capacities(1 << 30, None)[..2], capacities(1 << 30, Some(&[9, 9, 9]))[..2]);
    }
}
