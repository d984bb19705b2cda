//! A serial order of the tasks, and the orders beyond dataflow that it has to respect.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::required::required;
use crate::check::serial::{Ordered, Orders, tangled};
use crate::check::{self, Findings, Options};
use crate::diagnostic::Report;
use crate::graph::components::strongly_connected;
use crate::graph::{Edge, Graph, Label, NodeId};

/// The most pairs that are listed one by one; beyond that, barriers stand between readers and mutators.
const MOST_PAIRS: usize = 20_000_000;

/// The order of a valid graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Every task, in a serial order that reproduces the dataflow; of several possible, the one with the smallest ids first.
    pub tasks: Vec<NodeId>,
    /// Pairs (before, after). Together with the dataflow their transitive closure over tasks is exactly the required order.
    ///
    /// Holds the orders stated in the graph and the ones derived by the exact rule. All are pairs of compute nodes of the
    /// graph unless `barriers` says otherwise.
    pub happens_before: Vec<(NodeId, NodeId)>,
    /// How many barriers the pairs use. Zero, except for graphs in which so many tasks must each precede so many others
    /// that listing the pairs would take more than twenty million of them. A barrier is numbered behind the nodes of the
    /// graph; what happens before a barrier happens before everything that the barrier happens before.
    pub barriers: usize,
}

impl Order {
    /// The name of a node or barrier in [`Order::happens_before`].
    pub fn name<'g>(&self, graph: &'g Graph, node: NodeId) -> Cow<'g, str> {
        match node.index().checked_sub(graph.nodes().len()) {
            None => graph.name(node),
            Some(barrier) => Cow::Owned(format!("barrier {barrier}")),
        }
    }
}

impl Graph {
    /// Checks the graph and orders its tasks. The report holds the violations when there is no order.
    pub fn order(&self) -> Result<Order, Report> {
        self.order_with(&Options::default())
    }

    /// Checks the graph, with options, and orders its tasks.
    pub fn order_with(&self, options: &Options<'_>) -> Result<Order, Report> {
        self.analyse(options, |ordered, orders| {
            let mut happens_before: Vec<(NodeId, NodeId)> =
                self.edges().iter().filter(|e| e.label == Label::HappensBefore).map(|e| (e.from, e.to)).collect();
            let mut barriers = 0;
            match required(ordered, MOST_PAIRS) {
                Some(pairs) => happens_before.extend(pairs.into_iter().map(|(a, b)| (NodeId(a), NodeId(b)))),
                None => {
                    let gates = Orders::new(ordered);
                    barriers = gates.len() - gates.nodes as usize;
                    for from in 0..gates.len() as u32 {
                        happens_before.extend(gates.after(from).iter().map(|to| (NodeId(from), NodeId(*to))));
                    }
                }
            }
            happens_before.sort_unstable();
            happens_before.dedup();
            Order { tasks: serial_order(ordered, orders), happens_before, barriers }
        })
    }

    /// The same graph with the given orders added as HappensBefore edges; orders that are there already are not added again.
    ///
    /// `None` when the orders use barriers, which a graph cannot hold.
    pub fn augmented(&self, order: &Order) -> Option<Graph> {
        if order.barriers > 0 {
            return None;
        }
        let mut stated: Vec<(NodeId, NodeId)> =
            self.edges().iter().filter(|e| e.label == Label::HappensBefore).map(|e| (e.from, e.to)).collect();
        stated.sort_unstable();
        let mut graph = self.clone();
        for &(before, after) in &order.happens_before {
            if stated.binary_search(&(before, after)).is_err() {
                graph.add_edge(Edge::new(before, after, Label::HappensBefore));
            }
        }
        Some(graph)
    }

    /// Checks the graph and hands the analysis to `use_it` when it is valid.
    pub(crate) fn analyse<T>(
        &self,
        options: &Options<'_>,
        use_it: impl FnOnce(&Ordered<'_>, Option<&Orders>) -> T,
    ) -> Result<T, Report> {
        let mut findings = Findings::new(options.most_per_rule);
        let mut result = None;
        check::run(self, options, &mut findings, |ordered, orders| result = Some(use_it(ordered, orders)));
        result.ok_or_else(|| findings.into_report())
    }
}

/// All tasks, smallest id first among those that may run.
fn serial_order(ordered: &Ordered<'_>, orders: Option<&Orders>) -> Vec<NodeId> {
    let (flow, topology) = (ordered.flow, ordered.topology);
    if orders.is_none() && topology.is_identity() {
        return (0..flow.len() as u32).filter(|n| flow.is_task(*n)).map(NodeId).collect();
    }
    let built;
    let orders = match orders {
        Some(orders) => orders,
        None => {
            built = Orders::new(ordered);
            &built
        }
    };
    let after = |n: u32| orders.successors(flow, n);
    let total = orders.len();
    // A task that gates lead back to itself forms a unit with them; everything that enters the unit precedes the task.
    let unit: Vec<u32> = match tangled(flow, orders).is_empty() {
        true => (0..total as u32).collect(),
        false => strongly_connected(total, after),
    };
    let units = unit.iter().max().map_or(0, |u| *u as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); units];
    let mut waiting = vec![0u32; units];
    let mut task = vec![u32::MAX; units];
    for n in 0..total as u32 {
        let own = unit[n as usize];
        members[own as usize].push(n);
        if n < orders.nodes && flow.is_task(n) {
            task[own as usize] = n;
        }
        after(n).filter(|to| unit[*to as usize] != own).for_each(|to| waiting[unit[to as usize] as usize] += 1);
    }
    // Tasks wait in a heap; everything else is passed at once, so that only tasks compete.
    let mut tasks: BinaryHeap<Reverse<(u32, u32)>> = BinaryHeap::new();
    let mut others: Vec<u32> = Vec::new();
    let mut result = Vec::new();
    let enqueue = |u: u32, tasks: &mut BinaryHeap<Reverse<(u32, u32)>>, others: &mut Vec<u32>| match task[u as usize] {
        u32::MAX => others.push(u),
        t => tasks.push(Reverse((t, u))),
    };
    (0..units as u32).filter(|u| waiting[*u as usize] == 0).for_each(|u| enqueue(u, &mut tasks, &mut others));
    loop {
        let u = match others.pop() {
            Some(u) => u,
            None => match tasks.pop() {
                Some(Reverse((t, u))) => {
                    result.push(NodeId(t));
                    u
                }
                None => return result,
            },
        };
        for &n in &members[u as usize] {
            for to in after(n).map(|to| unit[to as usize]).filter(|to| *to != u) {
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 {
                    enqueue(to, &mut tasks, &mut others);
                }
            }
        }
    }
}
