//! Plans of very short tasks, and of tasks that are not always short.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use drawloom_runtime::{ErrorKind, Loom, Plan, Sum, Vector};

use crate::looms;

/// How often plans are run.
const RUNS: u64 = 600;

/// A stencil over single elements, and a sum over all.
fn stencil(loom: &Loom, steps: usize) -> (Plan, Vector<u64>, impl Fn() -> u64) {
    let (a, b) = (loom.vector("a", (0..16_u64).collect()), loom.vector("b", vec![0_u64; 16]));
    let sum = loom.value("sum", 0_u64);
    let capture = loom.capture("stencil");
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (&a, &b) } else { (&b, &a) };
        for (halo, out) in from.halos(16, 1).unwrap().zip(to.blocks(16).unwrap()) {
            capture.task("step").read(&halo).write(&out).run(|halo, out| {
                out[0] = halo.iter().fold(1, |sum: u64, x| sum.wrapping_mul(31).wrapping_add(*x));
            });
        }
    }
    for block in a.blocks(16).unwrap() {
        capture.task("add").read(&block).reduce(&sum, Sum).run(|a, sum| *sum = sum.wrapping_add(a[0] % 1000));
    }
    let total = sum.clone();
    (capture.plan().unwrap(), a, move || total.get().unwrap())
}

#[test]
fn short_tasks_give_the_same_however_often_they_run() {
    let serial = Loom::serial();
    let (plan, a, sum) = stencil(&serial, 20);
    (0..RUNS).for_each(|_| plan.run().unwrap());
    for loom in looms() {
        let (plan, other, total) = stencil(&loom, 20);
        (0..RUNS).for_each(|_| plan.run().unwrap());
        assert_eq!(other.to_vec().unwrap(), a.to_vec().unwrap());
        assert_eq!(total(), sum());
    }
}

/// Tasks that were short many times take long: then other workers help.
#[test]
fn tasks_that_suddenly_take_long_are_shared() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let cells = loom.vector("cells", vec![0_u64; 8]);
    let slow = Arc::new(AtomicBool::new(false));
    let threads: Arc<Mutex<HashSet<ThreadId>>> = Arc::default();
    let capture = loom.capture("cells");
    for _ in 0..20 {
        for cell in cells.blocks(8).unwrap() {
            let (slow, threads) = (Arc::clone(&slow), Arc::clone(&threads));
            capture.task("count").update(&cell).run(move |cell| {
                cell[0] += 1;
                if slow.load(Ordering::Relaxed) {
                    threads.lock().unwrap().insert(thread::current().id());
                    thread::sleep(Duration::from_millis(2));
                }
            });
        }
    }
    let plan = capture.plan().unwrap();
    (0..RUNS).for_each(|_| plan.run().unwrap());
    slow.store(true, Ordering::Relaxed);
    plan.run().unwrap();
    assert_eq!(cells.to_vec().unwrap(), [20 * (RUNS + 1); 8]);
    assert_eq!(threads.lock().unwrap().len(), 2);
}

/// Another one changes contexts, cancels, and submits meanwhile.
#[test]
fn short_tasks_are_disturbed_by_changes_and_failures() {
    for workers in [1, 2, 3] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let (plan, a, _) = stencil(&loom, 50);
        let ids = loom.worker_ids();
        let part = loom.context("part").workers([ids[0]]).create().unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let runs = Arc::clone(&done);
        let plans = thread::spawn(move || {
            for _ in 0..RUNS {
                plan.run().unwrap();
                runs.fetch_add(1, Ordering::Relaxed);
            }
            plan
        });
        while done.load(Ordering::Relaxed) < RUNS {
            part.resize([ids[workers - 1]]).unwrap();
            loom.task("here").in_context(&part).run(|| ()).wait().unwrap();
            part.resize([ids[0]]).unwrap();
        }
        let plan = plans.join().unwrap();
        let serial = Loom::serial();
        let (reference, other, _) = stencil(&serial, 50);
        (0..RUNS).for_each(|_| reference.run().unwrap());
        assert_eq!(a.to_vec().unwrap(), other.to_vec().unwrap());
        // A failure in the middle is that of the task, and nothing after it runs.
        drop(plan);
        let cells = loom.vector("cells", vec![0_u64; 4]);
        let capture = loom.capture("failing");
        for step in 0..100_u64 {
            for (number, cell) in cells.blocks(4).unwrap().enumerate() {
                capture.task("maybe").update(&cell).try_run(move |cell| {
                    cell[0] += 1;
                    if number == 2 && cell[0] == 100 * RUNS + 50 { Err(format!("at step {step}")) } else { Ok(()) }
                });
            }
        }
        let plan = capture.plan().unwrap();
        (0..RUNS).for_each(|_| plan.run().unwrap());
        let error = plan.run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Failed);
        assert!(error.to_string().contains("at step 49"), "{error}");
        let mut cells = cells.blocks(4).unwrap();
        assert_eq!(cells.next().unwrap().to_vec().unwrap(), [100 * (RUNS + 1)]);
    }
}
