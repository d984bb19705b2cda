//! The names of device types, pins, messages and members: those of the published compiler of mesh programs to messages.

use std::collections::HashSet;

use crate::mesh::Mesh;

/// The name of the device with the control flow.
pub(super) const GLOBAL: &str = "global";

/// The names of everything in a mesh, as identifiers of C, each different from all others.
pub(super) struct Names {
    pub(super) sets: Vec<String>,
    pub(super) dats: Vec<String>,
    pub(super) globals: Vec<String>,
}

impl Names {
    pub(super) fn new(mesh: &Mesh) -> Self {
        let mut taken = HashSet::new();
        let mut of = |name: &String| unique(identifier(name), &mut taken);
        Self {
            sets: mesh.sets.iter().map(|set| of(&set.name)).collect(),
            dats: mesh.dats.iter().map(|dat| of(&dat.name)).collect(),
            globals: mesh.globals.iter().map(|global| of(&global.name)).collect(),
        }
    }

    pub(super) fn set_type(&self, set: u32) -> String {
        format!("set_{}", self.sets[set as usize])
    }

    pub(super) fn element(&self, set: u32, element: usize) -> String {
        format!("{}_{element}", self.sets[set as usize])
    }

    pub(super) fn dat(&self, dat: u32) -> String {
        format!("dat_{}", self.dats[dat as usize])
    }

    pub(super) fn global(&self, global: u32) -> String {
        format!("global_{}", self.globals[global as usize])
    }

    pub(super) fn length(&self, set: u32) -> String {
        format!("length_{}", self.sets[set as usize])
    }
}

/// Loops by names that are identifiers, each different from all others.
pub(super) fn invocations<'a>(names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut taken = HashSet::new();
    names.map(|name| unique(identifier(name), &mut taken)).collect()
}

/// A name with everything replaced that an identifier cannot have.
pub(super) fn identifier(name: &str) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit()) {
        text.insert(0, '_');
    }
    text
}

/// A name, with a number if it is taken.
pub(super) fn unique(name: String, taken: &mut HashSet<String>) -> String {
    let mut candidate = name.clone();
    let mut number = 1;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}_{number}");
        number += 1;
    }
    candidate
}
