//! The elements of a parent become one item.

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Mark, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::Signal;

/// How elements are folded: the first value, what an element does to it, and what becomes of it.
pub(crate) struct Folding<N, F, D> {
    pub(crate) first: N,
    pub(crate) fold: F,
    pub(crate) finish: D,
}

/// A node that folds the elements of each parent.
pub(crate) struct Fold<I, A, O, N, F, D> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<Folding<N, F, D>>,
    value: A,
}

impl<I, A, O, N, F, D> Fold<I, A, O, N, F, D>
where
    I: 'static,
    A: 'static,
    O: 'static,
    N: Fn() -> A + 'static,
    F: Fn(&mut A, &I) + 'static,
    D: Fn(A) -> O + 'static,
{
    pub(crate) fn make(code: &Arc<Folding<N, F, D>>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            value: (code.first)(),
        })
    }

    /// A parent has ended.
    fn push(&mut self) {
        let value = std::mem::replace(&mut self.value, (self.code.first)());
        let item = (self.code.finish)(value);
        let mut buffer = self.output.buffer.borrow_mut();
        buffer.space(1).push(item);
        buffer.measure();
    }

    fn fold(&mut self, items: &[I]) {
        items.iter().for_each(|item| (self.code.fold)(&mut self.value, item));
    }
}

impl<I, A, O, N, F, D> Body for Fold<I, A, O, N, F, D>
where
    I: 'static,
    A: 'static,
    O: 'static,
    N: Fn() -> A + 'static,
    F: Fn(&mut A, &I) + 'static,
    D: Fn(A) -> O + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let pipe = Rc::clone(&self.inputs[input]);
        self.fold(&pipe.peek(count));
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn handle(&mut self, signal: &Signal, _: &Chain) -> Result<bool, Fault> {
        match signal {
            Signal::User { .. } => return Ok(false),
            Signal::Begin { .. } => {}
            Signal::End { .. } => self.push(),
        }
        Ok(true)
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut [Mark]) -> Result<(), Fault> {
        let pipe = Rc::clone(&self.inputs[input]);
        let items = pipe.peek(count);
        let (mut at, mut pushed) = (0, 0);
        for mark in marks {
            self.fold(&items[at..mark.at]);
            at = mark.at;
            if mark.ends_own {
                self.push();
                pushed += 1;
            }
            mark.pushed = pushed;
        }
        self.fold(&items[at..]);
        Ok(())
    }
}
