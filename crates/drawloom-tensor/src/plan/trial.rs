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
use crate::run::call::Place;
use crate::run::executor::{Executor, Memory, Source, node_error};
use crate::run::loops::Counts;
use crate::run::room::Room;
use crate::run::scratch::Scratch;
use crate::tensor::Tensor;
use crate::tensor::element::ElementType;

/// Runs a program for its first rows alone, to see how large everything is.
///
/// A trial needs what a piece of so many rows needs, and no more: tensors go as soon as nobody needs them, and results are not
/// gathered. So rows that do not fit into memory here would not fit in a run either.
pub(super) struct Trial<'a> {
    /// The program with the loop over pieces, and the inputs that have no rows.
    pub(super) program: &'a Program,
    pub(super) inputs: &'a [Given],
    pub(super) given: &'a Vec<(TensorId, Tensor)>,
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
        let source = Source { program: self.program, tensors: self.given };
        let seen = Seen { record: Record::new(graph), fixed: Vec::new(), refused: None, unknown: None };
        let mut executor = Executor::new(self.program, Measure { all: self.memory, live: 0, seen });
        for (place, id) in self.program.order().iter().enumerate() {
            let node = &graph.nodes[id.index()];
            let done = match node.operator {
                Operator::Output => self.keep(&mut executor, source),
                Operator::Loop(_) => self.first_rows(count, value, &mut executor, &node.outputs),
                Operator::Kernel(_) => {
                    let known = |input: &TensorId| executor.view(source, *input).is_some();
                    let known = node.inputs.iter().flatten().all(known);
                    if known { executor.run(source, *id) } else { Err(Fault::absent()) }
                }
            };
            let seen = &mut executor.memory.seen;
            match done {
                Ok(()) => {}
                Err(fault) if matches!(fault.kind(), ErrorKind::Memory | ErrorKind::Absent) => {
                    let error = node_error(self.program, *id, &fault, &[]);
                    if fault.kind() == ErrorKind::Memory {
                        seen.refused.get_or_insert_with(|| error.clone());
                    }
                    seen.unknown.get_or_insert(error);
                    for output in &node.outputs {
                        let known = self.known.get(output.index()).and_then(Option::as_ref).filter(|_| count == 1);
                        let known = known.map(|(element, shape)| Tensor::absent(*element, shape)).transpose();
                        executor.tensors[output.index()] = known.ok().flatten();
                    }
                }
                Err(fault) => return (executor.memory.seen, Err(node_error(self.program, *id, &fault, &[]))),
            }
            executor.release_ends(self.program, place);
        }
        (executor.memory.seen, Ok(()))
    }

    /// The first rows of all inputs that have some.
    fn first_rows(
        &self,
        count: usize,
        value: u8,
        executor: &mut Executor<Measure>,
        outputs: &[TensorId],
    ) -> Result<(), Fault> {
        let cut = self.inputs.iter().filter_map(|given| Some((given, given.axis?)));
        for ((given, axis), output) in cut.zip(outputs) {
            let left = executor.memory.left();
            // Reading takes memory of its own, until it is over.
            let needed = given.bytes(axis, count).saturating_add(given.rows.memory());
            let rows = if needed > left {
                let name = self.program.graph.tensor_name(given.tensor);
                let message = format!("rows of input `{name}` need {needed} bytes, and {left} are left");
                executor.memory.seen.refused.get_or_insert_with(|| Error::new(ErrorKind::Memory, message));
                let mut shape = given.rows.shape().to_vec();
                shape[axis] = count;
                Tensor::absent(given.rows.element(), &shape)?
            } else {
                sample(given, axis, count, value)?
            };
            executor.memory.live += there(&rows);
            executor.set(*output, rows);
        }
        Ok(())
    }

    /// Keeps the results that are the same for all rows, where no run will compute them.
    fn keep(&self, executor: &mut Executor<Measure>, source: Source<'_>) -> Result<(), Fault> {
        let graph = &self.program.graph;
        if self.rows == 0 {
            let kept = graph.outputs().zip(&graph.placements).map(|(tensor, placement)| {
                let view = executor.view(source, tensor).filter(|_| *placement == Placement::Fixed);
                view.map(|view| view.to_tensor())
            });
            executor.memory.seen.fixed = kept.collect();
        }
        Ok(())
    }
}

/// Memory that counts what does not fit, and sees how large everything is.
struct Measure {
    all: usize,
    /// The bytes of tensors that are there.
    live: usize,
    seen: Seen,
}

impl Measure {
    fn left(&self) -> usize {
        self.all.saturating_sub(self.live)
    }
}

impl Memory for Measure {
    fn begin(&mut self, _: &Program, _: NodeId, scratch: &mut Scratch) -> Vec<Place> {
        scratch.ready(Room::counting(self.left()), None);
        Vec::new()
    }

    fn end(&mut self, program: &Program, node: NodeId, results: &[Tensor], scratch: &Scratch) -> Result<(), Fault> {
        let missing = scratch.room.missing();
        if missing > 0 {
            let fault = Fault::of(ErrorKind::Memory, format!("it needs {missing} bytes more than are left"));
            self.seen.refused.get_or_insert_with(|| node_error(program, node, &fault, &[]));
        }
        self.seen.record.node(node, program, results, scratch.need());
        self.live += results.iter().map(there).sum::<usize>();
        Ok(())
    }

    fn release(&mut self, tensor: &Tensor) {
        self.live -= there(tensor);
    }
}

/// How many bytes of a tensor are there.
fn there(tensor: &Tensor) -> usize {
    if tensor.is_absent() { 0 } else { tensor.bytes() }
}
