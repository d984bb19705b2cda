//! Nodes that run as tasks of their own.
//!
//! Most nodes run where the one before them did, at the cost of a call. What some recorded tasks ask for takes more: workers
//! of another context, a team, a device, another try, children. Such a node is submitted when it is ready, as a child of the
//! run with a record of its own, and counts down the nodes that wait for it when that record is complete. So it can have
//! whatever a submitted task has, and other nodes pay nothing for it. It is the one part of a replay that allocates.

use std::mem::MaybeUninit;

use super::capture::Taken;
use super::compile::{NO_RARE, Node, NodeWork};
use super::replay::PlanState;
use super::weave::in_program_order;
use crate::access::Frame;
use crate::core::{Core, Local};
use crate::error::{Error, ErrorKind};
use crate::task::body::{Body, BodyResult, BodyTable, Payload};
use crate::task::extras::Implementation;
use crate::task::record::PAYLOAD;
use crate::task::spec::Spec;
use crate::team::Bounds;

/// What a recorded task asks for that takes a task of its own.
#[derive(Clone, Default)]
pub(crate) struct Wishes {
    /// Where it runs; elsewhere than the run of its plan, perhaps.
    pub(super) context: Option<u32>,
    pub(super) retries: u32,
    pub(super) team: Option<Bounds>,
    pub(super) device: Option<u32>,
    pub(super) implementations: Vec<(u32, Implementation)>,
    pub(super) lends: bool,
}

impl Wishes {
    /// The wishes of a recorded task, if it has any.
    pub(super) fn of(task: &Taken) -> Option<Self> {
        let wishes = &task.wishes;
        let any = wishes.context.is_some()
            || wishes.retries > 0
            || wishes.team.is_some()
            || wishes.device.is_some()
            || !wishes.implementations.is_empty()
            || wishes.lends;
        any.then(|| wishes.clone())
    }
}

/// What the record of a task keeps that stands for a node.
pub(crate) struct NodeTask {
    /// The plan lives until its run is complete, which is after all its nodes.
    pub(crate) plan: *const PlanState,
    pub(crate) node: u32,
    /// Why it failed, or did not run.
    pub(crate) error: Option<Error>,
    /// Whether its own part was done all the same: it failed for a child.
    pub(crate) adopted: bool,
}

/// The body of a task that stands for a node: the address of the plan, and the number of the node.
static BODY: BodyTable = BodyTable { call: call_node, drop: |_| {}, again: true };

/// # Safety
/// The payload was made by `PlanState::launch`, and the run of the plan is not complete.
unsafe fn call_node<'v>(payload: *mut Payload, frame: &mut Frame<'v>) -> BodyResult {
    // SAFETY: promised by the caller; both words were written.
    let [plan, node] = unsafe { [(*payload)[0].assume_init(), (*payload)[1].assume_init()] };
    // SAFETY: promised by the caller: the run holds the plan.
    let plan: &'v PlanState = unsafe { &*std::ptr::with_exposed_provenance(plan as usize) };
    plan.call_apart(node as u32, frame)
}

impl PlanState {
    /// Whether some nodes are tasks of their own.
    pub(crate) fn has_apart(&self) -> bool {
        self.pattern.apart
    }

    /// Whether a node is a task of its own.
    #[inline]
    pub(super) fn is_apart(&self, node: &Node) -> bool {
        node.rare != NO_RARE && self.pattern.rare[node.rare as usize].wishes.is_some()
    }

    /// What a node needs a task of its own for.
    pub(super) fn wishes(&self, node: &Node) -> Option<&Wishes> {
        if node.rare == NO_RARE { None } else { self.pattern.rare[node.rare as usize].wishes.as_ref() }
    }

    /// Submits a node that is a task of its own.
    #[cold]
    pub(super) fn launch(&self, core: &Core, number: u32) {
        let node = &self.pattern.nodes[number as usize];
        let rare = &self.pattern.rare[node.rare as usize];
        let (NodeWork::Task(task), Some(wishes)) = (node.work, &rare.wishes) else {
            unreachable!("only recorded tasks have wishes")
        };
        let title = &self.pattern.titles[task as usize];
        let context = wishes.context.unwrap_or_else(|| self.context());
        let mut spec = Spec::new(title.name, title.location, context);
        // Priorities of critical paths are for policies that follow nothing else.
        let counts = self.pattern.is_ranked(node.priority) || !core.context(context).follows_on;
        spec.priority = if counts { node.priority } else { 0 };
        for arg in self.args(node) {
            spec.push(in_program_order(*arg));
        }
        let extras = spec.extras();
        extras.parameters.clone_from(&rare.parameters);
        extras.scratch.clone_from(&rare.scratch);
        extras.retries = wishes.retries;
        extras.team = wishes.team;
        extras.device = wishes.device;
        extras.implementations.clone_from(&wishes.implementations);
        let plan = std::ptr::from_ref(self);
        extras.node = Some(NodeTask { plan, node: number, error: None, adopted: false });
        let mut payload = [MaybeUninit::uninit(); PAYLOAD];
        payload[0] = MaybeUninit::new(plan.expose_provenance() as u64);
        payload[1] = MaybeUninit::new(u64::from(number));
        let because = self.given_up(core).or_else(|| self.fails_after(&rare.after));
        core.submit_node(self.run(), spec, Body { payload, table: &BODY }, because, |id| {
            core.tracer.node_task(id, self.run(), number);
        });
    }

    /// Runs the body of a node that is a task of its own.
    fn call_apart<'v>(&'v self, number: u32, frame: &mut Frame<'v>) -> BodyResult {
        let node = &self.pattern.nodes[number as usize];
        let NodeWork::Task(task) = node.work else { unreachable!("only recorded tasks are tasks of their own") };
        self.reset_contributions(node.rare);
        frame.contribute_to(&self.places[node.rare as usize]);
        self.pattern.bodies[task as usize](frame)
    }

    /// The task of a node is complete. True when the run is over.
    pub(crate) fn end_apart(&self, core: &Core, local: &mut Local, task: NodeTask) -> bool {
        let number = task.node;
        match task.error {
            None => {}
            Some(error) if error.kind() == ErrorKind::Cancelled => self.note_cancelled(core, number, error.root()),
            Some(error) if task.adopted => self.note_adopted(number, error),
            Some(error) => self.note_failed(number, error),
        }
        // The serial engine goes on by itself.
        if core.is_serial() {
            return false;
        }
        let node = &self.pattern.nodes[number as usize];
        // Read before the last node is pushed: from then on others may end the run, and the plan with it.
        let ended = usize::from(node.later_count == 0);
        for &other in self.later(node) {
            let waits = self.pattern.nodes[other as usize].waits;
            if waits == 1 || self.count_down(other) {
                core.push_node(local.worker_in(self.context()), self.context(), self.ready(other));
            }
        }
        ended > 0 && self.count_ends(core, local, ended)
    }
}
