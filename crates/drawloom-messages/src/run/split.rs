//! A machine in parts, each with its own devices, edges and rows, so that a worker touches nothing of another's.
//!
//! An edge belongs to the part of its target. The edges into a part are numbered there: first those from its own devices,
//! in the order of their pins, so that they are a range for each pin; then those from others, again a range for each pin.

use std::sync::Arc;

use crate::data::rows::Rows;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::DeviceId;
use crate::graph::instance::{Changing, Fixed, Instance};
use crate::graph::kind::GraphType;
use crate::graph::topology::{Beyond, Edge, Route, Row, Topology};

/// A part before it runs.
pub(crate) struct Piece {
    pub(crate) topology: Topology,
    pub(crate) fixed: Fixed,
    pub(crate) states: Changing,
}

/// A piece while it is made.
struct Growing {
    topology: Topology,
    fixed: Changing,
    states: Changing,
    beyond: Beyond,
    pins: u32,
    /// How many devices of each type, and edges to each input pin, there are so far.
    device_rows: Vec<u32>,
    edge_rows: Vec<u32>,
    own: Vec<(Edge, u32)>,
    foreign: Vec<(Edge, u32)>,
}

/// The part of each device.
pub(crate) fn parts_of(instance: &Instance, parts: usize, given: Option<&Arc<[u32]>>) -> Result<Vec<u32>> {
    let devices = instance.devices();
    let Some(given) = given else {
        return Ok((0..devices).map(|device| (device as u128 * parts as u128 / devices as u128) as u32).collect());
    };
    if given.len() != devices {
        let message = format!("a partition of {} devices was given for {devices} devices", given.len());
        return Err(Error::new(ErrorKind::Setting, message));
    }
    if let Some(device) = given.iter().position(|part| *part as usize >= parts) {
        let (name, part) = (instance.name(DeviceId(device as u32)), given[device]);
        let message = format!("device {name:?} cannot be in part {part}: there are {parts} parts");
        return Err(Error::new(ErrorKind::Setting, message).at_device(name));
    }
    Ok(given.to_vec())
}

/// Takes a machine apart.
pub(crate) fn split(instance: &Instance, states: &Changing, part_of: &[u32], parts: usize) -> Result<Vec<Piece>> {
    let graph_type = instance.graph_type();
    let topology = &*instance.topology;
    let mut pieces: Vec<Growing> = (0..parts).map(|_| Growing::new(graph_type)).collect();
    let mut local = vec![0_u32; part_of.len()];
    for (device, row) in topology.devices.iter().enumerate() {
        let piece = &mut pieces[part_of[device] as usize];
        local[device] = piece.topology.devices.len() as u32;
        piece.add_device(graph_type, device as u32, *row, &instance.fixed, states)?;
    }
    // Where the edges from others begin is known when all own edges are counted.
    let mut own = vec![0_u32; parts];
    each_pin(topology, graph_type, |device, _, edges| {
        let part = part_of[device];
        for edge in edges.clone() {
            let target = part_of[topology.edges[edge as usize].device as usize];
            own[part as usize] += u32::from(target == part);
        }
    });
    let mut result = Ok(());
    each_pin(topology, graph_type, |device, indexed, edges| {
        let source = part_of[device] as usize;
        for number in edges {
            let edge = topology.edges[number as usize];
            let target = part_of[edge.device as usize] as usize;
            let kind = topology.devices[edge.device as usize].kind;
            let input = graph_type.input_number(kind, edge.pin);
            let slot = match pieces[target].add_edge_rows(input, edge.slot, &instance.fixed, states) {
                Ok(slot) => slot,
                Err(error) => {
                    result = Err(error);
                    return;
                }
            };
            let moved = Edge { device: local[edge.device as usize], slot, ..edge };
            let list = if target == source { &mut pieces[target].own } else { &mut pieces[target].foreign };
            list.push((moved, number));
            let place = list.len() as u32 - 1 + if target == source { 0 } else { own[target] };
            let beyond = &mut pieces[source].beyond;
            if indexed {
                beyond.indexed.push((target as u32, place));
            } else if target != source {
                let first = beyond.first_route.last().copied().unwrap_or(0) as usize;
                match beyond.routes[first..].iter_mut().find(|route| route.part as usize == target) {
                    Some(route) => route.end += 1,
                    None => beyond.routes.push(Route { part: target as u32, start: place, end: place + 1 }),
                }
            }
        }
        pieces[source].end_pin();
    });
    result?;
    Ok(pieces.into_iter().map(Growing::finish).collect())
}

/// Puts the states of a part back.
pub(crate) fn restore(instance: &Instance, topology: &Topology, part: &Changing, states: &mut Changing) {
    let graph_type = instance.graph_type();
    for (device, row) in topology.devices.iter().enumerate() {
        let place = instance.topology.devices[topology.name(device as u32) as usize];
        let kind = row.kind as usize;
        states.devices[kind].row_mut(place.slot).copy_from_slice(part.devices[kind].row(row.slot));
    }
    if part.edges.iter().all(Rows::is_hollow) {
        return;
    }
    for (number, edge) in (0..).zip(&topology.edges) {
        let input = graph_type.input_number(topology.devices[edge.device as usize].kind, edge.pin);
        let place = instance.topology.edges[topology.edge_name(number) as usize];
        states.edges[input].row_mut(place.slot).copy_from_slice(part.edges[input].row(edge.slot));
    }
}

/// Calls a function for each output pin of each device: the device, whether the pin is indexed, and its edges.
fn each_pin(topology: &Topology, graph_type: &GraphType, mut call: impl FnMut(usize, bool, std::ops::Range<u32>)) {
    for (device, row) in topology.devices.iter().enumerate() {
        for (output, pin) in graph_type.devices()[row.kind as usize].outputs().iter().enumerate() {
            let number = row.first_pin as usize + output;
            call(device, pin.is_indexed(), topology.first_edge[number]..topology.first_edge[number + 1]);
        }
    }
}

impl Growing {
    fn new(graph_type: &GraphType) -> Self {
        let devices = |layout: fn(&crate::graph::DeviceType) -> &crate::data::Layout| -> Vec<Rows> {
            graph_type.devices().iter().map(|kind| Rows::new(layout(kind))).collect()
        };
        let edges = |layout: fn(&crate::graph::InputPin) -> &crate::data::Layout| -> Vec<Rows> {
            graph_type.all_inputs().map(|pin| Rows::new(layout(pin))).collect()
        };
        let fixed = Changing { devices: devices(|k| k.properties()), edges: edges(|p| p.properties()) };
        let states = Changing { devices: devices(|k| k.state()), edges: edges(|p| p.state()) };
        Self {
            topology: Topology { first_edge: vec![0], ..Topology::default() },
            fixed,
            states,
            beyond: Beyond { first_route: vec![0], first_indexed: vec![0], ..Beyond::default() },
            pins: 0,
            device_rows: vec![0; graph_type.devices().len()],
            edge_rows: vec![0; graph_type.all_inputs().count()],
            own: Vec::new(),
            foreign: Vec::new(),
        }
    }

    fn add_device(
        &mut self,
        graph_type: &GraphType,
        device: u32,
        row: Row,
        fixed: &Fixed,
        states: &Changing,
    ) -> Result<()> {
        let kind = row.kind as usize;
        self.fixed.devices[kind].push(fixed.devices[kind].row(row.slot))?;
        self.states.devices[kind].push(states.devices[kind].row(row.slot))?;
        let slot = self.device_rows[kind];
        self.device_rows[kind] += 1;
        self.topology.devices.push(Row { kind: row.kind, slot, first_pin: self.pins });
        self.pins += graph_type.devices()[kind].outputs().len() as u32;
        self.beyond.names.push(device);
        Ok(())
    }

    fn add_edge_rows(&mut self, input: usize, slot: u32, fixed: &Fixed, states: &Changing) -> Result<u32> {
        self.fixed.edges[input].push(fixed.edges[input].row(slot))?;
        self.states.edges[input].push(states.edges[input].row(slot))?;
        let slot = self.edge_rows[input];
        self.edge_rows[input] += 1;
        Ok(slot)
    }

    /// The edges of one more pin are all there.
    fn end_pin(&mut self) {
        self.topology.first_edge.push(self.own.len() as u32);
        self.beyond.first_route.push(self.beyond.routes.len() as u32);
        self.beyond.first_indexed.push(self.beyond.indexed.len() as u32);
    }

    fn finish(mut self) -> Piece {
        let edges = self.own.iter().chain(&self.foreign);
        self.topology.edges = edges.clone().map(|(edge, _)| *edge).collect();
        self.beyond.edge_names = edges.map(|(_, name)| *name).collect();
        self.topology.beyond = Some(self.beyond);
        Piece { topology: self.topology, fixed: Fixed::new(self.fixed), states: self.states }
    }
}
