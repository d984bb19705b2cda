//! Families of graphs of any size, for benchmarks and tests.
//!
//! Each family stresses one thing: [`stencil`] is the ordinary case, the others are shapes on which a naive check is
//! quadratic.

use drawloom_graph::region::regions::ABSTRACT;
use drawloom_graph::{
    Access, Builder, Edge, Graph, Label, NodeId, NodeKind, PartitionId, Pieces, RegionId, Regions, SpaceId,
};

/// A one-dimensional stencil with two buffers: `blocks` tasks a step, each reading three blocks of one buffer and
/// overwriting one of the other. Two nodes and five edges a task.
///
/// # Panics
/// When a count is zero.
pub(crate) fn stencil(blocks: u32, steps: u32) -> Graph {
    let mut regions = Regions::new();
    let cells = regions.space("cells", u64::from(blocks)).expect("a new table has no name twice");
    let pieces = regions.partition("blocks", cells, Pieces::equal(blocks)).expect("the first partition of a space");
    let leaves: Vec<SpaceId> = (0..blocks).map(|i| regions.piece(pieces, i)).collect();
    stencil_over(regions, cells, &leaves, steps)
}

/// The same stencil over the leaves of a tree of partitions, `2^depth` blocks.
pub(crate) fn deep_stencil(depth: u32, steps: u32) -> Graph {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 1 << depth).expect("a new table has no name twice");
    let mut leaves = vec![cells];
    for _ in 0..depth {
        let cut =
            |s: &SpaceId| regions.partition("halves", *s, Pieces::equal(2)).expect("one partition for each space");
        let halves: Vec<PartitionId> = leaves.iter().map(cut).collect();
        leaves = halves.iter().flat_map(|p| [0, 1].map(|i| regions.piece(*p, i))).collect();
    }
    stencil_over(regions, cells, &leaves, steps)
}

fn stencil_over(mut regions: Regions, cells: SpaceId, leaves: &[SpaceId], steps: u32) -> Graph {
    let buffers: Vec<Vec<RegionId>> = ["u", "v"]
        .map(|name| {
            let field = regions.field(name, cells).expect("two fields of different names");
            leaves.iter().map(|s| regions.region(field, *s).expect("the field covers its space")).collect()
        })
        .into();
    let n = leaves.len();
    let mut graph = Graph::new(regions);
    graph.reserve(2 * n * (steps as usize + 1), 5 * n * steps as usize);
    let mut current: Vec<Vec<NodeId>> =
        buffers.iter().map(|b| b.iter().map(|r| graph.add_data("", *r)).collect()).collect();
    for step in 0..steps as usize {
        let (from, to) = (step % 2, (step + 1) % 2);
        for (block, &region) in buffers[to].iter().enumerate() {
            let task = graph.add_compute("", NodeKind::Task);
            for &near in &current[from][block.saturating_sub(1)..(block + 2).min(n)] {
                graph.add_edge(Edge::new(near, task, Label::Read));
            }
            graph.add_edge(Edge::new(current[to][block], task, Label::Discard));
            let made = graph.add_data("", region);
            graph.add_edge(Edge::new(task, made, Label::Write));
            current[to][block] = made;
        }
    }
    graph
}

/// One version with many readers, then one task that overwrites it.
pub(crate) fn fan_out(readers: u32) -> Graph {
    let mut regions = Regions::new();
    let a = regions.abstract_region("A").expect("a new table has no name twice");
    let mut graph = Graph::new(regions);
    let old = graph.add_data("", a);
    for _ in 0..readers {
        let task = graph.add_compute("", NodeKind::Task);
        graph.connect(old, task, Label::Read);
    }
    let writer = graph.add_compute("", NodeKind::Task);
    graph.connect(old, writer, Label::Read);
    let new = graph.add_data("", a);
    graph.connect(writer, new, Label::Write);
    graph
}

/// Pieces of one partition are used, closed, and reopened through a second partition with unknown overlaps, and back.
///
/// With `read_only` the pieces are only read in every round but the last, so that every reader of a piece must precede
/// every later writer of any piece of the other partition, with no task in between.
pub(crate) fn reopen(children: u32, rounds: u32, read_only: bool) -> Graph {
    let mut regions = Regions::new();
    let whole = regions.abstract_region("whole").expect("a new table has no name twice");
    let space = regions.space_of(whole);
    let pieces: Vec<Vec<RegionId>> = ["rows", "columns"]
        .map(|name| {
            let cut = Pieces::declared(children, true, true);
            let partition = regions.partition(name, space, cut).expect("two partitions of different names");
            let piece =
                |i| regions.region(ABSTRACT, regions.piece(partition, i)).expect("a piece of an abstract region");
            (0..children).map(piece).collect()
        })
        .into();
    let mut graph = Graph::new(regions);
    let mut version = graph.add_data("", whole);
    for round in 0..rounds {
        let open = graph.add_compute("", NodeKind::Open);
        graph.connect(version, open, Label::Read);
        let close = graph.add_compute("", NodeKind::Close);
        graph.connect(version, close, Label::Read);
        for &piece in &pieces[round as usize % 2] {
            let opened = graph.add_data("", piece);
            graph.connect(open, opened, Label::Write);
            let task = graph.add_compute("", NodeKind::Task);
            graph.connect(opened, task, Label::Read);
            if read_only && round + 1 < rounds {
                graph.connect(opened, close, Label::Read);
            } else {
                let changed = graph.add_data("", piece);
                graph.connect(task, changed, Label::Write);
                graph.connect(changed, close, Label::Read);
            }
        }
        version = graph.add_data("", whole);
        graph.connect(close, version, Label::Write);
    }
    graph
}

/// The stencil as calls in program order, with halos: `blocks` calls a step.
pub(crate) fn program(blocks: u32, steps: u32) -> Builder {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 16 * u64::from(blocks)).expect("a new table has no name twice");
    let pieces = regions.partition("blocks", cells, Pieces::equal(blocks)).expect("the first partition of a space");
    let buffers = ["u", "v"].map(|name| regions.field(name, cells).expect("two fields of different names"));
    let buffers = buffers.map(|field| {
        (0..blocks)
            .map(|i| regions.region(field, regions.piece(pieces, i)).expect("the field covers its space"))
            .collect::<Vec<_>>()
    });
    let mut builder = Builder::new(regions);
    for step in 0..steps as usize {
        let (from, to) = (&buffers[step % 2], &buffers[(step + 1) % 2]);
        for (block, &target) in to.iter().enumerate() {
            let around = block.saturating_sub(1)..(block + 2).min(from.len());
            let mut arguments: Vec<_> = from[around].iter().map(|r| (*r, Access::Read)).collect();
            arguments.push((target, Access::Write));
            builder.call("step", &arguments).expect("blocks of one partition do not overlap");
        }
    }
    builder
}
