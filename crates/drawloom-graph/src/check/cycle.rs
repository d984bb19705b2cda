//! Shortest cycles: the witnesses of WF1 and S1.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::flow::Flow;
use super::serial::{Ordered, Orders};
use crate::diagnostic::{Because, OrderStep};
use crate::graph::components::strongly_connected;
use crate::graph::{EdgeId, Graph, NodeId};

/// How many edges the search for a *shortest* cycle may look at. Beyond that it keeps the shortest found so far.
const SEARCH: u64 = 50_000_000;

/// In how large a tangle of tasks the exact rule is asked about every pair, so that the cycle shown is a shortest one.
/// In larger tangles it is a shortest one among the orders that do not follow from others.
const MOST_TASKS: usize = 500;

/// One shortest cycle, as edges, for each strongly connected component among the nodes left over by a topological sort.
pub(crate) fn shortest_dataflow_cycles(graph: &Graph, flow: &Flow, tangled: &[u32]) -> Vec<Vec<EdgeId>> {
    let mut edge_of: FxHashMap<(u32, u32), EdgeId> = FxHashMap::default();
    for (id, edge) in graph.edges().iter().enumerate() {
        edge_of.entry((edge.from.0, edge.to.0)).or_insert(EdgeId::from_index(id));
    }
    components_of(tangled, flow.len(), |n| flow.out.nodes(n).iter().copied())
        .into_iter()
        .filter_map(|members| {
            let looped = members.iter().copied().find(|&n| flow.out.nodes(n).contains(&n));
            if let Some(node) = looped {
                return Some(vec![edge_of[&(node, node)]]);
            }
            let cycle = shortest(&members, |n| flow.out.nodes(n).iter().copied(), |_| true, &members)?;
            Some((0..cycle.len()).map(|i| edge_of[&(cycle[i], cycle[(i + 1) % cycle.len()])]).collect())
        })
        .collect()
}

/// For each strongly connected component with two or more tasks, a shortest cycle of tasks.
pub(crate) fn shortest_order_cycles(ordered: &Ordered<'_>, orders: &Orders, tangled: &[u32]) -> Vec<Vec<OrderStep>> {
    let flow = ordered.flow;
    let after = |n: u32| orders.successors(flow, n);
    let is_task = |n: u32| n < orders.nodes && flow.is_task(n);
    let mut cycles: Vec<Vec<OrderStep>> = components_of(tangled, orders.len(), after)
        .into_iter()
        .filter_map(|members| {
            let tasks: Vec<u32> = members.iter().copied().filter(|&n| is_task(n)).collect();
            if tasks.len() < 2 {
                return None;
            }
            let mut cycle = match tasks.len() <= MOST_TASKS {
                true => {
                    let exact = exact_orders(ordered, &tasks);
                    let direct = |n: u32| {
                        let data: &[u32] = if n < orders.nodes { flow.out.nodes(n) } else { &[] };
                        let rule: &[u32] = exact.get(&n).map_or(&[], |later| later);
                        data.iter().chain(rule).copied()
                    };
                    shortest(&members, direct, is_task, &tasks)?
                }
                false => shortest(&members, after, is_task, &tasks)?,
            };
            cycle.push(cycle[0]);
            Some(steps(ordered, &cycle, is_task))
        })
        .collect();
    cycles.sort_by_key(|c| c[0].before);
    cycles
}

/// For each of the tasks, those of them that rule E puts after it, pair by pair.
///
/// Gates leave out orders that follow from others, so a cycle through gates may be longer than the rule's shortest.
fn exact_orders(ordered: &Ordered<'_>, tasks: &[u32]) -> FxHashMap<u32, Vec<u32>> {
    let later = |before: u32| {
        let others = tasks.iter().copied().filter(move |after| *after != before);
        others.filter(|after| overwritten(ordered, before, *after).is_some()).collect()
    };
    tasks.iter().map(|&before| (before, later(before))).collect()
}

/// The components of the subgraph of the given nodes, each sorted, without single nodes that have no edge to themselves.
fn components_of<I>(nodes: &[u32], total: usize, after: impl Fn(u32) -> I) -> Vec<Vec<u32>>
where
    I: Iterator<Item = u32>,
{
    let mut place = vec![u32::MAX; total];
    for (at, &node) in nodes.iter().enumerate() {
        place[node as usize] = at as u32;
    }
    let component = strongly_connected(nodes.len(), |at| {
        after(nodes[at as usize]).map(|n| place[n as usize]).filter(|p| *p != u32::MAX)
    });
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); component.iter().max().map_or(0, |c| *c as usize + 1)];
    for (at, &c) in component.iter().enumerate() {
        groups[c as usize].push(nodes[at]);
    }
    groups.retain(|g| g.len() > 1 || after(g[0]).any(|n| n == g[0]));
    groups.iter_mut().for_each(|g| g.sort_unstable());
    groups.sort_unstable();
    groups
}

/// A cycle through at least two counted nodes (or, where every node counts, any cycle) with the fewest of them.
///
/// A breadth-first search from every start, in which steps to uncounted nodes are free, each search cut off at the best
/// length found so far. A gate may lie on the way to another task and again on the way back, so a node is searched
/// separately before and after the first other counted node.
fn shortest<I>(
    members: &[u32],
    after: impl Fn(u32) -> I,
    counts: impl Fn(u32) -> bool,
    starts: &[u32],
) -> Option<Vec<u32>>
where
    I: Iterator<Item = u32>,
{
    let place: FxHashMap<u32, u32> = members.iter().enumerate().map(|(at, &n)| (n, at as u32)).collect();
    let mut best: Option<Vec<u32>> = None;
    let mut best_length = u32::MAX;
    let mut looked = 0u64;
    // State 2p is member p before another counted node was met, 2p + 1 the same member after.
    let mut distance = vec![u32::MAX; 2 * members.len()];
    let mut came_from = vec![u32::MAX; 2 * members.len()];
    let mut touched: Vec<u32> = Vec::new();
    let mut queue: VecDeque<u32> = VecDeque::new();
    for &start in starts {
        let home = 2 * place[&start];
        for state in touched.drain(..) {
            distance[state as usize] = u32::MAX;
        }
        queue.clear();
        distance[home as usize] = 0;
        touched.push(home);
        queue.push_back(home);
        'search: while let Some(state) = queue.pop_front() {
            let d = distance[state as usize];
            if d + 1 >= best_length {
                break;
            }
            for next in after(members[state as usize / 2]) {
                looked += 1;
                let Some(&to) = place.get(&next) else { continue };
                if 2 * to == home {
                    // Back home without meeting another counted node is a gate leading a reader to itself.
                    if state % 2 == 1 {
                        best_length = d + 1;
                        best = Some(trace(members, &came_from, home, state));
                        break 'search;
                    }
                    continue;
                }
                let counted = counts(next);
                let to = 2 * to + u32::from(counted || state % 2 == 1);
                let reached = d + u32::from(counted);
                if reached < distance[to as usize] {
                    if distance[to as usize] == u32::MAX {
                        touched.push(to);
                    }
                    distance[to as usize] = reached;
                    came_from[to as usize] = state;
                    match counted {
                        true => queue.push_back(to),
                        false => queue.push_front(to),
                    }
                }
            }
        }
        if best_length <= 2 || looked > SEARCH && best.is_some() {
            break;
        }
    }
    best
}

fn trace(members: &[u32], came_from: &[u32], home: u32, last: u32) -> Vec<u32> {
    let mut path = vec![members[last as usize / 2]];
    let mut at = last;
    while at != home {
        at = came_from[at as usize];
        path.push(members[at as usize / 2]);
    }
    path.reverse();
    path
}

/// Cuts a path of nodes and gates into steps from one counted node to the next.
fn steps(ordered: &Ordered<'_>, path: &[u32], counts: impl Fn(u32) -> bool) -> Vec<OrderStep> {
    let mut steps = Vec::new();
    let mut from = 0;
    for at in 1..path.len() {
        if counts(path[at]) {
            steps.push(step(ordered, path[from], &path[from + 1..at], path[at]));
            from = at;
        }
    }
    steps
}

/// Why one task precedes another, given the nodes or gates between them on some path.
pub(crate) fn step(ordered: &Ordered<'_>, before: u32, between: &[u32], after: u32) -> OrderStep {
    let nodes = ordered.flow.len() as u32;
    let direct = between.is_empty() && !ordered.flow.out.nodes(before).contains(&after);
    let because = if direct || between.iter().any(|&n| n >= nodes) {
        let (reads, writes) = overwritten(ordered, before, after).expect("a gate leads from a reader to a mutator");
        Because::Overwrites { reads: NodeId(reads), writes: NodeId(writes) }
    } else {
        let path = std::iter::once(before).chain(between.iter().copied()).chain([after]);
        Because::Flow(path.map(NodeId).collect())
    };
    OrderStep { before: NodeId(before), after: NodeId(after), because }
}

/// The versions by which rule E orders two tasks: one that the first reads, and a later one that the second makes.
pub(crate) fn overwritten(ordered: &Ordered<'_>, before: u32, after: u32) -> Option<(u32, u32)> {
    let Ordered { graph, flow, topology, .. } = *ordered;
    let reads = flow.into.of(before).filter(|(_, l)| *l == crate::graph::Label::Read).map(|(d, _)| d);
    for d in reads {
        let region = ordered.region(d)?;
        let writes = flow
            .mutated(after)
            .filter(|&w| topology.position(w) > topology.position(d))
            .find(|&w| ordered.region(w).is_some_and(|r| graph.regions().may_alias(region, r)));
        if let Some(w) = writes {
            return Some((d, w));
        }
    }
    None
}

/// A chain of steps with the fewest tasks from one node to another, if there is one.
pub(crate) fn shortest_chain(ordered: &Ordered<'_>, orders: &Orders, from: u32, to: u32) -> Option<Vec<OrderStep>> {
    let flow = ordered.flow;
    let counts = |n: u32| n == to || n < orders.nodes && flow.is_task(n);
    let mut distance = vec![u32::MAX; orders.len()];
    let mut came_from = vec![u32::MAX; orders.len()];
    let mut queue = VecDeque::from([from]);
    distance[from as usize] = 0;
    while let Some(at) = queue.pop_front() {
        if at == to {
            break;
        }
        for next in orders.successors(flow, at) {
            let reached = distance[at as usize] + u32::from(counts(next));
            if reached < distance[next as usize] {
                distance[next as usize] = reached;
                came_from[next as usize] = at;
                if counts(next) { queue.push_back(next) } else { queue.push_front(next) }
            }
        }
    }
    if from == to || distance[to as usize] == u32::MAX {
        return None;
    }
    let mut path = vec![to];
    while path[path.len() - 1] != from {
        path.push(came_from[path[path.len() - 1] as usize]);
    }
    path.reverse();
    Some(steps(ordered, &path, counts))
}
