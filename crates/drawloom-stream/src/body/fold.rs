//! The elements of a parent become one item.

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal};
use crate::wide::{self, Kernel};

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
    fn push(&mut self) -> Result<(), Fault> {
        let value = std::mem::replace(&mut self.value, (self.code.first)());
        push_one(&self.output, (self.code.finish)(value))
    }
}

/// Pushes the item that a parent became to a node's only channel.
pub(super) fn push_one<O>(to: &Pipe<O>, item: O) -> Result<(), Fault> {
    let mut buffer = to.buffer.borrow_mut();
    if buffer.room() == 0 {
        // Everywhere else there is room before a node fires; a back edge has what the bound of its loop says.
        return Err(Fault::Loop { channel: 0 });
    }
    buffer.space(1).push(item);
    buffer.measure();
    Ok(())
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
        let (items, code, value) = (self.inputs[input].peek(count), &*self.code, &mut self.value);
        wide::call(|| items.iter().for_each(|item| (code.fold)(value, item)));
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn handle(&mut self, signal: &Signal, _: &Chain) -> Result<bool, Fault> {
        match signal {
            Signal::User { .. } => return Ok(false),
            Signal::Begin { .. } => {}
            Signal::End { .. } => self.push()?,
        }
        Ok(true)
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut Marks<'_>, _: &mut Chain) -> Result<Ran, Fault> {
        marks.clear();
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(marks.ended());
        let (code, first) = (&*self.code, (self.code.first)());
        let value = std::mem::replace(&mut self.value, first);
        self.value = wide::call(Segments { items: &items, marks, code, value, space });
        buffer.measure();
        Ok(Ran { done: count, stop: Stop::Done })
    }
}

/// Folds segment after segment.
struct Segments<'a, 'b, I, A, O, N, F, D> {
    items: &'a [I],
    marks: &'a mut Marks<'b>,
    code: &'a Folding<N, F, D>,
    /// Of the parent that is under way.
    value: A,
    space: &'a mut Vec<O>,
}

impl<I, A, O, N, F, D> Kernel for Segments<'_, '_, I, A, O, N, F, D>
where
    N: Fn() -> A,
    F: Fn(&mut A, &I),
    D: Fn(A) -> O,
{
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let Self { items, marks, code, mut value, space } = self;
        let (mut at, before) = (0, space.len());
        for (place, ends) in marks.places() {
            items[at..place].iter().for_each(|item| (code.fold)(&mut value, item));
            at = place;
            if ends {
                space.push((code.finish)(std::mem::replace(&mut value, (code.first)())));
            }
            if marks.go_on {
                marks.pushed[0].push((space.len() - before) as u32);
            }
        }
        items[at..].iter().for_each(|item| (code.fold)(&mut value, item));
        value
    }
}
