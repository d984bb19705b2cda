//! The elements of a parent become one item.

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Wires};
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
    pub(crate) fn make(code: &Arc<Folding<N, F, D>>, wires: &Wires) -> Box<dyn Body> {
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
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let (items, code) = (self.inputs[input].peek(count), &*self.code);
        let value = std::mem::replace(&mut self.value, (code.first)());
        let Some(marks) = marks else {
            self.value = wide::call(Whole { items: &items, code, value });
            return Ok(Ran::all(count));
        };
        marks.clear();
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(marks.ended());
        self.value = wide::call(Segments { items: &items, marks, code, value, space });
        buffer.measure();
        Ok(Ran::all(count))
    }

    fn handle(&mut self, signal: &Signal, _: &mut Chain) -> Result<bool, Fault> {
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
}

/// Folds items of one parent.
struct Whole<'a, I, A, N, F, D> {
    items: &'a [I],
    code: &'a Folding<N, F, D>,
    value: A,
}

impl<I, A, N, F, D> Kernel for Whole<'_, I, A, N, F, D>
where
    F: Fn(&mut A, &I),
{
    type Output = A;

    #[inline(always)]
    fn run(self) -> A {
        let Self { items, code, mut value } = self;
        // The value is local, so that it stays in registers.
        items.iter().for_each(|item| (code.fold)(&mut value, item));
        value
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
        let mut at = 0;
        let mut segment = |place: usize, value: &mut A| {
            let mut local = std::mem::replace(value, (code.first)());
            items[at..place].iter().for_each(|item| (code.fold)(&mut local, item));
            at = place;
            local
        };
        if let Some(ends) = marks.ends().filter(|_| !marks.go_on) {
            // No adapter, which would not be compiled for wide instructions.
            for end in ends {
                space.push((code.finish)(segment(*end as usize, &mut value)));
            }
            return segment(items.len(), &mut value);
        }
        let before = space.len();
        for (place, ends) in marks.places() {
            let folded = segment(place, &mut value);
            if ends {
                space.push((code.finish)(folded));
            } else {
                value = folded;
            }
            if marks.go_on {
                marks.pushed[0].push((space.len() - before) as u32);
            }
        }
        segment(items.len(), &mut value)
    }
}
