//! How large the queues are.
//!
//! A consumer that does not flush leaves up to a vector less one item in its queue. So a producer can always run if the queue
//! holds that, and all that one of its runs may push, and no less: `(W_down − 1) + k · W_up`. More than that makes fewer
//! changes from node to node. How much more is good depends on how much comes: what a channel declares is the most that may
//! come of an item, and often far more than does. So when a stream has run, its queues get room for some runs as they were, and
//! what is left of the memory goes where the items are.

use super::Description;
use super::loops::Loop;
use super::need::{Need, needs, others};
use super::regions::Places;
use crate::error::{Code, Diagnostic};

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

/// More signals than this at once are a mistake.
pub(super) const MOST_SIGNALS: usize = 1 << 20;

/// So many of the parts that need most are named at least, where there is too little memory.
const NAMED: usize = 3;

/// How large the queue of an edge is, and when it counts as full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) capacity: usize,
    /// The queue is full when it has less room than this.
    pub(crate) need: usize,
    pub(crate) signals: usize,
    pub(crate) signals_need: usize,
}

/// What queues, parents and signals may use: so many bytes in each copy. `scale` fixes the room besides what must be: so many runs. Sinks of an
/// ordered stream may have to wait for their turn.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) memory: usize,
    pub(crate) scale: Option<usize>,
    pub(crate) ordered: bool,
}

/// How many items went over each edge in a run before, if there was one.
pub(crate) type Measured<'a> = Option<&'a [u64]>;

/// The size of a queue as it must be, and what it would have besides.
struct Wish {
    size: Size,
    more_items: usize,
    more_signals: usize,
}

/// The sizes of all queues, or why they cannot be had. `heads` says which nodes run as part of another.
///
/// What must be does not depend on anything else that may be wrong with the description, so that it can be said together with that.
pub(crate) fn sizes(
    of: &Description,
    (places, loops, heads): (&Places, &[Loop], &[Option<u32>]),
    budget: Budget,
    measured: Measured<'_>,
) -> Result<Vec<Size>, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let mut parts = others(of);
    for region in of.regions.iter().filter(|region| u32::try_from(region.parents).is_err()) {
        let name = &of.nodes[region.node as usize].name;
        let message =
            format!("the region of node `{name}` may keep {} parents, more than can be counted", region.parents);
        wrong.push(Diagnostic::new(Code::Memory, message));
    }
    let needs = needs(of, places, heads);
    let mut wishes = Vec::with_capacity(of.edges.len());
    for (number, need) in (0_u32..).zip(&needs) {
        let inside = !places.of_edge[number as usize].is_empty();
        let wish = wish(of, (number, inside), loops, budget, measured);
        match wish.as_ref().and_then(|wish| need.bytes(wish.size.capacity, wish.size.signals)) {
            Some(bytes) => parts.push((bytes, of.edge_name(number))),
            None => {
                let message = format!("{} would hold more items than can be counted", of.edge_name(number));
                wrong.push(Diagnostic::new(Code::Memory, message));
            }
        }
        wishes.extend(wish);
    }
    let least = parts.iter().fold(0_usize, |all, (bytes, _)| all.saturating_add(*bytes));
    if least > budget.memory {
        wrong.push(too_little(of, budget.memory, least, parts));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // What is left of the memory is shared evenly between items and signals, and among edges: evenly, or by what went over them.
    let left = (budget.memory - least) / 2;
    let even = left / of.edges.len().max(1);
    let bytes = |(need, items): (&Need, &u64)| u128::from(*items) * need.item as u128;
    let all = measured.map(|items| needs.iter().zip(items).map(bytes).sum::<u128>()).filter(|all| *all > 0);
    let with_more = |(at, (wish, need)): (usize, (Wish, &Need))| {
        let share = match (all, measured) {
            // Half of it evenly: another run may be another one.
            (Some(all), Some(items)) => (even + (left as u128 * bytes((need, &items[at])) / all) as usize) / 2,
            _ => even,
        };
        let Wish { size, more_items, more_signals } = wish;
        let signals = size.signals + more_signals.min(even / need.signal);
        Size { capacity: size.capacity + more_items.min(share / need.item), signals, ..size }
    };
    Ok(wishes.into_iter().zip(&needs).enumerate().map(with_more).collect())
}

/// What the queue of an edge would hold, whose items may be inside of a region; none if that cannot be counted.
fn wish(
    of: &Description,
    (number, inside): (u32, bool),
    loops: &[Loop],
    Budget { scale, ordered, .. }: Budget,
    measured: Measured<'_>,
) -> Option<Wish> {
    let edge = &of.edges[number as usize];
    let channel = &of.channels[edge.channel as usize];
    let (up, down) = (&of.nodes[channel.node as usize], &of.nodes[edge.to as usize]);
    let run = channel.most.map_or(Some(1), |most| most.checked_mul(up.width))?;
    let own = |one: &&Loop| one.head == edge.to && edge.growth.is_some();
    // The queue of a back edge holds all that may be in the loop, and what a run of its head puts there meanwhile.
    let least = match loops.iter().find(own) {
        Some(one) => one.growth.checked_mul(down.width)?.checked_add(down.width)?,
        // A width of zero is refused elsewhere.
        None => run.max(channel.at_signal).checked_add(down.width.saturating_sub(1))?,
    };
    let need = run.max(channel.at_signal);
    let good = match (scale, channel.most) {
        (Some(scale), _) => need.saturating_mul(scale),
        (None, most) => {
            let expected = match measured.map(|items| expected(of, number, items)) {
                Some(expected) => expected.min(most.map_or(usize::MAX, |_| need)),
                None => most.map_or(up.width, |_| need),
            };
            let held = ordered && down.delivers();
            let (bytes, runs) = if inside { (GOOD_BYTES.1, GOOD_RUNS.1) } else { (GOOD_BYTES.0, GOOD_RUNS.0) };
            let good = if held { HELD_BYTES } else { bytes };
            need.saturating_add(expected.saturating_mul(runs)).max(good / channel.item_bytes.max(1))
        }
    };
    let more_items =
        good.saturating_sub(need).min(if edge.growth.is_some() { need.saturating_mul(3) } else { usize::MAX });
    // An enumeration needs room for two boundaries, so that a parent that begins can end. Boundaries are forwarded besides what a
    // node raises itself. More signals than may be raised are refused elsewhere.
    let raised = up.signals.0.max(up.signals.1.saturating_add(1)).max(2);
    let raised = if raised > MOST_SIGNALS { 2 } else { raised };
    let good_signals = if inside { GOOD_SIGNALS.1 } else { GOOD_SIGNALS.0 };
    let good_signals = scale.map_or(raised.max(good_signals), |scale| raised.saturating_mul(scale));
    let need = if edge.growth.is_some() { 0 } else { need };
    let size = Size { capacity: least, need, signals: raised, signals_need: raised };
    Some(Wish { size, more_items, more_signals: good_signals - raised })
}

/// The memory is too little for all parts of a copy, of which it is said what they need at least.
fn too_little(of: &Description, memory: usize, least: usize, mut parts: Vec<(usize, String)>) -> Diagnostic {
    let what = if of.regions.is_empty() { "the queues need" } else { "the queues and parents need" };
    // Those that need the same stay in their order.
    parts.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    // The largest, until all others would fit; and some more, so that one sees what they are compared to.
    let (mut others, mut named) = (least, Vec::new());
    for (bytes, name) in parts {
        if others <= memory && named.len() >= NAMED {
            break;
        }
        others = others.saturating_sub(bytes);
        named.push(format!("{bytes} for {name}"));
    }
    let named = named.join(", ");
    let message = format!("{what} at least {least} bytes in each copy, and may use {memory}: {named}");
    Diagnostic::new(Code::Memory, message)
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
        let alone = vec![None; of.nodes.len()];
        let capacities = |memory, measured| {
            let places = places(of);
            let budget = Budget { memory, scale: None, ordered: false };
            let sizes = sizes(of, (&places, &loops(of, &places), &alone), budget, measured).unwrap();
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
