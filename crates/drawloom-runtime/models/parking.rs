//! Who looks for work, who sleeps, and who is woken.

use std::sync::Arc;

use super::{check, spawn};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::thread;
use crate::worker::sleep::Sleep;

/// The sleepers, and for each worker a place for a task.
type Parked = (Sleep, Vec<AtomicUsize>);

/// Workers that sleep until a task lies in their place, and take it.
fn sleepers(count: usize) -> (Arc<Parked>, Vec<thread::JoinHandle<()>>) {
    let places: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
    let shared = Arc::new((Sleep::new(count), places));
    let threads = (0..count).map(|number| {
        let shared = Arc::clone(&shared);
        spawn(move || {
            let (sleep, places) = &*shared;
            sleep.begin_looking();
            let look = || places[number].compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire).ok();
            while sleep.sleep(number, look).is_none() {}
            sleep.found();
        })
    });
    let threads = threads.collect();
    (shared, threads)
}

#[test]
fn a_worker_never_sleeps_on_a_task() {
    check(|| {
        let (shared, workers) = sleepers(1);
        let (sleep, places) = &*shared;
        places[0].store(1, Ordering::Release);
        sleep.notify();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!((sleep.sleeping(), sleep.looking()), (0, 0));
    });
}

/// Who finds something at the last moment, and sleeps again, is not woken for the sleep before.
#[test]
fn a_worker_that_sleeps_again_is_counted_once() {
    check(|| {
        let shared = Arc::new((Sleep::new(1), AtomicUsize::new(0)));
        let worker = {
            let shared = Arc::clone(&shared);
            spawn(move || {
                let (sleep, tasks) = &*shared;
                for _ in 0..2 {
                    sleep.begin_looking();
                    let look = || {
                        let take = |tasks: usize| tasks.checked_sub(1);
                        tasks.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).ok()
                    };
                    while sleep.sleep(0, look).is_none() {}
                    sleep.found();
                }
            })
        };
        let (sleep, tasks) = &*shared;
        for _ in 0..2 {
            tasks.fetch_add(1, Ordering::AcqRel);
            sleep.notify();
        }
        worker.join().unwrap();
        assert_eq!((sleep.sleeping(), sleep.looking()), (0, 0));
    });
}

#[test]
fn only_a_worker_that_may_run_the_task_is_woken_for_it() {
    check(|| {
        let (shared, workers) = sleepers(2);
        let (sleep, places) = &*shared;
        for (number, place) in places.iter().enumerate() {
            place.store(1, Ordering::Release);
            sleep.wake_worker(number);
        }
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!((sleep.sleeping(), sleep.looking()), (0, 0));
    });
}

#[test]
fn everybody_is_woken_who_sleeps_when_all_are() {
    check(|| {
        let (shared, workers) = sleepers(2);
        let (sleep, places) = &*shared;
        places.iter().for_each(|place| place.store(1, Ordering::Release));
        // Who is not in the list yet looks once more, and needs no waking. Sequentially consistent, as the count is.
        crate::sync::atomic::fence(Ordering::SeqCst);
        sleep.wake_all();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!((sleep.sleeping(), sleep.looking()), (0, 0));
    });
}
