//! Streams in which it is not known how many items come of one: the programs of MERCATOR's repository, and some more.
//!
//! | file | programs |
//! |---|---|
//! | [`plain`] | EvenFilter, SplitFilter, ModFilter, AsyncFilter |
//! | [`gains`] | SynthGain, SameTypePipe, InterruptSim |
//! | [`regions`] | RegionSum, Taxi |
//! | [`turns`] | LoopFilter, Mandelbrot |
//! | [`blast`] | a search for a sequence in a long one |
//! | [`queens`] | queens on a board |
//! | [`by_hand`] | the same without a stream, as loops: what a stream is compared with |
//! | [`number`] | the hash they use, and glibc's random numbers |
//! | [`tally`] | what their sinks count |
//!
//! Each counts the items of its sinks and adds up their values, which must not depend on the width of vectors or the number of
//! workers (except for SynthGain, whose gains depend on the place of an item in its vector).

mod blast;
pub mod by_hand;
mod gains;
pub mod number;
mod plain;
mod queens;
mod regions;
mod tally;
#[cfg(test)]
mod tests;
mod turns;

use std::sync::Arc;

use drawloom_runtime::Loom;
use drawloom_stream::{Plan, Report, Result, Running, Settings, Source, Stream, source};

use self::number::Rand;
pub use self::tally::Tally;

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum App {
    /// Keeps the even hashes of the numbers below n.
    EvenFilter,
    /// Sends the hashes of n random numbers to one sink if they are even, and to another if they are odd.
    SplitFilter,
    /// Three filters in a row: multiples of 2, of 3, of 5, each of the hash of what the one before kept.
    ModFilter,
    /// The same on n random numbers, as three streams, each of which reads what the one before it has written.
    AsyncFilter,
    /// Five nodes with fixed gains: 0.25, 11.5, 0.125, 0.25, 0.5.
    SynthGain,
    /// Five nodes, each of which keeps the half of the identifiers that is lower.
    ///
    /// In the published program the identifiers of n inputs are `rand() % 10 * (1 << 20)`, as its macro has no parentheses;
    /// so are ours.
    SameTypePipe,
    /// The pairs of numbers in n lines of text. The sum adds both numbers of each, in millionths.
    Taxi,
    /// ModFilter as one node that leads to itself.
    LoopFilter,
    /// The Mandelbrot set at n points, one iteration each time around. The sum adds the iterations of all points.
    Mandelbrot,
    /// Odd hashes, of each of which up to 39 items are made, of which the even hashes are kept.
    InterruptSim,
    /// The sums of the even hashes of n numbers in segments of random lengths. The sum adds the segments' sums.
    RegionSum,
    /// A sequence of 256 letters is looked for in one of n letters: words that agree are extended. The sum adds the scores.
    Blast,
    /// All ways to place n queens on a board of n rows. The sum adds the columns of the first queens, counted from zero.
    Queens,
}

impl App {
    /// All programs.
    pub const ALL: [App; 13] = [
        App::EvenFilter,
        App::SplitFilter,
        App::ModFilter,
        App::AsyncFilter,
        App::SynthGain,
        App::SameTypePipe,
        App::Taxi,
        App::LoopFilter,
        App::Mandelbrot,
        App::InterruptSim,
        App::RegionSum,
        App::Blast,
        App::Queens,
    ];

    /// How many inputs there are, unless it is said.
    pub fn usual_n(self) -> u64 {
        if self == App::Queens { 8 } else { 1_000_000 }
    }

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            App::EvenFilter => "evenfilter",
            App::SplitFilter => "splitfilter",
            App::ModFilter => "modfilter",
            App::AsyncFilter => "asyncfilter",
            App::SynthGain => "synthgain",
            App::SameTypePipe => "sametypepipe",
            App::Taxi => "taxi",
            App::LoopFilter => "loopfilter",
            App::Mandelbrot => "mandelbrot",
            App::InterruptSim => "interruptsim",
            App::RegionSum => "regionsum",
            App::Blast => "blast",
            App::Queens => "queens",
        }
    }
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// How many inputs there are.
    pub n: u64,
    /// How many items a node sees at once.
    pub width: usize,
    /// How long segments are on average, in RegionSum.
    pub mean_length: u64,
    /// Whether items stay in order.
    pub ordered: bool,
    /// How many rounds of work there are for each item, in SynthGain and SameTypePipe.
    pub work: u32,
    /// Whether nodes that need no queue between them run as one.
    pub fuse: bool,
}

impl Default for Request {
    fn default() -> Self {
        Self { n: 1_000_000, width: 128, mean_length: 128, ordered: false, work: 10, fuse: true }
    }
}

impl Request {
    fn stream(&self, name: &str) -> Stream {
        let stream = Stream::new(name).width(self.width).fuse(self.fuse);
        if self.ordered { stream.ordered() } else { stream }
    }

    /// glibc's random numbers: in memory, unless there are very many.
    fn random(&self, seed: u32) -> Source<u32> {
        let numbers = Rand::new(seed).take(usize::try_from(self.n).unwrap_or(usize::MAX));
        if self.n <= 1 << 28 { source::slice(numbers.collect::<Vec<u32>>()) } else { source::iter(numbers) }
    }
}

/// A program that is ready to run, once.
pub struct Program {
    stages: Vec<Stage>,
    sinks: Vec<(&'static str, Tally)>,
}

/// A stream of a program, made when the one before it has run.
type Stage = Box<dyn FnOnce() -> Result<Plan> + Send>;

/// What a program has done.
pub struct Outcome {
    /// The sinks with their names.
    pub sinks: Vec<(&'static str, Tally)>,
    /// What happened in each of its streams.
    pub reports: Vec<Report>,
    /// The streams as pictures for Graphviz, with the figures of the run.
    pub pictures: Vec<String>,
    /// The streams, with the input that they keep: it takes its time to free that, which is no part of a run.
    pub plans: Vec<Plan>,
}

impl Program {
    /// Makes a program.
    ///
    /// # Errors
    /// When the request cannot be used, such as a width of zero.
    pub fn new(app: App, request: &Request) -> Result<Self> {
        match app {
            App::EvenFilter => plain::even(request),
            App::SplitFilter => plain::split(request, request.random(0)),
            App::ModFilter => plain::modulo(request),
            App::AsyncFilter => plain::one_after_the_other(request),
            App::SynthGain => gains::synthetic(request),
            App::SameTypePipe => gains::same_type(request),
            App::InterruptSim => gains::interrupted(request),
            App::RegionSum => regions::sums(request),
            App::Taxi => regions::taxi(request),
            App::LoopFilter => turns::modulo(request),
            App::Mandelbrot => turns::mandelbrot(request),
            App::Blast => blast::search(request),
            App::Queens => queens::boards(request),
        }
    }

    /// SplitFilter over numbers that are there already, such as those that others are measured with.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn split(request: &Request, numbers: &Arc<[u32]>) -> Result<Self> {
        plain::split(request, source::slice(Arc::clone(numbers)))
    }

    /// A program of one stream.
    fn of(stream: Stream, sinks: Vec<(&'static str, Tally)>) -> Result<Self> {
        let plan = stream.plan()?;
        Ok(Self { stages: vec![Box::new(move || Ok(plan))], sinks })
    }

    /// Runs it, and waits for the end. `watch` sees each stream as it runs.
    ///
    /// # Errors
    /// When a stream fails.
    pub fn run(self, loom: &Loom, workers: usize, watch: impl FnMut(&Running)) -> Result<Outcome> {
        self.run_with(loom, &Settings::new().workers(workers), watch)
    }

    /// Runs it as settings say, and waits for the end.
    ///
    /// # Errors
    /// When a stream fails.
    pub fn run_with(self, loom: &Loom, settings: &Settings, mut watch: impl FnMut(&Running)) -> Result<Outcome> {
        let (mut reports, mut pictures, mut plans) = (Vec::new(), Vec::new(), Vec::new());
        for stage in self.stages {
            let plan = stage()?;
            let running = plan.start(loom, settings)?;
            watch(&running);
            let report = running.wait()?;
            pictures.push(plan.to_dot(Some(&report)));
            reports.push(report);
            plans.push(plan);
        }
        Ok(Outcome { sinks: self.sinks, reports, pictures, plans })
    }
}
