//! The barrier of a team, and waiting for a task.

use std::sync::Arc;

use super::{check, spawn};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::team::barrier::Barrier;

#[test]
fn members_meet_or_learn_that_they_never_will() {
    check(|| {
        let shared = Arc::new((Barrier::new(2), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let other = spawn(move || {
            other.1.store(1, Ordering::Relaxed);
            other.0.meet(0).unwrap();
            // Leaves without coming to the second meeting.
            other.0.leave();
        });
        shared.0.meet(0).unwrap();
        assert_eq!(shared.1.load(Ordering::Relaxed), 1, "what was done before the barrier is seen after it");
        assert!(shared.0.meet(0).is_err(), "the second meeting breaks");
        other.join().unwrap();
    });
}

/// Loom takes sequentially consistent accesses for weaker ones than they are, and this protocol rests on them.
#[cfg(not(loom))]
#[test]
fn whoever_waits_for_a_task_is_woken_when_it_completes() {
    use crate::sync::atomic::fence;
    use crate::sync::thread;
    use crate::task::record::{Record, flag};
    check(|| {
        let record = Arc::new(Record::new());
        let generation = record.generation();
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let record = Arc::clone(&record);
                spawn(move || {
                    while record.generation() == generation {
                        record.flags.fetch_or(flag::WAITED, Ordering::SeqCst);
                        fence(Ordering::SeqCst);
                        if record.generation() != generation {
                            break;
                        }
                        thread::park();
                    }
                })
            })
            .collect();
        record.close();
        if record.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
            waiters.iter().for_each(|waiter| waiter.thread().unpark());
        }
        // A waiter that nobody wakes sleeps for ever, which the checker reports.
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}
