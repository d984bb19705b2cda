//! How parallel an ordered graph is.

use std::collections::BTreeMap;

use crate::graph::adjacency::Lists;
use crate::graph::{Graph, NodeId, NodeKind};
use crate::order::Order;

/// Work, critical path and width of an ordered graph. A task without a cost counts as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The sum of all costs.
    pub work: f64,
    /// The cost of the critical path: no schedule is shorter.
    pub span: f64,
    /// The tasks of the critical path, first to last.
    pub critical_path: Vec<NodeId>,
    /// How many tasks run at each moment when each starts as early as it can: (time, running), one entry per change.
    pub width: Vec<(f64, u64)>,
}

impl Profile {
    /// The largest number of tasks that run at one moment.
    pub fn peak_width(&self) -> u64 {
        self.width.iter().map(|w| w.1).max().unwrap_or(0)
    }
}

impl Graph {
    /// Profiles a graph along its order. Negative costs count as zero.
    pub fn profile(&self, order: &Order) -> Profile {
        let n = self.nodes().len() + order.barriers;
        let edges = || self.edges().iter().map(|e| (e.from, e.to)).chain(order.happens_before.iter().copied());
        let after = Lists::grouped(n, edges().map(|(from, to)| (from.0, to.0)));
        let mut waiting = vec![0u32; n];
        edges().for_each(|(_, to)| waiting[to.index()] += 1);
        let cost = |node: u32| match self.nodes().get(node as usize).map(|n| n.kind()) {
            Some(NodeKind::Task) => self.cost(NodeId(node)).unwrap_or(1.0).max(0.0),
            _ => 0.0,
        };
        let mut start = vec![0.0f64; n];
        let mut last = vec![u32::MAX; n];
        let mut ready: Vec<u32> = (0..n as u32).filter(|i| waiting[*i as usize] == 0).collect();
        let (mut work, mut span, mut end) = (0.0, 0.0, None);
        let mut changes: BTreeMap<u64, i64> = BTreeMap::new();
        while let Some(node) = ready.pop() {
            let (begin, finish) = (start[node as usize], start[node as usize] + cost(node));
            if finish > begin {
                // Non-negative times sort like their bit patterns.
                *changes.entry(begin.to_bits()).or_default() += 1;
                *changes.entry(finish.to_bits()).or_default() -= 1;
            }
            work += cost(node);
            if self.nodes().get(node as usize).is_some_and(|k| k.kind() == NodeKind::Task)
                && (end.is_none() || finish > span)
            {
                (span, end) = (finish, Some(node));
            }
            for &to in after.get(node) {
                if finish > start[to as usize] || last[to as usize] == u32::MAX {
                    start[to as usize] = finish;
                    last[to as usize] = node;
                }
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 {
                    ready.push(to);
                }
            }
        }
        let mut critical_path = Vec::new();
        let mut at = end;
        while let Some(node) = at {
            if self.nodes().get(node as usize).is_some_and(|k| k.kind() == NodeKind::Task) {
                critical_path.push(NodeId(node));
            }
            at = Some(last[node as usize]).filter(|l| *l != u32::MAX);
        }
        critical_path.reverse();
        let mut running = 0i64;
        let width = changes
            .into_iter()
            .filter(|(_, change)| *change != 0)
            .map(|(time, change)| {
                running += change;
                (f64::from_bits(time), running as u64)
            })
            .collect();
        Profile { work, span, critical_path, width }
    }
}
