//! Waits that can never end, and some that look like it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use drawloom_runtime::{ErrorKind, Future, Loom, LoomBuilder, Region, Sum};

/// So long that a test which needs it would never end.
const FOR_EVER: Duration = Duration::from_secs(100_000);

/// The serial engine, and engines with more and fewer workers than there are processors.
pub(crate) fn builders() -> Vec<LoomBuilder> {
    let mut builders = vec![Loom::builder().make_serial()];
    builders.extend([1, 2, 8].map(|workers| Loom::builder().workers(workers)));
    builders
}

#[test]
fn waiting_for_tasks_that_wait_for_the_own_guard_is_an_error_at_once() {
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 0_u64);
        let y = loom.value("y", 0_u64);
        let guard = x.write().unwrap();
        let line = line!() - 1;
        let future = loom.task("reader").read(&x).write(&y).run(|x, y| *y = *x + 1);
        loom.task("follower").read(&y).run(|_| ());
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        let text = error.to_string();
        assert!(text.contains("this thread waits for all tasks, which can never be: task `reader` ("), "{text}");
        assert!(text.contains("waits for the write guard of region `x` ("), "{text}");
        assert!(text.contains(&format!("stall.rs:{line}), which this thread holds; task `follower` (")), "{text}");
        let error = future.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        assert!(error.to_string().contains("waits for task `reader`"), "{error}");
        let error = y.get().unwrap_err();
        assert!(error.to_string().contains("waits for the read guard of region `y`"), "{error}");
        let error = x.wait().unwrap_err();
        assert!(error.to_string().contains("region `x`") && error.kind() == ErrorKind::Stalled, "{error}");
        // All is well again once the guard is gone; nobody waits for the guards that were given up.
        drop(guard);
        loom.wait_all().unwrap();
        assert_eq!(y.get().unwrap(), 1);
        loom.task("writer").write(&x).write(&y).run(|x, y| (*x, *y) = (5, 5));
        assert_eq!((x.get().unwrap(), y.get().unwrap()), (5, 5));
    }
}

#[test]
fn a_second_guard_on_the_same_thread_is_an_error_and_not_a_deadlock() {
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let x = loom.vector("x", vec![0_u64; 4]);
        let guard = x.write().unwrap();
        let block = x.blocks(2).unwrap().next().unwrap();
        let error = block.read().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        assert!(error.to_string().contains("read guard of region `x.blocks2[0]`"), "{error}");
        drop(guard);
        let readers = (block.read().unwrap(), block.read().unwrap());
        assert_eq!(readers.0.len(), readers.1.len());
    }
}

#[test]
fn a_guard_on_another_thread_is_waited_for_patiently_and_then_named() {
    for builder in builders() {
        let loom = builder.patience(Duration::from_millis(20)).build().unwrap();
        let x = loom.value("x", 0_u64);
        let (held, wait_until_held) = mpsc::channel();
        let (release, wait_to_release) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let handle = x.clone();
            let holder = scope.spawn(move || {
                let guard = handle.write().unwrap();
                held.send(()).unwrap();
                wait_to_release.recv().unwrap();
                drop(guard);
            });
            wait_until_held.recv().unwrap();
            let future = loom.task("reader").read(&x).returns(|x| *x);
            let error = loom.wait_all().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Stalled);
            let text = error.to_string();
            assert!(text.contains("for all tasks, and nothing has changed for 20ms: task `reader`"), "{text}");
            assert!(text.contains("which another thread holds"), "{text}");
            release.send(()).unwrap();
            holder.join().unwrap();
            assert_eq!(future.wait().unwrap(), 0);
        });
    }
}

#[test]
fn two_threads_that_wait_for_each_others_guards_are_told_at_once() {
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 0_u64);
        let y = loom.value("y", 0_u64);
        let both = Barrier::new(2);
        let stalls = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for (mine, other) in [(&x, &y), (&y, &x)] {
                let (both, stalls) = (&both, &stalls);
                scope.spawn(move || {
                    let guard = mine.write().unwrap();
                    both.wait();
                    if let Err(error) = other.write() {
                        assert_eq!(error.kind(), ErrorKind::Stalled);
                        stalls.fetch_add(1, Ordering::Relaxed);
                    }
                    drop(guard);
                });
            }
        });
        assert!((1..=2).contains(&stalls.load(Ordering::Relaxed)));
        loom.task("after").update(&x).update(&y).run(|x, y| (*x, *y) = (1, 1));
        assert_eq!(x.get().unwrap() + y.get().unwrap(), 2);
    }
}

#[test]
fn a_submitter_that_holds_what_its_tasks_wait_for_is_not_throttled_for_ever() {
    for builder in builders() {
        let loom = builder.in_flight(256).patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 0_u64);
        let guard = x.write().unwrap();
        for _ in 0..5000 {
            loom.task("add").update(&x).run(|x| *x += 1);
        }
        let text = loom.wait_all().unwrap_err().to_string();
        assert!(text.contains("task `add`") && text.contains("4992 more wait"), "{text}");
        drop(guard);
        assert_eq!(x.get().unwrap(), 5000);
    }
}

#[test]
fn a_throttled_submitter_waits_for_tasks_that_run() {
    for workers in [1, 2] {
        let loom = Loom::builder().workers(workers).in_flight(256).patience(Duration::ZERO).build().unwrap();
        let x = loom.value("x", 0_u64);
        for _ in 0..20_000 {
            loom.task("add").update(&x).run(|x| *x += 1);
        }
        assert_eq!(x.get().unwrap(), 20_000);
        assert!(loom.stats().records <= 768, "{:?}", loom.stats());
    }
}

#[test]
fn no_more_tasks_are_in_flight_than_was_said() {
    for (workers, limit) in [(1, 1), (2, 1), (2, 3), (3, 40), (2, 300)] {
        let loom = Loom::builder().workers(workers).in_flight(limit).patience(Duration::ZERO).build().unwrap();
        let most = Arc::new(AtomicUsize::new(0));
        for _ in 0..2000 {
            let (most, inner) = (Arc::clone(&most), loom.clone());
            loom.task("count").run(move || _ = most.fetch_max(inner.stats().in_flight, Ordering::Relaxed));
        }
        loom.wait_all().unwrap();
        let most = most.load(Ordering::Relaxed);
        assert!((1..=limit as usize).contains(&most), "{most} tasks were in flight, not {limit}");
    }
}

#[test]
fn a_task_that_takes_its_time_is_no_stall() {
    for workers in [1, 2, 8] {
        let loom = Loom::builder().workers(workers).patience(Duration::ZERO).build().unwrap();
        let work =
            |rounds: u64| (0..rounds).fold(1_u64, |x, i| std::hint::black_box(x.wrapping_mul(31).wrapping_add(i)));
        let slow = loom.task("slow").returns(move || work(30_000_000));
        let inner = loom.clone();
        let parent = loom.task("parent").returns(move || {
            let child = inner.task("child").returns(move || work(30_000_000));
            child.wait().unwrap()
        });
        assert_eq!(slow.wait().unwrap(), parent.wait().unwrap());
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_task_may_wait_for_its_children_only_and_is_told_with_both_names() {
    for builder in builders() {
        let loom = builder.build().unwrap();
        let x = loom.value("x", 0_u64);
        let guard = x.write().unwrap();
        let outer = loom.task("outer").read(&x).run(|_| ());
        let (inner, handle) = (loom.clone(), x.clone());
        let texts = loom
            .task("curious")
            .returns(move || {
                let all = inner.wait_all().unwrap_err();
                let guard = handle.read().err().unwrap();
                let region = handle.wait().unwrap_err();
                let other = outer.wait().unwrap_err();
                let end = inner.shutdown().unwrap_err();
                [all, guard, region, other, end].map(|e| {
                    assert_eq!(e.kind(), ErrorKind::WaitInTask);
                    e.to_string()
                })
            })
            .wait()
            .unwrap();
        assert!(texts.iter().all(|t| t.contains("task `curious`")), "{texts:?}");
        assert!(texts[1].contains("region `x`") && texts[2].contains("region `x`"), "{texts:?}");
        assert!(texts[3].contains("waits for task `outer`") && texts[3].contains("not its child"), "{texts:?}");
        drop(guard);
        loom.wait_all().unwrap();
    }
}

#[test]
fn nested_waits_in_stolen_tasks_do_not_wait_for_each_other() {
    fn tree(loom: &Loom, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let children: Vec<_> = (0..2)
            .map(|_| {
                let inner = loom.clone();
                loom.task("node").returns(move || tree(&inner, depth - 1))
            })
            .collect();
        children.into_iter().map(|child| child.wait().unwrap()).sum()
    }
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let roots: Vec<_> = (0..4)
            .map(|_| {
                let inner = loom.clone();
                loom.task("root").returns(move || tree(&inner, 6))
            })
            .collect();
        for root in roots {
            assert_eq!(root.wait().unwrap(), 64);
        }
    }
}

#[test]
fn a_lock_held_across_a_wait_is_not_taken_again_by_the_same_thread() {
    // A waiting task that ran others' tasks could run one that wants the lock it holds.
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let lock = Arc::new(Mutex::new(0_u64));
        for _ in 0..200 {
            let (inner, shared) = (loom.clone(), Arc::clone(&lock));
            loom.task("holder").run(move || {
                let mut held = shared.lock().unwrap();
                *held += inner.task("child").returns(|| 1).wait().unwrap();
            });
        }
        loom.wait_all().unwrap();
        assert_eq!(*lock.lock().unwrap(), 200);
    }
}

#[test]
fn waits_that_end_are_never_taken_for_stalls() {
    // Every kind of wait from several threads at once, none of which waits while it holds something. With endless
    // patience only a stall that is certain would be reported, and there is none.
    for builder in builders() {
        let loom = builder.in_flight(256).patience(FOR_EVER).build().unwrap();
        let regions: Vec<_> = (0..3).map(|i| loom.vector(format!("r{i}"), vec![0_u64; 8])).collect();
        std::thread::scope(|scope| {
            for seed in 0..4 {
                let (loom, regions) = (loom.clone(), &regions);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..300 {
                        let region = &regions[random.usize(..3)];
                        let block = region.blocks(2).unwrap().nth(random.usize(..2)).unwrap();
                        match random.u32(..8) {
                            0 => loom.wait_all().unwrap(),
                            1 => region.wait().unwrap(),
                            2 => block.write().unwrap()[0] += 1,
                            3 => assert_eq!(region.read().unwrap().len(), 8),
                            4 => loom.task("one").update(&block).run(|b| b[0] += 1).wait().unwrap(),
                            5 => {
                                let (inner, lent) = (loom.clone(), block.clone());
                                let parent = loom.task("parent").lend(&block).run(move |_| {
                                    inner.task("child").update(&lent).run(|b| b[0] += 1).wait().unwrap();
                                });
                                parent.wait().unwrap();
                            }
                            6 => {
                                loom.task("mix").commute(&block).run(|b| b[0] += 1);
                            }
                            _ => {
                                for _ in 0..50 {
                                    loom.task("many").update(&block).run(|b| b[0] += 1);
                                }
                            }
                        }
                    }
                });
            }
        });
        loom.wait_all().unwrap();
    }
}

#[test]
fn a_task_that_runs_in_a_step_of_the_application_is_no_stall_and_one_that_waits_for_a_step_is() {
    let loom = Loom::builder().workers(1).undriven([0]).patience(Duration::from_millis(20)).build().unwrap();
    let future = loom.task("waits").returns(|| 1);
    let error = loom.wait_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stalled);
    let text = error.to_string();
    assert!(
        text.contains("task `waits`") && text.contains("context `main`, all of which the application drives"),
        "{text}"
    );
    let (started, wait_until_started) = mpsc::channel();
    let (asked, wait_until_asked) = mpsc::channel::<()>();
    loom.task("steps").run(move || {
        started.send(()).unwrap();
        wait_until_asked.recv().unwrap();
        // Longer than the patience, whatever the machine does: several looks of the thread that waits.
        let work = (0..100_000_000_u64).fold(1_u64, |x, i| std::hint::black_box(x.wrapping_mul(31).wrapping_add(i)));
        std::hint::black_box(work);
    });
    std::thread::scope(|scope| {
        let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
        scope.spawn(move || {
            driver.init().unwrap();
            while driver.run_once().unwrap() {}
        });
        wait_until_started.recv().unwrap();
        asked.send(()).unwrap();
        loom.wait_all().unwrap();
    });
    assert_eq!(future.wait().unwrap(), 1);
}

#[test]
fn threads_that_share_a_serial_engine_do_not_wait_for_each_other() {
    let loom = Loom::serial();
    let (sum, value) = (loom.value("sum", 0_u64), loom.value("value", 0_u64));
    loom.task("add").reduce(&sum, Sum).run(|sum| *sum += 1);
    let (begin, began) = mpsc::channel();
    std::thread::scope(|threads| {
        let (loom, sum) = (&loom, &sum);
        threads.spawn(move || {
            began.recv().unwrap();
            // Ends the reduction, so that it is folded: when the other task is over.
            loom.task("read").read(sum).run(|_| ());
        });
        let drops = loom.task("drops").run(move || {
            begin.send(()).unwrap();
            (0..20_000).for_each(|_| std::thread::yield_now());
            // What a task drops has its place in the order as well, which the other thread must not keep.
            drop(value);
        });
        drops.wait().unwrap();
    });
    assert_eq!(sum.get().unwrap(), 1);
}

/// A task that waits for its child, which waits for a task outside, which waits for the first one.
struct Cycle {
    loom: Loom,
    parent: Future<()>,
    uncle: Arc<Future<()>>,
    ran: Arc<AtomicUsize>,
}

impl Cycle {
    fn new(workers: usize) -> Self {
        let loom = Loom::builder().workers(workers).patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 0_u64);
        let ran = Arc::new(AtomicUsize::new(0));
        let (give, given) = mpsc::channel::<Arc<Future<()>>>();
        let (handle, count) = (loom.clone(), Arc::clone(&ran));
        let parent = loom.task("parent").lend(&x).run(move |_| {
            let uncle = given.recv().unwrap();
            handle.task("child").after(&*uncle).run(move || _ = count.fetch_add(1, Ordering::Relaxed));
        });
        let count = Arc::clone(&ran);
        let uncle = loom.task("uncle").update(&x).run(move |_| _ = count.fetch_add(1, Ordering::Relaxed));
        let uncle = Arc::new(uncle);
        give.send(Arc::clone(&uncle)).unwrap();
        Self { loom, parent, uncle, ran }
    }
}

#[test]
fn a_task_that_waits_for_its_child_is_in_the_report_of_a_stall() {
    for workers in [1, 2] {
        let Cycle { loom, parent, .. } = Cycle::new(workers);
        for error in [loom.wait_all().unwrap_err(), parent.wait().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Stalled);
            let text = error.to_string();
            let is_told = |who: &str, what: &str| {
                let mut parts = text.split("task `").filter(|part| !part.is_empty());
                parts.any(|part| part.starts_with(&format!("{who}` (")) && part.ends_with(what))
            };
            assert!(is_told("parent", ") waits for its child, "), "{text}");
            assert!(is_told("child", ") waits for ") && is_told("uncle", ") waits for "), "{text}");
        }
    }
}

#[test]
fn cancelling_gives_up_tasks_that_wait_for_each_other_through_a_parent() {
    for workers in [1, 2] {
        let Cycle { loom, parent, uncle, ran } = Cycle::new(workers);
        assert_eq!(loom.wait_all().unwrap_err().kind(), ErrorKind::Stalled);
        loom.cancel();
        assert_eq!(loom.wait_all().unwrap_err().kind(), ErrorKind::Cancelled);
        parent.wait().unwrap();
        assert_eq!(Arc::into_inner(uncle).unwrap().wait().unwrap_err().kind(), ErrorKind::Cancelled);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        assert_eq!(loom.task("after").returns(|| 1).wait().unwrap(), 1);
    }
}

#[test]
fn a_runtime_ends_with_its_tasks_although_they_wait_for_each_other() {
    let Cycle { loom, ran, .. } = Cycle::new(2);
    // The parent has a handle, too, until its body has returned.
    assert_eq!(loom.wait_all().unwrap_err().kind(), ErrorKind::Stalled);
    drop(loom);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert_eq!(Arc::strong_count(&ran), 1, "what the tasks captured is dropped");
}

#[test]
fn a_child_comes_after_a_task_outside_and_is_cancelled_when_that_fails() {
    for (workers, fails) in [(1, false), (2, false), (1, true), (2, true)] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let x = loom.value("x", 0_u64);
        let held = x.write().unwrap();
        let before = loom.task("before").update(&x).run(move |x| {
            assert!(!fails, "on purpose");
            *x = 1;
        });
        let done = Arc::new(AtomicUsize::new(0));
        let (handle, count) = (loom.clone(), Arc::clone(&done));
        let (tell, told) = mpsc::channel();
        loom.task("parent").run(move || {
            // More than a record has room for.
            let others: Vec<_> = (0..9).map(|_| handle.task("other").run(|| ())).collect();
            let child = others.iter().fold(handle.task("child").after(&before), |child, other| child.after(other));
            tell.send(child.run(move || _ = count.fetch_add(1, Ordering::Relaxed))).unwrap();
        });
        let child = told.recv().unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 0, "the child comes after a task that has not run");
        drop(held);
        let result = child.wait();
        assert_eq!(result.is_err(), fails);
        assert!(result.err().is_none_or(|error| error.kind() == ErrorKind::Cancelled));
        assert_eq!(done.load(Ordering::Relaxed), usize::from(!fails));
        assert_eq!(loom.wait_all().is_err(), fails);
    }
}

#[test]
fn a_task_that_ends_with_another_one_is_in_the_report_of_a_stall() {
    for workers in [1, 2] {
        let loom = Loom::builder().workers(workers).patience(FOR_EVER).build().unwrap();
        let (give, given) = mpsc::channel::<Arc<Future<()>>>();
        let handle = loom.clone();
        let parent = loom.task("parent").run(move || {
            let parent = given.recv().unwrap();
            handle.task("child").ends_with(&*parent).run(|| ());
        });
        let parent = Arc::new(parent);
        give.send(Arc::clone(&parent)).unwrap();
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        let text = error.to_string();
        assert!(text.contains("which can never be: task `"), "{text}");
        assert!(text.contains(") waits for its child, task `child` ("), "{text}");
        assert!(text.contains("task `child` (") && text.contains("), to end with it"), "{text}");
    }
}

#[test]
fn a_guard_that_was_given_up_is_in_no_report() {
    for builder in builders() {
        let loom = builder.patience(FOR_EVER).build().unwrap();
        let x = loom.value("x", 0_u64);
        let guard = x.write().unwrap();
        assert_eq!(x.write().err().unwrap().kind(), ErrorKind::Stalled);
        loom.task("reader").read(&x).run(|_| ());
        let text = loom.wait_all().unwrap_err().to_string();
        assert!(!text.contains("`guard`") && !text.contains("more wait"), "{text}");
        // It waits for the guard that was given up, which waits for the one that is held.
        assert!(text.contains("task `reader` (") && text.contains("), which this thread holds"), "{text}");
        drop(guard);
        loom.wait_all().unwrap();
    }
}

/// Completing a cancelled team task takes its time, and meanwhile no worker is awake and nobody waits for a team.
#[test]
fn a_thread_that_completes_what_it_cancelled_is_somebody_who_moves() {
    struct Slow(mpsc::Receiver<()>);
    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv_timeout(Duration::from_millis(400));
        }
    }
    let loom = Loom::builder().workers(2).undriven([1]).patience(FOR_EVER).build().unwrap();
    let x = loom.value("x", 0_u64);
    let (end, ended) = mpsc::channel();
    let slow = Mutex::new(Slow(ended));
    let pair = loom.task("pair").read(&x).team(2).run(move |_, _| drop(slow.lock()));
    std::thread::scope(|threads| {
        let waiter = threads.spawn(|| {
            let seen = x.write().map(drop);
            end.send(()).unwrap_or_default();
            seen
        });
        std::thread::sleep(Duration::from_millis(100));
        loom.cancel();
        waiter.join().unwrap().unwrap();
    });
    assert_eq!(pair.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}
