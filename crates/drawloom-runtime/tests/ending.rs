//! The end of a runtime: nothing is lost, nothing leaks, nothing hangs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use drawloom_runtime::{ErrorKind, Loom, Region};

const FOR_EVER: Duration = Duration::from_secs(100_000);

fn looms() -> Vec<Loom> {
    let mut looms = vec![Loom::serial()];
    looms.extend([1, 2, 8].map(|workers| Loom::builder().workers(workers).patience(FOR_EVER).build().unwrap()));
    looms
}

/// Counts the ones that are alive.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(alive: &Arc<AtomicUsize>) -> Self {
        alive.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(alive))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn what_was_submitted_is_run_before_the_runtime_ends() {
    for loom in looms() {
        let ran = Arc::new(AtomicUsize::new(0));
        let alive = Arc::new(AtomicUsize::new(0));
        let region = loom.host_vector("counted", (0..10).map(|_| Counted::new(&alive)).collect());
        for _ in 0..1000 {
            let (ran, captured) = (Arc::clone(&ran), Counted::new(&alive));
            let (inner, in_child) = (loom.clone(), Arc::clone(&ran));
            loom.task("last").update(&region).run(move |_| {
                // Also children that are submitted after the handle is gone.
                inner.task("child").run(move || {
                    in_child.fetch_add(1, Ordering::SeqCst);
                });
                ran.fetch_add(1, Ordering::SeqCst);
                drop(captured);
            });
        }
        drop(region);
        drop(loom);
        // The last handle may have been that of a task; then the end comes a little later, and only then.
        while alive.load(Ordering::SeqCst) > 0 {
            std::thread::yield_now();
        }
        assert_eq!(ran.load(Ordering::SeqCst), 2000);
    }
}

#[test]
fn what_cannot_run_is_cancelled_at_the_end_and_leaks_nothing() {
    for loom in looms() {
        let alive = Arc::new(AtomicUsize::new(0));
        let x = loom.host_vector("x", vec![Counted::new(&alive)]);
        let y = loom.host_vector("y", vec![Counted::new(&alive)]);
        let guard = x.write().unwrap();
        let mut futures = Vec::new();
        for _ in 0..10 {
            let captured = Counted::new(&alive);
            futures.push(loom.task("stuck").update(&x).run(move |_| drop(captured)));
        }
        let captured = Counted::new(&alive);
        let fine = loom.task("fine").update(&y).run(move |_| drop(captured));
        drop(loom);
        // This one could run, and did.
        assert!(fine.is_complete());
        fine.wait().unwrap();
        drop(guard);
        for future in futures {
            let error = future.wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Cancelled);
            let text = error.to_string();
            assert!(text.contains("the runtime ended") && text.contains("write guard of region `x`"), "{text}");
        }
        assert_eq!(alive.load(Ordering::SeqCst), 2);
        drop((x, y));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }
}

#[test]
fn the_last_handle_may_be_dropped_inside_of_a_task() {
    for workers in [1, 2, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let (send, receive) = mpsc::channel();
        let (go, wait_to_go) = mpsc::channel::<()>();
        let x = loom.value("x", 0_u64);
        let inner = loom.clone();
        loom.task("owner").update(&x).run(move |x| {
            wait_to_go.recv().unwrap();
            *x += 1;
            drop(inner);
        });
        for _ in 0..100 {
            let send = send.clone();
            loom.task("later").update(&x).run(move |x| {
                *x += 1;
                send.send(*x).unwrap();
            });
        }
        drop(send);
        drop(loom);
        go.send(()).unwrap();
        // The channel ends when the last task is dropped, so this waits for all of them.
        let seen: Vec<u64> = receive.iter().collect();
        assert_eq!(seen, (2..=101).collect::<Vec<u64>>());
        assert_eq!(x.get().unwrap(), 101);
    }
}

#[test]
fn after_a_shutdown_tasks_are_refused_by_name_and_data_can_still_be_read() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let sum = loom.value("sum", 1_u64);
        loom.task("before").update(&x).run(|x| *x += 1);
        loom.task("reduce").reduce(&sum, drawloom_runtime::Sum).run(|sum| *sum += 1);
        loom.shutdown().unwrap();
        loom.shutdown().unwrap();
        let error = loom.task("after").update(&x).run(|x| *x += 1).wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ShutDown);
        assert!(error.to_string().contains("task `after`") && error.to_string().contains("shut down"), "{error}");
        assert_eq!(loom.clone().task("after").returns(|| 1).wait().unwrap_err().kind(), ErrorKind::ShutDown);
        // What the refused task should have done is missing; the rest is there, folded on this thread.
        assert_eq!(x.get().unwrap_err().kind(), ErrorKind::ShutDown);
        assert_eq!(sum.get().unwrap(), 2);
    }
}

#[test]
fn a_shutdown_returns_failures_and_refuses_to_cut_off_what_waits() {
    for loom in looms() {
        let x = loom.value("x", 0_u64);
        let guard = x.write().unwrap();
        loom.task("stuck").read(&x).try_run(|_| Err::<(), _>("bad"));
        assert_eq!(loom.shutdown().unwrap_err().kind(), ErrorKind::Stalled);
        drop(guard);
        let error = loom.shutdown().unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Failed, "bad"));
    }
}

#[test]
fn runtimes_do_not_know_each_other() {
    let (one, two) = (Loom::builder().workers(2).build().unwrap(), Loom::builder().workers(2).build().unwrap());
    let x = one.value("x", 0_u64);
    let future = one.task("own").update(&x).run(|x| *x += 1);
    let error = two.task("foreign").update(&x).run(|x| *x += 1).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    assert!(error.to_string().contains("task `foreign`") && error.to_string().contains("region `x`"), "{error}");
    let error = two.task("late").after(&future).run(|| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Foreign);
    two.cancel();
    two.shutdown().unwrap();
    future.wait().unwrap();
    assert_eq!(x.get().unwrap(), 1);
    // A task of one runtime may use another one as any thread may.
    let other = one.clone();
    let three = Loom::builder().workers(1).build().unwrap();
    let seen = three.task("visitor").returns(move || other.task("guest").returns(|| 5).wait().unwrap()).wait().unwrap();
    assert_eq!(seen, 5);
}

#[test]
fn wrong_settings_are_refused_in_words() {
    let error = Loom::builder().workers(0).build().err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("at least one worker"), "{error}");
    let error = Loom::builder().policy("fastest").build().err().unwrap();
    assert!(error.to_string().contains("`fastest`"), "{error}");
    let error = Loom::builder().workers(1).build().unwrap().submitted_dot().unwrap_err();
    assert!(error.to_string().contains("trace_start"), "{error}");
}

#[test]
fn a_region_of_more_than_two_to_the_31_elements_is_addressed_correctly() {
    // Pages that nobody touches take no memory.
    let loom = Loom::builder().workers(2).build().unwrap();
    let len = (1_usize << 31) + 8;
    let x = loom.vector_without_contents::<u8>("x", len);
    let blocks: Vec<_> = x.blocks(1 << 10).unwrap().collect();
    let (first, last) = (blocks.first().unwrap(), blocks.last().unwrap());
    loom.task("first").write(first).run(|b| b.fill(1));
    loom.task("last").write(last).run(|b| b.fill(2));
    let (start, end) = (first.to_vec().unwrap(), last.to_vec().unwrap());
    assert_eq!((start.len(), end.len()), ((1 << 21) + 1, 1 << 21));
    assert!(start.iter().all(|&b| b == 1) && end.iter().all(|&b| b == 2));
    let error = loom.task("all").read(&x).run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Uninitialised);
}

#[test]
fn partitions_that_miss_or_exceed_indices_are_refused_with_the_index() {
    let loom = Loom::serial();
    let x = loom.vector("x", vec![0_u8; 10]);
    let error = x.pieces(&[vec![0, 1, 2], vec![4, 5, 6, 7, 8, 9]]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Partition);
    assert!(error.to_string().contains("region `x` miss index 3"), "{error}");
    let error = x.pieces(&[vec![10]]).err().unwrap();
    assert!(error.to_string().contains("element 10") && error.to_string().contains("has 10"), "{error}");
    let error = x.blocks(0).err().unwrap();
    assert!(error.to_string().contains("region `x` cannot be cut into 0 blocks"), "{error}");
}

#[test]
fn a_matrix_whose_data_does_not_fit_is_refused_by_name() {
    let loom = Loom::serial();
    let error = loom.matrix("m", 3, 3, vec![0.0_f64; 8]).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(error.to_string().contains('m') && error.to_string().contains('8'), "{error}");
}
