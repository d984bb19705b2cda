//! Everything that can be wrong with a description.

use std::collections::BTreeSet;

use super::fuse::heads;
use super::loops::{Loop, loops};
use super::order::{Order, order};
use super::regions::{Places, places};
use super::size::{Budget, MOST_SIGNALS, Measured, Size, sizes};
use super::together::together;
use super::{Description, Kind};
use crate::error::{Code, Diagnostic};
use crate::machine::span::Spans;

/// How a stream is to be run, as far as the check is concerned.
pub(crate) struct Wanted {
    pub(crate) budget: Budget,
    pub(crate) ordered: bool,
    /// Whether vectors reach over boundaries, if that was said.
    pub(crate) spans: Option<bool>,
    pub(crate) fuses: bool,
}

/// What a checked stream needs to run.
#[derive(Clone)]
pub(crate) struct Layout {
    pub(crate) places: Places,
    pub(crate) loops: Vec<Loop>,
    pub(crate) budget: Budget,
    pub(crate) sizes: Vec<Size>,
    /// Whether vectors reach over the boundaries of regions.
    pub(crate) spans: Spans,
    /// For each node that runs as part of another: that one.
    pub(crate) heads: Vec<Option<u32>>,
    /// How it keeps the order, if it does.
    pub(crate) order: Option<Order>,
    /// For each source, those that lead to a node to which it leads too.
    pub(crate) together: Vec<Vec<u32>>,
}

/// Checks a description, and finds everything that is wrong with it. `mistakes` were found while it was made.
pub(crate) fn check(of: &Description, mistakes: &[Diagnostic], wanted: &Wanted) -> Result<Layout, Vec<Diagnostic>> {
    let mut found = mistakes.to_vec();
    names(of, &mut found);
    numbers(of, &mut found);
    for node in of.nodes.iter().filter(|node| node.factory.is_none()) {
        let message = format!("node `{}` was begun, but it was not said what it runs", node.name);
        found.push(Diagnostic::new(Code::Unfinished, message));
    }
    for (number, channel) in (0_u32..).zip(&of.channels) {
        if channel.edge.is_none() {
            let message = format!("{} leads nowhere: connect it, or discard it", of.channel_name(number));
            found.push(Diagnostic::new(Code::Unconnected, message));
        }
    }
    if !of.nodes.iter().any(|node| matches!(node.kind, Kind::Source { .. })) {
        found.push(Diagnostic::new(Code::NoSource, "there is no source"));
    }
    let places = places(of);
    regions(of, &places, &mut found);
    let loops = loops(of, &places);
    check_loops(of, &places, &loops, &mut found);
    let order = wanted.ordered.then(|| order(of, &loops, &mut found));
    let spans = match wanted.spans {
        Some(true) => Spans::Always,
        Some(false) => Spans::Never,
        None => Spans::Short,
    };
    // Where something is wrong, nobody knows what would run as one; it would only need more.
    let heads = match wanted.fuses && found.is_empty() {
        true => heads(of, &places, &loops, spans, order.as_ref()),
        false => vec![None; of.nodes.len()],
    };
    let sizes = sizes(of, (&places, &loops, &heads), wanted.budget, None).unwrap_or_else(|more| {
        found.extend(more);
        Vec::new()
    });
    if !found.is_empty() {
        return Err(found);
    }
    let together = together(of);
    Ok(Layout { places, loops, budget: wanted.budget, sizes, spans, heads, order, together })
}

impl Layout {
    /// The same with queues for what was measured.
    pub(crate) fn sized(&self, of: &Description, measured: Measured<'_>) -> Self {
        let sizes = sizes(of, (&self.places, &self.loops, &self.heads), self.budget, measured);
        // What had enough memory has it still.
        Self { sizes: sizes.unwrap_or_else(|_| self.sizes.clone()), ..self.clone() }
    }
}

fn names(of: &Description, found: &mut Vec<Diagnostic>) {
    let mut seen = BTreeSet::new();
    for node in &of.nodes {
        if node.name.is_empty() {
            found.push(Diagnostic::new(Code::Name, "a node has an empty name"));
        } else if !seen.insert(&node.name) {
            found.push(Diagnostic::new(Code::Name, format!("two nodes are called `{}`", node.name)));
        }
        let mut channels = BTreeSet::new();
        for channel in &node.channels {
            let name = &of.channels[*channel as usize].name;
            if name.is_empty() {
                let message = format!("a channel of node `{}` has an empty name", node.name);
                found.push(Diagnostic::new(Code::Name, message));
            } else if !channels.insert(name) {
                let message = format!("two channels of node `{}` are called `{name}`", node.name);
                found.push(Diagnostic::new(Code::Name, message));
            }
        }
    }
}

fn numbers(of: &Description, found: &mut Vec<Diagnostic>) {
    for node in of.nodes.iter().filter(|node| node.signals.0.max(node.signals.1) > MOST_SIGNALS) {
        let message =
            format!("node `{}` declares more signals than the {MOST_SIGNALS} that may be raised at once", node.name);
        found.push(Diagnostic::new(Code::Memory, message));
    }
    let mut zero = |message: String| found.push(Diagnostic::new(Code::Zero, message));
    for node in &of.nodes {
        if node.width == 0 {
            zero(format!("node `{}` has a width of zero: it could never run", node.name));
        }
    }
    for (number, channel) in (0_u32..).zip(&of.channels) {
        if channel.most == Some(0) {
            zero(format!("{} may get no items at all", of.channel_name(number)));
        }
    }
    for region in &of.regions {
        if region.parents == 0 {
            zero(format!("the region of node `{}` has no room for a parent", of.nodes[region.node as usize].name));
        }
    }
    for (number, edge) in (0_u32..).zip(&of.edges) {
        if edge.growth == Some(0) {
            zero(format!("{} has a bound of zero: nothing could go around", of.edge_name(number)));
        }
    }
}

fn regions(of: &Description, places: &Places, found: &mut Vec<Diagnostic>) {
    for (number, channel) in (0_u32..).zip(&of.channels) {
        if channel.aggregates && places.of_node[channel.node as usize].is_empty() {
            let message = format!("{} aggregates, but the node is not inside of a region", of.channel_name(number));
            found.push(Diagnostic::new(Code::Aggregate, message));
        }
    }
    for (node, around) in of.nodes.iter().zip(&places.of_node) {
        if node.at_parents && around.is_empty() {
            let message = format!(
                "node `{}` does something at the begin or end of parents, but is inside of no region",
                node.name
            );
            found.push(Diagnostic::new(Code::Handler, message));
        }
        for region in node.handles.iter().filter(|region| !around.contains(region)) {
            let message = format!(
                "node `{}` handles boundaries of the region of node `{}`, which is not around it",
                node.name, of.nodes[of.regions[*region as usize].node as usize].name
            );
            found.push(Diagnostic::new(Code::Handler, message));
        }
    }
    for node in &of.nodes {
        let mut forward = node.inputs.iter().filter(|edge| !of.is_back(**edge));
        let Some(first) = forward.next() else { continue };
        for edge in forward {
            if places.of_edge[*edge as usize] != places.of_edge[*first as usize] {
                let around = |edge: u32| {
                    places.of_edge[edge as usize].last().map_or_else(
                        || "no region".to_owned(),
                        |r| format!("the region of node `{}`", of.nodes[of.regions[*r as usize].node as usize].name),
                    )
                };
                let channel = |edge: u32| of.channel_name(of.edges[edge as usize].channel);
                let message = format!(
                    "node `{}` joins {}, whose items are in {}, and {}, whose items are in {}",
                    node.name,
                    channel(*first),
                    around(*first),
                    channel(*edge),
                    around(*edge)
                );
                found.push(Diagnostic::new(Code::Join, message));
            }
        }
    }
}

fn check_loops(of: &Description, places: &Places, loops: &[Loop], found: &mut Vec<Diagnostic>) {
    let mut wrong = |message: String| found.push(Diagnostic::new(Code::Loop, message));
    for (number, edge) in (0_u32..).zip(&of.edges) {
        if edge.growth.is_none() {
            continue;
        }
        let from = of.from(number);
        let Some(one) = loops.iter().find(|one| one.head == edge.to) else { continue };
        if !one.nodes.contains(&from) || !one.nodes.contains(&edge.to) {
            wrong(format!(
                "{} leads back, but nothing leads from that node to this channel: make it an input of the node instead",
                of.edge_name(number)
            ));
        } else if places.of_edge[number as usize] != places.of_node[edge.to as usize] {
            wrong(format!("{} leads back into another region than its items are in", of.edge_name(number)));
        } else if !matches!(of.nodes[edge.to as usize].kind, Kind::Run | Kind::Select) {
            wrong(format!("{} leads back to a node that cannot be the head of a loop", of.edge_name(number)));
        } else if !matches!(of.nodes[from as usize].kind, Kind::Run) {
            let name = of.edge_name(number);
            wrong(format!(
                "{name} leads back from a node that has no function over a slice: `run` and `each` make such nodes"
            ));
        }
    }
    for (at, one) in loops.iter().enumerate() {
        let name = |node: u32| &of.nodes[node as usize].name;
        // The head alone knows how much room there is.
        let inside = |node: u32| one.nodes.contains(&node);
        let enters = |(number, edge): &(u32, &super::Edge)| {
            edge.growth.is_none() && edge.to != one.head && inside(edge.to) && !inside(of.from(*number))
        };
        for (number, _) in (0_u32..).zip(&of.edges).filter(enters) {
            wrong(format!(
                "{} leads into the loop of node `{}`, where items enter at that node only",
                of.edge_name(number),
                name(one.head)
            ));
        }
        for other in &loops[at + 1..] {
            if let Some(node) = one.nodes.iter().find(|n| other.nodes.contains(n)) {
                wrong(format!(
                    "node `{}` is in the loop of node `{}` and in that of node `{}`",
                    name(*node),
                    name(one.head),
                    name(other.head)
                ));
            }
        }
    }
}
