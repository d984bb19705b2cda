//! Contexts that come, change and go while tasks run change no result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drawloom_runtime::Loom;

use crate::contexts::loom;

/// A program whose result depends on the order of its tasks, with contexts that come and go meanwhile. Changes have random
/// numbers of their own, so the tasks are the same with and without them.
fn random_program(loom: &Loom, seed: u64, change: bool) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut changes = fastrand::Rng::with_seed(seed + 1000);
    let regions: Vec<_> = (0..8).map(|i| loom.value(format!("x{i}"), i as u64)).collect();
    let workers = loom.worker_ids();
    let mut contexts = vec![loom.main_context()];
    for step in 0..400_u64 {
        if change && changes.u8(..) < 40 {
            let subset: Vec<_> = workers.iter().copied().filter(|_| changes.bool()).collect();
            let at = changes.usize(..contexts.len());
            match changes.u8(..3) {
                0 => contexts.push(loom.context(format!("c{step}")).workers(subset).create().unwrap()),
                1 if at > 0 => contexts[at].resize(subset).unwrap(),
                2 if at > 0 => contexts.swap_remove(at).delete().unwrap(),
                _ => {}
            }
        }
        let context = &contexts[changes.usize(..contexts.len())];
        let (a, b) = (random.usize(..8), random.usize(..8));
        if a == b {
            loom.task("one").update(&regions[a]).in_context(context).run(move |x| *x = x.wrapping_mul(31) + step);
        } else {
            let task = loom.task("two").update(&regions[a]).read(&regions[b]).in_context(context);
            task.run(move |x, y| *x = x.wrapping_mul(17).wrapping_add(*y) + step);
        }
    }
    for context in contexts.drain(1..) {
        context.delete().unwrap();
    }
    loom.wait_all().unwrap();
    regions.iter().map(|x| x.get().unwrap()).collect()
}

#[test]
fn resizing_contexts_while_tasks_run_gives_the_serial_result() {
    for seed in 0..6 {
        let expected = random_program(&Loom::serial(), seed, false);
        for workers in [1, 2, 3, 8, 17] {
            assert_eq!(random_program_unordered(workers, seed), expected, "seed {seed}, {workers} workers");
        }
    }
}

/// The same tasks in the same order; the random numbers for changes come from another thread.
fn random_program_unordered(workers: usize, seed: u64) -> Vec<u64> {
    let loom = loom(workers);
    let stop = Arc::new(AtomicBool::new(false));
    let contexts: Vec<_> = (0..3).map(|i| loom.context(format!("busy {i}")).create().unwrap()).collect();
    std::thread::scope(|scope| {
        for (number, context) in contexts.iter().enumerate() {
            let (loom, stop) = (&loom, &stop);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed * 100 + number as u64);
                while !stop.load(Ordering::Relaxed) {
                    let subset: Vec<_> = loom.worker_ids().into_iter().filter(|_| random.bool()).collect();
                    context.resize(subset).unwrap();
                    loom.main_context().resize(loom.worker_ids()).unwrap();
                    std::thread::yield_now();
                }
            });
        }
        for (i, context) in contexts.iter().enumerate() {
            for _ in 0..100 {
                loom.task("filler").in_context(context).run(move || {
                    std::hint::black_box(i);
                });
            }
        }
        let result = random_program(&loom, seed, false);
        stop.store(true, Ordering::Relaxed);
        result
    })
}

#[test]
fn contexts_that_come_and_go_between_tasks_change_no_result() {
    for seed in 0..4 {
        let expected = random_program(&Loom::serial(), seed, false);
        for workers in [1, 2, 3, 8, 17] {
            assert_eq!(random_program(&loom(workers), seed, true), expected, "seed {seed}, {workers} workers");
        }
    }
}

#[test]
fn many_threads_change_contexts_at_once() {
    let loom = loom(3);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let loom = &loom;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                for i in 0..50 {
                    let context = loom.context(format!("{thread}.{i}")).create().unwrap();
                    for _ in 0..3 {
                        loom.task("t").in_context(&context).run(|| ());
                        let subset: Vec<_> = loom.worker_ids().into_iter().filter(|_| random.bool()).collect();
                        context.resize(subset).unwrap();
                    }
                    context.delete().unwrap();
                }
            });
        }
    });
    loom.wait_all().unwrap();
}
