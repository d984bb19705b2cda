//! What a worker does, again and again.
//!
//! One turn of the cycle has five phases, always in this order: choosing a task, building up a team, preparing the task's
//! input, making transfers progress, and running the task. What a task on a processor needs from the memory of a device is
//! fetched when it is run, so the third and fourth phases have nothing to do for now; they are entered all the same, also when no
//! task was found.

use drawloom_trace::{IdleReason, Phase};

use crate::core::{Core, Local};
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, MODELLED, hint, thread};

/// How often a worker looks for work before it sleeps.
const LOOKS: usize = if MODELLED { 1 } else { 200 };
/// How long it pauses between two looks.
const SPINS: usize = if MODELLED { 1 } else { 32 };

/// What a scheduling operation ended with.
pub(crate) enum Found {
    /// A task to run.
    Task(Ready),
    /// A team asks for the worker.
    Team,
    /// Nothing to do.
    Nothing,
}

/// Drives a worker until the runtime ends.
pub(crate) fn run(core: &Arc<Core>, worker: WorkerId) {
    core.workers.sit_down(worker);
    let mut local = Local::of_worker(core, worker);
    run_seated(core, &mut local, worker, None);
    core.workers.get_up(worker);
}

/// Drives a worker at whose place the calling thread sits, and which counts as driven until this returns.
pub(crate) fn run_seated(core: &Arc<Core>, local: &mut Local, worker: WorkerId, mut next: Option<Ready>) {
    core.teams.reconsider(core);
    while !core.workers.is_stopping() || next.is_some() {
        let found = match next.take() {
            Some(task) => Found::Task(task),
            None => match schedule(core, local, worker) {
                Found::Nothing => look_for_work(core, local, worker),
                found => found,
            },
        };
        next = carry_out(core, local, worker, found);
    }
    core.workers.end_driving(worker);
    core.flush(local);
}

/// The first phase: one scheduling operation.
#[inline]
pub(crate) fn schedule(core: &Core, local: &mut Local, worker: WorkerId) -> Found {
    core.workers.phase(worker, Phase::Schedule);
    core.choose(local, worker)
}

/// The other phases. Returns a task that the worker may go on with at once.
#[inline]
pub(crate) fn carry_out(core: &Core, local: &mut Local, worker: WorkerId, found: Found) -> Option<Ready> {
    core.tracer.turn(worker, matches!(found, Found::Task(_)));
    core.workers.phase(worker, Phase::Team);
    if matches!(found, Found::Team) {
        core.take_part(local, worker);
    }
    core.workers.phase(worker, Phase::Input);
    core.workers.phase(worker, Phase::Transfers);
    let Found::Task(task) = found else { return None };
    core.workers.phase(worker, Phase::Execute);
    core.run_ready(local, task);
    core.follow_on(local)
}

/// Looks for work for a while, then sleeps until there is some.
#[cold]
fn look_for_work(core: &Core, local: &mut Local, worker: WorkerId) -> Found {
    core.waiters.note_quiet();
    core.tracer.idle(Some(worker), IdleReason::NoWork);
    let found = look_until_found(core, local, worker);
    core.tracer.busy(Some(worker));
    found
}

fn look_until_found(core: &Core, local: &mut Local, worker: WorkerId) -> Found {
    let sleep = &core.workers.sleep;
    sleep.begin_looking();
    loop {
        for round in 0..LOOKS {
            // Not at once: a thread that submits goes faster when it is not met at every task, and several are found then.
            for _ in 0..SPINS {
                hint::spin_loop();
            }
            // Nor does it want to be met at the pool of records.
            if round == 2 || LOOKS == 1 {
                core.flush(local);
            }
            match schedule(core, local, worker) {
                Found::Nothing => {}
                found => {
                    leave_looking(core);
                    return found;
                }
            }
            // Often there are more threads than processors: workers, and those who submit.
            if round > 2 {
                thread::yield_now();
            }
        }
        if core.workers.is_stopping() {
            sleep.found();
            return Found::Nothing;
        }
        core.tracer.idle(Some(worker), IdleReason::Parked);
        core.workers.parked[worker.index()].fetch_add(1, Ordering::Relaxed);
        // The end of the runtime wakes those who sleep. Who is about to sleep then, and comes too late for that, sees it here.
        let last_look = || match core.choose(local, worker) {
            Found::Nothing if core.workers.is_stopping() => Some(Found::Nothing),
            // A team may have asked, and someone looked at the worker at that moment: then it joins after the next one.
            Found::Nothing if !core.workers.seat(worker).state.is_asked() => None,
            found => Some(found),
        };
        if let Some(found) = sleep.sleep(worker.index(), last_look) {
            leave_looking(core);
            return found;
        }
        if core.workers.is_stopping() {
            sleep.found();
            return Found::Nothing;
        }
    }
}

/// One who looked has found something. If that was the last one, there may be more to do, and nobody was woken for it.
fn leave_looking(core: &Core) {
    if core.workers.sleep.found() && !core.is_stuck() {
        core.wake_more();
    }
}
