//! Who takes part in a loop, and what each must count before it is at the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::program::statement::LoopDecl;

/// A loop with what its messages follow from.
pub(super) struct Invocation {
    pub(super) name: String,
    pub(super) decl: Arc<LoopDecl>,
    /// The sets whose devices take part: that of the loop, and those that it reaches through maps.
    pub(super) sets: BTreeSet<u32>,
    /// The dats that are read through maps, each sent once by every device that has it.
    pub(super) read_dats: Vec<u32>,
    /// The arguments that are read through maps.
    pub(super) reads: Vec<Through>,
    /// The arguments that are written through maps.
    pub(super) writes: Vec<Through>,
}

/// An argument that goes through a map.
#[derive(Clone, Copy)]
pub(super) struct Through {
    /// The number of the argument.
    pub(super) arg: usize,
    pub(super) dat: u32,
    pub(super) access: Access,
    pub(super) map: u32,
    /// The first column, and how many.
    pub(super) first: usize,
    pub(super) columns: usize,
    /// Whether it is all columns as one argument.
    pub(super) whole: bool,
}

impl Invocation {
    pub(super) fn new(mesh: &Mesh, name: String, decl: Arc<LoopDecl>) -> Self {
        let mut sets = BTreeSet::from([decl.set]);
        let (mut read_dats, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        for (arg, declared) in decl.args.iter().enumerate() {
            let ArgDecl::Dat { dat, route, access, present: true } = *declared else { continue };
            let (map, first, columns, whole) = match route {
                Route::Direct => continue,
                Route::Column { map, column } => (map, column as usize, 1, false),
                Route::Whole { map } => (map, 0, mesh.maps[map as usize].arity, true),
            };
            let through = Through { arg, dat, access, map, first, columns, whole };
            sets.insert(mesh.maps[map as usize].to);
            if matches!(access, Access::Read | Access::Update) {
                if !read_dats.contains(&dat) {
                    read_dats.push(dat);
                }
                reads.push(through);
            }
            if access != Access::Read {
                writes.push(through);
            }
        }
        Self { name, decl, sets, read_dats, reads, writes }
    }

    /// The dats of a set that are read through maps.
    pub(super) fn read_dats_on(&self, mesh: &Mesh, set: u32) -> Vec<u32> {
        self.read_dats.iter().copied().filter(|dat| mesh.dats[*dat as usize].set == set).collect()
    }

    /// The globals that begin tells the devices of the loop's set, with the numbers of the arguments.
    pub(super) fn told(&self, mesh: &Mesh) -> Vec<(usize, u32)> {
        let of = |(arg, declared): (usize, &ArgDecl)| match *declared {
            ArgDecl::Global { global, access: Access::Read, present: true, .. }
                if !mesh.globals[global as usize].constant =>
            {
                Some((arg, global))
            }
            _ => None,
        };
        self.decl.args.iter().enumerate().filter_map(of).collect()
    }

    /// The arguments that contribute to globals.
    pub(super) fn contributions(&self) -> Vec<usize> {
        let contributes = |declared: &ArgDecl| matches!(declared, ArgDecl::Global { access, present: true, .. } if access.contributes());
        (0..self.decl.args.len()).filter(|arg| contributes(&self.decl.args[*arg])).collect()
    }
}
