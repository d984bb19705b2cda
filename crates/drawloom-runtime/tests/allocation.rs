//! A replay allocates nothing.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use drawloom_runtime::{Loom, Plan, Sum};

/// Counts allocations of the whole process.
struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: promised by the caller.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A plan with everything in it: overlapping pieces, lists, reductions, scratch buffers, and very many first tasks.
fn plan(loom: &Loom) -> Plan {
    let x = loom.vector("x", vec![1.0_f64; 1000]);
    let sum = loom.value("sum", 0.0_f64);
    let capture = loom.capture("everything");
    for block in x.blocks(200).unwrap() {
        capture.task("scale").update(&block).run(|block| block.iter_mut().for_each(|x| *x *= 0.5));
    }
    for halo in x.halos(20, 3).unwrap() {
        capture.task("sum").read(&halo).reduce(&sum, Sum).scratch::<f64>(100).run(|halo, sum, scratch| {
            scratch[..halo.len()].copy_from_slice(halo);
            *sum += scratch.iter().sum::<f64>();
        });
    }
    let halves: Vec<_> = x.blocks(2).unwrap().collect();
    capture.task("swap").update_all(&halves).run(|mut halves| {
        let first = halves.get(0)[0];
        halves.get_mut(1)[0] = first;
    });
    capture.plan().unwrap()
}

#[test]
fn a_replay_allocates_nothing() {
    for (workers, most) in [(1, 0), (4, 16)] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let plan = plan(&loom);
        // The first runs find out how long queues become.
        for _ in 0..100 {
            plan.run().unwrap();
        }
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for _ in 0..200 {
            plan.run().unwrap();
        }
        let made = ALLOCATIONS.load(Ordering::Relaxed) - before;
        // With several workers a queue may once become longer than ever before.
        assert!(made <= most, "{made} allocations in 200 runs of {} tasks on {workers} workers", plan.len());
    }
}
