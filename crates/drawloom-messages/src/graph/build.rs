//! Building an instance. Every mistake is refused where it is made, with the names of what it concerns.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::id::{DeviceId, DeviceTypeId, InputId, OutputId};
use super::instance::{Changing, Fixed, Instance, Names};
use super::kind::GraphType;
use super::topology::{Edge, Row, Topology};
use crate::data::Layout;
use crate::data::rows::Rows;
use crate::data::types::{Tuple, Type};
use crate::error::{Error, ErrorKind, Result};

/// There are fewer devices, pins of devices and edges than this, so that a number of 32 bits names each.
const MOST: usize = u32::MAX as usize;

/// An instance that is being built. See the [`crate`] for an example.
pub struct InstanceBuilder {
    graph_type: Arc<GraphType>,
    id: String,
    properties: Option<Vec<u8>>,
    names: Names,
    numbers: FxHashMap<Box<str>, u32>,
    devices: Vec<Row>,
    pins: usize,
    edges: Vec<Raw>,
    fixed: Changing,
    initial: Changing,
    /// Whether properties without defaults may be left out, which are zero then.
    lenient: bool,
}

/// An edge as it was given.
#[derive(Clone, Copy)]
struct Raw {
    /// The output pin, counted through all devices.
    pin: u32,
    edge: Edge,
    index: Option<u32>,
}

impl InstanceBuilder {
    /// An instance without devices.
    pub fn new(graph_type: &Arc<GraphType>, id: impl Into<String>) -> Self {
        let rows = |layout: fn(&super::device::DeviceType) -> &Layout| {
            graph_type.devices().iter().map(|kind| Rows::new(layout(kind))).collect()
        };
        let edge_rows = |layout: fn(&super::pin::InputPin) -> &Layout| {
            graph_type.all_inputs().map(|pin| Rows::new(layout(pin))).collect()
        };
        Self {
            graph_type: Arc::clone(graph_type),
            id: id.into(),
            properties: None,
            names: Names::default(),
            numbers: FxHashMap::default(),
            devices: Vec::new(),
            pins: 0,
            edges: Vec::new(),
            fixed: Changing { devices: rows(|k| k.properties()), edges: edge_rows(|p| p.properties()) },
            initial: Changing { devices: rows(|k| k.state()), edges: edge_rows(|p| p.state()) },
            lenient: false,
        }
    }

    /// Lets properties without defaults be left out: they are zero then, as in graph files.
    #[must_use]
    pub(crate) fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// The graph type.
    pub fn graph_type(&self) -> &Arc<GraphType> {
        &self.graph_type
    }

    /// Sets the properties of the graph.
    ///
    /// # Errors
    /// When the bytes are not those of a record of these properties.
    pub fn properties(&mut self, bytes: &[u8]) -> Result<()> {
        (self.graph_type.properties().check(bytes))
            .map_err(|e| e.within("the properties of the graph").of_type(self.graph_type.id()))?;
        self.properties = Some(bytes.to_vec());
        Ok(())
    }

    /// Adds a device with the default properties and state of its type.
    ///
    /// # Errors
    /// As [`InstanceBuilder::device_with`].
    pub fn device(&mut self, name: &str, kind: DeviceTypeId) -> Result<DeviceId> {
        self.device_with(name, kind, None, None)
    }

    /// Adds a device. Properties and state are the bytes of records of the type's layouts.
    ///
    /// # Errors
    /// When there is a device of this name, the type does not exist, the bytes are not those of a record, or properties
    /// that have no defaults are not given.
    pub fn device_with(
        &mut self,
        name: &str,
        kind: DeviceTypeId,
        properties: Option<&[u8]>,
        state: Option<&[u8]>,
    ) -> Result<DeviceId> {
        self.add(name, kind, properties, state).map_err(|e| e.at_device(name).of_type(self.graph_type.id()))
    }

    fn add(
        &mut self,
        name: &str,
        kind: DeviceTypeId,
        properties: Option<&[u8]>,
        state: Option<&[u8]>,
    ) -> Result<DeviceId> {
        let Some(device_type) = self.graph_type.devices().get(kind.index()) else {
            return Err(wrong(format!("device {name:?} is of a type that the graph type does not have")));
        };
        // An edge is written as `target:pin-source:pin`.
        if name.is_empty() || name.contains([':', '-']) || name.chars().any(char::is_control) {
            return Err(wrong(format!("{name:?} cannot be the name of a device: it must be text without ':' and '-'")));
        }
        let within = |e: Error, what: &str| e.within(format_args!("the {what} of device {name:?}"));
        let properties =
            given(properties, device_type.properties(), self.lenient).map_err(|e| within(e, "properties"))?;
        let state = given(state, device_type.state(), true).map_err(|e| within(e, "state"))?;
        if self.devices.len() >= MOST || self.pins + device_type.outputs().len() >= MOST {
            return Err(wrong("there are too many devices".to_owned()));
        }
        let number = self.devices.len() as u32;
        if self.numbers.contains_key(name) {
            return Err(wrong(format!("two devices are called {name:?}")));
        }
        self.numbers.insert(name.into(), number);
        self.names.push(name);
        let slot = self.fixed.devices[kind.index()].push(properties)?;
        let slot = slot.max(self.initial.devices[kind.index()].push(state)?);
        self.devices.push(Row { kind: kind.0, slot, first_pin: self.pins as u32 });
        self.pins += device_type.outputs().len();
        Ok(DeviceId(number))
    }

    /// The device with a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find(&self, name: &str) -> Result<DeviceId> {
        let number = self.numbers.get(name).copied();
        number.map(DeviceId).ok_or_else(|| wrong(format!("there is no device {name:?}")).at_device(name))
    }

    /// Adds an edge by the names of its pins, with the default properties and state.
    ///
    /// # Errors
    /// As [`InstanceBuilder::edge_with`], and when a pin does not exist.
    pub fn connect(&mut self, source: DeviceId, output: &str, target: DeviceId, input: &str) -> Result<()> {
        let (from, to) = (self.kind(source)?, self.kind(target)?);
        let output = from.output(output).ok_or_else(|| self.no_pin(source, "output", output))?;
        let input = to.input(input).ok_or_else(|| self.no_pin(target, "input", input))?;
        self.edge_with(source, output, target, input, &EdgeValues::default())
    }

    /// Adds an edge with the default properties and state of its input pin.
    ///
    /// # Errors
    /// As [`InstanceBuilder::edge_with`].
    pub fn edge(&mut self, source: DeviceId, output: OutputId, target: DeviceId, input: InputId) -> Result<()> {
        self.edge_with(source, output, target, input, &EdgeValues::default())
    }

    /// Adds an edge. The same two pins may be joined more than once.
    ///
    /// # Errors
    /// When a device or pin does not exist, the pins have different message types, the bytes are not those of a record, or
    /// properties that have no defaults are not given.
    pub fn edge_with(
        &mut self,
        source: DeviceId,
        output: OutputId,
        target: DeviceId,
        input: InputId,
        values: &EdgeValues<'_>,
    ) -> Result<()> {
        self.kind(source)?;
        self.kind(target)?;
        let kind_of = |device: DeviceId| &self.graph_type.devices()[self.devices[device.index()].kind as usize];
        let (from, to) = (kind_of(source), kind_of(target));
        let Some(out) = from.outputs().get(output.index()) else {
            return Err(self.no_pin(source, "output", &output.0.to_string()));
        };
        let Some(pin) = to.inputs().get(input.index()) else {
            return Err(self.no_pin(target, "input", &input.0.to_string()));
        };
        let path = |e: Error| {
            let (target, source) = (self.names.get(target.index()), self.names.get(source.index()));
            let path = format!("edge {target}:{}-{source}:{}", pin.name(), out.name());
            e.within(path).at_device(target).at_pin(pin.name()).of_type(self.graph_type.id())
        };
        if out.message() != pin.message() {
            let name = |id: super::MessageId| self.graph_type.messages()[id.index()].id();
            let (sent, heard) = (name(out.message()), name(pin.message()));
            return Err(path(wrong(format!("{sent:?} is sent, but {heard:?} is expected"))));
        }
        if values.index.is_some() && !out.is_indexed() {
            return Err(path(wrong(format!(
                "pin {:?} sends over all of its edges, so they have no index",
                out.name()
            ))));
        }
        let properties =
            given(values.properties, pin.properties(), self.lenient).map_err(|e| path(e.within("properties")))?;
        let state = given(values.state, pin.state(), true).map_err(|e| path(e.within("state")))?;
        if self.edges.len() >= MOST {
            return Err(path(wrong("there are too many edges".to_owned())));
        }
        let number = self.graph_type.input_number(self.devices[target.index()].kind, input.0);
        let slot = self.fixed.edges[number].push(properties)?;
        let slot = slot.max(self.initial.edges[number].push(state)?);
        let pin = self.devices[source.index()].first_pin + output.0;
        self.edges.push(Raw { pin, edge: Edge { device: target.0, pin: input.0, slot }, index: values.index });
        Ok(())
    }

    /// Makes the instance.
    ///
    /// # Errors
    /// When properties of the graph that have no defaults were not given, and when the indices of the edges of an indexed
    /// pin are not 0, 1, 2 and so on.
    pub fn build(self) -> Result<Arc<Instance>> {
        let of_type = |e: Error| e.of_type(self.graph_type.id());
        let layout = self.graph_type.properties();
        let properties = given(self.properties.as_deref(), layout, self.lenient)
            .map_err(|e| of_type(e.within("the properties of the graph")))?;
        let mut row = Rows::new(layout);
        row.push(properties)?;
        let topology = Topology { first_edge: Vec::new(), edges: Vec::new(), devices: Vec::new(), beyond: None };
        let (first_edge, edges) = sorted(self.pins, &self.edges);
        let order = Order { builder: &self, first_edge: &first_edge };
        let edges = order.by_index(edges).map_err(of_type)?;
        let topology = Topology { first_edge, edges, devices: self.devices, ..topology };
        Ok(Arc::new(Instance {
            graph_type: self.graph_type,
            id: self.id,
            properties: row,
            names: self.names,
            topology: Arc::new(topology),
            fixed: Fixed::new(self.fixed),
            initial: self.initial,
        }))
    }

    /// The device type of a device.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn type_of(&self, device: DeviceId) -> Result<DeviceTypeId> {
        self.kind(device)?;
        Ok(DeviceTypeId(self.devices[device.index()].kind))
    }

    fn kind(&self, device: DeviceId) -> Result<&super::device::DeviceType> {
        let row =
            self.devices.get(device.index()).ok_or_else(|| wrong(format!("there is no device number {}", device.0)))?;
        Ok(&self.graph_type.devices()[row.kind as usize])
    }

    fn no_pin(&self, device: DeviceId, way: &str, pin: &str) -> Error {
        let name = self.names.get(device.index());
        let kind = self.kind(device).map_or("", |kind| kind.id());
        let message = format!("device {name:?} of type {kind:?} has no {way} pin {pin:?}");
        wrong(message).at_device(name).at_pin(pin).of_type(self.graph_type.id())
    }
}

/// What can be said about an edge besides its ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct EdgeValues<'a> {
    /// The bytes of its properties.
    pub properties: Option<&'a [u8]>,
    /// The bytes of its state at the beginning.
    pub state: Option<&'a [u8]>,
    /// Its index at an indexed pin. Either all edges of a pin have one or none has; then they are counted as they come.
    pub index: Option<u32>,
}

/// The edges of each pin one after the other, in the order they were given.
fn sorted(pins: usize, raw: &[Raw]) -> (Vec<u32>, Vec<Raw>) {
    let mut first_edge = vec![0_u32; pins + 1];
    for edge in raw {
        first_edge[edge.pin as usize + 1] += 1;
    }
    for pin in 0..pins {
        first_edge[pin + 1] += first_edge[pin];
    }
    let mut next = first_edge.clone();
    let mut edges = raw.to_vec();
    for edge in raw {
        let place = &mut next[edge.pin as usize];
        edges[*place as usize] = *edge;
        *place += 1;
    }
    (first_edge, edges)
}

/// Puts the edges of indexed pins in order.
struct Order<'a> {
    builder: &'a InstanceBuilder,
    first_edge: &'a [u32],
}

impl Order<'_> {
    fn by_index(&self, mut edges: Vec<Raw>) -> Result<Vec<Edge>> {
        if edges.iter().any(|edge| edge.index.is_some()) {
            for pin in 0..self.first_edge.len() - 1 {
                let edges = &mut edges[self.first_edge[pin] as usize..self.first_edge[pin + 1] as usize];
                if edges.iter().all(|edge| edge.index.is_none()) {
                    continue;
                }
                edges.sort_by_key(|edge| edge.index);
                if let Some(place) = (0..edges.len()).find(|place| edges[*place].index != Some(*place as u32)) {
                    return Err(self.wrong_index(pin, place));
                }
            }
        }
        Ok(edges.into_iter().map(|raw| raw.edge).collect())
    }

    fn wrong_index(&self, pin: usize, place: usize) -> Error {
        let devices = &self.builder.devices;
        let device = devices.partition_point(|row| row.first_pin as usize <= pin) - 1;
        let row = devices[device];
        let name = self.builder.names.get(device);
        let output = &self.builder.graph_type.devices()[row.kind as usize].outputs()[pin - row.first_pin as usize];
        let message =
            format!("exactly one edge of pin {:?} of device {name:?} should have the index {place}", output.name());
        wrong(message).at_device(name).at_pin(output.name())
    }
}

/// The bytes of a record that may have been given.
fn given<'a>(bytes: Option<&'a [u8]>, layout: &'a Layout, optional: bool) -> Result<&'a [u8]> {
    match bytes {
        Some(bytes) => layout.check(bytes).map(|()| bytes),
        None => match (!optional).then(|| without_default(layout.tuple())).flatten() {
            Some(name) => Err(Error::new(ErrorKind::Value, format!("{name:?} is missing, and has no default"))),
            None => Ok(layout.default_bytes()),
        },
    }
}

/// A member that has to be given.
fn without_default(tuple: &Tuple) -> Option<&str> {
    let members = tuple.members().iter().filter(|member| member.default.is_none());
    members.into_iter().find_map(|member| match &member.ty {
        Type::Tuple(inner) => without_default(inner).map(|_| member.name.as_str()),
        Type::Array(_, 0) => None,
        _ => Some(member.name.as_str()),
    })
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Instance, message)
}
