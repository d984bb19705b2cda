//! Functions of one item, for which the loop is ours.
//!
//! The loop computes a value and a flag for each item of a vector first, without a branch, so that the compiler can use wide
//! instructions; then it moves the values that are kept side by side, without a branch too.

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};

/// A node that keeps some of its items, and maps them.
pub(crate) struct Select<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<F>,
    kept: Vec<bool>,
}

impl<I, O, F> Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            kept: Vec::new(),
        })
    }
}

impl<I, O, F> Body for Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(count);
        let start = space.len();
        space.resize(start + count, O::default());
        // Grows once to the width of the node.
        self.kept.resize(count, false);
        let values = &mut space[start..];
        for ((value, kept), item) in values.iter_mut().zip(&mut self.kept).zip(items.iter()) {
            (*value, *kept) = (self.code)(*item);
        }
        let mut next = 0;
        for (at, kept) in self.kept.iter().enumerate() {
            values[next] = values[at];
            next += usize::from(*kept);
        }
        space.truncate(start + next);
        buffer.measure();
        Ok(Ran { done: count, stop: Stop::Done })
    }
}
