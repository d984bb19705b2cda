//! Runs in which workers walk along lanes side by side.
//!
//! Handing a node from one worker to another through counts and queues takes several cache lines, there and back. In a run of
//! this kind the [lanes](super::lanes) say before which node is whose. A worker takes a lane, runs its nodes in order, and says
//! how many are complete where somebody waits for that: one line goes one way. It waits for other lanes by looking at what they
//! say.
//!
//! Lanes are laid out before anybody knows how long nodes take, or whether all workers have time. So a run can be *broken off*
//! between any two nodes: by a worker that waits in vain for long, by one of whom somebody wants something, and when the run
//! takes longer than it did without lanes. Each worker leaves its lane then, lanes that nobody has taken are left as they are
//! taken, and the last one to leave counts for all nodes that are left what they still wait for: the run goes on as any other.
//!
//! | who | may do what |
//! |---|---|
//! | whoever begins the run | everything, before the first lane is in a queue |
//! | whoever has taken a lane | says how far it has come; leaves it once |
//! | the last who leaves | everything |

use super::lanes::{Lanes, Wait};
use super::pace::Way;
use super::replay::{At, PlanState};
use crate::access::Scratchpad;
use crate::access::awaited::Awaited;
use crate::core::ready::Place;
use crate::core::{Core, Local};
use crate::policy::Ready;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use crate::sync::{Arc, MODELLED, Padded, hint};
use crate::trace::nodes::NodeLog;

/// A worker looks so often at another lane without a pause: that lane is likely to be as far in a moment.
const HURRIED: u32 = if MODELLED { 1 } else { 64 };

/// After how many looks it sees whether it should go on waiting.
const BETWEEN: u32 = if MODELLED { 1 } else { 64 };

/// After how many nodes a worker sees whether the run takes too long.
const NODES: usize = if MODELLED { 2 } else { 64 };

/// For how many nanoseconds a worker waits at least: longer than a processor is taken away for what happens all the time. And for a
/// lane that nobody has taken yet, as waking a worker takes long.
const PATIENCE: u64 = 100_000;
const PATIENCE_FOR_NOBODY: u64 = 1_000_000;

/// What workers on lanes tell each other.
#[derive(Default)]
pub(super) struct Abreast {
    /// Whether the present run is of this kind, and whether it is to be broken off. Rarely written, and looked at often.
    is_on: AtomicBool,
    breaks: AtomicBool,
    /// How many lanes nobody has left.
    left: Padded<AtomicUsize>,
    walks: Box<[Walk]>,
}

/// How far a lane has come.
#[derive(Default)]
struct Walk {
    done: Padded<AtomicU32>,
    taken: Padded<AtomicBool>,
}

/// Until when a worker waits for a lane, in nanoseconds since the run began.
struct Deadline {
    /// Since when it waits, and since when for somebody.
    start: u64,
    since: u64,
    for_somebody: u64,
    for_nobody: u64,
}

impl Deadline {
    /// For a worker that begins to wait now, in a plan that takes so long for each node and for all of them together.
    fn new(now: u64, each: u64, together: u64) -> Self {
        Self {
            start: now,
            since: now,
            // Nodes of other lanes may be longer than most.
            for_somebody: PATIENCE.max(16 * each),
            for_nobody: PATIENCE_FOR_NOBODY.min(PATIENCE + 2 * together),
        }
    }

    /// Whether it has waited in vain. Whoever takes the lane late has as much time from then on as anyone.
    fn is_over(&mut self, now: u64, is_taken: bool) -> bool {
        if is_taken {
            return now.saturating_sub(self.since) > self.for_somebody;
        }
        self.since = now;
        now.saturating_sub(self.start) > self.for_nobody
    }
}

impl Abreast {
    pub(super) fn new(lanes: Option<&Lanes>) -> Self {
        let count = lanes.map_or(0, |lanes| lanes.lanes.len());
        Self { walks: (0..count).map(|_| Walk::default()).collect(), ..Self::default() }
    }

    /// Whether the present run is of this kind.
    pub(super) fn is_on(&self) -> bool {
        // Relaxed: written before anything of the run was in a queue.
        self.is_on.load(Ordering::Relaxed)
    }

    /// A lane that nobody has taken: that of a worker's own number, or another one.
    fn take(&self, own: usize) -> usize {
        let count = self.walks.len();
        let mut lanes = (0..count).map(|lane| (own + lane) % count);
        // Relaxed: what is in a lane was written before the run began, and the queues order that.
        let free = |lane: &usize| !self.walks[*lane].taken.swap(true, Ordering::Relaxed);
        lanes.find(free).expect("there are as many shares as lanes: this is a mistake of ours")
    }
}

impl PlanState {
    /// Begins a run along lanes.
    pub(super) fn begin_abreast(self: &Arc<Self>, core: &Core, local: &Local, context: u32) {
        let abreast = &self.abreast;
        // Relaxed: the queues through which lanes reach workers order all of this.
        abreast.is_on.store(true, Ordering::Relaxed);
        abreast.breaks.store(false, Ordering::Relaxed);
        abreast.left.store(abreast.walks.len(), Ordering::Relaxed);
        for walk in &abreast.walks {
            walk.done.store(0, Ordering::Relaxed);
            walk.taken.store(false, Ordering::Relaxed);
        }
        self.pace.begin(Way::Abreast);
        self.hold();
        let lanes = abreast.walks.len();
        for _ in 0..lanes {
            core.push_node(local, context, Ready::share(self));
        }
        core.wake_several(lanes - 1);
    }

    /// Takes a lane, and walks along it. True when the run is over.
    pub(super) fn run_lane(&self, core: &Core, local: &mut Local) -> bool {
        let Some(lanes) = &self.pattern.lanes else { unreachable!("a run along lanes has some") };
        let lane = self.abreast.take(local.worker.map_or(0, |worker| worker.index()));
        let mut scratch = local.take_scratch();
        let at = At::new(self);
        let done = core.running_nodes(local, &at, |local| match self.log(core, local) {
            None => self.walk(core, local, &at, lanes, lane, &mut scratch, &mut ()),
            Some(mut log) => self.walk(core, local, &at, lanes, lane, &mut scratch, &mut log),
        });
        local.give_scratch(scratch);
        // Relaxed: the count below orders it before what the last one does.
        self.abreast.walks[lane].done.store(done as u32, Ordering::Relaxed);
        // AcqRel: the last one sees what all nodes did, and how far all lanes came.
        if self.abreast.left.fetch_sub(1, Ordering::AcqRel) > 1 {
            return false;
        }
        self.abreast.is_on.store(false, Ordering::Relaxed);
        let mut walks = self.abreast.walks.iter().zip(&lanes.lanes);
        if walks.all(|(walk, lane)| walk.done.load(Ordering::Relaxed) as usize == lane.len()) {
            self.finish(core, local);
            return true;
        }
        self.go_on_together(core, local, lanes)
    }

    /// Runs the nodes of a lane. Returns how many: all, or those until the run was broken off.
    #[expect(clippy::too_many_arguments, reason = "they are what a thread has at hand, and bundling them costs time")]
    fn walk(
        &self,
        core: &Core,
        local: &Local,
        at: &At<'_>,
        lanes: &Lanes,
        lane: usize,
        scratch: &mut Scratchpad,
        log: &mut impl NodeLog,
    ) -> usize {
        let abreast = &self.abreast;
        let (place, slots, done) = (core.place(local), &lanes.lanes[lane], &abreast.walks[lane].done);
        let limit = self.pace.limit();
        for (number, slot) in slots.iter().enumerate() {
            let late = || number % NODES == NODES - 1 && (MODELLED || self.pace.lasts() > limit);
            let waits = lanes.waits(slot);
            if self.is_broken_off(place) || late() || !waits.iter().all(|wait| self.awaits(place, *wait, slot.node)) {
                // Relaxed: the others only look whether they should go on.
                abreast.breaks.store(true, Ordering::Relaxed);
                return number;
            }
            self.run_next(core, at, slot.node, scratch, waits.is_empty(), log);
            if slot.is_awaited {
                // Release: whoever waits for it sees what the nodes up to here did.
                done.store(number as u32 + 1, Ordering::Release);
            }
        }
        slots.len()
    }

    /// Whether the run is to be broken off, perhaps because somebody wants something of this worker.
    #[inline]
    fn is_broken_off(&self, place: Place<'_>) -> bool {
        if !place.may_go_on() {
            // Whoever is disturbed knows nothing about the way.
            self.pace.forget();
            return true;
        }
        // Relaxed: as above.
        self.abreast.breaks.load(Ordering::Relaxed)
    }

    /// Waits until another lane has come so far as a node needs. False when it does not come so far in time.
    #[inline]
    fn awaits(&self, place: Place<'_>, wait: Wait, node: u32) -> bool {
        let walk = &self.abreast.walks[wait.lane as usize];
        // Acquire: what those nodes did is seen here.
        let has_come = || walk.done.load(Ordering::Acquire) >= wait.done;
        if has_come() {
            return true;
        }
        let awaited = Awaited::by(self.args(&self.pattern.nodes[node as usize]));
        for _ in 0..HURRIED {
            awaited.bring_near();
            if has_come() {
                return true;
            }
        }
        self.awaits_long(place, walk, &awaited, has_come)
    }

    #[cold]
    fn awaits_long(&self, place: Place<'_>, walk: &Walk, awaited: &Awaited, has_come: impl Fn() -> bool) -> bool {
        let together = self.pace.together();
        let each = together / self.pattern.nodes.len().max(1) as u64;
        let mut deadline = Deadline::new(self.pace.lasts(), each, together);
        loop {
            for _ in 0..BETWEEN {
                hint::spin_loop();
                awaited.bring_near();
                if has_come() {
                    return true;
                }
            }
            // Relaxed: it only says how long to wait.
            let is_over = deadline.is_over(self.pace.lasts(), walk.taken.load(Ordering::Relaxed));
            if MODELLED || is_over || self.is_broken_off(place) {
                return has_come();
            }
        }
    }

    /// Everybody has left the lanes before their ends: the run goes on as any other. True when it is over.
    #[cold]
    fn go_on_together(&self, core: &Core, local: &mut Local, lanes: &Lanes) -> bool {
        // Relaxed: as in `run_lane`.
        let done = |walk: &Walk| walk.done.load(Ordering::Relaxed) as usize;
        let walked = || self.abreast.walks.iter().zip(&lanes.lanes).flat_map(|(walk, lane)| &lane[..done(walk)]);
        // One more end, for this thread: from when the last node is pushed on, others may end the run.
        self.hand_out_rest(core, local, || walked().map(|slot| slot.node), 1);
        self.count_ends(core, local, 1)
    }
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;

    #[test]
    fn whoever_takes_a_lane_late_has_as_much_time_as_anyone() {
        let mut deadline = Deadline::new(500, 100, 400_000);
        assert!(!deadline.is_over(500 + 5 * PATIENCE, false), "it takes long to wake a worker");
        assert!(!deadline.is_over(500 + 5 * PATIENCE + 10, true), "it has just come");
        assert!(!deadline.is_over(500 + 6 * PATIENCE, true));
        assert!(deadline.is_over(501 + 6 * PATIENCE, true));
    }

    #[test]
    fn nobody_is_waited_for_as_long_as_the_run_may_take_and_long_nodes_longer() {
        let mut deadline = Deadline::new(500, 100, 30_000);
        assert!(!deadline.is_over(500 + PATIENCE + 60_000, false));
        assert!(deadline.is_over(501 + PATIENCE + 60_000, false));
        assert!(Deadline::new(0, 100, u64::MAX / 4).is_over(PATIENCE_FOR_NOBODY + 1, false));
        let mut long = Deadline::new(0, 50_000, 1_000_000);
        assert!(!long.is_over(800_000, true) && long.is_over(800_001, true));
    }
}
