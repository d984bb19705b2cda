//! An instance with its states, which can be run.

use std::sync::Arc;

use drawloom_runtime::panic;
use rustc_hash::FxHashMap;

use super::part::{Part, Stop};
use super::report::Report;
use super::settings::{Executor, Settings};
use super::{parallel, rounds, scattered};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::instance::{Changing, Instance};
use crate::graph::{DeviceId, EdgeId};
use crate::handlers::{Checkpoint, DeviceView};
use crate::log::Log;
use crate::log::replay::{self, End};

/// An instance with the states of its devices and edges. See the [`crate`] for an example.
#[derive(Clone, Debug)]
pub struct Machine {
    instance: Arc<Instance>,
    states: Changing,
    /// What was recorded of the last run, if it failed.
    failed_log: Option<Log>,
}

/// Of the devices of one type that wait, so many are named.
const NAMED: usize = 2;

impl Machine {
    /// A machine in the initial states of an instance.
    pub fn new(instance: &Arc<Instance>) -> Self {
        Self { instance: Arc::clone(instance), states: instance.initial.clone(), failed_log: None }
    }

    /// The instance.
    pub fn instance(&self) -> &Arc<Instance> {
        &self.instance
    }

    /// The state of a device.
    pub fn state(&self, device: DeviceId) -> &[u8] {
        let row = self.instance.topology.devices[device.index()];
        self.states.devices[row.kind as usize].row(row.slot)
    }

    /// The state of a device, to be changed between runs.
    pub fn state_mut(&mut self, device: DeviceId) -> &mut [u8] {
        let row = self.instance.topology.devices[device.index()];
        self.states.devices[row.kind as usize].row_mut(row.slot)
    }

    /// The state of an edge.
    pub fn edge_state(&self, edge: EdgeId) -> &[u8] {
        let edge = self.instance.topology.edges[edge.index()];
        let kind = self.instance.topology.devices[edge.device as usize].kind;
        self.states.edges[self.instance.graph_type().input_number(kind, edge.pin)].row(edge.slot)
    }

    /// Runs from the states as they are: calls all init handlers, and goes on until a handler exits, or all is quiet and
    /// stays so when the devices have been told.
    ///
    /// # Errors
    /// When a handler panics or an assertion of it fails, with the names of device and pin; when the settings cannot be
    /// used, or a limit of theirs is passed. The states are then what the handlers left.
    pub fn run(&mut self, settings: &Settings) -> Result<Report> {
        self.failed_log = None;
        let report = match settings.executor {
            Executor::Parallel { workers } => {
                let (report, error) = parallel::run(&self.instance, &mut self.states, workers, settings)?;
                self.ended(report, error)
            }
            Executor::Delay { probability, .. } if !(0.0..1.0).contains(&probability) => Err(Error::new(
                ErrorKind::Setting,
                format!("messages cannot be put off with probability {probability}: it must be at least 0 and below 1"),
            )),
            executor => self.alone(settings, |part| match executor {
                Executor::Lifo => part.init().and_then(|()| rounds::lifo(part)),
                Executor::Random { seed } => part.init().and_then(|()| scattered::random(part, seed)),
                Executor::Delay { probability, seed } => {
                    part.init().and_then(|()| scattered::delay(part, probability, seed))
                }
                Executor::Fifo | Executor::Parallel { .. } => part.init().and_then(|()| rounds::fifo(part)),
            }),
        }?;
        self.finished(report)
    }

    /// What was recorded of the last run if it failed, and if its settings asked for a log: everything up to where it did.
    pub fn failed_log(&self) -> Option<&Log> {
        self.failed_log.as_ref()
    }

    /// The report of a run that ended as it should; of one that failed, the log is kept.
    fn ended(&mut self, report: Report, error: Option<Error>) -> Result<Report> {
        match error {
            None => Ok(report),
            Some(error) => {
                self.failed_log = report.log;
                Err(error)
            }
        }
    }

    /// The report of a run after which nobody waits for anything, unless a handler asked for its end.
    fn finished(&mut self, report: Report) -> Result<Report> {
        let error = if report.exit.is_none() { self.unfinished(&report) } else { None };
        self.ended(report, error)
    }

    /// Who still waits for something, as an error.
    fn unfinished(&self, report: &Report) -> Option<Error> {
        let graph_type = self.instance.graph_type();
        let mut waiting: Vec<(usize, Vec<String>)> = vec![(0, Vec::new()); graph_type.devices().len()];
        for (number, row) in self.instance.topology.devices.iter().enumerate() {
            let kind = row.kind as usize;
            let view = DeviceView {
                graph: self.instance.properties.row(0),
                properties: self.instance.fixed.devices[kind].row(row.slot),
                state: self.states.devices[kind].row(row.slot),
            };
            if let Some(text) = graph_type.devices()[kind].handlers().waits_for(&view) {
                let (count, texts) = &mut waiting[kind];
                *count += 1;
                if texts.len() < NAMED {
                    texts.push(format!("device {:?} waits: {text}", self.instance.name(DeviceId(number as u32))));
                }
            }
        }
        let mut words = Vec::new();
        // The device with the overview is of the type that is declared last, as a rule.
        for (kind, (count, texts)) in graph_type.devices().iter().zip(waiting).rev() {
            let more = count - texts.len();
            words.extend(texts);
            if more > 0 {
                words.push(format!("and {more} more of type {:?}", kind.id()));
            }
        }
        if words.is_empty() {
            return None;
        }
        let message = format!(
            "the run stopped half way: all is quiet after {} sends and {} deliveries, but {}",
            report.counts.sends,
            report.counts.deliveries,
            words.join("; ")
        );
        Some(Error::new(ErrorKind::Unfinished, message).of_type(graph_type.id()))
    }

    /// Runs from the states as they are, doing exactly what a log says, and verifies each step of it.
    ///
    /// # Errors
    /// As [`Machine::run`]; and when a step of the log cannot be done or has another result.
    pub fn replay(&mut self, log: &Log) -> Result<Report> {
        if !Arc::ptr_eq(&log.instance, &self.instance) {
            let same =
                log.instance.devices() == self.instance.devices() && log.instance.edges() == self.instance.edges();
            if !same || log.instance.graph_type().id() != self.instance.graph_type().id() {
                return Err(Error::new(ErrorKind::Mismatch, "the log is of another instance"));
            }
        }
        let mut mismatch = None;
        let report = self.alone(&Settings::new(Executor::Fifo), |part| match replay::follow(part, log) {
            Ok(()) => Ok(()),
            Err(End::Stop) => Err(Stop),
            Err(End::Mismatch(error)) => {
                mismatch = Some(error);
                Ok(())
            }
        });
        if let Some(error) = mismatch {
            return Err(error);
        }
        let report = Report { log: None, ..self.finished(report?)? };
        // Workers wrote down the checkpoints of their own devices; those of one device are in order.
        let in_order = |checkpoints: &[Checkpoint]| {
            let mut checkpoints = checkpoints.to_vec();
            checkpoints.sort_by_key(|checkpoint| checkpoint.device);
            checkpoints
        };
        let same_checkpoints = in_order(&report.checkpoints) == in_order(&log.checkpoints);
        if report.counts != log.counts || report.exit != log.exit || !same_checkpoints {
            return Err(Error::new(
                ErrorKind::Mismatch,
                "the log ends with other counts, checkpoints or another exit code",
            ));
        }
        Ok(report)
    }

    /// Runs the whole machine on this thread.
    fn alone(&mut self, settings: &Settings, execute: impl FnOnce(&mut Part) -> Result<(), Stop>) -> Result<Report> {
        let states = std::mem::take(&mut self.states);
        let instance = &self.instance;
        let mut part = Part::new(instance, Arc::clone(&instance.topology), &instance.fixed, states, settings);
        let error = guarded(&mut part, execute);
        self.states = part.take_states();
        let report = report(instance, vec![part]);
        self.ended(report, error)
    }
}

/// Does something with a part, and returns the error that it ended with.
pub(crate) fn guarded(part: &mut Part, execute: impl FnOnce(&mut Part) -> Result<(), Stop>) -> Option<Error> {
    // A part that a panic left is used for its names and states only, and states are plain bytes.
    match panic::catch(|| execute(part)) {
        Ok(_) => part.error(),
        Err(message) => Some(part.blame(ErrorKind::Panic, &message)),
    }
}

/// What parts did, together.
pub(crate) fn report(instance: &Arc<Instance>, parts: Vec<Part>) -> Report {
    let mut report = Report::default();
    let (mut entries, mut messages, mut states) = (None, FxHashMap::default(), false);
    for part in parts {
        report.counts.sends += part.counts.sends;
        report.counts.deliveries += part.counts.deliveries;
        report.counts.cancelled += part.counts.cancelled;
        // All parts are told at the same time.
        report.counts.idle_rounds = report.counts.idle_rounds.max(part.counts.idle_rounds);
        report.exit = report.exit.or(part.context.exit);
        report.checkpoints.extend(part.context.checkpoints);
        report.exports.extend(part.context.exports);
        if let Some(recorder) = part.recorder {
            states = recorder.has_states();
            entries.get_or_insert_with(Vec::new).extend(recorder.entries);
            messages.extend(recorder.messages);
        }
    }
    report.log = entries.map(|mut entries| {
        entries.sort_unstable_by_key(|entry| entry.number);
        Log {
            instance: Arc::clone(instance),
            entries,
            messages,
            checkpoints: report.checkpoints.clone(),
            counts: report.counts,
            exit: report.exit,
            states,
        }
    });
    report
}
