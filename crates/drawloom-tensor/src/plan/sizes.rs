//! How large everything is, for any number of rows.
//!
//! The model is run with one row and with two. Every length is then known for all numbers of rows, because rows that are
//! computed apart from each other make every length either stay, or grow by the same with each of them.

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, NodeId, Operator, TensorId};
use crate::run::Record;
use crate::run::call::Need;
use crate::tensor::element::ElementType;

/// A tensor whose lengths grow with the rows.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    pub(crate) element: ElementType,
    one: Vec<usize>,
    step: Vec<usize>,
}

impl Growth {
    pub(crate) fn new(element: ElementType, one: &[usize], two: &[usize]) -> Option<Self> {
        if one.len() != two.len() {
            return None;
        }
        let step = one.iter().zip(two).map(|(one, two)| two.checked_sub(*one)).collect::<Option<Vec<_>>>()?;
        // With no rows, no length can be less than zero.
        let fits = one.iter().zip(&step).all(|(one, step)| step <= one);
        fits.then(|| Self { element, one: one.to_vec(), step })
    }

    pub(crate) fn shape(&self, rows: usize) -> Vec<usize> {
        let length = |(one, step): (&usize, &usize)| (one - step).saturating_add(step.saturating_mul(rows));
        self.one.iter().zip(&self.step).map(length).collect()
    }

    pub(crate) fn bytes(&self, rows: usize) -> usize {
        self.shape(rows).iter().fold(self.element.size(), |product, length| product.saturating_mul(*length))
    }
}

/// All tensors of a graph, and what its nodes need while they run.
pub(crate) struct Sizes {
    pub(crate) tensors: Vec<Option<Growth>>,
    /// What nodes need with one row and with two.
    needs: Vec<(Need, Need)>,
}

impl Sizes {
    /// From what was seen with one row and with two. Inputs that are cut are given.
    pub(crate) fn new(
        graph: &Graph,
        one: &Record,
        two: &Record,
        inputs: Vec<(TensorId, Growth)>,
    ) -> Result<Self, Error> {
        let mut tensors = Vec::with_capacity(one.tensors.len());
        for (index, pair) in one.tensors.iter().zip(&two.tensors).enumerate() {
            let growth = match pair {
                (Some((element, one)), Some((_, two))) => Some(Growth::new(*element, one, two).ok_or_else(|| {
                    let name = graph.tensor_name(TensorId(index as u32));
                    let message = format!(
                        "memory cannot be planned: the shape of `{name}` depends on values. It is {one:?} with one row, \
                         and {two:?} with two"
                    );
                    Error::new(ErrorKind::Batch, message)
                })?),
                _ => None,
            };
            tensors.push(growth);
        }
        for (input, growth) in inputs {
            tensors[input.index()] = Some(growth);
        }
        Ok(Self { tensors, needs: one.needs.iter().copied().zip(two.needs.iter().copied()).collect() })
    }

    pub(crate) fn bytes(&self, tensor: TensorId, rows: usize) -> usize {
        self.tensors[tensor.index()].as_ref().map_or(0, |growth| growth.bytes(rows))
    }

    /// What a node needs while it runs, beside its results: what it declares, and what it was seen to use.
    pub(crate) fn need(&self, graph: &Graph, node: NodeId, rows: usize) -> Need {
        let (one, two) = self.needs[node.index()];
        let grown = |one: usize, two: usize| {
            let more = two.saturating_sub(one);
            one.saturating_sub(more).saturating_add(more.saturating_mul(rows)).max(if more == 0 { one } else { 0 })
        };
        let seen = Need { scratch: grown(one.scratch, two.scratch), heap: grown(one.heap, two.heap) };
        let entry = &graph.nodes[node.index()];
        let Operator::Kernel(kernel) = &entry.operator else { return seen };
        let shapes: Vec<Option<Vec<usize>>> = (entry.inputs.iter())
            .map(|input| {
                let input = (*input)?;
                let constant = || graph.constant_value(input).map(|value| value.shape().to_vec());
                self.tensors[input.index()].as_ref().map(|growth| growth.shape(rows)).or_else(constant)
            })
            .collect();
        let shapes: Vec<Option<&[usize]>> = shapes.iter().map(Option::as_deref).collect();
        seen.max(Need { scratch: kernel.scratch(&shapes), heap: 0 })
    }
}
