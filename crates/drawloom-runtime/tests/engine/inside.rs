//! Waits inside of tasks, in teams and across contexts: those that can never end, and some that look like it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::{Duration, Instant};

use drawloom_runtime::{CalledBy, Context, Error, ErrorKind, Loom, Member, Region, WorkerId};

/// So long that a test which needs it would never end.
pub(crate) const FOR_EVER: Duration = Duration::from_secs(100_000);

pub(crate) fn patient(workers: usize) -> Loom {
    Loom::builder().workers(workers).patience(Duration::from_millis(20)).build().unwrap()
}

pub(crate) fn context(loom: &Loom, name: &str, workers: &[usize]) -> Context {
    let workers: Vec<WorkerId> = workers.iter().map(|&w| loom.worker(w).unwrap()).collect();
    loom.context(name).workers(workers).create().unwrap()
}

/// Waits until everything is complete. A thread outside is told of a stall as well as those inside, if it looks first.
fn settle(loom: &Loom) {
    while let Err(error) = loom.wait_all() {
        assert_eq!(error.kind(), ErrorKind::Stalled, "{error}");
    }
}

#[test]
fn two_workers_that_wait_for_what_only_the_other_may_run_are_told() {
    let loom = patient(2);
    let (left, right) = (context(&loom, "left", &[0]), context(&loom, "right", &[1]));
    let meet = std::sync::Arc::new(std::sync::Barrier::new(2));
    let (tell, told) = mpsc::channel::<Option<Error>>();
    for (own, other, name) in [(&left, &right, "for the right"), (&right, &left, "for the left")] {
        let (handle, other, meet, tell) = (loom.clone(), other.clone(), meet.clone(), tell.clone());
        loom.task("parent").in_context(own).run(move || {
            meet.wait();
            tell.send(handle.task(name).in_context(&other).run(|| ()).wait().err()).unwrap();
        });
    }
    // Once one of them gives up, the other one's child can run.
    let told: Vec<Error> = told.iter().take(2).flatten().collect();
    assert!((1..=2).contains(&told.len()));
    for error in told {
        assert_eq!(error.kind(), ErrorKind::Stalled);
        let text = error.to_string();
        assert!(text.starts_with("task `parent` (") && text.contains("waits for task `for the "), "{text}");
        assert!(text.contains("a worker: all those of context `"), "{text}");
        assert!(text.contains("wait inside of tasks"), "{text}");
    }
    // What was given up runs all the same, now that the workers are free.
    settle(&loom);
}

#[test]
fn a_member_at_a_barrier_keeps_nobody_from_being_told_of_a_stall() {
    let loom = patient(3);
    let pair = context(&loom, "pair", &[0, 1]);
    // Each of the two may be the one that waits, and its child is for the worker of the other one.
    let of_worker = [context(&loom, "first", &[0]), context(&loom, "second", &[1])];
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    loom.task("team").in_context(&pair).team(2).run(move |member| {
        if member.rank() == 0 {
            let other = 1 - handle.current_worker().unwrap().index();
            let child = handle.task("child").in_context(&of_worker[other]).run(|| ());
            tell.send(child.wait().unwrap_err()).unwrap();
        }
        member.barrier();
    });
    let error = told.recv().unwrap();
    assert_eq!(error.kind(), ErrorKind::Stalled);
    let text = error.to_string();
    assert!(text.contains("task `team` (") && text.contains("waits for task `child`"), "{text}");
    assert!(text.contains("a worker: all those of context `"), "{text}");
    settle(&loom);
}

#[test]
fn what_a_member_at_a_barrier_has_freed_keeps_nobody_from_being_told_of_a_stall() {
    let loom = patient(2);
    let of_worker = [context(&loom, "first", &[0]), context(&loom, "second", &[1])];
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    let (has_run, ran) = mpsc::channel();
    let ran = Mutex::new(ran);
    loom.task("team").team(2).run(move |member| {
        let own = handle.current_worker().unwrap().index();
        if member.rank() == 0 {
            ran.lock().unwrap().recv().unwrap();
            tell.send(handle.task("child").in_context(&of_worker[1 - own]).run(|| ()).wait().unwrap_err()).unwrap();
        } else {
            handle.task("quick").in_context(&of_worker[own]).run(|| ()).wait().unwrap();
            has_run.send(()).unwrap();
        }
        member.barrier();
    });
    let error = told.recv_timeout(Duration::from_secs(20)).expect("it is told");
    assert_eq!(error.kind(), ErrorKind::Stalled);
    settle(&loom);
}

/// How a member of a team sleeps until it hears of an error.
type Sleeps = fn(&Member<'_>, &dyn Fn(Duration) -> bool);

/// A member of a team waits for what only the worker of the other one could run, which sleeps by means of its own until it hears
/// that the first one was told.
fn while_the_other_sleeps(loom: Loom, sleeps: Sleeps) {
    let of_worker = [context(&loom, "first", &[0]), context(&loom, "second", &[1])];
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    let (call, called) = mpsc::channel::<()>();
    let called = Mutex::new(called);
    loom.task("team").team(2).run(move |member| {
        if member.rank() == 0 {
            let other = 1 - handle.current_worker().unwrap().index();
            let child = handle.task("child").in_context(&of_worker[other]).run(|| ());
            tell.send(child.wait().unwrap_err()).unwrap();
        } else {
            let called = called.lock().unwrap();
            sleeps(member, &|most| called.recv_timeout(most).is_ok());
        }
    });
    let error = told.recv_timeout(Duration::from_secs(20)).expect("it is told");
    assert_eq!(error.kind(), ErrorKind::Stalled);
    let text = error.to_string();
    assert!(text.contains("task `team` (") && text.contains("waits for task `child`"), "{text}");
    assert!(text.contains("a worker: all those of context `"), "{text}");
    call.send(()).unwrap();
    settle(&loom);
}

#[test]
fn a_member_that_sleeps_by_its_own_means_keeps_nobody_from_being_told_of_a_stall() {
    while_the_other_sleeps(patient(2), |member, called| {
        _ = member.sleep(CalledBy::Members, &|| false, || called(FOR_EVER))
    });
    while_the_other_sleeps(patient(2), |member, called| {
        _ = member.sleep(CalledBy::Anyone, &|| false, || called(FOR_EVER))
    });
}

#[test]
fn a_member_that_looks_now_and_then_whether_it_is_called_keeps_nobody_from_being_told_of_a_stall() {
    // It is looked at many times before the engine is out of patience, and found awake now and then.
    let loom = Loom::builder().workers(2).patience(Duration::from_secs(1)).build().unwrap();
    while_the_other_sleeps(loom, |member, called| {
        let (busy, pause) = (Duration::from_micros(500), Duration::from_millis(2));
        loop {
            let until = Instant::now() + busy;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            let until = Instant::now() + pause;
            if member.sleep(CalledBy::Anyone, &|| until <= Instant::now(), || called(pause)) {
                break;
            }
        }
    });
}

#[test]
fn a_member_that_anyone_may_call_is_no_stall() {
    let loom = patient(2);
    let (call, called) = mpsc::channel::<()>();
    let called = Mutex::new(called);
    let (sleep, sleeps) = mpsc::channel();
    let team = loom.task("team").team(2).run(move |member| {
        if member.rank() == 0 {
            sleep.send(()).unwrap();
            member.sleep(CalledBy::Anyone, &|| false, || called.lock().unwrap().recv().unwrap());
        }
        member.barrier();
    });
    sleeps.recv().unwrap();
    // It is waited for much longer than is the patience of the engine.
    let caller = std::thread::spawn(move || {
        std::thread::park_timeout(Duration::from_millis(200));
        call.send(()).unwrap();
    });
    team.wait().unwrap();
    caller.join().unwrap();
}

#[test]
fn a_body_that_sleeps_cannot_wait_for_tasks_meanwhile() {
    let loom = patient(2);
    let handle = loom.clone();
    let (begin, begun) = mpsc::channel();
    let begun = Mutex::new(begun);
    let team = loom.task("team").team(1).returns(move |member| {
        let begin = begin.clone();
        let ended = Arc::new(Barrier::new(2));
        let theirs = Arc::clone(&ended);
        let child = handle.task("slow").run(move || {
            begin.send(()).unwrap();
            theirs.wait();
        });
        // It runs on the other worker, so it is no stall; but it must not be waited for while this one counts as asleep.
        begun.lock().unwrap().recv().unwrap();
        let error = member.sleep(CalledBy::Members, &|| false, || child.wait().unwrap_err());
        ended.wait();
        (error.kind(), error.to_string())
    });
    let (kind, text) = team.wait().unwrap();
    assert_eq!(kind, ErrorKind::WaitInTask);
    assert!(text.contains("task `team` (") && text.contains("waits for task `slow`"), "{text}");
    settle(&loom);
}

#[test]
fn a_stall_through_a_team_inside_of_another_is_told() {
    let loom = patient(3);
    let [front, inner, second] = [&[0, 1][..], &[0, 2], &[1]].map(|workers| context(&loom, "some", workers));
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    let (call, called) = mpsc::channel::<()>();
    let called = Mutex::new(called);
    loom.task("outer").in_context(&front).team(2).run(move |member| {
        if handle.current_worker().unwrap().index() == 1 {
            // Anyone may call it, and nobody does before an error was told.
            member.sleep(CalledBy::Anyone, &|| false, || _ = called.lock().unwrap().recv());
            return;
        }
        let (theirs, second, tell) = (handle.clone(), second.clone(), tell.clone());
        let team = handle.task("inner").in_context(&inner).team(2).run(move |member| {
            if theirs.current_worker().unwrap().index() == 2 {
                tell.send(theirs.task("child").in_context(&second).run(|| ()).wait().unwrap_err()).unwrap();
            }
            member.barrier();
        });
        _ = team.wait();
    });
    let error = told.recv_timeout(Duration::from_secs(20)).expect("it is told");
    assert_eq!(error.kind(), ErrorKind::Stalled);
    assert!(error.to_string().contains("waits for task `child`"), "{error}");
    call.send(()).unwrap();
    settle(&loom);
}

#[test]
fn a_member_that_looks_often_whether_it_is_called_keeps_no_team_from_being_told_of_a_stall() {
    let loom = patient(3);
    let front = context(&loom, "front", &[0, 1]);
    let pairs = [context(&loom, "second and third", &[1, 2]), context(&loom, "first and third", &[0, 2])];
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    let (call, called) = mpsc::channel::<()>();
    let called = Mutex::new(called);
    loom.task("outer").in_context(&front).team(2).run(move |member| {
        if member.rank() == 0 {
            let pair = &pairs[handle.current_worker().unwrap().index()];
            tell.send(handle.task("inner").in_context(pair).team(2).run(|_| ()).wait().unwrap_err()).unwrap();
            return;
        }
        let (called, pause) = (called.lock().unwrap(), Duration::from_micros(50));
        loop {
            let until = Instant::now() + pause;
            let is_over = || until <= Instant::now();
            if member.sleep(CalledBy::Anyone, &is_over, || called.recv_timeout(pause).is_ok()) {
                break;
            }
        }
    });
    let error = told.recv_timeout(Duration::from_secs(20)).expect("it is told");
    assert_eq!(error.kind(), ErrorKind::Stalled);
    assert!(error.to_string().contains("waits for task `inner`"), "{error}");
    call.send(()).unwrap();
    settle(&loom);
}

#[test]
fn a_member_that_says_that_it_has_moved_is_waited_for() {
    let loom = Loom::builder().workers(3).undriven([2]).patience(Duration::from_millis(200)).build().unwrap();
    let [front, undriven] = [&[0, 1][..], &[2]].map(|workers| context(&loom, "some", workers));
    let handle = loom.clone();
    let moving = Arc::new(AtomicBool::new(true));
    let moves = Arc::clone(&moving);
    let team = loom.task("team").in_context(&front).team(2).returns(move |member| {
        if member.rank() == 0 {
            // A worker that the application drives will run it, but it takes its time.
            return handle.task("late").in_context(&undriven).run(|| ()).wait();
        }
        while moves.load(Ordering::Relaxed) {
            let (until, pause) = (Instant::now(), Duration::from_millis(20));
            member.sleep(CalledBy::Anyone, &|| until + pause <= Instant::now(), || std::thread::park_timeout(pause));
            member.has_moved();
        }
        Ok(())
    });
    std::thread::park_timeout(Duration::from_millis(700));
    let mut driver = loom.driver(loom.worker(2).unwrap()).unwrap();
    driver.init().unwrap();
    while driver.run_once().unwrap() {}
    moving.store(false, Ordering::Relaxed);
    team.wait().unwrap().unwrap();
}

/// What a member or a lender was told that waits for a team, which needs the workers of its own.
fn assert_names_both_teams(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Stalled);
    let text = error.to_string();
    assert!(text.starts_with("task `outer` (") && text.contains("waits for task `inner` ("), "{text}");
    assert!(text.contains("waits for a team of at least 2 workers: context `main` has 2, of which 1 "), "{text}");
}

#[test]
fn a_member_that_waits_for_a_team_which_needs_the_other_members_is_told() {
    // The other one waits for this one at a barrier, or for the end of all.
    for meets in [false, true] {
        let loom = patient(2);
        let handle = loom.clone();
        let (tell, told) = mpsc::channel::<Error>();
        let outer = loom.task("outer").team(2).returns(move |member| {
            if member.rank() == 0 {
                tell.send(handle.task("inner").team(2).run(|_| ()).wait().unwrap_err()).unwrap();
            }
            if meets {
                member.barrier();
            }
        });
        assert_names_both_teams(&told.recv().unwrap());
        settle(&loom);
        outer.wait().unwrap();
    }
}

#[test]
fn a_member_of_a_recorded_team_that_waits_for_a_team_which_needs_the_others_is_told() {
    let loom = patient(2);
    let x = loom.value("x", 0_u64);
    let handle = loom.clone();
    let (tell, told) = mpsc::channel::<Error>();
    let capture = loom.capture("plan");
    capture.task("outer").lend(&x).team(2).run(move |member, _| {
        if member.rank() == 0 {
            tell.send(handle.task("inner").team(2).run(|_| ()).wait().unwrap_err()).unwrap();
        }
        member.barrier();
    });
    let run = capture.plan().unwrap().start();
    assert_names_both_teams(&told.recv().unwrap());
    settle(&loom);
    run.wait().unwrap();
}

#[test]
fn members_that_meet_often_are_waited_for_by_other_teams() {
    let loom = Loom::builder().workers(3).patience(FOR_EVER).build().unwrap();
    for _ in 0..20 {
        let pair = loom.task("pair").team(2).run(|member| {
            for _ in 0..50 {
                if member.rank() == 0 {
                    std::thread::yield_now();
                }
                member.barrier();
            }
        });
        let all = loom.task("all").team(3).returns(|member| member.size());
        loom.task("alone").run(|| ());
        assert_eq!(all.wait().unwrap(), 3);
        pair.wait().unwrap();
    }
}

#[test]
fn a_member_of_a_serial_team_that_waits_for_others_is_no_stall() {
    for size in [2, 4] {
        let loom = Loom::builder().make_serial().patience(Duration::ZERO).build().unwrap();
        let x = loom.value("x", 0_u64);
        let (handle, lent) = (loom.clone(), x.clone());
        let rounds = loom.task("team").lend(&x).team(size).returns(move |member, _| {
            // The first member gives all others something to wait for, in the middle of which it is.
            for round in 0..20_u64 {
                if member.rank() == 0 {
                    handle.task("slow").update(&lent).run(move |x| {
                        *x = (0..100_000).fold(*x, |x, i| std::hint::black_box(x.wrapping_mul(31).wrapping_add(i)));
                        *x = round;
                    });
                } else {
                    handle.task("quick").read(&lent).run(|_| ()).wait().unwrap();
                }
                member.barrier();
            }
            20
        });
        assert_eq!(rounds.wait().unwrap(), 20);
        loom.wait_all().unwrap();
    }
}

#[test]
fn what_waits_for_a_serial_team_runs_whichever_member_ends_last() {
    for _ in 0..200 {
        let loom = Loom::builder().make_serial().patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 1_u64);
        let guard = x.write().unwrap();
        loom.task("team").update(&x).team(3).run(|member, mut x| {
            x.whole(member, |x| *x += 1);
        });
        let after = loom.task("after").update(&x).returns(|x| *x);
        drop(guard);
        assert_eq!(after.wait().unwrap(), 2);
    }
}

#[test]
fn a_serial_team_of_more_threads_than_can_be_is_refused() {
    let loom = Loom::serial();
    let error = loom.task("crowd").team(1_000_000).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Team);
    assert!(error.to_string().contains("task `crowd`") && error.to_string().contains("1000000"), "{error}");
}
