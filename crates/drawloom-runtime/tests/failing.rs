//! What happens when tasks fail: once, with names, and to nobody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use drawloom_runtime::{ErrorKind, Loom, Region, Sum};

/// The serial engine, and engines with more and fewer workers than there are processors.
fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 2, 8].map(|workers| Loom::builder().workers(workers).build().unwrap()));
    looms
}

#[test]
fn a_failure_comes_back_once_with_its_name_its_place_and_what_was_cancelled_for_it() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let y = loom.value("y", 0_u64);
        loom.task("bad").write(&x).run(|_| panic!("no luck"));
        let line = line!() - 1;
        loom.task("next").read(&x).write(&y).run(|x, y| *y = *x);
        loom.task("last").update(&y).run(|y| *y += 1);
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panicked);
        assert_eq!(error.task().unwrap().name, "bad");
        assert_eq!(error.task().unwrap().location.line(), line);
        let names: Vec<&str> = error.cancelled_tasks().iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["next", "last"]);
        assert_eq!((error.cancelled_count(), error.others_count()), (2, 0));
        let text = error.to_string();
        assert!(text.contains("task `bad` (") && text.contains(&format!("failing.rs:{line}")), "{text}");
        assert!(text.contains("panicked: no luck; cancelled for it: task `next`"), "{text}");
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_failure_that_a_future_returned_is_not_returned_again() {
    for loom in looms() {
        let error = loom.task("bad").try_run(|| Err::<(), _>("no paper")).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("task `bad`") && error.to_string().contains("failed: no paper"), "{error}");
        loom.wait_all().unwrap();
    }
}

#[test]
fn the_cancelled_task_says_what_it_was_cancelled_for_and_the_failure_still_comes_back() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        loom.task("bad").write(&x).run(|_| panic!("no luck"));
        let next = loom.task("next").read(&x).returns(|x| *x);
        let error = next.wait().unwrap_err();
        assert_eq!((error.kind(), error.because().unwrap().kind()), (ErrorKind::Cancelled, ErrorKind::Panicked));
        let text = error.to_string();
        assert!(text.contains("task `next`") && text.contains("did not run, because task `bad`"), "{text}");
        let text = x.get().unwrap_err().to_string();
        assert!(text.contains("task `bad`") && text.contains("no luck"), "{text}");
        assert_eq!(loom.wait_all().unwrap_err().task().unwrap().name, "bad");
        loom.wait_all().unwrap();
    }
}

#[test]
fn two_failures_with_the_same_text_are_two_failures() {
    for loom in looms() {
        for _ in 0..2 {
            loom.task("bad").run(|| panic!("the same"));
        }
        let first = loom.task("bad").run(|| panic!("the same")).wait().unwrap_err();
        assert_eq!(first.others_count(), 0);
        let error = loom.wait_all().unwrap_err();
        assert_eq!((error.others().len(), error.others_count()), (1, 1));
        assert!(error.to_string().contains("another failure: task `bad`"), "{error}");
        loom.wait_all().unwrap();
    }
}

#[test]
fn many_failures_are_counted_and_the_first_are_listed() {
    for loom in looms() {
        std::panic::set_hook(Box::new(|_| ()));
        let x = loom.value("x", 0_u64);
        for i in 0..5000 {
            loom.task(if i % 2 == 0 { "even" } else { "odd" }).try_run(|| Err::<(), _>("no"));
        }
        loom.task("spoil").update(&x).try_run(|_| Err::<(), _>("x"));
        for _ in 0..5000 {
            loom.task("reader").read(&x).run(|_| ());
        }
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.others_count(), 5000);
        assert!(error.others().len() < 100);
        loom.wait_all().unwrap();
        let spoiled = loom.task("reader").read(&x).run(|_| ()).wait().unwrap_err();
        assert_eq!(spoiled.because().unwrap().task().unwrap().name, "spoil");
        let stats = loom.stats();
        assert_eq!((stats.failed, stats.cancelled), (5001, 5001));
    }
}

#[test]
fn a_task_after_a_failed_one_is_cancelled_whether_that_one_was_complete_or_not() {
    for loom in looms() {
        let (send, receive) = mpsc::channel::<()>();
        let first = if loom.workers() == 0 {
            loom.task("first").run(|| panic!("no"))
        } else {
            loom.task("first").run(move || {
                receive.recv().unwrap();
                panic!("no");
            })
        };
        let early = loom.task("early").after(&first).run(|| ());
        let _ = send.send(());
        while !first.is_complete() {
            std::thread::yield_now();
        }
        let late = loom.task("late").after(&first).run(|| ());
        for (future, name) in [(early, "early"), (late, "late")] {
            let error = future.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            assert_eq!(error.task().unwrap().name, name);
            assert_eq!(error.because().unwrap().task().unwrap().name, "first");
        }
        assert_eq!(first.wait().unwrap_err().kind(), ErrorKind::Panicked);
    }
}

#[test]
fn a_future_can_be_asked_without_waiting() {
    for loom in looms() {
        let future = loom.task("bad").try_run(|| Err::<u64, _>("no"));
        while !future.is_complete() {
            std::thread::yield_now();
        }
        let error = future.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_reduction_with_a_failed_contributor_is_spoiled_and_the_others_still_ran() {
    for loom in looms() {
        let sum = loom.value("sum", 0_u64);
        let ran = Arc::new(AtomicUsize::new(0));
        for i in 0..20 {
            let ran = Arc::clone(&ran);
            loom.task("add").reduce(&sum, Sum).run(move |sum| {
                assert!(i != 3, "three is too much");
                *sum += 1;
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        let text = sum.get().unwrap_err().to_string();
        assert!(text.contains("task `add`") && text.contains("three is too much"), "{text}");
        assert_eq!(ran.load(Ordering::Relaxed), 19);
        assert_eq!(loom.wait_all().unwrap_err().others_count(), 0);
        loom.task("again").write(&sum).run(|sum| *sum = 1);
        loom.task("add").reduce(&sum, Sum).run(|sum| *sum += 1);
        assert_eq!(sum.get().unwrap(), 2);
    }
}

#[test]
fn a_parent_fails_with_the_child_that_it_did_not_look_at() {
    for loom in looms() {
        let x = loom.vector("x", vec![0_u64; 4]);
        let (inner, lent) = (loom.clone(), x.clone());
        let parent = loom.task("parent").lend(&x).returns(move |_| {
            let mut blocks = lent.blocks(2).unwrap();
            inner.task("good").write(&blocks.next().unwrap()).run(|b| b.fill(1));
            inner.task("bad").write(&blocks.next().unwrap()).run(|_| panic!("a child's"));
            7
        });
        // The value is there, but what the parent promised to do is not done.
        let after = loom.task("after").read(&x).run(|_| ());
        assert_eq!(after.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        let _ = parent;
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert_eq!(error.task().unwrap().name, "parent");
        assert_eq!(error.because().unwrap().task().unwrap().name, "bad");
        assert!(error.to_string().contains("a task that it submitted failed, because task `bad`"), "{error}");
        assert_eq!(x.blocks(2).unwrap().next().unwrap().to_vec().unwrap(), [1, 1]);
        assert!(x.blocks(2).unwrap().nth(1).unwrap().to_vec().is_err());
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_parent_that_looked_at_the_failure_of_its_child_does_not_fail() {
    for loom in looms() {
        let inner = loom.clone();
        let parent = loom.task("parent").returns(move || {
            let error = inner.task("bad").run(|| panic!("a child's")).wait().unwrap_err();
            error.to_string()
        });
        assert!(parent.wait().unwrap().contains("a child's"));
        loom.wait_all().unwrap();
    }
}

#[test]
fn the_failure_of_a_grandchild_reaches_the_outside_through_its_ancestors() {
    for loom in looms() {
        let inner = loom.clone();
        let outermost = loom.task("outer").run(move || {
            let innermost = inner.clone();
            inner.task("middle").run(move || {
                innermost.task("inner").try_run(|| Err::<(), _>("deep down"));
            });
        });
        let error = outermost.wait().unwrap_err();
        let names: Vec<String> =
            std::iter::successors(Some(&error), |e| e.because()).map(|e| e.task().unwrap().name.clone()).collect();
        assert_eq!(names, ["outer", "middle", "inner"]);
        loom.wait_all().unwrap();
    }
}

/// Panics when it is dropped, as long as it is armed.
struct Bomb(bool);

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0, "dropped");
    }
}

#[test]
fn destructors_that_panic_neither_end_a_worker_nor_stop_the_others() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let bomb = Bomb(true);
        let error = loom
            .task("captures")
            .run(move || {
                let _kept = &bomb;
            })
            .wait();
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Panicked);
        loom.task("bad").write(&x).run(|_| panic!("no"));
        let bomb = Bomb(true);
        loom.task("cancelled").read(&x).run(move |_| {
            let _kept = &bomb;
        });
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.others_count(), 1, "{error}");
        assert!(error.others()[0].to_string().contains("while its body was dropped"), "{error}");
        // Two at once: the second must not end the process.
        drop(loom.host_vector("bombs", vec![Bomb(true), Bomb(true), Bomb(false)]));
        let error = loom.wait_all().unwrap_err();
        assert!(error.to_string().contains("region `bombs`"), "{error}");
        let error = loom.task("payload").run(|| std::panic::panic_any(Bomb(true))).wait().unwrap_err();
        assert!(error.to_string().contains("not text"), "{error}");
        for _ in 0..100 {
            loom.task("fine").update(&loom.value("y", 0_u64)).run(|y| *y += 1);
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn cancelling_gives_up_what_has_not_started_and_the_runtime_goes_on() {
    for workers in [1, 2, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let x = loom.value("x", 1_u64);
        let (started, wait_for_start) = mpsc::channel();
        let (go, wait_to_go) = mpsc::channel::<()>();
        let running = loom.task("running").update(&x).returns(move |x| {
            started.send(()).unwrap();
            wait_to_go.recv().unwrap();
            *x += 1;
            *x
        });
        let dropped = Arc::new(());
        for _ in 0..100 {
            let captured = Arc::clone(&dropped);
            loom.task("late").update(&x).run(move |_| drop(captured));
        }
        let last = loom.task("last").read(&x).returns(|x| *x);
        wait_for_start.recv().unwrap();
        loom.cancel();
        let line = line!() - 1;
        go.send(()).unwrap();
        assert_eq!(running.wait().unwrap(), 2);
        let error = last.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.to_string().contains("task `last`") && error.to_string().contains("all tasks were cancelled"));
        let error = loom.wait_all().unwrap_err();
        assert_eq!((error.kind(), error.cancelled_count()), (ErrorKind::Cancelled, 101));
        assert!(error.to_string().contains(&format!("failing.rs:{line}")), "{error}");
        assert_eq!(Arc::strong_count(&dropped), 1);
        loom.wait_all().unwrap();
        loom.task("again").write(&x).run(|x| *x = 9);
        assert_eq!(x.get().unwrap(), 9);
        loom.cancel();
        loom.wait_all().unwrap();
    }
}

#[test]
fn the_value_of_a_parent_is_not_had_when_a_child_failed_unseen() {
    for loom in looms() {
        let inner = loom.clone();
        let parent = loom.task("parent").returns(move || {
            inner.task("bad").try_run(|| Err::<(), _>("a child's"));
            7
        });
        let error = parent.wait().unwrap_err();
        assert_eq!((error.kind(), error.because().unwrap().task().unwrap().name.as_str()), (ErrorKind::Failed, "bad"));
        loom.wait_all().unwrap();
    }
}

#[test]
fn children_of_a_parent_that_fails_run_and_what_was_lent_is_spoiled_after_them() {
    for loom in looms() {
        let x = loom.vector("x", vec![1_u64; 4]);
        let ran = Arc::new(AtomicUsize::new(0));
        let (inner, lent, counted) = (loom.clone(), x.clone(), Arc::clone(&ran));
        let parent = loom.task("parent").lend(&x).try_run(move |_| {
            for _ in 0..20 {
                let counted = Arc::clone(&counted);
                inner.task("child").update(&lent).run(move |_| {
                    counted.fetch_add(1, Ordering::Relaxed);
                });
            }
            inner.task("last").write(&lent).run(|x| x.fill(2));
            Err::<(), _>("the parent's")
        });
        assert_eq!(x.to_vec().unwrap_err().kind(), ErrorKind::Failed);
        assert!(parent.wait().unwrap_err().to_string().contains("the parent's"));
        assert_eq!(ran.load(Ordering::Relaxed), 20);
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_parent_that_was_told_that_its_child_is_refused_does_not_fail() {
    for loom in looms() {
        for _ in 0..50 {
            let x = loom.vector("x", vec![0_u64; 4]);
            let (inner, lent) = (loom.clone(), x.clone());
            let parent = loom.task("parent").lend(&x).returns(move |_| {
                inner.task("slow").update(&lent).run(|x| x.fill(1));
                let error = inner.task("twice").read(&lent).update(&lent).run(|_, _| ()).wait().unwrap_err();
                error.kind()
            });
            assert_eq!(parent.wait().unwrap(), ErrorKind::Overlap);
        }
        loom.wait_all().unwrap();
    }
}

#[test]
fn what_a_cancelled_run_of_a_plan_should_have_written_is_spoiled() {
    for workers in [1, 2, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let x = loom.vector("x", vec![1_u64; 4]);
        let halves: Vec<_> = x.blocks(2).unwrap().collect();
        let gate = loom.value("gate", 0_u64);
        let capture = loom.capture("half");
        capture.task("fill").read(&gate).write(&halves[0]).run(|_, half| half.fill(2));
        let plan = capture.plan().unwrap();
        let held = gate.write().unwrap();
        let run = plan.start();
        loom.cancel();
        drop(held);
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(halves[0].to_vec().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(halves[1].to_vec().unwrap(), [1, 1]);
        plan.run().unwrap();
        assert_eq!(x.to_vec().unwrap(), [2, 2, 1, 1]);
        let _ = loom.wait_all();
    }
}

/// An operator whose identity panics from some time on.
#[derive(Clone)]
struct Grumpy(Arc<std::sync::atomic::AtomicBool>);

impl drawloom_runtime::Operator<u64> for Grumpy {
    fn name(&self) -> &'static str {
        "grumpy"
    }
    fn identity(&self) -> u64 {
        assert!(!self.0.load(Ordering::SeqCst), "no identity today");
        0
    }
    fn fold(&self, into: &mut u64, from: &u64) {
        *into += *from;
    }
}

#[test]
fn workers_survive_whatever_of_the_users_panics_in_plans_and_teams() {
    struct Unprintable;
    impl std::fmt::Debug for Unprintable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no debug")
        }
    }
    impl std::fmt::Display for Unprintable {
        fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            panic!("no text")
        }
    }
    impl std::error::Error for Unprintable {}
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped")
        }
    }
    for loom in looms() {
        let grumpy = Grumpy(Arc::default());
        let sum = loom.value("sum", 0_u64);
        let capture = loom.capture("bad");
        capture.task("unprintable").try_run(|| Err::<(), _>(Unprintable));
        capture.task("bomb").run(|| std::panic::panic_any(Bomb));
        let bad = capture.plan().unwrap();
        let capture = loom.capture("grumpy");
        capture.task("add").reduce(&sum, grumpy.clone()).run(|sum| *sum += 1);
        let reduces = capture.plan().unwrap();
        reduces.run().unwrap();
        grumpy.0.store(true, Ordering::SeqCst);
        bad.run().unwrap_err();
        assert_eq!(reduces.run().unwrap_err().kind(), ErrorKind::Panicked);
        grumpy.0.store(false, Ordering::SeqCst);
        loom.task("reset").write(&sum).run(|sum| *sum = 0);
        reduces.run().unwrap();
        assert_eq!(sum.get().unwrap(), 1);
        let _ = loom.wait_all();
    }
}

#[test]
fn a_parent_that_looked_at_all_failures_of_its_children_has_not_failed_however_many_there_were() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let inner = loom.clone();
        let parent = loom.task("parent").returns(move || {
            let child = |i| inner.task("child").try_run(move || Err::<(), _>(format!("number {i}")));
            let children: Vec<_> = (0..100).map(child).collect();
            children.into_iter().rev().map(drawloom_runtime::Future::wait).filter(Result::is_err).count()
        });
        assert_eq!(parent.wait().unwrap(), 100);
        loom.wait_all().unwrap();
    }
}

#[test]
fn the_last_handle_may_go_with_the_body_of_a_task_that_does_not_run() {
    let loom = Loom::serial();
    let x = loom.value("x", 0_u64);
    let guard = x.write().unwrap();
    loom.task("bad").update(&x).run(|_| panic!("bad"));
    let last = loom.clone();
    loom.task("captures").read(&x).run(move |_| drop(last));
    drop(loom);
    drop(guard);
    assert!(x.get().is_err());
}
