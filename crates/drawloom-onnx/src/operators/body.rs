//! Graphs inside of nodes, and what a node holds while one of them runs.

use std::sync::Arc;

use crate::rows::inside;
use drawloom_tensor::operator::Room;
use drawloom_tensor::operator::around;
use drawloom_tensor::{
    Dimension, ElementType, Error, Fact, Fault, Inputs, Port, Program, Scratch, Settings, Tensor, View, with_type,
};

/// A graph inside of a node.
#[derive(Clone)]
pub(crate) struct Body {
    pub(crate) program: Arc<Program>,
    /// The names of what it is given, in order.
    pub(crate) inputs: Vec<String>,
    /// The names that it takes from outside, and at which input of the node each is.
    pub(crate) captures: Vec<(String, usize)>,
    /// What is said about its outputs.
    pub(crate) outputs: Vec<Port>,
}

/// Constants inside of a graph that does not run may take so many bytes to learn the shapes of its results.
const MOST_FOLDED: usize = 1 << 12;

/// What somebody holds while a graph inside of a node runs.
#[derive(Clone, Copy, Default)]
pub(super) struct Held {
    pub(super) bytes: usize,
    /// How many of them are there, and not only counted.
    pub(super) there: usize,
}

impl Held {
    pub(super) fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes.saturating_add(other.bytes), there: self.there.saturating_add(other.there) }
    }

    pub(super) fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Self {
        tensors.into_iter().fold(Self::default(), |sum, tensor| {
            let bytes = tensor.bytes();
            sum.plus(Self { bytes, there: if tensor.is_absent() { 0 } else { bytes } })
        })
    }

    /// A copy of a tensor, or of a part of it, beside what is held: without its elements if there is no room for them.
    pub(super) fn copy(
        &mut self,
        of: View<'_>,
        part: Option<(usize, usize)>,
        scratch: &mut Scratch,
    ) -> Result<Tensor, Fault> {
        let mut shape = of.shape().to_vec();
        if let Some((axis, _)) = part {
            shape.remove(axis);
        }
        let bytes = shape.iter().product::<usize>() * of.element().size();
        self.bytes = self.bytes.saturating_add(bytes);
        if of.is_absent() || !scratch.hold(self.bytes, self.there.saturating_add(bytes))? {
            scratch.hold(self.bytes, self.there)?;
            return Tensor::absent(of.element(), &shape);
        }
        self.there += bytes;
        match part {
            None => Ok(of.to_tensor()),
            Some((axis, at)) => cut(of, axis, at),
        }
    }
}

impl Body {
    /// Runs the graph. What it takes while it runs is counted beside what is held already.
    pub(super) fn run(
        &self,
        given: &[View<'_>],
        inputs: &Inputs<'_>,
        held: Held,
        scratch: &mut Scratch,
    ) -> Result<Vec<Tensor>, Fault> {
        scratch.hold(held.bytes, held.there)?;
        let room = scratch.elsewhere().saturating_sub(held.there);
        if given.len() != self.inputs.len() {
            return Err(Fault::new(format!(
                "the graph inside takes {} inputs, and there are {}",
                self.inputs.len(),
                given.len()
            )));
        }
        let mut named: Vec<(&str, View<'_>)> =
            self.inputs.iter().map(String::as_str).zip(given.iter().copied()).collect();
        for (name, index) in &self.captures {
            named.push((name, inputs.get(*index)?));
        }
        let outcome = self
            .program
            .run(&named, &Settings::inside(scratch.room(), room))
            .map_err(|error: Error| Fault::of(error.kind(), format!("inside of it, {error}")))?;
        let peak = outcome.peak_bytes();
        let there = if scratch.room().counts() { Held::of(outcome.outputs()).there } else { peak };
        scratch.hold(held.bytes.saturating_add(peak), held.there.saturating_add(there))?;
        Ok(outcome.into_outputs())
    }

    /// The types and shapes of the outputs, as far as they follow from what is given, or are declared.
    pub(super) fn described(&self, given: &[Fact], inputs: &Inputs<'_>) -> Vec<Option<(ElementType, Vec<usize>)>> {
        let outside: Vec<Option<Fact>> = inputs.views().iter().map(|view| view.map(Fact::of_view)).collect();
        let outside: Vec<Option<&Fact>> = outside.iter().map(Option::as_ref).collect();
        let facts = inside(self, given, &outside, &Room::new(MOST_FOLDED)).unwrap_or_default();
        let known = |(index, port): (usize, &Port)| {
            let fact = facts.get(index);
            let element = fact.and_then(|fact| fact.element).or(port.element)?;
            let shapes = [fact.and_then(|fact| fact.shape.as_ref()), port.shape.as_ref()];
            let known = |shape: &Vec<Dimension>| shape.iter().map(Dimension::known).collect();
            let shape = shapes.into_iter().flatten().find_map(known)?;
            Some((element, shape))
        };
        self.outputs.iter().enumerate().map(known).collect()
    }
}

/// One slice of a tensor, without the axis along which it was cut.
fn cut(view: View<'_>, axis: usize, at: usize) -> Result<Tensor, Fault> {
    let (outer, length, inner) = around(view.shape(), axis);
    let mut shape = view.shape().to_vec();
    shape.remove(axis);
    with_type!(all, view.element(), T => {
        let values = view.values::<T>()?;
        let slice = (0..outer).flat_map(|block| values[(block * length + at) * inner..][..inner].iter().copied());
        Tensor::new(&shape, slice.collect::<Vec<T>>())
    })
}
