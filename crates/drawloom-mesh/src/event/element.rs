//! What the devices of elements do.
//!
//! Of every loop that it takes part in, a device keeps five numbers: whether it knows of it, which of its values it has still
//! to send, how much it has received to begin and to read, how much was written to it, its own execution included, and
//! which of its results it has still to send. All are zero when it is not in the loop.

use std::sync::Arc;

use drawloom_event::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};

use super::wiring::ones;
use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::program::statement::LoopDecl;
use crate::run::not_written;

const IN_PROGRESS: usize = 0;
const READ_SEND_MASK: usize = 4;
const READ_RECV_COUNT: usize = 8;
const WRITE_RECV_COUNT: usize = 12;
const WRITE_SEND_MASK: usize = 16;

/// The five numbers of a device in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) in_progress: u32,
    pub(super) read_send_mask: u32,
    pub(super) read_recv_count: u32,
    pub(super) write_recv_count: u32,
    pub(super) write_send_mask: u32,
}

impl Numbers {
    pub(super) fn of(on: &On, state: &[u8]) -> Self {
        let at = |number_at: usize| number(state, on.counts + number_at);
        Self {
            in_progress: at(IN_PROGRESS),
            read_send_mask: at(READ_SEND_MASK),
            read_recv_count: at(READ_RECV_COUNT),
            write_recv_count: at(WRITE_RECV_COUNT),
            write_send_mask: at(WRITE_SEND_MASK),
        }
    }
}

/// A number that all devices of a set have, or that each has as a property, there.
#[derive(Clone, Copy, Debug)]
pub(super) enum Each {
    Same(u32),
    Own(usize),
}

impl Each {
    #[inline]
    pub(super) fn of(self, properties: &[u8]) -> u32 {
        match self {
            Each::Same(value) => value,
            Each::Own(at) => number(properties, at),
        }
    }
}

/// A loop, as the devices of a set know it.
pub(super) struct On {
    /// The number of the loop in the program.
    pub(super) number: usize,
    /// Where the five numbers are in the state.
    pub(super) counts: usize,
    /// Where the number of messages that write is in the properties.
    pub(super) write_recv_total: usize,
    pub(super) read_recv_total: u32,
    /// Which values a device sends to be read, and whether it says that it is at the end.
    pub(super) read_send_mask_all: Each,
    pub(super) ends: Each,
    /// Its bit among those that say which loops a device is in.
    pub(super) bit: u32,
    /// The first of the pins over which values are sent to be read.
    pub(super) first_read: u32,
    /// Whether devices execute, and the pin for that.
    pub(super) execute: Option<u32>,
    /// The pins over which results are sent.
    pub(super) first_write: u32,
    pub(super) writes: u32,
    pub(super) end: u32,
    /// On the loop's own set, the kernel.
    pub(super) execution: Option<Execution>,
}

/// A kernel, and where its arguments are.
pub(super) struct Execution {
    pub(super) decl: Arc<LoopDecl>,
    pub(super) args: Vec<ArgAt>,
    /// What contributions are collected in, made empty first.
    pub(super) empty: Vec<(usize, Folding)>,
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
    /// The loop begins. Values are copied: where they are in the message, where they go, how many bytes. If the kernel need
    /// not wait for it, it is counted among what is written.
    Begin { on: usize, copies: Vec<(usize, usize, usize)>, is_read: bool },
    /// A value that the kernel reads.
    Read { on: usize, to: usize, size: usize, whole: bool },
    /// A value that was written.
    Write { on: usize, to: usize, size: usize, whole: bool, folding: Option<Folding> },
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
    /// What is written through all columns of a map, one column after the other. Which is next is in the state.
    PartSend {
        on: usize,
        bit: u32,
        from: usize,
        size: usize,
        next: usize,
        columns: u32,
    },
    /// Contributions to globals: where they go in the message, where they are, and what they are elsewhere.
    End {
        on: usize,
        parts: Vec<(usize, Option<usize>, Folding)>,
    },
}

/// The devices of one set.
pub(super) struct Elements {
    /// Where the bits are in the state that say which loops a device is in. The last bit stands for all loops from there on.
    pub(super) active: usize,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<Output>,
    pub(super) ons: Vec<On>,
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

#[inline]
fn set_bits(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
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
    /// Any message of a loop says that it has begun.
    #[inline]
    fn enter(&self, on: &On, device: &mut Device<'_>) {
        if number(device.state, on.counts + IN_PROGRESS) == 0 {
            set_number(device.state, on.counts + IN_PROGRESS, 1);
            set_number(device.state, on.counts + READ_SEND_MASK, on.read_send_mask_all.of(device.properties));
            let active = bits(device.state, self.active) | 1 << on.bit;
            set_bits(device.state, self.active, active);
        }
    }

    /// The loop is at its end for a device.
    #[inline]
    fn leave(&self, on: &On, state: &mut [u8]) {
        state[on.counts..on.counts + 20].fill(0);
        let others = on.bit == 63 && self.ons[63..].iter().any(|on| number(state, on.counts + IN_PROGRESS) == 1);
        if !others {
            let active = bits(state, self.active) & !(1 << on.bit);
            set_bits(state, self.active, active);
        }
    }

    /// A device that does not say when it is at the end leaves the loop at once, so that the next one finds it ready.
    #[inline]
    fn leave_silently(&self, on: &On, device: &mut Device<'_>) {
        if on.ends.of(device.properties) == 0 && on.is_at_end(device.state, device.properties) {
            self.leave(on, device.state);
        }
    }

    /// Which pins of a loop want to send.
    #[inline]
    fn ready_in(&self, on: &On, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        let at = on.counts;
        let (reads, writes) = (number(device.state, at + READ_SEND_MASK), number(device.state, at + WRITE_SEND_MASK));
        pins.insert_mask(OutputId(on.first_read), reads);
        pins.insert_mask(OutputId(on.first_write), writes);
        if let Some(execute) = on.execute {
            pins.insert_if(OutputId(execute), number(device.state, at + READ_RECV_COUNT) == on.read_recv_total);
        }
        let ends = (reads | writes) == 0 && on.is_at_end(device.state, device.properties);
        pins.insert_if(OutputId(on.end), ends);
    }
}

impl Handlers for Elements {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let column = |whole: bool| if whole { number(edge.properties, 0) as usize } else { 0 };
        let on = match &self.inputs[pin.index()] {
            Input::Begin { on, copies, is_read } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                add(device.state, on.counts + if *is_read { READ_RECV_COUNT } else { WRITE_RECV_COUNT });
                for &(from, to, size) in copies {
                    device.state[to..to + size].copy_from_slice(&message[from..from + size]);
                }
                on
            }
            Input::Read { on, to, size, whole } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                add(device.state, on.counts + READ_RECV_COUNT);
                let to = to + column(*whole) * size;
                device.state[to..to + size].copy_from_slice(&message[..*size]);
                // It executes later, so this is never the end.
                return;
            }
            Input::Write { on, to, size, whole, folding } => {
                let on = &self.ons[*on];
                self.enter(on, device);
                add(device.state, on.counts + WRITE_RECV_COUNT);
                let from = &message[column(*whole) * size..][..*size];
                let to = &mut device.state[*to..*to + *size];
                match folding {
                    None => to.copy_from_slice(from),
                    Some(folding) => {
                        let place = Place { base: to.as_mut_ptr(), ..Place::NOWHERE };
                        // SAFETY: both are values of the dat, at addresses that suit their type: records are aligned to
                        // eight bytes, and members to their own size.
                        unsafe { (folding.apply)(&place, 0, std::ptr::null_mut(), from.as_ptr()) };
                    }
                }
                on
            }
        };
        self.leave_silently(on, device);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        let mut active = bits(device.state, self.active);
        while active != 0 {
            let bit = active.trailing_zeros() as usize;
            active &= active - 1;
            self.ready_in(&self.ons[bit], device, pins);
            if bit == 63 {
                let rest = self.ons[64..].iter().filter(|on| number(device.state, on.counts + IN_PROGRESS) == 1);
                rest.for_each(|on| self.ready_in(on, device, pins));
            }
        }
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let clear = |state: &mut [u8], at: usize, bit: u32| {
            let mask = number(state, at) & !(1 << bit);
            set_number(state, at, mask);
        };
        let mut sent = Sent::Broadcast;
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
            Output::PartSend { on, bit, from, size, next, columns } => {
                let on = &self.ons[*on];
                let column = number(device.state, *next);
                let from = from + column as usize * size;
                message[..*size].copy_from_slice(&device.state[from..from + size]);
                let is_last = column + 1 == *columns;
                set_number(device.state, *next, if is_last { 0 } else { column + 1 });
                if is_last {
                    clear(device.state, on.counts + WRITE_SEND_MASK, *bit);
                }
                sent = Sent::Edge(column);
                on
            }
            Output::Execute { on } => {
                let on = &self.ons[*on];
                set_number(device.state, on.counts + READ_RECV_COUNT, 0);
                add(device.state, on.counts + WRITE_RECV_COUNT);
                set_number(device.state, on.counts + WRITE_SEND_MASK, ones(on.writes as usize));
                if let Some(execution) = &on.execution {
                    let done = execution.run(device);
                    device.assert(done.is_ok(), || format!("loop `{}`: {}", execution.decl.name, not_written(0)));
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
                        // SAFETY: the message has room for a contribution there, at an address that suits its type.
                        None => unsafe { (folding.identity)(message[*to..to + folding.size].as_mut_ptr()) },
                    }
                }
                self.leave(&self.ons[*on], device.state);
                return Sent::Broadcast;
            }
        };
        self.leave_silently(on, device);
        sent
    }

    fn hears_idle(&self) -> bool {
        false
    }
}

impl Execution {
    /// Calls the kernel for the device's element.
    fn run(&self, device: &mut Device<'_>) -> Result<(), usize> {
        let state = device.state.as_mut_ptr();
        for (at, folding) in &self.empty {
            // SAFETY: the state has room for a contribution there, at an address that suits its type.
            unsafe { (folding.identity)(state.add(*at)) };
        }
        let mut places = [Place::NOWHERE; 16];
        for (place, arg) in places.iter_mut().zip(&self.args) {
            place.fixed = true;
            // SAFETY: the offsets are those of members, within their records.
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
        // have the types of the arguments, at addresses that suit them.
        unsafe { self.decl.body.run(&places[..self.args.len()], 0..1) }
    }
}
