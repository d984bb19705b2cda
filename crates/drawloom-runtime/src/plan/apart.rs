//! Nodes that run as tasks of their own.
//!
//! Most nodes run where the one before them did, at the cost of a call. What some recorded tasks ask for takes more: workers
//! of another context, a team, a device, another try, children. Such a node is submitted when it is ready, as a child of the
//! run with a record of its own, and counts down the nodes that wait for it when that record is complete. So it can have
//! whatever a submitted task has, and other nodes pay nothing for it. It is the one part of a replay that allocates.

use std::ptr::NonNull;

use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use super::weave::in_program_order;
use crate::access::Frame;
use crate::core::{Core, Local};
use crate::error::{Error, ErrorKind};
use crate::sync::{Arc, lock};
use crate::task::body;
use crate::task::spec::Spec;

/// What the record of a task keeps that stands for a node.
pub(crate) struct NodeTask {
    pub(crate) plan: Arc<PlanState>,
    pub(crate) node: u32,
    /// Why it failed, or did not run.
    pub(crate) error: Option<Error>,
    /// Whether its own part was done all the same: it failed for a child.
    pub(crate) adopted: bool,
}

impl NodeTask {
    /// Begins the contributions of the node anew, and says where they are.
    pub(crate) fn begin_contributions(&self) -> &[*mut u8] {
        let rare = self.plan.pattern.nodes[self.node as usize].rare;
        self.plan.reset_contributions(rare);
        &self.plan.places[rare as usize]
    }
}

impl PlanState {
    /// Whether some nodes are tasks of their own.
    pub(crate) fn has_apart(&self) -> bool {
        self.pattern.apart
    }

    /// Whether a node is a task of its own.
    #[inline]
    pub(super) fn is_apart(&self, node: &Node) -> bool {
        node.rare != NO_RARE && self.pattern.rare[node.rare as usize].apart
    }

    /// Submits a node that is a task of its own.
    #[cold]
    pub(super) fn launch(&self, core: &Core, number: u32) {
        let node = &self.pattern.nodes[number as usize];
        let rare = &self.pattern.rare[node.rare as usize];
        let NodeWork::Task(task) = node.work else { unreachable!("only recorded tasks are tasks of their own") };
        let title = &self.pattern.titles[task as usize];
        let context = rare.context.unwrap_or_else(|| self.context());
        let mut spec = Spec::new(title.name, title.location, context);
        // Priorities of critical paths are for policies that follow nothing else.
        let counts = self.pattern.is_ranked(node.priority) || !core.context(context).follows_on;
        spec.priority = if counts { node.priority } else { 0 };
        spec.extras = rare.extras.as_ref().map(|extras| Box::new(extras.asked_for()));
        for arg in self.args(node) {
            spec.push(in_program_order(*arg));
        }
        let plan = lock(&self.held).clone().expect("a run holds its plan");
        let body = {
            let plan = Arc::clone(&plan);
            body::again(move |frame: &mut Frame<'_>| plan.pattern.bodies[task as usize](frame))
        };
        spec.extras().node = Some(NodeTask { plan, node: number, error: None, adopted: false });
        let because = self.given_up(core).or_else(|| self.fails_after(&rare.after));
        core.submit_node(self.run(), spec, body, because, |id| {
            core.tracer.node_task(id, self.run(), number);
        });
    }

    /// The task of a node is complete. Returns the plan when the run is over.
    pub(crate) fn end_apart(&self, core: &Core, local: &mut Local, task: &mut NodeTask) -> Option<Arc<PlanState>> {
        let number = task.node;
        match task.error.take() {
            None => {}
            Some(error) if error.kind() == ErrorKind::Cancelled => self.note_cancelled(core, number, error.root()),
            Some(error) if task.adopted => self.note_adopted(number, error),
            Some(error) => self.note_failed(number, error),
        }
        // The serial engine goes on by itself.
        if core.is_serial() {
            return None;
        }
        let node = &self.pattern.nodes[number as usize];
        for &other in self.later(node) {
            let waits = self.pattern.nodes[other as usize].waits;
            if waits == 1 || self.count_down(other) {
                // SAFETY: this thread has counted down the last that it waited for.
                core.give(self.context(), unsafe { self.ready(other) }, local.worker_in(self.context()));
            }
        }
        // SAFETY: this node has ended now, if no other one waits for it. The task's own count keeps the plan.
        unsafe { Self::count_ends(NonNull::from(self), core, local, usize::from(node.later_count == 0)) }
    }
}
