//! Contexts: tasks stay with their workers, while contexts come, change and go.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use drawloom_runtime::policy::queue::Queue;
use drawloom_runtime::policy::{Policy, Ready};
use drawloom_runtime::{Context, Error, ErrorKind, Loom, WorkerId};

#[test]
fn a_wait_for_tasks_that_no_worker_can_take_ends_with_their_names() {
    let loom = Loom::builder().workers(2).undriven([1]).patience(std::time::Duration::from_millis(5)).build().unwrap();
    let empty = loom.context("empty").workers([]).create().unwrap();
    let undriven = loom.context("undriven").workers(some(&loom, &[1])).create().unwrap();
    loom.task("nobody's").in_context(&empty).run(|| ());
    let error = empty.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stalled);
    assert!(error.to_string().contains("`nobody's`") && error.to_string().contains("`empty` has none"), "{error}");
    assert!(error.to_string().contains("waits for all tasks of context `empty`, and"), "{error}");
    empty.delete().unwrap();
    loom.wait_all().unwrap();
    let team = loom.task("pair").team(2).run(|_| ());
    let error = team.wait().unwrap_err();
    assert!(error.to_string().contains("`pair`") && error.to_string().contains("a team of at least 2"), "{error}");
    let late = loom.task("late").in_context(&undriven).run(|| ());
    let error = undriven.wait().unwrap_err();
    assert!(error.to_string().contains("all of which the application drives"), "{error}");
    // Driven by hand, worker 1 takes its task, but no part in teams.
    let mut driver = loom.driver(loom.worker(1).unwrap()).unwrap();
    driver.init().unwrap();
    while driver.run_once().unwrap() {}
    late.wait().unwrap();
    assert_eq!(loom.wait_all().unwrap_err().kind(), ErrorKind::Stalled);
    // Driven without a pause, it does.
    driver.deinit();
    let runner = std::thread::spawn(move || driver.run());
    // The thread may take longer to start than the wait is patient.
    while let Err(error) = loom.wait_all() {
        assert_eq!(error.kind(), ErrorKind::Stalled);
    }
    drop(loom);
    runner.join().unwrap().unwrap();
}

pub(crate) fn loom(workers: usize) -> Loom {
    Loom::builder().workers(workers).build().unwrap()
}

fn some(loom: &Loom, numbers: &[usize]) -> Vec<WorkerId> {
    numbers.iter().map(|&n| loom.worker(n).unwrap()).collect()
}

#[test]
fn tasks_run_only_on_workers_of_their_context() {
    let loom = loom(4);
    for policy in drawloom_runtime::policy::choice::NAMES {
        let context = loom.context("pair").workers(some(&loom, &[1, 3])).policy(policy).create().unwrap();
        let seen = Arc::new(Mutex::new(BTreeSet::new()));
        let x = loom.value("x", 0_u64);
        for i in 0..500 {
            let (handle, seen) = (loom.clone(), Arc::clone(&seen));
            let note = move || {
                seen.lock().unwrap().insert(handle.current_worker().unwrap());
            };
            if i % 3 == 0 {
                // A chain, whose tasks follow on each other.
                loom.task("chained").update(&x).in_context(&context).run(move |_| note());
            } else {
                loom.task("free").in_context(&context).run(note);
            }
        }
        context.wait().unwrap();
        let allowed: BTreeSet<_> = some(&loom, &[1, 3]).into_iter().collect();
        assert!(seen.lock().unwrap().is_subset(&allowed), "{policy}: {seen:?}");
        context.delete().unwrap();
    }
}

#[test]
fn a_task_that_continues_a_chain_of_another_context_changes_workers() {
    let loom = loom(2);
    let left = loom.context("left").workers(some(&loom, &[0])).create().unwrap();
    let right = loom.context("right").workers(some(&loom, &[1])).create().unwrap();
    let x = loom.value("x", 0_usize);
    for i in 0..200 {
        let handle = loom.clone();
        let context = if i % 2 == 0 { &left } else { &right };
        loom.task("step").update(&x).in_context(context).run(move |x| {
            assert_eq!(handle.current_worker().unwrap().index(), i % 2);
            *x += 1;
        });
    }
    loom.wait_all().unwrap();
    assert_eq!(x.get().unwrap(), 200);
}

#[test]
fn tasks_of_an_emptied_context_wait_until_it_has_workers_again() {
    let loom = loom(2);
    let context = loom.context("empty").workers([]).create().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let ran = Arc::clone(&ran);
        loom.task("late").in_context(&context).run(move || {
            ran.fetch_add(1, Ordering::Relaxed);
        });
    }
    assert_eq!(context.waiting().unwrap(), 100);
    // The rest of the runtime goes on.
    loom.task("other").run(|| ()).wait().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    context.add_workers(some(&loom, &[1])).unwrap();
    context.wait().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 100);
}

/// Changes go on for so long that a report which waits for a pause in them comes too late, however busy the machine is.
#[test]
fn a_stall_is_reported_although_another_thread_changes_contexts_without_a_pause() {
    let patience = std::time::Duration::from_millis(20);
    let loom = Loom::builder().workers(2).patience(patience).build().unwrap();
    let stuck = loom.context("stuck").workers(some(&loom, &[0])).create().unwrap();
    let hold = Arc::new(std::sync::Barrier::new(2));
    let held = Arc::clone(&hold);
    loom.task("holds").in_context(&stuck).run(move || {
        held.wait();
        held.wait();
    });
    hold.wait();
    let late = loom.task("late").in_context(&stuck).run(|| ());
    stuck.resize([]).unwrap();
    hold.wait();
    let reported = AtomicBool::new(false);
    let (begun, wait_until_begun) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let (reported, changed) = (&reported, &loom);
        let changes = scope.spawn(move || {
            let end = std::time::Instant::now() + std::time::Duration::from_secs(30);
            for change in 0.. {
                if reported.load(Ordering::SeqCst) {
                    return true;
                }
                if end <= std::time::Instant::now() {
                    break;
                }
                let other = changed.context("other").create().unwrap();
                other.resize(some(changed, &[change % 2])).unwrap();
                other.delete().unwrap();
                if change == 100 {
                    begun.send(()).unwrap();
                }
            }
            false
        });
        wait_until_begun.recv().unwrap();
        let error = loom.wait_all().unwrap_err();
        reported.store(true, Ordering::SeqCst);
        assert!(error.to_string().contains("`late`") && error.to_string().contains("`stuck` has none"), "{error}");
        assert!(changes.join().unwrap(), "the report came only when nothing changed any more");
    });
    stuck.resize(some(&loom, &[1])).unwrap();
    late.wait().unwrap();
    loom.wait_all().unwrap();
}

#[test]
fn tasks_of_a_deleted_context_go_on_in_the_context_around_it() {
    let loom = loom(3);
    let outer = loom.context("outer").workers(some(&loom, &[2])).create().unwrap();
    let inner = outer.context("inner").workers([]).create().unwrap();
    let x = loom.value("x", 0_u32);
    for _ in 0..50 {
        let handle = loom.clone();
        loom.task("moved").update(&x).in_context(&inner).run(move |x| {
            assert_eq!(handle.current_worker().unwrap().index(), 2);
            *x += 1;
        });
    }
    inner.delete().unwrap();
    loom.wait_all().unwrap();
    assert_eq!(x.get().unwrap(), 50);
}

#[test]
fn a_deleted_context_is_an_error_and_never_names_a_newer_one() {
    let loom = loom(1);
    let old = loom.context("old").create().unwrap();
    let id = old.id();
    old.delete().unwrap();
    let new = loom.context("new").create().unwrap();
    assert_ne!(id, new.id());
    for error in [old.delete().unwrap_err(), old.wait().unwrap_err(), old.resize([]).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Context);
        assert!(error.to_string().contains("context `old` was deleted"), "{error}");
    }
    let refused = loom.task("lost").in_context(&old).run(|| ()).wait().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Context);
    assert!(refused.to_string().contains("task `lost`"), "{refused}");
    assert!(old.context("child").create().is_err());
}

#[test]
fn a_context_of_another_runtime_is_refused() {
    let (one, two) = (loom(1), loom(1));
    let context = two.context("theirs").create().unwrap();
    let error = one.task("mine").in_context(&context).run(|| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
}

#[test]
fn the_main_context_stays() {
    let loom = loom(1);
    let error = loom.main_context().delete().unwrap_err();
    assert!(error.to_string().contains("main context cannot be deleted"), "{error}");
}

#[test]
fn inner_contexts_have_only_workers_of_the_outer_one() {
    let loom = loom(4);
    let outer = loom.context("outer").workers(some(&loom, &[0, 1, 2])).create().unwrap();
    let inner = outer.context("inner").workers(some(&loom, &[1, 2])).create().unwrap();
    let error = inner.add_workers(some(&loom, &[3])).unwrap_err();
    assert!(error.to_string().contains("worker 3"), "{error}");
    assert!(error.to_string().contains("`outer`"), "{error}");
    outer.remove_workers(some(&loom, &[2])).unwrap();
    assert_eq!(inner.workers().unwrap(), some(&loom, &[1]));
    // Contexts inside of a deleted one are inside of the one around that.
    outer.delete().unwrap();
    inner.add_workers(some(&loom, &[3])).unwrap();
    assert_eq!(inner.workers().unwrap(), some(&loom, &[1, 3]));
    // The main context is around no other one.
    loom.main_context().remove_workers(some(&loom, &[3])).unwrap();
    assert_eq!(inner.workers().unwrap(), some(&loom, &[1, 3]));
}

#[test]
fn cancelling_a_context_leaves_others_alone_and_completes_what_nobody_would_take() {
    let loom = loom(2);
    let context = loom.context("given up").workers([]).create().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = |by: usize| {
        let ran = Arc::clone(&ran);
        move || {
            ran.fetch_add(by, Ordering::Relaxed);
        }
    };
    let futures: Vec<_> = (0..10).map(|_| loom.task("stranded").in_context(&context).run(count(100))).collect();
    let other = loom.task("other").run(count(1));
    context.cancel().unwrap();
    for future in futures {
        let error = future.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.to_string().contains("`given up`"), "{error}");
    }
    other.wait().unwrap();
    context.add_workers(loom.worker_ids()).unwrap();
    loom.task("again").in_context(&context).run(count(1)).wait().unwrap();
    assert_eq!(ran.load(Ordering::Relaxed), 2);
}

#[test]
fn a_worker_removes_itself_from_a_task_it_runs() {
    let loom = loom(2);
    let context = loom.context("shy").create().unwrap();
    let (handle, own) = (loom.clone(), context.clone());
    let gone = loom
        .task("leave")
        .in_context(&context)
        .returns(move || {
            let worker = handle.current_worker().unwrap();
            own.remove_workers([worker]).unwrap();
            worker
        })
        .wait()
        .unwrap();
    assert!(!context.workers().unwrap().contains(&gone));
    for _ in 0..100 {
        let handle = loom.clone();
        loom.task("after").in_context(&context).run(move || assert_ne!(handle.current_worker(), Some(gone)));
    }
    loom.wait_all().unwrap();
}

#[test]
fn tasks_create_resize_and_delete_contexts() {
    let loom = loom(3);
    for i in 0..20 {
        let handle = loom.clone();
        loom.task("make").run(move || {
            let all = handle.worker_ids();
            let context = handle.context(format!("made {i}")).workers([all[i % 3]]).create().unwrap();
            handle.task("child").in_context(&context).run(|| ());
            context.resize([all[(i + 1) % 3]]).unwrap();
            context.delete().unwrap();
        });
    }
    loom.wait_all().unwrap();
}

#[test]
fn waiting_for_a_context_does_not_wait_for_others() {
    let loom = loom(2);
    let context = loom.context("quick").workers(some(&loom, &[1])).create().unwrap();
    loom.main_context().remove_workers(some(&loom, &[1])).unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let slow = loom.task("slow").run(move || gate.recv().unwrap());
    for _ in 0..10 {
        loom.task("quick").in_context(&context).run(|| ());
    }
    context.wait().unwrap();
    assert!(!slow.is_complete());
    open.send(()).unwrap();
    loom.wait_all().unwrap();
}

#[test]
fn waiting_for_a_context_inside_of_a_task_is_an_error() {
    let loom = loom(1);
    let context = loom.context("own").create().unwrap();
    let inside = context.clone();
    let error: Error = loom.task("impatient").returns(move || inside.wait().unwrap_err()).wait().unwrap();
    assert_eq!(error.kind(), ErrorKind::WaitInTask);
    assert!(error.to_string().contains("`impatient`") && error.to_string().contains("`own`"), "{error}");
}

#[test]
fn waiting_for_a_context_inside_of_a_plan_names_the_task_of_the_plan() {
    let loom = loom(1);
    let context = loom.context("own").create().unwrap();
    let (capture, inside) = (loom.capture("plan"), context.clone());
    let error = Arc::new(OnceLock::new());
    let told = Arc::clone(&error);
    capture.task("node").run(move || drop(told.set(inside.wait().unwrap_err())));
    capture.plan().unwrap().run().unwrap();
    let text = error.get().unwrap().to_string();
    assert!(text.contains("task `node`") && text.contains("waits for the context `own`"), "{text}");
}

/// A policy that tries to change its own context while it chooses a task.
#[derive(Default)]
struct Meddling {
    queue: Queue,
    context: Arc<OnceLock<Context>>,
    error: Arc<OnceLock<Error>>,
}

impl Policy for Meddling {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.queue.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        if let (false, Some(context)) = (self.queue.is_empty(), self.context.get()) {
            let _ = self.error.set(context.resize([]).unwrap_err());
        }
        self.queue.pop_front()
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {}
}

#[test]
fn a_policy_cannot_change_contexts_while_it_chooses() {
    let loom = loom(2);
    let (own, error) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let (a, b) = (Arc::clone(&own), Arc::clone(&error));
    let make = move |_: &_| -> Box<dyn Policy> {
        Box::new(Meddling { queue: Queue::default(), context: Arc::clone(&a), error: Arc::clone(&b) })
    };
    let context = loom.context("meddled").policy_with(make).create().unwrap();
    own.set(loom.context("other").create().unwrap()).unwrap();
    loom.task("t").in_context(&context).run(|| ());
    context.wait().unwrap();
    assert_eq!(error.get().unwrap().kind(), ErrorKind::Context);
}

/// A policy that tries to change a context while its own workers change.
#[derive(Default)]
struct Nested {
    queue: Queue,
    context: Arc<OnceLock<Context>>,
    error: Arc<OnceLock<Error>>,
}

impl Policy for Nested {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.queue.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.queue.pop_front()
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {
        if let Some(context) = self.context.get() {
            let _ = self.error.set(context.resize([]).unwrap_err());
        }
    }
}

#[test]
fn a_policy_cannot_change_contexts_while_its_workers_change() {
    let loom = loom(2);
    let (own, error) = (Arc::new(OnceLock::new()), Arc::new(OnceLock::new()));
    let (a, b) = (Arc::clone(&own), Arc::clone(&error));
    let make = move |_: &_| -> Box<dyn Policy> {
        Box::new(Nested { context: Arc::clone(&a), error: Arc::clone(&b), ..Nested::default() })
    };
    let context = loom.context("nested").policy_with(make).create().unwrap();
    own.set(context.clone()).unwrap();
    context.resize(some(&loom, &[1])).unwrap();
    assert_eq!(error.get().unwrap().kind(), ErrorKind::Context);
    assert!(error.get().unwrap().to_string().contains("while its workers change"));
    assert_eq!(context.workers().unwrap(), some(&loom, &[1]));
}

#[test]
fn a_task_that_waits_leaves_what_it_may_not_run_to_those_of_its_family_who_may() {
    let loom = loom(2);
    let left = loom.context("left").workers(some(&loom, &[0])).create().unwrap();
    let right = loom.context("right").workers(some(&loom, &[1])).create().unwrap();
    for _ in 0..500 {
        let (handle, left_inside, right_inside) = (loom.clone(), left.clone(), right.clone());
        let parent = loom.task("parent").in_context(&left).returns(move || {
            let (inner, context) = (handle.clone(), right_inside.clone());
            let child = handle
                .task("child")
                .in_context(&right_inside)
                .returns(move || inner.task("grandchild").in_context(&context).returns(|| 1).wait().unwrap());
            // Each of these makes the parent look again for what it could run, the grandchild among it.
            for _ in 0..5 {
                handle.task("own").in_context(&left_inside).run(|| ());
            }
            child.wait().unwrap()
        });
        assert_eq!(parent.wait().unwrap(), 1);
    }
    loom.wait_all().unwrap();
}

#[test]
fn a_task_that_waits_runs_its_children_once_its_worker_belongs_to_their_context() {
    let loom = loom(1);
    for _ in 0..50 {
        let context = loom.context("late").workers([]).create().unwrap();
        let (handle, own) = (loom.clone(), context.clone());
        let (waits, until_it_waits) = std::sync::mpsc::channel();
        let parent = loom.task("parent").returns(move || {
            let child = handle.task("child").in_context(&own).returns(|| 7);
            waits.send(()).unwrap();
            child.wait().unwrap()
        });
        until_it_waits.recv().unwrap();
        context.add_workers(loom.worker_ids()).unwrap();
        assert_eq!(parent.wait().unwrap(), 7);
        context.delete().unwrap();
    }
}

#[test]
fn tasks_that_were_ready_when_their_context_lost_its_workers_are_told_of_and_run_later() {
    for policy in drawloom_runtime::policy::choice::NAMES {
        let patience = std::time::Duration::from_millis(5);
        let loom = Loom::builder().workers(2).patience(patience).build().unwrap();
        let context = loom.context("left").workers(some(&loom, &[1])).policy(policy).create().unwrap();
        let (started, wait_for_start) = std::sync::mpsc::channel();
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let busy = loom.task("busy").in_context(&context).run(move || {
            started.send(()).unwrap();
            gate.recv().unwrap();
        });
        wait_for_start.recv().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let ran = Arc::clone(&ran);
            loom.task("ready").in_context(&context).run(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
        }
        context.resize([]).unwrap();
        open.send(()).unwrap();
        // What a removed worker runs is finished there.
        busy.wait().unwrap();
        assert_eq!(context.waiting().unwrap(), 100, "{policy}");
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        assert!(error.to_string().contains("`ready`") && error.to_string().contains("`left` has none"), "{error}");
        context.add_workers(some(&loom, &[0])).unwrap();
        loom.wait_all().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), 100, "{policy}");
    }
}
