//! rayon as a peer, in this process.
//!
//! rayon knows nothing of data, so only three of the patterns have a form in it: independent tasks, round trips, and a
//! stencil in which each step is a parallel loop and the end of the loop is a barrier. Chains have none: a chain in rayon
//! is a loop.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::json;

use super::peers::Peers;

/// The best of so many repetitions counts.
const REPETITIONS: u32 = 5;

/// The cells of the stencil.
const WIDTH: usize = 16;

/// rayon keeps a heap allocation for each task that waits.
const MOST_TASKS: u64 = 10_000_000;

/// A round trip takes rayon microseconds.
const MOST_ROUND_TRIPS: u64 = 20_000;

/// A value alone on its cache line.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
struct Cell(u64);

/// The time of one repetition: all of it, and the part until the last submission.
struct Spent {
    total: Duration,
    submit: Duration,
}

/// What a task costs in rayon, for the patterns that are wanted and that it has.
pub(crate) fn tasks(workers: usize, tasks: u64, wanted: impl Fn(&str) -> bool) -> Peers {
    let mut peers = Peers::default();
    let pool = match ThreadPoolBuilder::new().num_threads(workers.max(1)).build() {
        Ok(pool) => pool,
        Err(error) => {
            peers.notes.push(format!("rayon: {error}; skipped"));
            return peers;
        }
    };
    let tasks = tasks.clamp(1, MOST_TASKS);
    let round_trips = tasks.min(MOST_ROUND_TRIPS);
    let steps = (tasks / WIDTH as u64).max(1);
    let mut line = |bench: &str, tasks: u64, spent: Spent| {
        let each = |time: Duration| (time.as_secs_f64() * 1e10 / tasks as f64).round() / 10.0;
        peers.lines.push(json!({
            "peer": "rayon", "bench": bench, "mode": "dynamic", "workers": pool.current_num_threads(), "tasks": tasks,
            "ns_per_task": each(spent.total), "submit_ns_per_task": each(spent.submit),
        }));
    };
    if wanted("independent") {
        line("independent", tasks, best(|| independent(&pool, tasks)));
    }
    if wanted("stencil") {
        line("stencil", steps * WIDTH as u64, best(|| stencil(&pool, steps).0));
    }
    if wanted("roundtrip") {
        line("roundtrip", round_trips, best(|| round_trip(&pool, round_trips)));
    }
    peers
}

/// The best of several repetitions, by the whole time.
fn best(mut once: impl FnMut() -> Spent) -> Spent {
    let mut best = once();
    for _ in 1..REPETITIONS {
        let spent = once();
        if spent.total < best.total {
            best = spent;
        }
    }
    best
}

/// Tasks spawned into a scope by the calling thread, which executes none of them.
fn independent(pool: &ThreadPool, tasks: u64) -> Spent {
    let start = Instant::now();
    let submit = pool.in_place_scope(|scope| {
        for task in 0..tasks {
            scope.spawn(move |_| _ = black_box(task));
        }
        start.elapsed()
    });
    Spent { total: start.elapsed(), submit }
}

/// One task at a time, each waited for by the calling thread.
fn round_trip(pool: &ThreadPool, tasks: u64) -> Spent {
    let start = Instant::now();
    for task in 0..tasks {
        black_box(pool.install(|| black_box(task)));
    }
    let total = start.elapsed();
    Spent { total, submit: total }
}

/// Each step is a parallel loop over the cells: one more than the largest of three cells of the step before.
fn stencil(pool: &ThreadPool, steps: u64) -> (Spent, [u64; WIDTH]) {
    let start = Instant::now();
    let cells = pool.install(|| {
        let (mut now, mut before) = ([Cell::default(); WIDTH], [Cell::default(); WIDTH]);
        for _ in 0..steps {
            now.par_iter_mut().with_max_len(1).enumerate().for_each(|(point, cell)| {
                let at = |offset: usize| before[(point + offset) % WIDTH].0;
                cell.0 = at(WIDTH - 1).max(at(0)).max(at(1)) + 1;
            });
            std::mem::swap(&mut now, &mut before);
        }
        before
    });
    let total = start.elapsed();
    (Spent { total, submit: total }, cells.map(|cell| cell.0))
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::{WIDTH, stencil, tasks};

    #[test]
    fn every_pattern_that_rayon_has_gives_a_line() {
        let peers = tasks(2, 100, |_| true);
        assert!(peers.notes.is_empty(), "{:?}", peers.notes);
        let benches: Vec<_> = peers.lines.iter().map(|line| line["bench"].as_str().unwrap()).collect();
        assert_eq!(benches, ["independent", "stencil", "roundtrip"]);
        for line in &peers.lines {
            assert_eq!((&line["peer"], &line["workers"]), (&"rayon".into(), &2.into()));
            assert!(line["ns_per_task"].as_f64().unwrap() > 0.0, "{line}");
        }
        assert_eq!(peers.lines[1]["tasks"], 96, "a stencil has whole steps");
        assert_eq!(tasks(1, 1, |bench| bench == "roundtrip").lines.len(), 1);
    }

    #[test]
    fn the_stencil_computes_what_the_serial_one_does() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert_eq!(stencil(&pool, 7).1, [7; WIDTH]);
    }
}
