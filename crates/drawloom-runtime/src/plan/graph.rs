//! What was recorded as a graph of `drawloom-graph`, and its check.
//!
//! A task that commutes becomes one that updates: the chain of such tasks in the graph is one of the orders it allows, and its
//! edges are marked as reorderable.
//! Scratch buffers are no data, and make no edge.

use drawloom_graph::{Access, Builder, Edge, FieldId, Graph, IndexSet, Label, Pieces, RegionId, Regions, SpaceId};
use rustc_hash::FxHashMap;

use super::capture::{Taken, Tape};
use crate::access::{Arg, Mode};
use crate::data::piece::Piece;
use crate::data::tree::{Partition, Tree};
use crate::error::{Error, ErrorKind, Result};

/// The graph of what was recorded.
pub(super) fn graph_of(tape: &Tape) -> Result<Graph> {
    let mut table = Table {
        regions: Regions::new(),
        roots: FxHashMap::default(),
        spaces: FxHashMap::default(),
        joints: FxHashMap::default(),
    };
    let mut arguments: Vec<Vec<RegionId>> = Vec::with_capacity(tape.tasks.len());
    for task in &tape.tasks {
        arguments.push(table.regions_of(&ordered(task))?);
    }
    let mut builder = Builder::new(table.regions);
    let mut nodes = Vec::with_capacity(tape.tasks.len());
    for (task, regions) in tape.tasks.iter().zip(&arguments) {
        let call: Vec<(RegionId, Access<'_>)> = regions.iter().copied().zip(accesses(task)).collect();
        let node = builder.call(task.spec.name.as_str(), &call).map_err(|finding| {
            Error::of_task(
                ErrorKind::Plan,
                task.spec.origin(),
                format!("was refused ({}): {}", finding.rule.code(), finding.message),
            )
        })?;
        for (port, arg) in (0..).zip(ordered(task)) {
            if arg.mode() == Mode::Commute {
                builder.set_reorderable(node, port);
            }
        }
        nodes.push(node);
    }
    let mut graph = builder.finish();
    for (task, &node) in tape.tasks.iter().zip(&nodes) {
        for &earlier in task.after() {
            graph.add_edge(Edge::new(nodes[earlier as usize], node, Label::HappensBefore));
        }
    }
    Ok(graph)
}

/// Whether an argument takes part in the order of tasks: pieces without elements hold nothing.
fn takes_part(arg: &Arg) -> bool {
    arg.is_ordered() && !arg.piece().indices.is_empty()
}

fn ordered(task: &Taken) -> Vec<Arg> {
    task.spec.args().iter().copied().filter(takes_part).collect()
}

/// What a task does with each of those arguments.
fn accesses(task: &Taken) -> impl Iterator<Item = Access<'_>> {
    let mut folds = task.folds().iter();
    task.spec.args().iter().filter_map(move |arg| {
        let access = match arg.mode() {
            Mode::Read | Mode::LendRead => Access::Read,
            Mode::Write | Mode::LendWrite => Access::Write,
            Mode::Update | Mode::LendUpdate | Mode::Commute => Access::Update,
            Mode::Reduce => Access::Reduce(folds.next().expect("each reduction has an operator").name()),
        };
        takes_part(arg).then_some(access)
    })
}

/// Refuses a graph in which the check finds something.
pub(super) fn check(graph: &Graph) -> Result<()> {
    let report = graph.check();
    if report.is_valid() {
        return Ok(());
    }
    let findings: Vec<String> =
        report.violations.iter().map(|finding| format!("{}: {}", finding.rule.code(), finding.message)).collect();
    Err(Error::new(ErrorKind::Plan, format!("the recorded tasks do not make a plan: {}", findings.join("; "))))
}

/// Regions of the graph for the pieces that tasks use.
struct Table {
    regions: Regions,
    roots: FxHashMap<*const Tree, (SpaceId, FieldId)>,
    spaces: FxHashMap<*const Piece, SpaceId>,
    /// What several pieces of a region hold together.
    joints: FxHashMap<(*const Tree, IndexSet), SpaceId>,
}

impl Table {
    /// The regions of the arguments of one task.
    ///
    /// A graph reads pieces that overlap through one region that contains them. The smallest one that there is may also
    /// contain a piece that the same task changes, though no piece overlaps that one; then what the pieces hold together
    /// becomes a region of its own.
    fn regions_of(&mut self, args: &[Arg]) -> Result<Vec<RegionId>> {
        let reads = |arg: &Arg| !arg.mode().mutates();
        let mut regions = Vec::with_capacity(args.len());
        for (at, arg) in args.iter().enumerate() {
            let same = |other: &&Arg| std::ptr::eq(other.piece().tree(), arg.piece().tree());
            let changed = || args.iter().filter(same).filter(|other| !reads(other));
            if !reads(arg) || changed().next().is_none() {
                regions.push(self.region(arg.piece())?);
                continue;
            }
            let mut whole = (*arg.piece().indices).clone();
            let mut joined = vec![false; args.len()];
            joined[at] = true;
            // What joins may overlap further pieces.
            while let Some(next) = (0..args.len()).find(|&i| {
                let other = &args[i];
                !joined[i] && reads(other) && same(&other) && other.piece().indices.first_common(&whole).is_some()
            }) {
                whole = whole.union(&args[next].piece().indices);
                joined[next] = true;
            }
            let differs = whole != *arg.piece().indices;
            // Where the task changes what it reads, the check says so with the names of the pieces.
            if differs && changed().all(|other| other.piece().indices.first_common(&whole).is_none()) {
                regions.push(self.joint(arg.piece().tree(), whole)?);
            } else {
                regions.push(self.region(arg.piece())?);
            }
        }
        Ok(regions)
    }

    /// A region that holds some elements of a tree.
    fn joint(&mut self, tree: &Tree, indices: IndexSet) -> Result<RegionId> {
        let (space, field) = self.root(tree)?;
        let key = (std::ptr::from_ref(tree), indices.clone());
        let piece = match self.joints.get(&key) {
            Some(&known) => known,
            None => {
                // No partition of a user has such a name: they are called by how they cut.
                let name = format!("joint{}", self.joints.len() + 1);
                let id = self.regions.partition(name, space, Pieces::lists([indices])).map_err(refuse)?;
                let piece = self.regions.piece(id, 0);
                self.joints.insert(key, piece);
                piece
            }
        };
        self.regions.region(field, piece).map_err(refuse)
    }

    fn region(&mut self, piece: &Piece) -> Result<RegionId> {
        let (_, field) = self.root(piece.tree())?;
        let space = self.space(piece)?;
        self.regions.region(field, space).map_err(refuse)
    }

    fn root(&mut self, tree: &Tree) -> Result<(SpaceId, FieldId)> {
        if let Some(&known) = self.roots.get(&std::ptr::from_ref(tree)) {
            return Ok(known);
        }
        // Two regions may have the same name.
        let mut name = tree.name.clone();
        let mut copies = 1;
        while self.regions.find_space(&name).is_some() {
            copies += 1;
            name = format!("{}#{copies}", tree.name);
        }
        let space = self.regions.space(name.clone(), tree.len).map_err(refuse)?;
        let field = self.regions.field(name, space).map_err(refuse)?;
        self.roots.insert(tree, (space, field));
        self.spaces.insert(&*tree.root, space);
        Ok((space, field))
    }

    fn space(&mut self, piece: &Piece) -> Result<SpaceId> {
        if let Some(&known) = self.spaces.get(&std::ptr::from_ref(piece)) {
            return Ok(known);
        }
        // SAFETY: only whole regions have no partition, and those were found above; partitions live as long as their tree,
        // which the tape keeps.
        let partition: &Partition = unsafe { &*piece.partition };
        // SAFETY: as above.
        let of = self.space(unsafe { &*partition.of })?;
        let sets: Vec<_> = partition.pieces.iter().map(|p| (*p.indices).clone()).collect();
        let id = self.regions.partition(partition.name.clone(), of, Pieces::lists(sets)).map_err(refuse)?;
        for (colour, piece) in partition.pieces.iter().enumerate() {
            self.spaces.insert(piece, self.regions.piece(id, colour as u32));
        }
        Ok(self.spaces[&std::ptr::from_ref(piece)])
    }
}

fn refuse(error: drawloom_graph::RegionError) -> Error {
    Error::new(ErrorKind::Plan, format!("the regions of the recorded tasks do not make a table: {error}"))
}
