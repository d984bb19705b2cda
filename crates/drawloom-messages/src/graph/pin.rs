//! Pins: where messages arrive, and where they leave.

use super::id::MessageId;
use crate::data::Layout;

/// Where messages arrive. Each edge to it has properties and a state of its own.
#[derive(Clone, Debug)]
pub struct InputPin {
    pub(super) name: String,
    pub(super) message: String,
    pub(super) id: MessageId,
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
    pub(super) name: String,
    pub(super) message: String,
    pub(super) id: MessageId,
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
