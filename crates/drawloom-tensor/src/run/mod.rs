//! Running a program: the list from its head, and back to a loop-control node while a loop goes on.

pub(crate) mod call;
pub(crate) mod executor;
pub(crate) mod loops;
pub(crate) mod pieces;
mod place;
pub(crate) mod room;
pub(crate) mod scratch;

use crate::error::{Error, Fault};
use crate::graph::{NodeId, Operator, Placement};
use crate::program::Program;
use crate::tensor::{Tensor, View};
use executor::{Executor, Source, node_error};
use place::{Gathered, Rows};
use room::Room;

/// What a run may use.
#[derive(Clone, Debug)]
pub struct Settings {
    memory: usize,
    rows: u64,
    empty_iterations: u64,
    /// Whether what does not fit is counted, and not refused.
    counts: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self::new()
    }
}

impl Settings {
    /// Up to 4 GiB of tensors, and 1000 iterations without rows in a row.
    pub fn new() -> Self {
        Self { memory: 4 << 30, rows: u64::MAX, empty_iterations: 1000, counts: false }
    }

    /// How many bytes the tensors of the run may take at once, its results included.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// For a run inside of a node: what may be used is a part of a room, and is counted where that counts.
    pub fn inside(room: &Room, bytes: usize) -> Self {
        Self { counts: room.counts(), ..Self::new().memory(bytes) }
    }

    /// How many rows each output may have.
    #[must_use]
    pub fn rows(mut self, rows: u64) -> Self {
        self.rows = rows;
        self
    }

    /// After how many iterations without rows, one after another, a loop counts as one that does not advance.
    #[must_use]
    pub fn empty_iterations(mut self, iterations: u64) -> Self {
        self.empty_iterations = iterations;
        self
    }
}

/// Rows that an iteration put into an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which of the outputs.
    pub output: usize,
    /// The first row.
    pub first: u64,
    /// How many rows.
    pub rows: u64,
}

/// What a run computed.
#[derive(Clone, Debug)]
pub struct Outcome {
    names: Vec<String>,
    tensors: Vec<Tensor>,
    runs: Vec<u64>,
    placed: Vec<Placed>,
    peak: usize,
}

impl Outcome {
    /// An output by its name.
    pub fn output(&self, name: &str) -> Option<&Tensor> {
        self.names.iter().position(|other| other == name).map(|index| &self.tensors[index])
    }

    /// All outputs, in the order of the output node.
    pub fn outputs(&self) -> &[Tensor] {
        &self.tensors
    }

    /// All outputs, in the order of the output node, to keep.
    pub fn into_outputs(self) -> Vec<Tensor> {
        self.tensors
    }

    /// How often a node ran.
    pub fn runs(&self, node: NodeId) -> u64 {
        self.runs[node.index()]
    }

    /// Which rows were put where, in the order in which it happened.
    pub fn placed(&self) -> &[Placed] {
        &self.placed
    }

    /// The most bytes that tensors took at once, without inputs and constants.
    pub fn peak_bytes(&self) -> usize {
        self.peak
    }
}

impl Program {
    /// Runs the program with an input of every name.
    pub fn run(&self, inputs: &[(&str, View<'_>)], settings: &Settings) -> Result<Outcome, Error> {
        let mut given: Vec<Option<View<'_>>> = vec![None; self.graph.tensors.len()];
        let tensors = self.graph.find_inputs(inputs.iter().map(|(name, _)| *name))?;
        tensors.into_iter().zip(inputs).for_each(|(tensor, (_, view))| given[tensor.index()] = Some(*view));
        let room = if settings.counts { Room::counting(settings.memory) } else { Room::new(settings.memory) };
        let run = WholeRun {
            source: Source { program: self, tensors: &given },
            settings,
            executor: Executor::new(self, room),
            gathered: self.graph.placements.iter().map(|placement| Gathered::new(*placement)).collect(),
            placed: Vec::new(),
            runs: vec![0; self.graph.nodes.len()],
        };
        run.finish()
    }
}

/// A run of a whole program with all of its loops, within a budget.
struct WholeRun<'a> {
    source: Source<'a>,
    settings: &'a Settings,
    executor: Executor<Room>,
    gathered: Vec<Gathered>,
    placed: Vec<Placed>,
    runs: Vec<u64>,
}

impl WholeRun<'_> {
    /// Runs the list to its end, and from a loop-control node on while its loop goes on.
    fn finish(mut self) -> Result<Outcome, Error> {
        let program = self.source.program;
        let mut place = 0;
        loop {
            while place < program.order().len() {
                let id = program.order()[place];
                self.runs[id.index()] += 1;
                self.step(id).map_err(|fault| self.error(id, &fault))?;
                self.executor.release_ends(program, place);
                place += 1;
            }
            let Executor { stack, states, .. } = &mut self.executor;
            match stack.end_of_list(&program.graph, states, self.settings.empty_iterations) {
                Ok(None) => break,
                Ok(Some(node)) => {
                    place = program.place(node);
                }
                Err((node, fault)) => return Err(self.error(node, &fault)),
            }
        }
        let names: Vec<String> =
            program.graph.outputs().map(|output| program.graph.tensor_name(output).to_owned()).collect();
        let room = self.executor.memory;
        let mut tensors = Vec::new();
        for (name, gathered) in names.iter().zip(self.gathered) {
            let whole = gathered.finish(&room);
            let whole = whole.map_err(|fault| Error::new(fault.kind(), format!("output `{name}`: {fault}")))?;
            tensors.extend(whole);
        }
        Ok(Outcome { names, tensors, runs: self.runs, placed: self.placed, peak: room.most() })
    }

    fn step(&mut self, id: NodeId) -> Result<(), Fault> {
        if matches!(self.source.program.graph.nodes[id.index()].operator, Operator::Output) {
            return self.gather(id);
        }
        self.executor.run(self.source, id)
    }

    /// Puts the rows of this iteration where they belong.
    fn gather(&mut self, id: NodeId) -> Result<(), Fault> {
        let graph = &self.source.program.graph;
        let stack = &self.executor.stack;
        let first = stack.offset()?;
        let in_loop = !stack.active().is_empty();
        let rows = Rows { first, in_loop, expected: stack.expected(), most: self.settings.rows };
        for (output, input) in graph.nodes[id.index()].inputs.iter().flatten().enumerate() {
            let view = self.executor.view(self.source, *input);
            let view = view.ok_or_else(|| Fault::new("an output was not computed"))?;
            let rows = self.gathered[output]
                .add(view, rows, &self.executor.memory)
                .map_err(|fault| Fault::of(fault.kind(), format!("output `{}`: {fault}", graph.tensor_name(*input))))?;
            if matches!(graph.placements[output], Placement::Rows { .. }) {
                self.placed.push(Placed { output, first, rows });
            }
        }
        Ok(())
    }

    fn error(&self, id: NodeId, fault: &Fault) -> Error {
        node_error(self.source.program, id, fault, self.executor.stack.active())
    }
}
