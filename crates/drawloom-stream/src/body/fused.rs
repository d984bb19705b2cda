//! Two nodes that run as one: what the first makes goes through the second at once.

use std::cell::Cell;
use std::rc::Rc;

use super::{Body, Chain, Fault, Ran};
use crate::machine::pipe::AnyPipe;

/// A node and the one behind it, neither of which is asked where vectors end or does anything at signals.
pub(crate) struct Fused<'g> {
    pub(crate) first: Box<dyn Body + 'g>,
    pub(crate) second: Box<dyn Body + 'g>,
    /// What the first makes for the second. It is empty between runs.
    pub(crate) between: Rc<dyn AnyPipe>,
    /// How many items the second has consumed.
    pub(crate) passed: Rc<Cell<u64>>,
    /// The node that runs, for messages, and the number of the second.
    pub(crate) current: Rc<Cell<u32>>,
    pub(crate) number: u32,
}

impl Body for Fused<'_> {
    fn run(&mut self, input: usize, count: usize, chain: &Chain) -> Result<Ran, Fault> {
        let ran = self.first.run(input, count, chain)?;
        let made = self.between.len();
        let head = self.current.replace(self.number);
        self.second.run(0, made, chain)?;
        self.current.set(head);
        self.between.consume(made);
        self.passed.set(self.passed.get() + made as u64);
        Ok(ran)
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.first.finish()?;
        self.second.finish()
    }
}

/// What is left of a node that runs as part of another.
pub(crate) struct Elsewhere;

impl Body for Elsewhere {
    fn run(&mut self, _: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        // Nothing leads here, so there is nothing to consume.
        Ok(Ran { done: count, stop: super::Stop::Done })
    }
}
