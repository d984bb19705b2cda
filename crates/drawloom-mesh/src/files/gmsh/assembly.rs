//! The mesh that the sections of a file make.

use std::collections::BTreeMap;

use super::super::first_order::FirstOrder;
use super::super::mesh_file::{Form, MeshFile, Names};
use super::field::Field;
use super::sections::{Block, Sections};
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

/// Data of few nodes of many, or many groups of one element, take more memory than they have in the file. All values
/// together may be so many times the bytes of the file.
const GREATEST_RATIO: usize = 64;

/// Puts the mesh of a file of some length together. Nodes stay in the order of the file, and so do the elements of each
/// shape.
pub(super) fn assemble(sections: Sections, form: Form, length: usize) -> Result<MeshFile, Error> {
    let numbers = sections.blocks.iter().flat_map(|block| &block.elements).copied();
    Places::of("element", numbers, sections.blocks.iter().map(|block| block.elements.len()).sum())?;
    let mut assembly = Assembly {
        file: MeshFile { mesh: RawMesh::new(), form, notes: sections.notes },
        names: Names::default(),
        first_order: FirstOrder::default(),
        nodes: Places::of("node", sections.nodes.iter().map(|node| node.0), sections.nodes.len())?,
        groups: sections.groups,
        values: 0,
        length,
    };
    let flat = sections.nodes.iter().all(|(_, place)| place[2] == 0.0);
    let dim = if flat { 2 } else { 3 };
    let coordinates = sections.nodes.iter().flat_map(|(_, place)| place.iter().take(dim)).copied().collect();
    let (nodes, p_x) = (assembly.name("nodes"), assembly.name("p_x"));
    assembly.file.mesh.add_set(&nodes, sections.nodes.len()).add_dat(&p_x, &nodes, dim, Values::F64(coordinates));
    drop(sections.nodes);
    let mut sets: Vec<(&str, Vec<&Block>)> = Vec::new();
    for block in &sections.blocks {
        match sets.iter_mut().find(|(set, _)| *set == block.shape.plural()) {
            Some((_, blocks)) => blocks.push(block),
            None => sets.push((block.shape.plural(), vec![block])),
        }
    }
    for (set, blocks) in &sets {
        assembly.add_elements(set, blocks)?;
    }
    assembly.add_fields(&sections.fields, &sets)?;
    for (name, dimension, number) in sections.names {
        let name = assembly.name(&format!("group_{name}"));
        assembly.file.mesh.add_constant(&name, Values::I32(vec![dimension, number]));
    }
    let mut file = assembly.file;
    assembly.first_order.finish(&mut file);
    Ok(file)
}

/// A mesh that is being put together.
struct Assembly {
    file: MeshFile,
    names: Names,
    first_order: FirstOrder,
    nodes: Places,
    /// The physical groups of entities.
    groups: BTreeMap<(i64, i64), Vec<i32>>,
    /// How many values the groups and data have so far.
    values: usize,
    /// How many bytes the file has.
    length: usize,
}

impl Assembly {
    /// A name that nothing else has.
    fn name(&mut self, wanted: &str) -> String {
        self.names.unique(wanted, &mut self.file.notes)
    }

    /// Counts values before they are allocated.
    fn count(&mut self, what: &str, values: usize) -> Result<(), Error> {
        self.values = self.values.saturating_add(values);
        if self.values / GREATEST_RATIO <= self.length {
            return Ok(());
        }
        let message = format!("{what}: {} values are too many for a file of {} bytes", self.values, self.length);
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    fn groups_of<'a>(&'a self, block: &'a Block) -> &'a [i32] {
        let of_entity = || self.groups.get(&block.entity).map_or(&[][..], Vec::as_slice);
        if block.groups.is_empty() { of_entity() } else { &block.groups }
    }

    fn add_elements(&mut self, set: &str, blocks: &[&Block]) -> Result<(), Error> {
        let (mut table, mut entities, mut arity) = (Vec::new(), Vec::new(), 1);
        let most_groups = blocks.iter().map(|block| self.groups_of(block).len()).max().unwrap_or(0).max(1);
        let count: usize = blocks.iter().map(|block| block.elements.len()).sum();
        self.count(&format!("the groups of `{set}`"), count.saturating_mul(most_groups))?;
        let mut physical = vec![Vec::new(); most_groups];
        let mut row = Vec::new();
        for block in blocks {
            arity = block.shape.corners(0);
            for (nodes, element) in block.nodes.chunks_exact(block.arity).zip(&block.elements) {
                row.clear();
                for node in nodes {
                    row.push(self.nodes.find(*node).ok_or_else(|| {
                        let message = format!("element {element} has the node {node}, which is not there");
                        Error::new(ErrorKind::Inconsistent, message)
                    })?);
                }
                table.extend_from_slice(&row[..arity]);
                if block.arity > arity {
                    self.first_order.add(self.nodes.count, row[arity..].iter().copied());
                }
            }
            let count = entities.len() + block.elements.len();
            entities.resize(count, i32::try_from(block.entity.1).unwrap_or(i32::MAX));
            let of_block = self.groups_of(block);
            for (index, groups) in physical.iter_mut().enumerate() {
                groups.resize(count, of_block.get(index).copied().unwrap_or(0));
            }
        }
        let (set, map) = (self.name(set), self.name(&format!("{set}_nodes")));
        self.file.mesh.add_set(&set, entities.len()).add_map(&map, &set, "nodes", arity, table);
        let name = self.name(&format!("{set}_entity"));
        self.file.mesh.add_dat(&name, &set, 1, Values::I32(entities));
        for (groups, number) in physical.into_iter().zip(1..) {
            let number = if number == 1 { String::new() } else { format!("_{number}") };
            let name = self.name(&format!("{set}_physical{number}"));
            self.file.mesh.add_dat(&name, &set, 1, Values::I32(groups));
        }
        Ok(())
    }

    /// Adds data of nodes under their names, and data of elements for each set that has any. What has no value is not a
    /// number.
    fn add_fields(&mut self, fields: &[Field], sets: &[(&str, Vec<&Block>)]) -> Result<(), Error> {
        let mut of_sets: Vec<(&str, Places)> = Vec::new();
        if fields.iter().any(|field| !field.on_nodes) {
            for (set, blocks) in sets {
                let count = blocks.iter().map(|block| block.elements.len()).sum();
                of_sets.push((set, Places::of("element", blocks.iter().flat_map(|b| &b.elements).copied(), count)?));
            }
        }
        for field in fields {
            if field.on_nodes {
                self.count(&field.name, self.nodes.count * field.components)?;
                if let Some(values) = self.nodes.spread(field) {
                    let name = self.name(&field.name);
                    self.file.mesh.add_dat(&name, "nodes", field.components, Values::F64(values));
                }
                continue;
            }
            for (set, places) in &of_sets {
                self.count(&field.name, places.count * field.components)?;
                if let Some(values) = places.spread(field) {
                    let name = self.name(&format!("{set}_{}", field.name));
                    self.file.mesh.add_dat(&name, set, field.components, Values::F64(values));
                }
            }
        }
        Ok(())
    }
}

/// Where the node or element of a number is in the order of the file.
struct Places {
    count: usize,
    order: Order,
}

enum Order {
    /// The numbers follow one another, and this is the first.
    Consecutive(u64),
    /// Numbers and places, by growing number.
    Sorted(Vec<(u64, u32)>),
}

impl Places {
    fn of(what: &str, numbers: impl Iterator<Item = u64> + Clone, count: usize) -> Result<Self, Error> {
        if u32::try_from(count).is_err() {
            let message = format!("{count} {what}s are more than a set can have");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let first = numbers.clone().next().unwrap_or(0);
        if numbers.clone().zip(0..).all(|(number, index)| number.checked_sub(first) == Some(index)) {
            return Ok(Self { count, order: Order::Consecutive(first) });
        }
        let mut sorted: Vec<(u64, u32)> = numbers.zip(0..).collect();
        sorted.sort_unstable();
        if let Some(two) = sorted.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(Error::new(ErrorKind::Inconsistent, format!("the {what} {} is there twice", two[0].0)));
        }
        Ok(Self { count, order: Order::Sorted(sorted) })
    }

    fn find(&self, number: u64) -> Option<u32> {
        match &self.order {
            Order::Consecutive(first) => {
                number.checked_sub(*first).filter(|place| *place < self.count as u64).map(|place| place as u32)
            }
            Order::Sorted(sorted) => {
                let place = sorted.binary_search_by_key(&number, |node| node.0).ok()?;
                Some(sorted[place].1)
            }
        }
    }

    /// The values of a field in the order of the file, not a number where there is none. `None` if there are none at all.
    fn spread(&self, field: &Field) -> Option<Vec<f64>> {
        let components = field.components;
        let mut values = Vec::new();
        for (number, found) in field.numbers.iter().zip(field.values.chunks_exact(components)) {
            if let Some(place) = self.find(*number) {
                values.resize(self.count * components, f64::NAN);
                let start = place as usize * components;
                values[start..start + components].copy_from_slice(found);
            }
        }
        (!values.is_empty()).then_some(values)
    }
}
