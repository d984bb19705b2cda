//! Random plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use drawloom_runtime::access::Views;
use drawloom_runtime::{ErrorKind, Loom, Plan, Region, Result, Sum, Vector};
use fastrand::Rng;

/// Records random tasks over the cells of a vector: each reads some cells near its own and changes it. Some add to a sum.
fn record(
    loom: &Loom,
    seed: u64,
    fails: Option<usize>,
) -> Result<(Plan, Vector<u64>, impl Fn() -> Result<u64> + use<>)> {
    let mut rng = Rng::with_seed(seed);
    let width = rng.usize(1..=12);
    let cells = loom.vector("cells", (0..width as u64).collect());
    let sum = loom.value("sum", 0_u64);
    let parts: Vec<Vector<u64>> = cells.blocks(width)?.collect();
    let capture = loom.capture("random");
    for number in 0..rng.usize(1..=150) {
        let own = rng.usize(..width);
        let near: Vec<Vector<u64>> = (0..width)
            .filter(|&other| other != own && rng.usize(..width) < 2)
            .map(|other| parts[other].clone())
            .collect();
        let task = capture.task("mix").read_all(&near).update(&parts[own]);
        let mix = move |near: Views<'_, Vector<u64>>, own: &mut [u64]| {
            let all = near.iter().map(|near| near[0]).fold(own[0], |a, b| a.rotate_left(7).wrapping_add(b));
            own[0] = all.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number as u64);
        };
        if fails == Some(number) {
            task.try_run(|_, _| Err("as it was told"));
        } else if rng.u8(..4) == 0 {
            task.reduce(&sum, Sum).run(move |near, own, sum| {
                mix(near, own);
                *sum = sum.wrapping_add(own[0] >> 32);
            });
        } else {
            task.run(move |near, own| mix(near, own));
        }
    }
    Ok((capture.plan()?, cells, move || sum.get()))
}

/// What a random plan leaves behind after some runs.
fn result(loom: &Loom, seed: u64) -> (Vec<u64>, u64) {
    let (plan, cells, sum) = record(loom, seed, None).unwrap();
    (0..3).for_each(|_| plan.run().unwrap());
    (cells.to_vec().unwrap(), sum().unwrap())
}

#[test]
fn a_random_plan_gives_the_result_of_the_serial_engine() {
    let serial = Loom::serial();
    for workers in [1, 2, 3, 8] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        for seed in 0..60 {
            assert_eq!(result(&loom, seed), result(&serial, seed), "{workers} workers, seed {seed}");
        }
    }
}

#[test]
fn a_failure_spoils_what_it_does_in_the_serial_engine() {
    let serial = Loom::serial();
    let loom = Loom::builder().workers(2).build().unwrap();
    let failing = |loom: &Loom, seed| {
        let (plan, cells, sum) = record(loom, seed, Some(7)).unwrap();
        let ended = plan.run().map_err(|error| (error.kind(), error.to_string()));
        let parts: Vec<Vector<u64>> = cells.blocks(cells.len()).unwrap().collect();
        let read = |part: &Vector<u64>| part.to_vec().map_err(|error| error.kind());
        (ended, parts.iter().map(read).collect::<Vec<_>>(), sum().map_err(|error| error.kind()))
    };
    let mut failed = 0;
    for seed in 0..60 {
        let expected = failing(&serial, seed);
        failed += usize::from(expected.0.is_err());
        let (ended, parts, sum) = failing(&loom, seed);
        assert_eq!(ended.as_ref().map_err(|error| error.0), expected.0.as_ref().map_err(|error| error.0));
        assert_eq!((parts, sum), (expected.1, expected.2), "seed {seed}");
    }
    assert!(failed > 30, "{failed}");
}

#[test]
fn a_run_ends_though_a_worker_has_no_time() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let (plan, cells, _) = record(&loom, 11, None).unwrap();
    let (begun, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let busy = {
        let (begun, go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        loom.task("busy").run(move || {
            begun.store(true, Ordering::SeqCst);
            while !go_on.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        })
    };
    while !begun.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    (0..5).for_each(|_| plan.run().unwrap());
    go_on.store(true, Ordering::SeqCst);
    busy.wait().unwrap();
    let serial = Loom::serial();
    let (plan, others, _) = record(&serial, 11, None).unwrap();
    (0..5).for_each(|_| plan.run().unwrap());
    assert_eq!(cells.to_vec().unwrap(), others.to_vec().unwrap());
}

#[test]
fn several_plans_run_at_the_same_time() {
    let loom = Loom::builder().workers(3).build().unwrap();
    let (serial, seeds) = (Loom::serial(), [3, 5, 8, 13]);
    let plans: Vec<_> = seeds.iter().map(|&seed| record(&loom, seed, None).unwrap()).collect();
    for _ in 0..50 {
        let runs: Vec<_> = plans.iter().map(|(plan, ..)| plan.start()).collect();
        runs.into_iter().for_each(|run| run.wait().unwrap());
    }
    for ((_, cells, _), seed) in plans.iter().zip(seeds) {
        let (plan, others, _) = record(&serial, seed, None).unwrap();
        (0..50).for_each(|_| plan.run().unwrap());
        assert_eq!(cells.to_vec().unwrap(), others.to_vec().unwrap(), "seed {seed}");
    }
}

#[test]
fn a_run_that_is_cancelled_stops() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let cells = loom.vector("cells", vec![0_u64; 2]);
    let count = Arc::new(AtomicU64::new(0));
    let capture = loom.capture("long");
    for _ in 0..2000 {
        for cell in cells.blocks(2).unwrap() {
            let count = Arc::clone(&count);
            capture.task("count").update(&cell).run(move |cell| {
                cell[0] += 1;
                count.fetch_add(1, Ordering::SeqCst);
                thread::yield_now();
            });
        }
    }
    let plan = capture.plan().unwrap();
    let run = plan.start();
    while count.load(Ordering::SeqCst) < 10 {
        thread::yield_now();
    }
    loom.cancel();
    if let Err(error) = run.wait() {
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(count.load(Ordering::SeqCst) < 4000);
    }
}
