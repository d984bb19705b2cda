//! Re-rolling: calls of one nested graph, one after the other, become a repeat.
//!
//! Two control nodes follow each other as iterations when both run the same nested graph a known number of times, have the
//! same name up to a `#`, the same accesses and the same cost per iteration, and when everything that passes between them
//! passes only between them: what the first writes is taken by the second alone, and what both only read is one version.
//! Runs of such nodes become one repeat, in the place and with the name of the first.
//!
//! A repeat whose nested graph holds nothing but a repeat runs that one as often as both say.
//!
//! After [`unroll`](super::unroll) of a repeat of two or more iterations this gives back the graph it started from, in the
//! canonical order of [`renumber`](super::renumber), up to rounding of costs, provided the graph had no such runs before.
//! Looks into nested graphs, innermost first. Near-linear when few nested graphs are equal in size and different.

use rustc_hash::FxHashMap;

use super::accept::{BUDGET, accept};
use super::edit::{Edit, between};
use super::refusal::{Refusal, require_valid};
use super::unroll::Threads;
use super::walk::in_bodies;
use crate::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};

/// Makes repeats of runs of equal calls.
pub fn reroll(graph: &Graph) -> Result<Graph, Refusal> {
    require_valid(graph)?;
    reroll_at(graph, 0)
}

fn reroll_at(graph: &Graph, depth: usize) -> Result<Graph, Refusal> {
    let mut edit = Edit::new(graph);
    in_bodies(&mut edit, depth, reroll_at)?;
    let mut current = edit.finish();
    let mut budget = BUDGET;
    loop {
        // Calls of a repeat, rolled together, are a repeat of a repeat.
        current = merge_nested(&current);
        let runs = runs(&Edit::new(&current));
        let rolled = accept(&runs, &mut budget, |runs| {
            let mut edit = Edit::new(&current);
            runs.iter().for_each(|run| roll(&mut edit, run));
            Some(edit.finish())
        });
        match rolled {
            Some((_, graph)) => current = graph,
            None => return Ok(current),
        }
    }
}

/// How often a control node runs its nested graph, when that is known and at least once.
fn times(body: Option<&Body>) -> Option<u64> {
    match body?.control {
        Control::Call => Some(1),
        Control::Repeat(times) if times > 0 => Some(times),
        _ => None,
    }
}

/// Turns a repeat of nothing but a repeat into one repeat.
fn merge_nested(graph: &Graph) -> Graph {
    let mut edit = Edit::new(graph);
    for (node, body) in graph.bodies() {
        let Control::Repeat(outer) = body.control else { continue };
        let inner = &body.graph;
        let mut compute = inner.node_ids().filter(|n| inner.kind(*n).is_compute());
        let (Some(only), None) = (compute.next(), compute.next()) else { continue };
        let Some(nested) = inner.body(only) else { continue };
        let Control::Repeat(times) = nested.control else { continue };
        if let Some(total) = outer.checked_mul(times) {
            edit.set_body(node, Body::new(Control::Repeat(total), (*nested.graph).clone()));
        }
    }
    edit.finish()
}

/// All runs of two or more control nodes, each run in order.
fn runs(edit: &Edit<'_>) -> Vec<Vec<NodeId>> {
    let mut in_run = vec![false; edit.base().nodes().len()];
    let mut follows = vec![false; edit.base().nodes().len()];
    let control: Vec<NodeId> =
        edit.base().bodies().map(|(n, _)| n).filter(|n| times(edit.body(*n)).is_some()).collect();
    let mut peers = Peers::default();
    let next: Vec<(NodeId, NodeId)> =
        control.iter().filter_map(|n| Some((*n, next(edit, *n, &mut peers).filter(|m| *m != *n)?))).collect();
    next.iter().for_each(|(_, after)| follows[after.index()] = true);
    let after = |node: NodeId| next.binary_search_by_key(&node, |(n, _)| *n).ok().map(|at| next[at].1);
    let mut found = Vec::new();
    for &start in control.iter().filter(|n| !follows[n.index()]) {
        let mut run = vec![start];
        let mut total = times(edit.body(start)).unwrap_or(1);
        let mut at = start;
        while let Some(node) = after(at).filter(|n| !in_run[n.index()]) {
            let Some(sum) = times(edit.body(node)).and_then(|t| total.checked_add(t)) else { break };
            total = sum;
            in_run[node.index()] = true;
            run.push(node);
            at = node;
        }
        if run.len() > 1 {
            found.push(run);
        }
    }
    found
}

/// Control nodes that might be iterations of one repeat although nothing passes between them, sorted. Kept, since many
/// nodes ask for the same ones.
#[derive(Default)]
struct Peers(FxHashMap<Meeting, Vec<NodeId>>);

/// Where such nodes meet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Meeting {
    /// They make this version.
    Makers(NodeId),
    /// They take this version, and make nothing.
    Takers(NodeId),
    /// They touch nothing at all.
    Idle,
}

/// How many later nodes are compared with a node.
const NEAREST: usize = 8;

impl Peers {
    fn after(&mut self, edit: &Edit<'_>, node: NodeId) -> Vec<NodeId> {
        let meeting = |node: NodeId| match (edit.makes(node).next(), edit.takes(node).next()) {
            (Some(made), _) => Meeting::Makers(made.to),
            (None, Some(taken)) => Meeting::Takers(taken.from),
            (None, None) => Meeting::Idle,
        };
        let place = meeting(node);
        let peers = self.0.entry(place).or_insert_with(|| {
            let mut all: Vec<NodeId> = match place {
                Meeting::Makers(version) => edit.takes(version).map(|e| e.from).collect(),
                Meeting::Takers(version) => edit.makes(version).map(|e| e.to).collect(),
                Meeting::Idle => {
                    edit.base().bodies().map(|(n, _)| n).filter(|n| meeting(*n) == Meeting::Idle).collect()
                }
            };
            all.sort_unstable();
            all.dedup();
            all
        });
        let at = peers.partition_point(|n| *n <= node);
        peers[at..].iter().take(NEAREST).copied().collect()
    }
}

/// The control node that is the next iteration after this one.
fn next(edit: &Edit<'_>, node: NodeId, peers: &mut Peers) -> Option<NodeId> {
    let threads = Threads::new(edit, node);
    let candidates = if threads.is_empty() {
        // Nothing passes on: all iterations take the same, and fold into the same if into anything, in any order.
        peers.after(edit, node)
    } else {
        let passed = edit.makes(node).map(|e| e.to).find(|v| threads.made(edit.region(*v)) == Some(*v))?;
        vec![edit.makes(passed).next()?.to]
    };
    candidates.into_iter().find(|candidate| is_next(edit, node, *candidate, &threads))
}

fn is_next(edit: &Edit<'_>, first: NodeId, second: NodeId, threads: &Threads) -> bool {
    let (Some(a), Some(b)) = (edit.body(first), edit.body(second)) else { return false };
    let (Some(runs_a), Some(runs_b)) = (times(Some(a)), times(Some(b))) else { return false };
    let base = |node: NodeId| edit.name(node).split('#').next().map(str::to_owned);
    let share = |node: NodeId, runs: u64| edit.cost(node).map(|c| c / runs as f64);
    let alike = match (share(first, runs_a), share(second, runs_b)) {
        // Shares of one cost may differ in the last bits.
        (Some(x), Some(y)) => (x - y).abs() <= f64::EPSILON * 4.0 * x.abs().max(y.abs()),
        (None, None) => true,
        _ => false,
    };
    alike && base(first) == base(second) && same_accesses(edit, first, second, threads) && a.graph == b.graph
}

fn same_accesses(edit: &Edit<'_>, first: NodeId, second: NodeId, threads: &Threads) -> bool {
    let split = |node: NodeId| edit.edges_at(node).partition::<Vec<Edge>, _>(|e| e.label.is_dataflow());
    let ((flow_a, stated_a), (flow_b, stated_b)) = (split(first), split(second));
    let same_flow = flow_a.len() == flow_b.len()
        && flow_a.iter().zip(&flow_b).all(|(a, b)| {
            let outward = a.label.is_mutation();
            let data = |e: &Edge| if outward { e.to } else { e.from };
            let (old, new) = (data(a), data(b));
            let alike = between(*a, first, first) == between(*b, first, first) && edit.region(old) == edit.region(new);
            let fits = match (threads.made(edit.region(old)), outward) {
                (Some(passed), false) => new == passed,
                (Some(_), true) => {
                    new != old && edit.takes(old).count() == 1 && edit.makes(old).all(|e| e.to == second)
                }
                (None, _) => new == old,
            };
            alike && fits
        });
    let same_orders = if threads.is_empty() {
        let ends = |node: NodeId, list: &[Edge]| {
            let ends: Vec<(bool, NodeId)> =
                list.iter().map(|e| if e.from == node { (true, e.to) } else { (false, e.from) }).collect();
            ends
        };
        ends(first, &stated_a) == ends(second, &stated_b)
    } else {
        stated_a.iter().all(|e| e.to == first) && stated_b.iter().all(|e| e.from == second)
    };
    same_flow && same_orders
}

/// Puts one repeat in the place of a run.
fn roll(edit: &mut Edit<'_>, run: &[NodeId]) {
    let [first, .., last] = *run else { return };
    let Some(body) = edit.body(first).map(|b| b.graph.clone()) else { return };
    let total = run.iter().filter_map(|n| times(edit.body(*n))).sum();
    let costs: Option<f64> = run.iter().map(|n| edit.cost(*n)).sum();
    let (name, place, integer_name) = (edit.name(first).into_owned(), edit.place(first), edit.has_integer_name(first));
    let threads = Threads::new(edit, last);
    // The edges of the first, with what is made replaced by what the last makes.
    let final_version = |edge: &Edge| threads.made(edit.region(edge.to)).unwrap_or(edge.to);
    let mut edges: Vec<Edge> = edit
        .edges_at(first)
        .filter(|e| e.label != Label::HappensBefore || e.to == first)
        .map(|e| if e.label.is_mutation() { between(e, e.from, final_version(&e)) } else { e })
        .collect();
    edges.extend(edit.edges_out(last).filter(|e| e.label == Label::HappensBefore).map(|e| between(e, first, e.to)));
    let passed: Vec<NodeId> = run[..run.len() - 1]
        .iter()
        .flat_map(|n| edit.makes(*n).map(|e| e.to))
        .filter(|v| threads.made(edit.region(*v)).is_some())
        .collect();
    for node in run.iter().chain(&passed) {
        edit.remove_node(*node);
    }
    let repeat = edit.add_node(&name, NodeKind::Task, None, place);
    if integer_name {
        edit.mark_integer_name(repeat);
    }
    if let Some(cost) = costs {
        edit.set_cost(repeat, cost);
    }
    edit.set_body(repeat, Body { control: Control::Repeat(total), graph: body, otherwise: None });
    for edge in edges {
        edit.connect(if edge.from == first {
            between(edge, repeat, edge.to)
        } else {
            between(edge, edge.from, repeat)
        });
    }
}
