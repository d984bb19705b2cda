//! A trace as JSON that Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` open.
//!
//! The format is that of "Trace Event Format" (Google, 2016). Executions, idle stretches and phases are three groups of
//! tracks, one track for each worker in each group, so that slices of one track never cross. The slice of a task carries
//! where it was submitted and how long it had been ready; its colour follows from its name.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use crate::event::{EventKind, NO_WORKER, Phase};
use crate::json::{micros, quoted};
use crate::record::Trace;
use crate::timeline::{Execution, Outcome, Timeline};

/// The groups of tracks, as processes are for the viewer.
const WORKERS: u32 = 1;
const IDLE: u32 = 2;
const PHASES: u32 = 3;

/// Writes a trace as one JSON object, an event on each line. The events of the trace must be sorted by time.
pub fn write(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let timeline = Timeline::new(trace);
    let mut lines = Lines { out: &mut out, any: false };
    write!(lines.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"recorder\":\"drawloom\"")?;
    for (key, text) in [("processor", &trace.machine.processor), ("system", &trace.machine.system)] {
        if !text.is_empty() {
            write!(lines.out, ",\"{key}\":{}", quoted(text))?;
        }
    }
    write!(lines.out, ",\"lost events\":{}}},\"traceEvents\":[", trace.dropped)?;
    tracks(trace, &mut lines)?;
    for execution in &timeline.executions {
        task_slice(trace, &timeline, execution, &mut lines)?;
    }
    for idle in &timeline.idles {
        let reason = idle.reason.map_or("unknown reason", |reason| reason.words());
        lines.slice(IDLE, track(trace, IDLE, idle.worker), reason, "idle", idle.start, idle.end, "")?;
    }
    phases(trace, timeline.end, &mut lines)?;
    moments(trace, &mut lines)?;
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

/// The number of a worker's track. Numbers differ between groups, because some viewers look at them without the group.
fn track(trace: &Trace, group: u32, worker: u32) -> u64 {
    let described = trace.workers.len() as u64;
    let index = match worker {
        NO_WORKER => described,
        worker if u64::from(worker) < described => u64::from(worker),
        // A worker without a record: it comes after the application, wherever its number falls.
        worker => u64::from(worker) + 1,
    };
    // Three groups, interleaved, so that a track number never depends on how many workers there are.
    3 * index + u64::from(group)
}

fn tracks(trace: &Trace, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
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
    for group in groups {
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
        for &worker in &workers {
            let track = track(trace, group, worker);
            lines.push(&format!(
                "{{\"ph\":\"M\",\"pid\":{group},\"tid\":{track},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}",
                quoted(&trace.worker_name(worker))
            ))?;
            lines.push(&format!(
                "{{\"ph\":\"M\",\"pid\":{group},\"tid\":{track},\"name\":\"thread_sort_index\",\
                 \"args\":{{\"sort_index\":{track}}}}}"
            ))?;
        }
    }
    Ok(())
}

fn task_slice(
    trace: &Trace,
    timeline: &Timeline,
    execution: &Execution,
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
    let track = track(trace, WORKERS, execution.worker);
    lines.slice(WORKERS, track, name, category, execution.start, execution.end, &arguments)
}

/// A phase lasts until the worker enters the next one.
fn phases(trace: &Trace, end: u64, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
    let mut entered: std::collections::BTreeMap<u32, (u64, u32)> = std::collections::BTreeMap::new();
    let mut leave = |worker: u32, (start, phase): (u64, u32), end: u64| {
        let name = Phase::from_value(phase).map_or("unknown phase", Phase::words);
        lines.slice(PHASES, track(trace, PHASES, worker), name, "phase", start, end, "")
    };
    for event in trace.events.iter().filter(|event| event.kind == EventKind::Phase) {
        if let Some(last) = entered.insert(event.worker, (event.time, event.value)) {
            leave(event.worker, last, event.time)?;
        }
    }
    entered.into_iter().try_for_each(|(worker, last)| leave(worker, last, end))
}

/// Counters, transfers, and whatever is an instant.
fn moments(trace: &Trace, lines: &mut Lines<'_, impl Write>) -> io::Result<()> {
    for event in &trace.events {
        let (track, time) = (track(trace, WORKERS, event.worker), micros(event.time));
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
