//! `drawloom bench stream`: how fast streams are, beside loops written by hand and rayon.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Args;
use drawloom_apps::filters::by_hand;
use drawloom_apps::filters::number::{Divisor, munge};
use drawloom_apps::filters::{App, Program, Request};
use drawloom_runtime::Loom;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

use crate::exit::Exit;
use crate::number::{all_workers, integer, workers};
use crate::output::{self, Output};

/// More lines of text than this would need much memory.
const MOST_LINES: u64 = 1 << 19;

/// How many numbers of a range a loop by hand does at once.
const PIECE: u64 = 1 << 16;

/// Into how many parts a slice is cut for each thread of a loop by hand.
const PARTS: usize = 64;

/// The mean lengths of segments.
const LENGTHS: [u64; 7] = [4, 16, 64, 128, 129, 512, 4096];

/// Measure streams: filters and regions, beside loops written by hand and rayon
///
/// Prints one line of JSON for each measurement; times are the best of several runs. `loop` is a loop written by hand, block
/// after block, with the same wide instructions; `copy` copies as many numbers as the filters read; `rayon` does the same
/// job with parallel iterators. `speedup` is how much faster several workers are than one; that of `copy` and `loop`, whose
/// threads share nothing but which part is next, is what the machine can give.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom bench stream                     everything, on one worker, on two and on every core
  drawloom bench stream --n 1e7 --width 1024")]
pub(crate) struct Arguments {
    /// How many inputs
    #[arg(long, default_value = "1e8", value_parser = integer, value_name = "N")]
    n: u64,
    /// How many items a node sees at once
    #[arg(long, default_value = "1024", value_parser = integer, value_name = "W")]
    width: u64,
    /// How many workers; by default one, two, and then as many as there are cores
    #[arg(long, value_parser = workers, value_name = "K")]
    workers: Option<usize>,
    /// How often each measurement is repeated; the best counts
    #[arg(long, default_value = "3", value_parser = integer, value_name = "N")]
    repeat: u64,
}

/// One measurement.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<&'static str>,
    n: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<u64>,
    workers: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_length: Option<u64>,
    outputs: u64,
    seconds: f64,
    million_items_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    speedup: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gigabytes_per_second: Option<f64>,
}

/// What is measured, and where the lines go.
struct Bench<'a> {
    arguments: &'a Arguments,
    output: &'a mut Output,
    /// What one worker took, for each measurement.
    alone: Vec<(Measured, f64)>,
}

/// A program, who runs it, and how long segments are.
type Measured = (&'static str, Option<&'static str>, Option<u64>);

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let mut counts = arguments.workers.map_or_else(
        || {
            let all = all_workers();
            [1, 2, all].into_iter().filter(|workers| *workers <= all).collect()
        },
        |workers| vec![workers],
    );
    counts.dedup();
    let mut bench = Bench { arguments, output, alone: Vec::new() };
    match bench.all(&counts) {
        Ok(()) => Exit::Valid,
        Err(why) => {
            output::complain(format_args!("bench stream: {why}"));
            Exit::Unusable
        }
    }
}

impl Bench<'_> {
    fn all(&mut self, counts: &[usize]) -> Result<(), String> {
        let n = self.arguments.n;
        let numbers = by_hand::random(usize::try_from(n).map_err(|_| format!("{n} numbers are too many"))?);
        let lines = by_hand::lines(self.lines());
        for &workers in counts {
            self.loops(workers, &numbers, &lines)?;
            let loom = Loom::builder().workers(workers).build().map_err(|error| error.to_string())?;
            for app in [App::EvenFilter, App::ModFilter, App::SplitFilter] {
                self.stream(&loom, app, workers, None)?;
            }
            for length in LENGTHS {
                self.stream(&loom, App::RegionSum, workers, Some(length))?;
            }
            self.stream(&loom, App::Taxi, workers, None)?;
            drop(loom);
            let pool = ThreadPoolBuilder::new().num_threads(workers).build().map_err(|error| error.to_string())?;
            self.rayon(&pool, workers, &numbers, &lines)?;
        }
        Ok(())
    }

    /// A plain copy and the loops by hand, on as many threads as there are workers: what the machine gives them is the limit.
    fn loops(&mut self, workers: usize, numbers: &[u32], lines: &[by_hand::Line]) -> Result<(), String> {
        let n = self.arguments.n;
        self.measure("copy", Some("copy"), workers, None, || {
            Ok(on_threads(workers, numbers, || {
                let mut copy = vec![0_u32; 1 << 20];
                move |numbers: &[u32]| {
                    for chunk in numbers.chunks(1 << 20) {
                        copy[..chunk.len()].copy_from_slice(chunk);
                        std::hint::black_box(&copy);
                    }
                    numbers.len() as u64
                }
            }))
        })?;
        // Small pieces of the range, to be shared by threads.
        let pieces: Vec<Range<u64>> = (0..n).step_by(PIECE as usize).map(|at| at..n.min(at + PIECE)).collect();
        let pieces = &pieces[..];
        type Filter = fn(Range<u64>) -> by_hand::Sum;
        for (bench, filter) in [("evenfilter", by_hand::even_filter as Filter), ("modfilter", by_hand::mod_filter)] {
            self.measure(bench, Some("loop"), workers, None, || {
                let part = |pieces: &[Range<u64>]| pieces.iter().cloned().map(|piece| filter(piece).0).sum();
                Ok(on_threads(workers, pieces, || part))
            })?;
        }
        self.measure("splitfilter", Some("loop"), workers, None, || {
            Ok(on_threads(workers, numbers, || |part: &[u32]| by_hand::split_filter(part).0.0))
        })?;
        for length in LENGTHS {
            let segments = by_hand::segments(n, length);
            self.measure("regionsum", Some("loop"), workers, Some(length), || {
                Ok(on_threads(workers, &segments, || |part: &[by_hand::Segment]| by_hand::region_sum(part).0.0))
            })?;
        }
        self.measure_of("taxi", Some("loop"), workers, None, lines.len() as u64, || {
            Ok(on_threads(workers, lines, || |part: &[by_hand::Line]| by_hand::taxi(part).0))
        })
    }

    fn stream(&mut self, loom: &Loom, app: App, workers: usize, length: Option<u64>) -> Result<(), String> {
        let width = usize::try_from(self.arguments.width).map_err(|_| "the width is too large".to_owned())?;
        let n = if app == App::Taxi { self.lines() } else { self.arguments.n };
        let request = Request { n, width, mean_length: length.unwrap_or(128), ..Request::default() };
        let mut best = f64::INFINITY;
        let mut outputs = 0;
        for _ in 0..self.arguments.repeat.max(1) {
            let program = Program::new(app, &request).map_err(|error| error.to_string())?;
            let start = Instant::now();
            let outcome = program.run(loom, workers, |_| ()).map_err(|error| error.to_string())?;
            best = best.min(start.elapsed().as_secs_f64());
            outputs = outcome.sinks[0].1.outputs();
        }
        self.line(app.name(), None, workers, length, n, outputs, best);
        Ok(())
    }

    /// How many lines of text: one is about as much work as two hundred numbers.
    fn lines(&self) -> u64 {
        (self.arguments.n / 200).min(MOST_LINES)
    }

    /// The same with parallel iterators.
    fn rayon(
        &mut self,
        pool: &ThreadPool,
        workers: usize,
        numbers: &[u32],
        lines: &[by_hand::Line],
    ) -> Result<(), String> {
        let n = self.arguments.n;
        let even = |hash: &u32| hash & 1 == 0;
        self.measure("evenfilter", Some("rayon"), workers, None, || {
            Ok(pool.install(|| total((0..n).into_par_iter().map(|i| munge(i as u32)).filter(even).map(one)).0))
        })?;
        let [two, three, five] = [2, 3, 5].map(Divisor::new);
        self.measure("modfilter", Some("rayon"), workers, None, || {
            let chain = (0..n).into_par_iter().map(|i| munge(2 * i as u32)).filter(|v| two.divides(*v));
            let chain = chain.map(munge).filter(|v| three.divides(*v)).map(munge).filter(|v| five.divides(*v));
            Ok(pool.install(|| total(chain.map(one)).0))
        })?;
        self.measure("splitfilter", Some("rayon"), workers, None, || {
            let hashes = numbers.par_iter().map(|x| munge(*x));
            let both = hashes.fold(
                || ((0_u64, 0_u64), (0_u64, 0_u64)),
                |(accept, reject), v| {
                    let add = |(n, sum): (u64, u64)| (n + 1, sum + u64::from(v));
                    if v & 1 == 0 { (add(accept), reject) } else { (accept, add(reject)) }
                },
            );
            let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
            let both = pool.install(|| both.reduce(Default::default, |a, b| (add(a.0, b.0), add(a.1, b.1))));
            Ok(std::hint::black_box(both).0.0)
        })?;
        for length in LENGTHS {
            let segments = by_hand::segments(n, length);
            self.measure("regionsum", Some("rayon"), workers, Some(length), || {
                let sums = segments.par_iter().map(|segment| (1, by_hand::segment_sum(*segment)));
                let add = |a: (u64, (u64, u64)), b: (u64, (u64, u64))| (a.0 + b.0, (a.1.0 + b.1.0, a.1.1 + b.1.1));
                Ok(std::hint::black_box(pool.install(|| sums.reduce(Default::default, add))).0)
            })?;
        }
        self.measure_of("taxi", Some("rayon"), workers, None, lines.len() as u64, || {
            Ok(pool.install(|| total(lines.par_iter().map(by_hand::taxi_line))).0)
        })
    }

    fn measure(
        &mut self,
        bench: &'static str,
        peer: Option<&'static str>,
        workers: usize,
        length: Option<u64>,
        work: impl FnMut() -> Result<u64, String>,
    ) -> Result<(), String> {
        self.measure_of(bench, peer, workers, length, self.arguments.n, work)
    }

    /// Measures work on so many items.
    fn measure_of(
        &mut self,
        bench: &'static str,
        peer: Option<&'static str>,
        workers: usize,
        length: Option<u64>,
        n: u64,
        mut work: impl FnMut() -> Result<u64, String>,
    ) -> Result<(), String> {
        let mut best = f64::INFINITY;
        let mut outputs = 0;
        for _ in 0..self.arguments.repeat.max(1) {
            let start = Instant::now();
            outputs = std::hint::black_box(work()?);
            best = best.min(start.elapsed().as_secs_f64());
        }
        self.line(bench, peer, workers, length, n, outputs, best);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn line(
        &mut self,
        bench: &'static str,
        peer: Option<&'static str>,
        workers: usize,
        mean_length: Option<u64>,
        n: u64,
        outputs: u64,
        seconds: f64,
    ) {
        let rate = n as f64 / seconds.max(1e-9);
        // What is read: four bytes for each number.
        let bytes = (matches!(peer, Some("copy" | "loop")) && bench != "taxi").then_some(4.0 * rate / 1e9);
        let measured = (bench, peer, mean_length);
        if workers == 1 {
            self.alone.push((measured, seconds));
        }
        let alone = self.alone.iter().find(|(other, _)| workers > 1 && *other == measured);
        self.output.json(&Line {
            bench,
            peer,
            n,
            width: peer.is_none().then_some(self.arguments.width),
            workers,
            mean_length,
            outputs,
            seconds,
            million_items_per_second: (rate / 1e4).round() / 100.0,
            speedup: alone.map(|(_, alone)| (100.0 * alone / seconds.max(1e-9)).round() / 100.0),
            gigabytes_per_second: bytes.map(|bytes| (bytes * 100.0).round() / 100.0),
        });
        self.output.flush();
    }
}

/// Does something with the parts of a slice, which threads take one after the other, and adds up what comes out. `make` makes what
/// each thread does.
fn on_threads<T: Sync, W: FnMut(&[T]) -> u64>(workers: usize, items: &[T], make: impl Fn() -> W + Sync) -> u64 {
    if workers <= 1 {
        return make()(items);
    }
    let parts: Vec<&[T]> = items.chunks(items.len().div_ceil(workers * PARTS).max(1)).collect();
    let (parts, make, next) = (&parts, &make, &AtomicUsize::new(0));
    let thread = move || {
        let mut work = make();
        // Relaxed: the number alone is shared. Each thread asks for parts until there are none.
        let mine = std::iter::from_fn(|| parts.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(|part| work(part)).sum::<u64>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(thread)).collect();
        // A thread that panicked makes this one panic too.
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why))).sum()
    })
}

fn one(value: u32) -> (u64, u64) {
    (1, u64::from(value))
}

/// How many there are, and their sum.
fn total(items: impl ParallelIterator<Item = (u64, u64)>) -> (u64, u64) {
    std::hint::black_box(items.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1)))
}
