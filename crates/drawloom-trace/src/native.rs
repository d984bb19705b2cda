//! The file format of traces: JSON lines that say what they are, and can be read back.
//!
//! ```text
//! {"drawloom_trace":1,"machine":{"processor":"…","cpus":8}}
//! {"worker":{"name":"cpu 0","kind":"cpu","cpu":0,"memory_node":0}}
//! {"region":{"name":"u","len":1000}}
//! {"task":{"number":0,"name":"smooth","file":"src/main.rs","line":12,"sequence":0,"priority":0,
//!          "accesses":[{"region":0,"mode":"read","runs":[[0,500]]}]}}
//! {"event":{"time":1200,"kind":"start","task":0,"worker":0}}
//! {"end":{"workers":1,"regions":1,"tasks":1,"events":1,"dropped":0}}
//! ```
//!
//! The first line has the version; a reader refuses any version but its own, because a guess about times and orders would
//! be worse than an error. Keys that a reader does not know are skipped. The last line counts the others, so that a file
//! that was cut short is noticed.

use std::borrow::Cow;
use std::io::{BufRead, BufWriter, Read, Write};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::event::{Event, EventKind, NO_TASK, NO_WORKER};
use crate::record::{MachineRecord, RegionRecord, TaskRecord, Trace, WorkerRecord};

/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;

/// The longest line that a reader accepts, so that a file that is no trace cannot fill the memory.
const LONGEST_LINE: u64 = 1 << 28;

#[derive(Serialize, Deserialize)]
struct Header {
    drawloom_trace: u32,
    #[serde(default)]
    machine: MachineRecord,
}

/// A line after the first. What is written is borrowed, and what is read is owned.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Worker(Cow<'a, WorkerRecord>),
    Region(Cow<'a, RegionRecord>),
    Task(Cow<'a, TaskRecord>),
    Event(EventLine),
    End(Counts),
}

#[derive(Serialize, Deserialize)]
struct EventLine {
    time: u64,
    kind: EventKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
}

#[derive(Serialize, Deserialize, PartialEq, Eq)]
struct Counts {
    workers: u64,
    regions: u64,
    tasks: u64,
    events: u64,
    dropped: u64,
}

impl Counts {
    fn of(trace: &Trace) -> Self {
        Self {
            workers: trace.workers.len() as u64,
            regions: trace.regions.len() as u64,
            tasks: trace.tasks.len() as u64,
            events: trace.events.len() as u64,
            dropped: trace.dropped,
        }
    }
}

/// Writes a trace.
pub fn write(trace: &Trace, out: impl Write) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    line(&mut out, &Header { drawloom_trace: VERSION, machine: trace.machine.clone() })?;
    trace.workers.iter().try_for_each(|worker| line(&mut out, &Line::Worker(Cow::Borrowed(worker))))?;
    trace.regions.iter().try_for_each(|region| line(&mut out, &Line::Region(Cow::Borrowed(region))))?;
    trace.tasks.iter().try_for_each(|task| line(&mut out, &Line::Task(Cow::Borrowed(task))))?;
    for event in &trace.events {
        let value = (event.value != 0).then_some(event.value);
        let (task, worker) = (event.task(), event.worker());
        line(&mut out, &Line::Event(EventLine { time: event.time, kind: event.kind, task, worker, value }))?;
    }
    line(&mut out, &Line::End(Counts::of(trace)))?;
    out.flush().map_err(Error::from)
}

fn line(out: &mut impl Write, value: &impl Serialize) -> Result<(), Error> {
    // Serialising plain records cannot fail, so what fails is the writer.
    serde_json::to_writer(&mut *out, value).map_err(std::io::Error::from)?;
    out.write_all(b"\n").map_err(Error::from)
}

/// Reads a trace, and checks it with [`Trace::check`].
pub fn read(mut input: impl BufRead) -> Result<Trace, Error> {
    let mut text = Vec::new();
    let not_a_trace =
        || Error::new(ErrorKind::NotATrace, "the file does not start with the header of a Drawloom trace");
    if !next_line(&mut input, &mut text).map_err(|error| match error.kind() {
        ErrorKind::Malformed => not_a_trace(),
        _ => error,
    })? {
        return Err(not_a_trace());
    }
    let header: serde_json::Value = serde_json::from_slice(&text).map_err(|_| not_a_trace())?;
    // The version comes first: the rest of a header of another version may look different.
    let version = header.get("drawloom_trace").and_then(serde_json::Value::as_u64).ok_or_else(not_a_trace)?;
    if version != u64::from(VERSION) {
        let message =
            format!("the trace has version {version} of the format, and this program reads version {VERSION}");
        return Err(Error::new(ErrorKind::Version, message));
    }
    let header: Header = serde_json::from_value(header).map_err(|error| malformed(1, &error))?;
    let mut trace = Trace { machine: header.machine, ..Trace::default() };
    let mut number = 1_u64;
    while next_line(&mut input, &mut text)? {
        number += 1;
        match serde_json::from_slice(&text).map_err(|error| malformed(number, &error))? {
            Line::Worker(worker) => trace.workers.push(worker.into_owned()),
            Line::Region(region) => trace.regions.push(region.into_owned()),
            Line::Task(task) => trace.tasks.push(task.into_owned()),
            Line::Event(event) => trace.events.push(Event {
                time: event.time,
                task: event.task.unwrap_or(NO_TASK),
                value: event.value.unwrap_or(0),
                worker: event.worker.unwrap_or(NO_WORKER),
                kind: event.kind,
            }),
            Line::End(counts) => {
                trace.dropped = counts.dropped;
                if counts != Counts::of(&trace) {
                    let message = format!("line {number} counts other records than the lines before it have");
                    return Err(Error::new(ErrorKind::Malformed, message));
                }
                trace.check()?;
                return Ok(trace);
            }
        }
    }
    Err(Error::new(ErrorKind::Truncated, format!("the trace stops after line {number}, before its last line")))
}

/// Reads the next line, and says whether there was one.
fn next_line(input: &mut impl BufRead, text: &mut Vec<u8>) -> Result<bool, Error> {
    text.clear();
    input.by_ref().take(LONGEST_LINE).read_until(b'\n', text)?;
    if text.len() as u64 == LONGEST_LINE {
        return Err(Error::new(ErrorKind::Malformed, format!("a line is longer than {LONGEST_LINE} bytes")));
    }
    Ok(!text.is_empty())
}

fn malformed(line: u64, error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Malformed, format!("line {line} of the trace: {error}"))
}
