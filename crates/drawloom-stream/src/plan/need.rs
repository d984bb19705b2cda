//! How many bytes a copy needs.
//!
//! A copy has queues, places for parents, and what nodes keep of the user's types. Queues are sized so that all of it stays within the
//! memory of the stream: so whatever grows with the number of items or signals that may wait is counted where they wait. That is more
//! than the queue itself. Whoever consumes the items may need space for each of them, and the values of signals wait outside of the
//! queue. What a copy needs besides depends on the number of nodes only, and is not counted.

use super::fuse::gain;
use super::regions::Places;
use super::{Description, Kind};
use crate::machine::signal::SIGNAL_BYTES;

/// What is noted of a boundary by each node that runs as part of another: how many items were pushed before it, to each channel.
const NOTED_BYTES: usize = 2 * size_of::<u32>();

/// The values of so many signals may be under way besides those that wait: one that is handled, and one that is about to be raised.
const HANDLED: usize = 2;

/// What the queue of an edge needs, with what there is because of it.
#[derive(Clone, Copy)]
pub(crate) struct Need {
    /// For each item, and each signal, that there may be.
    pub(crate) item: usize,
    pub(crate) signal: usize,
    /// However many there may be.
    pub(crate) besides: usize,
}

impl Need {
    /// What it is for so many items and signals; none if that cannot be counted.
    pub(crate) fn bytes(&self, items: usize, signals: usize) -> Option<usize> {
        let (items, signals) = (items.checked_mul(self.item)?, signals.checked_mul(self.signal)?);
        items.checked_add(signals)?.checked_add(self.besides)
    }
}

/// What the queues need, in the order of edges. `heads` says which nodes run as part of another.
pub(crate) fn needs(of: &Description, places: &Places, heads: &[Option<u32>]) -> Vec<Need> {
    let carries = carries(of);
    let need = |(number, edge): (u32, &super::Edge)| {
        let (channel, down) = (&of.channels[edge.channel as usize], &of.nodes[edge.to as usize]);
        let item = channel.item_bytes.max(1);
        let slack = channel.slack.saturating_mul(channel.item_bytes);
        // What a node pushes to itself waits elsewhere until its run is over.
        let staged = match edge.growth.is_some() && channel.node == edge.to {
            true => gain(of, number).saturating_mul(down.width).saturating_mul(item).saturating_add(slack),
            false => 0,
        };
        let parts = heads.iter().filter(|head| **head == Some(edge.to)).count();
        let (for_item, for_signal) = match down.kind {
            _ if parts == 0 => (0, 0),
            // All nodes of a region run as one. There is a number for the end of each item, and what is noted of it.
            Kind::Enumerate(_) => (size_of::<u32>() + parts * NOTED_BYTES, 0),
            _ if places.of_node[edge.to as usize].is_empty() => (0, 0),
            _ => (0, parts * NOTED_BYTES),
        };
        let value = if carries[number as usize] { of.value_bytes } else { 0 };
        Need {
            item: item.saturating_add(down.bytes_for_each).saturating_add(for_item),
            signal: (SIGNAL_BYTES + for_signal).saturating_add(value),
            besides: slack.saturating_add(staged),
        }
    };
    (0_u32..).zip(&of.edges).map(need).collect()
}

/// What else a copy needs, each with its name for messages.
pub(crate) fn others(of: &Description) -> Vec<(usize, String)> {
    let name = |node: u32| &of.nodes[node as usize].name;
    let regions = of.regions.iter().map(|region| {
        let bytes = region.parents.saturating_mul(region.parent_bytes);
        (bytes, format!("the {} parents of node `{}`", region.parents, name(region.node)))
    });
    let nodes = (0_u32..).zip(&of.nodes).map(|(number, node)| (node.own_bytes, format!("node `{}`", name(number))));
    let values = if carries(of).contains(&true) { of.value_bytes.saturating_mul(HANDLED) } else { 0 };
    let values = (values, "the signals that are handled".to_owned());
    regions.chain(nodes).chain([values]).filter(|(bytes, _)| *bytes > 0).collect()
}

/// How many bytes the values of signals may have, where queues have places for so many signals.
pub(crate) fn bytes_of_values(of: &Description, signals: impl Iterator<Item = usize>) -> usize {
    let waiting = signals.zip(carries(of)).filter(|(_, carries)| *carries).map(|(signals, _)| signals);
    waiting.fold(HANDLED, usize::saturating_add).saturating_mul(of.value_bytes)
}

/// Over which edges signals of the user's may come: over those from nodes that can raise some, and all behind them. None goes back.
fn carries(of: &Description) -> Vec<bool> {
    let mut carries = vec![false; of.edges.len()];
    if of.value_bytes == 0 {
        return carries;
    }
    // Inputs come from nodes before.
    for (number, node) in (0_u32..).zip(&of.nodes) {
        if node.raises || node.inputs.iter().any(|edge| carries[*edge as usize]) {
            of.outputs(number).filter(|edge| !of.is_back(*edge)).for_each(|edge| carries[edge as usize] = true);
        }
    }
    carries
}
