//! What a graph type declares: properties, messages, and device types.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::device::{DeviceType, DeviceTypeBuilder};
use super::id::{DeviceTypeId, MessageId};
use super::pin::InputPin;
use crate::data::Layout;
use crate::error::{Error, ErrorKind, Result, check_name};

/// A family of graphs: what their devices are, and what these say to each other.
///
/// ```
/// use drawloom_messages::data::{Layout, Scalar, Tuple};
/// use drawloom_messages::{DeviceType, GraphType, Handlers, InputPin, OutputPin};
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
/// # Ok::<(), drawloom_messages::Error>(())
/// ```
pub struct GraphType {
    id: String,
    properties: Layout,
    messages: Vec<MessageType>,
    devices: Vec<DeviceType>,
    shared_code: String,
    documentation: String,
    edges_differ: bool,
    /// The first input pin of each device type, when all input pins are counted through.
    first_input: Vec<u32>,
}

impl GraphType {
    /// Describes a graph type.
    pub fn builder(id: impl Into<String>) -> GraphTypeBuilder {
        let kind = Self {
            id: id.into(),
            properties: Layout::empty(),
            messages: Vec::new(),
            devices: Vec::new(),
            shared_code: String::new(),
            documentation: String::new(),
            edges_differ: false,
            first_input: Vec::new(),
        };
        GraphTypeBuilder { kind, devices: Vec::new() }
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
        (0..).zip(&self.devices).find(|(_, kind)| kind.id() == id).map(|(number, _)| DeviceTypeId(number))
    }

    /// C text that all handlers share.
    pub fn shared_code(&self) -> &str {
        &self.shared_code
    }

    /// What the graph type is for, in words.
    pub fn documentation(&self) -> &str {
        &self.documentation
    }

    /// Whether two edges that are alike are a mistake.
    pub fn edges_differ(&self) -> bool {
        self.edges_differ
    }

    /// The number of an input pin when those of all device types are counted through.
    pub(crate) fn input_number(&self, kind: u32, pin: u32) -> usize {
        (self.first_input[kind as usize] + pin) as usize
    }

    /// All input pins of all device types, in the order of [`GraphType::input_number`].
    pub(crate) fn all_inputs(&self) -> impl Iterator<Item = &InputPin> {
        self.devices.iter().flat_map(DeviceType::inputs)
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
    kind: GraphType,
    devices: Vec<DeviceTypeBuilder>,
}

impl GraphTypeBuilder {
    /// Two edges between the same pins with the same properties are a mistake, because devices count what arrives: a file with
    /// such edges is refused.
    pub fn with_edges_that_differ(mut self) -> Self {
        self.kind.edges_differ = true;
        self
    }

    /// The properties of a graph.
    pub fn properties(mut self, properties: Layout) -> Self {
        self.kind.properties = properties;
        self
    }

    /// Adds a message type.
    pub fn message(mut self, id: impl Into<String>, layout: Layout) -> Self {
        self.kind.messages.push(MessageType { id: id.into(), layout });
        self
    }

    /// Adds a device type.
    pub fn device(mut self, device: DeviceTypeBuilder) -> Self {
        self.devices.push(device);
        self
    }

    /// C text that all handlers share; it is exported, and never run here.
    pub fn shared_code(mut self, code: impl Into<String>) -> Self {
        self.kind.shared_code = code.into();
        self
    }

    /// What the graph type is for, in words.
    pub fn documentation(mut self, text: impl Into<String>) -> Self {
        self.kind.documentation = text.into();
        self
    }

    /// Checks everything, and makes the graph type.
    ///
    /// # Errors
    /// When a name is no identifier or used twice, a pin names a message type that does not exist, or a device type has no
    /// handlers.
    pub fn build(self) -> Result<Arc<GraphType>> {
        let id = self.kind.id.clone();
        self.checked().map(Arc::new).map_err(|e| e.of_type(&id))
    }

    fn checked(self) -> Result<GraphType> {
        let mut kind = self.kind;
        check_name("a graph type", &kind.id)?;
        let mut messages = FxHashMap::default();
        for (number, message) in (0..).zip(&kind.messages) {
            check_name("a message type", &message.id)?;
            if messages.insert(message.id.clone(), MessageId(number)).is_some() {
                return Err(Error::new(ErrorKind::Type, format!("two message types are called {:?}", message.id)));
            }
        }
        let mut inputs = 0;
        for device in self.devices {
            let device = device.checked(&messages)?;
            if kind.devices.iter().any(|other| other.id() == device.id()) {
                return Err(Error::new(ErrorKind::Type, format!("two device types are called {:?}", device.id())));
            }
            kind.first_input.push(inputs);
            inputs += device.inputs().len() as u32;
            kind.devices.push(device);
        }
        Ok(kind)
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
