//! `drawloom bench graph`: how fast a stencil graph is checked and ordered, in memory.

use std::time::Instant;

use clap::Args;
use drawloom_graph::{Graph, Label, NodeId, NodeKind, Pieces, RegionError, RegionId, Regions};
use serde::Serialize;

use crate::exit::Exit;
use crate::number::integer;
use crate::output::{Output, complain};

/// More nodes than this would need more memory than most machines have.
const MOST_NODES: u64 = 200_000_000;

/// Check and order a stencil graph in memory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drawloom bench graph                              a graph of a million nodes
  drawloom bench graph --nodes 1e5 --repeat 10      a smaller one, ten times")]
pub(crate) struct Arguments {
    /// About how many nodes the graph has, half of them tasks
    #[arg(long, value_name = "N", default_value = "1e6", value_parser = integer)]
    nodes: u64,

    /// How many blocks the cells are cut into
    #[arg(long, value_name = "N", default_value = "1000", value_parser = integer)]
    blocks: u64,

    /// How often each thing is measured
    #[arg(long, value_name = "N", default_value = "3", value_parser = integer)]
    repeat: u64,
}

/// One measurement.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    family: &'static str,
    nodes: usize,
    edges: usize,
    seconds: f64,
    nodes_per_second: u64,
}

/// Measures.
pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Exit {
    let blocks = match u32::try_from(arguments.blocks) {
        Ok(blocks) if blocks > 0 && arguments.nodes <= MOST_NODES => blocks,
        _ => {
            complain(format_args!("a graph has at least one block, and at most {MOST_NODES} nodes"));
            return Exit::Unusable;
        }
    };
    let graph = match stencil(arguments.nodes, blocks) {
        Ok(graph) => graph,
        Err(error) => {
            complain(error);
            return Exit::Unusable;
        }
    };
    let mut valid = true;
    for _ in 0..arguments.repeat {
        measure("check", &graph, output, |graph| valid &= graph.check().is_valid());
        measure("order", &graph, output, |graph| valid &= graph.order().is_ok());
    }
    if valid { Exit::Valid } else { Exit::Invalid }
}

fn measure(bench: &'static str, graph: &Graph, output: &mut Output, work: impl FnOnce(&Graph)) {
    let start = Instant::now();
    work(graph);
    let seconds = start.elapsed().as_secs_f64();
    let (nodes, edges) = (graph.nodes().len(), graph.edges().len());
    let nodes_per_second = (nodes as f64 / seconds) as u64;
    output.json(&Line { bench, family: "stencil", nodes, edges, seconds, nodes_per_second });
    output.flush();
}

/// Two fields that take turns: each task reads a block and its neighbours in one, and overwrites the block in the other.
fn stencil(nodes: u64, blocks: u32) -> Result<Graph, RegionError> {
    let mut regions = Regions::new();
    let cells = regions.space("cells", u64::from(blocks))?;
    let partition = regions.partition("blocks", cells, Pieces::equal(blocks))?;
    let mut fields: Vec<Vec<RegionId>> = Vec::new();
    for name in ["u", "v"] {
        let field = regions.field(name, cells)?;
        let pieces = (0..blocks).map(|i| regions.piece(partition, i)).collect::<Vec<_>>();
        fields.push(pieces.into_iter().map(|piece| regions.region(field, piece)).collect::<Result<_, _>>()?);
    }
    let mut graph = Graph::new(regions);
    let mut latest: Vec<Vec<NodeId>> =
        fields.iter().map(|field| field.iter().map(|region| graph.add_data("", *region)).collect()).collect();
    let steps = nodes.saturating_sub(2 * u64::from(blocks)) / (2 * u64::from(blocks));
    for step in 0..steps {
        let (from, to) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
        for i in 0..blocks as usize {
            let task = graph.add_compute("", NodeKind::Task);
            for j in i.saturating_sub(1)..=(i + 1).min(blocks as usize - 1) {
                graph.connect(latest[from][j], task, Label::Read);
            }
            graph.connect(latest[to][i], task, Label::Discard);
            let next = graph.add_data("", fields[to][i]);
            graph.connect(task, next, Label::Write);
            latest[to][i] = next;
        }
    }
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::stencil;

    #[test]
    fn the_stencil_is_valid_and_about_as_large_as_asked_for() {
        let graph = stencil(1000, 10).expect("ten blocks are possible");
        assert_eq!(graph.nodes().len(), 1000);
        assert!(graph.check().is_valid());
    }
}
