//! Running a plan.
//!
//! A run is one task to everyone else: it is ordered by everything that the plan touches, and complete when its last node
//! is. Inside, nodes count down the nodes that wait for them. A worker that makes a node ready goes on with it at once, and
//! leaves further ones to others; where a plan starts with very many nodes, workers take them in shares that become smaller
//! towards the end.
//!
//! A run allocates nothing: counts, accumulators and arguments exist from the start, and are only reset.

use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use drawloom_trace::EventKind;

use drawloom_graph::IndexSet;

use super::compile::{Bound, NO_RARE, Node, NodeWork, Pattern, accumulators};
use crate::access::reduction::{Accumulator, fold_all};
use crate::access::{Arg, Frame, Mode, Scratchpad};
use crate::core::{Core, Local, panic_said, returned};
use crate::data::region::Region;
use crate::error::{Error, ErrorKind, Result, TaskOrigin};
use crate::policy::Ready;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, Padded, lock};
use crate::task::future::Future;
use crate::task::record::TaskId;
use crate::trace::nodes::{NodeLog, Nodes};
use crate::trace::tables::Mark;

/// A plan with more nodes than this that wait for nothing hands them out in shares.
const MANY_ROOTS: usize = 64;
/// The largest share.
const SHARE: usize = 32;

/// Recorded tasks, checked and compiled. Running it costs little more than the tasks themselves.
///
/// Cloning gives another handle to the same plan. Runs of one plan follow each other; different plans run at the same time
/// as far as their data allows.
#[derive(Clone)]
pub struct Plan {
    core: Arc<Core>,
    state: Arc<PlanState>,
}

/// A plan on certain regions, and the state of its present run.
pub(crate) struct PlanState {
    pub(super) pattern: Arc<Pattern>,
    pub(super) bound: Bound,
    /// For each node, how many nodes it still waits for.
    pending: Vec<AtomicU32>,
    ends: Padded<AtomicUsize>,
    next_root: Padded<AtomicUsize>,
    /// The task that stands for the run.
    run: AtomicU64,
    accumulators: UnsafeCell<Vec<Vec<Accumulator>>>,
    /// Where those are.
    addresses: Vec<Vec<*mut u8>>,
    trouble: Mutex<Trouble>,
    /// Its number in a trace.
    pub(crate) mark: Mark,
    /// Whether a task failed that should have contributed to a reduction in this run.
    lost: AtomicBool,
    /// Updated by each run, so that runs of one plan follow each other.
    _turn: crate::data::value::Value<u8>,
}

/// What went wrong in a run.
#[derive(Default)]
struct Trouble {
    first: Option<Error>,
    cancelled: Vec<TaskOrigin>,
    /// Reductions that lack a contribution, and why.
    lacking: Vec<(u32, Error)>,
}

// SAFETY: accumulators are used by the node they belong to, and by the fold after it, which the order of nodes keeps apart;
// arguments point to pieces that `bound.needs` keeps.
unsafe impl Send for PlanState {}
// SAFETY: as above.
unsafe impl Sync for PlanState {}

/// What a thread that runs nodes is doing, for messages.
pub(crate) struct At<'a> {
    pub(crate) state: &'a PlanState,
    node: Cell<u32>,
}

impl At<'_> {
    /// The task that is running.
    pub(crate) fn origin(&self) -> TaskOrigin {
        self.state.origin(self.node.get())
    }
}

impl Plan {
    pub(super) fn new(core: &Arc<Core>, pattern: Arc<Pattern>, mut bound: Bound) -> Self {
        let mut accumulators = accumulators(&pattern, &bound);
        let addresses = pattern
            .reductions
            .iter()
            .zip(&mut accumulators)
            .map(|(reduction, list)| list.iter_mut().map(|a| reduction.folds.address(a)).collect())
            .collect();
        let turn = core.make_turn(pattern.name.as_str());
        bound.whole.push(Arg::new(turn.handle().piece(), Mode::LendUpdate));
        let state = PlanState {
            pending: pattern.nodes.iter().map(|n| AtomicU32::new(n.waits)).collect(),
            ends: Padded::default(),
            next_root: Padded::default(),
            run: AtomicU64::new(0),
            accumulators: UnsafeCell::new(accumulators),
            addresses,
            trouble: Mutex::default(),
            mark: Mark::default(),
            lost: AtomicBool::new(false),
            _turn: turn,
            pattern,
            bound,
        };
        Self { core: Arc::clone(core), state: Arc::new(state) }
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(super) fn state(&self) -> &PlanState {
        &self.state
    }

    /// Runs the plan once, and waits until it is complete.
    ///
    /// # Errors
    /// The first task that failed, with those that were cancelled for it.
    pub fn run(&self) -> Result<()> {
        self.start().wait()
    }

    /// Submits one run. It is ordered with other tasks and runs by the regions that the plan touches.
    pub fn start(&self) -> Future<()> {
        let id = self.core.submit_run(&self.state);
        Future::without_value(Arc::clone(&self.core), id)
    }

    /// How many tasks one run has.
    pub fn len(&self) -> usize {
        self.state.pattern.task_count
    }

    /// Whether a run does nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many nodes the plan has: tasks, folds of reductions, and points that stand for several tasks.
    pub fn nodes(&self) -> usize {
        self.state.pattern.nodes.len()
    }

    /// How many orders between nodes the plan keeps.
    pub fn edges(&self) -> usize {
        self.state.pattern.later.len()
    }

    /// The number of tasks on the longest chain: no machine can run the plan in fewer steps.
    pub fn depth(&self) -> usize {
        super::thin::depth(&self.state.pattern)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan({}, {} tasks)", self.state.pattern.name.as_str(), self.len())
    }
}

impl PlanState {
    pub(crate) fn name(&self) -> crate::task::name::Name {
        self.pattern.name
    }

    /// The task that stands for the present run.
    pub(crate) fn run(&self) -> TaskId {
        TaskId::from_bits(self.run.load(Ordering::Relaxed))
    }

    pub(crate) fn location(&self) -> &'static std::panic::Location<'static> {
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

    /// What a run reads that was never written, if anything; and notes what it writes.
    pub(crate) fn missing(&self) -> Option<String> {
        let lacking = || self.bound.needs.iter().filter(|(root, ..)| root.tree().has_missing.load(Ordering::Relaxed));
        for (root, reads, _) in lacking() {
            let tree = root.tree();
            if let Some(index) = lock(&tree.missing).first_common(reads) {
                return Some(format!("reads region `{}`, whose element {index} was never written", tree.name));
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

    fn origin(&self, node: u32) -> TaskOrigin {
        match self.pattern.nodes[node as usize].work {
            NodeWork::Task(task) => self.pattern.titles[task as usize].origin(),
            _ => TaskOrigin { name: self.pattern.name.as_str().to_owned(), location: self.pattern.location },
        }
    }

    /// Begins a run, on behalf of the task that stands for it.
    pub(crate) fn begin(self: &Arc<Self>, core: &Core, local: &mut Local, run: TaskId, context: u32) {
        let pattern = &*self.pattern;
        if pattern.nodes.is_empty() {
            core.end_run(local, run, None);
            return;
        }
        for (pending, node) in self.pending.iter().zip(&pattern.nodes) {
            // Relaxed: the queues through which nodes reach workers order this.
            pending.store(node.waits, Ordering::Relaxed);
        }
        self.run.store(run.bits(), Ordering::Relaxed);
        self.ends.store(pattern.ends, Ordering::Relaxed);
        self.next_root.store(0, Ordering::Relaxed);
        self.lost.store(false, Ordering::Relaxed);
        *lock(&self.trouble) = Trouble::default();
        if core.is_serial() {
            self.run_in_order(core, local);
            return;
        }
        // Nodes on their way to workers know only where the plan is, so the run holds it too: until `Core::run_plan` finds
        // that it is over.
        let _ = Arc::into_raw(Arc::clone(self)).expose_provenance();
        if pattern.roots.len() > MANY_ROOTS {
            let shares = core.workers.count.min(pattern.roots.len().div_ceil(SHARE));
            // Shares count as nodes that nobody waits for, so that the run is complete only after the last of them.
            self.ends.store(pattern.ends + shares, Ordering::Relaxed);
            for _ in 0..shares {
                core.push_node(local, context, Ready::share(self));
            }
        } else {
            for &root in &pattern.roots {
                core.push_node(local, context, Ready::node(self, root, pattern.nodes[root as usize].priority));
            }
        }
    }

    /// Runs all nodes one after the other: the serial engine.
    fn run_in_order(&self, core: &Core, local: &mut Local) {
        let mut scratch = local.take_scratch();
        let at = At { state: self, node: Cell::new(0) };
        core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.run_all(core, &at, &mut scratch, &mut ()),
            Some(mut log) => self.run_all(core, &at, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        self.finish(core, local);
    }

    fn run_all(&self, core: &Core, at: &At<'_>, scratch: &mut Scratchpad, log: &mut impl NodeLog) {
        for node in 0..self.pattern.nodes.len() as u32 {
            at.node.set(node);
            // One thread runs everything, so nothing but the node before has to end first.
            self.run_node(core, node, scratch, true, log);
        }
    }

    /// Where nodes that a thread runs are recorded, if they are. Asked once for many nodes.
    fn log<'a>(&self, core: &'a Core, local: &Local) -> Option<Nodes<'a>> {
        core.tracer.nodes(&self.mark, self.run(), local.worker)
    }

    /// Runs a node, and whatever it makes ready on this worker. True when the run is over.
    pub(crate) fn run_from(&self, core: &Core, local: &mut Local, context: u32, first: u32) -> bool {
        let mut scratch = local.take_scratch();
        let at = At { state: self, node: Cell::new(first) };
        let ended = core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.follow(core, local, context, &at, first, &mut scratch, &mut ()),
            Some(mut log) => self.follow(core, local, context, &at, first, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        self.count_ends(core, local, ended)
    }

    /// Runs shares of the nodes that wait for nothing, until none are left. True when the run is over.
    pub(crate) fn run_share(&self, core: &Core, local: &mut Local, context: u32) -> bool {
        let mut scratch = local.take_scratch();
        let at = At { state: self, node: Cell::new(0) };
        let ended = core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.follow_roots(core, local, context, &at, &mut scratch, &mut ()),
            Some(mut log) => self.follow_roots(core, local, context, &at, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        self.count_ends(core, local, ended)
    }

    /// Runs shares until none are left. Returns how many of the nodes nobody waits for, and one for the share itself.
    fn follow_roots(
        &self,
        core: &Core,
        local: &mut Local,
        context: u32,
        at: &At<'_>,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let roots = &self.pattern.roots;
        let workers = core.workers.count.max(1);
        let mut ended = 1;
        loop {
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
        local: &mut Local,
        context: u32,
        at: &At<'_>,
        first: u32,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let pattern = &*self.pattern;
        let mut ended = 0;
        let mut next = Some(first);
        // Whether what runs next was made ready by a task that ran here just before.
        let mut direct = false;
        while let Some(number) = next.take() {
            at.node.set(number);
            let node = &pattern.nodes[number as usize];
            self.run_node(core, number, scratch, node.waits == 0 || (node.waits == 1 && direct), log);
            direct = node.work != NodeWork::Nothing;
            if node.later_count == 0 {
                ended += 1;
                continue;
            }
            let later = node.first_later as usize..(node.first_later + node.later_count) as usize;
            for &other in &pattern.later[later] {
                let later = &pattern.nodes[other as usize];
                // A node that waits for this one only needs no counting.
                // AcqRel: the one who reaches zero sees what all earlier nodes did.
                if later.waits > 1 && self.pending[other as usize].fetch_sub(1, Ordering::AcqRel) != 1 {
                    continue;
                }
                if next.is_none() {
                    next = Some(other);
                } else {
                    core.push_node(local, context, Ready::node(self, other, later.priority));
                }
            }
        }
        ended
    }

    /// Counts nodes that nobody waits for. True when they were the last ones.
    fn count_ends(&self, core: &Core, local: &mut Local, ended: usize) -> bool {
        // AcqRel: the last one sees what all nodes did, before the run is complete.
        let last = ended > 0 && self.ends.fetch_sub(ended, Ordering::AcqRel) == ended;
        if last {
            self.finish(core, local);
        }
        last
    }

    fn finish(&self, core: &Core, local: &mut Local) {
        let trouble = std::mem::take(&mut *lock(&self.trouble));
        let count = trouble.cancelled.len() as u64;
        let error = trouble.first.map(|error| error.with_cancelled(trouble.cancelled, count));
        core.end_run(local, self.run(), error);
    }

    #[inline]
    fn run_node(&self, core: &Core, number: u32, scratch: &mut Scratchpad, alone: bool, log: &mut impl NodeLog) {
        let node = &self.pattern.nodes[number as usize];
        if node.work == NodeWork::Nothing {
            return;
        }
        log.start(alone);
        let outcome = match node.work {
            NodeWork::Task(task) => self.run_task(core, node, number, task, scratch),
            NodeWork::Fold(reduction) => self.fold(core, number, reduction),
            NodeWork::Nothing => EventKind::End,
        };
        log.end(number, outcome);
    }

    #[inline]
    fn run_task(&self, core: &Core, node: &Node, number: u32, task: u32, scratch: &mut Scratchpad) -> EventKind {
        let args = &self.bound.args[node.first_arg as usize..(node.first_arg + node.arg_count) as usize];
        // Contributions are private: it is the fold which depends on the contents.
        for arg in args.iter().filter(|a| a.mode().reads() && a.mode() != Mode::Reduce) {
            if let Some(because) = arg.piece().tree().spoiled(&arg.piece().indices) {
                return self.fail(number, args, Error::cancelled(self.origin(number), because));
            }
        }
        if let Err(error) = core.make_proper_here(args) {
            return self.fail(number, args, Error::of_task(error.kind(), self.origin(number), error.message()));
        }
        let body = &self.pattern.bodies[task as usize];
        let result = if node.rare == NO_RARE {
            let mut frame = Frame::new(args, &[], &[], scratch, &[]);
            catch_unwind(AssertUnwindSafe(|| body(&mut frame)))
        } else {
            self.run_rare(node, args, task, scratch)
        };
        match result {
            Ok(Ok(())) => {
                for arg in args.iter().filter(|a| a.mode().replaces()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
                EventKind::End
            }
            Ok(Err(error)) => self.fail(number, args, returned(self.origin(number), error)),
            Err(panic) => {
                self.fail(number, args, Error::of_task(ErrorKind::Panicked, self.origin(number), panic_said(panic)))
            }
        }
    }

    fn run_rare(
        &self,
        node: &Node,
        args: &[Arg],
        task: u32,
        scratch: &mut Scratchpad,
    ) -> std::thread::Result<crate::task::body::BodyResult> {
        let rare = &self.pattern.rare[node.rare as usize];
        // The identities of operators are the user's, as the body is.
        catch_unwind(AssertUnwindSafe(|| {
            let mut places = [std::ptr::null_mut(); 16];
            for (place, &(reduction, contribution)) in places.iter_mut().zip(&rare.joined) {
                let (reduction, contribution) = (reduction as usize, contribution as usize);
                // SAFETY: this accumulator belongs to this node alone until the fold, which waits for the node.
                let accumulator = unsafe { &mut (&mut *self.accumulators.get())[reduction][contribution] };
                self.pattern.reductions[reduction].folds.reset(accumulator);
                *place = self.addresses[reduction][contribution];
            }
            let mut frame = Frame::new(args, &rare.counts, &places[..rare.joined.len()], scratch, &rare.scratch);
            self.pattern.bodies[task as usize](&mut frame)
        }))
    }

    /// Folds a reduction into its piece.
    fn fold(&self, core: &Core, number: u32, reduction: u32) -> EventKind {
        let arg = self.bound.folds[reduction as usize];
        let tree = arg.piece().tree();
        let lacking = || {
            // Relaxed: whoever stored it is complete, which the order of nodes makes known here.
            let lost = self.lost.load(Ordering::Relaxed).then(|| lock(&self.trouble))?;
            lost.lacking.iter().find(|(of, _)| *of == reduction).map(|(_, because)| because.clone())
        };
        if let Some(because) = tree.spoiled(&arg.piece().indices).or_else(lacking) {
            return self.fail(number, &[arg], Error::cancelled(self.origin(number), because));
        }
        if let Err(error) = core.make_proper_here(&[arg]) {
            return self.fail(number, &[arg], Error::of_task(error.kind(), self.origin(number), error.message()));
        }
        let folds = &self.pattern.reductions[reduction as usize].folds;
        // SAFETY: all contributors are complete, and the next run has not begun.
        let list = unsafe { &mut (&mut *self.accumulators.get())[reduction as usize] };
        let folded = catch_unwind(AssertUnwindSafe(|| {
            fold_all(&**folds, list);
            // SAFETY: the node has exclusive access to the piece, whose elements have the reduction's type.
            unsafe { folds.apply(arg.piece(), tree.base(), &list[0]) };
        }));
        match folded {
            Ok(()) => EventKind::End,
            Err(panic) => {
                let error = Error::of_task(ErrorKind::Panicked, self.origin(number), panic_said(panic));
                self.fail(number, &[arg], error)
            }
        }
    }

    /// Notes that a node failed, or was cancelled for what another one did. Returns which of them.
    #[cold]
    fn fail(&self, number: u32, args: &[Arg], error: Error) -> EventKind {
        let node = &self.pattern.nodes[number as usize];
        let contributes = |arg: &Arg| matches!(node.work, NodeWork::Task(_)) && arg.mode() == Mode::Reduce;
        for arg in args.iter().filter(|a| a.mode().mutates() && !contributes(a)) {
            arg.piece().tree().spoil(&arg.piece().indices, error.because().unwrap_or(&error));
        }
        let mut trouble = lock(&self.trouble);
        if matches!(node.work, NodeWork::Task(_)) && node.rare != NO_RARE {
            for &(reduction, _) in &self.pattern.rare[node.rare as usize].joined {
                trouble.lacking.push((reduction, error.because().unwrap_or(&error).clone()));
                self.lost.store(true, Ordering::Relaxed);
            }
        }
        match error.because() {
            // What was spoiled before the run began is nobody's fault here, and is reported as it is.
            Some(because) if trouble.first.is_none() => trouble.first = Some(because.clone()),
            _ => {}
        }
        if error.because().is_some() {
            trouble.cancelled.push(self.origin(number));
            EventKind::Cancelled
        } else {
            trouble.first.get_or_insert(error);
            EventKind::Failed
        }
    }
}
