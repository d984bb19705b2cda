//! What devices do: handlers, and what they are given.
//!
//! | file | concept |
//! |---|---|
//! | this one | the trait [`Handlers`], and what its methods receive |
//! | [`context`] | what handlers say besides messages: checkpoints, values, exits |
//! | [`pins`] | sets of pins |

pub mod context;
pub mod pins;

pub use context::{Checkpoint, Export};
pub use pins::Pins;

use crate::error::ErrorKind;
use crate::graph::{DeviceId, InputId, OutputId};
use context::Context;

/// What the devices of a type do. One object serves all of them, so what belongs to one device lies in its state.
///
/// Messages may be late and overtake each other. They are never lost, and never come twice. A run is the same under
/// every executor as far as the handlers make it so.
///
/// Properties, states and messages are the bytes of records; see [`Field`](crate::data::Field) for a way to their members.
pub trait Handlers: Send + Sync {
    /// Called once for each device, before anything else.
    fn init(&self, device: &mut Device<'_>) {
        let _ = device;
    }

    /// A message arrived at a pin.
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        let _ = (pin, device, message, edge);
    }

    /// Which pins want to send. A pure function of what it is given: it may be called at any time, any number of times.
    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        let _ = (device, pins);
    }

    /// Where the state has the set of pins that want to send, if it has: the offset of a `uint64_t` with a bit for each pin,
    /// of which there are at most 64. It must always be what [`Handlers::ready`] says, which is then not asked.
    fn ready_at(&self) -> Option<usize> {
        None
    }

    /// One of the pins that want to send may do so. The message is all zeros when the handler receives it.
    ///
    /// The state may change whatever is returned.
    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        let _ = (pin, device, message);
        Sent::Broadcast
    }

    /// No message is in flight anywhere, and no device wants to send. If a device wants to after all devices were told so,
    /// the run goes on; else it is over.
    fn idle(&self, device: &mut Device<'_>) {
        let _ = device;
    }

    /// What the device waits for, now that all is quiet and stays so; none if it has done all that it is there for. A run in
    /// which a device still waits then is an error, unless a handler asked for its end.
    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        let _ = device;
        None
    }

    /// Whether [`Handlers::idle`] does anything. The devices of a type that says no are not told when all is quiet.
    fn hears_idle(&self) -> bool {
        true
    }
}

/// What becomes of a message that a send handler has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It goes over all edges of the pin. Not for an indexed pin.
    Broadcast,
    /// It goes over the edge with this index. Only for an indexed pin.
    Edge(u32),
    /// It is not sent.
    Cancelled,
}

/// A device, as its handlers see it.
pub struct Device<'a> {
    /// The properties of the graph.
    pub graph: &'a [u8],
    /// The properties of the device.
    pub properties: &'a [u8],
    /// The state of the device.
    pub state: &'a mut [u8],
    /// The number of the device in its part, and the numbers that those of its part have in the instance; none if the part
    /// is the whole.
    pub(crate) number: u32,
    pub(crate) names: &'a [u32],
    pub(crate) context: &'a mut Context,
}

/// A device, as its ready handler sees it.
pub struct DeviceView<'a> {
    /// The properties of the graph.
    pub graph: &'a [u8],
    /// The properties of the device.
    pub properties: &'a [u8],
    /// The state of the device.
    pub state: &'a [u8],
}

/// The edge that a message came over.
pub struct EdgeView<'a> {
    /// The properties of the edge.
    pub properties: &'a [u8],
    /// The state of the edge.
    pub state: &'a mut [u8],
}

impl Device<'_> {
    /// The number of the device in its instance.
    #[inline]
    pub fn id(&self) -> DeviceId {
        DeviceId(self.names.get(self.number as usize).copied().unwrap_or(self.number))
    }

    /// Ends the run with an error unless something holds. The handler goes on to its end.
    pub fn assert(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.context.fail(ErrorKind::Assertion, text());
        }
    }

    /// Ends the run with an exit code. The handler goes on to its end; the first code counts.
    pub fn exit(&mut self, code: i32) {
        self.context.exit(code);
    }

    /// Remembers the state of the device as it is now, under a tag, to be compared between runs.
    pub fn checkpoint(&mut self, level: u32, tag: impl Into<String>) {
        self.context.checkpoint(self.id(), level, tag.into(), self.state);
    }

    /// Gives a value to the outside.
    pub fn export(&mut self, key: u32, value: u32) {
        self.context.export(self.id(), key, value);
    }
}
