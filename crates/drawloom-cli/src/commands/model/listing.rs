//! The operators of a file that cannot be imported: all of them, with a mark at those that are not supported.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use drawloom_tensor::{Dimension, Port};
use drawloom_tensor::{ElementType, Error, ErrorKind};
use rten_onnx::onnx::{DataType, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto};
use serde_json::{Value, json};

/// What is in a file, as it is stored.
pub(super) struct Listing {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// How often each operator is used, also inside of nodes.
    operators: BTreeMap<String, usize>,
    /// Those that are not supported.
    unsupported: BTreeSet<String>,
    /// One line for each node.
    nodes: String,
    why: String,
}

impl Listing {
    /// What is in a file whose import ended with an error, where that says that something in it is not supported.
    pub(super) fn read(path: &Path, error: &Error) -> Option<Self> {
        // A file that is damaged does not get here: messages in it may be nested without end.
        let sound = [
            ErrorKind::UnknownOperator,
            ErrorKind::Unsupported,
            ErrorKind::Type,
            ErrorKind::NonTensor,
            ErrorKind::Random,
        ];
        let bytes = std::fs::read(path).ok().filter(|_| sound.contains(&error.kind()))?;
        let model = ModelProto::parse_buf(&bytes).ok()?;
        let graph = model.graph.as_ref()?;
        let stored: BTreeSet<&str> = graph.initializer.iter().filter_map(|tensor| tensor.name.as_deref()).collect();
        let inputs = graph.input.iter().map(port).filter(|port| !stored.contains(port.name.as_str())).collect();
        let mut listing = Self {
            inputs,
            outputs: graph.output.iter().map(port).collect(),
            operators: BTreeMap::new(),
            unsupported: BTreeSet::new(),
            nodes: String::new(),
            why: error.to_string(),
        };
        listing.add(graph, &model.opset_import, 1);
        if error.kind() == ErrorKind::UnknownOperator && !listing.unsupported.is_empty() {
            let names: Vec<&str> = listing.unsupported.iter().map(String::as_str).collect();
            listing.why = format!("operators that are not supported: {}", names.join(", "));
        }
        Some(listing)
    }

    fn add(&mut self, graph: &GraphProto, opsets: &[OperatorSetIdProto], depth: usize) {
        for node in &graph.node {
            let name = operator(node);
            if !self.operators.contains_key(&name) && !is_known(node, opsets) {
                self.unsupported.insert(name.clone());
            }
            *self.operators.entry(name.clone()).or_default() += 1;
            // Writing into a text does not fail.
            let _ = writeln!(
                self.nodes,
                "{:width$}{name} `{}`({}) -> {}{}",
                "",
                node.name.as_deref().unwrap_or_default(),
                node.input.join(", "),
                node.output.join(", "),
                if self.unsupported.contains(&name) { "  not supported" } else { "" },
                width = 2 * depth
            );
            for inner in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
                self.add(inner, opsets, depth + 1);
            }
        }
    }

    /// Why there is no more than this.
    pub(super) fn why(&self) -> &str {
        &self.why
    }

    /// One line for each node, in the order of the file.
    pub(super) fn dump(&self) -> &str {
        &self.nodes
    }

    pub(super) fn text(&self, file: &Path) -> String {
        let mut lines = vec![file.display().to_string()];
        lines.extend(self.inputs.iter().map(|port| format!("  input   {port}")));
        lines.extend(self.outputs.iter().map(|port| format!("  output  {port}")));
        lines.push("  operators".to_owned());
        for (name, count) in &self.operators {
            let mark = if self.unsupported.contains(name) { "  not supported" } else { "" };
            lines.push(format!("    {name:<24}{count:>6}{mark}"));
        }
        lines.join("\n")
    }

    pub(super) fn json(&self, file: &Path) -> Value {
        let ports = |ports: &[Port]| ports.iter().map(Port::to_string).collect::<Vec<_>>();
        json!({
            "file": file.display().to_string(),
            "inputs": ports(&self.inputs),
            "outputs": ports(&self.outputs),
            "operators": self.operators,
            "unsupported": self.unsupported,
            "refused": self.why,
        })
    }
}

/// The name of an operator, with its domain where that is not the usual one.
fn operator(node: &NodeProto) -> String {
    let name = node.op_type.as_deref().unwrap_or_default();
    match node.domain.as_deref().unwrap_or_default() {
        "" | "ai.onnx" => name.to_owned(),
        domain => format!("{domain}.{name}"),
    }
}

/// Whether the importer knows an operator: it is asked with a model of one such node.
fn is_known(node: &NodeProto, opsets: &[OperatorSetIdProto]) -> bool {
    let node = NodeProto {
        domain: node.domain.clone(),
        op_type: node.op_type.clone(),
        input: node.input.clone(),
        output: node.output.clone(),
        ..NodeProto::default()
    };
    let model = ModelProto {
        graph: Some(GraphProto { node: vec![node], ..GraphProto::default() }),
        opset_import: opsets
            .iter()
            .map(|set| OperatorSetIdProto { domain: set.domain.clone(), version: set.version })
            .collect(),
        ..ModelProto::default()
    };
    let Ok(bytes) = model.write_buf() else { return false };
    // That one node is no whole model is another error.
    let asked = drawloom_onnx::plain_from_bytes(&bytes, None);
    !asked.is_err_and(|error| matches!(error.kind(), ErrorKind::UnknownOperator | ErrorKind::Random))
}

/// What a file says about an input or output, as far as it is a tensor that we know.
fn port(value: &ValueInfoProto) -> Port {
    let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let element = tensor.and_then(|tensor| match tensor.elem_type? {
        DataType::FLOAT => Some(ElementType::F32),
        DataType::DOUBLE => Some(ElementType::F64),
        DataType::INT64 => Some(ElementType::I64),
        DataType::INT32 => Some(ElementType::I32),
        DataType::UINT8 => Some(ElementType::U8),
        DataType::INT8 => Some(ElementType::I8),
        DataType::BOOL => Some(ElementType::Bool),
        _ => None,
    });
    let shape = tensor.and_then(|tensor| tensor.shape.as_ref()).map(|shape| {
        let length = |length: &rten_onnx::onnx::Dimension| match (length.dim_value, &length.dim_param) {
            (Some(length), _) if length >= 0 => Dimension::Known(length as usize),
            (_, Some(symbol)) if !symbol.is_empty() => Dimension::Symbol(symbol.clone()),
            _ => Dimension::Unknown,
        };
        shape.dim.iter().map(length).collect()
    });
    Port { name: value.name.clone().unwrap_or_default(), element, shape }
}
