//! What a worker does, again and again.

use drawloom_trace::IdleReason;

use crate::core::{Core, Local};
use crate::policy::{Ready, WorkerId};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, hint, thread};

/// How often a worker looks for work before it sleeps.
const LOOKS: usize = 200;

/// The thread function of a worker.
pub(crate) fn run(core: &Arc<Core>, worker: WorkerId) {
    let mut local = Local::new(Some(worker));
    let mut next = None;
    while !core.workers.is_stopping() {
        let task = next.take().or_else(|| pop(core, worker)).or_else(|| look_for_work(core, &mut local, worker));
        if let Some(task) = task {
            core.run_ready(&mut local, task);
            next = core.follow_on(&mut local);
        }
    }
    core.flush(&mut local);
}

fn pop(core: &Core, worker: WorkerId) -> Option<Ready> {
    core.contexts.iter().find_map(|context| context.policy.pop(worker))
}

/// Looks for work for a while, then sleeps until there is some.
#[cold]
fn look_for_work(core: &Core, local: &mut Local, worker: WorkerId) -> Option<Ready> {
    core.flush(local);
    core.waiters.note_quiet();
    core.tracer.idle(worker, IdleReason::NoWork);
    let found = look_until_found(core, worker);
    core.tracer.busy(worker);
    found
}

fn look_until_found(core: &Core, worker: WorkerId) -> Option<Ready> {
    let sleep = &core.workers.sleep;
    sleep.begin_looking();
    loop {
        for round in 0..LOOKS {
            if let Some(task) = pop(core, worker) {
                // One who looked is gone; if that was the last one, there may be more to do.
                if sleep.found() && !core.is_stuck() {
                    sleep.notify();
                }
                return Some(task);
            }
            for _ in 0..32 {
                hint::spin_loop();
            }
            if round % 16 == 15 {
                thread::yield_now();
            }
        }
        if core.workers.is_stopping() {
            sleep.found();
            return None;
        }
        core.tracer.idle(worker, IdleReason::Parked);
        core.workers.parked[worker.index()].fetch_add(1, Ordering::Relaxed);
        if let Some(task) = sleep.sleep(worker.index(), || pop(core, worker)) {
            sleep.found();
            return Some(task);
        }
        if core.workers.is_stopping() {
            sleep.found();
            return None;
        }
    }
}
