//! An instance: devices, edges, properties and initial states. It never changes; a run has states of its own.

use std::fmt;
use std::sync::Arc;

use super::device::DeviceType;
use super::id::{DeviceId, DeviceTypeId, EdgeId, InputId, OutputId};
use super::kind::GraphType;
use super::topology::Topology;
use crate::data::rows::Rows;

/// A graph of a graph type. Made by [`InstanceBuilder`](super::InstanceBuilder).
pub struct Instance {
    pub(crate) graph_type: Arc<GraphType>,
    pub(crate) id: String,
    /// The graph's properties, as one row.
    pub(crate) properties: Rows,
    pub(crate) names: Names,
    pub(crate) topology: Arc<Topology>,
    /// The properties of devices and edges.
    pub(crate) fixed: Fixed,
    /// The states of devices and edges at the beginning.
    pub(crate) initial: Changing,
}

/// What never changes in a run: rows of properties, for each device type and for each input pin. All runs share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fixed {
    pub(crate) devices: Vec<Arc<Rows>>,
    pub(crate) edges: Vec<Arc<Rows>>,
}

/// What changes in a run: rows of states, for each device type and for each input pin.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changing {
    pub(crate) devices: Vec<Rows>,
    pub(crate) edges: Vec<Rows>,
}

impl Fixed {
    /// From rows that nobody else has.
    pub(crate) fn new(rows: Changing) -> Self {
        let share = |rows: Vec<Rows>| rows.into_iter().map(Arc::new).collect();
        Self { devices: share(rows.devices), edges: share(rows.edges) }
    }
}

/// The names of all devices, in one piece of text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn get(&self, number: usize) -> &str {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start..self.ends[number]]
    }
}

/// Both ends of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeEnds {
    /// The device that sends.
    pub source: DeviceId,
    /// Its pin.
    pub output: OutputId,
    /// The device that receives.
    pub target: DeviceId,
    /// Its pin.
    pub input: InputId,
}

impl Instance {
    /// Its graph type.
    pub fn graph_type(&self) -> &Arc<GraphType> {
        &self.graph_type
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The properties of the graph.
    pub fn properties(&self) -> &[u8] {
        self.properties.row(0)
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.names.len()
    }

    /// How many edges there are.
    pub fn edges(&self) -> usize {
        self.topology.edges.len()
    }

    /// The name of a device.
    pub fn name(&self, device: DeviceId) -> &str {
        self.names.get(device.index())
    }

    /// The device with a name. It looks at all of them; keep the number when you need it often.
    pub fn device(&self, name: &str) -> Option<DeviceId> {
        (0..self.devices() as u32).map(DeviceId).find(|device| self.name(*device) == name)
    }

    /// The device type of a device.
    pub fn type_id(&self, device: DeviceId) -> DeviceTypeId {
        DeviceTypeId(self.topology.devices[device.index()].kind)
    }

    /// The device type of a device.
    pub fn type_of(&self, device: DeviceId) -> &DeviceType {
        &self.graph_type.devices()[self.type_id(device).index()]
    }

    /// The properties of a device.
    pub fn device_properties(&self, device: DeviceId) -> &[u8] {
        let row = self.topology.devices[device.index()];
        self.fixed.devices[row.kind as usize].row(row.slot)
    }

    /// The state of a device at the beginning.
    pub fn initial_state(&self, device: DeviceId) -> &[u8] {
        let row = self.topology.devices[device.index()];
        self.initial.devices[row.kind as usize].row(row.slot)
    }

    /// The properties of an edge.
    pub fn edge_properties(&self, edge: EdgeId) -> &[u8] {
        let edge = self.topology.edges[edge.index()];
        let kind = self.topology.devices[edge.device as usize].kind;
        self.fixed.edges[self.graph_type.input_number(kind, edge.pin)].row(edge.slot)
    }

    /// The state of an edge at the beginning.
    pub fn initial_edge_state(&self, edge: EdgeId) -> &[u8] {
        let edge = self.topology.edges[edge.index()];
        let kind = self.topology.devices[edge.device as usize].kind;
        self.initial.edges[self.graph_type.input_number(kind, edge.pin)].row(edge.slot)
    }

    /// The edges of an output pin, by index.
    pub fn edges_from(&self, device: DeviceId, output: OutputId) -> impl Iterator<Item = EdgeId> {
        let pin = (self.topology.devices[device.index()].first_pin + output.0) as usize;
        (self.topology.first_edge[pin]..self.topology.first_edge[pin + 1]).map(EdgeId)
    }

    /// All edges with both of their ends, in order of their numbers.
    pub fn all_edges(&self) -> impl Iterator<Item = (EdgeId, EdgeEnds)> {
        (0..self.devices() as u32).map(DeviceId).flat_map(move |source| {
            let outputs = self.type_of(source).outputs().len() as u32;
            (0..outputs).map(OutputId).flat_map(move |output| {
                self.edges_from(source, output).map(move |number| {
                    let edge = self.topology.edges[number.index()];
                    let ends = EdgeEnds { source, output, target: DeviceId(edge.device), input: InputId(edge.pin) };
                    (number, ends)
                })
            })
        })
    }
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("id", &self.id)
            .field("graph_type", &self.graph_type.id())
            .field("devices", &self.devices())
            .field("edges", &self.edges())
            .finish()
    }
}
