//! Running a plan.
//!
//! A run is one task to everyone else: it is ordered by everything that the plan touches, and complete when its last node
//! is. Inside, nodes count down the nodes that wait for them. A worker that makes a node ready goes on with it at once, and
//! leaves further ones to others; where a plan starts with very many nodes, workers take them in shares that become smaller
//! towards the end.
//!
//! A run allocates nothing: counts, accumulators and arguments exist from the start, and are only reset.

use std::cell::{Cell, UnsafeCell};
use std::panic::Location;
use std::ptr::NonNull;

use drawloom_graph::IndexSet;

use super::compile::{Bound, Node, NodeWork, Pattern, accumulators};
use super::trouble::Trouble;
use crate::access::reduction::Accumulator;
use crate::access::{Arg, Mode, Scratchpad};
use crate::core::ready::Place;
use crate::core::{Core, Local, SharedLocal, reserve};
use crate::data::region::Region;
use crate::data::tree::Tree;
use crate::data::value::Value;
use crate::error::{Error, TaskOrigin};
use crate::policy::{Ready, ReadyKind, WorkerId};
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};
use crate::task::name::Name;
use crate::task::record::TaskId;
use crate::trace::nodes::{NodeLog, Nodes};
use crate::trace::tables::Mark;

/// A plan with more nodes than this that wait for nothing hands them out in shares.
const MANY_ROOTS: usize = 64;
/// The largest share.
const SHARE: usize = 32;

/// A plan on certain regions, and the state of its present run.
pub(crate) struct PlanState {
    pub(super) pattern: Arc<Pattern>,
    pub(super) bound: Bound,
    /// For each node, how many nodes it still waits for.
    pub(super) pending: Vec<AtomicU32>,
    ends: Padded<AtomicUsize>,
    next_root: Padded<AtomicUsize>,
    /// The plan itself, while it runs: nodes on their way to workers know only where it is.
    pub(super) held: Mutex<Option<Arc<PlanState>>>,
    /// The task that stands for the run.
    run: AtomicU64,
    /// The context in which it runs.
    context: AtomicU32,
    /// Whether the policy is asked for each node, instead of going on with one that the last one made ready.
    asks: AtomicBool,
    /// How often something had been cancelled when it began.
    pub(super) cancellations: AtomicU64,
    /// Whether anything went wrong in this run.
    pub(super) troubled: AtomicBool,
    pub(super) trouble: Mutex<Trouble>,
    pub(super) accumulators: Vec<Vec<UnsafeCell<Accumulator>>>,
    /// For each node with rare parts, where it contributes to.
    pub(super) places: Vec<Vec<*mut u8>>,
    /// Its number in a trace.
    pub(crate) mark: Mark,
    /// Updated by each run, so that runs of one plan follow each other.
    turn: Value<u8>,
}

// SAFETY: accumulators are used by the node they belong to, and by the fold after it, which the order of nodes keeps apart;
// arguments point to pieces that `bound.needs` keeps.
unsafe impl Send for PlanState {}
// SAFETY: as above.
unsafe impl Sync for PlanState {}

/// A node of a plan that runs, ready to be run itself; or a share of the nodes that wait for nothing.
///
/// This is the right to run the node. There is one of it, it cannot be copied, and the run is not complete before it was used:
/// so the plan is there for as long as this is.
#[derive(Debug)]
pub(crate) struct ReadyNode {
    plan: NonNull<PlanState>,
    node: u32,
    /// Whether the user gave the task a priority.
    pub(crate) ranked: bool,
}

// SAFETY: it is a reference to a plan, which is `Sync`.
unsafe impl Send for ReadyNode {}
// SAFETY: as above.
unsafe impl Sync for ReadyNode {}

/// In the place of a node: a share of the nodes that wait for nothing.
const SHARE_OF_ROOTS: u32 = u32::MAX;

impl ReadyNode {
    /// Runs the node, and what it makes ready on this worker. Returns the plan when its run is over.
    pub(crate) fn run(self, core: &Core, local: &mut Local) -> Option<Arc<PlanState>> {
        let ended = {
            // SAFETY: the run is not complete, as this node is not; the run holds the plan.
            let plan = unsafe { self.plan.as_ref() };
            plan.run_from(core, local, self.node)
        };
        // SAFETY: what has ended here was not counted before, unless that is nothing.
        unsafe { PlanState::count_ends(self.plan, core, local, ended) }
    }
}

/// What a thread that runs nodes is doing, for messages.
pub(crate) struct At<'a> {
    pub(crate) state: &'a PlanState,
    node: Cell<u32>,
}

impl<'a> At<'a> {
    pub(super) fn new(state: &'a PlanState) -> Self {
        Self { state, node: Cell::new(0) }
    }

    /// The task that is running.
    pub(crate) fn origin(&self) -> TaskOrigin {
        self.state.origin(self.node.get())
    }
}

impl PlanState {
    pub(super) fn new(core: &Arc<Core>, pattern: Arc<Pattern>, mut bound: Bound) -> Self {
        let mut accumulators = accumulators(&pattern, &bound);
        let mut place = |&(reduction, number): &(u32, u32)| {
            let accumulator = &mut accumulators[reduction as usize][number as usize];
            pattern.reductions[reduction as usize].folds.address(accumulator.get_mut())
        };
        let places = pattern.rare.iter().map(|rare| rare.joined.iter().map(&mut place).collect()).collect();
        let turn = core.make_turn(pattern.name.as_str());
        // SAFETY: the plan keeps the region.
        bound.whole.push(unsafe { Arg::new(turn.handle().piece(), Mode::LendUpdate) });
        Self {
            pending: pattern.nodes.iter().map(|n| AtomicU32::new(n.waits)).collect(),
            ends: Padded::default(),
            next_root: Padded::default(),
            held: Mutex::default(),
            run: AtomicU64::new(0),
            context: AtomicU32::new(0),
            asks: AtomicBool::new(false),
            cancellations: AtomicU64::new(0),
            troubled: AtomicBool::new(false),
            trouble: Mutex::default(),
            accumulators,
            places,
            mark: Mark::default(),
            turn,
            pattern,
            bound,
        }
    }

    pub(crate) fn core(&self) -> &Core {
        &self.turn.handle().root.core
    }

    pub(crate) fn name(&self) -> Name {
        self.pattern.name
    }

    /// The task that stands for the present run.
    pub(crate) fn run(&self) -> TaskId {
        TaskId::from_bits(self.run.load(Ordering::Relaxed))
    }

    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.pattern.location
    }

    /// Everything that a run touches.
    pub(crate) fn whole(&self) -> &[Arg] {
        &self.bound.whole
    }

    /// Spoils what a run would have written.
    pub(crate) fn spoil(&self, because: &Error) {
        for (root, ..) in &self.bound.needs {
            let (args, tree) = (self.bound.args.iter().chain(&self.bound.folds), root.tree());
            let written = args.filter(|arg| arg.mode().mutates() && std::ptr::eq(arg.piece().tree(), tree));
            let indices = IndexSet::from_runs(written.flat_map(|arg| arg.piece().indices.runs().iter().cloned()));
            tree.spoil(&indices, because);
        }
    }

    /// The first of the recorded tasks that reads an element.
    fn first_reader(&self, tree: &Tree, index: u64) -> String {
        let reads = |arg: &Arg| {
            arg.mode().reads() && std::ptr::eq(arg.piece().tree(), tree) && arg.piece().indices.contains(index)
        };
        let nodes = self.pattern.nodes.iter();
        let mut readers = nodes.zip(0..).filter(|(node, _)| self.args(node).iter().any(reads));
        readers.next().map_or_else(String::new, |(_, number)| format!("has {}, which", self.origin(number)))
    }

    /// What a run reads that was never written, if anything; and notes what it writes.
    pub(crate) fn missing(&self) -> Option<String> {
        let lacking = || self.bound.needs.iter().filter(|(root, ..)| root.tree().has_missing.load(Ordering::Relaxed));
        for (root, reads, _) in lacking() {
            let tree = root.tree();
            if let Some(index) = lock(&tree.missing).first_common(reads) {
                let reader = self.first_reader(tree, index);
                return Some(format!("{reader} reads region `{}`, whose element {index} was never written", tree.name));
            }
        }
        for (root, _, writes) in lacking() {
            let tree = root.tree();
            let mut missing = lock(&tree.missing);
            *missing = missing.difference(writes);
            tree.has_missing.store(!missing.is_empty(), Ordering::Relaxed);
        }
        None
    }

    /// The context in which the present run runs.
    pub(super) fn context(&self) -> u32 {
        self.context.load(Ordering::Relaxed)
    }

    /// The arguments of a node.
    #[inline]
    pub(super) fn args(&self, node: &Node) -> &[Arg] {
        &self.bound.args[node.first_arg as usize..(node.first_arg + node.arg_count) as usize]
    }

    /// The nodes that wait for a node.
    #[inline]
    pub(super) fn later(&self, node: &Node) -> &[u32] {
        &self.pattern.later[node.first_later as usize..(node.first_later + node.later_count) as usize]
    }

    pub(super) fn origin(&self, node: u32) -> TaskOrigin {
        match self.pattern.nodes[node as usize].work {
            NodeWork::Task(task) => self.pattern.titles[task as usize].origin(),
            _ => self.own_origin(),
        }
    }

    /// The name of the plan, and where it was recorded.
    pub(super) fn own_origin(&self) -> TaskOrigin {
        TaskOrigin { name: self.pattern.name.as_str().to_owned(), location: self.pattern.location }
    }

    /// Begins a run, on behalf of the task that stands for it.
    pub(crate) fn begin(self: &Arc<Self>, core: &Core, local: &mut Local, run: TaskId, context: u32) {
        let pattern = &*self.pattern;
        if pattern.nodes.is_empty() {
            core.end_run(local, run, None);
            return;
        }
        // Relaxed: the queues through which nodes reach workers order this, and all that follows.
        self.run.store(run.bits(), Ordering::Relaxed);
        self.context.store(context, Ordering::Relaxed);
        self.next_root.store(0, Ordering::Relaxed);
        self.cancellations.store(core.failures.cancellations(), Ordering::Relaxed);
        self.forget_trouble();
        *lock(&self.held) = Some(Arc::clone(self));
        if core.is_serial() {
            self.run_in_order(core, local);
            return;
        }
        let asks = pattern.ranked || !core.context(context).follows_on;
        self.asks.store(asks, Ordering::Relaxed);
        self.reset_counts();
        if pattern.roots.len() > MANY_ROOTS && !asks {
            let shares = core.workers.count.min(pattern.roots.len().div_ceil(SHARE));
            // Shares count as nodes that nobody waits for, so that the run is complete only after the last of them.
            self.set_ends(pattern.ends + shares);
            for _ in 0..shares {
                // SAFETY: counted above.
                core.give(context, unsafe { self.share() }, local.worker_in(context));
            }
        } else {
            self.set_ends(pattern.ends);
            for &root in &pattern.roots {
                // SAFETY: each root is given once, and waits for nothing.
                core.give(context, unsafe { self.ready(root) }, local.worker_in(context));
            }
        }
    }

    /// Every node waits for all nodes that it ever waits for.
    fn reset_counts(&self) {
        for (pending, node) in self.pending.iter().zip(&self.pattern.nodes) {
            pending.store(node.waits, Ordering::Relaxed);
        }
    }

    /// Nodes are about to be pushed; so many of those that are left are waited for by nobody.
    fn set_ends(&self, ends: usize) {
        self.ends.store(ends, Ordering::Relaxed);
    }

    /// A node that has become ready, for the policy.
    ///
    /// # Safety
    /// The node is one of the present run that waits for nothing more, and this is called once for it.
    #[inline]
    pub(super) unsafe fn ready(&self, node: u32) -> Ready {
        let priority = self.pattern.nodes[node as usize].priority;
        let node = ReadyNode { plan: NonNull::from(self), node, ranked: self.pattern.is_ranked(priority) };
        Ready { what: ReadyKind::Node(node), priority }
    }

    /// A share of the nodes that wait for nothing.
    ///
    /// # Safety
    /// The share is one of those that `set_ends` has counted for the present run, and is neither taken nor complete.
    unsafe fn share(&self) -> Ready {
        let node = ReadyNode { plan: NonNull::from(self), node: SHARE_OF_ROOTS, ranked: false };
        Ready { what: ReadyKind::Node(node), priority: i32::MAX }
    }

    /// Runs all nodes one after the other: the serial engine.
    fn run_in_order(&self, core: &Core, local: &mut Local) {
        let mut scratch = local.take_scratch();
        let at = At::new(self);
        let worker = local.worker;
        core.running_nodes(local, &at, |_| match self.log(core, worker) {
            None => self.run_all(core, &at, &mut scratch, &mut ()),
            Some(mut log) => self.run_all(core, &at, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        self.finish(core, local);
    }

    fn run_all(&self, core: &Core, at: &At<'_>, scratch: &mut Scratchpad, log: &mut impl NodeLog) {
        // One thread runs everything, so nothing but the node before has to end first.
        let mut alone = true;
        for node in 0..self.pattern.nodes.len() as u32 {
            if self.is_apart(&self.pattern.nodes[node as usize]) {
                at.node.set(node);
                self.launch(core, node);
                // The log does not know when that one ended.
                alone = false;
                continue;
            }
            self.run_next(core, at, node, scratch, alone, log);
            alone |= self.pattern.nodes[node as usize].work != NodeWork::Nothing;
        }
    }

    /// Runs a node, unless the run was given up.
    #[inline]
    pub(super) fn run_next(
        &self,
        core: &Core,
        at: &At<'_>,
        number: u32,
        scratch: &mut Scratchpad,
        alone: bool,
        log: &mut impl NodeLog,
    ) {
        at.node.set(number);
        if !self.may_be_given_up(core) || !self.give_up(core, number, log) {
            self.run_node(core, number, scratch, alone, log);
        }
    }

    /// Where nodes that a thread runs are recorded, if they are. Asked once for many nodes.
    pub(super) fn log<'a>(&self, core: &'a Core, worker: Option<WorkerId>) -> Option<Nodes<'a>> {
        core.tracer.nodes(self.run(), worker)
    }

    /// Runs a node, or shares of the nodes that wait for nothing, and what that makes ready on this worker. Returns how many of
    /// these no other node waits for.
    fn run_from(&self, core: &Core, local: &mut Local, first: u32) -> usize {
        let context = self.context();
        let mut scratch = local.take_scratch();
        let at = At::new(self);
        let worker = local.worker;
        let ended = core.running_nodes(local, &at, |local| match (first, self.log(core, worker)) {
            (SHARE_OF_ROOTS, None) => self.follow_roots(core, local, context, &at, &mut scratch, &mut ()),
            (SHARE_OF_ROOTS, Some(mut log)) => self.follow_roots(core, local, context, &at, &mut scratch, &mut log),
            (_, None) => self.follow(core, local, context, &at, first, &mut scratch, &mut ()),
            (_, Some(mut log)) => self.follow(core, local, context, &at, first, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        ended
    }

    /// Runs shares until none are left. Returns how many of the nodes nobody waits for, and one for the share itself.
    fn follow_roots(
        &self,
        core: &Core,
        local: SharedLocal<'_>,
        context: u32,
        at: &At<'_>,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let roots = &self.pattern.roots;
        let workers = core.workers.count.max(1);
        let mut ended = 1;
        loop {
            if !core.place(local).may_go_on() {
                // Someone else goes on with the share, or this worker after an operation, if it still belongs to the context.
                // SAFETY: the share that this thread has, and does not count.
                core.give(context, unsafe { self.share() }, local.worker_in(context));
                return ended - 1;
            }
            // Relaxed: the counter only shares out numbers.
            let seen = self.next_root.load(Ordering::Relaxed);
            let share = (roots.len().saturating_sub(seen) / (4 * workers)).clamp(1, SHARE);
            let first = self.next_root.fetch_add(share, Ordering::Relaxed);
            if first >= roots.len() {
                return ended;
            }
            for &root in &roots[first..(first + share).min(roots.len())] {
                ended += self.follow(core, local, context, at, root, scratch, log);
            }
        }
    }

    /// Runs a node and, one after the other, nodes that it makes ready. Returns how many of them nobody waits for.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "they are what a thread has at hand, and bundling them costs time")]
    fn follow(
        &self,
        core: &Core,
        local: SharedLocal<'_>,
        context: u32,
        at: &At<'_>,
        first: u32,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let pattern = &*self.pattern;
        let asks = self.asks.load(Ordering::Relaxed);
        let place = core.place(local);
        let mut ended = 0;
        let mut next = Some(first);
        // Whether what runs next was made ready by a task that ran here just before.
        let mut direct = false;
        while let Some(number) = next.take() {
            let node = &pattern.nodes[number as usize];
            if self.is_apart(node) {
                at.node.set(number);
                self.launch(core, number);
                continue;
            }
            self.run_next(core, at, number, scratch, node.waits == 0 || (node.waits == 1 && direct), log);
            direct = node.work != NodeWork::Nothing;
            if node.later_count == 0 {
                ended += 1;
                continue;
            }
            let later = self.later(node);
            for (left, &other) in (0..later.len()).rev().zip(later) {
                // A node that waits for this one only needs no counting.
                if pattern.nodes[other as usize].waits > 1 {
                    let claims = left == 0 && next.is_none() && !asks;
                    let ready = if claims {
                        self.count_down_or_reserve(core, place, context, other)
                    } else {
                        self.count_down(other)
                    };
                    if !ready {
                        continue;
                    }
                }
                if next.is_none() && !asks && place.may_go_on() {
                    next = Some(other);
                } else {
                    // SAFETY: this thread has counted down the last that it waited for.
                    core.give(context, unsafe { self.ready(other) }, local.worker_in(context));
                }
            }
        }
        ended
    }

    /// One of the nodes that a node waits for is complete. True when it was the last one, and the node is the calling
    /// thread's to run or to give away.
    #[inline]
    pub(super) fn count_down(&self, node: u32) -> bool {
        let pending = &self.pending[node as usize];
        // The last one need not write: no thread looks at the count any more. A reservation is a different number.
        // Acquire and AcqRel: the one who runs the node sees what all earlier nodes did.
        pending.load(Ordering::Acquire) == 1 || pending.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// As [`PlanState::count_down`], by a worker that has nothing to go on with: it reserves the node, if that waits for one more.
    /// When the reservation is taken back others may end the run, and the plan with it, so that is the last it does.
    #[cold]
    fn count_down_or_reserve(&self, core: &Core, place: Place<'_>, context: u32, node: u32) -> bool {
        let policy = &core.context(context).policy;
        let has_nothing_else = || place.may_go_on() && policy.is_empty();
        let pending = &self.pending[node as usize];
        if !has_nothing_else() || !reserve::begin(pending) {
            return self.count_down(node);
        }
        reserve::watch(pending, has_nothing_else);
        reserve::take_back(pending)
    }

    /// Counts nodes that no other node waits for. Returns the plan when they were the last ones, and the run is over.
    ///
    /// # Safety
    /// The plan runs, and `ended` nodes that no other one waits for are complete and were not counted before; or `ended` is zero.
    /// The caller has no reference to the plan but through a count of its own: others may end the run.
    pub(super) unsafe fn count_ends(
        plan: NonNull<Self>,
        core: &Core,
        local: &mut Local,
        ended: usize,
    ) -> Option<Arc<PlanState>> {
        if ended == 0 {
            return None;
        }
        // SAFETY: the run is not complete before these nodes are counted, which is the last that is done with this reference.
        let ends = unsafe { &(*plan.as_ptr()).ends };
        // AcqRel: the last one sees what all nodes did, before the run is complete.
        let last = ends.fetch_sub(ended, Ordering::AcqRel) == ended;
        // SAFETY: this thread ends the run.
        last.then(|| unsafe { plan.as_ref() }.finish(core, local))
    }
}
