//! What a graph type declares: properties, messages, and device types with their pins and handlers.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::id::{DeviceTypeId, InputId, MessageId, OutputId};
use crate::data::Layout;
use crate::error::{Error, ErrorKind, Result, check_name};
use crate::handlers::Handlers;

/// A family of graphs: what their devices are, and what these say to each other.
///
/// ```
/// use drawloom_event::data::{Layout, Scalar, Tuple};
/// use drawloom_event::{DeviceType, GraphType, Handlers, InputPin, OutputPin};
///
/// struct Nothing;
/// impl Handlers for Nothing {}
///
/// let word = Layout::new(Tuple::new().with("word", Scalar::U32))?;
/// let graph_type = GraphType::builder("talk")
///     .message("say", word)
///     .device(
///         DeviceType::builder("person")
///             .input(InputPin::new("hear", "say"))
///             .output(OutputPin::new("speak", "say"))
///             .handlers(Nothing),
///     )
///     .build()?;
/// assert_eq!(graph_type.devices()[0].inputs()[0].name(), "hear");
/// # Ok::<(), drawloom_event::Error>(())
/// ```
pub struct GraphType {
    id: String,
    properties: Layout,
    messages: Vec<MessageType>,
    devices: Vec<DeviceType>,
    shared_code: String,
    documentation: String,
    /// The first input pin of each device type, when all input pins are counted through.
    first_input: Vec<u32>,
}

impl GraphType {
    /// Describes a graph type.
    pub fn builder(id: impl Into<String>) -> GraphTypeBuilder {
        GraphTypeBuilder {
            id: id.into(),
            properties: Layout::empty(),
            messages: Vec::new(),
            devices: Vec::new(),
            shared_code: String::new(),
            documentation: String::new(),
        }
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The properties of a graph, which all its devices can read.
    pub fn properties(&self) -> &Layout {
        &self.properties
    }

    /// The message types.
    pub fn messages(&self) -> &[MessageType] {
        &self.messages
    }

    /// The device types.
    pub fn devices(&self) -> &[DeviceType] {
        &self.devices
    }

    /// The device type with a name.
    pub fn device(&self, id: &str) -> Option<DeviceTypeId> {
        (0..).zip(&self.devices).find(|(_, kind)| kind.id == id).map(|(number, _)| DeviceTypeId(number))
    }

    /// C text that all handlers share.
    pub fn shared_code(&self) -> &str {
        &self.shared_code
    }

    /// What the graph type is for, in words.
    pub fn documentation(&self) -> &str {
        &self.documentation
    }

    /// The number of an input pin when those of all device types are counted through.
    pub(crate) fn input_number(&self, kind: u32, pin: u32) -> usize {
        (self.first_input[kind as usize] + pin) as usize
    }

    /// All input pins of all device types, in the order of [`GraphType::input_number`].
    pub(crate) fn all_inputs(&self) -> impl Iterator<Item = &InputPin> {
        self.devices.iter().flat_map(|kind| &kind.inputs)
    }
}

impl fmt::Debug for GraphType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphType").field("id", &self.id).field("devices", &self.devices).finish_non_exhaustive()
    }
}

/// A graph type that is being described.
#[must_use]
pub struct GraphTypeBuilder {
    id: String,
    properties: Layout,
    messages: Vec<MessageType>,
    devices: Vec<DeviceTypeBuilder>,
    shared_code: String,
    documentation: String,
}

impl GraphTypeBuilder {
    /// The properties of a graph.
    pub fn properties(mut self, properties: Layout) -> Self {
        self.properties = properties;
        self
    }

    /// Adds a message type.
    pub fn message(mut self, id: impl Into<String>, layout: Layout) -> Self {
        self.messages.push(MessageType { id: id.into(), layout });
        self
    }

    /// Adds a device type.
    pub fn device(mut self, device: DeviceTypeBuilder) -> Self {
        self.devices.push(device);
        self
    }

    /// C text that all handlers share; it is exported, and never run here.
    pub fn shared_code(mut self, code: impl Into<String>) -> Self {
        self.shared_code = code.into();
        self
    }

    /// What the graph type is for, in words.
    pub fn documentation(mut self, text: impl Into<String>) -> Self {
        self.documentation = text.into();
        self
    }

    /// Checks everything, and makes the graph type.
    ///
    /// # Errors
    /// When a name is no identifier or used twice, a pin names a message type that does not exist, or a device type has no
    /// handlers.
    pub fn build(self) -> Result<Arc<GraphType>> {
        let id = self.id.clone();
        self.checked().map(Arc::new).map_err(|e| e.of_type(&id))
    }

    fn checked(self) -> Result<GraphType> {
        check_name("a graph type", &self.id)?;
        let mut messages = FxHashMap::default();
        for (number, message) in (0..).zip(&self.messages) {
            check_name("a message type", &message.id)?;
            if messages.insert(message.id.clone(), MessageId(number)).is_some() {
                return Err(Error::new(ErrorKind::Type, format!("two message types are called {:?}", message.id)));
            }
        }
        let (mut devices, mut first_input, mut inputs) = (Vec::<DeviceType>::new(), Vec::new(), 0);
        for device in self.devices {
            let device = device.checked(&messages)?;
            if devices.iter().any(|other| other.id == device.id) {
                return Err(Error::new(ErrorKind::Type, format!("two device types are called {:?}", device.id)));
            }
            first_input.push(inputs);
            inputs += device.inputs.len() as u32;
            devices.push(device);
        }
        Ok(GraphType {
            id: self.id,
            properties: self.properties,
            messages: self.messages,
            devices,
            shared_code: self.shared_code,
            documentation: self.documentation,
            first_input,
        })
    }
}

/// What travels over an edge.
#[derive(Clone, Debug)]
pub struct MessageType {
    id: String,
    layout: Layout,
}

impl MessageType {
    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its members.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}

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
    handlers: Arc<dyn Handlers>,
}

impl DeviceType {
    /// Describes a device type.
    pub fn builder(id: impl Into<String>) -> DeviceTypeBuilder {
        DeviceTypeBuilder {
            id: id.into(),
            properties: Layout::empty(),
            state: Layout::empty(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            code: Code::default(),
            handlers: None,
        }
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
        &self.handlers
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
        let names = |f: &dyn Fn() -> Vec<String>| f();
        f.debug_struct("DeviceType")
            .field("id", &self.id)
            .field("inputs", &names(&|| self.inputs.iter().map(|pin| pin.name.clone()).collect()))
            .field("outputs", &names(&|| self.outputs.iter().map(|pin| pin.name.clone()).collect()))
            .finish_non_exhaustive()
    }
}

/// A device type that is being described.
#[must_use]
pub struct DeviceTypeBuilder {
    id: String,
    properties: Layout,
    state: Layout,
    inputs: Vec<InputPin>,
    outputs: Vec<OutputPin>,
    code: Code,
    handlers: Option<Arc<dyn Handlers>>,
}

impl DeviceTypeBuilder {
    /// What a device is told when it is made.
    pub fn properties(mut self, properties: Layout) -> Self {
        self.properties = properties;
        self
    }

    /// What a device remembers.
    pub fn state(mut self, state: Layout) -> Self {
        self.state = state;
        self
    }

    /// Adds an input pin.
    pub fn input(mut self, pin: InputPin) -> Self {
        self.inputs.push(pin);
        self
    }

    /// Adds an output pin.
    pub fn output(mut self, pin: OutputPin) -> Self {
        self.outputs.push(pin);
        self
    }

    /// C text of the handlers.
    pub fn code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// What the device type does.
    pub fn handlers(self, handlers: impl Handlers + 'static) -> Self {
        self.shared_handlers(Arc::new(handlers))
    }

    /// What the device type does, shared with others.
    pub fn shared_handlers(mut self, handlers: Arc<dyn Handlers>) -> Self {
        self.handlers = Some(handlers);
        self
    }

    fn checked(mut self, messages: &FxHashMap<String, MessageId>) -> Result<DeviceType> {
        check_name("a device type", &self.id)?;
        let within = |e: Error| e.within(format_args!("device type {:?}", self.id));
        let resolve = |pin: &str, message: &str| {
            messages.get(message).copied().ok_or_else(|| {
                within(Error::new(ErrorKind::Type, format!("there is no message type {message:?} for pin {pin:?}")))
                    .at_pin(pin)
            })
        };
        for pin in &mut self.inputs {
            pin.id = resolve(&pin.name, &pin.message)?;
        }
        for pin in &mut self.outputs {
            pin.id = resolve(&pin.name, &pin.message)?;
        }
        for names in [
            self.inputs.iter().map(|pin| &pin.name).collect::<Vec<_>>(),
            self.outputs.iter().map(|pin| &pin.name).collect(),
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
        let Some(handlers) = self.handlers else {
            return Err(within(Error::new(ErrorKind::Type, "it has no handlers")));
        };
        Ok(DeviceType {
            id: self.id,
            properties: self.properties,
            state: self.state,
            inputs: self.inputs,
            outputs: self.outputs,
            code: self.code,
            handlers,
        })
    }
}

/// Where messages arrive. Each edge to it has properties and a state of its own.
#[derive(Clone, Debug)]
pub struct InputPin {
    name: String,
    message: String,
    id: MessageId,
    properties: Layout,
    state: Layout,
    code: String,
}

impl InputPin {
    /// A pin that receives messages of a type.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            message: message.into(),
            id: MessageId(0),
            properties: Layout::empty(),
            state: Layout::empty(),
            code: String::new(),
        }
    }

    /// What an edge is told when it is made.
    #[must_use]
    pub fn with_properties(mut self, properties: Layout) -> Self {
        self.properties = properties;
        self
    }

    /// What an edge remembers.
    #[must_use]
    pub fn with_state(mut self, state: Layout) -> Self {
        self.state = state;
        self
    }

    /// C text of `OnReceive`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The message type, in the graph type it belongs to.
    pub fn message(&self) -> MessageId {
        self.id
    }

    /// The properties of its edges.
    pub fn properties(&self) -> &Layout {
        &self.properties
    }

    /// The state of its edges.
    pub fn state(&self) -> &Layout {
        &self.state
    }

    /// C text of `OnReceive`.
    pub fn code(&self) -> &str {
        &self.code
    }
}

/// Where messages leave, over all edges of the pin or over one of them.
#[derive(Clone, Debug)]
pub struct OutputPin {
    name: String,
    message: String,
    id: MessageId,
    indexed: bool,
    code: String,
}

impl OutputPin {
    /// A pin that sends messages of a type over all of its edges.
    pub fn new(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), message: message.into(), id: MessageId(0), indexed: false, code: String::new() }
    }

    /// Each message goes over one edge, which the handler names by its index.
    #[must_use]
    pub fn indexed(mut self) -> Self {
        self.indexed = true;
        self
    }

    /// C text of `OnSend`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = code.into();
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The message type, in the graph type it belongs to.
    pub fn message(&self) -> MessageId {
        self.id
    }

    /// Whether each message goes over one edge.
    pub fn is_indexed(&self) -> bool {
        self.indexed
    }

    /// C text of `OnSend`.
    pub fn code(&self) -> &str {
        &self.code
    }
}
