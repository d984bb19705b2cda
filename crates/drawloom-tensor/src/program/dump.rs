//! A program as text: one line a node, in the order in which they run.

use std::fmt;

use crate::batch::Fact;
use crate::graph::{Operator, TensorId};
use crate::program::Program;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|_| None)
    }
}

/// A program with what is known about its tensors.
pub struct Described<'a> {
    pub(crate) program: &'a Program,
    pub(crate) facts: Vec<Fact>,
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.program.write(f, &|tensor| Some(self.facts[tensor.index()].to_string()))
    }
}

impl Program {
    /// Writes one line for each node, with something about each tensor that it makes.
    fn write(&self, f: &mut fmt::Formatter<'_>, about: &dyn Fn(TensorId) -> Option<String>) -> fmt::Result {
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
            let inputs = node.inputs.iter().map(|input| input.map_or("-", |input| self.shown(input)).to_owned());
            list(f, inputs)?;
            write!(f, ")")?;
            if !node.outputs.is_empty() {
                write!(f, " -> ")?;
                let made = node.outputs.iter().map(|output| match about(*output) {
                    Some(about) => format!("{}: {about}", self.shown(*output)),
                    None => self.shown(*output).to_owned(),
                });
                list(f, made)?;
            }
            writeln!(f)?;
        }
        if !self.crossing().is_empty() {
            write!(f, "kept for later iterations: ")?;
            list(f, self.crossing().iter().map(|tensor| self.shown(*tensor).to_owned()))?;
            writeln!(f)?;
        }
        Ok(())
    }

    /// The name of a tensor, or a dash for an output that has none.
    pub(super) fn shown(&self, tensor: TensorId) -> &str {
        let name = self.graph.tensor_name(tensor);
        if name.starts_with('\u{0}') { "-" } else { name }
    }
}

fn list(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = String>) -> fmt::Result {
    for (place, name) in names.enumerate() {
        write!(f, "{}{name}", if place > 0 { ", " } else { "" })?;
    }
    Ok(())
}
