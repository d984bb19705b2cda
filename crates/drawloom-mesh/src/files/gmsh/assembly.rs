//! The mesh that the sections of a file make.

use super::sections::{Block, Sections};
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

/// Puts the mesh together. Nodes stay in the order of the file, and so do the elements of each type.
pub(super) fn assemble(sections: Sections) -> Result<RawMesh, Error> {
    let places = Places::of(&sections.nodes)?;
    elements_differ(&sections.blocks)?;
    let mut mesh = RawMesh::new();
    mesh.add_set("nodes", sections.nodes.len());
    let flat = sections.nodes.iter().all(|(_, place)| place[2] == 0.0);
    let dim = if flat { 2 } else { 3 };
    let coordinates = sections.nodes.iter().flat_map(|(_, place)| place.iter().take(dim)).copied().collect();
    mesh.add_dat("p_x", "nodes", dim, Values::F64(coordinates));
    let mut sets: Vec<&str> = Vec::new();
    for block in &sections.blocks {
        if !sets.contains(&block.set) {
            sets.push(block.set);
        }
    }
    for set in sets {
        add_elements(&mut mesh, set, &sections, &places)?;
    }
    for (name, dimension, number) in sections.names {
        mesh.add_constant(&format!("group_{name}"), Values::I32(vec![dimension, number]));
    }
    Ok(mesh)
}

fn add_elements(mesh: &mut RawMesh, set: &str, sections: &Sections, places: &Places) -> Result<(), Error> {
    let (mut table, mut entities, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    let mut arity = 1;
    for block in sections.blocks.iter().filter(|block| block.set == set) {
        arity = block.arity;
        for (index, node) in block.nodes.iter().enumerate() {
            table.push(places.find(*node).ok_or_else(|| missing(block, index / arity, *node))?);
        }
        let entity = i32::try_from(block.entity.1).unwrap_or(i32::MAX);
        let group = sections.groups.get(&block.entity).copied().unwrap_or(0);
        entities.resize(entities.len() + block.elements.len(), entity);
        groups.resize(groups.len() + block.elements.len(), group);
    }
    mesh.add_set(set, entities.len());
    mesh.add_map(&format!("{set}_nodes"), set, "nodes", arity, table);
    mesh.add_dat(&format!("{set}_entity"), set, 1, Values::I32(entities));
    mesh.add_dat(&format!("{set}_physical"), set, 1, Values::I32(groups));
    Ok(())
}

/// Refuses two elements of one number.
fn elements_differ(blocks: &[Block]) -> Result<(), Error> {
    let mut numbers: Vec<u64> = blocks.iter().flat_map(|block| &block.elements).copied().collect();
    numbers.sort_unstable();
    match numbers.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(Error::new(ErrorKind::Inconsistent, format!("the element {} is there twice", two[0]))),
        None => Ok(()),
    }
}

fn missing(block: &Block, element: usize, node: u64) -> Error {
    let element = block.elements[element];
    Error::new(ErrorKind::Inconsistent, format!("element {element} has the node {node}, which is not there"))
}

/// Where the node of a number is in the order of the file.
enum Places {
    /// The numbers follow one another, and this is the first.
    InOrder { first: u64, count: u64 },
    /// Numbers and places, by growing number.
    Sorted(Vec<(u64, u32)>),
}

impl Places {
    fn of(nodes: &[(u64, [f64; 3])]) -> Result<Self, Error> {
        if u32::try_from(nodes.len()).is_err() {
            let message = format!("{} nodes are more than a set can have", nodes.len());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let first = nodes.first().map_or(0, |node| node.0);
        if nodes.iter().enumerate().all(|(index, node)| node.0.checked_sub(first) == Some(index as u64)) {
            return Ok(Places::InOrder { first, count: nodes.len() as u64 });
        }
        let mut sorted: Vec<(u64, u32)> = nodes.iter().zip(0..).map(|(node, place)| (node.0, place)).collect();
        sorted.sort_unstable();
        if let Some(two) = sorted.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(Error::new(ErrorKind::Inconsistent, format!("the node {} is there twice", two[0].0)));
        }
        Ok(Places::Sorted(sorted))
    }

    fn find(&self, number: u64) -> Option<u32> {
        match self {
            Places::InOrder { first, count } => {
                number.checked_sub(*first).filter(|place| place < count).map(|place| place as u32)
            }
            Places::Sorted(sorted) => {
                let place = sorted.binary_search_by_key(&number, |node| node.0).ok()?;
                Some(sorted[place].1)
            }
        }
    }
}
