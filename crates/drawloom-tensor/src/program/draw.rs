//! A program as a drawing for Graphviz: a box for each loop, inside of the box of the loop around it.

use std::fmt::Write;

use crate::graph::{Operator, Source};
use crate::program::Program;

impl Program {
    /// The program in the language of Graphviz. Tensors that are kept for later iterations are drawn bold.
    pub fn to_dot(&self) -> String {
        let graph = &self.graph;
        let mut text = format!("digraph {} {{\n  node [shape=box, fontname=\"sans-serif\"];\n", quoted(&graph.name));
        for input in &graph.inputs {
            let _ = writeln!(text, "  t{} [shape=ellipse, label={}];", input.index(), quoted(self.shown(*input)));
        }
        let mut open = 0;
        for id in self.order() {
            let partition = self.partition(*id);
            while open < partition {
                open += 1;
                let _ = writeln!(text, "  subgraph cluster_{open} {{\n  label=\"loop {open}\";");
            }
            let node = &graph.nodes[id.index()];
            let style = match node.operator {
                Operator::Loop(_) => ", style=filled",
                Operator::Output => ", shape=ellipse",
                Operator::Kernel(_) => "",
            };
            let _ = writeln!(
                text,
                "  n{} [label={}{style}];",
                id.index(),
                quoted(&format!("{}\n{}", node.operator_name, node.name))
            );
        }
        for _ in 0..open {
            text.push_str("  }\n");
        }
        for id in self.order() {
            for input in graph.nodes[id.index()].inputs.iter().flatten() {
                let bold = if self.crossing().contains(input) { ", style=bold" } else { "" };
                let from = match graph.tensors[input.index()].source {
                    Source::Node(writer) => format!("n{}", writer.index()),
                    Source::Input => format!("t{}", input.index()),
                    Source::Constant(_) | Source::Nobody => continue,
                };
                let _ = writeln!(text, "  {from} -> n{} [label={}{bold}];", id.index(), quoted(self.shown(*input)));
            }
        }
        text.push_str("}\n");
        text
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            control if control.is_control() => {}
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}
