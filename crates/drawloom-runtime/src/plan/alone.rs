//! Runs by one worker alone.
//!
//! To hand a node over, a cache line or two must go from one core to another, which takes some hundred nanoseconds. Where
//! nodes are shorter than that, two workers are slower than one that runs all nodes in the order in which they were
//! recorded: it needs no queue, and counts nothing. Whether that is so is measured: a plan whose nodes are short is run both
//! ways, then as was faster, and the other way again now and then.
//!
//! Nodes may take longer this time than they did before. So a worker that runs alone looks at the clock, and when it has
//! taken longer than all workers together did, or somebody wants something of it, it counts for all nodes that are left what
//! they still wait for, and the run goes on as any other.

use std::sync::LazyLock;
use std::time::Instant;

use super::replay::{At, PlanState};
use crate::access::Scratchpad;
use crate::core::{Core, Local};
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::sync::{Arc, MODELLED};
use crate::trace::nodes::NodeLog;

/// A plan that takes less than so many nanoseconds for each node may be faster with one worker.
const SHORT: u64 = 400;

/// How often a way is tried before it is compared: the first time, nothing is in the caches.
const TRIES: u32 = 2;

/// After how many runs the slower way is tried again.
const AGAIN: u32 = 256;

/// After how many nodes a worker that runs alone looks at the clock.
const BETWEEN: usize = if MODELLED { 2 } else { 64 };

/// For how many nanoseconds the only worker runs alone, before it looks for something more urgent.
const LONG: u64 = 10_000_000;

/// What a node that is ready has for a count, until it is pushed.
const READY: u32 = u32::MAX;

/// How long runs of a plan took. Runs of one plan follow each other, so one thread at a time changes it, and all accesses are
/// relaxed: their order is that of the runs.
#[derive(Default)]
pub(super) struct Pace {
    together: Way,
    alone: Way,
    runs: AtomicU32,
    /// When the present run began, if it is for all workers.
    began: AtomicU64,
}

/// One way to run a plan.
#[derive(Default)]
struct Way {
    tries: AtomicU32,
    /// How many nanoseconds the shortest run took lately.
    best: AtomicU64,
}

impl Way {
    fn took(&self, time: u64) {
        let tries = self.tries.load(Ordering::Relaxed);
        self.tries.store(tries.saturating_add(1), Ordering::Relaxed);
        // What was shorter long ago is forgotten little by little.
        let best = self.best() + self.best() / 32;
        self.best.store(if tries == 0 { time } else { best.min(time) }, Ordering::Relaxed);
    }

    fn best(&self) -> u64 {
        self.best.load(Ordering::Relaxed)
    }

    fn is_known(&self) -> bool {
        self.tries.load(Ordering::Relaxed) >= TRIES
    }
}

impl Pace {
    /// Whether the next run, of so many nodes, is for one worker of several.
    fn goes_alone(&self, nodes: usize) -> bool {
        let runs = self.runs.load(Ordering::Relaxed);
        self.runs.store(runs.wrapping_add(1), Ordering::Relaxed);
        if MODELLED {
            return runs % 2 == 1;
        }
        if !self.together.is_known() || self.together.best() / nodes.max(1) as u64 > SHORT {
            return false;
        }
        if !self.alone.is_known() {
            return true;
        }
        let other_way = runs.is_multiple_of(AGAIN);
        (self.alone.best() < self.together.best()) != other_way
    }

    /// A run for all workers begins.
    pub(super) fn begin_together(&self) {
        self.began.store(now(), Ordering::Relaxed);
    }

    /// A run has ended.
    pub(super) fn end(&self) {
        let began = self.began.load(Ordering::Relaxed);
        if began > 0 {
            self.together.took(now() - began);
            self.began.store(0, Ordering::Relaxed);
        }
    }
}

/// Nanoseconds since some moment, and never none.
fn now() -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    if MODELLED { 1 } else { FIRST.elapsed().as_nanos() as u64 + 1 }
}

impl PlanState {
    /// Runs all nodes on this worker, if that is expected to be faster. False when it is not, and nothing was done.
    pub(super) fn run_alone(self: &Arc<Self>, core: &Core, local: &mut Local) -> bool {
        let nodes = self.pattern.nodes.len();
        let only = core.workers.count == 1;
        if self.has_apart() || !(only || self.pace.goes_alone(nodes)) {
            return false;
        }
        let start = now();
        let limit = if only { LONG } else { 2 * self.pace.together.best() };
        let mut scratch = local.take_scratch();
        let at = At::new(self);
        let done = core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.run_first(core, local, &at, start + limit, &mut scratch, &mut ()),
            Some(mut log) => self.run_first(core, local, &at, start + limit, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        let took = now() - start;
        // Whoever was disturbed knows nothing about the rest.
        if done == nodes || took > limit {
            self.pace.alone.took(took);
        }
        if done == nodes {
            self.finish(core, local);
        } else {
            self.let_others_in(core, local, done);
        }
        true
    }

    /// Runs nodes in the order in which they were recorded. Returns how many: all, or those until the end of its time.
    fn run_first(
        &self,
        core: &Core,
        local: &Local,
        at: &At<'_>,
        until: u64,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let nodes = self.pattern.nodes.len();
        let place = core.place(local);
        for number in 0..nodes {
            if number > 0 && (!place.may_go_on() || (number % BETWEEN == 0 && (MODELLED || now() > until))) {
                return number;
            }
            // Nothing but the node before has to end first.
            self.run_next(core, at, number as u32, scratch, true, log);
        }
        nodes
    }

    /// The first nodes were run, in their order. All others are counted anew, and those that are ready are handed out.
    #[cold]
    fn let_others_in(self: &Arc<Self>, core: &Core, local: &Local, done: usize) {
        let pattern = &*self.pattern;
        self.reset_counts();
        let mut ends = pattern.ends;
        // Relaxed: nobody else has the run yet, and the queues order this before what others do.
        for node in &pattern.nodes[..done] {
            ends -= usize::from(node.later_count == 0);
            for &other in self.later(node) {
                self.pending[other as usize].fetch_sub(1, Ordering::Relaxed);
            }
        }
        for pending in self.pending[done..].iter().filter(|pending| pending.load(Ordering::Relaxed) == 0) {
            pending.store(READY, Ordering::Relaxed);
        }
        self.hand_to_all(ends);
        for number in done..pattern.nodes.len() {
            // Relaxed: as above. What the first of them make ready has counts that become zero, but never this.
            if self.pending[number].load(Ordering::Relaxed) == READY {
                core.push_node(local, self.context(), self.ready(number as u32));
            }
        }
    }
}
