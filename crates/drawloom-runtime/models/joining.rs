//! Joining and leaving teams, and those who look whether a worker is blocked in one, on the word of one worker.

use std::sync::Arc;

use super::{MORE, check, spawn};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;
use crate::worker::state::State;

/// A worker tries to join or to leave, with an operation between two attempts, while it is observed twice. What the two
/// observers see differs only if the worker has completed an operation in between.
fn check_observed(prepare: fn(&State), attempt: fn(&State) -> bool) {
    check(move || {
        let shared = Arc::new((State::default(), AtomicUsize::new(0)));
        prepare(&shared.0);
        let worker = Arc::clone(&shared);
        let worker = spawn(move || {
            let (state, operations) = &*worker;
            for _ in 0..1 + MORE {
                if attempt(state) {
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
        assert!(first == second || after > before, "it joined or left right after it was observed");
        worker.join().unwrap();
    });
}

#[test]
fn after_an_observation_a_worker_joins_no_team_before_it_completed_an_operation() {
    check_observed(State::request_join, State::join);
}

#[test]
fn after_an_observation_a_worker_leaves_no_team_before_it_completed_an_operation() {
    let in_a_team = |state: &State| {
        state.request_join();
        assert!(state.join());
        state.request_leave();
    };
    check_observed(in_a_team, State::release);
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
