//! Tasks that are tried again: what failed attempts leave behind, which is nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use drawloom_runtime::{ErrorKind, Loom, Member, Region, Sum, TeamMut, Vector};

fn looms() -> Vec<Loom> {
    let parallel = [1, 2, 8].map(|workers| Loom::builder().workers(workers).build().unwrap());
    std::iter::once(Loom::serial()).chain(parallel).collect()
}

#[test]
fn a_failed_attempt_is_undone_and_tried_again() {
    for loom in looms() {
        let x = loom.vector("x", vec![1_u64; 10]);
        let sum = loom.value("sum", 0_u64);
        let odd = x.pieces(&[vec![1, 3, 5, 7, 9], vec![0, 2, 4, 6, 8]]).unwrap().next().unwrap();
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        let future = loom.task("try").update(&odd).reduce(&sum, Sum).retry(3).try_run(move |mut x, sum| {
            for i in [1, 3, 5, 7, 9] {
                assert_eq!(x[i], 1, "a failed attempt left something behind");
                x[i] = 5;
            }
            *sum += 1;
            match counted.fetch_add(1, Ordering::Relaxed) {
                0 => Err("the first"),
                1 => panic!("the second"),
                n => Ok(n),
            }
        });
        assert_eq!(future.wait().unwrap(), 2);
        assert_eq!(x.to_vec().unwrap(), [1, 5, 1, 5, 1, 5, 1, 5, 1, 5]);
        assert_eq!(sum.get().unwrap(), 1);
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        let error = loom.task("hopeless").retry(2).run(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("never");
        });
        assert!(error.wait().unwrap_err().to_string().contains("never"));
        assert_eq!(attempts.load(Ordering::Relaxed), 3);
        // The body, which could have run again, was dropped.
        assert_eq!(Arc::strong_count(&attempts), 1);
        assert_eq!(loom.task("value").retry(1).returns(|| 4).wait().unwrap(), 4);
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_task_that_changes_what_cannot_be_restored_is_not_retried() {
    for loom in looms() {
        let text = loom.host_value("text", String::new());
        let x = loom.value("x", 0_u64);
        let error = loom.task("edit").update(&text).retry(1).run(|text| text.push('a')).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Retry);
        assert!(error.to_string().contains("task `edit`") && error.to_string().contains("region `text`"), "{error}");
        let error = loom.task("parent").lend(&x).retry(1).run(|_| ()).wait().unwrap_err();
        assert!(error.to_string().contains("region `x`") && error.to_string().contains("lent"), "{error}");
        loom.task("reader").read(&x).retry(1).run(|_| ()).wait().unwrap_err();
    }
}

#[test]
fn the_children_of_a_failed_attempt_end_before_the_next_one_begins() {
    for loom in looms() {
        let x = loom.value("x", 7_u64);
        let attempt = Arc::new(AtomicUsize::new(0));
        let (inner, lent, now) = (loom.clone(), x.clone(), Arc::clone(&attempt));
        let parent = loom.task("parent").lend_to_read(&x).retry(3).try_run(move |_| {
            let mine = now.fetch_add(1, Ordering::SeqCst) + 1;
            for _ in 0..100 {
                let now = Arc::clone(&now);
                inner.task("child").read(&lent).try_run(move |x| {
                    assert_eq!(now.load(Ordering::SeqCst), mine, "another attempt has begun");
                    if mine < 4 && *x == 7 { Err("as its parent") } else { Ok(()) }
                });
            }
            if mine < 4 { Err("not yet") } else { Ok(mine) }
        });
        assert_eq!(parent.wait().unwrap(), 4);
        // What failed with the attempts that were given up is nobody's failure.
        loom.wait_all().unwrap();
        assert_eq!(loom.stats().failed, 300);
    }
}

#[test]
fn a_child_of_the_last_attempt_fails_its_parent() {
    for loom in looms() {
        let attempt = Arc::new(AtomicUsize::new(0));
        let (inner, now) = (loom.clone(), Arc::clone(&attempt));
        let parent = loom.task("parent").retry(1).try_run(move || {
            inner.task("child").try_run(|| Err::<(), _>("always"));
            if now.fetch_add(1, Ordering::SeqCst) == 0 { Err("not yet") } else { Ok(()) }
        });
        let error = parent.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        let child = error.because().unwrap();
        assert_eq!((child.task().unwrap().name.as_str(), child.others_count()), ("child", 0));
        loom.wait_all().unwrap();
    }
}

#[test]
fn what_a_failed_attempt_leaves_to_a_later_one_is_as_it_was() {
    for loom in looms() {
        let sum = loom.value("sum", 0_u64);
        let attempt = Arc::new(AtomicUsize::new(0));
        let (inner, now) = (loom.clone(), Arc::clone(&attempt));
        let parent = loom.task("parent").update(&sum).retry(2).try_run(move |sum| {
            let own = inner.value("own", 0_u64);
            for _ in 0..10 {
                inner.task("add").reduce(&own, Sum).run(|own| *own += 1);
            }
            *sum += inner.task("look").read(&own).returns(|own| *own).wait().unwrap();
            inner.task("add").reduce(&own, Sum).run(|_| panic!("with its attempt"));
            // The fold of that one fails as well, and nobody can look at it.
            if now.fetch_add(1, Ordering::SeqCst) < 2 { Err("not yet") } else { Ok(()) }
        });
        assert!(parent.wait().unwrap_err().to_string().contains("with its attempt"));
        loom.wait_all().unwrap();
        assert_eq!(sum.get().unwrap(), 10);
    }
}

#[test]
fn a_task_whose_children_can_never_run_is_not_tried_again() {
    let loom = Loom::builder().workers(1).patience(Duration::from_millis(20)).build().unwrap();
    let nobody = loom.context("nobody").create().unwrap();
    nobody.resize([]).unwrap();
    let attempts = Arc::new(AtomicUsize::new(0));
    let (inner, context, count) = (loom.clone(), nobody.clone(), Arc::clone(&attempts));
    let (tell, told) = std::sync::mpsc::channel();
    loom.task("parent").retry(5).try_run(move || {
        count.fetch_add(1, Ordering::SeqCst);
        inner.task("child").in_context(&context).run(|| ());
        tell.send(()).unwrap();
        Err::<(), _>("at once")
    });
    told.recv().unwrap();
    // Whoever is told first of the stall, the task has given up by the time that this is the only one left who waits.
    while loom.stats().failed == 0 {
        assert_eq!(nobody.wait().unwrap_err().kind(), ErrorKind::Stalled);
    }
    assert_eq!(attempts.load(Ordering::SeqCst), 1);
    nobody.resize(loom.worker_ids()).unwrap();
    assert!(loom.wait_all().unwrap_err().to_string().contains("at once"));
}

/// Engines in which a team of two can be formed.
fn looms_for_pairs() -> impl Iterator<Item = Loom> {
    looms().into_iter().filter(|loom| loom.workers() != 1)
}

#[test]
fn a_team_that_fails_on_any_member_is_undone_and_another_one_tries_again() {
    for loom in looms_for_pairs() {
        let x = loom.vector("x", vec![1_u64; 10]);
        let begun = Arc::new(AtomicUsize::new(0));
        let body = || {
            let begun = Arc::clone(&begun);
            move |member: &Member<'_>, mut x: TeamMut<'_, Vector<u64>>| {
                for element in x.mine() {
                    assert_eq!(*element, 1, "a failed attempt left something behind");
                    *element = 5;
                }
                begun.fetch_add(1, Ordering::SeqCst);
                member.barrier();
                let attempt = begun.load(Ordering::SeqCst) / 2;
                // Once each member alone, once by a panic, and never in the fourth attempt.
                match attempt {
                    1 | 2 if member.rank() + 1 == attempt => Err("not yet"),
                    3 => panic!("not yet"),
                    _ => Ok(attempt),
                }
            }
        };
        let again = || {
            assert_eq!(x.to_vec().unwrap(), [5; 10]);
            assert_eq!(begun.swap(0, Ordering::SeqCst), 8);
            x.overwrite().unwrap().fill(1);
        };
        assert_eq!(loom.task("try").update(&x).retry(3).team(2).try_run(body()).wait().unwrap(), 4);
        again();
        assert_eq!(loom.task("try").update(&x).team(2).retry(3).try_run(body()).wait().unwrap(), 4);
        again();
        let capture = loom.capture("recorded");
        let recorded = || {
            let body = body();
            move |member: &Member<'_>, x: TeamMut<'_, Vector<u64>>| body(member, x).map(drop)
        };
        capture.task("try").update(&x).retry(3).team(2).try_run(recorded());
        let plan = capture.plan().unwrap();
        plan.run().unwrap();
        again();
        plan.run().unwrap();
        again();
        let error = loom.task("hopeless").update(&x).team(2).retry(2).try_run(body()).wait().unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Panicked, "not yet"));
        assert_eq!(begun.load(Ordering::SeqCst), 6);
        drop((plan, body));
        loom.wait_all().unwrap();
        assert_eq!(Arc::strong_count(&begun), 1, "bodies that could have run again were dropped");
    }
}

#[test]
fn the_children_of_a_failed_team_end_before_the_next_one_begins() {
    for loom in looms_for_pairs() {
        let x = loom.value("x", 7_u64);
        let begun = Arc::new(AtomicUsize::new(0));
        let (inner, lent, now) = (loom.clone(), x.clone(), Arc::clone(&begun));
        let parent = loom.task("parent").lend_to_read(&x).retry(3).team(2).try_run(move |member, _| {
            let mine = now.fetch_add(1, Ordering::SeqCst) / 2;
            for _ in 0..50 {
                let now = Arc::clone(&now);
                inner.task("child").read(&lent).try_run(move |x| {
                    assert_eq!((now.load(Ordering::SeqCst) - 1) / 2, mine, "another attempt has begun");
                    if mine < 3 && *x == 7 { Err("as its parent") } else { Ok(()) }
                });
            }
            member.barrier();
            if mine < 3 { Err("not yet") } else { Ok(mine) }
        });
        assert_eq!(parent.wait().unwrap(), 3);
        // What failed with the attempts that were given up is nobody's failure.
        loom.wait_all().unwrap();
        assert_eq!(loom.stats().failed, 300);
    }
}

#[test]
fn a_team_that_changes_what_cannot_be_restored_is_not_retried() {
    for loom in looms_for_pairs() {
        let text = loom.host_value("text", String::new());
        let error = loom.task("edit").update(&text).team(2).retry(1).run(|_, _| ()).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Retry);
        assert!(error.to_string().contains("task `edit`") && error.to_string().contains("region `text`"), "{error}");
        let _ = loom.wait_all();
    }
}

#[test]
fn what_a_body_captured_is_dropped_though_it_may_be_tried_no_times() {
    for loom in [Loom::serial(), Loom::builder().workers(2).build().unwrap()] {
        let held = Arc::new(());
        let inner = Arc::clone(&held);
        loom.task("once").retry(0).run(move || drop(Arc::clone(&inner))).wait().unwrap();
        loom.wait_all().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
