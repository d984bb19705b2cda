//! Trying a model out with few rows, to see how large everything is.
//!
//! What does not fit into memory is not computed, and the trial goes on without it: tensors have shapes then, and no elements.
//! A kernel asks for all the memory it needs before it reads elements, so what it needs is learnt from itself, whether it
//! computes or not. Only what depends on values that are not there is not known in the end.

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{NodeId, Operator, Placement, TensorId};
use crate::plan::learn::{Given, sample};
use crate::plan::sizes::Record;
use crate::program::Program;
use crate::run::call::{Scratch, run_alone};
use crate::run::loops::Counts;
use crate::run::pieces::{node_error, shared};
use crate::run::room::Room;
use crate::tensor::element::ElementType;
use crate::tensor::{Tensor, View};

/// Runs a program for its first rows alone, to see how large everything is.
///
/// A trial needs what a piece of so many rows needs, and no more: tensors go as soon as nobody needs them, and results are not
/// gathered. So rows that do not fit into memory here would not fit in a run either.
pub(super) struct Trial<'a> {
    /// The program with the loop over pieces, and the inputs that have no rows.
    pub(super) program: &'a Program,
    pub(super) inputs: &'a [Given],
    pub(super) given: &'a [(TensorId, Tensor)],
    pub(super) rows: u64,
    /// How many bytes it may use.
    pub(super) memory: usize,
    /// The types and shapes of tensors with one row, as far as they are known before.
    pub(super) known: &'a [Option<(ElementType, Vec<usize>)>],
}

/// What a trial saw, as far as it came.
pub(super) struct Seen {
    pub(super) record: Record,
    /// The results that are the same for all rows, if there are no rows that a run could compute them from.
    pub(super) fixed: Vec<Option<Tensor>>,
    /// What did not fit first.
    pub(super) refused: Option<Error>,
    /// The first node that it is not known of how large its results are, or what it needs.
    pub(super) unknown: Option<Error>,
}

impl Seen {
    /// How large everything is, if all of it is known.
    pub(super) fn record_if_known(self) -> Option<Record> {
        if self.unknown.is_none() { Some(self.record) } else { None }
    }
}

impl Trial<'_> {
    /// Runs it with some rows. Where there are none, they are zero, or one, if zeros do not do.
    pub(super) fn run(&self, count: usize) -> (Seen, Result<(), Error>) {
        let (seen, done) = self.run_with(count, 0);
        let (seen, done) = match done {
            Err(_) if self.rows == 0 => self.run_with(count, 1),
            done => (seen, done),
        };
        let done = done.map_err(|error| {
            if self.rows == 0 {
                return error.before("what an empty batch gives cannot be learnt from rows that are made up");
            }
            let there = self.rows.min(count as u64);
            let counts = Counts { current: there, total: self.rows, ..Counts::default() };
            error.at("", &[counts]).in_piece(0, 0..there).with_finished(Vec::new(), self.rows)
        });
        (seen, done)
    }

    fn run_with(&self, count: usize, value: u8) -> (Seen, Result<(), Error>) {
        let graph = &self.program.graph;
        let mut seen = Seen { record: Record::new(graph), fixed: Vec::new(), refused: None, unknown: None };
        let mut values: Vec<Option<Tensor>> = vec![None; graph.tensors.len()];
        let mut live = 0;
        let there = |tensor: &Tensor| if tensor.is_absent() { 0 } else { tensor.bytes() };
        for (place, id) in self.program.order().iter().enumerate() {
            let node = &graph.nodes[id.index()];
            let room = self.memory.saturating_sub(live);
            let done = match node.operator {
                Operator::Output => Ok(self.keep(&values, &mut seen)),
                Operator::Loop(_) => self.first_rows(count, value, room, &mut seen),
                Operator::Kernel(_) => self.step(*id, &values, room, &mut seen),
            };
            match done {
                Ok(results) => {
                    live += results.iter().map(there).sum::<usize>();
                    for (output, result) in node.outputs.iter().zip(results) {
                        values[output.index()] = Some(result);
                    }
                }
                Err(fault) if matches!(fault.kind(), ErrorKind::Memory | ErrorKind::Absent) => {
                    let error = node_error(self.program, *id, &fault);
                    if fault.kind() == ErrorKind::Memory {
                        seen.refused.get_or_insert_with(|| error.clone());
                    }
                    seen.unknown.get_or_insert(error);
                    for output in &node.outputs {
                        let known = self.known.get(output.index()).and_then(Option::as_ref).filter(|_| count == 1);
                        let known = known.map(|(element, shape)| Tensor::absent(*element, shape)).transpose();
                        values[output.index()] = known.ok().flatten();
                    }
                }
                Err(fault) => return (seen, Err(node_error(self.program, *id, &fault))),
            }
            for tensor in &self.program.ends[place] {
                live -= values[tensor.index()].take().as_ref().map_or(0, there);
            }
        }
        (seen, Ok(()))
    }

    /// The first rows of all inputs that have some.
    fn first_rows(&self, count: usize, value: u8, room: usize, seen: &mut Seen) -> Result<Vec<Tensor>, Fault> {
        let mut tensors = Vec::new();
        let mut left = room;
        for (given, axis) in self.inputs.iter().filter_map(|given| Some((given, given.axis?))) {
            let bytes = given.bytes(axis, count);
            // Reading takes memory of its own, until it is over.
            let needed = bytes.saturating_add(given.rows.memory());
            if needed > left {
                let name = self.program.graph.tensor_name(given.tensor);
                let message = format!("rows of input `{name}` need {needed} bytes, and {left} are left");
                seen.refused.get_or_insert_with(|| Error::new(ErrorKind::Memory, message));
                let mut shape = given.rows.shape().to_vec();
                shape[axis] = count;
                tensors.push(Tensor::absent(given.rows.element(), &shape)?);
                continue;
            }
            left -= bytes;
            tensors.push(sample(given, axis, count, value)?);
        }
        Ok(tensors)
    }

    fn step(&self, id: NodeId, values: &[Option<Tensor>], room: usize, seen: &mut Seen) -> Result<Vec<Tensor>, Fault> {
        let node = &self.program.graph.nodes[id.index()];
        if node.inputs.iter().flatten().any(|input| self.view(values, *input).is_none()) {
            return Err(Fault::absent());
        }
        let mut scratch = Scratch::default();
        scratch.ready(Room::counting(room), None);
        let results = run_alone(node, id, &mut scratch, &|tensor| self.view(values, tensor));
        let missing = scratch.room.missing();
        if missing > 0 {
            let fault = Fault::of(ErrorKind::Memory, format!("it needs {missing} bytes more than are left"));
            seen.refused.get_or_insert_with(|| node_error(self.program, id, &fault));
        }
        let known = results.as_deref().unwrap_or_default();
        seen.record.node(id, self.program, known, scratch.need());
        results
    }

    /// Keeps the results that are the same for all rows, where no run will compute them.
    fn keep(&self, values: &[Option<Tensor>], seen: &mut Seen) -> Vec<Tensor> {
        let graph = &self.program.graph;
        if self.rows == 0
            && let Some(output) = graph.output
        {
            let outputs = graph.nodes[output.index()].inputs.iter().flatten().zip(&graph.placements);
            let kept = outputs.map(|(tensor, placement)| {
                let view = self.view(values, *tensor).filter(|_| *placement == Placement::Fixed);
                view.map(|view| view.to_tensor())
            });
            seen.fixed = kept.collect();
        }
        Vec::new()
    }

    fn view<'v>(&'v self, values: &'v [Option<Tensor>], tensor: TensorId) -> Option<View<'v>> {
        shared(self.program, self.given, values, tensor)
    }
}
