//! What plans may be used for, and when: from tasks, after the end, on other regions meanwhile, never.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use drawloom_runtime::{ErrorKind, Loom, Region, Sum};

use crate::{Witness, looms};

#[test]
fn pieces_without_elements_and_reads_that_overlap_are_no_reason_to_refuse_a_recorded_task() {
    for loom in looms() {
        let x = loom.vector("x", (0..10_u64).collect());
        let parts = x.subsets(&[vec![0, 1, 2, 3], vec![2, 3, 4], vec![8, 9], vec![], vec![4, 5]]).unwrap();
        let [a, b, c, none, d] = [0, 1, 2, 3, 4].map(|i| parts.get(i).unwrap());
        let capture = loom.capture("overlapping");
        // All of them are parts of one region; only what is read overlaps, and the last one only through another one.
        capture.task("sum").read(&a).read(&b).read(&d).update(&c).run(|a, b, d, mut c| {
            let sum: u64 = a.iter().chain(b.iter()).chain(d.iter()).map(|(_, x)| x).sum();
            c.iter_mut().for_each(|(_, c)| *c += sum);
        });
        capture.task("nothing").update(&none).update(&x).run(|none, x| {
            assert!(none.is_empty());
            x[0] += 1;
        });
        let graph = capture.graph().unwrap();
        assert!(graph.check().is_valid());
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        plan.run().unwrap();
        // 0..4, 2..5 and 4..6, once more with another first element.
        assert_eq!(x.to_vec().unwrap(), [2, 1, 2, 3, 4, 5, 6, 7, 8 + 24 + 25, 9 + 24 + 25]);
        let capture = loom.capture("bad");
        capture.task("mixed").read(&a).read(&b).update(&d).run(|_, _, _| ());
        let error = capture.plan().unwrap_err().to_string();
        assert!(error.contains("mixed") && error.contains("P1"), "{error}");
    }
}

#[test]
fn tasks_that_commute_are_a_chain_of_updates_that_is_marked() {
    for loom in looms() {
        let (x, y) = (loom.value("x", 0_u64), loom.value("y", 1_u64));
        let capture = loom.capture("commuting");
        for _ in 0..3 {
            capture.task("add").read(&y).commute(&x).run(|y, x| *x += y);
        }
        capture.task("set").update(&y).run(|y| *y += 1);
        let graph = capture.graph().unwrap();
        assert_eq!(graph.edges().iter().filter(|edge| edge.is_reorderable()).count(), 3);
        let plan = capture.plan().unwrap();
        for _ in 0..10 {
            plan.start();
            loom.task("outside").commute(&x).run(|x| *x += 100);
        }
        assert_eq!(x.get().unwrap(), 1000 + 3 * 55);
    }
}

#[test]
fn a_plan_is_not_run_by_a_task_and_the_error_names_both() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let capture = loom.capture("inner plan");
        capture.task("add").update(&x).run(|x| *x += 1);
        let plan = capture.plan().unwrap();
        let held = plan.clone();
        let error = loom.task("outer").returns(move || held.run().unwrap_err()).wait().unwrap();
        assert_eq!(error.kind(), ErrorKind::Plan);
        assert!(error.to_string().contains("`inner plan`") && error.to_string().contains("`outer`"), "{error}");
        let (seen, held) = (loom.host_value("seen", None), plan.clone());
        let capture = loom.capture("outer plan");
        capture.task("node").write(&seen).run(move |seen| *seen = Some(held.run().unwrap_err().to_string()));
        capture.plan().unwrap().run().unwrap();
        let error = seen.read().unwrap().clone().unwrap();
        assert!(error.contains("`inner plan`") && error.contains("`node`"), "{error}");
        // What it would have changed is as it was.
        plan.run().unwrap();
        assert_eq!(x.get().unwrap(), 1);
        let _ = loom.wait_all();
    }
}

#[test]
fn a_plan_can_be_exchanged_and_dropped_while_it_runs_also_by_a_task() {
    for loom in [1, 2, 8].map(|workers| Loom::builder().workers(workers).build().unwrap()) {
        let (x, y, sum) =
            (loom.vector("x", vec![1_u64; 4]), loom.vector("y", vec![2_u64; 4]), loom.value("sum", 0_u64));
        let (go, wait) = channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let capture = loom.capture("slow");
        capture.task("wait").update(&x).run(move |x| {
            // Only the first run waits.
            let _ = wait.lock().unwrap().recv();
            x[0] += 1;
        });
        capture.task("sum").read(&x).reduce(&sum, Sum).run(|x, sum| *sum += x.iter().sum::<u64>());
        let plan = capture.plan().unwrap();
        let run = plan.start();
        let other = plan.rebind(&x, &y).unwrap();
        let second = other.start();
        go.send(()).unwrap();
        drop(go);
        run.wait().unwrap();
        second.wait().unwrap();
        assert_eq!((x.to_vec().unwrap()[0], y.to_vec().unwrap()[0], sum.get().unwrap()), (2, 3, 5 + 9));
        let last = other.start();
        loom.task("drop").run(move || drop((plan, other))).wait().unwrap();
        last.wait().unwrap();
        assert_eq!(sum.get().unwrap(), 5 + 9 + 10);
    }
}

#[test]
fn an_empty_plan_runs_and_one_that_is_never_run_drops_what_it_captured() {
    for loom in looms() {
        let plan = loom.capture("empty").plan().unwrap();
        assert!(plan.is_empty() && plan.nodes() == 0 && plan.depth() == 0);
        for _ in 0..3 {
            plan.run().unwrap();
        }
        let own = loom.context("own").workers(loom.worker_ids()).create().unwrap();
        plan.run_in(&own).unwrap();
        let dropped = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let witness = Witness(Arc::clone(&dropped));
        let capture = loom.capture("never");
        capture.task("t").run(move || assert!(!witness.0.load(Ordering::SeqCst)));
        drop(capture.plan().unwrap());
        assert!(dropped.load(Ordering::SeqCst));
    }
}

#[test]
fn what_belongs_to_another_runtime_is_refused() {
    let (here, there) = (Loom::serial(), Loom::serial());
    let (x, far) = (here.value("x", 0_u64), there.value("far", 0_u64));
    let capture = here.capture("plan");
    let step = capture.task("own").update(&x).run(|x| *x += 1);
    let plan = capture.plan().unwrap();
    let error = plan.run_in(&there.context("theirs").create().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("`plan`"), "{error}");
    let error = plan.rebind(&x, &far).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    let capture = here.capture("mixed");
    capture.task("uses").update(&far).run(|_| ());
    let error = capture.plan().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("`uses`") && error.to_string().contains("`far`"), "{error}");
    for other in [here.capture("other"), there.capture("other")] {
        other.task("late").after(step).run(|| ());
        let error = other.plan().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Plan);
        assert!(error.to_string().contains("`late`"), "{error}");
    }
    let _ = here.wait_all();
}

#[test]
fn a_region_that_a_recorded_task_makes_can_be_used_by_everyone() {
    for loom in looms() {
        let made = loom.host_value("made", Vec::new());
        let (count, v) = (Arc::new(AtomicU64::new(0)), loom.vector("v", vec![0_u8; 100]));
        let capture = loom.capture("makes");
        // Several at once, on several workers.
        for part in v.blocks(100).unwrap() {
            let (inner, count) = (loom.clone(), Arc::clone(&count));
            capture.task("make").update(&part).run(move |_| {
                let own = inner.vector("own", vec![1_u64; 3]);
                count.fetch_add(own.len() as u64, Ordering::Relaxed);
            });
        }
        let inner = loom.clone();
        capture.task("keep").update(&made).run(move |made| made.push(inner.value("kept", 5_u64)));
        let plan = capture.plan().unwrap();
        for _ in 0..5 {
            plan.run().unwrap();
        }
        assert_eq!(count.load(Ordering::Relaxed), 1500);
        let kept = made.read().unwrap().clone();
        for value in kept {
            loom.task("add").update(&value).run(|x| *x += 1);
            assert_eq!(value.get().unwrap(), 6);
        }
    }
}

#[test]
fn a_plan_is_not_run_after_the_end_of_its_runtime() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let capture = loom.capture("late plan");
        capture.task("add").update(&x).run(|x| *x += 1);
        let plan = capture.plan().unwrap();
        let run = plan.start();
        loom.shutdown().unwrap();
        run.wait().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ShutDown);
        assert!(error.to_string().contains("`late plan`"), "{error}");
    }
}

#[test]
fn a_run_whose_context_is_emptied_waits_for_workers_and_goes_on_when_it_has_some() {
    let patience = std::time::Duration::from_millis(20);
    let loom = Loom::builder().workers(2).patience(patience).build().unwrap();
    let own = loom.context("own").workers(loom.worker_ids()).create().unwrap();
    // A chain, and very many tasks at the start: the first one holds its worker until the context has none.
    for parts in [1, 200] {
        let v = loom.vector("v", vec![0_u64; parts]);
        let ((ready, began), (go, wait)) = (channel(), channel::<()>());
        let mut held = Some((ready, std::sync::Mutex::new(wait)));
        let capture = loom.capture("long");
        for part in v.blocks(parts).unwrap() {
            let held = held.take();
            capture.task("root").update(&part).run(move |part| {
                if let Some((ready, wait)) = &held {
                    ready.send(()).unwrap();
                    wait.lock().unwrap().recv().unwrap();
                }
                part[0] += 1;
            });
            for _ in 0..10 {
                capture.task("chain").update(&part).run(|part| part[0] += 1);
            }
        }
        let run = capture.plan().unwrap().start_in(&own);
        began.recv().unwrap();
        own.resize([]).unwrap();
        go.send(()).unwrap();
        // No worker goes on with the run after the task that it is in.
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled, "{error}");
        assert!(error.to_string().contains("task `long`"), "{error}");
        assert!(error.to_string().contains("context `own` has none"), "{error}");
        own.resize(loom.worker_ids()).unwrap();
        run.wait().unwrap();
        assert_eq!(v.to_vec().unwrap(), vec![11; parts]);
    }
}

#[test]
fn cancelling_gives_up_the_tasks_of_a_run_that_have_not_started() {
    for workers in [1, 2, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let own = loom.context("own").workers(loom.worker_ids()).create().unwrap();
        for in_context in [false, true] {
            let ((ready, began), (go, wait)) = (channel(), channel::<()>());
            let wait = std::sync::Mutex::new(wait);
            let (x, ran) = (loom.value("x", 0_u64), Arc::new(AtomicU64::new(0)));
            let capture = loom.capture("long");
            capture.task("first").update(&x).run(move |_| {
                ready.send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
            });
            for i in 0..5 {
                let ran = Arc::clone(&ran);
                let task = capture.task("never").update(&x);
                // Also one that is a task of its own.
                let task = if i == 3 { task.in_context(&own) } else { task };
                task.run(move |_| {
                    ran.fetch_add(1, Ordering::SeqCst);
                });
            }
            let plan = capture.plan().unwrap();
            let run = if in_context { plan.start_in(&own) } else { plan.start() };
            began.recv().unwrap();
            if in_context {
                own.cancel().unwrap()
            } else {
                loom.cancel()
            };
            go.send(()).unwrap();
            let error = run.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
            assert_eq!(error.task().unwrap().name, "long");
            assert_eq!((error.cancelled_count(), ran.load(Ordering::SeqCst)), (5, 0), "{error}");
            let _ = loom.wait_all();
            assert_eq!(x.get().unwrap_err().kind(), ErrorKind::Cancelled);
        }
    }
}

#[test]
fn a_runtime_ends_with_a_run_that_nobody_serves() {
    let patience = std::time::Duration::from_millis(20);
    let loom = Loom::builder().workers(2).patience(patience).build().unwrap();
    let own = loom.context("own").workers([]).create().unwrap();
    let x = loom.value("x", 0_u64);
    let capture = loom.capture("stranded");
    for i in 0..4 {
        let task = capture.task("add").update(&x);
        if i % 2 == 0 {
            task.in_context(&own).run(|x| *x += 1)
        } else {
            task.run(|x| *x += 1)
        };
    }
    let plan = capture.plan().unwrap();
    let first = plan.start();
    let second = plan.start_in(&own);
    drop(loom);
    for run in [first, second] {
        assert_eq!(run.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}
