//! What a task costs in each shape: submitted, and replayed.
//!
//! `cargo bench -p drawloom-apps --bench tasks`. `drawloom bench tasks` measures the same, with other runtimes beside it.

use divan::Bencher;
use divan::counter::ItemsCount;
use drawloom_apps::micro::{Cells, Shape};
use drawloom_runtime::Loom;

const TASKS: u64 = 100_000;
const ROUND_TRIPS: u64 = 1_000;

fn main() {
    divan::main();
}

fn cells(workers: usize) -> (Loom, Cells) {
    let loom = Loom::builder().workers(workers).build().expect("threads can be started");
    let cells = Cells::new(&loom);
    (loom, cells)
}

fn cases(shapes: &[Shape]) -> Vec<(Shape, usize)> {
    shapes.iter().flat_map(|&shape| [(shape, 1), (shape, 2)]).collect()
}

#[divan::bench(args = cases(&Shape::ALL), sample_count = 20, sample_size = 1)]
fn dynamic(bencher: Bencher<'_, '_>, (shape, workers): &(Shape, usize)) {
    let (loom, cells) = cells(*workers);
    let tasks = shape.round(if *shape == Shape::RoundTrip { ROUND_TRIPS } else { TASKS });
    bencher.counter(ItemsCount::new(tasks)).bench_local(|| {
        cells.submit(*shape, tasks).expect("tasks succeed");
        loom.wait_all().expect("tasks succeed");
    });
}

#[divan::bench(args = cases(&Shape::ALL[..5]), sample_count = 20, sample_size = 1)]
fn replay(bencher: Bencher<'_, '_>, (shape, workers): &(Shape, usize)) {
    let (_loom, cells) = cells(*workers);
    let tasks = shape.round(TASKS);
    let plan = cells.capture(*shape, tasks).expect("a plan");
    bencher.counter(ItemsCount::new(tasks)).bench_local(|| plan.run().expect("tasks succeed"));
}
