//! Models of the protocols, for the model checkers.
//!
//! The same models run under loom, which tries all interleavings and reorderings of small ones, and under shuttle, which
//! tries many random schedules of larger ones. Each test has the name of the guarantee that it checks; the guarantees are
//! listed in `worker/README.md`.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=2 cargo test --release --lib -p drawloom-runtime models
//! cargo test --release --lib -p drawloom-runtime --features shuttle models
//! ```

use std::sync::Arc;

use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;
use crate::team::barrier::Barrier;
use crate::worker::sleep::Sleep;
use crate::worker::state::State;

/// How many threads there are of a kind beyond the first, and how often they do what they do.
const MORE: usize = if cfg!(loom) { 1 } else { 3 };

#[cfg(loom)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    loom::model(model);
}

#[cfg(not(loom))]
fn check(model: impl Fn() + Send + Sync + 'static) {
    let schedules = std::env::var("DRAWLOOM_SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(2000);
    shuttle::check_random(model, schedules);
}

/// Starts a thread of a model.
fn spawn(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(f)
}

/// Something that only one thread may use at a time: the checker says so when two do.
#[derive(Default)]
struct Exclusive {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<u32>,
    users: std::sync::atomic::AtomicUsize,
}

// SAFETY: that the cell is used by one thread at a time is what the models check; loom reports it if not.
#[allow(unsafe_code)]
unsafe impl Sync for Exclusive {}

impl Exclusive {
    fn using(&self, meanwhile: impl FnOnce()) {
        assert_eq!(self.users.fetch_add(1, Ordering::SeqCst), 0, "two threads at once");
        #[cfg(loom)]
        self.cell.with_mut(|_| meanwhile());
        #[cfg(not(loom))]
        meanwhile();
        self.users.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn no_change_touches_a_worker_inside_of_an_operation() {
    check(|| {
        let shared = Arc::new((State::default(), Exclusive::default()));
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, memberships) = &*worker;
            for _ in 0..1 + MORE {
                assert!(!state.enter());
                memberships.using(thread::yield_now);
                state.leave();
            }
        });
        let (state, memberships) = &*shared;
        for _ in 0..MORE {
            // Returning at all shows that the initiator is woken by the operation that it waits for.
            state.announce();
            memberships.using(|| assert!(!state.is_in_operation()));
            state.done();
        }
        worker.join().unwrap();
        assert!(state.is_calm());
    });
}

#[test]
fn an_operation_waits_for_all_announced_changes() {
    check(|| {
        let shared = Arc::new((State::default(), Exclusive::default(), AtomicUsize::new(0)));
        let initiators: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    shared.2.fetch_add(1, Ordering::SeqCst);
                    shared.0.announce();
                    thread::yield_now();
                    shared.2.fetch_sub(1, Ordering::SeqCst);
                    shared.0.done();
                })
            })
            .collect();
        shared.0.announce();
        shared.0.done();
        shared.0.enter();
        shared.1.using(|| ());
        shared.0.leave();
        initiators.into_iter().for_each(|i| i.join().unwrap());
        assert_eq!(shared.2.load(Ordering::SeqCst), 0);
        assert!(shared.0.is_calm());
    });
}

#[test]
fn after_an_observation_a_worker_joins_no_team_before_it_completed_an_operation() {
    check(|| {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        shared.0.request_join();
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, operations) = &*worker;
            for _ in 0..1 + MORE {
                if state.join() {
                    return;
                }
                state.enter();
                state.leave();
                operations.fetch_add(1, Ordering::AcqRel);
            }
        });
        let (state, operations) = &*shared;
        let before = operations.load(Ordering::Acquire);
        let first = state.observe();
        let second = state.observe();
        let after = operations.load(Ordering::Acquire);
        assert!(first == second || after > before, "it joined right after it was observed");
        worker.join().unwrap();
    });
}

#[test]
fn after_an_observation_a_worker_leaves_no_team_before_it_completed_an_operation() {
    check(|| {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        shared.0.request_join();
        assert!(shared.0.join());
        shared.0.request_leave();
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, operations) = &*worker;
            for _ in 0..1 + MORE {
                if state.release() {
                    return;
                }
                state.enter();
                state.leave();
                operations.fetch_add(1, Ordering::AcqRel);
            }
        });
        let (state, operations) = &*shared;
        let before = operations.load(Ordering::Acquire);
        let first = state.observe();
        let second = state.observe();
        let after = operations.load(Ordering::Acquire);
        assert!(first == second || after > before, "it left right after it was observed");
        worker.join().unwrap();
    });
}

#[test]
fn nobody_joins_leaves_or_is_claimed_while_a_change_is_announced() {
    check(|| {
        let state = Arc::new(State::default());
        state.request_join();
        let other = Arc::clone(&state);
        let initiator = spawn(move || {
            other.announce();
            let (blocked, claims) = other.part_in_teams();
            thread::yield_now();
            let (still_blocked, claims_then) = other.part_in_teams();
            assert_eq!(still_blocked, blocked, "it joined or left while a change was announced");
            // A team that runs may end, but no other one begins.
            assert!(claims_then <= claims, "it was claimed while a change was announced");
            other.done();
        });
        if state.join() && state.claim() {
            state.unclaim();
            state.release();
        }
        initiator.join().unwrap();
        assert!(state.is_asked() && state.join() && state.claim(), "once the change is done, it can be claimed");
    });
}

#[test]
fn of_a_train_of_requests_the_first_blocks_and_the_last_releases() {
    check(|| {
        let state = Arc::new(State::default());
        state.request_join();
        assert!(state.join());
        let requesters: Vec<_> = (0..1 + MORE)
            .map(|_| {
                let state = Arc::clone(&state);
                spawn(move || {
                    state.request_join();
                    assert!(state.is_asked(), "not released while a request is there");
                    state.request_leave();
                })
            })
            .collect();
        requesters.into_iter().for_each(|r| r.join().unwrap());
        assert!(state.is_asked());
        state.request_leave();
        assert!(!state.is_asked());
        assert!(state.release());
        assert!(state.is_calm());
    });
}

#[test]
fn a_worker_never_sleeps_on_a_task() {
    check(|| {
        let shared = Arc::new((Sleep::new(1), AtomicUsize::new(0)));
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (sleep, queue) = &*worker;
            sleep.begin_looking();
            let look = || queue.compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).ok();
            while sleep.sleep(0, look).is_none() {}
            sleep.found();
        });
        let (sleep, queue) = &*shared;
        queue.store(1, Ordering::Release);
        sleep.notify();
        worker.join().unwrap();
        assert_eq!(sleep.sleeping(), 0);
    });
}

#[test]
fn only_a_worker_that_may_run_the_task_is_woken_for_it() {
    check(|| {
        let shared = Arc::new((Sleep::new(2), [AtomicUsize::new(0), AtomicUsize::new(0)]));
        let workers: Vec<_> = (0..2)
            .map(|number| {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    let (sleep, queues) = &*shared;
                    sleep.begin_looking();
                    let look = || queues[number].compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).ok();
                    while sleep.sleep(number, look).is_none() {}
                    sleep.found();
                })
            })
            .collect();
        for number in 0..2 {
            shared.1[number].store(1, Ordering::Release);
            shared.0.wake_worker(number);
        }
        workers.into_iter().for_each(|w| w.join().unwrap());
    });
}

#[test]
fn members_meet_or_learn_that_they_never_will() {
    check(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let other = spawn(move || {
            other.1.store(1, Ordering::Relaxed);
            other.0.arrive(0).unwrap();
            // Leaves without coming to the second meeting.
            other.0.leave();
        });
        shared.0.arrive(0).unwrap();
        assert_eq!(shared.1.load(Ordering::Relaxed), 1, "what was done before the barrier is seen after it");
        assert!(shared.0.arrive(0).is_err(), "the second meeting breaks");
        other.join().unwrap();
    });
}

/// Loom takes sequentially consistent accesses for weaker ones than they are, and this protocol rests on them.
#[cfg(not(loom))]
#[test]
fn whoever_waits_for_a_task_is_woken_when_it_completes() {
    use crate::sync::atomic::fence;
    use crate::task::record::{Record, flag};
    check(|| {
        let shared = Arc::new(Record::new());
        let generation = shared.generation();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let record = Arc::clone(&shared);
                let list = Arc::new(AtomicUsize::new(0));
                let seen = Arc::clone(&list);
                let thread = thread::spawn(move || {
                    while record.generation() == generation {
                        record.flags.fetch_or(flag::WAITED, Ordering::SeqCst);
                        fence(Ordering::SeqCst);
                        if record.generation() != generation {
                            break;
                        }
                        thread::park();
                    }
                    seen.store(1, Ordering::SeqCst);
                });
                (thread, list)
            })
            .collect();
        shared.close();
        if shared.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
            waiters.iter().for_each(|(thread, _)| thread.thread().unpark());
        }
        for (thread, seen) in waiters {
            thread.join().unwrap();
            assert_eq!(seen.load(Ordering::SeqCst), 1);
        }
    });
}
