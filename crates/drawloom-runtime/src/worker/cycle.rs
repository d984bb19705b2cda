//! What a worker does, again and again.
//!
//! One turn of the cycle has five phases, always in this order: choosing a task, building up a team, preparing the task's
//! input, making transfers progress, and running the task. Transfers progress also when no task was chosen: a task whose
//! data is on its way runs in the turn in which it has arrived, and until then its worker chooses no other.

use std::time::{Duration, Instant};

use drawloom_trace::{IdleReason, Phase};

use super::keeper::{Decision, Situation};
use super::phases::Phases;
use crate::core::{Core, Local};
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, MODELLED, hint, thread};

/// How long a worker pauses between two looks.
const SPINS: usize = if MODELLED { 1 } else { 32 };

/// How long a worker sleeps at a time while another one keeps up alone, at first and at most. Each time costs some ten microseconds
/// of a processor that the keeper, or whoever submits, may be on.
const NAP: Duration = Duration::from_micros(100);
const LONGEST_NAP: Duration = Duration::from_micros(800);

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
            } else if local.shift.worked() {
                review(core, local, worker);
            }
        }
        local.shift.resign(&core.workers.sleep.keeper, worker);
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
    if is_quick(next) {
        phases.begin_found();
    } else {
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
        local.turn = phases.hurry();
        core.run_ready(local, task);
        // Someone else had the task.
        core.trace_turn(local);
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
        *next = core.follow_on(local).map_or(Found::Nothing, Found::Task);
        return true;
    }
    phases.enter(Phase::Transfers);
    if let Some(arrived) = core.advance_transfers(local) {
        phases.enter(Phase::Execute);
        core.run_arrived(local, arrived);
        *next = core.follow_on(local).map_or(Found::Nothing, Found::Task);
        return true;
    }
    phases.end();
    if core.is_waiting_for_data(local) {
        thread::yield_now();
    }
    worked
}

/// Looks for work for a while, then sleeps until there is some.
#[cold]
fn look_for_work(core: &Core, local: &mut Local, worker: WorkerId) -> Found {
    core.waiters.note_quiet();
    core.tracer.idle(Some(worker), IdleReason::NoWork);
    local.shift.looks(&core.workers.sleep.keeper);
    let since = Instant::now();
    let found = look_until_found(core, local, worker);
    local.shift.looked(since.elapsed());
    core.tracer.busy(Some(worker));
    found
}

fn look_until_found(core: &Core, local: &mut Local, worker: WorkerId) -> Found {
    let sleep = &core.workers.sleep;
    sleep.begin_looking();
    let mut has_slept = false;
    loop {
        nap_beside_keeper(core, local, worker);
        gather(core, local, worker);
        for round in 0..local.patience.looks() {
            // Not at once, as with the first one, before which tasks gather.
            if round > 0 || MODELLED {
                for _ in 0..SPINS {
                    hint::spin_loop();
                }
            }
            // Nor does it want to be met at the pool of records.
            if round == 2 || MODELLED {
                core.flush(local);
            }
            match core.choose(local, worker) {
                Found::Nothing => {}
                found => {
                    local.patience.found();
                    leave_looking(core, worker);
                    if has_slept {
                        decide(core, worker, |situation| local.shift.woke(situation));
                    }
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
        // Before the last look: whoever pushed a task and saw a keeper has woken nobody.
        local.shift.resign(&sleep.keeper, worker);
        // The end of the runtime wakes those who sleep. Who is about to sleep then, and comes too late for that, sees it here.
        let last_look = || match core.choose(local, worker) {
            Found::Nothing if core.workers.is_stopping() => Some(Found::Nothing),
            // Whoever became the keeper has woken somebody who naps beside it, unless all were awake.
            Found::Nothing if sleep.keeper.other(worker).is_some() => Some(Found::Nothing),
            // A team may have asked, and someone looked at the worker at that moment: then it joins after the next one.
            Found::Nothing if !core.workers.seat(worker).state.is_asked() => None,
            found => Some(found),
        };
        let since = Instant::now();
        if let Some(found) = sleep.sleep(worker.index(), last_look) {
            if matches!(found, Found::Nothing) && !core.workers.is_stopping() {
                // It naps, or a team asks.
                continue;
            }
            leave_looking(core, worker);
            return found;
        }
        has_slept = true;
        local.patience.slept(since.elapsed());
        if core.workers.is_stopping() {
            sleep.found();
            return Found::Nothing;
        }
    }
}

/// Sees whether this worker should run all tasks alone.
#[cold]
fn review(core: &Core, local: &mut Local, worker: WorkerId) {
    decide(core, worker, |situation| local.shift.review(situation));
}

/// Lets a worker decide whether it is the keeper.
fn decide(core: &Core, worker: WorkerId, decision: impl FnOnce(&Situation<'_>) -> Decision) {
    let completed = || core.context(0).counts().1;
    let (keeper, may_be) = (&core.workers.sleep.keeper, core.may_have_keeper());
    let decision = decision(&Situation { keeper, worker, now: Instant::now(), may_be, completed: &completed });
    if decision == Decision::Keeps && !core.may_have_keeper() {
        // A context was made meanwhile, and whoever made it may have deposed the keeper before. See `Workers::confine`.
        keeper.resign(worker);
    }
    if decision != Decision::GoesOn {
        // Whoever gives up may be helped again, and whoever keeps up needs somebody who naps beside it.
        core.wake_more();
    }
}

/// Lets tasks gather before the first look: a thread that submits goes faster when it is not met at every task, and several are
/// found then. Where somebody waits for them, or for this worker, it is short.
fn gather(core: &Core, local: &mut Local, worker: WorkerId) {
    let mut pauses = if MODELLED { 0 } else { local.shift.gather() as usize };
    while pauses > 0 {
        for _ in 0..pauses.min(SPINS) {
            hint::spin_loop();
        }
        let is_short = core.waiters.is_anyone_there() || has_to(core, worker);
        pauses = if is_short { 0 } else { pauses.saturating_sub(SPINS) };
    }
}

/// Whether somebody wants something of a worker, or ends the runtime. Whoever does so wakes it; what came before it sleeps is seen here.
fn has_to(core: &Core, worker: WorkerId) -> bool {
    core.workers.seat(worker).state.is_asked() || core.workers.is_stopping()
}

/// Sleeps for as long as another worker keeps up alone.
fn nap_beside_keeper(core: &Core, local: &mut Local, worker: WorkerId) {
    let sleep = &core.workers.sleep;
    let mut nap = NAP;
    if sleep.keeper.other(worker).is_some() {
        // Others may have no room for tasks but what this worker has freed.
        core.flush(local);
    }
    while let Some(before) = sleep.keeper.other(worker) {
        core.tracer.idle(Some(worker), IdleReason::Parked);
        let slept = sleep
            .nap(worker.index(), nap, || !has_to(core, worker) && sleep.keeper.is_there() && core.may_have_keeper());
        core.tracer.idle(Some(worker), IdleReason::NoWork);
        if !slept || has_to(core, worker) {
            return;
        }
        // While nothing is left waiting, it does not matter what the keeper does.
        if sleep.keeper.other(worker) == Some(before) && !core.context(0).policy.is_empty() {
            sleep.keeper.depose();
            return;
        }
        nap = (2 * nap).min(LONGEST_NAP);
    }
}

/// One who looked has found something. If that was the last one, there may be more to do, and nobody was woken for it. A worker
/// that keeps up alone wakes nobody; and beside one that does, somebody has to nap.
fn leave_looking(core: &Core, worker: WorkerId) {
    if core.workers.sleep.leave(worker) && !core.is_stuck() {
        core.wake_more();
    }
}
