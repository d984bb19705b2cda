//! What a worker does, again and again.
//!
//! One turn of the cycle has five phases, always in this order: choosing a task, building up a team, preparing the task's
//! input, making transfers progress, and running the task. Transfers progress also when no task was chosen: a task whose
//! data is on its way runs in the turn in which it has arrived, and until then its worker chooses no other.

use std::time::Instant;

use drawloom_trace::{IdleReason, Phase};

use super::phases::Phases;
use crate::core::{Core, Local};
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, MODELLED, hint, thread};

/// How long a worker pauses between two looks.
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
    run_seated(core, &mut local, worker);
    core.workers.get_up(worker);
}

/// Drives a worker at whose place the calling thread sits, and which counts as driven until this returns.
pub(crate) fn run_seated(core: &Arc<Core>, local: &mut Local, worker: WorkerId) {
    core.teams.reconsider(core);
    core.inside(|| {
        let mut next = Found::Nothing;
        while !core.workers.is_stopping() || has_begun(core, local, &next) {
            if !run_once(core, local, worker, &mut next) {
                next = look_for_work(core, local, worker);
            }
        }
    });
    core.workers.end_driving(worker);
    core.flush(local);
}

/// Whether a worker has something that it alone can carry out.
pub(crate) fn has_begun(core: &Core, local: &Local, next: &Found) -> bool {
    matches!(next, Found::Task(_)) || core.is_waiting_for_data(local)
}

/// One turn of the cycle. `next` is what the last turn, or a look at the queues since then, has found already. False when
/// there was nothing to do.
#[inline]
pub(crate) fn run_once(core: &Core, local: &mut Local, worker: WorkerId, next: &mut Found) -> bool {
    let mut phases = Phases::new(core, worker);
    let is_quick = |found: &Found| matches!(found, Found::Task(_)) && core.has_one_memory();
    if !is_quick(next) {
        phases.enter(Phase::Schedule);
    }
    let arriving = core.is_waiting_for_data(local);
    let found = match std::mem::replace(next, Found::Nothing) {
        Found::Nothing if !arriving => core.choose(local, worker),
        found => found,
    };
    if is_quick(&found)
        && let Found::Task(task) = found
    {
        // There is no team to build up, nothing to bring, and nothing on its way.
        phases.pass_to_execution();
        core.run_ready(local, task);
        *next = core.follow_on(local).map_or(Found::Nothing, Found::Task);
        return true;
    }
    let worked = arriving || !matches!(found, Found::Nothing);
    phases.enter(Phase::Team);
    if matches!(found, Found::Team) {
        core.take_part(local, worker);
        phases.enter(Phase::Input);
    } else {
        phases.pass_to(Phase::Input);
    }
    let task = if let Found::Task(task) = found { core.begin_input(local, task) } else { None };
    if let Some(task) = task {
        // There is nothing to bring, and nothing on its way.
        phases.pass_to(Phase::Transfers);
        phases.pass_to(Phase::Execute);
        core.run_ready(local, task);
    } else {
        phases.enter(Phase::Transfers);
        let Some(arrived) = core.advance_transfers(local) else {
            phases.end();
            if core.is_waiting_for_data(local) {
                thread::yield_now();
            }
            return worked;
        };
        phases.enter(Phase::Execute);
        core.run_arrived(local, arrived);
    }
    *next = core.follow_on(local).map_or(Found::Nothing, Found::Task);
    true
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
        for round in 0..local.patience.looks() {
            for _ in 0..SPINS {
                hint::spin_loop();
            }
            // Not at once: giving records back meets the threads that submit at the pool.
            if round == 2 || MODELLED {
                core.flush(local);
            }
            match core.choose(local, worker) {
                Found::Nothing => {}
                found => {
                    local.patience.found();
                    leave_looking(core);
                    return found;
                }
            }
            // Often there are more threads than processors: workers, and those who submit. Where others are busy, each time may
            // be long, and whoever ends the runtime waits for all of them.
            if round > 2 {
                if core.workers.is_stopping() {
                    break;
                }
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
        let since = Instant::now();
        if let Some(found) = sleep.sleep(worker.index(), last_look) {
            if matches!(found, Found::Nothing) && !core.workers.is_stopping() {
                // A team asks.
                continue;
            }
            leave_looking(core);
            return found;
        }
        local.patience.slept(since.elapsed());
        if core.workers.is_stopping() {
            sleep.found();
            return Found::Nothing;
        }
    }
}

/// A worker that looked has found something. If no other worker is looking, there may be more to do, and none was woken for it.
fn leave_looking(core: &Core) {
    if core.workers.sleep.found() && !core.is_stuck() {
        core.wake_more();
    }
}
