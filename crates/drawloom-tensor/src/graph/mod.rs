//! Describing what is computed: named nodes, and the tensors between them.
//!
//! Nodes may be listed in any order, and mention tensors before anybody writes them: names are resolved, and everything
//! else is checked, by [`Graph::check`].

mod inner;
mod operator;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;
pub use operator::{Kernel, LoopControl, Operator};

/// A node of a graph: the number of its place in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

/// A tensor of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub(crate) u32);

impl NodeId {
    /// Its place in the list of nodes.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl TensorId {
    /// Its place in the list of tensors.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the results of one iteration go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Behind the rows of the iterations before it, along an axis.
    Rows {
        /// The axis that counts rows.
        axis: usize,
    },
    /// Every iteration computes the same value, or only that of the last one matters.
    Fixed,
}

/// Where a tensor comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// It was mentioned, and nobody writes it yet.
    Nobody,
    Input,
    Constant(Arc<Tensor>),
    Node(NodeId),
}

#[derive(Clone, Debug)]
pub(crate) struct TensorEntry {
    pub(crate) name: String,
    pub(crate) source: Source,
}

/// A node, with what it reads and writes.
#[derive(Clone)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The name of its operator.
    pub operator_name: String,
    /// What it does.
    pub operator: Operator,
    /// What it reads. An optional input that was left out has none.
    pub inputs: Vec<Option<TensorId>>,
    /// What it writes.
    pub outputs: Vec<TensorId>,
}

/// Nodes and tensors, as they were described.
#[derive(Clone)]
pub struct Graph {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensors: Vec<TensorEntry>,
    pub(crate) inputs: Vec<TensorId>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) output: Option<NodeId>,
    tensor_names: BTreeMap<String, TensorId>,
    node_names: BTreeMap<String, NodeId>,
}

impl Graph {
    /// An empty graph.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            nodes: Vec::new(),
            tensors: Vec::new(),
            inputs: Vec::new(),
            placements: Vec::new(),
            output: None,
            tensor_names: BTreeMap::new(),
            node_names: BTreeMap::new(),
        }
    }

    /// A tensor that a run is given.
    pub fn input(&mut self, name: &str) -> Result<TensorId, Error> {
        let id = self.define(name, Source::Input)?;
        self.inputs.push(id);
        Ok(id)
    }

    /// A tensor that is the same in every run.
    pub fn constant(&mut self, name: &str, value: impl Into<Arc<Tensor>>) -> Result<TensorId, Error> {
        self.define(name, Source::Constant(value.into()))
    }

    /// A node that computes with a kernel. An empty name stands for an optional input that is left out.
    pub fn kernel(
        &mut self,
        name: &str,
        operator: &str,
        kernel: impl Kernel + 'static,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<NodeId, Error> {
        self.node(name, operator, Operator::Kernel(Arc::new(kernel)), inputs, outputs)
    }

    /// A node that says how often everything downstream of it is run.
    pub fn loop_control(
        &mut self,
        name: &str,
        operator: &str,
        control: impl LoopControl + 'static,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<NodeId, Error> {
        self.node(name, operator, Operator::Loop(Arc::new(control)), inputs, outputs)
    }

    /// The one node that takes results out of the graph, and where each of them goes.
    pub fn output(&mut self, name: &str, ports: &[(&str, Placement)]) -> Result<NodeId, Error> {
        if let Some(first) = self.output {
            let first = &self.nodes[first.index()].name;
            return Err(wrong(format!("`{name}` is a second output node: `{first}` is the output of the graph")));
        }
        let inputs: Vec<&str> = ports.iter().map(|port| port.0).collect();
        if inputs.contains(&"") {
            return Err(wrong(format!("output node `{name}` has an output without a name")));
        }
        for (place, input) in inputs.iter().enumerate() {
            if inputs[..place].contains(input) {
                return Err(wrong(format!("output node `{name}` names `{input}` twice")));
            }
        }
        let id = self.node(name, "OUTPUT", Operator::Output, &inputs, &[])?;
        self.output = Some(id);
        self.placements = ports.iter().map(|port| port.1).collect();
        Ok(id)
    }

    /// A node that does what an operator says. An empty name stands for an optional input that is left out, or for an output
    /// that nothing reads.
    pub fn node(
        &mut self,
        name: &str,
        operator_name: &str,
        operator: Operator,
        inputs: &[&str],
        outputs: &[&str],
    ) -> Result<NodeId, Error> {
        let id = NodeId(number(self.nodes.len(), "nodes")?);
        if name.is_empty() {
            return Err(wrong(format!("node {} ({operator_name}) has no name", id.0)));
        }
        if self.node_names.contains_key(name) {
            return Err(wrong(format!("two nodes have the name `{name}`")));
        }
        let mut input_ids = Vec::with_capacity(inputs.len());
        for input in inputs {
            input_ids.push(if input.is_empty() { None } else { Some(self.mention(input)?) });
        }
        let mut output_ids = Vec::with_capacity(outputs.len());
        for (index, output) in outputs.iter().enumerate() {
            if output.is_empty() {
                // An optional output that nobody wants still has a place, under a name that no file can contain.
                output_ids.push(self.define(&format!("\u{0}{name}.{index}"), Source::Node(id))?);
            } else {
                output_ids.push(self.define(output, Source::Node(id))?);
            }
        }
        self.node_names.insert(name.to_owned(), id);
        self.nodes.push(Node {
            name: name.to_owned(),
            operator_name: operator_name.to_owned(),
            operator,
            inputs: input_ids,
            outputs: output_ids,
        });
        Ok(id)
    }

    /// The name of the graph.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All nodes, in the order in which they were described.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All tensors, in the order in which they were mentioned first.
    pub fn tensors(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len() as u32).map(TensorId)
    }

    /// How many tensors it has.
    pub fn tensor_count(&self) -> usize {
        self.tensors.len()
    }

    /// What a run is given.
    pub fn inputs(&self) -> &[TensorId] {
        &self.inputs
    }

    /// The results, in the order of the output node.
    pub fn outputs(&self) -> impl Iterator<Item = TensorId> {
        let node = self.output.map(|output| &self.nodes[output.index()]);
        node.into_iter().flat_map(|node| node.inputs.iter().flatten().copied())
    }

    /// Where each result goes.
    pub fn placements(&self) -> &[Placement] {
        &self.placements
    }

    /// How many nodes it has, its output node included.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The name of a node.
    pub fn node_name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].name
    }

    /// The name of the operator of a node.
    pub fn operator_name(&self, node: NodeId) -> &str {
        &self.nodes[node.index()].operator_name
    }

    /// The node of a name.
    pub fn find_node(&self, name: &str) -> Option<NodeId> {
        self.node_names.get(name).copied()
    }

    /// The name of a tensor.
    pub fn tensor_name(&self, tensor: TensorId) -> &str {
        &self.tensors[tensor.index()].name
    }

    /// The tensor of a name.
    pub fn find_tensor(&self, name: &str) -> Option<TensorId> {
        self.tensor_names.get(name).copied()
    }

    /// The inputs of these names, of which every input of the graph must be one.
    pub(crate) fn find_inputs<'a>(&self, names: impl Iterator<Item = &'a str>) -> Result<Vec<TensorId>, Error> {
        let wrong = |what: String| Error::new(ErrorKind::Input, what);
        let mut found = Vec::new();
        for name in names {
            let id = self.find_tensor(name).filter(|id| self.inputs.contains(id));
            let id = id.ok_or_else(|| wrong(format!("graph `{}` has no input `{name}`", self.name)))?;
            if found.contains(&id) {
                return Err(wrong(format!("input `{name}` is given twice")));
            }
            found.push(id);
        }
        match self.inputs.iter().find(|input| !found.contains(input)) {
            None => Ok(found),
            Some(id) => Err(wrong(format!("input `{}` of graph `{}` is missing", self.tensor_name(*id), self.name))),
        }
    }

    /// The value of a tensor that is the same in every run.
    pub fn constant_value(&self, tensor: TensorId) -> Option<&Tensor> {
        self.shared_constant(tensor).map(Arc::as_ref)
    }

    /// The same, to share it with another graph.
    pub fn shared_constant(&self, tensor: TensorId) -> Option<&Arc<Tensor>> {
        match &self.tensors[tensor.index()].source {
            Source::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The names that are read, and that nobody writes.
    pub fn undefined(&self) -> Vec<String> {
        let nobody = self.tensors.iter().filter(|entry| matches!(entry.source, Source::Nobody));
        nobody.map(|entry| entry.name.clone()).collect()
    }

    fn mention(&mut self, name: &str) -> Result<TensorId, Error> {
        if let Some(id) = self.tensor_names.get(name) {
            return Ok(*id);
        }
        let id = TensorId(number(self.tensors.len(), "tensors")?);
        self.tensor_names.insert(name.to_owned(), id);
        self.tensors.push(TensorEntry { name: name.to_owned(), source: Source::Nobody });
        Ok(id)
    }

    fn define(&mut self, name: &str, source: Source) -> Result<TensorId, Error> {
        if name.is_empty() {
            return Err(wrong("a tensor has an empty name".to_owned()));
        }
        let id = self.mention(name)?;
        let entry = &mut self.tensors[id.index()];
        if !matches!(entry.source, Source::Nobody) {
            return Err(wrong(format!("two tensors have the name `{name}`")));
        }
        entry.source = source;
        Ok(id)
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Graph, message)
}

fn number(count: usize, what: &str) -> Result<u32, Error> {
    u32::try_from(count).map_err(|_| wrong(format!("the graph has more than {} {what}", u32::MAX)))
}
