//! What the devices of elements do.
//!
//! Of every loop that it takes part in, a device keeps five numbers: whether it knows of it, which of its values it has still
//! to send, how much it has received to begin and to read, how much was written to it, its own execution included, and
//! which of its results it has still to send. All are zero when it is not in the loop.

use std::sync::Arc;

use drawloom_event::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};

use crate::kernel::args::Folding;
use crate::kernel::place::Place;
use crate::program::statement::LoopDecl;
use crate::run::not_written;

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
    /// The pins over which values are sent to be read.
    pub(super) first_read: u32,
    pub(super) reads: u32,
    pub(super) execute: u32,
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
    Size(usize),
    Absent,
}

/// What a message at a pin means.
pub(super) enum Input {
    /// The loop begins. Values are copied: where they are in the message, where they go, how many bytes.
    Begin { on: usize, copies: Vec<(usize, usize, usize)> },
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
    /// Contributions to globals: where they go in the message, where they are, and what they are elsewhere.
    End {
        on: usize,
        parts: Vec<(usize, Option<usize>, Folding)>,
    },
}

/// The devices of one set.
pub(super) struct Elements {
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

fn all(bits: u32) -> u32 {
    if bits == 32 { u32::MAX } else { (1 << bits) - 1 }
}

impl On {
    /// Any message of a loop says that it has begun.
    #[inline]
    fn enter(&self, state: &mut [u8]) {
        if number(state, self.counts + IN_PROGRESS) == 0 {
            set_number(state, self.counts + IN_PROGRESS, 1);
            set_number(state, self.counts + READ_SEND_MASK, all(self.reads));
        }
    }
}

impl Handlers for Elements {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let column = |whole: bool| if whole { number(edge.properties, 0) as usize } else { 0 };
        match &self.inputs[pin.index()] {
            Input::Begin { on, copies } => {
                let on = &self.ons[*on];
                on.enter(device.state);
                add(device.state, on.counts + READ_RECV_COUNT);
                for &(from, to, size) in copies {
                    device.state[to..to + size].copy_from_slice(&message[from..from + size]);
                }
            }
            Input::Read { on, to, size, whole } => {
                let on = &self.ons[*on];
                on.enter(device.state);
                add(device.state, on.counts + READ_RECV_COUNT);
                let to = to + column(*whole) * size;
                device.state[to..to + size].copy_from_slice(&message[..*size]);
            }
            Input::Write { on, to, size, whole, folding } => {
                let on = &self.ons[*on];
                on.enter(device.state);
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
            }
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        for on in &self.ons {
            let at = on.counts;
            if number(device.state, at + IN_PROGRESS) == 0 {
                continue;
            }
            let (reads, writes) =
                (number(device.state, at + READ_SEND_MASK), number(device.state, at + WRITE_SEND_MASK));
            let received = number(device.state, at + READ_RECV_COUNT);
            for bit in 0..on.reads {
                pins.insert_if(OutputId(on.first_read + bit), reads >> bit & 1 == 1);
            }
            for bit in 0..on.writes {
                pins.insert_if(OutputId(on.first_write + bit), writes >> bit & 1 == 1);
            }
            pins.insert_if(OutputId(on.execute), received == on.read_recv_total);
            let written = number(device.state, at + WRITE_RECV_COUNT);
            let is_end =
                received == 0 && written == number(device.properties, on.write_recv_total) && reads == 0 && writes == 0;
            pins.insert_if(OutputId(on.end), is_end);
        }
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        match &self.outputs[pin.index()] {
            Output::ReadSend { on, bit, from, size } => {
                let at = self.ons[*on].counts + READ_SEND_MASK;
                message[..*size].copy_from_slice(&device.state[*from..from + size]);
                let mask = number(device.state, at) & !(1 << bit);
                set_number(device.state, at, mask);
            }
            Output::WriteSend { on, bit, from, size } => {
                let at = self.ons[*on].counts + WRITE_SEND_MASK;
                message[..*size].copy_from_slice(&device.state[*from..from + size]);
                let mask = number(device.state, at) & !(1 << bit);
                set_number(device.state, at, mask);
            }
            Output::Execute { on } => {
                let on = &self.ons[*on];
                set_number(device.state, on.counts + READ_RECV_COUNT, 0);
                add(device.state, on.counts + WRITE_RECV_COUNT);
                set_number(device.state, on.counts + WRITE_SEND_MASK, all(on.writes));
                if let Some(execution) = &on.execution {
                    let done = execution.run(device);
                    device.assert(done.is_ok(), || format!("loop `{}`: {}", execution.decl.name, not_written(0)));
                }
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
                let at = self.ons[*on].counts;
                device.state[at..at + 20].fill(0);
            }
        }
        Sent::Broadcast
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
                    ArgAt::Size(size) => place.size = size,
                    ArgAt::Absent => place.present = false,
                }
            }
        }
        // SAFETY: every argument has its own members in the state, which is this device's alone, or is only read; members
        // have the types of the arguments, at addresses that suit them.
        unsafe { self.decl.body.run(&places[..self.args.len()], 0..1) }
    }
}
