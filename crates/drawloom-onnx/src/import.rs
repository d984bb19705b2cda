//! Graphs of files as graphs of ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use rten_onnx::onnx::{AttributeProto, AttributeType, GraphProto, NodeProto, ValueInfoProto};

use crate::operators;
use crate::operators::body::Body;
use crate::operators::spec::{Attribute, Spec};
use crate::registry::Operators;
use crate::rows::with_rule;
use crate::value;
use drawloom_tensor::{Dimension, Error, ErrorKind, Graph, Operator, Placement, Port, Tensor};

/// What all graphs of a file have in common.
pub(super) struct Context<'a> {
    pub(super) opset: i64,
    pub(super) folder: Option<&'a Path>,
    /// The user's own operators.
    pub(super) operators: &'a Operators,
}

/// A graph, what it is given, and what it takes from the graph around it.
pub(super) struct Imported {
    pub(super) graph: Graph,
    /// What each node was made from.
    pub(super) specs: Vec<Option<Arc<Spec>>>,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    pub(super) captures: Vec<String>,
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Import, message)
}

/// What a file says about an input or output.
fn port(value: &ValueInfoProto, typed: bool) -> Result<Port, Error> {
    let name = value.name.clone().unwrap_or_default();
    let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
    let Some(tensor) = tensor else {
        // Inside of a graph, types may be left out.
        if !typed && value.r#type.as_ref().is_none_or(|kind| kind.sequence.is_none()) {
            return Ok(Port { name, element: None, shape: None });
        }
        return Err(Error::new(ErrorKind::NonTensor, format!("`{name}` is not a tensor")));
    };
    let element =
        value::element(tensor.elem_type).map_err(|fault| Error::new(fault.kind(), format!("`{name}`: {fault}")))?;
    let shape = tensor.shape.as_ref().map(|shape| {
        let dimension = |dimension: &rten_onnx::onnx::Dimension| match (dimension.dim_value, &dimension.dim_param) {
            // Some exporters write -1 for a length that is not known.
            (Some(length), _) if length >= 0 => Dimension::Known(length as usize),
            (_, Some(symbol)) if !symbol.is_empty() && symbol != "?" => Dimension::Symbol(symbol.clone()),
            _ => Dimension::Unknown,
        };
        shape.dim.iter().map(dimension).collect()
    });
    Ok(Port { name, element: Some(element), shape })
}

/// Imports a graph. Inside of a node, names that it does not define are taken from outside.
pub(super) fn graph(message: &GraphProto, context: &Context<'_>, inner: bool, name: &str) -> Result<Imported, Error> {
    let mut graph = Graph::new(name);
    let mut constants = BTreeSet::new();
    for tensor in &message.initializer {
        let name = tensor.name.as_deref().unwrap_or_default();
        let value = value::tensor(tensor, context.folder)
            .map_err(|fault| Error::new(fault.kind(), format!("initializer `{name}`: {fault}")))?;
        graph.constant(name, value)?;
        constants.insert(name);
    }
    let mut inputs = Vec::new();
    for input in &message.input {
        // An initializer that is listed as an input too is its default, and we have no other value for it.
        if constants.contains(input.name.as_deref().unwrap_or_default()) {
            if inner {
                let name = input.name.as_deref().unwrap_or_default();
                return Err(wrong(format!("input `{name}` of the graph inside of a node is also an initializer")));
            }
            continue;
        }
        let port = port(input, !inner)?;
        graph.input(&port.name)?;
        inputs.push(port);
    }
    // Operators that are not known come first, all of them: there is no use in the rest of the file.
    let mut unknown: BTreeSet<String> = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut nodes = Vec::new();
    for (index, node) in message.node.iter().enumerate() {
        let operator = node.op_type.as_deref().unwrap_or_default();
        let mut name =
            node.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{operator}_{index}"));
        if !names.insert(name.clone()) {
            name = format!("{name}#{index}");
            names.insert(name.clone());
        }
        match prepare(node, &name, context) {
            Ok(prepared) => nodes.push((name, operator, prepared)),
            Err(error) if error.kind() == ErrorKind::UnknownOperator => {
                unknown.extend(error.to_string().split(", ").map(str::to_owned));
            }
            Err(error) => return Err(error),
        }
    }
    if !unknown.is_empty() {
        let list: Vec<String> = unknown.into_iter().collect();
        return Err(Error::new(ErrorKind::UnknownOperator, list.join(", ")));
    }
    let mut specs = Vec::new();
    for (name, operator, prepared) in &nodes {
        let inputs: Vec<&str> = prepared.inputs.iter().map(String::as_str).collect();
        let outputs: Vec<&str> = prepared.outputs.iter().map(String::as_str).collect();
        match &prepared.what {
            What::Constant(value) => graph.constant(outputs[0], value.clone()).map(|_| ())?,
            What::Operator(made, spec) => {
                graph.node(name, operator, with_rule(made.clone(), spec), &inputs, &outputs)?;
                specs.push(Some(Arc::clone(spec)));
            }
        }
    }
    let outputs = message.output.iter().map(|output| port(output, !inner)).collect::<Result<Vec<_>, _>>()?;
    let ports: Vec<(&str, Placement)> = outputs
        .iter()
        .map(|port| {
            let scalar = port.shape.as_ref().is_some_and(Vec::is_empty);
            (port.name.as_str(), if scalar { Placement::Fixed } else { Placement::Rows { axis: 0 } })
        })
        .collect();
    let mut output = "OUTPUT".to_owned();
    while names.contains(&output) {
        output.push('_');
    }
    graph.output(&output, &ports)?;
    specs.push(None);
    let captures = if inner { graph.undefined() } else { Vec::new() };
    for capture in &captures {
        graph.input(capture)?;
    }
    Ok(Imported { graph, specs, inputs, outputs, captures })
}

struct Prepared {
    inputs: Vec<String>,
    outputs: Vec<String>,
    what: What,
}

enum What {
    Constant(Tensor),
    Operator(Operator, Arc<Spec>),
}

fn prepare(node: &NodeProto, name: &str, context: &Context<'_>) -> Result<Prepared, Error> {
    let operator = node.op_type.as_deref().unwrap_or_default();
    let domain = node.domain.as_deref().unwrap_or_default();
    let at =
        |kind: ErrorKind, text: &str| Error::new(kind, format!("node `{name}` ({operator}): {text}")).at(name, &[]);
    let mut inputs = node.input.clone();
    let declared = inputs.len();
    let mut attributes = BTreeMap::new();
    for message in &node.attribute {
        let key = message.name.clone().unwrap_or_default();
        let value = attribute(message, name, context, &mut inputs).map_err(|error| match error.kind() {
            ErrorKind::UnknownOperator => error,
            kind => at(kind, &format!("attribute `{key}`: {error}")),
        })?;
        if attributes.insert(key.clone(), value).is_some() {
            return Err(at(ErrorKind::Import, &format!("attribute `{key}` is there twice")));
        }
    }
    // Outputs at the end that have no name were not asked for.
    let mut outputs = node.output.clone();
    while outputs.last().is_some_and(String::is_empty) {
        outputs.pop();
    }
    // Of other domains, only those are known that the user registered, and theirs come first.
    let known = matches!(domain, "" | "ai.onnx");
    if known && !context.operators.has(domain, operator) {
        operators::counts::check(operator, context.opset, &node.input)
            .map_err(|fault| at(fault.kind(), fault.message()))?;
    }
    if operator == "Constant"
        && let Some(Attribute::Tensor(value)) = attributes.get("value")
    {
        let [_] = &outputs[..] else { return Err(at(ErrorKind::Import, "a constant has one output")) };
        return Ok(Prepared { inputs: Vec::new(), outputs, what: What::Constant(value.clone()) });
    }
    let mut spec = Spec::new(operator, context.opset, outputs.len(), attributes);
    let own = context.operators.make(domain, &mut spec);
    let made = own.or_else(|| {
        let kernel = operators::make(&spec, declared).filter(|_| known)?;
        Some(kernel.map(|kernel| Operator::Kernel(Arc::from(kernel))))
    });
    match made {
        None => Err(Error::new(ErrorKind::UnknownOperator, operator)),
        Some(Err(fault)) => Err(at(fault.kind(), fault.message())),
        Some(Ok(made)) => Ok(Prepared { inputs, outputs, what: What::Operator(made, Arc::new(spec)) }),
    }
}

fn attribute(
    message: &AttributeProto,
    node: &str,
    context: &Context<'_>,
    inputs: &mut Vec<String>,
) -> Result<Attribute, Error> {
    // Old files do not say which kind of value an attribute has.
    let kind = message.r#type.filter(|kind| *kind != AttributeType::UNDEFINED).unwrap_or(match message {
        AttributeProto { f: Some(_), .. } => AttributeType::FLOAT,
        AttributeProto { i: Some(_), .. } => AttributeType::INT,
        AttributeProto { s: Some(_), .. } => AttributeType::STRING,
        AttributeProto { t: Some(_), .. } => AttributeType::TENSOR,
        AttributeProto { g: Some(_), .. } => AttributeType::GRAPH,
        AttributeProto { floats, .. } if !floats.is_empty() => AttributeType::FLOATS,
        AttributeProto { strings, .. } if !strings.is_empty() => AttributeType::STRINGS,
        _ => AttributeType::INTS,
    });
    Ok(match kind {
        AttributeType::FLOAT => Attribute::Float(message.f.unwrap_or_default()),
        AttributeType::INT => Attribute::Int(message.i.unwrap_or_default()),
        AttributeType::STRING => Attribute::Text(message.s.clone().unwrap_or_default()),
        AttributeType::FLOATS => Attribute::Floats(message.floats.clone()),
        AttributeType::INTS => Attribute::Ints(message.ints.clone()),
        AttributeType::STRINGS => Attribute::Texts(message.strings.clone()),
        AttributeType::TENSOR => {
            let value = message.t.as_ref().ok_or_else(|| wrong("its tensor is missing".to_owned()))?;
            Attribute::Tensor(value::tensor(value, context.folder)?)
        }
        AttributeType::GRAPH => {
            let value = message.g.as_ref().ok_or_else(|| wrong("its graph is missing".to_owned()))?;
            let imported = graph(value, context, true, node)?;
            let mut captures = Vec::new();
            for name in imported.captures {
                inputs.push(name.clone());
                captures.push((name, inputs.len() - 1));
            }
            let names = imported.inputs.into_iter().map(|port| port.name).collect();
            Attribute::Graph(Body {
                program: Arc::new(imported.graph.check(4)?),
                inputs: names,
                captures,
                outputs: imported.outputs,
            })
        }
        AttributeType(other) => {
            return Err(Error::new(ErrorKind::Unsupported, format!("values of kind {other} are not supported")));
        }
    })
}
