//! What a node does: compute, control a loop, or take results out.

use std::any::Any;
use std::sync::Arc;

use crate::batch::Fact;
use crate::error::Fault;
use crate::run::call::{Inputs, Outputs, Scratch};
use crate::run::loops::LoopTurn;
use crate::run::room::Room;

/// What a node computes. It asks [`Outputs`] for the memory of its results, and keeps nothing.
pub trait Kernel: Send + Sync {
    /// How many bytes of memory it needs while it runs, beyond its results, for inputs of these shapes.
    fn scratch(&self, shapes: &[Option<&[usize]>]) -> usize {
        let _ = shapes;
        0
    }

    /// Computes the outputs.
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, scratch: &mut Scratch) -> Result<(), Fault>;

    /// What it does with the rows of a batch: what is known about its outputs, from what is known about its inputs, or why
    /// their rows cannot be computed apart from each other. What is computed to find out is taken from the room. Nothing is
    /// known about a kernel that does not say it, so it must not be given rows.
    fn rows(&self, inputs: &[Option<&Fact>], outputs: usize, room: &Room) -> Option<Result<Vec<Fact>, String>> {
        let _ = (inputs, outputs, room);
        None
    }

    /// Whether it asks for all memory it needs, scratch memory first, before it reads or writes an element that the sizes do
    /// not depend on. What it needs can then be learnt without the memory.
    #[doc(hidden)]
    fn asks_first(&self) -> bool {
        false
    }
}

impl<F> Kernel for F
where
    F: Fn(&Inputs<'_>, &mut Outputs<'_>) -> Result<(), Fault> + Send + Sync,
{
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, _scratch: &mut Scratch) -> Result<(), Fault> {
        self(inputs, outputs)
    }
}

/// A node that begins a loop. Everything downstream of it is run once for each iteration.
pub trait LoopControl: Send + Sync {
    /// What the loop remembers during one run. It is made anew for every run.
    fn state(&self) -> Box<dyn Any + Send> {
        Box::new(())
    }

    /// Computes the outputs for one iteration, and pushes the loop exactly once. It is called again for each iteration,
    /// and [`Inputs::counts`] tells it which one it is.
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>) -> Result<(), Fault>;
}

impl<F> LoopControl for F
where
    F: Fn(&Inputs<'_>, &mut Outputs<'_>, &mut LoopTurn<'_>) -> Result<(), Fault> + Send + Sync,
{
    fn run(&self, inputs: &Inputs<'_>, outputs: &mut Outputs<'_>, turn: &mut LoopTurn<'_>) -> Result<(), Fault> {
        self(inputs, outputs, turn)
    }
}

/// What a node does.
#[derive(Clone)]
pub enum Operator {
    /// It computes.
    Kernel(Arc<dyn Kernel>),
    /// It begins a loop.
    Loop(Arc<dyn LoopControl>),
    /// It takes results out of the graph.
    Output,
}
