//! A kind of device: what it knows, what it hears and says, and what it does.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::id::{InputId, MessageId, OutputId};
use super::pin::{InputPin, OutputPin};
use crate::data::Layout;
use crate::error::{Error, ErrorKind, Result, check_name};
use crate::handlers::Handlers;

/// C text of a device type's handlers. It is exported, and never run here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// What the handlers share.
    pub shared: String,
    /// `OnInit`
    pub init: String,
    /// `ReadyToSend`
    pub ready: String,
    /// `OnHardwareIdle`
    pub idle: String,
}

/// A kind of device: what it knows, what it hears and says, and what it does.
pub struct DeviceType {
    id: String,
    properties: Layout,
    state: Layout,
    inputs: Vec<InputPin>,
    outputs: Vec<OutputPin>,
    code: Code,
    /// None while it is being described.
    handlers: Option<Arc<dyn Handlers>>,
}

impl DeviceType {
    /// Describes a device type.
    pub fn builder(id: impl Into<String>) -> DeviceTypeBuilder {
        DeviceTypeBuilder(Self {
            id: id.into(),
            properties: Layout::empty(),
            state: Layout::empty(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            code: Code::default(),
            handlers: None,
        })
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What a device is told when it is made.
    pub fn properties(&self) -> &Layout {
        &self.properties
    }

    /// What a device remembers.
    pub fn state(&self) -> &Layout {
        &self.state
    }

    /// The input pins.
    pub fn inputs(&self) -> &[InputPin] {
        &self.inputs
    }

    /// The output pins.
    pub fn outputs(&self) -> &[OutputPin] {
        &self.outputs
    }

    /// C text of its handlers.
    pub fn code(&self) -> &Code {
        &self.code
    }

    /// What it does.
    pub fn handlers(&self) -> &Arc<dyn Handlers> {
        self.handlers.as_ref().expect("a device type without handlers is refused")
    }

    /// The input pin with a name.
    pub fn input(&self, name: &str) -> Option<InputId> {
        (0..).zip(&self.inputs).find(|(_, pin)| pin.name == name).map(|(number, _)| InputId(number))
    }

    /// The output pin with a name.
    pub fn output(&self, name: &str) -> Option<OutputId> {
        (0..).zip(&self.outputs).find(|(_, pin)| pin.name == name).map(|(number, _)| OutputId(number))
    }
}

impl fmt::Debug for DeviceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inputs: Vec<&str> = self.inputs.iter().map(InputPin::name).collect();
        let outputs: Vec<&str> = self.outputs.iter().map(OutputPin::name).collect();
        let mut debug = f.debug_struct("DeviceType");
        debug.field("id", &self.id).field("inputs", &inputs).field("outputs", &outputs).finish_non_exhaustive()
    }
}

/// A device type that is being described.
#[must_use]
pub struct DeviceTypeBuilder(DeviceType);

impl DeviceTypeBuilder {
    /// What a device is told when it is made.
    pub fn properties(mut self, properties: Layout) -> Self {
        self.0.properties = properties;
        self
    }

    /// What a device remembers.
    pub fn state(mut self, state: Layout) -> Self {
        self.0.state = state;
        self
    }

    /// Adds an input pin.
    pub fn input(mut self, pin: InputPin) -> Self {
        self.0.inputs.push(pin);
        self
    }

    /// Adds an output pin.
    pub fn output(mut self, pin: OutputPin) -> Self {
        self.0.outputs.push(pin);
        self
    }

    /// C text of the handlers.
    pub fn code(mut self, code: Code) -> Self {
        self.0.code = code;
        self
    }

    /// What the device type does.
    pub fn handlers(self, handlers: impl Handlers + 'static) -> Self {
        self.shared_handlers(Arc::new(handlers))
    }

    /// What the device type does, shared with others.
    pub fn shared_handlers(mut self, handlers: Arc<dyn Handlers>) -> Self {
        self.0.handlers = Some(handlers);
        self
    }

    /// Checks everything, and makes the device type.
    pub(super) fn checked(self, messages: &FxHashMap<String, MessageId>) -> Result<DeviceType> {
        let mut kind = self.0;
        check_name("a device type", &kind.id)?;
        let within = |e: Error| e.within(format_args!("device type {:?}", kind.id));
        let resolve = |pin: &str, message: &str| {
            messages.get(message).copied().ok_or_else(|| {
                within(Error::new(ErrorKind::Type, format!("there is no message type {message:?} for pin {pin:?}")))
                    .at_pin(pin)
            })
        };
        for pin in &mut kind.inputs {
            pin.id = resolve(&pin.name, &pin.message)?;
        }
        for pin in &mut kind.outputs {
            pin.id = resolve(&pin.name, &pin.message)?;
        }
        for names in [
            kind.inputs.iter().map(|pin| &pin.name).collect::<Vec<_>>(),
            kind.outputs.iter().map(|pin| &pin.name).collect(),
        ] {
            let mut seen = FxHashMap::default();
            for name in names {
                check_name("a pin", name).map_err(within)?;
                if seen.insert(name, ()).is_some() {
                    return Err(
                        within(Error::new(ErrorKind::Type, format!("two pins are called {name:?}"))).at_pin(name)
                    );
                }
            }
        }
        if kind.handlers.is_none() {
            return Err(within(Error::new(ErrorKind::Type, "it has no handlers")));
        }
        Ok(kind)
    }
}
