//! A trace as tables for spreadsheets and data frames: one of tasks, one of events.
//!
//! The format is that of RFC 4180: lines end with CRLF, the first one names the columns, and a field with a comma, a quote
//! or a line break stands in quotes. What is not known is an empty field. Times are nanoseconds since the trace began.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use crate::event::{EventKind, IdleReason, Phase};
use crate::record::Trace;
use crate::timeline::{Outcome, Timeline};

/// Writes one line for each task, by number. A task with several executions has their first worker, start and last end.
pub fn write_tasks(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let header = "number,name,worker,worker_name,submit_ns,ready_ns,start_ns,end_ns,busy_ns,executions,outcome,parent,\
                  parent_name,sequence,context,priority,internal,accesses,file,line";
    write!(out, "{header}\r\n")?;
    for (task, times) in trace.tasks.iter().zip(Timeline::new(trace).tasks) {
        let worker = times.worker.filter(|&worker| worker != crate::NO_WORKER);
        let worker_name = times.worker.map_or(Cow::Borrowed(""), |worker| trace.worker_name(worker));
        let line = [
            task.number.to_string(),
            field(&task.name),
            number(worker),
            field(&worker_name),
            number(times.submit),
            number(times.ready),
            number(times.start),
            number(times.end),
            times.busy.to_string(),
            times.executions.to_string(),
            times.outcome.map_or("", Outcome::word).to_owned(),
            number(task.parent),
            field(task.parent.and_then(|parent| trace.task(parent)).map_or("", |parent| &parent.name)),
            task.sequence.to_string(),
            field(&task.context),
            task.priority.to_string(),
            task.internal.to_string(),
            task.accesses.len().to_string(),
            field(&task.file),
            number((!task.file.is_empty()).then_some(task.line)),
        ];
        write!(out, "{}\r\n", line.join(","))?;
    }
    out.flush()
}

/// Writes one line for each event, by time.
pub fn write_events(trace: &Trace, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    write!(out, "time_ns,kind,task,task_name,worker,worker_name,value,meaning\r\n")?;
    for event in &trace.events {
        let task_name = event.task().and_then(|task| trace.task(task)).map_or("", |task| &task.name);
        let worker_name = event.worker().map_or(Cow::Borrowed(""), |worker| trace.worker_name(worker));
        let meaning = match event.kind {
            EventKind::Idle => IdleReason::from_value(event.value).map_or("", IdleReason::words),
            EventKind::Phase => Phase::from_value(event.value).map_or("", Phase::words),
            _ => "",
        };
        let line = [
            event.time.to_string(),
            event.kind.name().to_owned(),
            number(event.task()),
            field(task_name),
            number(event.worker()),
            field(&worker_name),
            event.value.to_string(),
            meaning.to_owned(),
        ];
        write!(out, "{}\r\n", line.join(","))?;
    }
    out.flush()
}

fn number(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
