//! What is asked of each peer, and what it answered.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::programs::{OPENBLAS_POTRF, OPENMP_METG, OPENMP_TASKS, Program, STARPU_CHOLESKY, STARPU_METG, STARPU_TASKS};
use super::workshop::Workshop;

/// How long one run of a peer may take.
const RUN_LIMIT: Duration = Duration::from_secs(120);

/// The best of so many repetitions counts.
const REPETITIONS: u64 = 5;

/// The best of so many factorisations counts, after one that does not.
const FACTORISATIONS: u64 = 3;

/// StarPU keeps about 1.5 kB for each task in flight, and its cost of a task does not change with more of them.
const MOST_TASKS: u64 = 100_000;

/// A round trip takes StarPU tens of microseconds.
const MOST_ROUND_TRIPS: u64 = 5_000;

const PATTERNS: [&str; 6] = ["independent", "chain", "chains64", "readers", "stencil", "roundtrip"];

/// What the peers answered: lines for the report, and notes about what is missing from it.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    /// Measurements, each with a `peer`.
    pub(crate) lines: Vec<Value>,
    /// What could not be measured, and why.
    pub(crate) notes: Vec<String>,
}

/// Task Bench graphs, and the sizes of the tasks in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metg<'a> {
    /// How many workers execute.
    pub(crate) workers: usize,
    /// Dependence patterns by their names in Task Bench.
    pub(crate) patterns: &'a [&'a str],
    /// Tasks in a row.
    pub(crate) widths: &'a [u64],
    /// Rows.
    pub(crate) steps: u64,
    /// Iterations of the compute-bound kernel, one measurement for each.
    pub(crate) iterations: &'a [u64],
}

/// What a task costs: the patterns that are wanted, and StarPU's start, idleness and memory.
pub(crate) fn tasks(workers: usize, tasks: u64, wanted: impl Fn(&str) -> bool) -> Peers {
    let tasks = tasks.clamp(1, MOST_TASKS);
    let mut session = Session::open();
    for (program, more) in [(STARPU_TASKS, &["startup", "idle", "memory"][..]), (OPENMP_TASKS, &[])] {
        let Some(built) = session.build(program) else { continue };
        for &what in PATTERNS.iter().chain(more).filter(|what| wanted(what)) {
            let tasks = if what == "roundtrip" { tasks.min(MOST_ROUND_TRIPS) } else { tasks };
            session.run(program, &built, what, &[what.into(), text(workers), text(tasks), text(REPETITIONS)]);
        }
    }
    session.peers
}

/// Task Bench: the wall time of each graph for each number of iterations, from which METG is computed.
pub(crate) fn metg(asked: &Metg<'_>) -> Peers {
    let mut session = Session::open();
    if asked.iterations.is_empty() {
        return session.peers;
    }
    for program in [STARPU_METG, OPENMP_METG] {
        let Some(built) = session.build(program) else { continue };
        for &pattern in asked.patterns {
            for &width in asked.widths {
                let mut arguments =
                    vec![pattern.into(), text(asked.workers), text(width), text(asked.steps), text(REPETITIONS)];
                arguments.extend(asked.iterations.iter().map(text));
                session.run(program, &built, pattern, &arguments);
            }
        }
    }
    session.peers
}

/// Cholesky: OpenBLAS's own on so many threads, and tiled over StarPU for each size of tile.
pub(crate) fn cholesky(n: u64, tiles: &[u64], workers: usize) -> Peers {
    let mut session = Session::open();
    if let Some(built) = session.build(OPENBLAS_POTRF) {
        session.run(OPENBLAS_POTRF, &built, "dpotrf", &[text(n), text(workers), text(FACTORISATIONS)]);
    }
    if !tiles.is_empty()
        && let Some(built) = session.build(STARPU_CHOLESKY)
    {
        for tile in tiles {
            let arguments = [text(n), text(tile), text(workers), text(FACTORISATIONS)];
            session.run(STARPU_CHOLESKY, &built, &format!("cholesky, tile {tile}"), &arguments);
        }
    }
    session.peers
}

/// Answers, and the workshop they come from while there is one.
struct Session {
    workshop: Option<Workshop>,
    peers: Peers,
}

impl Session {
    fn open() -> Self {
        let mut peers = Peers::default();
        let workshop =
            Workshop::open().map_err(|error| peers.notes.push(format!("peers: no folder to build in: {error}")));
        Self { workshop: workshop.ok(), peers }
    }

    fn build(&mut self, program: Program) -> Option<PathBuf> {
        let built = self.workshop.as_ref()?.build(program, &[]);
        built.map_err(|note| self.peers.notes.push(note)).ok()
    }

    fn run(&mut self, program: Program, built: &Path, what: &str, arguments: &[String]) {
        let Some(workshop) = &self.workshop else { return };
        match workshop.run(built, arguments, RUN_LIMIT) {
            Ok(lines) => self.peers.lines.extend(lines),
            Err(why) => self.peers.notes.push(format!("{}: {what}: {why}; skipped", program.peer)),
        }
    }
}

fn text(value: impl ToString) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    use super::super::programs::{OPENBLAS_POTRF, OPENMP_TASKS, Program, STARPU_CHOLESKY, STARPU_TASKS};
    use super::{Metg, PATTERNS, Session, metg, text};

    /// A program that is expected to work when it can be built. Where it cannot, its runs give no lines.
    struct Bench {
        session: Session,
        program: Program,
        built: Option<PathBuf>,
    }

    impl Bench {
        fn new(program: Program) -> Self {
            let mut session = Session::open();
            let built = session.build(program);
            for note in session.peers.notes.drain(..) {
                assert!(!note.contains("does not compile"), "{note}");
                println!("{note}");
            }
            Self { session, program, built }
        }

        fn lines(&mut self, arguments: &[&str]) -> Vec<Value> {
            let Some(built) = &self.built else { return Vec::new() };
            let arguments: Vec<String> = arguments.iter().map(text).collect();
            self.session.run(self.program, built, "test", &arguments);
            assert!(self.session.peers.notes.is_empty(), "{:?}", self.session.peers.notes);
            assert!(!self.session.peers.lines.is_empty(), "{:?} printed nothing", self.program);
            std::mem::take(&mut self.session.peers.lines)
        }
    }

    #[test]
    fn every_pattern_runs_in_its_order_and_says_what_a_task_costs() {
        for program in [STARPU_TASKS, OPENMP_TASKS] {
            let mut bench = Bench::new(program);
            for pattern in PATTERNS {
                // The programs fail when a task ran too early or not at all.
                for line in bench.lines(&[pattern, "1", "200", "2"]) {
                    assert_eq!((&line["peer"], &line["bench"]), (&program.peer.into(), &pattern.into()));
                    assert_eq!((&line["mode"], &line["workers"]), (&"dynamic".into(), &1.into()));
                    assert_eq!(line["tasks"], if pattern == "stencil" { 192 } else { 200 });
                    let (each, submit) = (line["ns_per_task"].as_f64(), line["submit_ns_per_task"].as_f64());
                    assert!(each >= submit && submit > Some(0.0), "{line}");
                }
            }
        }
    }

    #[test]
    fn every_task_bench_pattern_gives_a_line_for_each_width_and_number_of_iterations() {
        let patterns = ["trivial", "stencil_1d", "fft", "tree", "nearest", "spread", "random_nearest"];
        let asked = Metg { workers: 1, patterns: &patterns, widths: &[1, 5], steps: 10, iterations: &[0, 7] };
        let peers = metg(&asked);
        // A peer that could not be built is one note; a run that failed would be one too, and lines would be missing.
        assert_eq!(peers.lines.len(), (2 - peers.notes.len()) * patterns.len() * 4, "{:?}", peers.notes);
        let expected = patterns.iter().flat_map(|pattern| [(pattern, 1), (pattern, 5)]);
        let expected = expected.flat_map(|(pattern, width)| [(pattern, width, 0), (pattern, width, 7)]).cycle();
        for (line, (&pattern, width, iterations)) in peers.lines.iter().zip(expected) {
            assert_eq!((&line["pattern"], &line["iterations"]), (&pattern.into(), &iterations.into()));
            assert_eq!((&line["width"], &line["steps"]), (&width.into(), &10.into()));
            // The rows of a tree have 1, 2, 4, 5, 5, ... tasks.
            assert_eq!(line["tasks"], if pattern == "tree" && width == 5 { 42 } else { width * 10 }, "{pattern}");
            assert!(line["seconds"].as_f64() > Some(0.0), "{line}");
        }
    }

    #[test]
    fn cholesky_is_correct_with_and_without_a_smaller_last_tile() {
        let mut starpu = Bench::new(STARPU_CHOLESKY);
        for (tile, tasks) in [("16", 56), ("17", 56), ("96", 1)] {
            for line in starpu.lines(&["96", tile, "1", "1"]) {
                assert_eq!(line["tasks"], tasks, "{line}");
                assert!(line["max_error"].as_f64() < Some(1e-13), "{line}");
            }
        }
        for line in Bench::new(OPENBLAS_POTRF).lines(&["96", "1", "1"]) {
            assert!(line["max_error"].as_f64() < Some(1e-13) && line["gflops"].as_f64() > Some(0.0), "{line}");
        }
    }

    #[test]
    fn a_peer_that_refuses_its_arguments_is_a_note_and_not_a_line() {
        let mut session = Session::open();
        if let Some(built) = session.build(OPENMP_TASKS) {
            session.run(OPENMP_TASKS, &built, "chain", &["chain".into(), "0".into(), "1".into(), "1".into()]);
            assert_eq!(session.peers.notes, ["openmp: chain: WORKERS takes 1 to 1024, and is \"0\"; skipped"]);
            assert!(session.peers.lines.is_empty());
        }
    }
}
