//! How large the queues are.
//!
//! A consumer that does not flush leaves up to a vector less one item in its queue. So a producer can always run if the queue
//! holds that, and all that one of its runs may push, and no less: `(W_down − 1) + k · W_up`. More than that makes fewer
//! changes from node to node.

use super::Description;
use super::loops::Loop;
use super::regions::Places;
use crate::error::{Code, Diagnostic};
use crate::machine::signal::SIGNAL_BYTES;

/// What a queue would hold, if memory allows it: so many bytes.
const GOOD_BYTES: usize = 32 << 10;
/// What a queue of signals would hold, if that is not too little and memory allows it: outside of regions, and inside, where
/// there is one for each parent and one more.
const GOOD_SIGNALS: (usize, usize) = (64, 2048);

/// How large the queue of an edge is, and when it counts as full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) capacity: usize,
    /// The queue is full when it has less room than this.
    pub(crate) need: usize,
    pub(crate) signals: usize,
    pub(crate) signals_need: usize,
}

/// The sizes of all queues, or why they cannot be had. `scale` fixes the room besides what must be: so many runs.
pub(crate) fn sizes(
    of: &Description,
    (places, loops): (&Places, &[Loop]),
    memory: usize,
    scale: Option<usize>,
) -> Result<Vec<Size>, Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    let mut least_bytes = 0_usize;
    for region in &of.regions {
        // Beside the parent there are a few numbers for each place.
        let bytes = region.parents.saturating_mul(region.parent_bytes.saturating_add(32));
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
        let good = match (scale, channel.most) {
            (Some(scale), _) => need.saturating_mul(scale),
            (None, Some(_)) => need.saturating_mul(4).max(GOOD_BYTES / item),
            (None, None) => up.width.saturating_mul(4).max(GOOD_BYTES / item),
        };
        let more =
            good.saturating_sub(need).min(if edge.growth.is_some() { need.saturating_mul(3) } else { usize::MAX });
        // An enumeration needs room for two boundaries, so that a parent that begins can end. Boundaries are forwarded
        // besides what a node raises itself.
        let raised = up.signals.0.max(up.signals.1.saturating_add(1)).max(2);
        let inside = !places.of_edge[number as usize].is_empty();
        let good_signals = if inside { GOOD_SIGNALS.1 } else { GOOD_SIGNALS.0 };
        let good_signals = scale.map_or(raised.max(good_signals), |scale| raised.saturating_mul(scale));
        least_bytes = least_bytes.saturating_add(raised.saturating_mul(SIGNAL_BYTES));
        let need = if edge.growth.is_some() { 0 } else { need };
        let size = Size { capacity: least, need, signals: raised, signals_need: raised };
        sizes.push((size, (more, good_signals - raised)));
    }
    if least_bytes > memory {
        let message = format!("the queues need at least {least_bytes} bytes in each copy, and may use {memory}");
        wrong.push(Diagnostic::new(Code::Memory, message));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    // What is left of the memory is shared evenly, among edges and between items and signals.
    let share = (memory - least_bytes) / of.edges.len().max(1) / 2;
    let with_more = |(edge, (size, (items, signals))): (&super::Edge, (Size, (usize, usize)))| {
        let item = of.channels[edge.channel as usize].item_bytes.max(1);
        let signals = size.signals + signals.min(share / SIGNAL_BYTES);
        Size { capacity: size.capacity + items.min(share / item), signals, ..size }
    };
    Ok(of.edges.iter().zip(sizes).map(with_more).collect())
}
