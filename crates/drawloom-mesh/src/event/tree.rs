//! Devices between the one with the control flow and the elements: they pass on the word to begin, and gather the words of
//! the end. With them, no device has more than a few neighbours for these.

use drawloom_messages::{Device, DeviceView, EdgeView, Handlers, InputId, OutputId, Pins, Sent};

use super::element::{number, set_number};
use crate::kernel::args::Folding;

/// How many neighbours each passes to, or gathers from.
pub(super) const BRANCHES: usize = 16;

/// How many devices each level of a tree above some others has, from the lowest to the one below its root. None if there are
/// so few others that they need no tree.
pub(super) fn branches(mut devices: usize) -> Vec<usize> {
    let mut levels = Vec::new();
    while devices > BRANCHES {
        devices = devices.div_ceil(BRANCHES);
        levels.push(devices);
    }
    levels
}

/// Passes a message on. The state is whether there is one, and the message.
pub(super) struct Passing {
    pub(super) waits: usize,
    pub(super) message: usize,
    pub(super) size: usize,
}

impl Handlers for Passing {
    fn receive(&self, _: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        device.state[self.message..self.message + self.size].copy_from_slice(&message[..self.size]);
        set_number(device.state, self.waits, 1);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), number(device.state, self.waits) == 1);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        message[..self.size].copy_from_slice(&device.state[self.message..self.message + self.size]);
        set_number(device.state, self.waits, 0);
        Sent::Broadcast
    }

    fn hears_idle(&self) -> bool {
        false
    }
}

/// Gathers messages into one. The state is how many have come, and what they contribute together.
pub(super) struct Gathering {
    /// Where the number of messages that come is in the properties.
    pub(super) total: usize,
    pub(super) received: usize,
    /// Where each contribution is in the message, and where in the state.
    pub(super) parts: Vec<(usize, usize, Folding)>,
}

impl Handlers for Gathering {
    fn receive(&self, _: InputId, device: &mut Device<'_>, message: &[u8], _: EdgeView<'_>) {
        let received = number(device.state, self.received);
        for (from, to, folding) in &self.parts {
            let into = &mut device.state[*to..*to + folding.size];
            if received == 0 {
                folding.write_identity(into);
            }
            folding.fold_bytes(into, &message[*from..*from + folding.size]);
        }
        set_number(device.state, self.received, received + 1);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), number(device.state, self.received) == number(device.properties, self.total));
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        for (to, from, folding) in &self.parts {
            message[*to..to + folding.size].copy_from_slice(&device.state[*from..from + folding.size]);
        }
        set_number(device.state, self.received, 0);
        Sent::Broadcast
    }

    fn hears_idle(&self) -> bool {
        false
    }
}
