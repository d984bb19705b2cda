//! Two nodes that run as one: what the first makes goes through the second at once.

use std::cell::Cell;
use std::rc::Rc;

use super::{Body, Chain, Fault, Ran};
use crate::machine::pipe::AnyPipe;
use crate::machine::signal::{Marks, Signal};

/// A node that runs as part of another one, behind some edge of it.
pub(crate) struct Part {
    pub(crate) body: Box<dyn Body>,
    /// What is made for it. It is empty between runs.
    pub(crate) between: Rc<dyn AnyPipe>,
    /// How many items it has consumed.
    pub(crate) passed: Rc<Cell<u64>>,
    /// The node that runs, for messages, and its own number.
    pub(crate) current: Rc<Cell<u32>>,
    pub(crate) number: u32,
}

impl Part {
    /// Does something with all items that were made for it, of which it is told how many there are.
    pub(crate) fn pass(&mut self, run: impl FnOnce(&mut dyn Body, usize) -> Result<Ran, Fault>) -> Result<(), Fault> {
        let made = self.between.len();
        let head = self.current.replace(self.number);
        run(&mut *self.body, made)?;
        self.current.set(head);
        self.between.consume(made);
        self.passed.set(self.passed.get() + made as u64);
        Ok(())
    }

    /// The run is over.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        let head = self.current.replace(self.number);
        self.body.finish()?;
        self.current.set(head);
        Ok(())
    }

    /// Runs over all items that were made for it, between which there is no boundary.
    pub(crate) fn run(&mut self, chain: &mut Chain) -> Result<(), Fault> {
        // A run has items: a node without any is not called.
        if self.between.len() == 0 { Ok(()) } else { self.pass(|body, made| body.run(0, made, chain, None)) }
    }
}

/// A node and one behind it, neither of which is asked where vectors end or looks at parents.
pub(crate) struct Fused {
    pub(crate) first: Box<dyn Body>,
    pub(crate) second: Part,
    /// Whether the second is in the same region. If not, the first folds the elements of parents, and no boundary reaches the
    /// second.
    pub(crate) inside: bool,
    /// Space for what the first says of boundaries.
    pub(crate) pushed: [Vec<u32>; 2],
}

impl Body for Fused {
    fn run(
        &mut self,
        input: usize,
        count: usize,
        chain: &mut Chain,
        marks: Option<&mut Marks<'_>>,
    ) -> Result<Ran, Fault> {
        match marks {
            Some(marks) if self.inside => {
                self.first.run(input, count, chain, Some(&mut marks.noting(&mut self.pushed)))?;
                let mut marks = marks.among(&self.pushed[0]);
                self.second.pass(|body, made| body.run(0, made, chain, Some(&mut marks)))?;
                Ok(Ran::all(count))
            }
            marks => {
                let ran = self.first.run(input, count, chain, marks)?;
                self.second.run(chain)?;
                Ok(ran)
            }
        }
    }

    fn handle(&mut self, signal: &Signal, chain: &mut Chain) -> Result<bool, Fault> {
        let handled = self.first.handle(signal, chain)?;
        if !self.inside {
            self.second.run(chain)?;
            return Ok(handled);
        }
        // What is kept of items does nothing at boundaries, so what does is the second, if it is one that folds.
        Ok(self.second.body.handle(signal, chain)? || handled)
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
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
    fn run(&mut self, _: usize, count: usize, _: &mut Chain, _: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        // Nothing leads here, so there is nothing to consume.
        Ok(Ran::all(count))
    }
}
