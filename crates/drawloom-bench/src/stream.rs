//! `drawloom-bench stream`: how fast streams are, beside loops written by hand and rayon.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Args;
use drawloom_apps::filters::by_hand;
use drawloom_apps::filters::number::{Divisor, munge};
use drawloom_apps::filters::{App, Program, Request};
use drawloom_cli::exit::Exit;
use drawloom_cli::number::{all_workers, integer, workers};
use drawloom_cli::output::{self, Output};
use drawloom_runtime::Loom;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::Serialize;

/// More lines of text than this would need much memory.
const MOST_LINES: u64 = 1 << 19;

/// How many numbers of a range a loop by hand does at once.
const PIECE: u64 = 1 << 16;

/// Into how many parts a slice is cut for each thread of a loop by hand.
const PARTS: usize = 64;

/// The mean lengths of segments.
const LENGTHS: [u64; 7] = [4, 16, 64, 128, 129, 512, 4096];

/// The programs that are measured.
const APPS: [&str; 5] = ["evenfilter", "modfilter", "splitfilter", "regionsum", "taxi"];

/// Measure streams: filters and regions, beside loops written by hand and rayon
///
/// Prints one line of JSON for each measurement; times are the best of several runs, in which all take turns. `loop` is a loop
/// written by hand, block after block, with the same wide instructions; `copy` copies as many numbers as the filters have;
/// `rayon` does the same job with parallel iterators, compiled as its users compile it, without instructions that only some
/// machines have. `speedup` is how much faster several workers are than one; that of `copy` and `loop`, whose threads share
/// nothing but which part is next, is what the machine can give. `gigabytes_per_second` counts four bytes for each number,
/// to be compared with the copy: those of splitfilter lie in memory, all others are made on the way.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom-bench stream                     everything, on one worker, on two and on every core
  drawloom-bench stream --n 1e7 --width 1024
  drawloom-bench stream --apps splitfilter,regionsum")]
pub(crate) struct Arguments {
    /// How many inputs
    #[arg(long, default_value = "1e8", value_parser = integer, value_name = "N")]
    n: u64,
    /// Which programs; by default all of them
    #[arg(long, value_delimiter = ',', value_parser = APPS, value_name = "NAME,…")]
    apps: Vec<String>,
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
    /// On how many workers.
    counts: Vec<usize>,
    looms: Vec<Loom>,
    pools: Vec<ThreadPool>,
}

/// A program that is measured: its name, how many items it reads, and how long segments are.
#[derive(Clone, Copy)]
struct Subject {
    bench: &'static str,
    items: u64,
    mean_length: Option<u64>,
}

/// Somebody who runs a program, on some workers. Says how many outputs there are, and how many seconds it took.
struct Contender<'a> {
    peer: Option<&'static str>,
    workers: usize,
    run: Box<dyn FnMut() -> Result<(u64, f64), String> + 'a>,
}

impl<'a> Contender<'a> {
    /// Somebody else than a stream.
    fn peer(peer: &'static str, workers: usize, mut work: impl FnMut() -> u64 + 'a) -> Self {
        let run = move || {
            let start = Instant::now();
            let outputs = std::hint::black_box(work());
            Ok((outputs, start.elapsed().as_secs_f64()))
        };
        Self { peer: Some(peer), workers, run: Box::new(run) }
    }

    /// A stream. What it takes to make it is no part of a run, and neither is to free what it has read.
    fn stream(loom: &'a Loom, workers: usize, make: impl Fn() -> drawloom_stream::Result<Program> + 'a) -> Self {
        let run = move || {
            let program = make().map_err(|error| error.to_string())?;
            let start = Instant::now();
            let outcome = program.run(loom, workers, |_| ()).map_err(|error| error.to_string())?;
            let took = start.elapsed().as_secs_f64();
            Ok((outcome.sinks[0].1.outputs(), took))
        };
        Self { peer: None, workers, run: Box::new(run) }
    }
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let mut counts = arguments.workers.map_or_else(
        || {
            let all = all_workers();
            [1, 2, all].into_iter().filter(|workers| *workers <= all).collect()
        },
        |workers| vec![workers],
    );
    counts.dedup();
    match Bench::new(arguments, output, counts).and_then(|mut bench| bench.all()) {
        Ok(()) => Exit::Valid,
        Err(why) => {
            output::complain(format_args!("bench stream: {why}"));
            Exit::Unusable
        }
    }
}

impl<'a> Bench<'a> {
    fn new(arguments: &'a Arguments, output: &'a mut Output, counts: Vec<usize>) -> Result<Self, String> {
        let loom = |workers: &usize| Loom::builder().workers(*workers).build().map_err(|error| error.to_string());
        let pool =
            |workers: &usize| ThreadPoolBuilder::new().num_threads(*workers).build().map_err(|error| error.to_string());
        let looms = counts.iter().map(loom).collect::<Result<_, _>>()?;
        let pools = counts.iter().map(pool).collect::<Result<_, _>>()?;
        Ok(Self { arguments, output, counts, looms, pools })
    }

    fn all(&mut self) -> Result<(), String> {
        let n = self.arguments.n;
        // The copy and all contenders of SplitFilter read these: how fast that is depends on where they happen to be in memory.
        let count = usize::try_from(n).map_err(|_| format!("{n} numbers are too many"))?;
        let numbers: Arc<[u32]> = by_hand::random(count).into();
        self.copy(&numbers)?;
        let wanted = &self.arguments.apps;
        for bench in APPS.into_iter().filter(|app| wanted.is_empty() || wanted.iter().any(|one| one == app)) {
            match bench {
                "evenfilter" => self.even_filter()?,
                "modfilter" => self.mod_filter()?,
                "splitfilter" => self.split_filter(&numbers)?,
                "regionsum" => LENGTHS.into_iter().try_for_each(|length| self.region_sum(length))?,
                _ => self.taxi()?,
            }
        }
        Ok(())
    }

    fn subject(&self, bench: &'static str) -> Subject {
        Subject { bench, items: self.arguments.n, mean_length: None }
    }

    fn request(&self, subject: Subject) -> Result<Request, String> {
        let width = usize::try_from(self.arguments.width).map_err(|_| "the width is too large".to_owned())?;
        let mean_length = subject.mean_length.unwrap_or(128);
        Ok(Request { n: subject.items, width, mean_length, ..Request::default() })
    }

    /// Numbers are copied to a small place: what the machine gives is the limit.
    fn copy(&mut self, numbers: &[u32]) -> Result<(), String> {
        let work = || {
            let mut copy = vec![0_u32; 1 << 20];
            move |numbers: &[u32]| {
                for chunk in numbers.chunks(1 << 20) {
                    copy[..chunk.len()].copy_from_slice(chunk);
                    std::hint::black_box(&copy);
                }
                numbers.len() as u64
            }
        };
        let copies = self
            .counts
            .iter()
            .map(|&workers| Contender::peer("copy", workers, move || on_threads(workers, numbers, work)));
        let lines = measure(self.arguments, self.subject("copy"), copies.collect())?;
        self.print(lines);
        Ok(())
    }

    fn even_filter(&mut self) -> Result<(), String> {
        let n = self.arguments.n;
        let even = |hash: &u32| hash & 1 == 0;
        let rayon = || total((0..n).into_par_iter().map(|i| munge(i as u32)).filter(even).map(one)).0;
        self.filter(self.subject("evenfilter"), App::EvenFilter, by_hand::even_filter, rayon)
    }

    fn mod_filter(&mut self) -> Result<(), String> {
        let n = self.arguments.n;
        let [two, three, five] = [2, 3, 5].map(Divisor::new);
        let rayon = || {
            let chain = (0..n).into_par_iter().map(|i| munge(2 * i as u32)).filter(|v| two.divides(*v));
            let chain = chain.map(munge).filter(|v| three.divides(*v)).map(munge).filter(|v| five.divides(*v));
            total(chain.map(one)).0
        };
        self.filter(self.subject("modfilter"), App::ModFilter, by_hand::mod_filter, rayon)
    }

    /// A filter of a range of numbers.
    fn filter(
        &mut self,
        subject: Subject,
        app: App,
        by_hand: fn(Range<u64>) -> by_hand::Sum,
        rayon: impl Fn() -> u64 + Sync,
    ) -> Result<(), String> {
        // Small pieces of the range, to be shared by threads.
        let n = subject.items;
        let pieces: Vec<Range<u64>> = (0..n).step_by(PIECE as usize).map(|at| at..n.min(at + PIECE)).collect();
        let part = |pieces: &[Range<u64>]| pieces.iter().cloned().map(|piece| by_hand(piece).0).sum();
        let by_hand = |workers: usize| on_threads(workers, &pieces, || part);
        let request = self.request(subject)?;
        self.compete(subject, by_hand, || Program::new(app, &request), rayon)
    }

    fn split_filter(&mut self, numbers: &Arc<[u32]>) -> Result<(), String> {
        let by_hand = |workers| on_threads(workers, numbers, || |part: &[u32]| by_hand::split_filter(part).0.0);
        let rayon = || {
            let both = numbers.par_iter().map(|x| munge(*x)).fold(
                || ((0_u64, 0_u64), (0_u64, 0_u64)),
                |(accept, reject), v| {
                    let add = |(n, sum): (u64, u64)| (n + 1, sum + u64::from(v));
                    if v & 1 == 0 { (add(accept), reject) } else { (accept, add(reject)) }
                },
            );
            let add = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
            std::hint::black_box(both.reduce(Default::default, |a, b| (add(a.0, b.0), add(a.1, b.1)))).0.0
        };
        let request = self.request(self.subject("splitfilter"))?;
        self.compete(self.subject("splitfilter"), by_hand, || Program::split(&request, numbers), rayon)
    }

    fn region_sum(&mut self, length: u64) -> Result<(), String> {
        let subject = Subject { mean_length: Some(length), ..self.subject("regionsum") };
        let segments = by_hand::segments(subject.items, length);
        let by_hand =
            |workers| on_threads(workers, &segments, || |part: &[by_hand::Segment]| by_hand::region_sum(part).0.0);
        let rayon = || {
            let sums = segments.par_iter().map(|segment| (1, by_hand::segment_sum(*segment)));
            let add = |a: (u64, (u64, u64)), b: (u64, (u64, u64))| (a.0 + b.0, (a.1.0 + b.1.0, a.1.1 + b.1.1));
            std::hint::black_box(sums.reduce(Default::default, add)).0
        };
        let request = self.request(subject)?;
        self.compete(subject, by_hand, || Program::new(App::RegionSum, &request), rayon)
    }

    fn taxi(&mut self) -> Result<(), String> {
        // One line is about as much work as two hundred numbers.
        let subject = Subject { items: (self.arguments.n / 200).min(MOST_LINES), ..self.subject("taxi") };
        let lines = by_hand::lines(subject.items);
        let by_hand = |workers| on_threads(workers, &lines, || |part: &[by_hand::Line]| by_hand::taxi(part).0);
        let rayon = || total(lines.par_iter().map(by_hand::taxi_line)).0;
        let request = self.request(subject)?;
        self.compete(subject, by_hand, || Program::new(App::Taxi, &request), rayon)
    }

    /// A loop by hand, a stream and rayon do the same job, each on as many workers as are asked for.
    fn compete(
        &mut self,
        subject: Subject,
        by_hand: impl Fn(usize) -> u64,
        stream: impl Fn() -> drawloom_stream::Result<Program>,
        rayon: impl Fn() -> u64 + Sync,
    ) -> Result<(), String> {
        let (by_hand, stream, rayon) = (&by_hand, &stream, &rayon);
        let contenders = self.counts.iter().zip(&self.looms).zip(&self.pools).flat_map(|((&workers, loom), pool)| {
            [
                Contender::peer("loop", workers, move || by_hand(workers)),
                Contender::stream(loom, workers, stream),
                Contender::peer("rayon", workers, move || pool.install(rayon)),
            ]
        });
        let lines = measure(self.arguments, subject, contenders.collect())?;
        self.print(lines);
        Ok(())
    }

    fn print(&mut self, lines: Vec<Line>) {
        lines.iter().for_each(|line| self.output.json(line));
        self.output.flush();
    }
}

/// Measures those who run a program, one after the other and then all again: what a machine gives changes with time, and is to be the
/// same for all of them. Each is the first now and then. The best time of each counts, and all have the same outputs.
fn measure(arguments: &Arguments, subject: Subject, mut contenders: Vec<Contender<'_>>) -> Result<Vec<Line>, String> {
    let mut measured = vec![(0, f64::INFINITY); contenders.len()];
    let mut expected = None;
    for round in 0..arguments.repeat.max(1) {
        let first = (round % contenders.len().max(1) as u64) as usize;
        for at in (first..contenders.len()).chain(0..first) {
            let (outputs, seconds) = (contenders[at].run)()?;
            let expected = *expected.get_or_insert(outputs);
            if outputs != expected {
                let Contender { peer, workers, .. } = contenders[at];
                let who = peer.unwrap_or("the stream");
                return Err(format!(
                    "{}: {who} on {workers} workers has {outputs} outputs, not {expected}",
                    subject.bench
                ));
            }
            measured[at] = (outputs, seconds.min(measured[at].1));
        }
    }
    let all = || contenders.iter().zip(&measured);
    let line = |(contender, &(outputs, seconds)): (&Contender<'_>, &(u64, f64))| {
        let Contender { peer, workers, .. } = *contender;
        let mut alone = all().filter(|(other, _)| other.workers == 1 && other.peer == peer && workers > 1);
        let rate = subject.items as f64 / seconds.max(1e-9);
        // Four bytes for each number.
        let bytes = (matches!(peer, Some("copy" | "loop")) && subject.bench != "taxi").then_some(4.0 * rate / 1e9);
        let rounded = |value: f64| (100.0 * value).round() / 100.0;
        Line {
            bench: subject.bench,
            peer,
            n: subject.items,
            width: peer.is_none().then_some(arguments.width),
            workers,
            mean_length: subject.mean_length,
            outputs,
            seconds,
            million_items_per_second: rounded(rate / 1e6),
            speedup: alone.next().map(|(_, (_, alone))| rounded(alone / seconds.max(1e-9))),
            gigabytes_per_second: bytes.map(rounded),
        }
    };
    Ok(all().map(line).collect())
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
