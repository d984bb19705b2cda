//! Running a program: the list from its head, and back to a loop-control node while a loop goes on.

pub(crate) mod call;
pub(crate) mod loops;
pub(crate) mod pieces;
mod place;
pub(crate) mod room;
pub(crate) mod scratch;

use std::any::Any;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{NodeId, Operator, Placement, TensorId};
use crate::program::Program;
use crate::tensor::{Tensor, View};
use call::{Call, Scratch};
use loops::{LoopStack, LoopTurn};
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
        let given = self.given(inputs)?;
        Machine::new(self, given, settings).run()
    }

    fn given<'a>(&self, inputs: &[(&str, View<'a>)]) -> Result<Vec<Option<View<'a>>>, Error> {
        let mut given: Vec<Option<View<'_>>> = vec![None; self.graph.tensors.len()];
        for (name, view) in inputs {
            let id = self.graph.find_tensor(name).filter(|id| self.graph.inputs.contains(id));
            let Some(id) = id else {
                return Err(Error::new(ErrorKind::Input, format!("graph `{}` has no input `{name}`", self.graph.name)));
            };
            if given[id.index()].replace(*view).is_some() {
                return Err(Error::new(ErrorKind::Input, format!("input `{name}` is given twice")));
            }
        }
        for id in &self.graph.inputs {
            if given[id.index()].is_none() {
                let message =
                    format!("input `{}` of graph `{}` is missing", self.graph.tensor_name(*id), self.graph.name);
                return Err(Error::new(ErrorKind::Input, message));
            }
        }
        Ok(given)
    }
}

struct Machine<'a> {
    program: &'a Program,
    settings: &'a Settings,
    values: Values<'a>,
    stack: LoopStack,
    states: Vec<Box<dyn Any + Send>>,
    gathered: Vec<Gathered>,
    placed: Vec<Placed>,
    runs: Vec<u64>,
    scratch: Scratch,
    /// The loop-control node that is run again, until it is.
    again: Option<NodeId>,
    room: Room,
}

/// The tensors that are there now.
struct Values<'a> {
    program: &'a Program,
    given: Vec<Option<View<'a>>>,
    computed: Vec<Option<Tensor>>,
}

impl Values<'_> {
    fn view(&self, tensor: TensorId) -> Option<View<'_>> {
        match &self.computed[tensor.index()] {
            Some(tensor) => Some(tensor.view()),
            None => self.given[tensor.index()].or_else(|| self.program.graph.constant_value(tensor).map(Tensor::view)),
        }
    }
}

impl<'a> Machine<'a> {
    fn new(program: &'a Program, given: Vec<Option<View<'a>>>, settings: &'a Settings) -> Self {
        let graph = &program.graph;
        let states = graph.nodes.iter().map(|node| match &node.operator {
            Operator::Loop(control) => control.state(),
            Operator::Kernel(_) | Operator::Output => Box::new(()),
        });
        Self {
            program,
            settings,
            values: Values { program, given, computed: vec![None; graph.tensors.len()] },
            stack: LoopStack::new(program.depth()),
            states: states.collect(),
            gathered: graph.placements.iter().map(|placement| Gathered::new(*placement)).collect(),
            placed: Vec::new(),
            runs: vec![0; graph.nodes.len()],
            scratch: Scratch::default(),
            again: None,
            room: if settings.counts { Room::counting(settings.memory) } else { Room::new(settings.memory) },
        }
    }

    fn run(mut self) -> Result<Outcome, Error> {
        let program = self.program;
        let mut place = 0;
        loop {
            while place < program.order().len() {
                self.step(program.order()[place])?;
                for tensor in &program.ends[place] {
                    self.release(*tensor);
                }
                place += 1;
            }
            let next = self.stack.end_of_list(&program.graph, &mut self.states, self.settings.empty_iterations);
            match next {
                Ok(None) => break,
                Ok(Some(node)) => {
                    self.again = Some(node);
                    place = program.place(node);
                }
                Err((node, fault)) => return Err(self.error(node, fault)),
            }
        }
        let output = program.graph.output.map(|output| &program.graph.nodes[output.index()]);
        let names: Vec<String> = output
            .into_iter()
            .flat_map(|node| node.inputs.iter().flatten())
            .map(|input| program.graph.tensor_name(*input).to_owned())
            .collect();
        let mut tensors = Vec::new();
        for (name, gathered) in names.iter().zip(self.gathered) {
            let whole = gathered.finish(&self.room);
            let whole = whole.map_err(|fault| Error::new(fault.kind(), format!("output `{name}`: {fault}")))?;
            tensors.extend(whole);
        }
        Ok(Outcome { names, tensors, runs: self.runs, placed: self.placed, peak: self.room.most() })
    }

    /// Runs one node.
    fn step(&mut self, id: NodeId) -> Result<(), Error> {
        self.runs[id.index()] += 1;
        match self.execute(id) {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.error(id, fault)),
        }
    }

    fn execute(&mut self, id: NodeId) -> Result<(), Fault> {
        let node = &self.program.graph.nodes[id.index()];
        if matches!(node.operator, Operator::Output) {
            return self.gather(id);
        }
        self.scratch.ready(self.room.rest(), None);
        // It begins, unless its end has just said that it goes on.
        let first = self.again.take() != Some(id);
        let mut turn = LoopTurn::new(&mut self.stack, self.states[id.index()].as_mut(), id);
        let call = Call { node, places: &[], scratch: &mut self.scratch };
        let results = call.run(&|tensor| self.values.view(tensor), &mut turn)?;
        // What the kernel used while it ran was there beside its results.
        self.room.hold(&results, self.scratch.need().total())?;
        for (output, result) in node.outputs.iter().zip(results) {
            self.set(*output, result);
        }
        self.carry(id, first)
    }

    /// Hands on what the iterations of a loop carry.
    fn carry(&mut self, id: NodeId, first: bool) -> Result<(), Fault> {
        let node = &self.program.graph.nodes[id.index()];
        // All of them are taken before any of them changes: one may be the next value of another.
        let mut values = Vec::new();
        for carry in &node.carries {
            let from = if first { carry.initial } else { carry.next };
            if from == carry.state {
                continue;
            }
            let view = self
                .values
                .view(from)
                .ok_or_else(|| Fault::new(format!("`{}` was not computed", self.program.graph.tensor_name(from))))?;
            values.push((carry.state, self.room.copy(view, || "what it carries".to_owned())?));
        }
        for (state, value) in values {
            self.set(state, value);
        }
        Ok(())
    }

    /// Keeps a tensor that has its room already.
    fn set(&mut self, tensor: TensorId, value: Tensor) {
        self.release(tensor);
        self.values.computed[tensor.index()] = Some(value);
    }

    /// Puts the rows of this iteration where they belong.
    fn gather(&mut self, id: NodeId) -> Result<(), Fault> {
        let node = &self.program.graph.nodes[id.index()];
        let first = self.stack.offset()?;
        let in_loop = !self.stack.active().is_empty();
        let rows = Rows { first, in_loop, expected: self.stack.expected(), most: self.settings.rows };
        for (output, input) in node.inputs.iter().flatten().enumerate() {
            let view = self.values.view(*input).ok_or_else(|| Fault::new("an output was not computed"))?;
            let name = self.program.graph.tensor_name(*input);
            let rows = self.gathered[output]
                .add(view, rows, &self.room)
                .map_err(|fault| Fault::of(fault.kind(), format!("output `{name}`: {fault}")))?;
            if matches!(self.program.graph.placements[output], Placement::Rows { .. }) {
                self.placed.push(Placed { output, first, rows });
            }
        }
        Ok(())
    }

    fn release(&mut self, tensor: TensorId) {
        if let Some(tensor) = self.values.computed[tensor.index()].take() {
            self.room.release(&tensor);
        }
    }

    fn error(&self, id: NodeId, fault: Fault) -> Error {
        let node = &self.program.graph.nodes[id.index()];
        let message = format!("node `{}` ({}): {fault}", node.name, node.operator_name);
        Error::new(fault.kind(), message).at(&node.name, self.stack.active())
    }
}
