//! Functions of one item, for which the loop is ours.
//!
//! The loop computes a value and a flag for each item of a vector first, without a branch, so that the compiler can use wide
//! instructions; then it moves the values that are kept side by side, without a branch too: see [`wide`].

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Mark, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::wide::{self, Level};

/// A node that keeps some of its items, and maps them.
pub(crate) struct Select<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<F>,
    kept: Vec<bool>,
    level: Level,
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
            level: Level::best(),
        })
    }

    fn select(&mut self, input: usize, count: usize) {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(count);
        let start = space.len();
        space.resize(start + count, O::default());
        // Grows once to the width of the node.
        self.kept.resize(count, false);
        let next = wide::select_at(self.level, &items, &mut space[start..], &mut self.kept, &*self.code);
        space.truncate(start + next);
        buffer.measure();
    }
}

impl<I, O, F> Body for Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        self.select(input, count);
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut [Mark]) -> Result<(), Fault> {
        self.select(input, count);
        let (mut at, mut pushed) = (0, 0);
        for mark in marks {
            pushed += self.kept[at..mark.at].iter().map(|kept| usize::from(*kept)).sum::<usize>();
            (at, mark.pushed) = (mark.at, pushed);
        }
        Ok(())
    }
}
