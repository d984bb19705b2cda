//! A trace as JSON that Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` open.
//!
//! The format is that of "Trace Event Format" (Google, 2016). Executions, idle stretches and phases are three groups of
//! tracks, one track for each worker in each group, so that slices of one track never cross. Threads that are no workers
//! have one worker's number together; what they ran at the same time is put on several tracks. The slice of a task carries
//! where it was submitted and how long it had been ready; its colour follows from its name.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufWriter, Write};

use crate::event::{EventKind, NO_WORKER, Phase};
use crate::json::{micros, quoted};
use crate::record::Trace;
use crate::timeline::{Execution, Outcome, Timeline};

/// The groups of tracks, as processes are for the viewer.
const WORKERS: u32 = 1;
const IDLE: u32 = 2;
const PHASES: u32 = 3;

/// How many tracks the application gets at most. Where it ran more at once, slices cross.
const MOST_LANES: usize = 64;

/// Writes a trace as one JSON object, an event on each line. The events of the trace must be sorted by time.
pub fn write(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let timeline = Timeline::new(trace);
    let tracks = Tracks::new(trace, &timeline);
    let mut lines = Lines { out: &mut out, any: false };
    write!(lines.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"recorder\":\"drawloom\"")?;
    for (key, text) in [("processor", &trace.machine.processor), ("system", &trace.machine.system)] {
        if !text.is_empty() {
            write!(lines.out, ",\"{key}\":{}", quoted(text))?;
        }
    }
    write!(lines.out, ",\"lost events\":{}}},\"traceEvents\":[", trace.dropped)?;
    tracks.write(trace, &mut lines)?;
    for (execution, lane) in timeline.executions.iter().zip(&tracks.lanes) {
        let track = tracks.number(WORKERS, execution.worker) + 3 * u64::from(*lane);
        task_slice(trace, &timeline, execution, track, &mut lines)?;
    }
    for idle in &timeline.idles {
        let reason = idle.reason.map_or("unknown reason", |reason| reason.words());
        lines.slice(IDLE, tracks.number(IDLE, idle.worker), reason, "idle", idle.start, idle.end, "")?;
    }
    phases(trace, &tracks, timeline.end, &mut lines)?;
    moments(trace, &tracks, &mut lines)?;
    out.write_all(b"\n]}\n")?;
    out.flush()
}

/// Lines of the array of events, with commas between.
struct Lines<'a, W: Write> {
    out: &'a mut W,
    any: bool,
}

impl<W: Write> Lines<'_, W> {
    fn push(&mut self, line: &str) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        self.out.write_all(line.as_bytes())
    }

    /// A complete event. `arguments` is the inside of a JSON object.
    #[expect(clippy::too_many_arguments, reason = "these are the fields of the format")]
    fn slice(
        &mut self,
        group: u32,
        track: u64,
        name: &str,
        category: &str,
        start: u64,
        end: u64,
        arguments: &str,
    ) -> io::Result<()> {
        self.push(&format!(
            "{{\"ph\":\"X\",\"pid\":{group},\"tid\":{track},\"ts\":{},\"dur\":{},\"name\":{},\"cat\":\"{category}\",\
             \"args\":{{{arguments}}}}}",
            micros(start),
            micros(end.saturating_sub(start)),
            quoted(name),
        ))
    }
}

/// The tracks of a trace.
struct Tracks {
    /// The place of each worker among them: first those that are described, then the application, then others.
    places: BTreeMap<u32, u64>,
    groups: BTreeSet<u32>,
    /// For each execution, how many tracks of its worker come before its own.
    lanes: Vec<u32>,
    /// How many tracks the application has.
    width: u64,
}

impl Tracks {
    fn new(trace: &Trace, timeline: &Timeline) -> Self {
        let mut workers: BTreeSet<u32> = (0..trace.workers.len() as u32).collect();
        let mut groups = BTreeSet::from([WORKERS]);
        for event in &trace.events {
            workers.insert(event.worker);
            match event.kind {
                EventKind::Idle => groups.insert(IDLE),
                EventKind::Phase => groups.insert(PHASES),
                _ => false,
            };
        }
        let lanes = lanes(&timeline.executions);
        let width = lanes.iter().max().map_or(1, |&most| u64::from(most) + 1);
        let described = trace.workers.len() as u64;
        let others = workers.iter().copied().filter(|&worker| u64::from(worker) >= described && worker != NO_WORKER);
        let mut places: BTreeMap<u32, u64> = others.zip(described + width..).collect();
        places.extend((0..trace.workers.len() as u32).map(|worker| (worker, u64::from(worker))));
        if workers.contains(&NO_WORKER) {
            places.insert(NO_WORKER, described);
        }
        Self { places, groups, lanes, width }
    }

    /// The number of a worker's first track in a group. Numbers differ between groups, because some viewers look at them
    /// without the group, and are small, because some take no more than 32 bits.
    fn number(&self, group: u32, worker: u32) -> u64 {
        // Three groups, interleaved, so that a number does not depend on how many workers there are.
        3 * self.places.get(&worker).copied().unwrap_or(0) + u64::from(group)
    }

    fn write(&self, trace: &Trace, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
        for &group in &self.groups {
            let title = match group {
                WORKERS => "workers",
                IDLE => "why idle",
                _ => "phases",
            };
            lines.push(&format!(
                "{{\"ph\":\"M\",\"pid\":{group},\"name\":\"process_name\",\"args\":{{\"name\":\"{title}\"}}}}"
            ))?;
            lines.push(&format!(
                "{{\"ph\":\"M\",\"pid\":{group},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{group}}}}}"
            ))?;
            for &worker in self.places.keys() {
                let width = if worker == NO_WORKER && group == WORKERS { self.width } else { 1 };
                let name = quoted(&trace.worker_name(worker));
                for lane in 0..width {
                    let track = self.number(group, worker) + 3 * lane;
                    lines.push(&format!(
                        "{{\"ph\":\"M\",\"pid\":{group},\"tid\":{track},\"name\":\"thread_name\",\
                         \"args\":{{\"name\":{name}}}}}"
                    ))?;
                    lines.push(&format!(
                        "{{\"ph\":\"M\",\"pid\":{group},\"tid\":{track},\"name\":\"thread_sort_index\",\
                         \"args\":{{\"sort_index\":{track}}}}}"
                    ))?;
                }
            }
        }
        Ok(())
    }
}

/// Spreads what the application ran over tracks, so that the slices of each lie inside of each other or apart.
fn lanes(executions: &[Execution]) -> Vec<u32> {
    // The ends of the slices that are open on each track, outermost first.
    let mut open: Vec<Vec<u64>> = Vec::new();
    let mut lane_of = |execution: &Execution| {
        if execution.worker != NO_WORKER {
            return 0;
        }
        let fits = |ends: &mut Vec<u64>| {
            while ends.pop_if(|end| *end <= execution.start).is_some() {}
            ends.last().is_none_or(|end| *end >= execution.end)
        };
        let lane = open.iter_mut().position(fits).unwrap_or_else(|| {
            if open.len() < MOST_LANES {
                open.push(Vec::new());
            }
            open.len() - 1
        });
        open[lane].push(execution.end);
        lane as u32
    };
    executions.iter().map(&mut lane_of).collect()
}

fn task_slice(
    trace: &Trace,
    timeline: &Timeline,
    execution: &Execution,
    track: u64,
    lines: &mut Lines<'_, impl Write>,
) -> io::Result<()> {
    let mut arguments = format!("\"task\":{}", execution.task);
    let position = trace.position(execution.task);
    if let Some((record, times)) = position.map(|position| (&trace.tasks[position], &timeline.tasks[position])) {
        if let Some(site) = record.site() {
            arguments += &format!(",\"submitted at\":{}", quoted(&site));
        }
        if !record.context.is_empty() {
            arguments += &format!(",\"context\":{}", quoted(&record.context));
        }
        if record.priority != 0 {
            arguments += &format!(",\"priority\":{}", record.priority);
        }
        if let Some(parent) = record.parent {
            arguments += &format!(",\"parent\":{parent}");
            if let Some(parent) = trace.task(parent) {
                arguments += &format!(",\"inside of\":{}", quoted(&parent.name));
            }
        }
        if let Some(submit) = times.submit {
            arguments += &format!(",\"submitted (us)\":{}", micros(submit));
        }
        if let Some(ready) = times.ready {
            let delay = execution.start.saturating_sub(ready);
            arguments += &format!(",\"ready (us)\":{},\"ready to start (us)\":{}", micros(ready), micros(delay));
        }
    }
    if execution.outcome != Outcome::Ended {
        arguments += &format!(",\"outcome\":\"{}\"", execution.outcome.word());
    }
    let record = position.map(|position| &trace.tasks[position]);
    let name = record.map_or("(not described)", |record| &record.name);
    let category = if record.is_some_and(|record| record.internal) { "internal" } else { "task" };
    lines.slice(WORKERS, track, name, category, execution.start, execution.end, &arguments)
}

/// A phase lasts until the worker enters the next one, or has nothing to do.
fn phases(trace: &Trace, tracks: &Tracks, end: u64, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
    let mut entered: BTreeMap<u32, (u64, u32)> = BTreeMap::new();
    let mut leave = |worker: u32, (start, phase): (u64, u32), end: u64| {
        let name = Phase::from_value(phase).map_or("unknown phase", Phase::words);
        lines.slice(PHASES, tracks.number(PHASES, worker), name, "phase", start, end, "")
    };
    for event in &trace.events {
        let last = match event.kind {
            EventKind::Phase => entered.insert(event.worker, (event.time, event.value)),
            EventKind::Idle => entered.remove(&event.worker),
            _ => None,
        };
        if let Some(last) = last {
            leave(event.worker, last, event.time)?;
        }
    }
    entered.into_iter().try_for_each(|(worker, last)| leave(worker, last, end))
}

/// Counters, transfers, and whatever is an instant.
fn moments(trace: &Trace, tracks: &Tracks, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
    for event in &trace.events {
        let (track, time) = (tracks.number(WORKERS, event.worker), micros(event.time));
        let common = format!("\"pid\":{WORKERS},\"tid\":{track},\"ts\":{time}");
        let task = event.task().map_or_else(String::new, |task| format!("\"task\":{task}"));
        match event.kind {
            EventKind::QueueLength => {
                let queue = match event.worker() {
                    Some(worker) => format!("queue of {}", trace.worker_name(worker)),
                    None => "shared queue".to_owned(),
                };
                lines.push(&format!(
                    "{{\"ph\":\"C\",{common},\"name\":{},\"args\":{{\"tasks\":{}}}}}",
                    quoted(&queue),
                    event.value
                ))?;
            }
            EventKind::TransferStart | EventKind::TransferEnd => {
                let letter = if event.kind == EventKind::TransferStart { 'b' } else { 'e' };
                lines.push(&format!(
                    "{{\"ph\":\"{letter}\",{common},\"name\":\"transfer\",\"cat\":\"transfer\",\"id\":{},\"args\":{{{task}}}}}",
                    event.value
                ))?;
            }
            EventKind::Failed
            | EventKind::Cancelled
            | EventKind::TeamFormed
            | EventKind::ContextChanged
            | EventKind::Dropped => {
                let separator = if task.is_empty() { "" } else { "," };
                lines.push(&format!(
                    "{{\"ph\":\"i\",\"s\":\"t\",{common},\"name\":\"{}\",\"cat\":\"event\",\
                     \"args\":{{{task}{separator}\"value\":{}}}}}",
                    event.kind.name().replace('_', " "),
                    event.value
                ))?;
            }
            _ => {}
        }
    }
    Ok(())
}
