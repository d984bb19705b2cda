//! Tasks on data: orders, children, guards, futures, failures, plans, the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{append, check, loom, steady};
use crate::sync::thread;
use crate::{ErrorKind, Loom, Region};

#[test]
fn tasks_on_one_region_run_in_order_and_readers_between_writers() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        loom.task("one").update(&x).run(|x| append(x, 1));
        let readers = [(); 2].map(|()| loom.task("look").read(&x).returns(steady));
        loom.task("two").update(&x).run(|x| append(x, 2));
        assert_eq!(x.get().unwrap(), 12);
        for reader in readers {
            assert_eq!(reader.wait().unwrap(), Some(1));
        }
    });
}

/// Two tasks a step, each after both of the step before: whoever ends first may reserve one that waits for the other.
#[test]
fn tasks_that_wait_for_two_workers_at_every_step_run_once_each() {
    check(|| {
        let loom = loom(2);
        let mut old = [loom.value("a", 1_u64), loom.value("b", 2_u64)];
        let mut new = [loom.value("c", 0_u64), loom.value("d", 0_u64)];
        for _ in 0..3 {
            for (place, value) in new.iter().enumerate() {
                let task = loom.task("step").read(&old[0]).read(&old[1]).update(value);
                task.run(move |a, b, value| {
                    let sum = a + b;
                    append(value, sum % 7 + place as u64);
                });
            }
            std::mem::swap(&mut old, &mut new);
        }
        loom.wait_all().unwrap();
        let serial = |a: &mut [u64; 2], b: &[u64; 2]| {
            let sum = b[0] + b[1];
            a.iter_mut().zip(0..).for_each(|(value, place)| *value = *value * 10 + sum % 7 + place);
        };
        let (mut first, mut second) = ([1, 2], [0, 0]);
        serial(&mut second, &first);
        serial(&mut first, &second);
        serial(&mut second, &first);
        let found = old.each_ref().map(|value| *value.read().unwrap());
        assert_eq!(found, second);
    });
}

#[test]
fn several_threads_submit_at_once() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let (other, same) = (loom.clone(), x.clone());
        let thread = thread::spawn(move || {
            other.task("one").update(&same).run(|x| append(x, 1));
            other.task("two").update(&same).run(|x| append(x, 2)).wait().unwrap();
        });
        loom.task("three").update(&x).run(|x| append(x, 3));
        thread.join().unwrap();
        loom.wait_all().unwrap();
        let digits = x.get().unwrap();
        assert!([123, 132, 312].contains(&digits), "{digits}");
    });
}

#[test]
fn a_parent_runs_its_children_while_it_waits_for_them() {
    check(|| {
        // One worker would do: the parent's own. The other one competes with it for the children.
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let (inner, lent) = (loom.clone(), x.clone());
        let parent = loom.task("parent").lend(&x).returns(move |_| {
            inner.task("one").update(&lent).run(|x| append(x, 1));
            let (deeper, same) = (inner.clone(), lent.clone());
            inner.task("two").lend(&lent).run(move |_| {
                deeper.task("grandchild").update(&same).run(|x| append(x, 2));
            });
            let seen = inner.task("look").read(&lent).returns(steady).wait().unwrap();
            inner.task("three").update(&lent).run(|x| append(x, 3));
            seen
        });
        assert_eq!(x.get().unwrap(), 123);
        assert_eq!(parent.wait().unwrap(), Some(12));
    });
}

#[test]
fn a_guard_has_its_turn_and_its_record_is_used_again_at_once() {
    check(|| {
        let loom = loom(2);
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        for digit in 1..=2 {
            loom.task("count").update(&x).run(move |x| append(x, 2 * digit - 1));
            append(x.write().unwrap().view_mut(), 2 * digit);
            // Takes the record that the guard has just left, and must wait all the same.
            loom.task("slow").update(&y).run(move |y| append(y, 2 * digit - 1));
            loom.task("late").update(&y).run(move |y| append(y, 2 * digit));
        }
        assert_eq!((x.get().unwrap(), y.get().unwrap()), (1234, 1234));
    });
}

#[test]
fn guards_of_several_threads_exclude_each_other() {
    check(|| {
        let loom = loom(1);
        let x = loom.value("x", 0_u64);
        let same = x.clone();
        let other = thread::spawn(move || append(same.write().unwrap().view_mut(), 1));
        append(x.write().unwrap().view_mut(), 2);
        loom.task("three").update(&x).run(|x| append(x, 3));
        other.join().unwrap();
        let digits = x.get().unwrap();
        assert!([123, 213, 231].contains(&digits), "{digits}");
    });
}

#[test]
fn a_future_that_is_awaited_wakes_whoever_awaits_it() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let first = loom.task("one").update(&x).returns(|x| append(x, 1));
        let second = loom.task("two").update(&x).returns(|x| {
            append(x, 2);
            *x
        });
        let value = shuttle::future::block_on(async move {
            first.await.unwrap();
            second.await.unwrap()
        });
        assert_eq!(value, 12);
    });
}

#[test]
fn tasks_that_commute_exclude_each_other_and_do_not_block() {
    check(|| {
        let loom = loom(2);
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        let both = |x: &mut u64, y: &mut u64| {
            append(x, 1);
            append(y, 1);
        };
        loom.task("forth").commute(&x).commute(&y).run(both);
        loom.task("back").commute(&y).commute(&x).run(both);
        loom.task("one").commute(&x).run(|x| append(x, 1));
        assert_eq!((x.get().unwrap(), y.get().unwrap()), (111, 11));
    });
}

#[test]
fn a_failure_reaches_those_who_depend_on_it_and_nobody_else() {
    check(|| {
        let loom = loom(2);
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        let bad = loom.task("bad").update(&x).try_run(|_| {
            thread::yield_now();
            Err::<(), _>("no luck")
        });
        let reader = loom.task("reader").read(&x).run(|_| ());
        let after = loom.task("after").after(&bad).run(|| ());
        let other = loom.task("other").update(&y).returns(|y| {
            append(y, 1);
            *y
        });
        assert_eq!(reader.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(after.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(bad.wait().unwrap_err().kind(), ErrorKind::Failed);
        assert_eq!(other.wait().unwrap(), 1);
        loom.wait_all().unwrap();
    });
}

/// The gate of the child is opened by who cancels, or by the task before it.
#[test]
fn a_child_that_comes_after_a_task_outside_is_given_up_once_or_runs_in_its_turn() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let before = loom.task("before").update(&x).run(|x| append(x, 1));
        let (inner, done) = (loom.clone(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&done);
        let seen = x.clone();
        let parent = loom.task("parent").run(move || {
            let child = inner.task("child").after(&before).run(move || _ = count.fetch_add(1, Ordering::SeqCst));
            drop((child, before, seen));
        });
        loom.cancel();
        let _ = (parent.wait(), loom.wait_all());
        assert!(done.load(Ordering::SeqCst) <= 1);
        assert_eq!(Arc::strong_count(&done), 1, "what the child captured is dropped");
    });
}

#[test]
fn tasks_that_are_cancelled_are_complete_whatever_they_were_about_to_do() {
    check(|| {
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        let futures: Vec<_> =
            (1..=3).map(|digit| loom.task("count").update(&x).run(move |x| append(x, digit))).collect();
        loom.cancel();
        for future in futures {
            if let Err(error) = future.wait() {
                assert_eq!(error.kind(), ErrorKind::Cancelled);
            }
        }
        let _ = loom.wait_all();
        loom.wait_all().unwrap();
    });
}

#[test]
fn runs_of_a_plan_follow_each_other_also_when_its_handles_are_gone() {
    check(|| {
        let loom = loom(2);
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        let capture = loom.capture("step");
        capture.task("one").update(&x).run(|x| append(x, 1));
        capture.task("other").update(&y).run(|y| append(y, 1));
        capture.task("two").read(&y).update(&x).run(|_, x| append(x, 2));
        let plan = capture.plan().unwrap();
        drop((plan.start(), plan.start()));
        drop(plan);
        loom.task("last").update(&x).run(|x| append(x, 3));
        assert_eq!((x.get().unwrap(), y.get().unwrap()), (12123, 11));
    });
}

#[test]
fn a_runtime_that_is_dropped_finishes_what_it_was_given() {
    check(|| {
        let ran = Arc::new(AtomicUsize::new(0));
        let loom = loom(2);
        let x = loom.value("x", 0_u64);
        for _ in 0..3 {
            let (ran, inner) = (Arc::clone(&ran), loom.clone());
            loom.task("count").update(&x).run(move |_| {
                ran.fetch_add(1, Ordering::SeqCst);
                // The last handle may be this one, which is dropped inside of a task.
                drop(inner);
            });
        }
        let core = Arc::downgrade(loom.core());
        drop((x, loom));
        // When a task dropped the last handle, the runtime ends behind its back.
        while core.strong_count() > 0 {
            thread::yield_now();
        }
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&ran)), (3, 1));
    });
}

#[test]
fn a_runtime_ends_whatever_its_workers_are_about_to_do() {
    check(|| drop(loom(3)));
    check(|| loom(2).task("only").run(|| ()).wait().unwrap());
}

#[test]
fn a_fast_submitter_waits_for_room_and_a_task_never_does() {
    check(|| {
        let loom = Loom::builder().workers(2).in_flight(1).build().unwrap();
        let x = loom.value("x", 0_u64);
        // More than the first records that are made, whatever the limit.
        for _ in 0..6 {
            let (inner, same) = (loom.clone(), x.clone());
            loom.task("parent").lend(&x).run(move |_| {
                for _ in 0..2 {
                    inner.task("child").update(&same).run(|x| *x += 1);
                }
            });
        }
        assert_eq!(x.get().unwrap(), 12);
    });
}
