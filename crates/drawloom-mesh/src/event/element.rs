//! What the devices of elements do.
//!
//! Of every loop that it takes part in, a device keeps five numbers: whether it knows of it, which of its values it has still
//! to send, how much it has received to begin and to read, how much was written to it, its own execution included, and
//! which of its results it has still to send. All are zero when it is not in the loop.
//!
//! Which pins want to send follows from these numbers. It is kept beside them, a bit for each pin, and changed where they
//! change, because it is asked for far more often.

#![allow(unsafe_code)]

use std::sync::Arc;

use drawloom_messages::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};
use drawloom_runtime::panic;

use super::wiring::ones;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::mesh::store::Validity;
use crate::program::statement::LoopDecl;
use crate::run::{Trouble, not_written};

const IN_PROGRESS: usize = 0;
const READ_SEND_MASK: usize = 4;
const READ_RECV_COUNT: usize = 8;
const WRITE_RECV_COUNT: usize = 12;
const WRITE_SEND_MASK: usize = 16;

/// A loop, as the devices of a set know it.
pub(super) struct On {
    /// Where the five numbers are in the state.
    pub(super) counts: usize,
    /// Where the number of messages that write is in the properties.
    pub(super) write_recv_total: usize,
    pub(super) read_recv_total: u32,
    /// Which values a device sends to be read: a bit for each dat of its set that the loop reads through maps.
    pub(super) read_send_mask_all: u32,
    /// The first of the pins over which values are sent to be read.
    pub(super) first_read: u32,
    /// The pin over which devices execute.
    pub(super) execute: u32,
    /// The pins over which results are sent.
    pub(super) first_write: u32,
    pub(super) writes: u32,
    pub(super) end: u32,
    /// The name of the loop.
    pub(super) name: String,
    /// On the loop's own set, the kernel.
    pub(super) execution: Option<Execution>,
}

/// A kernel, and where its arguments are.
pub(super) struct Execution {
    pub(super) decl: Arc<LoopDecl>,
    pub(super) args: Vec<ArgAt>,
    /// What contributions are collected in, made empty first.
    pub(super) empty: Vec<(usize, Folding)>,
    /// Where the number of the element is noted in what is collected, and where it is among the properties.
    pub(super) marks: Vec<(usize, usize)>,
    /// The arguments that the kernel looks at, and that not all bytes are values of.
    pub(super) checked: Vec<Checked>,
    pub(super) records: Records,
}

/// An argument that not all bytes are values of: what a file or a caller has put there is checked before a kernel runs.
pub(super) struct Checked {
    pub(super) arg: ArgAt,
    /// The bytes of an element, and how many elements there are.
    pub(super) size: usize,
    pub(super) count: usize,
    pub(super) is_valid: Validity,
    /// What it is called in messages.
    pub(super) what: String,
}

/// How many bytes the records of a device have.
#[derive(Clone, Copy)]
pub(super) struct Records {
    pub(super) graph: usize,
    pub(super) properties: usize,
    pub(super) state: usize,
}

impl Records {
    /// Refuses a device whose records are not those that were declared. Handlers may be wrapped, and given anything.
    ///
    /// # Panics
    /// When they are others.
    pub(super) fn check(&self, device: &Device<'_>) {
        let records = [(device.graph, self.graph), (device.properties, self.properties), (&*device.state, self.state)];
        for (bytes, size) in records {
            let is_aligned = size == 0 || bytes.as_ptr().cast::<u64>().is_aligned();
            assert!(bytes.len() == size && is_aligned, "a record has another size or alignment than its layout");
        }
    }
}

/// Where an argument is.
#[derive(Clone, Copy)]
pub(super) enum ArgAt {
    State(usize),
    Graph(usize),
    Properties(usize),
    /// The size of a set, among the properties of the graph.
    Size(usize),
    Absent,
}

/// What a message at a pin means.
pub(super) enum Input {
    /// The loop begins. Values are copied: where they are in the message, where they go, how many bytes.
    Begin { on: usize, copies: Vec<(usize, usize, usize)> },
    /// A value that the kernel reads; if there are several, the edge says which.
    Read { on: usize, to: usize, size: usize, columns: Option<usize> },
    /// A value that was written; if the message has several, the edge says which.
    Write { on: usize, to: usize, size: usize, columns: Option<usize>, folding: Option<Folding> },
}

/// What a pin sends.
pub(super) enum Output {
    ReadSend {
        on: usize,
        bit: u32,
        from: usize,
        size: usize,
    },
    Execute {
        on: usize,
    },
    WriteSend {
        on: usize,
        bit: u32,
        from: usize,
        size: usize,
    },
    /// Contributions to globals: where they go in the message, where they are, and what they are elsewhere.
    End {
        on: usize,
        parts: Vec<(usize, Option<usize>, Folding)>,
    },
}

/// The devices of one set.
pub(super) struct Elements {
    /// Where the bits of the pins that want to send are in the state, and how many words they are.
    pub(super) ready: usize,
    pub(super) words: usize,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    pub(super) ons: Vec<On>,
    /// The number of the first device, if they are those of a mesh in the order of its elements. Those of a file may not be.
    pub(super) first: Option<usize>,
    pub(super) trouble: Arc<Trouble>,
}

#[inline]
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline]
pub(super) fn set_number(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

#[inline]
fn add(bytes: &mut [u8], at: usize) {
    let value = number(bytes, at) + 1;
    set_number(bytes, at, value);
}

#[inline]
fn bits(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// More came than is counted: somebody has drawn an edge twice.
#[cold]
fn too_many(on: &On, device: &mut Device<'_>, total: u32, until: &str) {
    device.assert(false, || format!("more than {total} messages of loop `{}` came {until}", on.name));
}

impl On {
    /// Whether a device is at the end.
    #[inline]
    fn is_at_end(&self, state: &[u8], properties: &[u8]) -> bool {
        let at = self.counts;
        number(state, at + WRITE_RECV_COUNT) == number(properties, self.write_recv_total)
            && number(state, at + READ_RECV_COUNT) == 0
            && number(state, at + READ_SEND_MASK) == 0
            && number(state, at + WRITE_SEND_MASK) == 0
    }
}

impl Elements {
    /// A pin wants to send from now on.
    #[inline]
    fn want(&self, state: &mut [u8], pin: u32) {
        let at = self.ready + pin as usize / 64 * 8;
        let word = bits(state, at) | 1 << (pin % 64);
        state[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }

    /// A pin does not want to send any more.
    #[inline]
    fn unwant(&self, state: &mut [u8], pin: u32) {
        let at = self.ready + pin as usize / 64 * 8;
        let word = bits(state, at) & !(1 << (pin % 64));
        state[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }

    /// The pins of a mask want to send, counted from a first one.
    #[inline]
    fn want_all(&self, state: &mut [u8], first: u32, mut mask: u32) {
        while mask != 0 {
            self.want(state, first + mask.trailing_zeros());
            mask &= mask - 1;
        }
    }

    /// Any message of a loop says that it has begun.
    #[inline]
    fn enter(&self, on: &On, device: &mut Device<'_>) {
        if number(device.state, on.counts + IN_PROGRESS) == 0 {
            set_number(device.state, on.counts + IN_PROGRESS, 1);
            set_number(device.state, on.counts + READ_SEND_MASK, on.read_send_mask_all);
            self.want_all(device.state, on.first_read, on.read_send_mask_all);
        }
    }

    /// Something arrived that the kernel waits for.
    #[inline]
    fn count_read(&self, on: &On, device: &mut Device<'_>) {
        let count = number(device.state, on.counts + READ_RECV_COUNT) + 1;
        set_number(device.state, on.counts + READ_RECV_COUNT, count);
        if count == on.read_recv_total {
            self.want(device.state, on.execute);
        }
        if count > on.read_recv_total {
            too_many(on, device, on.read_recv_total, "before it executes");
        }
    }

    /// A device that is at the end says so.
    #[inline]
    fn look_for_end(&self, on: &On, device: &mut Device<'_>) {
        if on.is_at_end(device.state, device.properties) {
            return self.want(device.state, on.end);
        }
        let total = number(device.properties, on.write_recv_total);
        if number(device.state, on.counts + WRITE_RECV_COUNT) > total {
            too_many(on, device, total, "until its end");
        }
    }
}

impl Handlers for Elements {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let input = &self.inputs[pin.index()];
        let mut column = 0;
        if let Input::Read { columns: Some(columns), .. } | Input::Write { columns: Some(columns), .. } = input {
            column = number(edge.properties, 0) as usize;
            if column >= *columns {
                return device.assert(false, || format!("there is no column {column}, but {columns} of them"));
            }
        }
        let on = match input {
            Input::Begin { on, copies } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                self.count_read(on, device);
                for &(from, to, size) in copies {
                    device.state[to..to + size].copy_from_slice(&message[from..from + size]);
                }
                on
            }
            Input::Read { on, to, size, .. } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                self.count_read(on, device);
                let to = to + column * size;
                device.state[to..to + size].copy_from_slice(&message[..*size]);
                // It executes later, so this is never the end.
                return;
            }
            Input::Write { on, to, size, folding, .. } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                add(device.state, on.counts + WRITE_RECV_COUNT);
                let from = &message[column * size..][..*size];
                let to = &mut device.state[*to..*to + *size];
                match folding {
                    None => to.copy_from_slice(from),
                    Some(folding) => folding.fold_bytes(to, from),
                }
                on
            }
        };
        self.look_for_end(on, device);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        for word in 0..self.words {
            pins.insert_bits(word, bits(device.state, self.ready + 8 * word));
        }
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let clear = |state: &mut [u8], at: usize, bit: u32| {
            let mask = number(state, at) & !(1 << bit);
            set_number(state, at, mask);
            self.unwant(state, pin.0);
        };
        let on = match &self.outputs[pin.index()] {
            Output::ReadSend { on, bit, from, size } => {
                let on = &self.ons[*on];
                message[..*size].copy_from_slice(&device.state[*from..from + size]);
                clear(device.state, on.counts + READ_SEND_MASK, *bit);
                on
            }
            Output::WriteSend { on, bit, from, size } => {
                let on = &self.ons[*on];
                message[..*size].copy_from_slice(&device.state[*from..from + size]);
                clear(device.state, on.counts + WRITE_SEND_MASK, *bit);
                on
            }
            Output::Execute { on } => {
                let on = &self.ons[*on];
                set_number(device.state, on.counts + READ_RECV_COUNT, 0);
                add(device.state, on.counts + WRITE_RECV_COUNT);
                self.unwant(device.state, pin.0);
                if on.writes > 0 {
                    set_number(device.state, on.counts + WRITE_SEND_MASK, ones(on.writes as usize));
                    self.want_all(device.state, on.first_write, ones(on.writes as usize));
                }
                if let Some(execution) = &on.execution {
                    let said = match panic::catch(|| execution.run(device)) {
                        Ok(Ok(())) => None,
                        Ok(Err(_)) => Some(not_written(self.first.map(|first| device.id().index() - first))),
                        Err(said) => Some(said),
                    };
                    if let Some(said) = said {
                        let message = self.trouble.note(execution.decl.failed(&said));
                        device.assert(false, || message);
                    }
                }
                on
            }
            Output::End { on, parts } => {
                for (to, from, folding) in parts {
                    match from {
                        Some(from) => {
                            let from = &device.state[*from..from + folding.size];
                            message[*to..to + folding.size].copy_from_slice(from);
                        }
                        None => folding.write_identity(&mut message[*to..to + folding.size]),
                    }
                }
                let counts = self.ons[*on].counts;
                device.state[counts..counts + 20].fill(0);
                self.unwant(device.state, pin.0);
                return Sent::Broadcast;
            }
        };
        self.look_for_end(on, device);
        Sent::Broadcast
    }

    fn ready_at(&self) -> Option<usize> {
        (self.words == 1).then_some(self.ready)
    }

    fn hears_idle(&self) -> bool {
        false
    }

    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        let count = |on: &On, at: usize| number(device.state, on.counts + at);
        let on = self.ons.iter().find(|on| count(on, 0) != 0)?;
        let written = number(device.properties, on.write_recv_total);
        // The word to begin and the execution are counted with what comes.
        Some(format!(
            "it is in loop `{}`, where {} of {} messages came before it executes, and {} of {written} until its end",
            on.name,
            count(on, READ_RECV_COUNT),
            on.read_recv_total,
            count(on, WRITE_RECV_COUNT)
        ))
    }
}

impl Execution {
    /// Calls the kernel for the device's element.
    fn run(&self, device: &mut Device<'_>) -> Result<(), usize> {
        self.records.check(device);
        for Checked { arg, size, count, is_valid, what } in &self.checked {
            let bytes = match *arg {
                ArgAt::State(at) => &device.state[at..at + size * count],
                ArgAt::Graph(at) => &device.graph[at..at + size * count],
                ArgAt::Properties(_) | ArgAt::Size(_) | ArgAt::Absent => continue,
            };
            assert!(bytes.chunks(*size).all(is_valid), "{what} holds bytes that are no value of its type");
        }
        for (at, folding) in &self.empty {
            folding.write_identity(&mut device.state[*at..at + folding.size]);
        }
        for (to, from) in &self.marks {
            let element = number(device.properties, *from);
            set_number(device.state, *to, element);
        }
        let state = device.state.as_mut_ptr();
        let mut places = [Place::NOWHERE; 16];
        for (place, arg) in places.iter_mut().zip(&self.args) {
            place.fixed = true;
            // SAFETY: the offsets are those of members, within their records, whose sizes were checked above.
            unsafe {
                match *arg {
                    ArgAt::State(at) => place.base = state.add(at),
                    ArgAt::Graph(at) => place.base = device.graph.as_ptr().add(at).cast_mut(),
                    ArgAt::Properties(at) => place.base = device.properties.as_ptr().add(at).cast_mut(),
                    ArgAt::Size(at) => place.size = number(device.graph, at) as usize,
                    ArgAt::Absent => place.present = false,
                }
            }
        }
        // SAFETY: every argument has its own members in the state, which is this device's alone, or is only read; members
        // hold values of the types of the arguments, at addresses that suit them, as was checked above.
        unsafe { self.decl.body.run(&places[..self.args.len()], 0..1) }
    }
}
