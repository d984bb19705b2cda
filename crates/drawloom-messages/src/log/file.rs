//! Logs as lines of JSON.
//!
//! The first line says what the log is of, the last how the run ended, so a log that was cut off is noticed:
//!
//! ```json
//! {"drawloom_event_log":1,"graph_type":"drawloom_ring","instance":"ring_2_1","devices":2,"edges":2,"states":false}
//! {"n":0,"event":"init","device":"node_0"}
//! {"n":2,"event":"send","device":"node_0","pin":"out","hash":"fb4c8fb1e4a7a3d6","bytes":"01000000"}
//! {"n":3,"event":"receive","device":"node_1","pin":"in","edge":0,"message":2,"hash":"fb4c8fb1e4a7a3d6"}
//! {"event":"checkpoint","device":"node_0","level":0,"tag":"settled","state":"0100000001000000"}
//! {"event":"end","sends":2,"deliveries":2,"cancelled":0,"idle_rounds":1}
//! ```
//!
//! `n` numbers events. `message` is the number of the event in which the message was sent, `edge` the number of the edge it
//! came over; a send over one edge of an indexed pin has its `index`. `hash` is the FNV-1a hash of the message's bytes,
//! which a send has too, and `after` that of the state after the event, if states were asked for. `exit` in the last line is
//! the exit code, if there is one.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value};

use super::Log;
use super::record::{Entry, What};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{DeviceId, Instance};
use crate::handlers::Checkpoint;
use crate::run::Counts;

/// The version of the format.
const VERSION: u64 = 1;

/// No line of a log is longer.
const LONGEST: u64 = 1 << 26;

impl Log {
    /// Writes the log.
    ///
    /// # Errors
    /// When writing fails.
    pub fn write(&self, to: impl Write) -> Result<()> {
        let mut to = BufWriter::new(to);
        let instance = &*self.instance;
        let quote = |text: &str| Value::from(text).to_string();
        writeln!(
            to,
            r#"{{"drawloom_event_log":{VERSION},"graph_type":{},"instance":{},"devices":{},"edges":{},"states":{}}}"#,
            quote(instance.graph_type().id()),
            quote(instance.id()),
            instance.devices(),
            instance.edges(),
            self.states
        )?;
        let mut line = String::new();
        for entry in &self.entries {
            line.clear();
            let (what, device) = (entry.what, DeviceId(entry.device));
            let _ = write!(
                line,
                r#"{{"n":{},"event":"{}","device":{}"#,
                entry.number,
                what.name(),
                quote(instance.name(device))
            );
            if what.has_pin() {
                let kind = instance.type_of(device);
                let pin = match what {
                    What::Receive => kind.inputs()[entry.pin as usize].name(),
                    _ => kind.outputs()[entry.pin as usize].name(),
                };
                let _ = write!(line, r#","pin":"{pin}""#);
            }
            match what {
                What::Receive => drop(write!(line, r#","edge":{},"message":{}"#, entry.edge, entry.message)),
                What::Send if entry.edge != u32::MAX => drop(write!(line, r#","index":{}"#, entry.edge)),
                _ => {}
            }
            if matches!(what, What::Send | What::Receive) {
                let _ = write!(line, r#","hash":"{:016x}""#, entry.hash);
            }
            if let (What::Send, Some(bytes)) = (what, self.messages.get(&entry.number)) {
                line.push_str(r#","bytes":""#);
                for byte in bytes {
                    let _ = write!(line, "{byte:02x}");
                }
                line.push('"');
            }
            if self.states {
                let _ = write!(line, r#","after":"{:016x}""#, entry.state);
            }
            writeln!(to, "{line}}}")?;
        }
        for checkpoint in &self.checkpoints {
            let (name, tag) = (quote(instance.name(checkpoint.device)), quote(&checkpoint.tag));
            let state: String = checkpoint.state.iter().map(|byte| format!("{byte:02x}")).collect();
            let level = checkpoint.level;
            writeln!(to, r#"{{"event":"checkpoint","device":{name},"level":{level},"tag":{tag},"state":"{state}"}}"#)?;
        }
        let Counts { sends, deliveries, cancelled, idle_rounds } = self.counts;
        let exit = self.exit.map_or(String::new(), |code| format!(r#","exit":{code}"#));
        writeln!(
            to,
            r#"{{"event":"end","sends":{sends},"deliveries":{deliveries},"cancelled":{cancelled},"idle_rounds":{idle_rounds}{exit}}}"#
        )?;
        to.flush()?;
        Ok(())
    }

    /// Reads a log of an instance.
    ///
    /// # Errors
    /// When it is no log, is cut off, or names what the instance does not have; with the line.
    pub fn read(from: impl Read, instance: &Arc<Instance>) -> Result<Self> {
        let devices = (0..instance.devices() as u32).map(|number| (instance.name(DeviceId(number)), number)).collect();
        let mut reader = LogReader { instance, devices, line: 0 };
        let mut log = None;
        let mut from = BufReader::new(from);
        let mut text = String::new();
        loop {
            text.clear();
            reader.line += 1;
            let read = (&mut from).take(LONGEST).read_line(&mut text);
            let read = read.map_err(|e| Error::new(ErrorKind::Io, format!("cannot read the log: {e}")))?;
            if read == 0 && log.is_none() {
                return Err(reader.wrong("the log is empty"));
            }
            if read == 0 {
                return Err(reader.wrong("the log ends before its last line; its run was interrupted"));
            }
            let value: Map<String, Value> =
                serde_json::from_str(&text).map_err(|e| reader.wrong(format!("no event: {e}")))?;
            match &mut log {
                None => log = Some(reader.header(&value)?),
                Some(log) => {
                    if reader.event(&value, log)? {
                        break;
                    }
                }
            }
        }
        text.clear();
        if (&mut from).take(LONGEST).read_line(&mut text).is_ok_and(|read| read > 0) {
            reader.line += 1;
            return Err(reader.wrong("the log goes on after its last line"));
        }
        log.ok_or_else(|| reader.wrong("the log is empty"))
    }
}

struct LogReader<'a> {
    instance: &'a Arc<Instance>,
    devices: FxHashMap<&'a str, u32>,
    line: u64,
}

impl LogReader<'_> {
    fn wrong(&self, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Format, message).at_line(self.line)
    }

    fn header(&self, value: &Map<String, Value>) -> Result<Log> {
        match value.get("drawloom_event_log").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(version) => return Err(self.wrong(format!("version {version} of the log format is not known"))),
            None => return Err(self.wrong("this is no event log")),
        }
        let graph_type = self.text(value, "graph_type")?;
        let same = graph_type == self.instance.graph_type().id()
            && self.number(value, "devices")? == self.instance.devices() as u64
            && self.number(value, "edges")? == self.instance.edges() as u64;
        if !same {
            let message =
                format!("the log is of another graph: {:?} of type {graph_type:?}", self.text(value, "instance")?);
            return Err(Error::new(ErrorKind::Mismatch, message).at_line(self.line));
        }
        Ok(Log {
            instance: Arc::clone(self.instance),
            entries: Vec::new(),
            messages: FxHashMap::default(),
            checkpoints: Vec::new(),
            counts: Counts::default(),
            exit: None,
            states: value.get("states").and_then(Value::as_bool).unwrap_or(false),
        })
    }

    /// Reads an event. Returns whether it is the last line.
    fn event(&self, value: &Map<String, Value>, log: &mut Log) -> Result<bool> {
        match self.text(value, "event")? {
            "end" => {
                log.counts = Counts {
                    sends: self.number(value, "sends")?,
                    deliveries: self.number(value, "deliveries")?,
                    cancelled: self.number(value, "cancelled")?,
                    idle_rounds: self.number(value, "idle_rounds")?,
                };
                let code = value.get("exit").map(|code| code.as_i64().and_then(|code| i32::try_from(code).ok()));
                log.exit = code.map(|code| code.ok_or_else(|| self.wrong("\"exit\" is no exit code"))).transpose()?;
                return Ok(true);
            }
            "checkpoint" => {
                let device = DeviceId(self.device(value)?);
                let state = self.bytes(self.text(value, "state")?)?;
                let within = |e: Error| e.within("the state").at_device(self.instance.name(device)).at_line(self.line);
                self.instance.type_of(device).state().check(&state).map_err(within)?;
                let (level, tag) = (self.small(value, "level")?, self.text(value, "tag")?.to_owned());
                log.checkpoints.push(Checkpoint { device, level, tag, state });
            }
            name => {
                let what = What::from_name(name).ok_or_else(|| self.wrong(format!("there is no event {name:?}")))?;
                let entry = self.entry(what, value, log.states)?;
                if what == What::Send && value.contains_key("bytes") {
                    log.messages.insert(entry.number, self.message(&entry, value)?);
                }
                log.entries.push(entry);
            }
        }
        Ok(false)
    }

    fn entry(&self, what: What, value: &Map<String, Value>, states: bool) -> Result<Entry> {
        let mut entry = Entry { number: self.number(value, "n")?, ..Entry::new(what, self.device(value)?) };
        let kind = self.instance.type_of(DeviceId(entry.device));
        if what.has_pin() {
            let name = self.text(value, "pin")?;
            let pin = match what {
                What::Receive => kind.input(name).map(|pin| pin.0),
                _ => kind.output(name).map(|pin| pin.0),
            };
            entry.pin = pin.ok_or_else(|| self.wrong(format!("a {:?} has no pin {name:?}", kind.id())).at_pin(name))?;
        }
        match what {
            What::Receive => {
                (entry.edge, entry.message) = (self.small(value, "edge")?, self.number(value, "message")?);
                if entry.edge as usize >= self.instance.edges() {
                    return Err(self.wrong(format!("there is no edge {}", entry.edge)));
                }
            }
            What::Send if value.contains_key("index") => entry.edge = self.small(value, "index")?,
            _ => {}
        }
        entry.hash = match what {
            What::Send | What::Receive => self.hash(value, "hash")?,
            What::Cancel => super::record::hash(&[]),
            _ => 0,
        };
        if states {
            entry.state = self.hash(value, "after")?;
        }
        Ok(entry)
    }

    /// The bytes of a message that was sent, which are those that its hash is of.
    fn message(&self, entry: &Entry, value: &Map<String, Value>) -> Result<Box<[u8]>> {
        let bytes = self.bytes(self.text(value, "bytes")?)?;
        if super::record::hash(&bytes) != entry.hash {
            return Err(self.wrong("the hash of the message is not that of its bytes"));
        }
        let pin = &self.instance.type_of(DeviceId(entry.device)).outputs()[entry.pin as usize];
        let layout = self.instance.graph_type().messages()[pin.message().index()].layout();
        let name = self.instance.name(DeviceId(entry.device));
        let within = |e: Error| e.within("the message").at_device(name).at_pin(pin.name()).at_line(self.line);
        layout.check(&bytes).map_err(within)?;
        Ok(bytes.into())
    }

    fn text<'v>(&self, value: &'v Map<String, Value>, key: &str) -> Result<&'v str> {
        value.get(key).and_then(Value::as_str).ok_or_else(|| self.wrong(format!("there is no text {key:?}")))
    }

    fn number(&self, value: &Map<String, Value>, key: &str) -> Result<u64> {
        value.get(key).and_then(Value::as_u64).ok_or_else(|| self.wrong(format!("there is no number {key:?}")))
    }

    fn small(&self, value: &Map<String, Value>, key: &str) -> Result<u32> {
        u32::try_from(self.number(value, key)?).map_err(|_| self.wrong(format!("the number {key:?} is too large")))
    }

    fn hash(&self, value: &Map<String, Value>, key: &str) -> Result<u64> {
        let text = self.text(value, key)?;
        u64::from_str_radix(text, 16).map_err(|_| self.wrong(format!("{text:?} is no hash")))
    }

    fn device(&self, value: &Map<String, Value>) -> Result<u32> {
        let name = self.text(value, "device")?;
        self.devices
            .get(name)
            .copied()
            .ok_or_else(|| self.wrong(format!("there is no device {name:?}")).at_device(name))
    }

    fn bytes(&self, text: &str) -> Result<Vec<u8>> {
        let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
        let digits = digits.filter(|digits| digits.len() % 2 == 0).ok_or_else(|| self.wrong("a state is no bytes"))?;
        Ok(digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
    }
}
