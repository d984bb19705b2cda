//! What handlers say besides messages: checkpoints, values, exits and failures.

use crate::error::ErrorKind;
use crate::graph::DeviceId;

/// The state of a device at some point, to be compared between runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Whose state it is.
    pub device: DeviceId,
    /// How important it is: the lower, the more.
    pub level: u32,
    /// Which point it is.
    pub tag: String,
    /// The bytes of the state.
    pub state: Vec<u8>,
}

/// A value that a handler gave to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Who gave it.
    pub device: DeviceId,
    /// Which value it is.
    pub key: u32,
    /// The value.
    pub value: u32,
}

/// What the handlers of a run, or of a part of it, said so far.
#[derive(Debug, Default)]
pub(crate) struct Context {
    /// Whether the run must end. Looked at after each handler.
    pub(crate) stop: bool,
    pub(crate) exit: Option<i32>,
    pub(crate) failure: Option<(ErrorKind, String)>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    pub(crate) exports: Vec<Export>,
}

impl Context {
    pub(crate) fn fail(&mut self, kind: ErrorKind, text: String) {
        self.stop = true;
        self.failure.get_or_insert((kind, text));
    }

    pub(crate) fn exit(&mut self, code: i32) {
        self.stop = true;
        self.exit.get_or_insert(code);
    }

    pub(crate) fn checkpoint(&mut self, device: DeviceId, level: u32, tag: String, state: &[u8]) {
        self.checkpoints.push(Checkpoint { device, level, tag, state: state.to_vec() });
    }

    pub(crate) fn export(&mut self, device: DeviceId, key: u32, value: u32) {
        self.exports.push(Export { device, key, value });
    }
}
