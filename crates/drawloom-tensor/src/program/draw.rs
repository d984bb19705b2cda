//! A program as a drawing for Graphviz: a frame for each loop, inside of the frame of the loop around it.

use drawloom_graph::dot::{Attributes, Dot};

use crate::graph::{Operator, Source};
use crate::program::Program;

impl Program {
    /// The program in the language of Graphviz. Tensors that are kept for later iterations are drawn bold.
    pub fn to_dot(&self) -> String {
        let graph = &self.graph;
        let mut dot = Dot::new(&graph.name);
        dot.defaults("node", &Attributes::new().word("shape", "box").text("fontname", "sans-serif"));
        for input in &graph.inputs {
            let ellipse = Attributes::new().word("shape", "ellipse");
            dot.node(format_args!("t{}", input.index()), &ellipse.text("label", self.shown(*input)));
        }
        let mut open = 0;
        for id in self.order() {
            while open < self.partition(*id) {
                open += 1;
                dot.open(open, &Attributes::new().text("label", &format!("loop {open}")));
            }
            let node = &graph.nodes[id.index()];
            let label = Attributes::new().text("label", &format!("{}\n{}", node.operator_name, node.name));
            let attributes = match node.operator {
                Operator::Loop(_) => label.word("style", "filled"),
                Operator::Output => label.word("shape", "ellipse"),
                Operator::Kernel(_) => label,
            };
            dot.node(format_args!("n{}", id.index()), &attributes);
        }
        for _ in 0..open {
            dot.close();
        }
        for id in self.order() {
            for input in graph.nodes[id.index()].inputs.iter().flatten() {
                let from = match graph.tensors[input.index()].source {
                    Source::Node(writer) => format!("n{}", writer.index()),
                    Source::Input => format!("t{}", input.index()),
                    Source::Constant(_) | Source::Nobody => continue,
                };
                let label = Attributes::new().text("label", self.shown(*input));
                let attributes = if self.crossing().contains(input) { label.word("style", "bold") } else { label };
                dot.edge(from, format_args!("n{}", id.index()), &attributes);
            }
        }
        dot.finish()
    }
}
