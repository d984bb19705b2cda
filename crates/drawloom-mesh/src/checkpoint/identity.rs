//! What a checkpoint must have in common with the program that goes on from it.

use std::fmt::Write as _;

use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::Statement;
use crate::program::steps::Steps;

/// Numbers that differ, almost certainly, for different programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Of the statements, by their names and arguments. How often outermost repetitions run is no part of it: a program may
    /// go on for longer than was planned.
    pub(crate) program: u64,
    /// Of the constants, and of the dats that no loop changes.
    pub(crate) fixed: u64,
}

impl Identity {
    pub(crate) fn of(mesh: &Mesh, statements: &[Statement]) -> Self {
        let mut text = String::new();
        describe(mesh, statements, true, &mut text);
        let mut fixed = Fnv::new();
        for constant in mesh.globals.iter().filter(|global| global.constant) {
            fixed.note(&constant.name, &*constant.values);
        }
        for (dat, _) in mesh.dats.iter().zip(changed_dats(mesh, statements)).filter(|(_, changed)| !changed) {
            fixed.note(&dat.name, &*dat.values);
        }
        let mut program = Fnv::new();
        program.add(text.as_bytes());
        Self { program: program.0, fixed: fixed.0 }
    }
}

/// For each dat, whether a loop changes it.
pub(crate) fn changed_dats(mesh: &Mesh, statements: &[Statement]) -> Vec<bool> {
    let mut changed = vec![false; mesh.dats.len()];
    for arg in Steps::new(statements, 0).loops.iter().flat_map(|decl| &decl.args) {
        if let ArgDecl::Dat { dat, access, present: true, .. } = *arg {
            changed[dat as usize] |= access != Access::Read;
        }
    }
    changed
}

/// The hash of Fowler, Noll and Vo (FNV-1a, 64 bits).
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A name, and the values behind it. Those of a struct do not count: there may be bytes between its members.
    fn note(&mut self, name: &str, values: &dyn Store) {
        self.add(format!("{name} {} {} {};", values.kind(), values.dim(), values.len()).as_bytes());
        if values.kind().is_in_files() {
            // A fast checksum of the many bytes, and this one of the few.
            let mut sum = crc32fast::Hasher::new();
            (0..values.len()).for_each(|element| sum.update(values.element(element)));
            self.add(&sum.finalize().to_le_bytes());
        }
    }
}

fn describe(mesh: &Mesh, statements: &[Statement], outermost: bool, text: &mut String) {
    for statement in statements {
        // Writing to a string does not fail.
        let _ = match statement {
            Statement::Loop(decl) => {
                let _ = write!(text, "loop {:?} {:?}", decl.name, mesh.sets[decl.set as usize].name);
                arguments(mesh, &decl.args, text)
            }
            Statement::Scalar(decl) => {
                let _ = write!(text, "scalar {:?}", decl.name);
                arguments(mesh, &decl.args, text)
            }
            Statement::Repeat { name, count, counter, body } => {
                let counter = counter.map_or("", |global| &mesh.globals[global as usize].name);
                let count = if outermost { String::new() } else { count.to_string() };
                let _ = write!(text, "repeat {name:?} {count} {counter:?} {{");
                describe(mesh, body, false, text);
                text.write_char('}')
            }
            Statement::While { condition, body } => {
                let _ = write!(text, "while {:?} {{", mesh.globals[condition.global as usize].name);
                describe(mesh, body, false, text);
                text.write_char('}')
            }
            Statement::If { condition, then, otherwise } => {
                let _ = write!(text, "if {:?} {{", mesh.globals[condition.global as usize].name);
                describe(mesh, then, false, text);
                text.push_str("} else {");
                describe(mesh, otherwise, false, text);
                text.write_char('}')
            }
            Statement::RequireFinite { global } => {
                write!(text, "finite {:?};", mesh.globals[*global as usize].name)
            }
        };
    }
}

fn arguments(mesh: &Mesh, args: &[ArgDecl], text: &mut String) -> std::fmt::Result {
    let route = |route: Route| match route {
        Route::Direct => String::new(),
        Route::Column { map, column } => format!("{:?} {column}", mesh.maps[map as usize].name),
        Route::Whole { map } => format!("{:?}", mesh.maps[map as usize].name),
    };
    for arg in args {
        match *arg {
            ArgDecl::Dat { dat, route: by, access, present } => {
                let name = &mesh.dats[dat as usize].name;
                write!(text, ", {} {name:?} {} {present}", access.name(), route(by))?;
            }
            ArgDecl::Global { global, access, payload, present } => {
                let name = &mesh.globals[global as usize].name;
                let payload = payload.map_or("", |payload| &mesh.globals[payload as usize].name);
                write!(text, ", {} {name:?} {payload:?} {present}", access.name())?;
            }
            ArgDecl::Index { route: by } => write!(text, ", index {}", route(by))?,
            ArgDecl::Size { set } => write!(text, ", size {:?}", mesh.sets[set as usize].name)?,
        }
    }
    text.write_char(';')
}
