//! How large everything is, for any number of rows.
//!
//! The model is run with one row and with two. Every length is then known for all numbers of rows, because rows that are
//! computed apart from each other make every length either stay, or grow by the same with each of them. Where two rows do
//! not fit into memory, pieces have one row, and more need not be known.

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, NodeId, Operator, TensorId};
use crate::program::Program;
use crate::run::scratch::Need;
use crate::tensor::Tensor;
use crate::tensor::element::ElementType;

/// What a trial saw of every node.
pub(crate) struct Record {
    /// The types and shapes of tensors that were computed.
    pub(crate) tensors: Vec<Option<(ElementType, Vec<usize>)>>,
    /// What each node needed while it ran, beside its results.
    pub(crate) needs: Vec<Need>,
}

impl Record {
    pub(crate) fn new(graph: &Graph) -> Self {
        Self { tensors: vec![None; graph.tensors.len()], needs: vec![Need::default(); graph.nodes.len()] }
    }

    pub(crate) fn node(&mut self, id: NodeId, program: &Program, results: &[Tensor], need: Need) {
        self.needs[id.index()] = self.needs[id.index()].max(need);
        for (output, result) in program.graph.nodes[id.index()].outputs.iter().zip(results) {
            self.tensors[output.index()] = Some((result.element(), result.shape().to_vec()));
        }
    }
}

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
    /// The same for more rows, the most last.
    seen: Vec<(usize, Vec<Need>)>,
    /// Whether nothing is known about more than one row.
    one_row: bool,
}

impl Sizes {
    /// From what was seen with one row and with two, if they were tried. Inputs that are cut are given.
    pub(crate) fn new(
        graph: &Graph,
        one: &Record,
        two: Option<&Record>,
        inputs: Vec<(TensorId, Growth)>,
    ) -> Result<Self, Error> {
        let one_row = two.is_none();
        let two = two.unwrap_or(one);
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
        Ok(Self {
            tensors,
            needs: one.needs.iter().copied().zip(two.needs.iter().copied()).collect(),
            seen: Vec::new(),
            one_row,
        })
    }

    /// How a result grows that has its rows along an axis.
    pub(crate) fn with_rows(&self, tensor: TensorId, axis: usize) -> Option<Growth> {
        let growth = self.tensors[tensor.index()].clone()?;
        if !self.one_row || growth.one.get(axis) != Some(&1) {
            return Some(growth);
        }
        let mut two = growth.one.clone();
        two[axis] = 2;
        Growth::new(growth.element, &growth.one, &two)
    }

    pub(crate) fn bytes(&self, tensor: TensorId, rows: usize) -> usize {
        self.tensors[tensor.index()].as_ref().map_or(0, |growth| growth.bytes(rows))
    }

    /// Whether nothing is known about more than one row.
    pub(crate) fn is_one_row(&self) -> bool {
        self.one_row
    }

    /// Whether it is not certain what nodes need with so many rows: what they take elsewhere is the largest of several
    /// things, of which each grows evenly, but not the largest.
    pub(crate) fn is_uncertain(&self, rows: usize) -> bool {
        let takes = self.needs.iter().any(|(one, two)| one.heap.max(two.heap) > 0);
        takes && rows > self.seen.last().map_or(2, |(rows, _)| *rows)
    }

    /// Adds what was seen with more rows.
    pub(crate) fn add(&mut self, rows: usize, seen: Record) {
        self.seen.push((rows, seen.needs));
    }

    /// What a node needs while it runs, beside its results: what it declares, and what it was seen to use.
    pub(crate) fn need(&self, graph: &Graph, node: NodeId, rows: usize) -> Need {
        let (one, two) = self.needs[node.index()];
        let mut known = vec![(1, one), (2, two)];
        known.extend(self.seen.iter().map(|(rows, needs)| (*rows, needs[node.index()])));
        let line = |of: fn(&Need) -> usize| {
            let known: Vec<(usize, usize)> = known.iter().map(|(rows, need)| (*rows, of(need))).collect();
            at_most(&known, rows)
        };
        let seen = Need { scratch: line(|need| need.scratch), heap: line(|need| need.heap) };
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

/// The most that something can be which is known for some numbers of rows, and is the largest of several things that grow
/// evenly: between two of these numbers it is nowhere above the straight line.
fn at_most(known: &[(usize, usize)], rows: usize) -> usize {
    let place = known.iter().position(|(at, _)| *at >= rows).unwrap_or(known.len() - 1).max(1);
    let [(from, low), (to, high)] = [known[place - 1], known[place]];
    let step = high.saturating_sub(low).div_ceil(to - from);
    if rows >= from {
        low.saturating_add(step.saturating_mul(rows - from))
    } else {
        low.saturating_sub(step.saturating_mul(from - rows))
    }
}
