//! How teams come together without deadlock.
//!
//! A team task that is ready becomes a *call*. Calls stand in a line, in the order in which they were made. Each call asks
//! the workers that could come; a worker acknowledges between two scheduling operations, and then is a *volunteer*: it
//! waits here, and does nothing else. As soon as enough volunteers are there for a call, counting from the head of the
//! line, they are claimed and the team is complete.
//!
//! Two rules keep this from ever blocking for good:
//!
//! 1. Nobody belongs to a call that is not complete. Volunteers wait for the line, not for one call, and every change
//!    matches them anew. So two calls cannot hold half of the workers each.
//! 2. A call asks for workers only while enough of them can come: they are driven, and do not wait inside of a task, for
//!    children or for the other members of a team. Who waits for children may run only the family of that task, so it counts
//!    only for calls of that family; who waits for other members runs nothing. As soon as too few can come, the volunteers
//!    are let go and run other tasks, one of which may be what is waited for.
//!
//! Everything here happens under one lock for the whole runtime, which is taken only while there are calls.

use crate::core::Core;
use crate::policy::WorkerId;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{Arc, Condvar, Mutex, lock, wait};
use crate::task::record::TaskId;

use super::Bounds;
use super::run::TeamRun;

/// All teams that are not complete yet.
#[derive(Default)]
pub(crate) struct Formation {
    /// How many calls there are, for those who need not know more.
    open: AtomicUsize,
    line: Mutex<Line>,
    moved: Condvar,
}

#[derive(Default)]
struct Line {
    calls: Vec<Call>,
    /// Workers that acknowledged, and wait here.
    volunteers: Vec<WorkerId>,
    /// Volunteers that were claimed, and do not know yet.
    claimed: Vec<(WorkerId, Arc<TeamRun>)>,
}

/// A team task that is ready.
pub(crate) struct Call {
    pub(crate) task: TaskId,
    pub(crate) context: u32,
    pub(crate) bounds: Bounds,
    /// How many workers the policy wants when some are free, from the least number on. It is asked before, without the lock:
    /// it may be the user's, and may call whatever it likes.
    pub(crate) sizes: Vec<u32>,
    /// The tasks in which the team task was submitted, directly or not.
    pub(crate) ancestors: Vec<TaskId>,
    /// The workers that were asked.
    pub(crate) asked: Vec<WorkerId>,
}

impl Formation {
    /// A team task is ready: a call is made.
    pub(crate) fn open(&self, core: &Core, call: Call) {
        let mut line = lock(&self.line);
        // SeqCst: in one order with `Seat::set_waits_in` and `Seat::set_meets`. Either a worker that begins to wait sees the
        // call, or the call sees that it waits.
        self.open.fetch_add(1, Ordering::SeqCst);
        line.calls.push(call);
        self.match_up(core, &mut line);
    }

    /// Something changed that calls depend on: workers of contexts, or who waits inside of a task.
    pub(crate) fn reconsider(&self, core: &Core) {
        if self.open.load(Ordering::SeqCst) > 0 {
            self.match_up(core, &mut lock(&self.line));
        }
    }

    /// A worker that acknowledged waits until a team has claimed it. None when nobody asks for it any more.
    pub(crate) fn volunteer(&self, core: &Core, worker: WorkerId) -> Option<Arc<TeamRun>> {
        let mut line = lock(&self.line);
        line.volunteers.push(worker);
        line.volunteers.sort_unstable();
        self.match_up(core, &mut line);
        loop {
            if let Some(at) = line.claimed.iter().position(|(w, _)| *w == worker) {
                return Some(line.claimed.swap_remove(at).1);
            }
            if !core.workers.seat(worker).state.is_asked() || core.workers.is_stopping() {
                line.volunteers.retain(|w| *w != worker);
                return None;
            }
            line = wait(&self.moved, line);
        }
    }

    /// A member has done its part in a team.
    pub(crate) fn end_part(&self, core: &Core, worker: WorkerId) {
        let mut line = lock(&self.line);
        let seat = core.workers.seat(worker);
        seat.set_meets(false);
        let state = &seat.state;
        state.unclaim();
        state.request_leave();
        self.match_up(core, &mut line);
    }

    /// Wakes all volunteers, so that they see that the runtime ends.
    pub(crate) fn wake(&self) {
        drop(lock(&self.line));
        self.moved.notify_all();
    }

    /// Whether a task waits for a team.
    pub(crate) fn is_waiting(&self, task: TaskId) -> bool {
        self.open.load(Ordering::SeqCst) > 0 && lock(&self.line).calls.iter().any(|call| call.task == task)
    }

    /// What a task that waits for a team waits for, in words.
    pub(crate) fn what_waits(&self, core: &Core, task: TaskId) -> Option<String> {
        let line = lock(&self.line);
        let call = line.calls.iter().find(|call| call.task == task)?;
        let context = core.context(core.home(call.context));
        let members = context.members();
        let busy = members.workers.iter().filter(|w| !call.can_come(core, **w)).count();
        let (least, name, count) = (call.bounds.least, &context.name, members.workers.len());
        Some(format!(
            "a team of at least {least} workers: context `{name}` has {count}, of which {busy} are not driven, or wait \
             inside of tasks"
        ))
    }

    /// Takes calls back whose tasks must not run any more; those tasks are returned.
    pub(crate) fn withdraw(&self, core: &Core, which: impl Fn(&Call) -> bool) -> Vec<TaskId> {
        let mut line = lock(&self.line);
        let (gone, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut line.calls).into_iter().partition(which);
        line.calls = kept;
        self.open.fetch_sub(gone.len(), Ordering::SeqCst);
        for worker in gone.iter().flat_map(|call| &call.asked) {
            core.workers.seat(*worker).state.request_leave();
        }
        self.moved.notify_all();
        self.match_up(core, &mut line);
        gone.into_iter().map(|call| call.task).collect()
    }

    /// Asks the right workers for each call, and completes those teams for which enough volunteers are there.
    fn match_up(&self, core: &Core, line: &mut Line) {
        let Line { calls, volunteers, claimed } = line;
        let mut free = volunteers.clone();
        let mut news = false;
        calls.retain_mut(|call| {
            news |= call.ask(core);
            let here: Vec<WorkerId> = free.iter().copied().filter(|w| call.asked.contains(w)).collect();
            // Whether or not the team is complete, later calls must not have those who are here for this one.
            free.retain(|w| !here.contains(w));
            let Some(team) = call.claim(core, &here) else { return true };
            free.extend(here.iter().filter(|w| !team.workers.contains(w)));
            volunteers.retain(|w| !team.workers.contains(w));
            let team = Arc::new(team);
            claimed.extend(team.workers.iter().map(|&w| (w, Arc::clone(&team))));
            // Those who were asked and are not in the team have one request less; members keep theirs until they are done.
            for worker in call.asked.iter().filter(|w| !team.workers.contains(w)) {
                core.workers.seat(*worker).state.request_leave();
            }
            self.open.fetch_sub(1, Ordering::SeqCst);
            news = true;
            false
        });
        if news {
            self.moved.notify_all();
        }
    }
}

impl Call {
    /// The call of a task that is ready.
    pub(crate) fn new(core: &Core, task: TaskId, context: u32, bounds: Bounds, ancestors: Vec<TaskId>) -> Self {
        let policy = &core.context(core.home(context)).policy;
        let most_free = bounds.least.max(core.workers.count as u32);
        let wanted = |free| policy.team_size(bounds.least, bounds.most, free).min(free);
        let sizes = (bounds.least..=most_free).map(wanted).collect();
        Self { task, context, bounds, sizes, ancestors, asked: Vec::new() }
    }

    /// Whether a worker will reach a point where it could join, without someone else's help.
    fn can_come(&self, core: &Core, worker: WorkerId) -> bool {
        let seat = core.workers.seat(worker);
        seat.driven.load(Ordering::SeqCst)
            && !seat.meets()
            && seat.waits_in().is_none_or(|task| self.ancestors.contains(&task))
    }

    /// Asks those who can come, if they are enough, and takes back what was asked of others. True when anything changed.
    fn ask(&mut self, core: &Core) -> bool {
        let context = core.context(core.home(self.context));
        let members = context.members();
        let mut wanted: Vec<WorkerId> = members.workers.iter().copied().filter(|w| self.can_come(core, *w)).collect();
        if wanted.len() < self.bounds.least as usize {
            wanted.clear();
        }
        if wanted == self.asked {
            return false;
        }
        for &worker in wanted.iter().filter(|w| !self.asked.contains(w)) {
            let seat = core.workers.seat(worker);
            seat.state.request_join();
            core.workers.sleep.wake_worker(worker.index());
            if let Some(task) = seat.waits_in() {
                core.waiters.wake_threads(task);
            }
        }
        for worker in self.asked.iter().filter(|w| !wanted.contains(w)) {
            core.workers.seat(*worker).state.request_leave();
        }
        self.asked = wanted;
        true
    }

    /// Claims a team among volunteers, if they are enough.
    fn claim(&self, core: &Core, here: &[WorkerId]) -> Option<TeamRun> {
        let Bounds { least, most } = self.bounds;
        if here.len() < least as usize {
            return None;
        }
        let size = self.sizes[(here.len() - least as usize).min(self.sizes.len() - 1)].clamp(least, most);
        // A worker to which a change is announced cannot be claimed. Whoever makes the change calls `reconsider`.
        let claimable = here.iter().copied().filter(|w| core.workers.seat(*w).state.claim());
        let team: Vec<WorkerId> = claimable.take(size as usize).collect();
        if team.len() < least as usize {
            team.iter().for_each(|w| core.workers.seat(*w).state.unclaim());
            return None;
        }
        let size = team.len() as u32;
        Some(TeamRun::new(self.task, team, size))
    }
}
