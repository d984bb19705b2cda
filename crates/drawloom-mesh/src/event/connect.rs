//! The instance: a device for each element, and the edges between them.

use std::sync::Arc;

use drawloom_event::data::Record;
use drawloom_event::{DeviceId, EdgeValues, InputId, Instance, InstanceBuilder, OutputId};

use super::declare::{Declared, of_events, write_pin};
use super::involved::{Invocation, Through};
use super::names::GLOBAL;
use crate::error::Error;
use crate::kernel::place::Route;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;

/// An instance, and its devices: those of each set, and the one with the control flow.
pub(super) struct Connected {
    pub(super) instance: Arc<Instance>,
    pub(super) elements: Vec<Vec<DeviceId>>,
    pub(super) global: DeviceId,
}

/// Makes a device for each element, and connects them.
pub(super) fn connect(mesh: &Mesh, declared: &Declared) -> Result<Connected, Error> {
    let mut builder = InstanceBuilder::new(&declared.graph_type, "mesh");
    builder.properties(graph_properties(mesh, declared)?.bytes()).map_err(of_events)?;
    let mut elements = Vec::new();
    for set in 0..mesh.sets.len() as u32 {
        elements.push(devices_of(mesh, declared, &mut builder, set)?);
    }
    let kind = declared.graph_type.device("controller").expect("it was declared");
    let mut state = Record::new(&declared.controller);
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| !global.constant) {
        put(&mut state, &declared.names.global(number as u32), global.values.element(0))?;
    }
    let global = builder.device_with(GLOBAL, kind, None, Some(state.bytes())).map_err(of_events)?;
    let mut edges = Edges { mesh, declared, builder, elements: &elements, global };
    for (number, invocation) in declared.invocations.iter().enumerate() {
        edges.control(number, invocation)?;
        invocation.reads.iter().try_for_each(|read| edges.read(invocation, read))?;
        invocation.writes.iter().try_for_each(|write| edges.write(invocation, write))?;
    }
    let instance = edges.builder.build().map_err(of_events)?;
    Ok(Connected { instance, elements, global })
}

/// Puts the bytes of a value into a member.
fn put(record: &mut Record, member: &str, value: &[u8]) -> Result<(), Error> {
    let at = record.layout().offset_of(member).map_err(of_events)?;
    record.bytes_mut()[at..at + value.len()].copy_from_slice(value);
    Ok(())
}

fn graph_properties(mesh: &Mesh, declared: &Declared) -> Result<Record, Error> {
    let mut properties = Record::new(declared.graph_type.properties());
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| global.constant) {
        put(&mut properties, &declared.names.global(number as u32), global.values.element(0))?;
    }
    for (number, set) in mesh.sets.iter().enumerate() {
        put(&mut properties, &declared.names.length(number as u32), &(set.size as u32).to_ne_bytes())?;
    }
    for invocation in declared.invocations.iter() {
        let total = invocation.responders(mesh) as u32;
        put(&mut properties, &format!("{}_total_responding_devices", invocation.name), &total.to_ne_bytes())?;
    }
    Ok(properties)
}

fn devices_of(
    mesh: &Mesh,
    declared: &Declared,
    builder: &mut InstanceBuilder,
    set: u32,
) -> Result<Vec<DeviceId>, Error> {
    let layout = &declared.elements[set as usize];
    let kind = declared.graph_type.device(&declared.names.set_type(set)).expect("it was declared");
    let involved: Vec<&Invocation> = declared.invocations.iter().filter(|i| i.sets.contains(&set)).collect();
    let mut totals = Vec::new();
    let mut indices = Vec::new();
    for invocation in involved {
        let at = layout.properties.offset_of(&format!("{}_write_recv_total", invocation.name)).map_err(of_events)?;
        totals.push((at, invocation.write_recv_totals(mesh, set)));
        for (number, arg) in invocation.decl.args.iter().enumerate().filter(|_| invocation.decl.set == set) {
            if let ArgDecl::Index { route } = *arg {
                let member = format!("{}_arg{number}_index", invocation.name);
                indices.push((layout.properties.offset_of(&member).map_err(of_events)?, route));
            }
        }
    }
    let mut dats = Vec::new();
    for (number, dat) in mesh.dats.iter().enumerate().filter(|(_, dat)| dat.set == set) {
        let at = layout.state.offset_of(&declared.names.dat(number as u32)).map_err(of_events)?;
        dats.push((at, &dat.values));
    }
    let (mut properties, mut state) = (Record::new(&layout.properties), Record::new(&layout.state));
    let mut devices = Vec::new();
    for element in 0..mesh.sets[set as usize].size {
        for (at, totals) in &totals {
            properties.bytes_mut()[*at..at + 4].copy_from_slice(&totals[element].to_ne_bytes());
        }
        for (at, route) in &indices {
            let index = match *route {
                Route::Column { map, column } => {
                    let map = &mesh.maps[map as usize];
                    u64::from(map.table[element * map.arity + column as usize])
                }
                Route::Direct | Route::Whole { .. } => element as u64,
            };
            properties.bytes_mut()[*at..at + 8].copy_from_slice(&index.to_ne_bytes());
        }
        for (at, values) in &dats {
            let value = values.element(element);
            state.bytes_mut()[*at..at + value.len()].copy_from_slice(value);
        }
        let name = declared.names.element(set, element);
        let device = builder.device_with(&name, kind, Some(properties.bytes()), Some(state.bytes()));
        devices.push(device.map_err(of_events)?);
    }
    Ok(devices)
}

/// The edges of a program.
struct Edges<'a> {
    mesh: &'a Mesh,
    declared: &'a Declared,
    builder: InstanceBuilder,
    elements: &'a [Vec<DeviceId>],
    global: DeviceId,
}

impl Edges<'_> {
    fn output(&self, set: u32, pin: &str) -> OutputId {
        let kind = self.declared.graph_type.device(&self.declared.names.set_type(set)).expect("it was declared");
        self.declared.graph_type.devices()[kind.index()].output(pin).expect("the pin was declared")
    }

    fn input(&self, set: u32, pin: &str) -> InputId {
        let kind = self.declared.graph_type.device(&self.declared.names.set_type(set)).expect("it was declared");
        self.declared.graph_type.devices()[kind.index()].input(pin).expect("the pin was declared")
    }

    /// Between the device with the control flow and all that take part.
    fn control(&mut self, number: usize, invocation: &Invocation) -> Result<(), Error> {
        for &set in &invocation.sets {
            let begin = self.input(set, &format!("{}_begin", invocation.name));
            let end = self.output(set, &format!("{}_end", invocation.name));
            for &device in &self.elements[set as usize] {
                let (begins, ends) = (OutputId(1 + number as u32), InputId(number as u32));
                self.builder.edge(self.global, begins, device, begin).map_err(of_events)?;
                self.builder.edge(device, end, self.global, ends).map_err(of_events)?;
            }
        }
        Ok(())
    }

    /// From those who have a value to those who read it.
    fn read(&mut self, invocation: &Invocation, read: &Through) -> Result<(), Error> {
        let (name, home) = (&invocation.name, invocation.decl.set);
        let map = &self.mesh.maps[read.map as usize];
        let output = self.output(map.to, &format!("{name}_{}_read_send", self.declared.names.dat(read.dat)));
        let input = self.input(home, &format!("{name}_arg{}_read_recv", read.arg));
        for (element, row) in map.table.chunks(map.arity).enumerate() {
            for column in 0..read.columns {
                let source = self.elements[map.to as usize][row[read.first + column] as usize];
                self.edge(source, output, self.elements[home as usize][element], input, read.whole, column)?;
            }
        }
        Ok(())
    }

    /// From those who write a value to those who have it.
    fn write(&mut self, invocation: &Invocation, write: &Through) -> Result<(), Error> {
        let (name, home) = (&invocation.name, invocation.decl.set);
        let map = &self.mesh.maps[write.map as usize];
        let output = self.output(home, &format!("{name}_arg{}_write_send", write.arg));
        let input = self.input(map.to, &write_pin(invocation, &self.declared.names, write));
        for (element, row) in map.table.chunks(map.arity).enumerate() {
            for column in 0..write.columns {
                let target = self.elements[map.to as usize][row[write.first + column] as usize];
                self.edge(self.elements[home as usize][element], output, target, input, write.whole, column)?;
            }
        }
        Ok(())
    }

    fn edge(
        &mut self,
        source: DeviceId,
        output: OutputId,
        target: DeviceId,
        input: InputId,
        whole: bool,
        column: usize,
    ) -> Result<(), Error> {
        let index = (column as u32).to_ne_bytes();
        let values = EdgeValues { properties: whole.then_some(&index[..]), ..EdgeValues::default() };
        self.builder.edge_with(source, output, target, input, &values).map_err(of_events)
    }
}
