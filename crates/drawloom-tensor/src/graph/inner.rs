//! Loops with an end of their own: a program as one node of a graph.
//!
//! All loops of a graph end where its list ends. A loop that ends earlier is a program of its own, and a node of the graph
//! around it. What that program puts out is there for nodes behind it, so a gathered result can be used again, and one loop
//! can follow another.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{Graph, Kernel, NodeId, wrong};
use crate::program::Program;
use crate::run::Settings;
use crate::run::call::{Inputs, Outputs, Scratch};
use crate::tensor::{Tensor, View};

/// A program inside of a node.
struct Inner {
    program: Arc<Program>,
    names: Vec<String>,
}

impl Kernel for Inner {
    fn asks_first(&self) -> bool {
        true
    }

    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        let given = (self.names.iter().enumerate())
            .map(|(index, name)| Ok((name.as_str(), inputs.get(index)?)))
            .collect::<Result<Vec<(&str, View<'_>)>, Fault>>()?;
        let settings = Settings::inside(&scratch.room, scratch.room.left());
        let outcome = self.program.run(&given, &settings).map_err(|error: Error| {
            // The loops inside are said here, because those of the graph around it are not known yet.
            Fault::of(error.kind(), format!("inside of it, {error}"))
        })?;
        let there = outcome.outputs().iter().filter(|output| !output.is_absent()).map(Tensor::bytes).sum();
        let there = if scratch.room.counts() { there } else { outcome.peak_bytes() };
        scratch.hold(outcome.peak_bytes(), there)?;
        for (index, tensor) in outcome.into_outputs().into_iter().enumerate().take(outputs.len()) {
            outputs.put(index, tensor)?;
        }
        Ok(())
    }
}

impl Graph {
    /// A node that runs a program to its end, with all of its loops. `inputs` gives a tensor of this graph to each input of
    /// the program, by name; `outputs` names what the program puts out, in the order of its output node.
    pub fn program(
        &mut self,
        name: &str,
        program: Program,
        inputs: &[(&str, &str)],
        outputs: &[&str],
    ) -> Result<NodeId, Error> {
        let inner = program.graph();
        for (_, input) in inputs {
            let known = inner.find_tensor(input).is_some_and(|id| inner.inputs.contains(&id));
            if !known {
                return Err(wrong(format!("the program `{}` of node `{name}` has no input `{input}`", inner.name)));
            }
        }
        for id in &inner.inputs {
            let missing = inner.tensor_name(*id);
            if inputs.iter().filter(|(_, input)| *input == missing).count() != 1 {
                let message = format!("input `{missing}` of the program of node `{name}` must be given once");
                return Err(Error::new(ErrorKind::Graph, message));
            }
        }
        if outputs.len() > inner.placements.len() {
            let message = format!("the program of node `{name}` has {} outputs", inner.placements.len());
            return Err(Error::new(ErrorKind::Graph, message));
        }
        let names = inputs.iter().map(|(_, input)| (*input).to_owned()).collect();
        let from: Vec<&str> = inputs.iter().map(|(outer, _)| *outer).collect();
        let kernel = Inner { program: Arc::new(program), names };
        self.kernel(name, "PROGRAM", kernel, &from, outputs)
    }
}
