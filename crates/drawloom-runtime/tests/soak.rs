//! Many tasks in bounded memory.
//!
//! A million tasks by default; `DRAWLOOM_TASKS` sets how many.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use drawloom_runtime::{Loom, Region, Sum, Vector};

/// What this process has in memory, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux says how much memory a process has");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("it says what is resident");
    line.split_whitespace().nth(1).and_then(|n| n.parse::<usize>().ok()).expect("in kilobytes") * 1024
}

fn tasks() -> usize {
    std::env::var("DRAWLOOM_TASKS").ok().and_then(|n| n.parse::<f64>().ok()).map_or(1_000_000, |n| n as usize)
}

/// About a hundred tasks of every kind; returns how many exactly.
fn round(loom: &Loom, a: &Vector<u64>, b: &Vector<u64>, number: u64) -> usize {
    let mut count = 0;
    for _ in 0..20 {
        loom.task("independent").run(|| ());
        count += 1;
    }
    for (halo, block) in a.halos(16, 1).unwrap().zip(b.blocks(16).unwrap()) {
        loom.task("stencil").read(&halo).write(&block).run(|halo, block| block.fill(halo[0]));
        count += 1;
    }
    for (b, a) in b.blocks(16).unwrap().zip(a.blocks(16).unwrap()) {
        loom.task("back").read(&b).update(&a).run(|b, a| a[0] = a[0].wrapping_add(b[0]));
        count += 1;
    }
    let sum = loom.value("sum", 0_u64);
    for block in a.blocks(16).unwrap() {
        loom.task("sum").read(&block).reduce(&sum, Sum).run(|block, sum| *sum = sum.wrapping_add(block[0]));
        loom.task("mix").commute(&block).run(|block| block[0] = block[0].wrapping_mul(3));
        count += 2;
    }
    let (inner, lent) = (loom.clone(), a.clone());
    let parent = loom.task("parent").lend(a).returns(move |_| {
        for block in lent.blocks(4).unwrap() {
            inner.task("child").update(&block).run(move |block| block[0] ^= number);
        }
        inner.task("look").read(&lent).returns(|a| a[0]).wait().unwrap()
    });
    count += 6;
    if number.is_multiple_of(7) {
        // A failure now and then, which nobody asks about but the wait at the end.
        loom.task("fail").write(&sum).run(|_| std::panic::resume_unwind(Box::new("by plan")));
        loom.task("cancelled").read(&sum).after(&parent).run(|_| ());
        count += 2;
    }
    count
}

/// The tests look at the memory of the whole process, so they run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn many_tasks_take_a_bounded_amount_of_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let total = tasks();
    for workers in [1, 2] {
        let started = Instant::now();
        let loom = Loom::builder().workers(workers).build().unwrap();
        loom.task("first").run(|| ()).wait().unwrap();
        println!("{workers} workers: up and one task done in {:?}", started.elapsed());
        let a = loom.vector("a", (0..256).collect());
        let b = loom.vector("b", vec![0_u64; 256]);
        let (mut done, mut warm, mut most) = (0, None, 0);
        let started = Instant::now();
        for number in 0.. {
            done += round(&loom, &a, &b, number);
            if number % 200 == 199 {
                // Failures are told; that there are some is by plan.
                let _ = loom.wait_all();
            }
            if warm.is_none() && done > total / 5 {
                warm = Some(resident());
            }
            if number.is_multiple_of(1000) {
                most = most.max(resident());
            }
            if done > total {
                break;
            }
        }
        let _ = loom.wait_all();
        let seconds = started.elapsed().as_secs_f64();
        println!("{workers} workers: {done} tasks, {:.0} ns each", seconds * 1e9 / done as f64);
        let (warm, end) = (warm.expect("a fifth of the tasks was submitted"), resident().max(most));
        let grown = end.saturating_sub(warm);
        assert!(grown < 32 << 20, "{workers} workers: memory grew from {warm} to {end} bytes in {done} tasks");
    }
}

#[test]
fn a_task_in_flight_takes_at_most_two_hundred_bytes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let loom = Loom::builder().workers(1).in_flight(1 << 20).build().unwrap();
    let x = loom.vector("x", vec![0_u64; 64]);
    let blocks: Vec<_> = x.blocks(16).unwrap().collect();
    let submit = |count: usize| {
        for i in 0..count {
            loom.task("t").update(&blocks[i % 16]).read(&blocks[(i + 1) % 16]).run(|x, y| x[0] = y[0]);
        }
    };
    // A little less than the records that exist then: they come in chunks that double.
    let count = 261_000;
    // The guard keeps all of them from starting.
    let guard = x.write().unwrap();
    let before = resident();
    submit(count);
    let stats = loom.stats();
    let each = resident().saturating_sub(before) / count;
    println!("{each} bytes for each of {} tasks in flight, {} in its record", stats.in_flight, stats.bytes_per_record);
    assert!(each <= 200, "{each} bytes for each task in flight");
    assert!(stats.in_flight >= count, "{} tasks are in flight", stats.in_flight);
    assert!(stats.bytes_per_record <= 200, "{} bytes in a record", stats.bytes_per_record);
    assert!(stats.records * stats.bytes_per_record <= 200 * count, "{} records", stats.records);
    drop(guard);
    loom.wait_all().unwrap();
}
