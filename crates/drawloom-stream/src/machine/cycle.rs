//! Loops: who may enter, and how they become empty.
//!
//! The queues of a loop's back edges hold everything that may be in the loop. So a node that pushes over a back edge always
//! has room, and need not wait for the head; it is the head that lets items in only while there is room for what they may
//! become. A signal passes the head only when the loop is empty: what came before it has left.

use super::Machine;
use super::status::{State, Wait};
use crate::plan::Description;
use crate::plan::check::Layout;
use crate::plan::loops::Loop;

/// A loop of a copy.
pub(crate) struct Cycle {
    pub(crate) head: u32,
    nodes: Vec<u32>,
    edges: Vec<u32>,
    regions: Vec<u32>,
    growth: usize,
    /// How many items may be in the loop.
    room: usize,
    /// How many items entered since it was empty.
    entered: usize,
}

impl Cycle {
    pub(super) fn new(description: &Description, plan: &Layout, one: &Loop) -> Self {
        let width = description.nodes[one.head as usize].width;
        let back = one.edges.iter().filter(|edge| description.is_back(**edge));
        let room = back.map(|edge| plan.sizes[*edge as usize].capacity - width).min().unwrap_or(0);
        Self {
            head: one.head,
            nodes: one.nodes.clone(),
            edges: one.edges.clone(),
            regions: one.regions.clone(),
            growth: one.growth,
            room,
            entered: 0,
        }
    }
}

impl Machine<'_> {
    /// How many items are in a loop: on its edges, and as parents of its regions. Where there are elements there is a parent, so they
    /// need not be counted.
    fn population(&self, cycle: u32) -> usize {
        let Cycle { edges, regions, .. } = &self.cycles[cycle as usize];
        let items = edges.iter().map(|edge| self.edges[*edge as usize].pipe.len());
        let parents = regions.iter().map(|region| self.regions[*region as usize].parents.kept());
        items.chain(parents).sum()
    }

    /// Whether a loop is empty.
    pub(crate) fn is_empty(&self, cycle: u32) -> bool {
        self.population(cycle) == 0
    }

    /// How many items may enter a loop now.
    pub(crate) fn may_enter(&mut self, cycle: u32) -> usize {
        let population = self.population(cycle);
        let one = &mut self.cycles[cycle as usize];
        if population == 0 {
            one.entered = 0;
        }
        // Where items do not multiply, each that has left makes room. Otherwise nobody knows what is still to come of those
        // that are left.
        let held = if one.growth == 1 { population } else { one.entered.saturating_mul(one.growth) };
        one.room.saturating_sub(held) / one.growth
    }

    /// Items enter a loop.
    pub(crate) fn enter(&mut self, cycle: u32, items: usize) {
        self.cycles[cycle as usize].entered += items;
    }

    /// The loop that a node is the head of.
    pub(crate) fn headed_by(&self, node: u32) -> Option<u32> {
        self.nodes[node as usize].cycle.filter(|cycle| self.cycles[*cycle as usize].head == node)
    }

    /// The head of a loop waits until the nodes of its loop have brought everything to an end.
    pub(crate) fn drain(&mut self, head: u32) {
        self.block(head, Wait::Loop);
        self.pass_drain(head);
        // All that was in the loop may wait at the head itself.
        self.look_after_loop(head);
    }

    /// A node that has nothing left tells those behind it in the loop, or knot, to bring everything to an end too.
    pub(crate) fn pass_drain(&mut self, node: u32) {
        let cycle = self.nodes[node as usize].cycle;
        for at in 0..self.nodes[node as usize].outputs.len() {
            let edge = &self.edges[self.nodes[node as usize].outputs[at] as usize];
            let (to, starved) = (edge.to, edge.starved);
            let in_loop = cycle.is_some_and(|cycle| self.cycles[cycle as usize].nodes.contains(&to));
            if !edge.back && (in_loop || self.is_inside(node, to)) {
                self.nodes[to as usize].status.draining = true;
                if starved {
                    self.unblock(to);
                } else {
                    self.activate(to);
                }
            }
        }
    }

    /// When all nodes of a loop are quiet, the head that waits for them goes on.
    pub(crate) fn look_after_loop(&mut self, node: u32) {
        let Some(cycle) = self.nodes[node as usize].cycle else { return };
        let head = self.cycles[cycle as usize].head;
        if self.nodes[head as usize].status.state != State::Blocked(Wait::Loop) {
            return;
        }
        let quiet = |node: &u32| {
            let status = &self.nodes[*node as usize].status;
            *node == head || (status.state == State::Inactive && !status.draining)
        };
        if self.cycles[cycle as usize].nodes.iter().all(quiet) {
            self.unblock(head);
        }
    }
}
