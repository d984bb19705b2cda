//! What all mesh programs have in common on the command line: options, the run itself, and what is said about it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ValueHint};
use drawloom_mesh::checkpoint::{Checkpoint, Checkpoints};
use drawloom_mesh::files::{self, vtu};
use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Backend, LoopStats, Program, Run};
use drawloom_runtime::Loom;
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::Value;

use super::mesh_backend::MeshBackend;
use super::report::{self, History, Report};
use crate::exit::Exit;
use crate::mesh::{self, without};
use crate::number::integer;
use crate::output::{self, Output};
use crate::written::{self, Use};

/// What comes of every iteration is kept, so there is an end to them.
const MOST_ITERATIONS: u64 = 100_000_000;

/// Of this many iterations, one residual is shown; and that of the last.
const SHOWN: u64 = 100;

/// The options of every mesh program, except for the number of iterations and the mesh, which have their own defaults.
#[derive(Debug, Args)]
pub(super) struct Common {
    #[command(flatten)]
    pub(super) backend: MeshBackend,
    /// Write the mesh and the result to this file, for ParaView and the like
    #[arg(long, value_name = "FILE.vtu", value_hint = ValueHint::FilePath)]
    pub(super) out: Option<PathBuf>,
    /// Write when which task ran on which worker to this file, for Perfetto; only with the backend threads
    #[arg(long, value_name = "FILE.json", value_hint = ValueHint::FilePath)]
    pub(super) trace: Option<PathBuf>,
    /// Save the state to this file again and again, to go on from with --restart
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    checkpoint: Option<PathBuf>,
    /// After how many iterations the state is saved again
    #[arg(long, default_value = "100", value_parser = integer, requires = "checkpoint", value_name = "N")]
    checkpoint_every: u64,
    /// Go on from a state that was saved, with the same mesh, on any backend
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    restart: Option<PathBuf>,
    /// Print one line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// What was computed.
#[derive(Serialize)]
pub(super) struct Line {
    app: &'static str,
    backend: &'static str,
    workers: usize,
    pub(super) cells: usize,
    pub(super) iterations: u64,
    residuals: Vec<(u64, f64)>,
    seconds: f64,
    /// None if there were no iterations.
    ms_per_iteration: Option<f64>,
    /// What else came of it, for programs whose residual does not say everything.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) results: BTreeMap<&'static str, Value>,
    /// How many iterations had been done before, when the program went on from a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    restarted_after: Option<u64>,
    /// How many checkpoints were saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    messages: Option<Messages>,
    /// Why the trace is not written, if it should be.
    #[serde(skip)]
    trace: Option<Failure>,
}

/// What a run as messages amounts to.
#[derive(Serialize)]
struct Messages {
    devices: usize,
    sends: u64,
    deliveries: u64,
}

/// Why there is no result, and whose fault that is.
#[derive(Debug)]
pub(super) enum Failure {
    Unusable(String),
    Wrong(String),
}

/// A setting or a mesh cannot be used.
pub(super) fn unusable(error: impl fmt::Display) -> Failure {
    Failure::Unusable(error.to_string())
}

/// The computation failed.
pub(super) fn wrong(error: impl fmt::Display) -> Failure {
    Failure::Wrong(error.to_string())
}

impl Failure {
    /// Says why.
    fn complain(&self, name: &str) {
        let (Failure::Unusable(why) | Failure::Wrong(why)) = self;
        output::complain(format_args!("{name}: {why}"));
    }
}

/// How a program ended, and what is said about it if it failed.
pub(super) fn ended(name: &str, came: Result<(), Failure>) -> Exit {
    let Err(failure) = came else { return Exit::Valid };
    failure.complain(name);
    match failure {
        Failure::Unusable(_) => Exit::Unusable,
        Failure::Wrong(_) => Exit::Invalid,
    }
}

/// Reads a number of iterations.
pub(super) fn iterations(text: &str) -> Result<u64, String> {
    match integer(text)? {
        count @ 0..=MOST_ITERATIONS => Ok(count),
        count => Err(format!("there can be at most {MOST_ITERATIONS} iterations, not {count}")),
    }
}

/// The mesh of a name that the program knows, or in a file.
pub(super) fn mesh(path: &Path, by_name: impl Fn(&str) -> Option<Result<RawMesh, String>>) -> Result<RawMesh, Failure> {
    match path.to_str().and_then(by_name) {
        Some(mesh) => mesh.map_err(Failure::Unusable),
        None => mesh::read(path).map_err(unusable),
    }
}

/// A program that is ready to run.
pub(super) struct Ready<'a, R> {
    pub(super) name: &'static str,
    pub(super) program: &'a Program,
    /// What `cells` says.
    pub(super) cells: usize,
    pub(super) iterations: u64,
    /// What it reports after each iteration.
    pub(super) history: &'a History<R>,
    /// What of that is the residual.
    pub(super) residual: &'a dyn Fn(&R) -> f64,
    pub(super) bar: &'a ProgressBar,
}

impl<R: Report> Ready<'_, R> {
    /// Runs the program. The time is that of the iterations alone.
    pub(super) fn run(&self, common: &Common) -> Result<(Run, Line), Failure> {
        let loom = common.loom()?;
        let backend = common.backend.backend(loom.as_ref());
        let (mut run, done) = match &common.restart {
            None => (self.program.start(backend).map_err(unusable)?, None),
            Some(path) => {
                let (run, done) = self.resume(backend, path)?;
                (run, Some(done))
            }
        };
        if let Some(path) = &common.checkpoint {
            let history = Arc::clone(self.history);
            let checkpoints = Checkpoints::to(path).every(common.checkpoint_every);
            run.checkpoint(checkpoints.with_notes(move || report::to_bytes(&history))).map_err(unusable)?;
        }
        if let Some(loom) = &loom {
            loom.trace_start();
        }
        let start = Instant::now();
        let came = run.run();
        let seconds = start.elapsed().saturating_sub(run.saved().time).as_secs_f64();
        self.bar.finish_and_clear();
        // Of a run that failed too: that is when one wants to see it.
        let trace = match (&loom, &common.trace) {
            (Some(loom), Some(path)) => write_trace(loom, path).err(),
            _ => None,
        };
        if let Err(error) = came {
            if let Some(failure) = trace {
                failure.complain(self.name);
            }
            return Err(wrong(error));
        }
        let all = report::all(self.history);
        let last = all.len() as u64;
        let shown = |iteration: &u64| iteration.is_multiple_of(SHOWN) || *iteration == last;
        let residual = |iteration: u64| (iteration, (self.residual)(&all[iteration as usize - 1]));
        let here = self.iterations - done.unwrap_or(0).min(self.iterations);
        let line = Line {
            app: self.name,
            backend: common.backend.name(),
            workers: common.backend.count(),
            cells: self.cells,
            iterations: self.iterations,
            residuals: (1..=last).filter(shown).map(residual).collect(),
            seconds,
            ms_per_iteration: (here > 0).then(|| seconds * 1e3 / here as f64),
            results: BTreeMap::new(),
            restarted_after: done,
            checkpoints: common.checkpoint.as_ref().map(|_| run.saved().count),
            messages: run.messages().map(|counts| Messages {
                devices: counts.devices,
                sends: counts.sends,
                deliveries: counts.deliveries,
            }),
            trace,
        };
        Ok((run, line))
    }

    /// The program with the state in a file, and how many iterations had been done.
    fn resume(&self, backend: Backend, path: &Path) -> Result<(Run, u64), Failure> {
        let named = |error: &dyn fmt::Display| Failure::Unusable(format!("{}: {error}", path.display()));
        let checkpoint = Checkpoint::load(path).map_err(unusable)?;
        let run = self.program.resume(backend, &checkpoint).map_err(|error| named(&error))?;
        let done = checkpoint.runs().unwrap_or(0);
        report::recall(self.history, checkpoint.notes(), done)
            .ok_or_else(|| named(&"what the program had reported is not in the checkpoint"))?;
        Ok((run, done))
    }
}

/// Writes when which task ran.
fn write_trace(loom: &Loom, path: &Path) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    drawloom_trace::chrome::write(&loom.trace_stop(), &mut bytes).map_err(wrong)?;
    files::write_bytes(path, &bytes).map_err(unusable)
}

impl Common {
    /// Refuses, before anything is read, files that cannot be written or should not be: the mesh, and those that two results
    /// would go to. A state may take the place of the one that the program goes on from.
    pub(super) fn check(&self, mesh: &Path, picture: Option<&Path>) -> Result<(), Failure> {
        if let Some(path) = &self.out {
            written::ending("the result", path, &["vtu"]).map_err(Failure::Unusable)?;
        }
        let results =
            [("the result", self.out.as_deref()), ("the trace", self.trace.as_deref()), ("the picture", picture)];
        let state = ("the state", self.checkpoint.as_deref());
        let uses = |list: &[(&str, Option<&Path>)]| -> Vec<Use> {
            list.iter().filter_map(|(what, path)| path.map(|path| Use::new(what, path))).collect()
        };
        let (mut all, results) = (uses(&[state]), uses(&results));
        let restart = uses(&[("the state to go on from", self.restart.as_deref())]);
        written::check_beside_output(&restart, &results).map_err(Failure::Unusable)?;
        all.extend(results);
        written::check_beside_output(&[Use::new("the mesh", mesh)], &all).map_err(Failure::Unusable)
    }

    /// Prints the line of JSON, if that is wanted, whatever became of the files that were to be written; and says which of
    /// them were not.
    pub(super) fn conclude(
        &self,
        mut line: Line,
        written: impl IntoIterator<Item = Result<(), Failure>>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if self.json {
            output.json(&line);
        }
        let mut failures = line.trace.take().into_iter().chain(written.into_iter().filter_map(Result::err));
        let Some(first) = failures.next() else { return Ok(()) };
        failures.for_each(|failure| failure.complain(line.app));
        Err(first)
    }

    /// The runtime that is recorded, if one is.
    fn loom(&self) -> Result<Option<Loom>, Failure> {
        if self.trace.is_none() {
            return Ok(None);
        }
        let name = self.backend.name();
        if name != "threads" {
            return Err(Failure::Unusable(format!(
                "--trace shows the tasks of workers, and the backend {name} has none; use --backend threads"
            )));
        }
        Loom::builder().workers(self.backend.count()).build().map(Some).map_err(unusable)
    }

    /// Writes the result to the file that was asked for, if one was.
    pub(super) fn write(
        &self,
        result: impl FnOnce() -> Result<RawMesh, Failure>,
        output: &mut Output,
    ) -> Result<(), Failure> {
        if let Some(path) = &self.out {
            let mesh = result()?;
            let bytes = vtu::write(&mesh, vtu::Encoding::Raw).map_err(wrong)?;
            files::write_bytes(path, &bytes).map_err(unusable)?;
            self.say(output, format_args!("the result is in {}", path.display()));
            if let Some(without) = without(&mesh).map_err(wrong)? {
                self.say(output, format_args!("  {without}"));
            }
        }
        Ok(())
    }

    /// Says where the trace is, if there is one.
    pub(super) fn say_trace(&self, line: &Line, output: &mut Output) {
        if let (Some(path), None) = (&self.trace, &line.trace) {
            self.say(output, format_args!("the trace is in {}", path.display()));
        }
    }

    /// What is said beside the result: with JSON, not on the same stream.
    pub(super) fn say(&self, output: &mut Output, what: fmt::Arguments<'_>) {
        if self.json { output::complain(what) } else { output.line(what) }
    }
}

impl Line {
    /// How the run began, for people.
    pub(super) fn title(&self, cells: &str, output: &mut Output) {
        let Line { app, backend, workers, iterations, .. } = self;
        let plural = if *workers == 1 { "" } else { "s" };
        output.line(format_args!(
            "{app}: {} {cells}, {iterations} iterations, {backend}, {workers} worker{plural}",
            self.cells
        ));
        if let Some(done) = self.restarted_after {
            output.line(format_args!("  goes on after iteration {done}"));
        }
    }

    /// The residuals, for people.
    pub(super) fn table(&self, output: &mut Output) {
        output.line("  iteration   residual");
        for (iteration, residual) in &self.residuals {
            output.line(format_args!("  {iteration:9}   {residual:.6e}"));
        }
    }

    /// Where the time went, for people.
    pub(super) fn times(&self, stats: &[LoopStats], output: &mut Output) {
        let Line { seconds, ms_per_iteration, .. } = self;
        if let Some(Messages { devices, sends, deliveries }) = &self.messages {
            let rate = *deliveries as f64 / seconds.max(f64::MIN_POSITIVE) / 1e6;
            output.line(format_args!(
                "  {devices} devices, {sends} sends, {deliveries} deliveries, {rate:.1} million a second"
            ));
        }
        if !stats.is_empty() {
            output.line("  loop         how      tasks   time    GB/s");
        }
        let total: f64 = stats.iter().map(|stats| stats.seconds).sum();
        for stats in stats {
            let share = 100.0 * stats.seconds / total.max(f64::MIN_POSITIVE);
            output.line(format_args!(
                "  {:12} {:7} {:6} {share:5.1} % {:6.1}",
                stats.name,
                stats.strategy.to_string(),
                stats.tasks,
                stats.gigabytes_per_second()
            ));
        }
        if let Some(count) = self.checkpoints {
            output.line(format_args!("  {count} checkpoint{}", if count == 1 { "" } else { "s" }));
        }
        match ms_per_iteration {
            Some(each) => output.line(format_args!("  {seconds:.3} s, {each:.3} ms an iteration")),
            None => output.line(format_args!("  {seconds:.3} s")),
        }
    }
}
