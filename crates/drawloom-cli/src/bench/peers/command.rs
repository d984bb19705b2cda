//! `drawloom bench peers`: the peers alone.

use std::num::NonZero;
use std::thread;

use clap::Args;

use super::{Metg, Peers, cholesky, metg, tasks};
use crate::bench::rayon;
use crate::exit::Exit;
use crate::number::integer;
use crate::output::{self, Output};

/// Measure other runtimes only: StarPU, OpenMP, OpenBLAS and rayon, where they are installed
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many workers execute; by default as many as there are cores
    #[arg(long, value_parser = integer, value_name = "K")]
    workers: Option<u64>,
    /// How many tasks a pattern has; peers that keep much for each are given fewer
    #[arg(long, default_value = "1e5", value_parser = integer, value_name = "N")]
    tasks: u64,
    /// Measure only one thing
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<What>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// What a task costs
    Tasks,
    /// Task Bench
    Metg,
    /// Cholesky factorisation
    Cholesky,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let workers = match arguments.workers.map(usize::try_from) {
        None => thread::available_parallelism().map_or(1, NonZero::get),
        Some(Ok(workers @ 1..=1024)) => workers,
        Some(_) => {
            output::complain("--workers takes 1 to 1024");
            return Exit::Unusable;
        }
    };
    let wanted = |what| arguments.only.is_none_or(|only| only == what);
    if wanted(What::Tasks) {
        report(&rayon::tasks(workers, arguments.tasks), output);
        report(&tasks(workers, arguments.tasks), output);
    }
    if wanted(What::Metg) {
        let patterns = ["trivial", "stencil_1d", "fft", "tree", "nearest", "spread", "random_nearest"];
        let iterations: Vec<u64> = (0..=14).map(|power| 1 << power).collect();
        let asked = Metg { workers, patterns: &patterns, widths: &[2, 16], steps: 1000, iterations: &iterations };
        report(&metg(&asked), output);
    }
    if wanted(What::Cholesky) {
        report(&cholesky(2048, &[32, 64, 128], workers), output);
        report(&cholesky(4096, &[256, 320], workers), output);
    }
    Exit::Valid
}

fn report(peers: &Peers, output: &mut Output) {
    for note in &peers.notes {
        output::complain(note);
    }
    for line in &peers.lines {
        output.json(line);
    }
    output.flush();
}
