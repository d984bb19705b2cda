//! What was recorded as a graph of `drawloom-graph`, and its check.
//!
//! A task that commutes becomes one that updates: the chain of such tasks in the graph is one of the orders it allows.
//! Scratch buffers are no data, and make no edge.

use drawloom_graph::{Access, Builder, Edge, FieldId, Graph, Label, Pieces, RegionId, Regions, SpaceId};
use rustc_hash::FxHashMap;

use super::capture::Tape;
use crate::access::Mode;
use crate::data::piece::Piece;
use crate::data::tree::{Partition, Tree};
use crate::error::{Error, ErrorKind, Result};

/// The graph of what was recorded.
pub(super) fn graph_of(tape: &Tape) -> Result<Graph> {
    let mut table = Table { regions: Regions::new(), roots: FxHashMap::default(), spaces: FxHashMap::default() };
    let mut arguments: Vec<Vec<RegionId>> = Vec::with_capacity(tape.tasks.len());
    for task in &tape.tasks {
        let regions = task.args.iter().filter(|a| a.is_ordered()).map(|arg| table.region(arg.piece()));
        arguments.push(regions.collect::<Result<_>>()?);
    }
    let mut builder = Builder::new(table.regions);
    let mut nodes = Vec::with_capacity(tape.tasks.len());
    for (task, regions) in tape.tasks.iter().zip(&arguments) {
        let mut folds = task.folds.iter();
        let modes = task.args.iter().filter(|a| a.is_ordered()).map(|arg| match arg.mode() {
            Mode::Read | Mode::LendRead => Access::Read,
            Mode::Write | Mode::LendWrite => Access::Write,
            Mode::Update | Mode::LendUpdate | Mode::Commute => Access::Update,
            Mode::Reduce => Access::Reduce(folds.next().expect("each reduction has an operator").0.name()),
        });
        let call: Vec<(RegionId, Access<'_>)> = regions.iter().copied().zip(modes).collect();
        let node = builder.call(task.name.as_str(), &call).map_err(|finding| {
            Error::of_task(
                ErrorKind::Plan,
                task.origin(),
                format!("was refused ({}): {}", finding.rule.code(), finding.message),
            )
        })?;
        nodes.push(node);
    }
    let mut graph = builder.finish();
    for (task, &node) in tape.tasks.iter().zip(&nodes) {
        for &earlier in &task.after {
            graph.add_edge(Edge::new(nodes[earlier as usize], node, Label::HappensBefore));
        }
    }
    Ok(graph)
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
}

impl Table {
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
