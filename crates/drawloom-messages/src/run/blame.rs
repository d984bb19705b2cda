//! Why a run ended early, with the names of what was being done.

use super::part::Part;
use crate::error::{Error, ErrorKind};
use crate::graph::DeviceId;
use crate::log::record::{Recorder, What};

impl Part {
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
