//! Devices and their states, and every call of a handler.
//!
//! A part is the whole machine, or what one worker owns of it. It knows nothing about order: an executor says which device
//! may send and what arrives.
//!
//! A device that may want to send is *waiting*: it is in a list, once. It comes there when its state may have changed, and
//! leaves it when its ready handler says that it does not want to send. As that handler is a pure function of the state,
//! asking late gives the same answer as asking at once, and several messages may cost one question.

use std::sync::Arc;

use super::report::Counts;
use super::ring::{Post, edge};
use super::settings::Settings;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::instance::{Changing, Fixed, Instance};
use crate::graph::topology::Topology;
use crate::graph::{DeviceId, InputId, OutputId};
use crate::handlers::context::Context;
use crate::handlers::{Device, DeviceView, EdgeView, Handlers, Pins, Sent};
use crate::log::record::{Entry, Recorder, What};

/// The run must end: a handler asked for it or failed, or a limit was passed.
#[derive(Debug)]
pub(crate) struct Stop;

/// What became of a device that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does not want to send.
    Quiet,
    /// It sent, or cancelled.
    Sent,
}

/// What calls of handlers need to know about a device type.
struct Kind {
    handlers: Arc<dyn Handlers>,
    pin_words: usize,
    first_input: usize,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

#[derive(Clone, Copy)]
struct Input {
    /// The bytes of a message.
    size: usize,
    /// Whether its edges have neither properties nor states.
    hollow: bool,
}

#[derive(Clone, Copy)]
struct Output {
    words: usize,
    size: usize,
    indexed: bool,
}

/// What is being done, so that a panic can be attributed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) what: What,
    pub(crate) device: u32,
    pub(crate) pin: u32,
}

/// Devices with their states, and what they did.
pub(crate) struct Part {
    pub(crate) instance: Arc<Instance>,
    pub(crate) topology: Arc<Topology>,
    fixed: Arc<Fixed>,
    pub(crate) states: Changing,
    kinds: Vec<Kind>,
    pub(crate) context: Context,
    pub(crate) counts: Counts,
    /// How many deliveries follow from what was sent.
    pub(crate) promised: u64,
    pub(crate) waiting: Vec<u32>,
    is_waiting: Vec<bool>,
    message: Vec<u64>,
    pins: Vec<u64>,
    pub(crate) now: Now,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) most_steps: u64,
    pub(crate) over_limit: bool,
    /// How much had been sent when the devices were last told that all was quiet.
    mark: Option<u64>,
}

impl Part {
    pub(crate) fn new(
        instance: &Arc<Instance>,
        topology: Arc<Topology>,
        fixed: Arc<Fixed>,
        states: Changing,
        settings: &Settings,
    ) -> Self {
        let graph_type = instance.graph_type();
        let layout = |id: crate::graph::MessageId| graph_type.messages()[id.index()].layout();
        let kinds: Vec<Kind> = (0..)
            .zip(graph_type.devices())
            .map(|(number, kind)| Kind {
                handlers: Arc::clone(kind.handlers()),
                pin_words: Pins::words_for(kind.outputs().len()),
                first_input: graph_type.input_number(number, 0),
                inputs: (kind.inputs().iter())
                    .map(|pin| Input {
                        size: layout(pin.message()).size(),
                        hollow: pin.properties().size() + pin.state().size() == 0,
                    })
                    .collect(),
                outputs: (kind.outputs().iter())
                    .map(|pin| {
                        let layout = layout(pin.message());
                        Output { words: layout.words(), size: layout.size(), indexed: pin.is_indexed() }
                    })
                    .collect(),
            })
            .collect();
        let devices = topology.devices.len();
        Self {
            message: vec![0; kinds.iter().flat_map(|k| &k.outputs).map(|o| o.words).max().unwrap_or(0)],
            pins: vec![0; kinds.iter().map(|k| k.pin_words).max().unwrap_or(1)],
            instance: Arc::clone(instance),
            fixed,
            states,
            kinds,
            context: Context { level: settings.level, most_lines: settings.most_lines, ..Context::default() },
            counts: Counts::default(),
            promised: 0,
            waiting: Vec::with_capacity(devices),
            is_waiting: vec![false; devices],
            now: Now { what: What::Init, device: 0, pin: 0 },
            recorder: settings.log.map(|states| Recorder::new(states, settings.most_events)),
            most_steps: settings.most_steps.unwrap_or(u64::MAX),
            over_limit: false,
            mark: None,
            topology,
        }
    }

    /// Calls the init handlers of all devices, which then may want to send.
    pub(crate) fn init(&mut self) -> Result<(), Stop> {
        for device in 0..self.topology.devices.len() as u32 {
            self.init_one(device)?;
        }
        Ok(())
    }

    pub(crate) fn init_one(&mut self, device: u32) -> Result<(), Stop> {
        self.tell(device, What::Init, |handlers, device| handlers.init(device))
    }

    /// Tells all devices that all is quiet, which then may want to send.
    pub(crate) fn tell_idle(&mut self) -> Result<(), Stop> {
        for device in 0..self.topology.devices.len() as u32 {
            self.idle_one(device)?;
        }
        Ok(())
    }

    pub(crate) fn idle_one(&mut self, device: u32) -> Result<(), Stop> {
        self.tell(device, What::Idle, |handlers, device| handlers.idle(device))
    }

    /// All is quiet here, and nothing comes from elsewhere. Returns whether the run goes on: it is over when nothing was
    /// sent since the devices were told the last time.
    pub(crate) fn quiet(&mut self) -> Result<bool, Stop> {
        if self.promised != self.counts.deliveries {
            self.context.fail(ErrorKind::Internal, lost(self.promised, self.counts.deliveries));
            return Err(Stop);
        }
        let sent = self.counts.sends + self.counts.cancelled;
        if self.mark == Some(sent) {
            return Ok(false);
        }
        self.mark = Some(sent);
        self.counts.idle_rounds += 1;
        self.tell_idle()?;
        Ok(true)
    }

    fn tell(&mut self, device: u32, what: What, call: impl FnOnce(&dyn Handlers, &mut Device<'_>)) -> Result<(), Stop> {
        self.now = Now { what, device, pin: 0 };
        let row = self.topology.devices[device as usize];
        let kind = row.kind as usize;
        let state = self.states.devices[kind].row_mut(row.slot);
        let mut view = Device {
            graph: self.instance.properties.row(0),
            properties: self.fixed.devices[kind].row(row.slot),
            state,
            number: device,
            names: self.topology.names(),
            context: &mut self.context,
        };
        call(&*self.kinds[kind].handlers, &mut view);
        if let Some(recorder) = &mut self.recorder {
            let state = self.states.devices[kind].row(row.slot);
            recorder.record(Entry::new(what, self.topology.name(device)), &[], state);
        }
        self.wait(device);
        self.check()
    }

    /// Puts a device into the list of those that may want to send.
    #[inline]
    pub(crate) fn wait(&mut self, device: u32) {
        if !std::mem::replace(&mut self.is_waiting[device as usize], true) {
            self.waiting.push(device);
        }
    }

    /// Takes a device out of the list; the caller has removed it there.
    #[inline]
    pub(crate) fn unwait(&mut self, device: u32) {
        self.is_waiting[device as usize] = false;
    }

    #[inline]
    fn check(&mut self) -> Result<(), Stop> {
        if self.context.stop { Err(Stop) } else { Ok(()) }
    }

    /// Whether the run was too long. Looked at now and then, not at each step.
    pub(crate) fn check_limit(&mut self) -> Result<(), Stop> {
        let full = self.recorder.as_ref().is_some_and(Recorder::is_full);
        if full || self.counts.steps() > self.most_steps {
            self.over_limit = true;
            self.context.stop = true;
        }
        self.check()
    }

    /// A message arrives over a range of edges.
    #[inline]
    pub(crate) fn deliver(&mut self, start: u32, end: u32, message: &[u64], number: u64) -> Result<(), Stop> {
        for edge in start..end {
            self.deliver_one(edge, message, number)?;
        }
        Ok(())
    }

    /// A message arrives over one edge.
    #[inline]
    pub(crate) fn deliver_one(&mut self, number: u32, message: &[u64], message_number: u64) -> Result<(), Stop> {
        let edge = edge(&self.topology, number);
        let row = self.topology.devices[edge.device as usize];
        let kind = &self.kinds[row.kind as usize];
        self.now = Now { what: What::Receive, device: edge.device, pin: edge.pin };
        let input = kind.inputs[edge.pin as usize];
        let bytes = &bytemuck::cast_slice(message)[..input.size];
        let mut device = Device {
            graph: self.instance.properties.row(0),
            properties: self.fixed.devices[row.kind as usize].row(row.slot),
            state: self.states.devices[row.kind as usize].row_mut(row.slot),
            number: edge.device,
            names: self.topology.names(),
            context: &mut self.context,
        };
        let view = match input.hollow {
            true => EdgeView { properties: &[], state: &mut [] },
            false => {
                let number = kind.first_input + edge.pin as usize;
                let properties = self.fixed.edges[number].row(edge.slot);
                EdgeView { properties, state: self.states.edges[number].row_mut(edge.slot) }
            }
        };
        kind.handlers.receive(InputId(edge.pin), &mut device, bytes, view);
        self.counts.deliveries += 1;
        if let Some(recorder) = &mut self.recorder {
            let entry = Entry {
                pin: edge.pin,
                edge: self.topology.edge_name(number),
                message: message_number,
                ..Entry::new(What::Receive, self.topology.name(edge.device))
            };
            recorder.record(entry, bytes, self.states.devices[row.kind as usize].row(row.slot));
        }
        self.wait(edge.device);
        self.check()
    }

    /// Asks a device whether it wants to send, and lets it.
    ///
    /// `choose` picks one of the pins that are ready, from their set. The message goes to `post`.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        device: u32,
        choose: impl FnOnce(&[u64]) -> Option<u32>,
        post: &mut impl Post,
    ) -> Result<Step, Stop> {
        let row = self.topology.devices[device as usize];
        let kind = &self.kinds[row.kind as usize];
        let graph = self.instance.properties.row(0);
        let properties = self.fixed.devices[row.kind as usize].row(row.slot);
        self.now = Now { what: What::Ready, device, pin: 0 };
        let pins = &mut self.pins[..kind.pin_words];
        pins.fill(0);
        let view = DeviceView { graph, properties, state: self.states.devices[row.kind as usize].row(row.slot) };
        kind.handlers.ready(&view, &mut Pins::new(pins));
        let Some(pin) = choose(pins) else { return Ok(Step::Quiet) };
        let Some(output) = kind.outputs.get(pin as usize).copied() else {
            self.context.fail(
                ErrorKind::Handler,
                format!("the ready handler names pin {pin}, but there are {}", kind.outputs.len()),
            );
            return Err(Stop);
        };
        self.now = Now { what: What::Send, device, pin };
        let words = &mut self.message[..output.words];
        words.fill(0);
        let mut view = Device {
            graph,
            properties,
            state: self.states.devices[row.kind as usize].row_mut(row.slot),
            number: device,
            names: self.topology.names(),
            context: &mut self.context,
        };
        let bytes = &mut bytemuck::cast_slice_mut(words)[..output.size];
        let sent = kind.handlers.send(OutputId(pin), &mut view, bytes);
        let what = if sent == Sent::Cancelled { What::Cancel } else { What::Send };
        let mut number = 0;
        if let Some(recorder) = &mut self.recorder {
            let entry = Entry { pin, ..Entry::new(what, self.topology.name(device)) };
            let index = if let Sent::Edge(index) = sent { index } else { u32::MAX };
            let state = self.states.devices[row.kind as usize].row(row.slot);
            let bytes: &[u8] =
                if what == What::Send { bytemuck::cast_slice(&self.message[..output.words]) } else { &[] };
            number = recorder.record(Entry { edge: index, ..entry }, &bytes[..bytes.len().min(output.size)], state);
        }
        match sent {
            Sent::Cancelled => self.counts.cancelled += 1,
            Sent::Broadcast if output.indexed => {
                self.context.fail(ErrorKind::Handler, "the send handler of an indexed pin names no edge".to_owned());
            }
            Sent::Edge(_) if !output.indexed => {
                self.context
                    .fail(ErrorKind::Handler, "the send handler names an edge, but the pin is not indexed".to_owned());
            }
            sent => match post.post(&self.topology, row.first_pin + pin, sent, &self.message[..output.words], number) {
                Some(edges) => {
                    self.counts.sends += 1;
                    self.promised += edges;
                }
                None => self
                    .context
                    .fail(ErrorKind::Handler, format!("the send handler names an edge that is not there: {sent:?}")),
            },
        }
        self.check()?;
        Ok(Step::Sent)
    }

    /// Lets a device that was taken from the list send as long as it wants to, but not for ever. One that still wants to is
    /// put back.
    #[inline]
    pub(crate) fn turn(
        &mut self,
        device: u32,
        choose: impl Fn(&[u64]) -> Option<u32>,
        post: &mut impl Post,
    ) -> Result<(), Stop> {
        self.unwait(device);
        let kind = self.topology.devices[device as usize].kind as usize;
        for _ in 0..self.kinds[kind].outputs.len() {
            if self.ask(device, &choose, post)? == Step::Quiet {
                return Ok(());
            }
        }
        if !self.kinds[kind].outputs.is_empty() {
            self.wait(device);
        }
        Ok(())
    }

    /// Why the run ended early, if that was no exit.
    pub(crate) fn error(&mut self) -> Option<Error> {
        match self.context.failure.take() {
            Some((ErrorKind::Internal, text)) => return Some(Error::new(ErrorKind::Internal, text)),
            Some((kind, text)) => return Some(self.blame(kind, &text)),
            None => {}
        }
        let full = self.recorder.as_ref().is_some_and(Recorder::is_full);
        self.over_limit.then(|| {
            let message =
                if full { "the log is longer than its limit" } else { "the run took more steps than its limit" };
            Error::new(ErrorKind::Limit, message).of_type(self.instance.graph_type().id())
        })
    }

    /// An error in a handler, with the names of what was done.
    pub(crate) fn blame(&self, kind: ErrorKind, text: &str) -> Error {
        let graph_type = self.instance.graph_type();
        let device = DeviceId(self.topology.name(self.now.device));
        let (name, device_type) = (self.instance.name(device), self.instance.type_of(device));
        let pin = match self.now.what {
            What::Receive => device_type.inputs().get(self.now.pin as usize).map(|pin| pin.name()),
            What::Send | What::Cancel => device_type.outputs().get(self.now.pin as usize).map(|pin| pin.name()),
            _ => None,
        };
        let place = match pin {
            Some(pin) => format!("{} handler of pin {pin:?}", self.now.what.name()),
            None => format!("{} handler", self.now.what.name()),
        };
        let verb = if kind == ErrorKind::Panic { "panicked" } else { "failed" };
        let error = Error::new(kind, format!("device {name:?} {verb} in its {place}: {text}"));
        let error = if let Some(pin) = pin { error.at_pin(pin) } else { error };
        error.at_device(name).of_type(graph_type.id())
    }
}

/// An invariant is broken.
pub(crate) fn lost(promised: u64, deliveries: u64) -> String {
    format!("all is quiet, but of {promised} deliveries {deliveries} were made")
}
