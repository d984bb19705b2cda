//! Recorded tasks have what submitted ones have: contexts, teams, children, other tries, common ends.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_runtime::{ErrorKind, Loom, Sum};

use crate::looms;

#[test]
fn recorded_tasks_of_every_kind_are_ordered_among_plain_ones() {
    for loom in looms() {
        let (x, sum) = (loom.vector("x", vec![1_u64; 12]), loom.value("sum", 0_u64));
        let own = loom.context("own").workers(loom.worker_ids()).create().unwrap();
        let inner = loom.clone();
        let capture = loom.capture("mixed");
        capture.task("plain").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
        capture.task("elsewhere").update(&x).in_context(&own).run(|x| x.iter_mut().for_each(|x| *x *= 2));
        for part in x.blocks(3).unwrap() {
            let (inner, again) = (inner.clone(), part.clone());
            capture.task("parent").lend(&part).run(move |_| {
                for piece in again.blocks(2).unwrap() {
                    inner.task("child").update(&piece).run(|x| x.iter_mut().for_each(|x| *x += 3));
                }
            });
        }
        capture.task("team").update(&x).team(1..=2).run(|_, mut x| x.mine().iter_mut().for_each(|x| *x *= 3));
        capture.task("one").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
        for part in x.blocks(4).unwrap() {
            capture.task("sum").read(&part).reduce(&sum, Sum).retry(1).run(|x, sum| *sum += x.iter().sum::<u64>());
        }
        capture.task("last").update(&x).reduce(&sum, Sum).run(|x, sum| {
            x.iter_mut().for_each(|x| *x -= 1);
            *sum += 1;
        });
        let plan = capture.plan().unwrap();
        let (mut one, mut all) = (1_u64, 0);
        for _ in 0..20 {
            plan.start();
            one = ((one + 1) * 2 + 3) * 3 + 1;
            all += 12 * one + 1;
            one -= 1;
        }
        assert_eq!(sum.get().unwrap(), all, "{} workers", loom.workers());
        assert_eq!(x.to_vec().unwrap(), [one; 12]);
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_recorded_task_is_tried_again_in_each_run() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let tries = Arc::new(AtomicU32::new(0));
        let seen = Arc::clone(&tries);
        let capture = loom.capture("retry");
        capture.task("flaky").update(&x).retry(2).try_run(move |x| {
            *x += 1;
            if seen.fetch_add(1, Ordering::Relaxed) % 3 == 2 { Ok(()) } else { Err("not yet") }
        });
        capture.task("then").update(&x).run(|x| *x += 10);
        let plan = capture.plan().unwrap();
        for round in 1..=5 {
            plan.run().unwrap();
            assert_eq!(x.get().unwrap(), 11 * u64::from(round));
            assert_eq!(tries.load(Ordering::Relaxed), 3 * round);
        }
    }
}

#[test]
fn failures_of_such_tasks_are_those_of_the_run() {
    for loom in looms() {
        let (x, y, z) = (loom.value("x", 0_u64), loom.value("y", 0_u64), loom.value("z", 0_u64));
        let rounds = Arc::new(AtomicU64::new(0));
        let inner = loom.clone();
        let (ours, lent) = (Arc::clone(&rounds), x.clone());
        let capture = loom.capture("plan");
        let parent = capture.task("parent").lend_to_write(&x).run(move |_| {
            let round = ours.fetch_add(1, Ordering::Relaxed);
            inner.task("child").write(&lent).run(move |x| {
                assert_ne!(round, 1, "the second round is bad");
                *x = round;
            });
        });
        capture.task("use").read(&x).update(&y).retry(1).run(|x, y| *y += x);
        capture.task("after").after(parent).update(&z).team(1).run(|team, mut z| {
            z.whole(team, |z| *z += 1);
        });
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed, "{error}");
        assert_eq!(error.task().unwrap().name, "parent");
        assert_eq!(error.because().unwrap().task().unwrap().name, "child");
        let mut given: Vec<&str> = error.cancelled_tasks().iter().map(|task| task.name.as_str()).collect();
        given.sort_unstable();
        assert_eq!(given, ["after", "use"], "{error}");
        loom.wait_all().unwrap();
        assert_eq!(x.get().unwrap_err().task().unwrap().name, "child");
        loom.task("mend").write(&y).write(&z).run(|y, z| (*y, *z) = (0, 0));
        plan.run().unwrap();
        assert_eq!([x.get().unwrap(), y.get().unwrap(), z.get().unwrap()], [2, 2, 1]);
    }
}

#[test]
fn runs_and_recorded_tasks_stay_in_their_contexts() {
    let loom = Loom::builder().workers(3).build().unwrap();
    let ids = loom.worker_ids();
    let [first, second] = [0, 1].map(|i| loom.context(format!("c{i}")).workers(vec![ids[i]]).create().unwrap());
    let who = Arc::new(Mutex::new(Vec::new()));
    let x = loom.vector("x", vec![0_u8; 200]);
    let capture = loom.capture("plan");
    for (i, part) in x.blocks(200).unwrap().enumerate() {
        let (who, loom) = (Arc::clone(&who), loom.clone());
        let task = capture.task("part").update(&part);
        let task = if i % 50 == 7 { task.in_context(&second) } else { task };
        task.run(move |_| who.lock().unwrap().push((i, loom.current_worker().unwrap())));
    }
    let plan = capture.plan().unwrap();
    for _ in 0..5 {
        plan.run_in(&first).unwrap();
        for (i, worker) in who.lock().unwrap().drain(..) {
            assert_eq!(worker, if i % 50 == 7 { ids[1] } else { ids[0] }, "part {i}");
        }
    }
    first.wait().unwrap();
    second.delete().unwrap();
    let error = plan.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Context);
    assert!(error.to_string().contains("`part`") && error.to_string().contains("`c1`"), "{error}");
    first.delete().unwrap();
    let error = plan.run_in(&first).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Context);
    assert!(error.to_string().contains("`plan`") && error.to_string().contains("`c0`"), "{error}");
    let _ = loom.wait_all();
}

#[test]
fn a_recorded_team_that_is_too_large_fails_its_run_and_one_of_no_size_too() {
    let loom = Loom::builder().workers(2).build().unwrap();
    for (bounds, words) in [(3..=4, "at least 3 workers"), (0..=0, "a team of 0 to 0 workers")] {
        let capture = loom.capture("plan");
        capture.task("crowd").team(bounds).run(|_| ());
        let error = capture.plan().unwrap().run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Team);
        assert!(error.to_string().contains("`crowd`") && error.to_string().contains(words), "{error}");
    }
    loom.wait_all().unwrap();
}

#[test]
fn nodes_that_are_tasks_of_their_own_show_in_a_trace_as_nodes_of_their_run() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let own = loom.context("own").workers(loom.worker_ids()).create().unwrap();
    let (x, y) = (loom.value("x", 0_u64), loom.value("y", 0_u64));
    let capture = loom.capture("plan");
    let (inner, lent) = (loom.clone(), x.clone());
    capture.task("first").update(&x).run(|x| *x += 1);
    let parent = capture.task("parent").lend(&x).in_context(&own).priority(4).run(move |_| {
        inner.task("child").update(&lent).run(|x| *x += 1);
    });
    capture.task("last").read(&x).after(parent).write(&y).run(|x, y| *y = *x);
    let plan = capture.plan().unwrap();
    loom.trace_start();
    for _ in 0..3 {
        plan.start();
    }
    loom.wait_all().unwrap();
    let trace = loom.trace_stop();
    assert_eq!(y.get().unwrap(), 6);
    let report = drawloom_trace::verify::verify(&trace).unwrap();
    assert!(report.is_clean(), "{report}");
    for run in trace.tasks.iter().filter(|task| &*task.name == "plan") {
        let inside: Vec<_> = trace.tasks.iter().filter(|task| task.parent == Some(run.number)).collect();
        assert_eq!(inside.iter().map(|task| &*task.name).collect::<Vec<_>>(), ["first", "parent", "last"]);
        assert_eq!((&*inside[1].context, &*inside[2].context), ("own", &*run.context));
        assert!(inside[1].priority >= 4);
        assert_eq!(inside[2].after, [inside[1].number]);
        let child = trace.tasks.iter().find(|task| task.parent == Some(inside[1].number)).unwrap();
        assert_eq!(&*child.name, "child");
    }
}
