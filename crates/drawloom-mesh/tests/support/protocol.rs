//! Whether the protocol of mesh programs as messages is kept, looked at with every message.
//!
//! The handlers of an instance are wrapped. For every device and every loop the wrapper counts for itself what came and went,
//! from the messages alone, and compares that with the numbers that the device keeps, which it finds by the names that the
//! guide promises. What a device must receive is taken from the edges of the instance, not from what the device was told to
//! expect. So these hold after every event, or the run stops:
//!
//! 1. A device that is in no loop has nothing but zeros: nothing received, nothing to send.
//! 2. A device enters a loop when a message of it arrives, and leaves it when it sends its end.
//! 3. The two counts are what has arrived, and never more than what comes; a mask holds what has not been sent.
//! 4. A kernel runs once, when all that it waits for has arrived. Results leave after it. Each value and result leaves once.
//! 5. A device is at the end when all has arrived and left, the message to begin included: work may be done before that
//!    message comes, the end never is.
//! 6. A message arrives while its loop is under way. When a loop is at its end, none of its messages is in flight and all its
//!    devices have left it. So no message of one loop, or of one run of it, meets the next.
//! 7. No device is in two loops at once.

// Every test program uses its own part of this module.
#![allow(dead_code, unreachable_pub)]

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use drawloom_messages::{
    Device, DeviceId, DeviceType, DeviceView, EdgeId, EdgeValues, EdgeView, GraphType, Handlers, InputId, InputPin,
    Instance, InstanceBuilder, OutputId, OutputPin, Pins, Sent,
};

/// What all wrappers share.
struct Protocol {
    /// The names of the loops.
    names: Vec<String>,
    /// Which loops are under way, and how many of their messages are in flight.
    under_way: Vec<AtomicBool>,
    in_flight: Vec<AtomicI64>,
    instance: OnceLock<Seen>,
}

/// The instance, and what was seen of its devices.
struct Seen {
    /// How many edges lead to each input pin, and away from each output pin, of each device.
    inputs: Vec<Vec<u32>>,
    outputs: Vec<Vec<u32>>,
    /// What each device did in each loop of its type.
    devices: Vec<Mutex<Vec<Progress>>>,
}

/// What a device did in a loop so far. All zero when it is not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Progress {
    begins: u32,
    reads: u32,
    writes: u32,
    executions: u32,
    /// Messages with values, and with results, that left.
    read_sends: u32,
    write_sends: u32,
}

/// What is wrapped.
enum Kind {
    Elements(Elements),
    /// A device of the tree of a loop.
    Relay(usize),
    /// The device with the control flow: where its phase and the number of its loop are.
    Program {
        phase: usize,
        loop_number: usize,
    },
}

/// The devices of a set: what their pins mean, and the loops in which they take part.
struct Elements {
    inputs: Vec<(usize, Event)>,
    outputs: Vec<(usize, Event)>,
    /// Where the bits of the pins that want to send are, and how many words they are.
    ready: usize,
    words: usize,
    ons: Vec<On>,
}

/// A loop, as the devices of a set know it.
struct On {
    number: usize,
    /// Where the five numbers are in the state.
    counts: [usize; 5],
    /// Where the number of messages that write is in the properties.
    write_recv_total: usize,
}

/// The five numbers of a device in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Numbers {
    in_progress: u32,
    read_send_mask: u32,
    read_recv_count: u32,
    write_recv_count: u32,
    write_send_mask: u32,
}

/// Handlers with a look at all that they do.
struct Wrapper {
    protocol: Arc<Protocol>,
    handlers: Arc<dyn Handlers>,
    kind: Kind,
}

/// The same instance, with handlers that check the protocol.
pub fn checked(instance: &Instance) -> Arc<Instance> {
    let original = instance.graph_type();
    let controller = &original.devices()[original.device("controller").unwrap().index()];
    let names: Vec<String> =
        controller.inputs().iter().map(|pin| pin.name().strip_suffix("_end").unwrap().to_owned()).collect();
    let protocol = Arc::new(Protocol {
        under_way: names.iter().map(|_| AtomicBool::new(false)).collect(),
        in_flight: names.iter().map(|_| AtomicI64::new(0)).collect(),
        names,
        instance: OnceLock::new(),
    });
    let wrap = |kind: &DeviceType| -> Arc<dyn Handlers> {
        let (protocol, handlers) = (Arc::clone(&protocol), Arc::clone(kind.handlers()));
        Arc::new(Wrapper { kind: Kind::of(&protocol.names, kind), protocol, handlers })
    };
    let instance = rebuilt(instance, wrap, |_, _| (), |_| 1);
    protocol.look_at(&instance);
    instance
}

/// The same instance with other handlers, other properties of devices, and as many copies of each edge as are asked for.
pub fn rebuilt(
    instance: &Instance,
    handlers: impl Fn(&DeviceType) -> Arc<dyn Handlers>,
    properties: impl Fn(DeviceId, &mut [u8]),
    copies: impl Fn(EdgeId) -> u32,
) -> Arc<Instance> {
    let original = instance.graph_type();
    let mut builder = GraphType::builder(original.id()).properties(original.properties().clone());
    for message in original.messages() {
        builder = builder.message(message.id(), message.layout().clone());
    }
    let message = |id: drawloom_messages::MessageId| original.messages()[id.index()].id();
    for kind in original.devices() {
        let mut device =
            DeviceType::builder(kind.id()).properties(kind.properties().clone()).state(kind.state().clone());
        for pin in kind.inputs() {
            let new = InputPin::new(pin.name(), message(pin.message()));
            device = device.input(new.with_properties(pin.properties().clone()).with_state(pin.state().clone()));
        }
        for pin in kind.outputs() {
            device = device.output(OutputPin::new(pin.name(), message(pin.message())));
        }
        builder = builder.device(device.shared_handlers(handlers(kind)));
    }
    let mut builder = InstanceBuilder::new(&builder.build().unwrap(), instance.id());
    builder.properties(instance.properties()).unwrap();
    for device in (0..instance.devices() as u32).map(DeviceId) {
        let mut bytes = instance.device_properties(device).to_vec();
        properties(device, &mut bytes);
        let (kind, state) = (instance.type_id(device), instance.initial_state(device));
        builder.device_with(instance.name(device), kind, Some(&bytes), Some(state)).unwrap();
    }
    for (edge, ends) in instance.all_edges() {
        let values = EdgeValues { properties: Some(instance.edge_properties(edge)), ..EdgeValues::default() };
        for _ in 0..copies(edge) {
            builder.edge_with(ends.source, ends.output, ends.target, ends.input, &values).unwrap();
        }
    }
    builder.build().unwrap()
}

impl Kind {
    fn of(names: &[String], kind: &DeviceType) -> Self {
        let at = |member: &str| kind.state().offset_of(member).unwrap();
        if kind.id() == "controller" {
            return Kind::Program { phase: at("phase"), loop_number: at("invocation_index") };
        }
        if let Some(name) = kind.id().strip_prefix("tree_") {
            let name = name.strip_suffix("_begin").or(name.strip_suffix("_end")).unwrap();
            return Kind::Relay(names.iter().position(|other| other == name).unwrap());
        }
        let pins = |pins: Vec<&str>| pins.into_iter().map(|pin| event_of(names, pin)).collect::<Vec<_>>();
        let outputs = pins(kind.outputs().iter().map(OutputPin::name).collect());
        let mut numbers: Vec<usize> = outputs.iter().map(|(number, _)| *number).collect();
        numbers.dedup();
        let on = |number: usize| On {
            number,
            counts: COUNTS.map(|count| at(&format!("{}_{count}", names[number]))),
            write_recv_total: kind.properties().offset_of(&format!("{}_write_recv_total", names[number])).unwrap(),
        };
        let ons: Vec<On> = numbers.into_iter().map(on).collect();
        let in_ons = |list: Vec<(usize, Event)>| -> Vec<(usize, Event)> {
            let place = |number: usize| ons.iter().position(|on| on.number == number).unwrap();
            list.into_iter().map(|(number, event)| (place(number), event)).collect()
        };
        let inputs = in_ons(pins(kind.inputs().iter().map(InputPin::name).collect()));
        let outputs = in_ons(outputs);
        let words = outputs.len().div_ceil(64).max(1);
        Kind::Elements(Elements { inputs, outputs, ready: at("ready"), words, ons })
    }
}

/// The loop and the event of a pin of an element, by its name.
fn event_of(names: &[String], pin: &str) -> (usize, Event) {
    // The name of one loop may be the beginning of that of another one: the longest counts.
    let is_of = |name: &&String| pin.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('_'));
    let name = names.iter().filter(is_of).max_by_key(|name| name.len()).unwrap();
    let event = match &pin[name.len()..] {
        "_begin" => Event::Begin,
        "_execute" => Event::Execute,
        "_end" => Event::End,
        rest if rest.ends_with("_read_recv") => Event::Read,
        rest if rest.ends_with("_write_recv") => Event::Write,
        rest if rest.ends_with("_read_send") => Event::ReadSend,
        rest if rest.ends_with("_write_send") => Event::WriteSend,
        rest => panic!("{rest} is no pin of a loop"),
    };
    (names.iter().position(|other| other == name).unwrap(), event)
}

/// The five numbers of a loop in the state of a device.
const COUNTS: [&str; 5] = ["in_progress", "read_send_mask", "read_recv_count", "write_recv_count", "write_send_mask"];

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

impl On {
    fn numbers(&self, state: &[u8]) -> Numbers {
        let [in_progress, read_send_mask, read_recv_count, write_recv_count, write_send_mask] =
            self.counts.map(|at| number(state, at));
        Numbers { in_progress, read_send_mask, read_recv_count, write_recv_count, write_send_mask }
    }
}

impl Elements {
    /// Which pins want to send, by the numbers alone. `waits_for` is how many messages a kernel waits for in each loop.
    fn wanting(&self, device: &Device<'_>, waits_for: &[u32]) -> Vec<u64> {
        let mut words = vec![0; self.words];
        let (mut reads, mut writes) = (vec![0; self.ons.len()], vec![0; self.ons.len()]);
        let next = |count: &mut u32| std::mem::replace(count, *count + 1);
        for (pin, (on, event)) in self.outputs.iter().enumerate() {
            let numbers = self.ons[*on].numbers(device.state);
            let total = number(device.properties, self.ons[*on].write_recv_total);
            let rest = (numbers.read_recv_count, numbers.read_send_mask, numbers.write_send_mask);
            let wants = match event {
                Event::ReadSend => numbers.read_send_mask >> next(&mut reads[*on]) & 1 == 1,
                Event::WriteSend => numbers.write_send_mask >> next(&mut writes[*on]) & 1 == 1,
                Event::Execute => numbers.read_recv_count == waits_for[*on],
                _ => numbers.write_recv_count == total && rest == (0, 0, 0),
            };
            words[pin / 64] |= u64::from(wants && numbers.in_progress != 0) << (pin % 64);
        }
        words
    }

    /// Which pins want to send, as the state has it.
    fn wanted(&self, state: &[u8]) -> Vec<u64> {
        let word = |word: usize| &state[self.ready + 8 * word..][..8];
        (0..self.words).map(|number| u64::from_ne_bytes(word(number).try_into().unwrap())).collect()
    }
}

impl Protocol {
    /// The instance whose devices have these handlers.
    fn look_at(&self, instance: &Instance) {
        let pins = |of: fn(&DeviceType) -> usize| -> Vec<Vec<u32>> {
            let devices = (0..instance.devices() as u32).map(DeviceId);
            devices.map(|device| vec![0; of(instance.type_of(device))]).collect()
        };
        let (mut inputs, mut outputs) = (pins(|kind| kind.inputs().len()), pins(|kind| kind.outputs().len()));
        for (_, ends) in instance.all_edges() {
            inputs[ends.target.index()][ends.input.index()] += 1;
            outputs[ends.source.index()][ends.output.index()] += 1;
        }
        // As many as there are loops in the program, which is never less than those that a device takes part in.
        let none = || Mutex::new(vec![Progress::default(); self.names.len()]);
        let devices = (0..instance.devices()).map(|_| none()).collect();
        assert!(self.instance.set(Seen { inputs, outputs, devices }).is_ok(), "it looks at one instance");
    }

    fn seen(&self) -> &Seen {
        self.instance.get().expect("it looks at an instance before that runs")
    }

    /// A message of a loop arrived.
    fn arrived(&self, loop_number: usize) -> Result<(), String> {
        self.in_flight[loop_number].fetch_sub(1, Ordering::SeqCst);
        let name = &self.names[loop_number];
        match self.under_way[loop_number].load(Ordering::SeqCst) {
            true => Ok(()),
            false => Err(format!("a message of loop `{name}` arrives, which is not under way")),
        }
    }

    /// A device sends a message of a loop.
    fn leaves(&self, loop_number: usize, device: DeviceId, pin: OutputId, sent: Sent) {
        let edges = match sent {
            Sent::Broadcast => self.seen().outputs[device.index()][pin.index()],
            Sent::Edge(_) => 1,
            Sent::Cancelled => 0,
        };
        self.in_flight[loop_number].fetch_add(i64::from(edges), Ordering::SeqCst);
    }

    /// Looks whether a loop is at its end where the program says that it is.
    fn ended(&self, loop_number: usize) -> Result<(), String> {
        self.under_way[loop_number].store(false, Ordering::SeqCst);
        let name = &self.names[loop_number];
        let in_flight = self.in_flight[loop_number].load(Ordering::SeqCst);
        if in_flight != 0 {
            return Err(format!("loop `{name}` is said to be at its end, but {in_flight} messages are in flight"));
        }
        let is_in = |progress: &Mutex<Vec<Progress>>| progress.lock().unwrap()[loop_number] != Progress::default();
        match self.seen().devices.iter().position(is_in) {
            Some(device) => Err(format!("loop `{name}` is said to be at its end, but device {device} has not left it")),
            None => Ok(()),
        }
    }

    fn began(&self, loop_number: usize) -> Result<(), String> {
        let name = &self.names[loop_number];
        if self.under_way[loop_number].swap(true, Ordering::SeqCst) {
            return Err(format!("loop `{name}` begins while it is under way"));
        }
        let is_other = |other: &usize| *other != loop_number && self.under_way[*other].load(Ordering::SeqCst);
        match (0..self.names.len()).find(is_other) {
            Some(other) => Err(format!("loop `{name}` begins while `{}` is under way", self.names[other])),
            None => Ok(()),
        }
    }
}

/// What happens to a device in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Begin,
    Read,
    Write,
    ReadSend,
    Execute,
    WriteSend,
    End,
}

impl Progress {
    fn add(&mut self, event: Event) {
        match event {
            Event::Begin => self.begins += 1,
            Event::Read => self.reads += 1,
            Event::Write => self.writes += 1,
            Event::ReadSend => self.read_sends += 1,
            Event::Execute => self.executions += 1,
            Event::WriteSend => self.write_sends += 1,
            Event::End => {}
        }
    }

    /// Whether nothing happened more often than it must.
    fn is_within(&self, all: &Progress) -> bool {
        let pairs = [
            (self.begins, all.begins),
            (self.reads, all.reads),
            (self.writes, all.writes),
            (self.executions, all.executions),
            (self.read_sends, all.read_sends),
            (self.write_sends, all.write_sends),
        ];
        pairs.iter().all(|(so_far, all)| so_far <= all)
    }

    /// What the numbers of a device must be that is in the loop.
    fn agrees(&self, numbers: &Numbers, all: &Progress) -> Result<(), &'static str> {
        let is_executed = self.executions > 0;
        let waited_for = self.reads == all.reads && self.begins == all.begins;
        let rules = [
            (self.is_within(all), "something came or was done more often than it must"),
            (numbers.in_progress == 1, "it does not know that it is in the loop"),
            (
                numbers.read_recv_count == if is_executed { 0 } else { self.reads + self.begins },
                "read_recv_count is not what arrived to be read",
            ),
            (
                numbers.write_recv_count == self.writes + self.executions,
                "write_recv_count is not what was written to it",
            ),
            (
                numbers.read_send_mask.count_ones() == all.read_sends - self.read_sends.min(all.read_sends),
                "read_send_mask is not what it has still to send",
            ),
            (
                (numbers.write_send_mask != 0) == (is_executed && self.write_sends < all.write_sends),
                "write_send_mask is not what it has still to send",
            ),
            (!is_executed || waited_for, "it executed before all that it waits for had arrived"),
            (self.write_sends == 0 || is_executed, "it sent results before it had any"),
        ];
        rules.iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, text)| Err(*text))
    }
}

impl Wrapper {
    /// What a device must hear and do in a loop, by the edges of the instance.
    fn expected(&self, elements: &Elements, on: usize, device: DeviceId) -> Progress {
        let seen = self.protocol.seen();
        let mut all = Progress::default();
        for ((of, event), edges) in elements.inputs.iter().zip(&seen.inputs[device.index()]) {
            (0..*edges).filter(|_| *of == on).for_each(|_| all.add(*event));
        }
        elements.outputs.iter().filter(|(of, _)| *of == on).for_each(|(_, event)| all.add(*event));
        all
    }

    /// Something happens to a device of an element: calls its handler, and looks at what that does.
    fn element<'d, R>(
        &self,
        elements: &Elements,
        (on, event): (usize, Event),
        device: &mut Device<'d>,
        call: impl FnOnce(&mut Device<'d>) -> R,
    ) -> R {
        let (id, this) = (device.id(), &elements.ons[on]);
        let mut list = self.protocol.seen().devices[id.index()].lock().unwrap();
        let before: Vec<Numbers> = elements.ons.iter().map(|on| on.numbers(device.state)).collect();
        let result = call(device);
        let expected = self.expected(elements, on, id);
        let is_outside = list[this.number] == Progress::default();
        list[this.number].add(event);
        let progress = list[this.number];
        let after = this.numbers(device.state);
        let has_left = after.in_progress == 0;
        if has_left {
            list[this.number] = Progress::default();
        }
        let untouched = elements
            .ons
            .iter()
            .zip(&before)
            .enumerate()
            .all(|(number, (other, numbers))| number == on || other.numbers(device.state) == *numbers);
        let close = (elements.ons.iter())
            .find(|other| other.number != this.number && list[other.number] != Progress::default());
        // In no other loop is it to want anything.
        let mut waits_for = vec![0; elements.ons.len()];
        waits_for[on] = expected.reads + expected.begins;
        let rules = [
            (is_outside == (before[on] == Numbers::default()), "its numbers are not zero outside of the loop"),
            (
                !is_outside || matches!(event, Event::Begin | Event::Read | Event::Write),
                "it did something outside of it",
            ),
            (untouched, "it changed the numbers of another loop"),
            (close.is_none(), "it is in another loop too"),
            (!has_left || after == Numbers::default(), "it left numbers behind"),
            (!has_left || progress == expected, "it left before all had come and gone"),
            (!has_left || event == Event::End, "it left without a message of its end"),
            (has_left || event != Event::End, "it said that it is at the end, and is not"),
            (
                elements.wanted(device.state) == elements.wanting(device, &waits_for),
                "the pins that want to send are not those that its numbers say",
            ),
        ];
        let broken = rules.iter().find(|(holds, _)| !holds).map(|(_, text)| *text);
        let broken = broken.or_else(|| match has_left {
            true => None,
            false => progress.agrees(&after, &expected).err(),
        });
        let name = &self.protocol.names[this.number];
        device.assert(broken.is_none(), || {
            let text = broken.unwrap_or_default();
            format!("loop `{name}`, {event:?}: {text}; {progress:?} of {expected:?}, {after:?}")
        });
        result
    }
}

impl Handlers for Wrapper {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let loop_number = match &self.kind {
            Kind::Elements(elements) => elements.ons[elements.inputs[pin.index()].0].number,
            Kind::Relay(number) => *number,
            Kind::Program { .. } => pin.index(),
        };
        if let Err(text) = self.protocol.arrived(loop_number) {
            device.assert(false, || text);
        }
        match &self.kind {
            Kind::Elements(elements) => {
                let what = elements.inputs[pin.index()];
                self.element(elements, what, device, |device| self.handlers.receive(pin, device, message, edge));
            }
            Kind::Relay(_) => self.handlers.receive(pin, device, message, edge),
            Kind::Program { phase, loop_number: at } => {
                self.handlers.receive(pin, device, message, edge);
                let is_under_way = (number(device.state, *phase), number(device.state, *at)) == (2, loop_number as u32);
                self.look_at_end(is_under_way, loop_number, device);
            }
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        self.handlers.ready(device, pins);
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let (loop_number, sent) = match &self.kind {
            Kind::Elements(elements) => {
                let what = elements.outputs[pin.index()];
                let sent = self.element(elements, what, device, |device| self.handlers.send(pin, device, message));
                (elements.ons[what.0].number, sent)
            }
            Kind::Relay(number) => (*number, self.handlers.send(pin, device, message)),
            Kind::Program { .. } => {
                let sent = self.handlers.send(pin, device, message);
                let Some(number) = pin.index().checked_sub(1) else { return sent };
                if let Err(text) = self.protocol.began(number) {
                    device.assert(false, || text);
                }
                (number, sent)
            }
        };
        self.protocol.leaves(loop_number, device.id(), pin, sent);
        sent
    }

    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        self.handlers.waits_for(device)
    }

    fn ready_at(&self) -> Option<usize> {
        self.handlers.ready_at()
    }

    fn hears_idle(&self) -> bool {
        self.handlers.hears_idle()
    }
}

impl Wrapper {
    /// Looks at a loop, if the program has just found that it is at its end.
    fn look_at_end(&self, is_under_way: bool, loop_number: usize, device: &mut Device<'_>) {
        let was = self.protocol.under_way[loop_number].load(Ordering::SeqCst);
        if was
            && !is_under_way
            && let Err(text) = self.protocol.ended(loop_number)
        {
            device.assert(false, || text);
        }
    }
}
