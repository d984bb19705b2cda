//! Contributions that are kept first, and applied later: for loops that owners of targets would have to repeat too often.
//!
//! Every iteration is run once, in any order, and leaves what it contributes through maps on a *stage*. Then every block of
//! targets takes what is meant for it, element by element, in the order of iterations. So each element is changed as it
//! would be by one iteration after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use drawloom_runtime::{Capture, Erased, Loom, Vector};

use super::blocks::Blocks;
use super::cut::CutLoop;
use super::machine::{Data, Trouble};
use crate::error::Error;
use crate::kernel::args::Folding;
use crate::kernel::place::Route;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::mesh::store::of_engine;
use crate::program::statement::LoopDecl;
use crate::run::partials::Slot;
use crate::run::places::place_of;

/// What a loop contributes through maps, and to whom.
pub(crate) struct Staged {
    /// The arguments that are staged.
    pub(crate) args: Vec<StagedArg>,
    targets: Vec<Target>,
}

/// An argument that contributes through a map.
pub(crate) struct StagedArg {
    pub(crate) arg: usize,
    pub(crate) dat: u32,
    /// How many elements an iteration contributes to.
    columns: usize,
    folding: Folding,
}

impl StagedArg {
    /// The bytes that an iteration leaves.
    fn bytes(&self) -> usize {
        self.columns * self.folding.size
    }
}

/// What one dat receives.
struct Target {
    dat: u32,
    /// For each element, where its contributions start in the list; one more at the end.
    starts: Vec<usize>,
    /// The number of an argument among those that are staged, and which of its contributions.
    list: Vec<(u32, u32)>,
}

impl Staged {
    /// How a loop is staged, if it can be: a dat that it contributes to through maps, it does not change directly.
    pub(crate) fn new(mesh: &Mesh, decl: &LoopDecl) -> Option<Self> {
        let mut args = Vec::new();
        for (arg, (argument, folding)) in decl.args.iter().zip(&decl.foldings).enumerate() {
            let ArgDecl::Dat { dat, route, access, present: true } = *argument else { continue };
            if route != Route::Direct && access.contributes() {
                let columns = route.columns(mesh).count();
                args.push(StagedArg { arg, dat, columns, folding: (*folding)? });
            }
        }
        let dats: BTreeSet<u32> = args.iter().map(|arg| arg.dat).collect();
        let is_direct = |argument: &ArgDecl| match *argument {
            ArgDecl::Dat { dat, route, present: true, .. } => route == Route::Direct && dats.contains(&dat),
            _ => false,
        };
        let iterations = mesh.sets[decl.set as usize].size;
        let most = args.iter().map(|arg| arg.columns).max()?;
        if decl.args.iter().any(is_direct) || iterations.saturating_mul(most) > u32::MAX as usize {
            return None;
        }
        let targets = dats.iter().map(|&dat| Target::new(mesh, decl, &args, dat)).collect();
        Some(Self { args, targets })
    }

    /// Whether a dat receives anything.
    pub(crate) fn receives(&self, dat: u32) -> bool {
        self.targets.iter().any(|target| target.dat == dat)
    }
}

impl Target {
    fn new(mesh: &Mesh, decl: &LoopDecl, args: &[StagedArg], dat: u32) -> Self {
        let size = mesh.sets[mesh.dats[dat as usize].set as usize].size;
        // For each contribution of an iteration, in the order in which they are applied: the argument, its place among
        // those of the argument, and the column of a map that leads to its target.
        let mut contributions = Vec::new();
        for (number, arg) in args.iter().enumerate().filter(|(_, arg)| arg.dat == dat) {
            let ArgDecl::Dat { route, .. } = decl.args[arg.arg] else { continue };
            for (place, (map, column)) in (0_u32..).zip(route.columns(mesh)) {
                contributions.push((number as u32, arg.columns as u32, place, &mesh.maps[map as usize], column));
            }
        }
        let iterations = mesh.sets[decl.set as usize].size;
        let mut starts = vec![0; size + 1];
        for (.., map, column) in &contributions {
            map.table.chunks(map.arity).for_each(|row| starts[row[*column] as usize + 1] += 1);
        }
        for element in 0..size {
            starts[element + 1] += starts[element];
        }
        let mut next = starts.clone();
        let mut list = vec![(0, 0); starts[size]];
        for iteration in 0..iterations {
            for &(number, columns, place, map, column) in &contributions {
                let target = map.table[iteration * map.arity + column] as usize;
                list[next[target]] = (number, iteration as u32 * columns + place);
                next[target] += 1;
            }
        }
        Self { dat, starts, list }
    }
}

/// The stage of a loop: one region for each argument, in blocks of iterations.
pub(crate) struct Stage {
    pub(crate) blocks: Vec<Vec<Erased>>,
    _whole: Vec<Vector<Slot>>,
}

impl Stage {
    pub(crate) fn new(
        loom: &Loom,
        mesh: &Mesh,
        blocks: &Blocks,
        decl: &LoopDecl,
        staged: &Staged,
    ) -> Result<Self, Error> {
        let iterations = mesh.sets[decl.set as usize].size;
        let (mut whole, mut of_args) = (Vec::new(), Vec::new());
        for arg in &staged.args {
            // Blocks start at multiples of a number of iterations whose contributions fill whole slots.
            let slots = |iterations: usize| (iterations * arg.bytes()).div_ceil(size_of::<Slot>());
            let name = format!("{}.{} staged", decl.invocation, arg.arg);
            let region = loom.vector(name, vec![0; slots(iterations)]);
            let starts: Vec<usize> = blocks.starts(decl.set).iter().map(|start| slots(*start)).collect();
            of_args.push(region.runs(&starts).map_err(of_engine)?.map(|run| run.erased()).collect());
            whole.push(region);
        }
        Ok(Self { blocks: of_args, _whole: whole })
    }
}

/// Records that all targets take what is meant for them.
pub(crate) fn apply(
    capture: &Capture,
    mesh: &Arc<Mesh>,
    blocks: &Blocks,
    data: &Data,
    trouble: &Arc<Trouble>,
    cut: &Arc<CutLoop>,
    stage: &Stage,
) {
    let Some(staged) = &cut.staged else { return };
    for (number, target) in staged.targets.iter().enumerate() {
        let set = mesh.dats[target.dat as usize].set;
        let name = format!("{} into {}", cut.decl.invocation, mesh.dats[target.dat as usize].name);
        for block in 0..blocks.count() {
            let elements = blocks.range(set, block);
            let list = &target.list[target.starts[elements.start]..target.starts[elements.end]];
            if list.is_empty() {
                continue;
            }
            // The blocks of iterations from which something comes, for each argument.
            let mut from: BTreeSet<(u32, usize)> = BTreeSet::new();
            for &(arg, contribution) in list {
                let iteration = contribution as usize / staged.args[arg as usize].columns;
                from.insert((arg, blocks.of(cut.decl.set, iteration)));
            }
            let mut reads: Vec<Erased> = Vec::new();
            let mut first = vec![None; staged.args.len()];
            for (arg, block) in from {
                first[arg as usize].get_or_insert(reads.len());
                reads.push(stage.blocks[arg as usize][block].clone());
            }
            let pieces = &data.dats[target.dat as usize];
            let updates = [pieces.block(block).clone()];
            let (mesh, cut, trouble) = (Arc::clone(mesh), Arc::clone(cut), Arc::clone(trouble));
            reads.extend(data.gate());
            capture.task(name.clone()).read_all(&reads).update_all(&updates).run(move |reads, mut updates| {
                if trouble.stops() {
                    return;
                }
                let Some(staged) = &cut.staged else { return };
                let target = &staged.targets[number];
                let base = updates.get_mut(0).base();
                let of_arg = |(arg, first): (&StagedArg, &Option<usize>)| {
                    let place = place_of(&mesh, &cut.decl.args[arg.arg], base);
                    let stage = first.map_or(std::ptr::null(), |first| reads.get(first).base());
                    (arg.folding, place, stage)
                };
                let args: Vec<_> = staged.args.iter().zip(&first).map(of_arg).collect();
                for element in elements.clone() {
                    for &(arg, contribution) in &target.list[target.starts[element]..target.starts[element + 1]] {
                        let (folding, place, stage) = &args[arg as usize];
                        // SAFETY: the task changes the block of the element alone, and reads the blocks of the stage that
                        // the contribution comes from, where an iteration has left it before.
                        unsafe {
                            let from = stage.add(contribution as usize * folding.size);
                            (folding.apply)(place, element, std::ptr::null_mut(), from);
                        }
                    }
                }
            });
        }
    }
}
