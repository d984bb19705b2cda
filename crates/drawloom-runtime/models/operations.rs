//! Scheduling operations and changes of contexts, on the word of one worker.

use std::sync::Arc;

use super::{Exclusive, MORE, check, spawn};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;
use crate::worker::state::State;

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
            state.announce();
            memberships.using(|| assert!(!state.is_in_operation()));
            state.done();
        }
        worker.join().unwrap();
        assert!(state.is_calm());
    });
}

#[test]
fn an_operation_that_runs_completes() {
    check(|| {
        // How far the worker's operation has come: not begun, in the middle, at its end.
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, steps) = &*worker;
            state.enter();
            steps.store(1, Ordering::Relaxed);
            thread::yield_now();
            steps.store(2, Ordering::Relaxed);
            state.leave();
        });
        let (state, steps) = &*shared;
        state.announce();
        assert_ne!(steps.load(Ordering::Relaxed), 1, "a change is made in the middle of an operation");
        state.done();
        worker.join().unwrap();
        assert_eq!(steps.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn no_operation_begins_after_a_change_was_announced() {
    check(|| {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, operations) = &*worker;
            for _ in 0..1 + MORE {
                state.enter();
                operations.fetch_add(1, Ordering::Relaxed);
                state.leave();
            }
        });
        let (state, operations) = &*shared;
        state.announce();
        let before = operations.load(Ordering::Relaxed);
        thread::yield_now();
        assert_eq!(operations.load(Ordering::Relaxed), before, "an operation began");
        state.done();
        worker.join().unwrap();
    });
}

#[test]
fn nothing_starts_before_every_announced_change_is_done() {
    check(|| {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        let initiators: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                spawn(move || {
                    let (state, changing) = &*shared;
                    state.announce();
                    changing.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                    changing.fetch_sub(1, Ordering::Relaxed);
                    state.done();
                })
            })
            .collect();
        let (state, changing) = &*shared;
        for _ in 0..MORE {
            state.enter();
            assert_eq!(changing.load(Ordering::Relaxed), 0, "an operation began during a change");
            state.leave();
        }
        initiators.into_iter().for_each(|i| i.join().unwrap());
        assert!(state.is_calm());
    });
}

#[test]
fn the_initiator_is_woken_by_the_operation_and_not_starved() {
    check(|| {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, changed) = &*worker;
            // One operation after the other, without a pause, until the change was made: this ends only if the initiator
            // gets its turn between two of them. Loom tries everything, so there it is only a few.
            let mut left = if cfg!(loom) { 1 + MORE } else { usize::MAX };
            while changed.load(Ordering::Relaxed) == 0 && left > 0 {
                state.enter();
                thread::yield_now();
                state.leave();
                left -= 1;
            }
        });
        let (state, changed) = &*shared;
        // Returning at all shows that the operation it waits for wakes it.
        state.announce();
        changed.store(1, Ordering::Relaxed);
        state.done();
        worker.join().unwrap();
    });
}
