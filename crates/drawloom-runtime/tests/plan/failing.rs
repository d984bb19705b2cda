//! Failures of recorded tasks come back once, with their names and numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_runtime::{ErrorKind, Sum};

use crate::looms;

fn names(tasks: &[drawloom_runtime::TaskOrigin]) -> Vec<&str> {
    tasks.iter().map(|task| task.name.as_str()).collect()
}

#[test]
fn what_a_run_spoiled_lists_the_tasks_that_are_cancelled_for_it_later() {
    for loom in looms() {
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        let capture = loom.capture("risky");
        capture.task("write").write(&x).run(|_| panic!("as told"));
        let run = capture.plan().unwrap().start();
        let later = loom.task("later").read(&x).write(&y).run(|x, y| *y = *x);
        // Everybody has seen it before anyone asks.
        let error = later.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert_eq!(error.because().unwrap().task().unwrap().name, "write");
        let error = run.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert_eq!(names(error.cancelled_tasks()), ["later"], "{error}");
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_run_that_suffers_from_an_earlier_failure_is_cancelled_for_it_and_fails_on_no_account_of_its_own() {
    for loom in looms() {
        let (x, y, z) = (loom.value("x", 0_u64), loom.value("y", 0_u64), loom.value("z", 0_u64));
        let capture = loom.capture("copy");
        capture.task("use").read(&x).write(&y).run(|x, y| *y = *x);
        capture.task("apart").update(&z).run(|z| *z += 1);
        let plan = capture.plan().unwrap();
        let bad = loom.task("bad").write(&x).run(|_| panic!("as told"));
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert_eq!(error.task().unwrap().name, "copy");
        assert_eq!(error.because().unwrap().kind(), ErrorKind::Panicked);
        assert_eq!(error.because().unwrap().task().unwrap().name, "bad");
        assert_eq!(names(error.cancelled_tasks()), ["use"]);
        assert_eq!(z.get().unwrap(), 1);
        // The failure itself is that of the other task, and comes back from there, once.
        let error = bad.wait().unwrap_err();
        assert_eq!(names(error.cancelled_tasks()), ["use", "copy"], "{error}");
        loom.wait_all().unwrap();
        assert_eq!(y.get().unwrap_err().task().unwrap().name, "bad");
    }
}

#[test]
fn of_several_failures_the_one_recorded_first_is_the_first() {
    for loom in looms() {
        let v = loom.vector("v", vec![0_u64; 8]);
        let sum = loom.value("sum", 0_u64);
        let capture = loom.capture("several");
        for (i, part) in v.blocks(8).unwrap().enumerate() {
            capture.task(format!("t{i}")).write(&part).reduce(&sum, Sum).try_run(move |part, sum| {
                (part[0], *sum) = (1, 1);
                if i % 2 == 1 { Err("odd") } else { Ok(()) }
            });
        }
        capture.task("all").read(&v).run(|_| ());
        let plan = capture.plan().unwrap();
        for _ in 0..10 {
            let error = plan.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Failed);
            assert_eq!(error.task().unwrap().name, "t1");
            let others: Vec<&str> = error.others().iter().map(|e| e.task().unwrap().name.as_str()).collect();
            assert_eq!(others, ["t3", "t5", "t7"]);
            assert_eq!(error.others_count(), 3);
            // A fold and the task that reads everything were each cancelled for one of them.
            let given: u64 = error.cancelled_count() + error.others().iter().map(|e| e.cancelled_count()).sum::<u64>();
            assert_eq!(given, 2);
            loom.wait_all().unwrap();
            loom.task("mend").write(&sum).run(|sum| *sum = 0);
        }
    }
}

#[test]
fn an_error_of_the_engine_that_a_recorded_task_returns_is_a_failure_of_that_task() {
    for loom in looms() {
        let inner = loom.clone();
        let capture = loom.capture("plan");
        capture.task("asks").try_run(move || inner.wait_all());
        let error = capture.plan().unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed, "{error}");
        assert_eq!(error.task().unwrap().name, "asks");
        assert_eq!(error.because().unwrap().kind(), ErrorKind::WaitInTask);
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_task_that_comes_after_one_that_failed_is_cancelled_as_if_it_was_submitted() {
    for loom in looms() {
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
        let rounds = AtomicU64::new(0);
        let capture = loom.capture("ordered");
        let first = capture.task("first").try_run(move || match rounds.fetch_add(1, Ordering::Relaxed) {
            0 => Err("the first round is bad"),
            _ => Ok(()),
        });
        let second = capture.task("second").after(first).update(&x).run(|x| *x += 1);
        capture.task("third").after(second).update(&y).run(|y| *y += 1);
        let plan = capture.plan().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(names(error.cancelled_tasks()), ["second", "third"], "{error}");
        assert_eq!(x.get().unwrap_err().task().unwrap().name, "first");
        loom.task("mend").write(&x).write(&y).run(|x, y| (*x, *y) = (0, 0));
        plan.run().unwrap();
        assert_eq!((x.get().unwrap(), y.get().unwrap()), (1, 1));
    }
}

#[test]
fn a_contribution_of_a_task_whose_child_fails_counts() {
    for loom in looms() {
        let sum = loom.value("sum", 0_u64);
        let inner = loom.clone();
        let capture = loom.capture("children");
        capture.task("parent").reduce(&sum, Sum).retry(1).run(move |sum| {
            *sum += 1;
            inner.task("child").run(|| panic!("later"));
        });
        let plan = capture.plan().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(error.task().unwrap().name, "parent");
        // As if the task had been submitted.
        assert_eq!(sum.get().unwrap(), 1);
        loom.wait_all().unwrap();
    }
}
