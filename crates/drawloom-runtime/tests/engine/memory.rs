//! A second memory in this process: tasks run there on copies, and everyone sees the right values.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use crate::heap::{with_accelerators, with_accelerators_in};
use drawloom_runtime::{ErrorKind, Loom, Region, Sum};

#[test]
fn data_follows_tasks_between_two_memories() {
    let (loom, heaps) = with_accelerators(1);
    let x = loom.vector("x", (0..100_u64).collect());
    loom.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
    loom.task("there").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x *= 2));
    loom.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 3));
    let total: u64 = loom.task("sum").read(&x).on_device("accelerator").returns(|x| x.iter().sum()).wait().unwrap();
    assert_eq!(total, (0..100).map(|i| (i + 1) * 2 + 3).sum::<u64>());
    assert_eq!(x.to_vec().unwrap()[7], 19);
    drop(x);
    drop(loom);
    assert_eq!(heaps[0].allocated.load(Ordering::Relaxed), 0, "the replicate was freed with the region");
}

#[test]
fn only_what_is_needed_is_copied_and_only_once() {
    let (loom, heaps) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u8; 1000]);
    let blocks: Vec<_> = x.blocks(10).unwrap().collect();
    let copied = || heaps[0].copied.load(Ordering::Relaxed);
    loom.task("read").read(&blocks[3]).on_device("accelerator").run(|_| ()).wait().unwrap();
    assert_eq!(copied(), 100, "one block went there");
    loom.task("read").read(&blocks[3]).on_device("accelerator").run(|_| ()).wait().unwrap();
    assert_eq!(copied(), 100, "it is there already");
    loom.task("write").write(&blocks[4]).on_device("accelerator").run(|b| b.fill(9)).wait().unwrap();
    assert_eq!(copied(), 100, "what is overwritten need not go there");
    assert_eq!(blocks[3].to_vec().unwrap(), [1; 100]);
    assert_eq!(copied(), 100, "what was only read there is still proper here");
    assert_eq!(blocks[4].to_vec().unwrap(), [9; 100]);
    assert_eq!(copied(), 200, "what was written there comes back when asked for");
}

/// The same program on all engines. Tasks alternate between this memory and others by a fixed pattern.
fn program(loom: &Loom) -> Vec<u64> {
    let x = loom.vector("x", (0..240_u64).collect());
    let total = loom.value("total", 0_u64);
    let mut rng = fastrand::Rng::with_seed(3);
    for round in 0..60_u64 {
        let pieces: Vec<_> = match round % 3 {
            0 => x.blocks(6).unwrap().collect(),
            1 => x.blocks(5).unwrap().collect(),
            _ => x.halos(4, 7).unwrap().collect(),
        };
        for piece in &pieces {
            let task = loom.task("step").update(piece);
            let task = if rng.bool() { task.on_device("accelerator") } else { task };
            task.run(move |piece| {
                for x in piece.iter_mut() {
                    *x = x.wrapping_mul(31).wrapping_add(round);
                }
                piece.rotate_left(1);
            });
        }
        if round % 10 == 9 {
            for piece in &pieces {
                loom.task("sum").read(piece).reduce(&total, Sum).run(|piece, total| {
                    *total = piece.iter().fold(*total, |t, x| t.wrapping_add(*x));
                });
            }
        }
    }
    let mut result = x.to_vec().unwrap();
    result.push(total.get().unwrap());
    result
}

#[test]
fn a_program_over_several_memories_gives_the_serial_result() {
    let expected = program(&Loom::serial());
    for count in 1..=3 {
        assert_eq!(program(&with_accelerators(count).0), expected, "{count} accelerators");
    }
}

#[test]
fn plans_find_data_that_devices_changed() {
    let (loom, _) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u64; 10]);
    let capture = loom.capture("double");
    capture.task("double").update(&x).run(|x| x.iter_mut().for_each(|x| *x *= 2));
    let plan = capture.plan().unwrap();
    for _ in 0..5 {
        loom.task("add").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x += 1));
        plan.start();
    }
    assert_eq!(x.to_vec().unwrap(), [94; 10]);
}

#[test]
fn what_cannot_leave_this_process_is_refused_by_name() {
    let (loom, _) = with_accelerators(1);
    let words = loom.host_vector("words", vec![String::from("a")]);
    let error = loom.task("t").read(&words).on_device("accelerator").run(|_| ()).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`words`"), "{error}");
    let error = loom.task("t").on_device("quantum").run(|| ()).wait().unwrap_err();
    assert!(error.to_string().contains("`quantum`") && error.to_string().contains("`accelerator`"), "{error}");
}

#[test]
fn a_body_that_panics_on_a_device_fails_its_task_only() {
    let (loom, _) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u64; 10]);
    let error = loom.task("bad").update(&x).on_device("accelerator").run(|_| panic!("oops")).wait().unwrap_err();
    assert!(error.to_string().contains("bad") && error.to_string().contains("oops"), "{error}");
    assert!(x.read().is_err());
    loom.task("heal").write(&x).on_device("accelerator").run(|x| x.fill(2));
    assert_eq!(x.to_vec().unwrap(), [2; 10]);
}

/// Contributions are private: whoever makes one takes nothing away from a device that is still writing.
#[test]
fn a_contribution_leaves_what_it_will_be_folded_into_where_it_is() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.value("x", 0_u64);
    let ((go, gone), (start, started)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let gone = Mutex::new(gone);
    loom.task("write").write(&x).on_device("accelerator").run(move |x| {
        start.send(()).unwrap();
        gone.lock().unwrap().recv().unwrap();
        *x = 10;
    });
    started.recv().unwrap();
    loom.task("add").reduce(&x, Sum).run(|x| *x += 1).wait().unwrap();
    go.send(()).unwrap();
    assert_eq!(x.get().unwrap(), 11);
}

#[test]
fn an_allocation_that_fails_leaves_other_copies_in_order() {
    let (loom, heaps) = with_accelerators(1);
    let heap = &heaps[0];
    let a = loom.vector("a", vec![1_u64; 10]);
    let b = loom.vector("b", vec![1_u64; 1000]);
    for round in 0..20 {
        loom.task("before").write(&a).run(|a| a.fill(3)).wait().unwrap();
        heap.limit.store(1000, Ordering::SeqCst);
        heap.held.store(true, Ordering::SeqCst);
        // The copy of the first region is on its way when there is no room for the second one.
        let bad = loom.task("bad").read(&a).update(&b).on_device("accelerator").run(|_, _| ());
        let error = bad.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        let text = error.to_string();
        assert!(text.contains("`bad`") && text.contains("`b`") && text.contains("the heap is full"), "{text}");
        assert_eq!(heap.in_flight(), 1, "the copy that was started still runs");
        // Whoever writes next must wait for it, or it would carry away half of the new elements.
        let write = loom.task("write").write(&a).run(move |a| a.fill(round));
        heap.held.store(false, Ordering::SeqCst);
        write.wait().unwrap();
        heap.limit.store(0, Ordering::SeqCst);
        let sum: u64 = loom.task("sum").read(&a).on_device("accelerator").returns(|a| a.iter().sum()).wait().unwrap();
        assert_eq!(sum, 10 * round);
        loom.task("heal").write(&b).run(|b| b.fill(2)).wait().unwrap();
        let _ = loom.wait_all();
    }
    drop((a, b));
    drop(loom);
    assert_eq!((heap.in_flight(), heap.allocated.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn a_region_is_freed_only_when_nothing_is_on_its_way_to_it() {
    let (loom, heaps) = with_accelerators(1);
    heaps[0].held.store(true, Ordering::SeqCst);
    heaps[0].limit.store(1000, Ordering::SeqCst);
    let a = loom.vector("a", vec![1_u64; 10]);
    let b = loom.vector("b", vec![1_u64; 1000]);
    loom.task("bad").read(&a).update(&b).on_device("accelerator").run(|_, _| ()).wait().unwrap_err();
    assert_eq!(heaps[0].in_flight(), 1);
    heaps[0].held.store(false, Ordering::SeqCst);
    drop((a, b));
    let _ = loom.wait_all();
    drop(loom);
    assert_eq!((heaps[0].in_flight(), heaps[0].allocated.load(Ordering::Relaxed)), (0, 0));
}

#[test]
fn a_memory_that_panics_fails_the_task_and_nothing_else() {
    for method in 1..=3 {
        let (loom, heaps) = with_accelerators(1);
        let x = loom.vector("x", (0..10_u64).collect());
        heaps[0].panics.store(method, Ordering::SeqCst);
        let bad = loom.task("bad").read(&x).on_device("accelerator").run(|_| ());
        let error = bad.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Device);
        let text = error.to_string();
        assert!(text.contains("`bad`") && text.contains("`x`") && text.contains("on fire"), "{method}: {text}");
        loom.task("there").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x += 1));
        loom.wait_all().unwrap();
        // On the way back, too.
        if method > 1 {
            heaps[0].panics.store(method, Ordering::SeqCst);
            let error = loom.task("here").read(&x).run(|_| ()).wait().unwrap_err();
            assert!(error.to_string().contains("on fire"), "{error}");
        }
        assert_eq!(x.to_vec().unwrap()[9], 10);
    }
}

/// What was overwritten on a device is restored from what was there, not from what this process last saw.
#[test]
fn a_task_is_retried_on_what_a_device_had_written() {
    let (loom, _heaps) = with_accelerators(1);
    let x = loom.vector("x", vec![1_u64; 10]);
    loom.task("there").update(&x).on_device("accelerator").run(|x| x.fill(7));
    let tries = std::sync::atomic::AtomicU64::new(0);
    loom.task("here").update(&x).retry(3).try_run(move |x| {
        x.iter_mut().for_each(|x| *x += 1);
        if tries.fetch_add(1, Ordering::Relaxed) < 2 { Err("not yet") } else { Ok(()) }
    });
    assert_eq!(x.to_vec().unwrap(), [8; 10]);
}

/// A copy that a worker waits for is not the worker's own: others who need the elements make it progress.
#[test]
fn a_worker_that_is_not_driven_on_keeps_nobody_from_what_it_fetches() {
    let (loom, heaps) = with_accelerators_in(Loom::builder().workers(2).undriven([0, 1]), 1);
    let x = loom.vector("x", vec![1_u64; 10]);
    loom.task("there").update(&x).on_device("accelerator").run(|x| x.fill(7)).wait().unwrap();
    heaps[0].held.store(true, Ordering::SeqCst);
    loom.task("here").read(&x).run(|x| assert_eq!(x, [7; 10]));
    loom.task("here too").read(&x).run(|x| assert_eq!(x, [7; 10]));
    let mut slow = loom.driver(loom.worker(0).unwrap()).unwrap();
    slow.init().unwrap();
    assert!(slow.run_once().unwrap(), "it got a task, whose data is on its way");
    heaps[0].held.store(false, Ordering::SeqCst);
    // The other one needs the same elements, and the first one does nothing meanwhile.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut driver = loom.driver(loom.worker(1).unwrap()).unwrap();
            driver.init().unwrap();
            while driver.run_once().unwrap() {}
        });
    });
    assert_eq!(loom.stats().completed, 2);
    slow.deinit();
    loom.wait_all().unwrap();
}

#[test]
fn recorded_tasks_run_on_devices_in_each_replay() {
    let (loom, _) = with_accelerators(1);
    let (x, sum) = (loom.vector("x", vec![1_u64; 10]), loom.value("sum", 0_u64));
    let capture = loom.capture("there and back");
    capture.task("here").update(&x).run(|x| x.iter_mut().for_each(|x| *x += 1));
    capture.task("there").update(&x).on_device("accelerator").run(|x| x.iter_mut().for_each(|x| *x *= 2));
    capture.task("sum").read(&x).update(&sum).run(|x, sum| *sum += x.iter().sum::<u64>());
    let plan = capture.plan().unwrap();
    for _ in 0..3 {
        plan.start();
    }
    assert_eq!(x.to_vec().unwrap(), [22; 10]);
    assert_eq!(sum.get().unwrap(), 40 + 100 + 220);
    let words = loom.host_vector("words", vec![String::from("a")]);
    let capture = loom.capture("stays");
    capture.task("t").read(&words).on_device("accelerator").run(|_| ());
    let error = capture.plan().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("`t`") && error.to_string().contains("`words`"), "{error}");
}
