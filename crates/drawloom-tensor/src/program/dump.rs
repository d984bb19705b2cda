//! A program as text: one line a node, in the order in which they run.

use std::fmt;

use crate::graph::{Operator, TensorId};
use crate::program::Program;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = &self.graph;
        writeln!(f, "graph `{}`: {} nodes, {} loops", graph.name, graph.nodes.len(), self.depth())?;
        let mut partition = None;
        for id in self.order() {
            let node = &graph.nodes[id.index()];
            if partition != Some(self.partition(*id)) {
                partition = Some(self.partition(*id));
                writeln!(f, "partition {}", self.partition(*id))?;
            }
            let mark = match node.operator {
                Operator::Loop(_) => "loop ",
                Operator::Kernel(_) | Operator::Output => "",
            };
            write!(f, "  {mark}{} `{}`(", node.operator_name, node.name)?;
            let inputs = node.inputs.iter().map(|input| input.map_or("-", |input| self.shown(input)));
            list(f, inputs)?;
            write!(f, ")")?;
            if !node.outputs.is_empty() {
                write!(f, " -> ")?;
                list(f, node.outputs.iter().map(|output| self.shown(*output)))?;
            }
            writeln!(f)?;
        }
        if !self.crossing().is_empty() {
            write!(f, "kept for later iterations: ")?;
            list(f, self.crossing().iter().map(|tensor| self.shown(*tensor)))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

impl Program {
    /// The name of a tensor, or a dash for an output that has none.
    pub(super) fn shown(&self, tensor: TensorId) -> &str {
        let name = self.graph.tensor_name(tensor);
        if name.starts_with('\u{0}') { "-" } else { name }
    }
}

fn list<'a>(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'a str>) -> fmt::Result {
    for (place, name) in names.enumerate() {
        write!(f, "{}{name}", if place > 0 { ", " } else { "" })?;
    }
    Ok(())
}
