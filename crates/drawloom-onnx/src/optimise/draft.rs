//! A graph that is being changed: nodes that can go, and tensors that keep their numbers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::operators::simd::activation::Activation;
use crate::operators::spec::{From, Part, Spec};
use crate::rows::{self, with_rule};
use drawloom_tensor::{
    Dimension, ElementType, Error, Fact, Graph, Kernel, Operator, Placement, Port, Tensor, TensorId,
};

/// A node of a draft.
pub(super) struct Item {
    pub(super) node: Node,
    /// The nodes of the file that it stands for, if they are several.
    pub(super) parts: Vec<DraftPart>,
    pub(super) kind: Kind,
}

/// What a node reads, writes and does.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) operator_name: String,
    pub(super) operator: Operator,
    /// What it was made from. A user's own operator has none here, as its name says nothing about what it does.
    pub(super) spec: Option<Arc<Spec>>,
    pub(super) inputs: Vec<Option<TensorId>>,
    pub(super) outputs: Vec<TensorId>,
}

impl Item {
    /// A node that stands for several.
    pub(super) fn joined(node: Node, parts: Vec<DraftPart>, kind: Kind) -> Self {
        Self { node, parts, kind }
    }
}

/// What is known about a node that others can be joined to.
pub(super) enum Kind {
    /// Nothing: it runs as it is.
    Other,
    /// A function of each element of `f32`.
    Function(Activation),
}

/// One of several nodes that run as one.
#[derive(Clone)]
pub(super) struct DraftPart {
    pub(super) spec: Arc<Spec>,
    pub(super) inputs: Vec<Option<DraftFrom>>,
}

/// Where an input of a part comes from.
#[derive(Clone)]
pub(super) enum DraftFrom {
    Tensor(TensorId),
    Part(usize),
    Constant(Fact),
}

/// A graph that is being changed.
pub(super) struct Draft {
    graph: Graph,
    pub(super) items: Vec<Option<Item>>,
    /// The nodes that read each tensor.
    readers: Vec<BTreeSet<usize>>,
    /// The node that writes each tensor.
    writers: Vec<Option<usize>>,
    /// The values of tensors that are constants.
    constants: Vec<Option<Arc<Tensor>>>,
    output: Option<usize>,
    facts: Vec<Option<Fact>>,
}

impl Draft {
    pub(super) fn new(graph: Graph, specs: Vec<Option<Arc<Spec>>>) -> Self {
        let count = graph.tensor_count();
        let (mut readers, mut writers) = (vec![BTreeSet::new(); count], vec![None; count]);
        for (index, node) in graph.nodes().iter().enumerate() {
            node.inputs.iter().flatten().for_each(|input| _ = readers[input.index()].insert(index));
            node.outputs.iter().for_each(|output| writers[output.index()] = Some(index));
        }
        let item = |(node, spec): (&drawloom_tensor::Node, Option<Arc<Spec>>)| {
            let node = Node {
                name: node.name.clone(),
                operator_name: node.operator_name.clone(),
                operator: node.operator.clone(),
                spec: spec.filter(|spec| !spec.own),
                inputs: node.inputs.clone(),
                outputs: node.outputs.clone(),
            };
            Some(Item { node, parts: Vec::new(), kind: Kind::Other })
        };
        let items: Vec<Option<Item>> = graph.nodes().iter().zip(specs).map(item).collect();
        let output = graph.nodes().iter().position(|node| matches!(node.operator, Operator::Output));
        let tensors = graph.tensors();
        let constants = tensors.map(|tensor| graph.shared_constant(tensor).cloned()).collect();
        Self { items, readers, writers, constants, output, facts: vec![None; count], graph }
    }

    /// What is known about the tensors before a run, as far as there are rules: rows are expected along the first axis of
    /// inputs that can have any number of them.
    pub(super) fn infer(&mut self, inputs: &[Port]) {
        for port in inputs {
            let Some(id) = self.graph.find_tensor(&port.name) else { continue };
            let open = port.shape.as_ref().and_then(|shape| shape.first());
            let axis = open.filter(|length| !matches!(length, Dimension::Known(_))).map(|_| 0);
            let fact = Fact { element: port.element, shape: port.shape.clone(), axis, ..Fact::default() };
            self.facts[id.index()] = Some(fact);
        }
        let mut waits: Vec<usize> = vec![0; self.items.len()];
        let mut ready = Vec::new();
        for (index, item) in self.items.iter().enumerate().rev() {
            let Some(item) = item else { continue };
            let distinct: BTreeSet<_> = item.node.inputs.iter().flatten().collect();
            waits[index] = distinct.into_iter().filter(|input| self.writer(**input).is_some()).count();
            if waits[index] == 0 {
                ready.push(index);
            }
        }
        while let Some(index) = ready.pop() {
            let Some(item) = self.item(index) else { continue };
            let outputs = item.node.outputs.clone();
            if let Some(spec) = &item.node.spec {
                let facts: Vec<Option<Fact>> =
                    item.node.inputs.iter().map(|input| input.and_then(|input| self.fact(input))).collect();
                let views: Vec<Option<&Fact>> = facts.iter().map(Option::as_ref).collect();
                for (output, fact) in outputs.iter().zip(rows::apply(spec, &views, outputs.len()).unwrap_or_default()) {
                    self.facts[output.index()] = Some(fact);
                }
            }
            for output in outputs {
                for reader in &self.readers[output.index()] {
                    waits[*reader] -= 1;
                    if waits[*reader] == 0 {
                        ready.push(*reader);
                    }
                }
            }
        }
    }

    /// What is known about a tensor.
    pub(super) fn fact(&self, tensor: TensorId) -> Option<Fact> {
        match self.constant(tensor) {
            Some(value) => Some(Fact::of_view(value.view())),
            None => self.facts.get(tensor.index()).cloned().flatten(),
        }
    }

    /// How many axes a tensor has, if that is known.
    pub(super) fn rank(&self, tensor: TensorId) -> Option<usize> {
        self.fact(tensor).and_then(|fact| fact.rank())
    }

    /// Whether a tensor is known to have elements of type `f32`.
    pub(super) fn is_f32(&self, tensor: TensorId) -> bool {
        self.fact(tensor).is_some_and(|fact| fact.element == Some(ElementType::F32))
    }

    pub(super) fn item(&self, index: usize) -> Option<&Item> {
        self.items.get(index).and_then(Option::as_ref)
    }

    /// The node that computes a tensor.
    pub(super) fn writer(&self, tensor: TensorId) -> Option<usize> {
        self.writers[tensor.index()].filter(|index| self.items[*index].is_some())
    }

    pub(super) fn constant(&self, tensor: TensorId) -> Option<&Arc<Tensor>> {
        self.constants[tensor.index()].as_ref()
    }

    /// The nodes that read a tensor, the output node among them.
    pub(super) fn readers(&self, tensor: TensorId) -> &BTreeSet<usize> {
        &self.readers[tensor.index()]
    }

    /// The one node that reads a tensor, if it is one, and not the output of the graph.
    pub(super) fn only_reader(&self, tensor: TensorId) -> Option<usize> {
        let mut readers = self.readers[tensor.index()].iter();
        match (readers.next(), readers.next()) {
            (Some(reader), None) if Some(*reader) != self.output => Some(*reader),
            _ => None,
        }
    }

    /// Whether a node controls a loop: then it matters which of them a node is in.
    pub(super) fn has_loops(&self) -> bool {
        self.items.iter().flatten().any(|item| matches!(item.node.operator, Operator::Loop(_)))
    }

    /// Whether the tensor is a result of the graph.
    pub(super) fn is_output(&self, tensor: TensorId) -> bool {
        self.output.is_some_and(|output| self.readers[tensor.index()].contains(&output))
    }

    /// A new constant.
    pub(super) fn add_constant(&mut self, name: &str, value: Tensor) -> Result<TensorId, Error> {
        let mut free = format!("\u{0}{name}");
        while self.graph.find_tensor(&free).is_some() {
            free.push('\'');
        }
        self.readers.push(BTreeSet::new());
        self.writers.push(None);
        self.facts.push(None);
        let value = Arc::new(value);
        self.constants.push(Some(Arc::clone(&value)));
        self.graph.constant(&free, value)
    }

    /// A tensor that was computed becomes a constant.
    pub(super) fn make_constant(&mut self, tensor: TensorId, value: Tensor) {
        self.constants[tensor.index()] = Some(Arc::new(value));
    }

    /// Takes a node out. Its outputs must be nobody's, or get another writer.
    pub(super) fn remove(&mut self, index: usize) -> Option<Item> {
        let item = self.items[index].take()?;
        for input in item.node.inputs.iter().flatten() {
            self.readers[input.index()].remove(&index);
        }
        Some(item)
    }

    /// Puts a node where one was taken out, as the writer of its outputs.
    pub(super) fn put(&mut self, index: usize, item: Item) {
        for input in item.node.inputs.iter().flatten() {
            self.readers[input.index()].insert(index);
        }
        for output in &item.node.outputs {
            self.writers[output.index()] = Some(index);
        }
        self.items[index] = Some(item);
    }

    /// Lets everybody who reads one tensor read another one.
    pub(super) fn redirect(&mut self, from: TensorId, to: TensorId) {
        for reader in std::mem::take(&mut self.readers[from.index()]) {
            if let Some(item) = &mut self.items[reader] {
                for input in item.node.inputs.iter_mut().flatten().filter(|input| **input == from) {
                    *input = to;
                }
                for part in item.parts.iter_mut().flat_map(|part| part.inputs.iter_mut().flatten()) {
                    if matches!(part, DraftFrom::Tensor(tensor) if *tensor == from) {
                        *part = DraftFrom::Tensor(to);
                    }
                }
                self.readers[to.index()].insert(reader);
            }
        }
    }

    /// The parts of a node: those it has, or itself, with constants as facts.
    pub(super) fn parts(&self, item: &Item) -> Vec<DraftPart> {
        if !item.parts.is_empty() {
            return item.parts.clone();
        }
        let Some(spec) = &item.node.spec else { return Vec::new() };
        let from = |tensor: TensorId| match self.constant(tensor) {
            Some(value) => DraftFrom::Constant(Fact::of_view(value.view())),
            None => DraftFrom::Tensor(tensor),
        };
        vec![DraftPart { spec: spec.clone(), inputs: item.node.inputs.iter().map(|input| input.map(from)).collect() }]
    }

    /// Puts the parts of a node behind those of others, the last of which computes a tensor that it reads.
    pub(super) fn append(&self, parts: &mut Vec<DraftPart>, output: TensorId, item: &Item) {
        let before = parts.len();
        for mut part in self.parts(item) {
            for from in part.inputs.iter_mut().flatten() {
                match from {
                    DraftFrom::Tensor(tensor) if *tensor == output => *from = DraftFrom::Part(before - 1),
                    DraftFrom::Part(part) => *part += before,
                    _ => {}
                }
            }
            parts.push(part);
        }
    }

    /// The graph with what is left.
    pub(super) fn finish(self) -> Result<Graph, Error> {
        let Self { graph, items, constants, .. } = self;
        let mut result = Graph::new(graph.name());
        for input in graph.inputs() {
            result.input(graph.tensor_name(*input))?;
        }
        let used: BTreeSet<TensorId> =
            items.iter().flatten().flat_map(|item| item.node.inputs.iter().flatten().copied()).collect();
        for tensor in used {
            if let Some(value) = &constants[tensor.index()] {
                result.constant(graph.tensor_name(tensor), Arc::clone(value))?;
            }
        }
        let name = |tensor: &TensorId| graph.tensor_name(*tensor);
        for item in items.into_iter().flatten() {
            let spec = joined(&item);
            let node = item.node;
            let inputs: Vec<&str> = node.inputs.iter().map(|input| input.as_ref().map_or("", name)).collect();
            let outputs: Vec<&str> = node.outputs.iter().map(name).collect();
            if matches!(node.operator, Operator::Output) {
                let ports: Vec<(&str, Placement)> =
                    inputs.into_iter().zip(graph.placements().iter().copied()).collect();
                result.output(&node.name, &ports)?;
                continue;
            }
            let operator = match &spec {
                Some(spec) => with_rule(node.operator, spec),
                None => node.operator,
            };
            result.node(&node.name, &node.operator_name, operator, &inputs, &outputs)?;
        }
        Ok(result)
    }
}

/// What a node that stands for several was made from.
fn joined(item: &Item) -> Option<Arc<Spec>> {
    let own = item.node.spec.as_ref().filter(|_| !item.parts.is_empty())?;
    let place = |tensor: TensorId| item.node.inputs.iter().position(|input| *input == Some(tensor));
    let from = |from: &DraftFrom| match from {
        DraftFrom::Tensor(tensor) => place(*tensor).map(From::Input),
        DraftFrom::Part(part) => Some(From::Part(*part)),
        DraftFrom::Constant(fact) => Some(From::Constant(fact.clone())),
    };
    let part = |part: &DraftPart| Part {
        spec: part.spec.clone(),
        inputs: part.inputs.iter().map(|input| input.as_ref().and_then(from)).collect(),
    };
    let mut spec = Spec::new(&own.operator, own.opset, 1, own.attributes.clone());
    spec.parts = item.parts.iter().map(part).collect();
    Some(Arc::new(spec))
}

/// The names of the operators of parts, for those who read what a node does.
pub(super) fn operators(parts: &[DraftPart]) -> String {
    let names: Vec<&str> = parts.iter().map(|part| part.spec.operator.as_str()).collect();
    names.join("+")
}

pub(super) fn boxed(kernel: Box<dyn Kernel>) -> Operator {
    Operator::Kernel(Arc::from(kernel))
}
