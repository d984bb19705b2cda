//! Task fusion: two tasks become one.
//!
//! The fused task is a call that holds both; `contract` says how its accesses follow from theirs. Fusing a call with a third
//! task nests the call.
//!
//! Fusion is legal when contracting the two keeps the graph acyclic under the exact ordering rule. A path from one to the
//! other through a third is a refusal with that path; everything else, such as a third task that must run between them
//! because it overwrites what the first reads, is found by checking the contracted graph.

use std::collections::{BTreeMap, BTreeSet};

use super::accept::{BUDGET, accept};
use super::contract::{contract, require_convex};
use super::edit::Edit;
use super::refusal::{Refusal, RefusalKind, rechecked, require_node, require_valid};
use super::sets::Sets;
use super::walk::positions;
use crate::graph::{Graph, Label, NodeId, NodeKind};

/// How many nodes are looked at to find out whether a path leads from a task to another around their common version.
const DETOUR: usize = 256;

/// How many pairs of versions read by two tasks are compared before their fusion is left to the check.
const PAIRS: usize = 1024;

/// How many names a fused task joins before it abbreviates.
const NAMES: usize = 8;

/// Makes one task of two, named after both.
///
/// Linear in the graph, plus two checks. Does not look into nested graphs.
pub fn fuse(graph: &Graph, first: NodeId, second: NodeId) -> Result<Graph, Refusal> {
    for node in [first, second] {
        require_node(graph, node)?;
        if graph.kind(node) != NodeKind::Task {
            let message = format!("{} is not a task; only tasks can be fused", graph.name(node));
            return Err(Refusal::new(RefusalKind::WrongNode, message));
        }
    }
    if first == second {
        let message = format!("{} cannot be fused with itself", graph.name(first));
        return Err(Refusal::new(RefusalKind::WrongNode, message));
    }
    require_valid(graph)?;
    require_convex(graph, &[first, second])?;
    let mut edit = Edit::new(graph);
    contract_named(&mut edit, &[first, second]);
    rechecked(edit.finish(), &format!("fusing {} and {}", graph.name(first), graph.name(second)))
}

/// Fuses producers with consumers, until nothing more can be fused.
///
/// A pair is fused when the one makes a version that only the other takes, by reading it, and when that is legal. Pairs
/// are taken in node order, all at once as far as the check allows (see `accept`), then again in the graph that results.
/// Near-linear when most pairs are legal; the number of checks is bounded, and pairs that it leaves unanswered stay apart.
/// Does not look into nested graphs.
pub fn fuse_chains(graph: &Graph) -> Result<Graph, Refusal> {
    require_valid(graph)?;
    let mut budget = BUDGET;
    let mut current = Edit::new(graph).finish();
    loop {
        let pairs = candidates(&current);
        let fused = accept(&pairs, &mut budget, |pairs| Some(contract_all(&current, pairs)));
        match fused {
            Some((_, graph)) => current = graph,
            None => return Ok(current),
        }
    }
}

/// Makes one call of tasks, named after them. The caller answers for validity.
fn contract_named(edit: &mut Edit<'_>, tasks: &[NodeId]) {
    let names: Vec<String> = tasks.iter().map(|t| edit.name(*t).into_owned()).collect();
    let name = match &names[..] {
        [first, .., last] if names.len() > NAMES => format!("{first}+...+{last}"),
        all => all.join("+"),
    };
    contract(edit, tasks, &name);
}

fn contract_all(graph: &Graph, pairs: &[(NodeId, NodeId)]) -> Graph {
    let mut sets = Sets::new(graph.nodes().len());
    pairs.iter().for_each(|(a, b)| sets.unite(a.index(), b.index()));
    let members: BTreeSet<NodeId> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let mut groups: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
    for node in members {
        groups.entry(sets.find(node.index())).or_default().push(node);
    }
    let position = positions(graph);
    let mut edit = Edit::new(graph);
    for mut group in groups.into_values() {
        group.sort_by_key(|n| position[n.index()]);
        contract_named(&mut edit, &group);
    }
    edit.finish()
}

/// Pairs of a producer and the only consumer of something it makes, without those that are surely illegal.
fn candidates(graph: &Graph) -> Vec<(NodeId, NodeId)> {
    let edit = Edit::new(graph);
    let position = positions(graph);
    let mut pairs = Vec::new();
    for version in graph.node_ids().filter(|n| graph.kind(*n) == NodeKind::Data) {
        let mut makers = edit.takes(version);
        let mut takers = edit.makes(version);
        let (Some(made), None) = (makers.next(), makers.next()) else { continue };
        let Some(taken) = takers.next().filter(|e| e.label == Label::Read) else { continue };
        let (producer, consumer) = (made.from, taken.to);
        if takers.all(|e| e.to == consumer)
            && graph.kind(producer) == NodeKind::Task
            && graph.kind(consumer) == NodeKind::Task
            && !has_detour(&edit, &position, producer, consumer)
            && !reads_overlap(&edit, producer, consumer)
        {
            pairs.push((producer, consumer));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Whether a path leads from the producer to the consumer through another compute node, or may do so.
fn has_detour(edit: &Edit<'_>, position: &[u32], producer: NodeId, consumer: NodeId) -> bool {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut todo: Vec<NodeId> = Vec::new();
    let direct = edit.edges_out(producer).flat_map(|e| match e.label {
        Label::HappensBefore => vec![e.to],
        _ => edit.makes(e.to).map(|taken| taken.to).collect(),
    });
    todo.extend(direct.filter(|n| *n != consumer));
    while let Some(node) = todo.pop() {
        if node == consumer || seen.len() > DETOUR {
            return true;
        }
        // Nothing after the consumer leads back to it.
        if position[node.index()] < position[consumer.index()] && seen.insert(node) {
            todo.extend(edit.edges_out(node).map(|e| e.to));
        }
    }
    false
}

/// Whether one task could not read what both read (rule T2).
fn reads_overlap(edit: &Edit<'_>, producer: NodeId, consumer: NodeId) -> bool {
    let made = |version: NodeId| edit.takes(version).any(|e| e.from == producer);
    let reads = |task: NodeId| edit.takes(task).filter(|e| e.label == Label::Read).map(|e| e.from);
    let ours: Vec<NodeId> = reads(producer).collect();
    let theirs: Vec<NodeId> = reads(consumer).filter(|v| !made(*v)).collect();
    if ours.len().saturating_mul(theirs.len()) > PAIRS {
        return false;
    }
    ours.iter().any(|a| {
        theirs.iter().any(|b| match (edit.region(*a), edit.region(*b)) {
            (Some(r), Some(s)) => a != b && edit.regions().may_alias(r, s),
            _ => false,
        })
    })
}
