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
use super::ring::Post;
use super::settings::Settings;
use crate::data::Layout;
use crate::data::rows::Rows;
use crate::error::{ErrorKind, Result};
use crate::graph::instance::{Changing, Fixed, Instance};
use crate::graph::topology::Topology;
use crate::graph::{InputId, OutputId};
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
    /// It sent or cancelled, and may want to do so again.
    Sent,
}

/// A device type: its handlers, and the rows of its devices and of the edges to them. Everything that a call needs lies
/// here together.
struct Kind {
    handlers: Arc<dyn Handlers>,
    hears_idle: bool,
    /// Where the state has the pins that want to send, if it has.
    ready_at: Option<usize>,
    properties: Arc<Rows>,
    states: Rows,
    pin_words: usize,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

struct Input {
    /// The bytes of a message, and how many words they take.
    size: usize,
    words: usize,
    /// Whether its edges have neither properties nor states.
    hollow: bool,
    properties: Arc<Rows>,
    states: Rows,
}

impl Input {
    /// An edge to the pin, as the handler sees it.
    #[inline]
    fn view(&mut self, slot: u32) -> EdgeView<'_> {
        match self.hollow {
            true => EdgeView { properties: &[], state: &mut [] },
            false => EdgeView { properties: self.properties.row(slot), state: self.states.row_mut(slot) },
        }
    }
}

struct Output {
    words: usize,
    size: usize,
    indexed: bool,
    /// The layout of its messages, if there are truth values in them.
    checked: Option<Layout>,
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
    /// The properties of the graph, as one row.
    graph: Rows,
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
        fixed: &Fixed,
        states: Changing,
        settings: &Settings,
    ) -> Self {
        let graph_type = instance.graph_type();
        let layout = |id: crate::graph::MessageId| graph_type.messages()[id.index()].layout();
        let mut edges = fixed.edges.iter().zip(states.edges);
        let kinds: Vec<Kind> = (graph_type.devices().iter())
            .zip(fixed.devices.iter().zip(states.devices))
            .map(|(kind, (properties, states))| Kind {
                handlers: Arc::clone(kind.handlers()),
                hears_idle: kind.handlers().hears_idle(),
                // What does not lie in the state, or cannot hold all pins, is not looked at.
                ready_at: (kind.handlers().ready_at().filter(|_| kind.outputs().len() <= 64))
                    .filter(|at| at.checked_add(8).is_some_and(|end| end <= kind.state().size())),
                properties: Arc::clone(properties),
                states,
                pin_words: Pins::words_for(kind.outputs().len()),
                inputs: (kind.inputs().iter().zip(&mut edges))
                    .map(|(pin, (properties, states))| Input {
                        size: layout(pin.message()).size(),
                        words: layout(pin.message()).words(),
                        hollow: properties.is_hollow() && states.is_hollow(),
                        properties: Arc::clone(properties),
                        states,
                    })
                    .collect(),
                outputs: (kind.outputs().iter())
                    .map(|pin| {
                        let layout = layout(pin.message());
                        let checked = layout.has_truths().then(|| layout.clone());
                        Output { words: layout.words(), size: layout.size(), indexed: pin.is_indexed(), checked }
                    })
                    .collect(),
            })
            .collect();
        let devices = topology.devices.len();
        Self {
            message: vec![0; kinds.iter().flat_map(|k| &k.outputs).map(|o| o.words).max().unwrap_or(0)],
            pins: vec![0; kinds.iter().map(|k| k.pin_words).max().unwrap_or(1)],
            graph: instance.properties.clone(),
            instance: Arc::clone(instance),
            kinds,
            context: Context::default(),
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

    /// The states as they are now; the part has none afterwards.
    pub(crate) fn take_states(&mut self) -> Changing {
        let mut states = Changing::default();
        for kind in &mut self.kinds {
            states.devices.push(std::mem::take(&mut kind.states));
            states.edges.extend(kind.inputs.iter_mut().map(|input| std::mem::take(&mut input.states)));
        }
        states
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
            if self.hears_idle(device) {
                self.idle_one(device)?;
            }
        }
        Ok(())
    }

    /// Whether a device is told that all is quiet.
    pub(crate) fn hears_idle(&self, device: u32) -> bool {
        self.kinds[self.topology.devices[device as usize].kind as usize].hears_idle
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
        let kind = &mut self.kinds[row.kind as usize];
        let state = kind.states.row_mut(row.slot);
        let mut view = Device {
            graph: self.graph.row(0),
            properties: kind.properties.row(row.slot),
            state,
            number: device,
            names: self.topology.names(),
            context: &mut self.context,
        };
        call(&*kind.handlers, &mut view);
        if let Some(recorder) = &mut self.recorder {
            recorder.record(Entry::new(what, self.topology.name(device)), &[], kind.states.row(row.slot));
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

    /// How many words a message over an edge takes. All edges of a pin have the same type of message.
    #[inline]
    pub(crate) fn words_over(&self, edge: u32) -> usize {
        self.input(edge).words
    }

    #[inline]
    fn input(&self, edge: u32) -> &Input {
        let edge = self.topology.edges[edge as usize];
        let kind = self.topology.devices[edge.device as usize].kind;
        &self.kinds[kind as usize].inputs[edge.pin as usize]
    }

    /// A message arrives over a range of edges. It is at the beginning of some words: returns how many it has.
    #[inline]
    pub(crate) fn deliver(&mut self, start: u32, end: u32, words: &[u64], number: Option<u64>) -> Result<usize, Stop> {
        let &Input { size, words: count, .. } = self.input(start);
        if self.recorder.is_some() {
            (start..end).try_for_each(|edge| self.deliver_one(edge, words, number))?;
            return Ok(count);
        }
        let topology = &*self.topology;
        let (graph, names) = (self.graph.row(0), topology.names());
        let edges = &topology.edges[start as usize..end as usize];
        let bytes = &bytemuck::cast_slice(words)[..size];
        // Counted at once; what does not arrive because a handler stops the run is taken off again.
        self.counts.deliveries += edges.len() as u64;
        for (number, edge) in edges.iter().enumerate() {
            let row = topology.devices[edge.device as usize];
            self.now = Now { what: What::Receive, device: edge.device, pin: edge.pin };
            let kind = &mut self.kinds[row.kind as usize];
            let input = &mut kind.inputs[edge.pin as usize];
            let mut device = Device {
                graph,
                properties: kind.properties.row(row.slot),
                state: kind.states.row_mut(row.slot),
                number: edge.device,
                names,
                context: &mut self.context,
            };
            kind.handlers.receive(InputId(edge.pin), &mut device, bytes, input.view(edge.slot));
            let is_quiet = kind.ready_at.is_some_and(|at| word_at(device.state, at) == 0);
            if !is_quiet && !std::mem::replace(&mut self.is_waiting[edge.device as usize], true) {
                self.waiting.push(edge.device);
            }
            if self.context.stop {
                self.counts.deliveries -= (edges.len() - 1 - number) as u64;
                return Err(Stop);
            }
        }
        Ok(count)
    }

    /// A message arrives over one edge.
    #[inline]
    pub(crate) fn deliver_one(
        &mut self,
        number: u32,
        message: &[u64],
        message_number: Option<u64>,
    ) -> Result<(), Stop> {
        let topology = &*self.topology;
        let edge = topology.edges[number as usize];
        let row = topology.devices[edge.device as usize];
        self.now = Now { what: What::Receive, device: edge.device, pin: edge.pin };
        let Kind { handlers, properties, states, inputs, .. } = &mut self.kinds[row.kind as usize];
        let input = &mut inputs[edge.pin as usize];
        let bytes = &bytemuck::cast_slice(message)[..input.size];
        let mut device = Device {
            graph: self.graph.row(0),
            properties: properties.row(row.slot),
            state: states.row_mut(row.slot),
            number: edge.device,
            names: topology.names(),
            context: &mut self.context,
        };
        handlers.receive(InputId(edge.pin), &mut device, bytes, input.view(edge.slot));
        self.counts.deliveries += 1;
        if let Some(recorder) = &mut self.recorder {
            let entry = Entry {
                pin: edge.pin,
                edge: topology.edge_name(number),
                message: message_number.unwrap_or(0),
                ..Entry::new(What::Receive, topology.name(edge.device))
            };
            recorder.record(entry, bytes, states.row(row.slot));
        }
        self.wait(edge.device);
        self.check()
    }

    /// Asks a device whether it wants to send, and lets it, at most so many times.
    ///
    /// `choose` picks one of the pins that are ready, from their set. Messages go to `post`. Returns whether the device does
    /// not want to send any more.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        device: u32,
        most: usize,
        mut choose: impl FnMut(&[u64]) -> Option<u32>,
        post: &mut impl Post,
    ) -> Result<Step, Stop> {
        let topology = &*self.topology;
        let row = topology.devices[device as usize];
        let Kind { handlers, ready_at, properties, states, pin_words, outputs, .. } =
            &mut self.kinds[row.kind as usize];
        let (graph, properties) = (self.graph.row(0), properties.row(row.slot));
        let state = states.row_mut(row.slot);
        let pins = &mut self.pins[..*pin_words];
        for _ in 0..most {
            match ready_at {
                Some(at) => pins[0] = word_at(state, *at),
                None => {
                    self.now = Now { what: What::Ready, device, pin: 0 };
                    clear(pins);
                    handlers.ready(&DeviceView { graph, properties, state }, &mut Pins::new(pins));
                }
            }
            let Some(pin) = choose(pins) else { return Ok(Step::Quiet) };
            let Some(output) = outputs.get(pin as usize) else {
                let text = format!("the ready handler names pin {pin}, but there are {}", outputs.len());
                self.context.fail(ErrorKind::Handler, text);
                return Err(Stop);
            };
            self.now = Now { what: What::Send, device, pin };
            let words = &mut self.message[..output.words];
            clear(words);
            let mut view = Device {
                graph,
                properties,
                state,
                number: device,
                names: topology.names(),
                context: &mut self.context,
            };
            let bytes = &mut bytemuck::cast_slice_mut(words)[..output.size];
            let sent = handlers.send(OutputId(pin), &mut view, bytes);
            if let Some(layout) = output.checked.as_ref().filter(|_| sent != Sent::Cancelled)
                && let Err(error) = layout.check(bytes)
            {
                self.context.fail(ErrorKind::Handler, format!("it wrote no message: {error}"));
                return Err(Stop);
            }
            let mut number = None;
            if let Some(recorder) = &mut self.recorder {
                let what = if sent == Sent::Cancelled { What::Cancel } else { What::Send };
                let edge = if let Sent::Edge(index) = sent { index } else { u32::MAX };
                let entry = Entry { pin, edge, ..Entry::new(what, topology.name(device)) };
                let bytes: &[u8] = if what == What::Send { bytes } else { &[] };
                number = Some(recorder.record(entry, bytes, state));
            }
            match sent {
                Sent::Cancelled => self.counts.cancelled += 1,
                Sent::Broadcast if output.indexed => {
                    let text = "the send handler of an indexed pin names no edge";
                    self.context.fail(ErrorKind::Handler, text.to_owned());
                }
                Sent::Edge(_) if !output.indexed => {
                    let text = "the send handler names an edge, but the pin is not indexed";
                    self.context.fail(ErrorKind::Handler, text.to_owned());
                }
                sent => match post.post(topology, row.first_pin + pin, sent, words, number) {
                    Some(edges) => {
                        self.counts.sends += 1;
                        self.promised += edges;
                    }
                    None => {
                        let text = format!("the send handler names an edge that is not there: {sent:?}");
                        self.context.fail(ErrorKind::Handler, text);
                    }
                },
            }
            if self.context.stop {
                return Err(Stop);
            }
        }
        Ok(Step::Sent)
    }

    /// Lets a device that was taken from the list send as long as it wants to, but not for ever. One that may still want to
    /// is put back.
    #[inline]
    pub(crate) fn turn(
        &mut self,
        device: u32,
        choose: impl FnMut(&[u64]) -> Option<u32>,
        post: &mut impl Post,
    ) -> Result<(), Stop> {
        self.unwait(device);
        let most = self.kinds[self.topology.devices[device as usize].kind as usize].outputs.len() + 1;
        // One more than it has pins, so that a device that sends from all of them is found quiet at once.
        if self.ask(device, most, choose, post)? == Step::Sent {
            self.wait(device);
        }
        Ok(())
    }
}

/// A word of a state.
#[inline]
fn word_at(state: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(state[at..at + 8].try_into().expect("eight bytes"))
}

/// Fills words with zeros. Mostly there is one, for which a call would be too much.
#[inline]
fn clear(words: &mut [u64]) {
    match words {
        [word] => *word = 0,
        words => words.fill(0),
    }
}

/// An invariant is broken.
pub(crate) fn lost(promised: u64, deliveries: u64) -> String {
    format!("all is quiet, but of {promised} deliveries {deliveries} were made")
}
