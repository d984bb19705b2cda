//! The executor: runs the nodes of a program one by one, in memory that it is given.
//!
//! Every run of a program is one of these with its own [`Memory`]: a whole run has a budget (`run/mod.rs`), a piece of a
//! batch has planned places in an arena (`run/pieces`), and a trial measures what does not fit (`plan/trial.rs`).

use std::any::Any;

use crate::error::{Error, ErrorKind, Fault};
use crate::graph::{NodeId, Operator, TensorId};
use crate::program::Program;
use crate::run::call::{Inputs, Outputs, Place, without_elements};
use crate::run::loops::{Counts, LoopStack, LoopTurn};
use crate::run::room::Room;
use crate::run::scratch::Scratch;
use crate::tensor::{Tensor, View};

/// The memory that the nodes of a run may use.
pub(crate) trait Memory {
    /// Makes scratch memory ready for a node, and gives the planned places of its results, if there are any.
    fn begin(&mut self, program: &Program, node: NodeId, scratch: &mut Scratch) -> Vec<Place>;

    /// Counts what a node computed, if it did, and what it needed beside its results.
    fn end(&mut self, program: &Program, node: NodeId, results: &[Tensor], scratch: &Scratch) -> Result<(), Fault>;

    /// Counts that a tensor is gone.
    fn release(&mut self, _: &Tensor) {}
}

/// A budget: what does not fit is refused, or only counted.
impl Memory for Room {
    fn begin(&mut self, _: &Program, _: NodeId, scratch: &mut Scratch) -> Vec<Place> {
        scratch.ready(self.rest(), None);
        Vec::new()
    }

    fn end(&mut self, _: &Program, _: NodeId, results: &[Tensor], scratch: &Scratch) -> Result<(), Fault> {
        // What the kernel used while it ran was there beside its results.
        self.hold(results, scratch.need().total())
    }

    fn release(&mut self, tensor: &Tensor) {
        Room::release(self, tensor);
    }
}

/// Tensors that were there before a run.
pub(crate) trait Tensors {
    fn tensor(&self, tensor: TensorId) -> Option<View<'_>>;
}

impl Tensors for Vec<Option<View<'_>>> {
    fn tensor(&self, tensor: TensorId) -> Option<View<'_>> {
        self[tensor.index()]
    }
}

impl Tensors for Vec<(TensorId, Tensor)> {
    fn tensor(&self, tensor: TensorId) -> Option<View<'_>> {
        self.iter().find(|(id, _)| *id == tensor).map(|(_, value)| value.view())
    }
}

/// What a run reads and does not compute: its program, and tensors that were there before it.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) program: &'a Program,
    pub(crate) tensors: &'a dyn Tensors,
}

/// A run of a program: the tensors that are there now, and where its loops are.
pub(crate) struct Executor<M> {
    pub(crate) tensors: Vec<Option<Tensor>>,
    pub(crate) stack: LoopStack,
    /// What each loop-control node remembers.
    pub(crate) states: Vec<Box<dyn Any + Send>>,
    pub(crate) memory: M,
    scratch: Scratch,
}

impl<M: Memory> Executor<M> {
    pub(crate) fn new(program: &Program, memory: M) -> Self {
        let states = program.graph.nodes.iter().map(|node| match &node.operator {
            Operator::Loop(control) => control.state(),
            Operator::Kernel(_) | Operator::Output => Box::new(()),
        });
        Self {
            tensors: vec![None; program.graph.tensors.len()],
            stack: LoopStack::new(program.depth()),
            states: states.collect(),
            memory,
            scratch: Scratch::default(),
        }
    }

    /// A tensor that is there: computed, given, or a constant.
    pub(crate) fn view<'v>(&'v self, source: Source<'v>, tensor: TensorId) -> Option<View<'v>> {
        look(&self.tensors, source, tensor)
    }

    /// Runs a node, and keeps its results.
    pub(crate) fn run(&mut self, source: Source<'_>, id: NodeId) -> Result<(), Fault> {
        let node = &source.program.graph.nodes[id.index()];
        let places = self.memory.begin(source.program, id, &mut self.scratch);
        let views: Vec<Option<View<'_>>> =
            node.inputs.iter().map(|input| look(&self.tensors, source, (*input)?)).collect();
        let mut results: Vec<Option<Tensor>> = vec![None; node.outputs.len()];
        let mut turn = LoopTurn::new(&mut self.stack, self.states[id.index()].as_mut(), id);
        let done = call(&node.operator, &views, (&mut results, &places), &mut self.scratch, &mut turn);
        let missing = |index: usize| Fault::new(format!("it did not compute its output {index}"));
        let results = done.and_then(|()| {
            let results = results.into_iter().enumerate();
            results.map(|(index, result)| result.ok_or_else(|| missing(index))).collect::<Result<Vec<_>, _>>()
        });
        let counted = self.memory.end(source.program, id, results.as_deref().unwrap_or_default(), &self.scratch);
        self.scratch.done();
        let results = results?;
        counted?;
        for (output, result) in node.outputs.iter().zip(results) {
            self.set(*output, result);
        }
        Ok(())
    }

    /// Keeps a tensor that was counted already.
    pub(crate) fn set(&mut self, tensor: TensorId, value: Tensor) {
        self.release(tensor);
        self.tensors[tensor.index()] = Some(value);
    }

    /// Drops the tensors whose last reader is at a place of the order.
    pub(crate) fn release_ends(&mut self, program: &Program, place: usize) {
        for tensor in &program.ends[place] {
            self.release(*tensor);
        }
    }

    fn release(&mut self, tensor: TensorId) {
        if let Some(tensor) = self.tensors[tensor.index()].take() {
            self.memory.release(&tensor);
        }
    }
}

fn look<'v>(tensors: &'v [Option<Tensor>], source: Source<'v>, tensor: TensorId) -> Option<View<'v>> {
    let computed = tensors[tensor.index()].as_ref().map(Tensor::view);
    let given = || source.tensors.tensor(tensor);
    computed.or_else(given).or_else(|| source.program.graph.constant_value(tensor).map(Tensor::view))
}

/// Calls the operator of a node once.
fn call(
    operator: &Operator,
    views: &[Option<View<'_>>],
    (results, places): (&mut [Option<Tensor>], &[Place]),
    scratch: &mut Scratch,
    turn: &mut LoopTurn<'_>,
) -> Result<(), Fault> {
    let asks_first = matches!(operator, Operator::Kernel(kernel) if kernel.asks_first());
    if scratch.room.counts() && !asks_first {
        // Others may read elements before they ask for memory, and use memory that is only counted.
        if views.iter().flatten().any(View::is_absent) {
            return Err(Fault::absent());
        }
        scratch.room = Room::new(scratch.room.left());
    }
    scratch.asks_first = asks_first;
    let mut outputs = Outputs { tensors: &mut *results, room: scratch.room.clone(), places };
    match operator {
        Operator::Kernel(kernel) => {
            let inputs = Inputs { views, counts: Counts::default() };
            let done = kernel.run(&inputs, &mut outputs, scratch);
            without_elements(done, results)
        }
        Operator::Loop(control) => {
            let inputs = Inputs { views, counts: turn.stack.top() };
            control.run(&inputs, &mut outputs, turn)?;
            if turn.pushed == 1 {
                return Ok(());
            }
            let message =
                format!("a loop-control node must push its loop once, and this one did {} times", turn.pushed);
            Err(Fault::of(ErrorKind::Iteration, message))
        }
        Operator::Output => Ok(()),
    }
}

/// An error of a node, with the counts of the loops around it.
pub(crate) fn node_error(program: &Program, id: NodeId, fault: &Fault, counts: &[Counts]) -> Error {
    let node = &program.graph.nodes[id.index()];
    Error::new(fault.kind(), format!("node `{}` ({}): {fault}", node.name, node.operator_name)).at(&node.name, counts)
}
