//! Declarations in files: reading them, and checking them against those that are registered.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::Version;
use super::stream::Node;
use crate::data::Layout;
use crate::data::c;
use crate::data::types::{Member, Scalar, Tuple, Type};
use crate::error::{Error, ErrorKind, Result};
use crate::graph::{DeviceType, GraphType, InputPin, OutputPin};

/// Reads declarations of one file.
pub(crate) struct Declarations<'a> {
    version: Version,
    registered: &'a GraphType,
    /// Types that have a name in the file.
    named: FxHashMap<String, Type>,
}

impl<'a> Declarations<'a> {
    /// The graph type of a file: the declarations of its element, with the handlers that are registered.
    pub(crate) fn bind(version: Version, node: &Node, registered: &'a GraphType) -> Result<Arc<GraphType>> {
        let mut this = Declarations { version, registered, named: FxHashMap::default() };
        this.read(node).map_err(|e| e.of_type(registered.id()))
    }

    fn read(&mut self, node: &Node) -> Result<Arc<GraphType>> {
        for definition in node.child("Types").into_iter().flat_map(|types| types.all("TypeDef")) {
            let id = definition.open.require("id")?;
            let content = definition.children.iter().find(|child| child.open.name != "Documentation");
            let content = content.ok_or_else(|| definition.wrong(format!("type {id:?} is empty")))?;
            let ty = self.member_type(content)?;
            self.named.insert(id.to_owned(), ty);
        }
        let types = node.child("MessageTypes");
        let messages: Vec<&Node> = types.into_iter().flat_map(|types| types.all("MessageType")).collect();
        let mut builder = GraphType::builder(self.registered.id())
            .documentation(self.registered.documentation())
            .shared_code(self.registered.shared_code())
            .properties(self.layout(node, "Properties", self.registered.properties(), "the graph")?);
        if self.registered.edges_differ() {
            builder = builder.with_edges_that_differ();
        }
        for message in self.registered.messages() {
            let found = find(&messages, "id", message.id())?;
            let place = format!("message type {:?}", message.id());
            let layout = match found {
                Some(node) => self.layout(node, "Message", message.layout(), &place)?,
                None => return Err(node.wrong(format!("{place} is not declared"))),
            };
            builder = builder.message(message.id(), layout);
        }
        self.refuse_others(&messages, "id", "message type", |id| {
            self.registered.messages().iter().any(|m| m.id() == id)
        })?;
        let Some(types) = node.child("DeviceTypes") else { return Err(node.wrong("there are no device types")) };
        if let Some(other) = types.children.iter().find(|child| child.open.name != "DeviceType") {
            return Err(other.wrong(format!(
                "{:?} {:?} is not supported",
                other.open.name,
                other.open.get("id").unwrap_or("")
            )));
        }
        let devices: Vec<&Node> = types.children.iter().collect();
        self.refuse_others(&devices, "id", "device type", |id| self.registered.device(id).is_some())?;
        for kind in self.registered.devices() {
            let Some(node) = find(&devices, "id", kind.id())? else {
                return Err(types.wrong(format!("device type {:?} is not declared", kind.id())));
            };
            builder = builder.device(self.device(node, kind)?);
        }
        builder.build()
    }

    fn device(&self, node: &Node, kind: &DeviceType) -> Result<crate::graph::DeviceTypeBuilder> {
        let place = format!("device type {:?}", kind.id());
        let mut builder = DeviceType::builder(kind.id())
            .properties(self.layout(node, "Properties", kind.properties(), &place)?)
            .state(self.layout(node, "State", kind.state(), &place)?)
            .code(kind.code().clone())
            .shared_handlers(Arc::clone(kind.handlers()));
        let pins: Vec<&Node> = node.all("InputPin").collect();
        self.refuse_others(&pins, "name", "input pin", |name| kind.input(name).is_some())?;
        for pin in kind.inputs() {
            let place = format!("{place}, input pin {:?}", pin.name());
            let declared = self.pin(node, &pins, pin.name(), pin.message(), &place)?;
            let properties = self.layout(declared, "Properties", pin.properties(), &place)?;
            let state = self.layout(declared, "State", pin.state(), &place)?;
            let message = self.registered.messages()[pin.message().index()].id();
            let new = InputPin::new(pin.name(), message).with_code(pin.code());
            builder = builder.input(new.with_properties(properties).with_state(state));
        }
        let pins: Vec<&Node> = node.all("OutputPin").collect();
        self.refuse_others(&pins, "name", "output pin", |name| kind.output(name).is_some())?;
        for pin in kind.outputs() {
            let place = format!("{place}, output pin {:?}", pin.name());
            let declared = self.pin(node, &pins, pin.name(), pin.message(), &place)?;
            if declared.open.is_true("indexed")? != pin.is_indexed() {
                return Err(declared.wrong(format!("{place}: indexed in the file or in the registry, but not in both")));
            }
            let message = self.registered.messages()[pin.message().index()].id();
            let new = OutputPin::new(pin.name(), message).with_code(pin.code());
            builder = builder.output(if pin.is_indexed() { new.indexed() } else { new });
        }
        if let Some(other) = node.children.iter().find(|child| child.open.name.starts_with("Supervisor")) {
            return Err(other.wrong(format!("{place}: {:?} is not supported", other.open.name)));
        }
        Ok(builder)
    }

    /// The declaration of a pin, whose message type is the registered one.
    fn pin<'n>(
        &self,
        parent: &Node,
        pins: &[&'n Node],
        name: &str,
        message: crate::graph::MessageId,
        place: &str,
    ) -> Result<&'n Node> {
        let Some(node) = find(pins, "name", name)? else {
            return Err(parent.wrong(format!("{place} is not declared")).at_pin(name));
        };
        let (declared, registered) =
            (node.open.require("messageTypeId")?, self.registered.messages()[message.index()].id());
        if declared != registered {
            let message = format!("{place}: message type {declared:?} is declared, but {registered:?} is registered");
            return Err(node.wrong(message).at_pin(name));
        }
        Ok(node)
    }

    fn refuse_others(&self, nodes: &[&Node], key: &str, what: &str, is_known: impl Fn(&str) -> bool) -> Result<()> {
        for node in nodes {
            let id = node.open.require(key)?;
            if !is_known(id) {
                let message =
                    format!("no handlers are registered for {what} {id:?} of graph type {:?}", self.registered.id());
                return Err(Error::new(ErrorKind::Unknown, message).at_line(node.open.line));
            }
        }
        Ok(())
    }

    /// The layout that an element declares, which must be like the registered one.
    fn layout(&self, parent: &Node, name: &str, registered: &Layout, place: &str) -> Result<Layout> {
        let node = parent.child(name);
        let declared = match (node, self.version) {
            (None, _) => Tuple::new(),
            (Some(node), Version::V3) => self.tuple(node)?,
            (Some(node), Version::V4) => {
                c::read_declarations(&node.text).map_err(|e| node.wrong(format!("{place}, {name}: {e}")))?
            }
        };
        let (alike, tuple) = match self.version {
            Version::V3 => (declared.is_like(registered.tuple()), declared),
            Version::V4 => (declared.is_like(&c::as_declared(registered.tuple())), bare(registered.tuple())),
        };
        if !alike {
            let message = format!("{place}: its {name} in the file are not those that are registered");
            return Err(node.unwrap_or(parent).wrong(message));
        }
        Layout::new(tuple).map_err(|e| node.unwrap_or(parent).wrong(format!("{place}, {name}: {e}")))
    }

    fn tuple(&self, node: &Node) -> Result<Tuple> {
        let mut tuple = Tuple::new();
        for child in node.children.iter().filter(|c| !matches!(c.open.name.as_str(), "Documentation" | "Default")) {
            tuple = tuple.push(self.member(child)?);
        }
        Ok(tuple)
    }

    fn member(&self, node: &Node) -> Result<Member> {
        let ty = self.member_type(node)?;
        let wrong = |e: serde_json::Error| node.wrong(format!("the default is not JSON: {e}"));
        let default = match (node.open.get("default"), node.child("Default")) {
            (Some(text), _) => Some(match (serde_json::from_str(text), &ty) {
                (Ok(value), _) => value,
                // Some files have bare words as defaults of byte arrays.
                (Err(_), Type::Array(..)) => Value::String(text.to_owned()),
                (Err(error), _) => return Err(wrong(error)),
            }),
            (None, Some(inside)) => {
                let text = inside.text.trim();
                let whole = text.starts_with(['[', '{']) || !text.contains(':');
                let object = if whole { text.to_owned() } else { format!("{{{text}}}") };
                Some(serde_json::from_str(&object).map_err(wrong)?)
            }
            (None, None) => None,
        };
        Ok(Member { name: node.open.require("name")?.to_owned(), ty, default })
    }

    fn member_type(&self, node: &Node) -> Result<Type> {
        match node.open.name.as_str() {
            "Scalar" => self.named_type(node, node.open.require("type")?),
            "Tuple" => Ok(Type::Tuple(self.tuple(node)?)),
            "Array" => {
                let text = node.open.require("length")?;
                let length = text.parse().map_err(|_| node.wrong(format!("{text:?} is no length")))?;
                let element = match node.open.get("type") {
                    Some(name) => self.named_type(node, name)?,
                    None => {
                        let inside =
                            node.children.iter().find(|c| !matches!(c.open.name.as_str(), "Documentation" | "Default"));
                        self.member_type(inside.ok_or_else(|| node.wrong("the array has no element type"))?)?
                    }
                };
                Ok(Type::array(element, length))
            }
            other => Err(node.wrong(format!("{other:?} is no kind of data that is supported"))),
        }
    }

    fn named_type(&self, node: &Node, name: &str) -> Result<Type> {
        let scalar = Scalar::from_c_name(name).map(Type::Scalar);
        scalar.or_else(|| self.named.get(name).cloned()).ok_or_else(|| node.wrong(format!("there is no type {name:?}")))
    }
}

/// The element with a name, of which there must not be two.
fn find<'n>(nodes: &[&'n Node], key: &str, id: &str) -> Result<Option<&'n Node>> {
    let mut found = nodes.iter().filter(|node| node.open.get(key) == Some(id));
    let first = found.next().copied();
    match found.next() {
        Some(second) => Err(second.wrong(format!("{id:?} is declared twice"))),
        None => Ok(first),
    }
}

/// A tuple without defaults.
fn bare(tuple: &Tuple) -> Tuple {
    fn of(ty: &Type) -> Type {
        match ty {
            Type::Scalar(scalar) => Type::Scalar(*scalar),
            Type::Array(element, length) => Type::array(of(element), *length),
            Type::Tuple(tuple) => Type::Tuple(bare(tuple)),
        }
    }
    tuple.members().iter().fold(Tuple::new(), |tuple, member| tuple.with(member.name.clone(), of(&member.ty)))
}
