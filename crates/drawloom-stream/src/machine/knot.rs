//! Edges that part and join again, in an ordered stream: see [`plan::order`](crate::plan::order).
//!
//! The head of a knot is blocked after each step that pushes something into it, and lets the nodes of the knot bring that to an end
//! as the head of a loop does. A join takes what comes over an edge only when nothing more can come over those before it. If
//! something waits for that, the join is blocked, but does not count as active for the nodes that it waits for.

use super::Machine;
use super::status::{State, Wait};

impl Machine<'_> {
    /// The head of a knot waits until all that it has pushed into the knot is beyond it.
    pub(crate) fn tie(&mut self, node: u32) {
        let this = &self.nodes[node as usize];
        if !this.is_tied || this.status.state != State::Active {
            return;
        }
        let inside = |edge: &&u32| self.is_inside(node, self.edges[**edge as usize].to);
        let mut pipes = this.outputs.iter().filter(inside).map(|edge| &self.edges[*edge as usize].pipe);
        if pipes.any(|pipe| pipe.len() > 0 || pipe.signals().borrow().len() > 0) {
            self.block(node, Wait::Knot);
            self.pass_drain(node);
        }
    }

    /// Whether an edge from one node to another lies in a knot.
    pub(crate) fn is_inside(&self, from: u32, to: u32) -> bool {
        let mut knots = self.nodes[from as usize].knots.iter().map(|knot| &self.knots[*knot as usize]);
        knots.any(|knot| knot.nodes.contains(&to))
    }

    /// Whether a node has nothing to do, and nothing to pass on.
    fn is_quiet(&self, node: u32) -> bool {
        let status = &self.nodes[node as usize].status;
        status.state == State::Inactive && !status.draining
    }

    /// When all nodes of a knot are quiet, the head that waits for them goes on.
    pub(crate) fn look_after_knots(&mut self, node: u32) {
        for at in 0..self.nodes[node as usize].knots.len() {
            let knot = &self.knots[self.nodes[node as usize].knots[at] as usize];
            let head = knot.head;
            if self.nodes[head as usize].status.state == State::Blocked(Wait::Knot)
                && knot.nodes.iter().all(|node| self.is_quiet(*node))
            {
                self.unblock(head);
            }
        }
    }

    /// Whether something may still come over an edge into a node that is to be taken before what comes over this one. Nothing may over an
    /// edge whose next is a boundary that waits for the other edges: what is to come is behind it, and behind theirs.
    pub(crate) fn is_to_wait(&self, node: u32, input: usize) -> bool {
        let this = &self.nodes[node as usize];
        let is_open = |way: usize| {
            let mut edges = this.inputs.iter().filter(|one| one.input == way);
            !edges.any(|one| self.edges[one.edge as usize].pipe.signals().borrow().next_boundary().is_some())
        };
        let before = this.ways.iter().enumerate().take(input);
        before.filter(|(_, way)| way.iter().any(|node| !self.is_quiet(*node))).any(|(way, _)| is_open(way))
    }

    /// Whether something waits at an input of a node, or at one behind it.
    pub(crate) fn has_any_from(&self, node: u32, at: usize) -> bool {
        let mut pipes = self.nodes[node as usize].inputs[at..].iter().map(|one| &self.edges[one.edge as usize].pipe);
        pipes.any(|pipe| pipe.len() > 0 || pipe.signals().borrow().len() > 0)
    }

    /// A node waits for what may come over the inputs before this one.
    pub(crate) fn wait_for_ways(&mut self, node: u32, at: usize) {
        self.block(node, Wait::Boundary);
        self.starving += 1;
        for before in 0..at {
            let edge = self.nodes[node as usize].inputs[before].edge;
            self.edges[edge as usize].starved = true;
            self.uncount(edge);
        }
    }
}
