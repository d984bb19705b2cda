//! Which axis of every tensor counts the rows of a batch, and whether rows can be computed apart from each other.
//!
//! The one idea: the axis is followed from the inputs through every node. A node for which it cannot be shown that each row
//! of its results depends on the same row of its inputs alone is named, and the model is refused. Shapes are followed with
//! it, with names for lengths that are not known, and so are the values of small integer tensors, because models compute
//! with shapes: a number may be known, or be the number of rows.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Error, ErrorKind};
use crate::graph::{Kernel, Operator, Placement, Source, TensorEntry, TensorId};
use crate::model::{Dimension, Model, Port};
use crate::program::Program;
use crate::program::dump::Described;
use crate::run::call::{Inputs, Outputs, Scratch};
use crate::run::room::Room;
use crate::tensor::element::{ElementType, Slice};
use crate::tensor::{Tensor, View};

/// Values of more elements than this are not followed.
pub const MOST_VALUES: usize = 64;

/// Constants that take more bytes than this are not computed before a run.
const MOST_FOLDED: usize = 1 << 26;

/// What is known about a tensor before anything is computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The type of its elements.
    pub element: Option<ElementType>,
    /// The lengths of its axes.
    pub shape: Option<Vec<Dimension>>,
    /// The axis that counts rows. A tensor without one is the same for all rows.
    pub axis: Option<usize>,
    /// The numbers of a small integer tensor.
    pub value: Option<Vec<ShapeNumber>>,
    /// The numbers of a small constant with a point, by their bits.
    pub floats: Option<Vec<u32>>,
    /// Whether its value depends on how many rows there are.
    pub counts_rows: bool,
}

/// A number of a small integer tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeNumber {
    /// It is known.
    Known(i64),
    /// How many rows there are.
    Rows,
    /// Something that does not depend on the rows.
    Other,
}

impl Fact {
    /// What is known about a constant.
    pub fn of_view(view: View<'_>) -> Self {
        let values = match view.slice() {
            _ if view.is_absent() => None,
            Slice::I64(values) if values.len() <= MOST_VALUES => Some(values.to_vec()),
            Slice::I32(values) if values.len() <= MOST_VALUES => {
                Some(values.iter().map(|value| i64::from(*value)).collect())
            }
            Slice::Bool(values) if values.len() <= MOST_VALUES => {
                Some(values.iter().map(|value| i64::from(*value)).collect())
            }
            _ => None,
        };
        let floats = match view.slice() {
            _ if view.is_absent() => None,
            Slice::F32(values) if values.len() <= MOST_VALUES => {
                Some(values.iter().map(|value| value.to_bits()).collect())
            }
            _ => None,
        };
        Self {
            element: Some(view.element()),
            shape: Some(view.shape().iter().map(|length| Dimension::Known(*length)).collect()),
            axis: None,
            value: values.map(|values| values.into_iter().map(ShapeNumber::Known).collect()),
            floats,
            counts_rows: false,
        }
    }

    /// How many axes there are, if that is known.
    pub fn rank(&self) -> Option<usize> {
        self.shape.as_ref().map(Vec::len)
    }

    /// The numbers of a small constant with a point.
    pub fn numbers(&self) -> Option<Vec<f32>> {
        self.floats.as_ref().map(|floats| floats.iter().map(|bits| f32::from_bits(*bits)).collect())
    }

    /// The numbers of a tensor whose value is known in full.
    pub fn integers(&self) -> Option<Vec<i64>> {
        let known = |number: &ShapeNumber| if let ShapeNumber::Known(value) = number { Some(*value) } else { None };
        self.value.as_ref()?.iter().map(known).collect()
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            Some(element) => write!(f, "{element}")?,
            None => write!(f, "?")?,
        }
        let Some(shape) = &self.shape else { return write!(f, "[…]") };
        let lengths = shape
            .iter()
            .enumerate()
            .map(|(axis, length)| if self.axis == Some(axis) { format!("*{length}") } else { length.to_string() });
        write!(f, "[{}]", lengths.collect::<Vec<_>>().join(", "))
    }
}

/// How a batch runs through a model.
#[derive(Clone, Debug)]
pub struct BatchPlan {
    facts: Vec<Fact>,
    outputs: Vec<Placement>,
}

impl BatchPlan {
    /// What is known about a tensor.
    pub fn fact(&self, tensor: TensorId) -> &Fact {
        &self.facts[tensor.index()]
    }

    /// The axis that counts the rows of an input or output.
    pub fn axis(&self, model: &Model, port: &str) -> Option<usize> {
        model.program().graph.find_tensor(port).and_then(|tensor| self.fact(tensor).axis)
    }

    /// The types and shapes of tensors with one row, as far as they are known.
    pub(crate) fn with_one_row(&self) -> Vec<Option<(ElementType, Vec<usize>)>> {
        let known = |fact: &Fact| {
            let lengths = fact.shape.as_ref()?.iter().enumerate().map(|(axis, length)| match length {
                _ if fact.axis == Some(axis) => Some(1),
                Dimension::Known(length) => Some(*length),
                Dimension::Symbol(_) | Dimension::Unknown => None,
            });
            Some((fact.element?, lengths.collect::<Option<Vec<usize>>>()?))
        };
        self.facts.iter().map(known).collect()
    }

    /// Where the rows of each output are.
    pub fn outputs(&self) -> &[Placement] {
        &self.outputs
    }
}

impl Model {
    /// Follows the rows of a batch through the model. Rows are counted along the first axis of every input that does not
    /// have a fixed length there, unless another axis, or none, is given.
    pub fn batch(&self, axes: &[(&str, Option<usize>)]) -> Result<BatchPlan, Error> {
        self.batch_of(axes, &[])
    }

    /// The program with the types and shapes of its tensors, as far as they follow from the file: a star marks the axis
    /// that counts rows.
    pub fn described(&self) -> Described<'_> {
        let mut facts = constant_facts(self.program());
        // Where rows are mixed nothing more is known.
        let _ = self
            .mark_inputs(&[], &mut facts)
            .and_then(|()| follow(self.program(), &mut facts, Vec::new(), &Room::default()));
        Described { program: self.program(), facts }
    }

    /// The same for inputs of known shapes: lengths that the file leaves open may decide which way a branch goes.
    pub fn batch_of(&self, axes: &[(&str, Option<usize>)], shapes: &[(&str, &[usize])]) -> Result<BatchPlan, Error> {
        self.batch_with(axes, shapes, &[], None)
    }

    /// The same with the values of some inputs, which count if these have no rows: they may decide a branch, too. Constants
    /// that are computed for it take no more memory than is given.
    pub(crate) fn batch_with(
        &self,
        axes: &[(&str, Option<usize>)],
        shapes: &[(&str, &[usize])],
        values: &[(&str, Tensor)],
        memory: Option<usize>,
    ) -> Result<BatchPlan, Error> {
        let graph = &self.program().graph;
        let mut facts = constant_facts(self.program());
        self.mark_inputs(axes, &mut facts)?;
        for (name, lengths) in shapes {
            let Some(id) = graph.find_tensor(name).filter(|id| graph.inputs.contains(id)) else { continue };
            let fact = &mut facts[id.index()];
            let axis = fact.axis;
            let Some(shape) = fact.shape.as_mut().filter(|shape| shape.len() == lengths.len()) else { continue };
            for (place, length) in lengths.iter().enumerate().filter(|(place, _)| Some(*place) != axis) {
                shape[place] = Dimension::Known(*length);
            }
        }
        let mut known = Vec::new();
        for (name, value) in values {
            let Some(id) = graph.find_tensor(name).filter(|id| facts[id.index()].axis.is_none()) else { continue };
            facts[id.index()] = Fact::of_view(value.view());
            known.push((id, value.clone()));
        }
        let room = Room::new(memory.unwrap_or(usize::MAX));
        follow(self.program(), &mut facts, known, &room)?;
        let mut outputs = Vec::new();
        for port in self.outputs() {
            let fact = graph.find_tensor(&port.name).map(|id| &facts[id.index()]);
            if fact.is_some_and(|fact| fact.counts_rows) {
                let message = format!(
                    "rows cannot be computed apart from each other: output `{}` depends on how many there are",
                    port.name
                );
                return Err(Error::new(ErrorKind::Batch, message));
            }
            outputs.push(fact.and_then(|fact| fact.axis).map_or(Placement::Fixed, |axis| Placement::Rows { axis }));
        }
        if !outputs.iter().any(|output| matches!(output, Placement::Rows { .. })) {
            return Err(Error::new(ErrorKind::Batch, "no output of the model depends on the rows of its inputs"));
        }
        Ok(BatchPlan { facts, outputs })
    }

    /// The axis that counts rows in each input, without a look at what the model does with them.
    pub fn input_axes(&self, axes: &[(&str, Option<usize>)]) -> Result<Vec<Option<usize>>, Error> {
        let mut facts = vec![Fact::default(); self.program().graph.tensors.len()];
        self.mark_inputs(axes, &mut facts)?;
        let axis = |port: &Port| self.program().graph.find_tensor(&port.name).and_then(|id| facts[id.index()].axis);
        Ok(self.inputs().iter().map(axis).collect())
    }

    fn mark_inputs(&self, axes: &[(&str, Option<usize>)], facts: &mut [Fact]) -> Result<(), Error> {
        let wrong = |message: String| Error::new(ErrorKind::Batch, message);
        let given: BTreeMap<&str, Option<usize>> = axes.iter().copied().collect();
        if let Some(name) = given.keys().find(|name| !self.inputs().iter().any(|port| port.name == **name)) {
            return Err(wrong(format!("the model has no input `{name}`")));
        }
        // A name for the number of rows is the same wherever it is.
        let first_of = |port: &Port| port.shape.as_ref().and_then(|shape| shape.first()).cloned();
        let names: Vec<Dimension> =
            self.inputs().iter().filter_map(first_of).filter(|length| matches!(length, Dimension::Symbol(_))).collect();
        let mut any = false;
        for port in self.inputs() {
            let Some(id) = self.program().graph.find_tensor(&port.name) else { continue };
            let fact = &mut facts[id.index()];
            (fact.element, fact.shape) = (port.element, port.shape.clone());
            let first = port.shape.as_ref().and_then(|shape| shape.first());
            let open = first.is_some_and(|length| !matches!(length, Dimension::Known(_)));
            fact.axis = match given.get(port.name.as_str()) {
                Some(axis) => *axis,
                None if open => Some(0),
                None => port.shape.as_ref().and_then(|shape| shape.iter().position(|length| names.contains(length))),
            };
            let Some(axis) = fact.axis else { continue };
            any = true;
            match port.shape.as_ref().and_then(|shape| shape.get(axis)) {
                None => return Err(wrong(format!("input {port} has no axis {axis} that could count rows"))),
                Some(Dimension::Known(length)) => {
                    return Err(wrong(format!(
                        "axis {axis} of input {port} has the fixed length {length}: the model is made for that many rows"
                    )));
                }
                Some(Dimension::Symbol(symbol)) => {
                    let shared = |shape: &Vec<Dimension>| {
                        shape.iter().filter(|length| **length == Dimension::Symbol(symbol.clone())).count() > 1
                    };
                    if port.shape.as_ref().is_some_and(shared) {
                        return Err(wrong(format!("`{symbol}` of input {port} is the length of another axis too")));
                    }
                }
                Some(Dimension::Unknown) => {}
            }
        }
        if !any {
            return Err(wrong(
                "no input of the model has an axis of any length: it is made for a fixed number of rows".to_owned(),
            ));
        }
        Ok(())
    }
}

/// What is known about the tensors of a program before anything is said about its inputs.
pub fn constant_facts(program: &Program) -> Vec<Fact> {
    let fact = |entry: &TensorEntry| match &entry.source {
        Source::Constant(value) => Fact::of_view(Tensor::view(value)),
        _ => Fact::default(),
    };
    program.graph.tensors.iter().map(fact).collect()
}

/// Follows the rows of the inputs of a program through all of its nodes. What is computed on the way is taken from the room.
pub fn follow(program: &Program, facts: &mut [Fact], known: Vec<(TensorId, Tensor)>, room: &Room) -> Result<(), Error> {
    let graph = &program.graph;
    let mut folded: Vec<Option<Tensor>> = vec![None; graph.tensors.len()];
    for (tensor, value) in known {
        folded[tensor.index()] = Some(value);
    }
    for id in program.order() {
        let node = &graph.nodes[id.index()];
        let inputs: Vec<Option<&Fact>> =
            node.inputs.iter().map(|input| input.map(|input| &facts[input.index()])).collect();
        let Operator::Kernel(kernel) = &node.operator else { continue };
        let views: Option<Vec<Option<View<'_>>>> = (node.inputs.iter())
            .map(|input| match input {
                None => Some(None),
                Some(input) => {
                    let value = folded[input.index()].as_ref().or_else(|| graph.constant_value(*input));
                    value.map(|value| Some(value.view()))
                }
            })
            .collect();
        if let Some(views) = views
            && let Some(results) = fold(kernel.as_ref(), &views, node.outputs.len(), room)
        {
            for (output, result) in node.outputs.iter().zip(results) {
                facts[output.index()] = Fact::of_view(result.view());
                folded[output.index()] = Some(result);
            }
            continue;
        }
        let rows = inputs.iter().flatten().any(|fact| fact.axis.is_some() || fact.counts_rows);
        let unknown = || if rows { Err("it does not say what it does with rows".to_owned()) } else { Ok(Vec::new()) };
        let results = kernel.rows(&inputs, node.outputs.len(), room).unwrap_or_else(unknown).map_err(|why| {
            let message = format!(
                "rows cannot be computed apart from each other: node `{}` ({}): {why}",
                node.name, node.operator_name
            );
            Error::new(ErrorKind::Batch, message).at(&node.name, &[])
        })?;
        for (output, fact) in node.outputs.iter().zip(results) {
            facts[output.index()] = fact;
        }
    }
    Ok(())
}

/// What a node computes from constants, if that is not too large.
fn fold(kernel: &dyn Kernel, views: &[Option<View<'_>>], outputs: usize, room: &Room) -> Option<Vec<Tensor>> {
    let mut results = vec![None; outputs];
    let mut scratch = Scratch::default();
    scratch.ready(Room::new(room.left().min(MOST_FOLDED)), None);
    let mut into = Outputs::within(&mut results, scratch.room.clone());
    kernel.run(&Inputs::new(views), &mut into, &mut scratch).ok()?;
    let results = results.into_iter().collect::<Option<Vec<_>>>()?;
    let bytes = results.iter().map(Tensor::bytes).sum();
    room.take(bytes, String::new).ok()?;
    Some(results)
}
