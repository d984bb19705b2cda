//! How a loop is cut into tasks that do not get into each other's way.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::Mode;
use super::blocks::Blocks;
use super::staged::Staged;
use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::program::statement::LoopDecl;
use crate::run::stats::{Clock, Strategy};

/// What a task does with the blocks of a dat: the dat, the block, and whether it changes it.
pub(crate) type Uses = BTreeMap<(u32, usize), bool>;

/// One task of a loop.
pub(crate) struct Part {
    /// The block of iterations that is this task's own.
    pub(crate) block: usize,
    /// Its iterations, in order. Those outside of `home` are run for what they contribute to this task's targets only.
    pub(crate) runs: Vec<Range<usize>>,
    pub(crate) home: Range<usize>,
    /// For contributions through maps, the targets that are this task's to change.
    pub(crate) own: Option<Range<usize>>,
    pub(crate) uses: Uses,
}

/// A loop, cut into tasks.
pub(crate) struct CutLoop {
    pub(crate) decl: Arc<LoopDecl>,
    pub(crate) strategy: Strategy,
    /// In the order in which they are to be submitted.
    pub(crate) parts: Vec<Part>,
    pub(crate) colours: usize,
    pub(crate) repeated: usize,
    pub(crate) bytes: usize,
    pub(crate) reuse: f64,
    pub(crate) clock: Clock,
    /// What its iterations leave for others to apply.
    pub(crate) staged: Option<Staged>,
}

impl CutLoop {
    pub(crate) fn new(mesh: &Mesh, blocks: &Blocks, decl: Arc<LoopDecl>, mode: Mode, workers: usize) -> Self {
        let (bytes, reuse) = traffic_of(mesh, &decl);
        let changes = Changes::of(mesh, &decl);
        let (strategy, parts, colours) = match changes {
            Changes::Own => (Strategy::Direct, by_blocks(mesh, blocks, &decl), 1),
            Changes::One { set } => match by_owners(mesh, blocks, &decl, set) {
                Some(parts) => (Strategy::Owner, parts, 1),
                None => in_turn(mesh, blocks, &decl, mode),
            },
            // No element is written twice, so any order gives the same bits.
            Changes::Written => in_turn(mesh, blocks, &decl, Mode::Fast),
            Changes::Several => in_turn(mesh, blocks, &decl, mode),
        };
        let (mut strategy, mut parts, mut colours) = (strategy, parts, colours);
        // One worker runs the blocks in their order anyway.
        let worth = strategy == Strategy::Chain && workers > 1 && blocks.count() > 1;
        let staged = worth.then(|| Staged::new(mesh, &decl)).flatten();
        if let Some(staged) = &staged {
            (strategy, colours) = (Strategy::Staged, 1);
            parts.iter_mut().for_each(|part| part.uses.retain(|(dat, _), _| !staged.receives(*dat)));
        }
        let iterations: usize = parts.iter().flat_map(|part| &part.runs).map(ExactSizeIterator::len).sum();
        let repeated = iterations - mesh.sets[decl.set as usize].size;
        Self { decl, strategy, parts, colours, repeated, bytes, reuse, clock: Clock::default(), staged }
    }

    /// Whether the tasks of this loop and of a later one over the same set can be joined, block by block: what one changes
    /// and the other one uses, both reach directly.
    pub(crate) fn can_go_with(&self, later: &CutLoop) -> bool {
        if self.decl.set != later.decl.set
            || self.strategy != Strategy::Direct
            || later.strategy != Strategy::Direct
            || self.parts.len() != later.parts.len()
        {
            return false;
        }
        self.decl.args.iter().all(|a| later.decl.args.iter().all(|b| independent(a, b)))
    }
}

/// Whether two arguments of different loops over one set allow to run both for one element, then both for the next.
fn independent(a: &ArgDecl, b: &ArgDecl) -> bool {
    let reads = |access| access == Access::Read;
    match (*a, *b) {
        (ArgDecl::Dat { dat: x, route: p, access: m, .. }, ArgDecl::Dat { dat: y, route: q, access: n, .. }) => {
            x != y || (reads(m) && reads(n)) || (p == Route::Direct && q == Route::Direct)
        }
        (
            ArgDecl::Global { global: x, access: m, payload: p, .. },
            ArgDecl::Global { global: y, access: n, payload: q, .. },
        ) => {
            let same = |a: Option<u32>, b: Option<u32>| a.is_some() && a == b;
            let shared = x == y || same(p, q) || same(p, Some(y)) || same(q, Some(x));
            !shared || (reads(m) && reads(n))
        }
        _ => true,
    }
}

/// What a loop changes through maps.
enum Changes {
    /// Nothing: every iteration changes its own elements.
    Own,
    /// Elements that no two iterations share.
    Written,
    /// It contributes to elements of one set, and runs again without harm.
    One { set: u32 },
    /// Anything else.
    Several,
}

impl Changes {
    fn of(mesh: &Mesh, decl: &LoopDecl) -> Self {
        let mut sets = BTreeSet::new();
        let (mut written, mut once) = (false, false);
        for arg in &decl.args {
            let ArgDecl::Dat { dat, route, access, present: true } = *arg else { continue };
            match (route, access) {
                (_, Access::Read) | (Route::Direct, Access::Write) => {}
                // To run an iteration again would change its own element again.
                (Route::Direct, _) => once = true,
                (_, Access::Write | Access::Update) => written = true,
                _ => {
                    sets.insert(mesh.dats[dat as usize].set);
                }
            }
        }
        match (sets.len(), written) {
            (0, false) => Changes::Own,
            (0, true) => Changes::Written,
            (1, false) if !once => Changes::One { set: *sets.first().expect("there is one") },
            _ => Changes::Several,
        }
    }
}

/// The blocks that iterations lead to through a column of a map.
fn reached(mesh: &Mesh, blocks: &Blocks, map: u32, column: usize, runs: &[Range<usize>]) -> Vec<usize> {
    let map = &mesh.maps[map as usize];
    let mut seen = vec![false; blocks.count()];
    for row in runs.iter().flat_map(|run| map.table[run.start * map.arity..run.end * map.arity].chunks(map.arity)) {
        seen[blocks.of(map.to, row[column] as usize)] = true;
    }
    (0..seen.len()).filter(|&block| seen[block]).collect()
}

/// The blocks that a task uses.
fn uses_of(mesh: &Mesh, blocks: &Blocks, decl: &LoopDecl, part: &Part) -> Uses {
    let mut uses = Uses::new();
    let mut note = |dat: u32, block: usize, changes: bool| {
        // A block without elements holds nothing to use.
        if !blocks.range(mesh.dats[dat as usize].set, block).is_empty() {
            *uses.entry((dat, block)).or_insert(false) |= changes;
        }
    };
    for arg in &decl.args {
        let ArgDecl::Dat { dat, route, access, present: true } = *arg else { continue };
        let changes = access != Access::Read;
        if route == Route::Direct {
            if changes {
                note(dat, part.block, true);
            } else {
                for run in &part.runs {
                    for block in blocks.of(decl.set, run.start)..=blocks.of(decl.set, run.end - 1) {
                        note(dat, block, false);
                    }
                }
            }
            continue;
        }
        if changes && let Some(own) = &part.own {
            if !own.is_empty() {
                note(dat, blocks.of(mesh.dats[dat as usize].set, own.start), true);
            }
            continue;
        }
        for (map, column) in route.columns(mesh) {
            for block in reached(mesh, blocks, map, column, &part.runs) {
                note(dat, block, changes);
            }
        }
    }
    uses
}

/// A task for each block of iterations.
fn by_blocks(mesh: &Mesh, blocks: &Blocks, decl: &LoopDecl) -> Vec<Part> {
    let mut parts = Vec::new();
    for block in 0..blocks.count() {
        let home = blocks.range(decl.set, block);
        if home.is_empty() {
            continue;
        }
        let runs = vec![home.clone()];
        let mut part = Part { block, runs, home, own: None, uses: Uses::new() };
        part.uses = uses_of(mesh, blocks, decl, &part);
        parts.push(part);
    }
    parts
}

/// A task for each block of the targets, which also runs the iterations of other blocks that contribute to it. None when
/// that would be too many of them.
fn by_owners(mesh: &Mesh, blocks: &Blocks, decl: &LoopDecl, targets: u32) -> Option<Vec<Part>> {
    let size = mesh.sets[decl.set as usize].size;
    let mut others: Vec<Vec<usize>> = vec![Vec::new(); blocks.count()];
    let mut columns = Vec::new();
    for arg in &decl.args {
        if let ArgDecl::Dat { route, access, present: true, .. } = *arg
            && access.contributes()
        {
            columns.extend(route.columns(mesh));
        }
    }
    columns.sort_unstable();
    columns.dedup();
    let mut repeated = 0;
    let bound = (size / 3).max(4 * crate::run::partials::BLOCK);
    for block in 0..blocks.count() {
        for iteration in blocks.range(decl.set, block) {
            for &(map, column) in &columns {
                let map = &mesh.maps[map as usize];
                let target = blocks.of(targets, map.table[iteration * map.arity + column] as usize);
                if target != block && others[target].last() != Some(&iteration) {
                    others[target].push(iteration);
                    repeated += 1;
                }
            }
        }
        if repeated > bound {
            return None;
        }
    }
    let mut parts = Vec::new();
    for (block, others) in others.iter().enumerate() {
        let home = blocks.range(decl.set, block);
        let own = blocks.range(targets, block);
        let before = others.partition_point(|&iteration| iteration < home.start);
        let mut runs = runs_of(&others[..before]);
        if !home.is_empty() {
            runs.push(home.clone());
        }
        runs.extend(runs_of(&others[before..]));
        if runs.is_empty() {
            continue;
        }
        let mut part = Part { block, runs, home, own: Some(own), uses: Uses::new() };
        part.uses = uses_of(mesh, blocks, decl, &part);
        parts.push(part);
    }
    Some(parts)
}

/// Ascending numbers as runs.
fn runs_of(numbers: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}

/// A task for each block of iterations; those that share a block of targets follow each other. In the order of their
/// numbers, every element is changed in the order of iterations; by colours, more of them run at the same time.
fn in_turn(mesh: &Mesh, blocks: &Blocks, decl: &LoopDecl, mode: Mode) -> (Strategy, Vec<Part>, usize) {
    let parts = by_blocks(mesh, blocks, decl);
    if mode == Mode::Deterministic {
        let colours = parts.len();
        return (Strategy::Chain, parts, colours);
    }
    // For each block of a dat, the colours of the tasks that change it.
    let mut taken: BTreeMap<(u32, usize), BTreeSet<usize>> = BTreeMap::new();
    let mut coloured: Vec<(usize, Part)> = Vec::new();
    for part in parts {
        let changed: Vec<_> = part.uses.iter().filter(|(_, changes)| **changes).map(|(which, _)| *which).collect();
        let is_free = |colour: &usize| changed.iter().all(|w| taken.get(w).is_none_or(|t| !t.contains(colour)));
        let colour = (0..).find(is_free).expect("some number is free");
        for which in changed {
            taken.entry(which).or_default().insert(colour);
        }
        coloured.push((colour, part));
    }
    coloured.sort_by_key(|(colour, part)| (*colour, part.block));
    let colours = coloured.last().map_or(0, |(colour, _)| colour + 1);
    (Strategy::Colours, coloured.into_iter().map(|(_, part)| part).collect(), colours)
}

/// What a loop does with a dat, all arguments together.
#[derive(Default)]
struct Use {
    reads: bool,
    changes: bool,
    direct: bool,
    columns: BTreeSet<(u32, usize)>,
}

/// The bytes that one execution of a loop touches at least, and how often an element that it reaches through maps is used.
pub(crate) fn traffic_of(mesh: &Mesh, decl: &LoopDecl) -> (usize, f64) {
    let iterations = mesh.sets[decl.set as usize].size;
    let mut maps = BTreeSet::new();
    let mut dats: BTreeMap<u32, Use> = BTreeMap::new();
    for arg in &decl.args {
        match *arg {
            ArgDecl::Dat { dat, route, access, present: true } => {
                let entry = dats.entry(dat).or_default();
                entry.reads |= access != Access::Write;
                entry.changes |= access != Access::Read;
                entry.direct |= route == Route::Direct;
                entry.columns.extend(route.columns(mesh));
                maps.extend(route.columns(mesh).map(|(map, _)| map));
            }
            ArgDecl::Index { route } => maps.extend(route.columns(mesh).map(|(map, _)| map)),
            _ => {}
        }
    }
    let mut bytes: usize = maps.iter().map(|map| mesh.maps[*map as usize].table.len() * size_of::<u32>()).sum();
    let (mut reached, mut distinct) = (0_usize, 0_usize);
    for (dat, Use { reads, changes, direct, columns }) in dats {
        let dat = &mesh.dats[dat as usize];
        let elements = if direct {
            dat.values.len()
        } else {
            let mut seen = vec![false; dat.values.len()];
            for &(map, column) in &columns {
                let map = &mesh.maps[map as usize];
                map.table.chunks(map.arity).for_each(|row| seen[row[column] as usize] = true);
            }
            let elements = seen.iter().filter(|seen| **seen).count();
            reached += iterations * columns.len();
            distinct += elements;
            elements
        };
        bytes += elements * dat.values.bytes_each() * (usize::from(reads) + usize::from(changes));
    }
    (bytes, if distinct == 0 { 1.0 } else { reached as f64 / distinct as f64 })
}
