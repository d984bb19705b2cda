//! Unrolling: a repeat becomes one call for each iteration.
//!
//! The calls have the accesses of the repeat. What it writes, or reads and folds into, passes from each call to the next
//! through a new version; what it only reads is read by all of them; what it only folds into is folded into by all of them.
//! The last call makes the versions that the repeat made. The first call keeps the name of the repeat, the others and the
//! new versions get `#2`, `#3` and so on. Each call has its share of the cost, if one was given.
//!
//! [`reroll`](super::reroll) puts the repeat together again. Inline the calls to mix the iterations with the graph around.
//! Works on one level. Linear in the size of the result, plus two checks.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::{Edit, between};
use super::outline::body_of;
use super::refusal::{Refusal, RefusalKind, rechecked, require_node, require_valid};
use super::walk::DEEPEST;
use crate::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};
use crate::region::RegionId;

/// How many nodes and edges unrolling may make, those inside the calls included.
const LARGEST: u64 = 1 << 24;

/// Replaces a repeat by one call for each iteration. A repeat of no iterations disappears.
pub fn unroll(graph: &Graph, repeat: NodeId) -> Result<Graph, Refusal> {
    unroll_by(graph, repeat, u64::MAX)
}

/// Replaces a repeat by a shorter one, each of whose iterations is `factor` calls, and a call for each of the rest.
///
/// A factor of one changes nothing, a factor of zero is refused, and a factor beyond half the iterations unrolls them all.
pub fn unroll_by(graph: &Graph, repeat: NodeId, factor: u64) -> Result<Graph, Refusal> {
    require_node(graph, repeat)?;
    let name = graph.name(repeat);
    let Some((Control::Repeat(times), body)) = graph.body(repeat).map(|b| (b.control.clone(), b)) else {
        return Err(Refusal::new(RefusalKind::WrongControl, format!("{name} is not a repeat")));
    };
    if factor == 0 {
        return Err(Refusal::new(RefusalKind::TooLarge, format!("{name} cannot be cut into pieces of no iteration")));
    }
    require_valid(graph)?;
    let mut edit = Edit::new(graph);
    let whole = times / factor;
    let call = (Body::new(Control::Call, (*body.graph).clone()), 1);
    let steps = if factor == 1 && times > 0 {
        vec![(body.clone(), times)]
    } else if whole < 2 {
        vec![call; within_reach(graph, repeat, times)?]
    } else {
        let inner = one_iteration(&edit, repeat, within_reach(graph, repeat, factor)?);
        let mut steps = vec![(Body::new(Control::Repeat(whole), inner), whole * factor)];
        steps.extend(vec![call; within_reach(graph, repeat, times % factor)?]);
        steps
    };
    replace(&mut edit, repeat, steps, times)?;
    rechecked(edit.finish(), &format!("unrolling {name}"))
}

/// Refuses more copies than memory should hold.
fn within_reach(graph: &Graph, repeat: NodeId, copies: u64) -> Result<usize, Refusal> {
    let edges = graph.edges().iter().filter(|e| e.from == repeat || e.to == repeat).count() as u64;
    let inside = graph.body(repeat).map_or(0, |body| body.graphs().map(|g| weight(g, 0)).sum());
    let size = copies.saturating_mul(edges + inside + 1);
    if size > LARGEST {
        let message = format!("unrolling {} into {copies} calls would make {size} nodes and edges", graph.name(repeat));
        return Err(Refusal::new(RefusalKind::TooLarge, message));
    }
    Ok(copies as usize)
}

fn weight(graph: &Graph, depth: usize) -> u64 {
    let own = (graph.nodes().len() + graph.edges().len()) as u64;
    if depth >= DEEPEST {
        return own;
    }
    own + graph.bodies().flat_map(|(_, body)| body.graphs()).map(|g| weight(g, depth + 1)).sum::<u64>()
}

/// The graph of one iteration of the shorter repeat: that many calls, one after the other.
fn one_iteration(edit: &Edit<'_>, repeat: NodeId, calls: usize) -> Graph {
    let mut members: Vec<NodeId> = edit.takes(repeat).map(|e| e.from).chain(edit.makes(repeat).map(|e| e.to)).collect();
    members.push(repeat);
    members.sort_unstable();
    members.dedup();
    let alone = body_of(edit, &FxHashSet::from_iter([repeat]), &members);
    let node = NodeId::from_index(members.partition_point(|n| *n < repeat));
    let mut inner = Edit::new(&alone);
    if let Some(body) = alone.body(node) {
        let steps = vec![(Body::new(Control::Call, (*body.graph).clone()), 1); calls];
        let threads = Threads::new(&inner, node);
        threads.string(&mut inner, node, steps, calls as u64);
    }
    inner.finish()
}

/// Replaces a repeat by the given steps, each with the number of iterations it stands for.
fn replace(edit: &mut Edit<'_>, repeat: NodeId, steps: Vec<(Body, u64)>, times: u64) -> Result<(), Refusal> {
    let threads = Threads::new(edit, repeat);
    if !steps.is_empty() {
        threads.string(edit, repeat, steps, times);
        return Ok(());
    }
    let made: Vec<Edge> = edit.makes(repeat).collect();
    for edge in made {
        if edit.takes(edge.to).any(|e| e.from != repeat) {
            continue;
        }
        let region = edit.region(edge.to);
        let Some(before) = edit.takes(repeat).map(|e| e.from).find(|v| edit.region(*v) == region) else {
            let message = format!("{} never runs, and nothing else makes {}", edit.name(repeat), edit.name(edge.to));
            return Err(Refusal::new(RefusalKind::Boundary, message));
        };
        edit.replace_version(edge.to, before);
    }
    edit.remove_node(repeat);
    Ok(())
}

/// The regions whose versions pass from one iteration to the next.
pub(crate) struct Threads {
    /// The version made last, by region.
    made: FxHashMap<RegionId, NodeId>,
}

impl Threads {
    /// What a control node writes, or folds into after looking at it, passes on. What it folds into without looking does
    /// not: every iteration adds to the same version.
    pub(crate) fn new(edit: &Edit<'_>, node: NodeId) -> Self {
        let looks =
            |region: RegionId| edit.takes(node).any(|e| e.label != Label::Use && edit.region(e.from) == Some(region));
        let made = edit
            .makes(node)
            .filter_map(|e| Some((e.label, edit.region(e.to)?, e.to)))
            .filter(|(label, region, _)| *label == Label::Write || looks(*region))
            .map(|(_, region, version)| (region, version))
            .collect();
        Self { made }
    }

    /// The version of a region that passes on, when it is one that does.
    pub(crate) fn made(&self, region: Option<RegionId>) -> Option<NodeId> {
        self.made.get(&region?).copied()
    }

    /// Whether nothing passes from one iteration to the next.
    pub(crate) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Puts steps in the place of a control node, one after the other.
    fn string(&self, edit: &mut Edit<'_>, node: NodeId, steps: Vec<(Body, u64)>, times: u64) {
        let (edges, stated): (Vec<Edge>, Vec<Edge>) = edit.edges_at(node).partition(|e| e.label.is_dataflow());
        let (name, place) = (edit.name(node).into_owned(), edit.place(node));
        let (cost, integer_name) = (edit.cost(node), edit.has_integer_name(node));
        edit.remove_node(node);
        let last = steps.len() - 1;
        // Where each region that passes on stands before the step.
        let mut current: FxHashMap<RegionId, NodeId> = FxHashMap::default();
        for (at, (body, iterations)) in steps.into_iter().enumerate() {
            let step = edit.add_node(&name, NodeKind::Task, None, place);
            edit.set_body(step, body);
            if let Some(cost) = cost {
                edit.set_cost(step, cost * (iterations as f64 / times as f64));
            }
            if at == 0 && integer_name {
                edit.mark_integer_name(step);
            }
            let mut made: FxHashMap<RegionId, NodeId> = FxHashMap::default();
            for &edge in &edges {
                let outward = edge.label.is_mutation();
                let data = if outward { edge.to } else { edge.from };
                let threaded = edit.region(data).filter(|r| self.made.contains_key(r));
                let version = match (threaded, outward) {
                    (Some(region), true) if at < last => {
                        let name = edit.name(data).into_owned();
                        let version = edit.add_node(&name, NodeKind::Data, Some(region), place);
                        made.insert(region, version);
                        version
                    }
                    (Some(region), false) => current.get(&region).copied().unwrap_or(data),
                    _ => data,
                };
                edit.connect(if outward { between(edge, step, version) } else { between(edge, version, step) });
            }
            current.extend(made);
            // Steps that pass something on are in order, so the first and the last of them stand for all.
            for &edge in &stated {
                let starts = edge.from == node;
                if self.is_empty() || at == if starts { last } else { 0 } {
                    edit.connect(if starts { between(edge, step, edge.to) } else { between(edge, edge.from, step) });
                }
            }
        }
    }
}
