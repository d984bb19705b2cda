//! Whether the protocol is kept, looked at with every message.
//!
//! Handlers are wrapped. For every device and every loop the wrapper counts for itself what came and went, from the messages
//! alone, and compares that with the numbers that the device keeps. What a device must hear is taken from the edges of the
//! instance, not from what the device was told to expect. So these hold after every event, or the run stops:
//!
//! 1. A device that is in no loop has nothing but zeros: nothing heard, nothing to send.
//! 2. A device enters a loop when a message of it arrives, and leaves it when it says that it is at the end.
//! 3. The two counts are what has arrived, and never more than what comes; a mask holds what has not been sent.
//! 4. A kernel runs once, when all that it waits for has arrived. Results leave after it. Each value and result leaves once.
//! 5. A device is at the end when all has arrived and left, the word to begin included: work may be done before that word
//!    comes, the end never is.
//! 6. A message arrives while its loop is under way. When a loop is at its end, none of its messages is in flight and all its
//!    devices have left it. So no message of one loop, or of one run of it, meets the next.
//! 7. No device is in two loops at once.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use drawloom_messages::{Device, DeviceId, DeviceView, EdgeView, Handlers, InputId, Instance, OutputId, Pins, Sent};
use parking_lot::Mutex;

use super::controller::Controller;
use super::element::{Elements, Input, Numbers, Output};
use super::involved::Invocation;

/// What all wrappers share.
pub(super) struct Watch {
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
pub(super) enum Watched {
    Elements(Arc<Elements>),
    /// A device of the tree of a loop.
    Relay(usize),
    Program(Arc<Controller>),
}

/// Handlers with a look at all that they do.
struct Wrapper {
    watch: Arc<Watch>,
    handlers: Arc<dyn Handlers>,
    what: Watched,
}

impl Watch {
    pub(super) fn new(invocations: &[Invocation]) -> Self {
        Self {
            names: invocations.iter().map(|invocation| invocation.name.clone()).collect(),
            under_way: invocations.iter().map(|_| AtomicBool::new(false)).collect(),
            in_flight: invocations.iter().map(|_| AtomicI64::new(0)).collect(),
            instance: OnceLock::new(),
        }
    }

    /// Wraps handlers.
    pub(super) fn over(self: &Arc<Self>, handlers: Arc<dyn Handlers>, what: Watched) -> Arc<dyn Handlers> {
        Arc::new(Wrapper { watch: Arc::clone(self), handlers, what })
    }

    /// The instance whose devices have these handlers.
    pub(super) fn look_at(&self, instance: &Instance) {
        let pins = |of: fn(&drawloom_messages::DeviceType) -> usize| -> Vec<Vec<u32>> {
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
        assert!(self.instance.set(Seen { inputs, outputs, devices }).is_ok(), "a watch looks at one instance");
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
        let is_in = |progress: &Mutex<Vec<Progress>>| progress.lock()[loop_number] != Progress::default();
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

fn input_of(input: &Input) -> (usize, Event) {
    match input {
        Input::Begin { on, .. } => (*on, Event::Begin),
        Input::Read { on, .. } => (*on, Event::Read),
        Input::Write { on, .. } => (*on, Event::Write),
    }
}

fn output_of(output: &Output) -> (usize, Event) {
    match output {
        Output::ReadSend { on, .. } => (*on, Event::ReadSend),
        Output::Execute { on } => (*on, Event::Execute),
        Output::WriteSend { on, .. } => (*on, Event::WriteSend),
        Output::End { on, .. } => (*on, Event::End),
    }
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
        let seen = self.watch.seen();
        let mut all = Progress::default();
        for (input, edges) in elements.inputs.iter().zip(&seen.inputs[device.index()]) {
            let (of, event) = input_of(input);
            (0..*edges).filter(|_| of == on).for_each(|_| all.add(event));
        }
        let of_loop = elements.outputs.iter().map(output_of).filter(|(of, _)| *of == on);
        of_loop.for_each(|(_, event)| all.add(event));
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
        let mut list = self.watch.seen().devices[id.index()].lock();
        let before: Vec<Numbers> = elements.ons.iter().map(|on| Numbers::of(on, device.state)).collect();
        let result = call(device);
        let expected = self.expected(elements, on, id);
        let is_outside = list[this.number] == Progress::default();
        list[this.number].add(event);
        let progress = list[this.number];
        let after = Numbers::of(this, device.state);
        let has_left = after.in_progress == 0;
        if has_left {
            list[this.number] = Progress::default();
        }
        let untouched = elements
            .ons
            .iter()
            .zip(&before)
            .enumerate()
            .all(|(number, (other, numbers))| number == on || Numbers::of(other, device.state) == *numbers);
        let close = (elements.ons.iter())
            .find(|other| other.number != this.number && list[other.number] != Progress::default());
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
                elements.wanted(device.state) == elements.wanting(device.state, device.properties),
                "the pins that want to send are not those that its numbers say",
            ),
        ];
        let broken = rules.iter().find(|(holds, _)| !holds).map(|(_, text)| *text);
        let broken = broken.or_else(|| match has_left {
            true => None,
            false => progress.agrees(&after, &expected).err(),
        });
        let name = &self.watch.names[this.number];
        device.assert(broken.is_none(), || {
            let text = broken.unwrap_or_default();
            format!("loop `{name}`, {event:?}: {text}; {progress:?} of {expected:?}, {after:?}")
        });
        result
    }
}

impl Handlers for Wrapper {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let loop_number = match &self.what {
            Watched::Elements(elements) => elements.ons[input_of(&elements.inputs[pin.index()]).0].number,
            Watched::Relay(number) => *number,
            Watched::Program(_) => pin.index(),
        };
        if let Err(text) = self.watch.arrived(loop_number) {
            device.assert(false, || text);
        }
        match &self.what {
            Watched::Elements(elements) => {
                let what = input_of(&elements.inputs[pin.index()]);
                self.element(elements, what, device, |device| self.handlers.receive(pin, device, message, edge));
            }
            Watched::Relay(_) => self.handlers.receive(pin, device, message, edge),
            Watched::Program(program) => {
                self.handlers.receive(pin, device, message, edge);
                self.look_at_end(program, loop_number, device);
            }
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        self.handlers.ready(device, pins);
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let (loop_number, sent) = match &self.what {
            Watched::Elements(elements) => {
                let what = output_of(&elements.outputs[pin.index()]);
                let sent = self.element(elements, what, device, |device| self.handlers.send(pin, device, message));
                (elements.ons[what.0].number, sent)
            }
            Watched::Relay(number) => (*number, self.handlers.send(pin, device, message)),
            Watched::Program(_) => {
                let sent = self.handlers.send(pin, device, message);
                let Some(number) = pin.index().checked_sub(1) else { return sent };
                if let Err(text) = self.watch.began(number) {
                    device.assert(false, || text);
                }
                (number, sent)
            }
        };
        self.watch.leaves(loop_number, device.id(), pin, sent);
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
    fn look_at_end(&self, program: &Controller, loop_number: usize, device: &mut Device<'_>) {
        let was = self.watch.under_way[loop_number].load(Ordering::SeqCst);
        if was
            && !program.is_under_way(device.state, loop_number)
            && let Err(text) = self.watch.ended(loop_number)
        {
            device.assert(false, || text);
        }
    }
}
