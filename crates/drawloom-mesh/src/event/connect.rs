//! The instance: a device for each element, and the edges between them.

use std::sync::Arc;

use drawloom_messages::data::Record;
use drawloom_messages::{DeviceId, EdgeValues, InputId, Instance, InstanceBuilder, OutputId};

use super::declare::{Declared, is_with_element, of_events, read_pin, write_pin};
use super::involved::{Invocation, Through};
use super::names::GLOBAL;
use super::options::{Control, Events};
use super::tree::{BRANCHES, branches};
use crate::error::Error;
use crate::kernel::place::Route;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;

/// An instance, and its devices: those of each set, and the one with the control flow.
pub(super) struct Connected {
    pub(super) instance: Arc<Instance>,
    pub(super) elements: Vec<Vec<DeviceId>>,
    pub(super) global: DeviceId,
    /// For several workers, who has which device.
    pub(super) parts: Option<Arc<[u32]>>,
}

/// Makes a device for each element, and connects them. For several workers, the parts of the elements are given.
pub(super) fn connect(
    mesh: &Mesh,
    options: &Events,
    declared: &Declared,
    parts: Option<Vec<Vec<u32>>>,
) -> Result<Connected, Error> {
    let mut builder = InstanceBuilder::new(&declared.graph_type, "mesh");
    builder.properties(graph_properties(mesh, options, declared)?.bytes()).map_err(of_events)?;
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
    let part_of: Option<Vec<u32>> = parts.map(|parts| parts.into_iter().flatten().chain([0]).collect());
    let mut edges = Edges { mesh, options, declared, builder, elements: &elements, global, part_of };
    for (number, invocation) in declared.invocations.iter().enumerate() {
        edges.control(number, invocation)?;
        invocation.reads.iter().try_for_each(|read| edges.read(invocation, read))?;
        invocation.writes.iter().try_for_each(|write| edges.write(invocation, write))?;
    }
    let parts = edges.part_of.map(Arc::from);
    let instance = edges.builder.build().map_err(of_events)?;
    Ok(Connected { instance, elements, global, parts })
}

/// Puts the bytes of a value into a member.
fn put(record: &mut Record, member: &str, value: &[u8]) -> Result<(), Error> {
    let at = record.layout().offset_of(member).map_err(of_events)?;
    record.bytes_mut()[at..at + value.len()].copy_from_slice(value);
    Ok(())
}

fn graph_properties(mesh: &Mesh, options: &Events, declared: &Declared) -> Result<Record, Error> {
    let mut properties = Record::new(declared.graph_type.properties());
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| global.constant) {
        put(&mut properties, &declared.names.global(number as u32), global.values.element(0))?;
    }
    for (number, set) in mesh.sets.iter().enumerate() {
        put(&mut properties, &declared.names.length(number as u32), &(set.size as u32).to_ne_bytes())?;
    }
    for (invocation, wiring) in declared.invocations.iter().zip(&declared.wirings) {
        let devices = wiring.devices();
        let below = if options.control == Control::Tree { branches(devices).last().copied() } else { None };
        let total = below.unwrap_or(devices) as u32;
        put(&mut properties, &format!("{}_total_responding_devices", invocation.name), &total.to_ne_bytes())?;
    }
    let counts: Vec<u8> = declared.run_counts.iter().flat_map(|count| count.to_ne_bytes()).collect();
    put(&mut properties, "run_counts", &counts)?;
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
    let mut totals = Vec::new();
    let (mut indices, mut element_at) = (Vec::new(), None);
    for (invocation, wiring) in declared.invocations.iter().zip(&declared.wirings) {
        let Some(list) = wiring.write_recv_totals.get(&set) else { continue };
        let property =
            |name: &str| layout.properties.offset_of(&format!("{}_{name}", invocation.name)).map_err(of_events);
        totals.push((property("write_recv_total")?, list));
        if invocation.decl.set != set {
            continue;
        }
        if invocation.decl.args.iter().any(is_with_element) {
            element_at = Some(layout.properties.offset_of("element").map_err(of_events)?);
        }
        for (number, arg) in invocation.decl.args.iter().enumerate() {
            if let ArgDecl::Index { route } = *arg {
                indices.push((property(&format!("arg{number}_index"))?, route));
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
        for (at, list) in &totals {
            properties.bytes_mut()[*at..at + 4].copy_from_slice(&list[element].to_ne_bytes());
        }
        if let Some(at) = element_at {
            properties.bytes_mut()[at..at + 4].copy_from_slice(&(element as u32).to_ne_bytes());
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
    options: &'a Events,
    declared: &'a Declared,
    builder: InstanceBuilder,
    elements: &'a [Vec<DeviceId>],
    global: DeviceId,
    /// The part of each device, if there are several.
    part_of: Option<Vec<u32>>,
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

    /// Between the device with the control flow and all that are told to begin, and that say when they are at the end.
    fn control(&mut self, number: usize, invocation: &Invocation) -> Result<(), Error> {
        let wiring = &self.declared.wirings[number];
        let (name, pin) = (&invocation.name, number as u32);
        let (begin_pin, end_pin) = (format!("{name}_begin"), format!("{name}_end"));
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        for &set in wiring.write_recv_totals.keys() {
            let (begin, end) = (self.input(set, &begin_pin), self.output(set, &end_pin));
            begins.extend(self.elements[set as usize].iter().map(|&device| (device, begin)));
            ends.extend(self.elements[set as usize].iter().map(|&device| (device, end)));
        }
        if self.options.control == Control::Tree {
            // Neighbours in the tree are with the same worker.
            if let Some(part_of) = &self.part_of {
                begins.sort_by_key(|(device, _)| part_of[device.index()]);
                ends.sort_by_key(|(device, _)| part_of[device.index()]);
            }
            begins = self.tree(&begin_pin, InputId(0), begins, |this, above, (device, input)| {
                this.builder.edge(above, OutputId(0), device, input).map_err(of_events)
            })?;
            ends = self.tree(&end_pin, OutputId(0), ends, |this, above, (device, output)| {
                this.builder.edge(device, output, above, InputId(0)).map_err(of_events)
            })?;
        }
        for (device, input) in begins {
            self.builder.edge(self.global, OutputId(1 + pin), device, input).map_err(of_events)?;
        }
        for (device, output) in ends {
            self.builder.edge(device, output, self.global, InputId(pin)).map_err(of_events)?;
        }
        Ok(())
    }

    /// Puts a tree above some devices and their pins, and returns what is below its root.
    fn tree<P: Copy>(
        &mut self,
        name: &str,
        pin: P,
        mut below: Vec<(DeviceId, P)>,
        connect: impl Fn(&mut Self, DeviceId, (DeviceId, P)) -> Result<(), Error>,
    ) -> Result<Vec<(DeviceId, P)>, Error> {
        let kind = self.declared.graph_type.device(&format!("tree_{name}")).expect("it was declared");
        let layout = self.declared.graph_type.devices()[kind.index()].properties();
        for (level, width) in branches(below.len()).into_iter().enumerate() {
            let mut above = Vec::with_capacity(width);
            let mut rest = below.into_iter().peekable();
            while rest.peek().is_some() {
                let children: Vec<_> = rest.by_ref().take(BRANCHES).collect();
                let mut properties = Record::new(layout);
                if !layout.tuple().is_empty() {
                    put(&mut properties, "end_total", &(children.len() as u32).to_ne_bytes())?;
                }
                // Names of elements have no dots.
                let device = format!("{name}.{level}.{}", above.len());
                let device =
                    self.builder.device_with(&device, kind, Some(properties.bytes()), None).map_err(of_events)?;
                if let Some(part_of) = &mut self.part_of {
                    part_of.push(part_of[children[0].0.index()]);
                }
                above.push((device, pin));
                children.into_iter().try_for_each(|child| connect(self, device, child))?;
            }
            below = above;
        }
        Ok(below)
    }

    /// From those who have a value to those who read it.
    fn read(&mut self, invocation: &Invocation, read: &Through) -> Result<(), Error> {
        let (name, home) = (&invocation.name, invocation.decl.set);
        let map = &self.mesh.maps[read.map as usize];
        let output = self.output(map.to, &read_pin(invocation, &self.declared.names, read.dat));
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
                let source = self.elements[home as usize][element];
                self.edge(source, output, target, input, write.whole, column)?;
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
