//! The elements of a parent become one item.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal};
use crate::wide::{self, Kernel};

/// How elements are folded. All functions are inlined into loops that are compiled for wide instructions.
pub(crate) trait Folding<I>: 'static {
    /// What elements become, and the item that it is at the end of a parent.
    type Value: 'static;
    type Item: 'static;
    /// Space that is kept between runs.
    type Space: Default + 'static;

    /// The value of a parent without elements.
    fn first(&self) -> Self::Value;

    /// What becomes of the value of a parent that has ended.
    fn finish(&self, value: Self::Value) -> Self::Item;

    /// Folds elements of one parent.
    fn fold(&self, value: Self::Value, items: &[I]) -> Self::Value;

    /// Looks at all elements of a run, in which so many segments end, before they are folded segment by segment.
    #[inline(always)]
    fn prepare(&self, items: &[I], ended: usize, space: &mut Self::Space) {
        let _ = (items, ended, space);
    }

    /// Folds the elements of one segment of a run. Segments follow each other.
    #[inline(always)]
    fn segment(&self, value: Self::Value, items: &[I], part: Range<usize>, space: &mut Self::Space) -> Self::Value {
        let _ = space;
        self.fold(value, &items[part])
    }
}

/// Three functions of the user's: the first value, what an element does to it, and what becomes of it.
pub(crate) struct Functions<N, F, D> {
    pub(crate) first: N,
    pub(crate) fold: F,
    pub(crate) finish: D,
}

impl<I, A, O, N, F, D> Folding<I> for Functions<N, F, D>
where
    A: 'static,
    O: 'static,
    N: Fn() -> A + 'static,
    F: Fn(&mut A, &I) + 'static,
    D: Fn(A) -> O + 'static,
{
    type Value = A;
    type Item = O;
    type Space = ();

    #[inline(always)]
    fn first(&self) -> A {
        (self.first)()
    }

    #[inline(always)]
    fn finish(&self, value: A) -> O {
        (self.finish)(value)
    }

    #[inline(always)]
    fn fold(&self, mut value: A, items: &[I]) -> A {
        // The value is local, so that it stays in registers.
        items.iter().for_each(|item| (self.fold)(&mut value, item));
        value
    }
}

/// A node that folds the elements of each parent.
pub(crate) struct Fold<I, K: Folding<I>> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<K::Item>>,
    code: Arc<K>,
    /// Of the parent that is under way.
    value: K::Value,
    space: K::Space,
}

impl<I: 'static, K: Folding<I>> Fold<I, K> {
    pub(crate) fn make(code: &Arc<K>, wires: &Wires) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            value: code.first(),
            space: K::Space::default(),
        })
    }

    /// A parent has ended.
    fn push(&mut self) -> Result<(), Fault> {
        let value = std::mem::replace(&mut self.value, self.code.first());
        let item = self.code.finish(value);
        let mut buffer = self.output.buffer.borrow_mut();
        if buffer.room() == 0 {
            // Everywhere else there is room before a node fires; a back edge has what the bound of its loop says.
            return Err(Fault::Loop { channel: 0 });
        }
        buffer.space(1).push(item);
        buffer.measure();
        Ok(())
    }
}

impl<I: 'static, K: Folding<I>> Body for Fold<I, K> {
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let (items, code) = (self.inputs[input].peek(count), &*self.code);
        let value = std::mem::replace(&mut self.value, code.first());
        let Some(marks) = marks else {
            self.value = wide::call(Whole { items: &items, code, value });
            return Ok(Ran::all(count));
        };
        marks.clear();
        let mut buffer = self.output.buffer.borrow_mut();
        let (to, space) = (buffer.space(marks.ended()), &mut self.space);
        self.value = wide::call(Segments { items: &items, marks, code, value, space, to });
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
struct Whole<'a, I, K: Folding<I>> {
    items: &'a [I],
    code: &'a K,
    value: K::Value,
}

impl<I, K: Folding<I>> Kernel for Whole<'_, I, K> {
    type Output = K::Value;

    #[inline(always)]
    fn run(self) -> K::Value {
        self.code.fold(self.value, self.items)
    }
}

/// Folds segment after segment.
struct Segments<'a, 'b, I, K: Folding<I>> {
    items: &'a [I],
    marks: &'a mut Marks<'b>,
    code: &'a K,
    /// Of the parent that is under way.
    value: K::Value,
    space: &'a mut K::Space,
    to: &'a mut Vec<K::Item>,
}

impl<I, K: Folding<I>> Kernel for Segments<'_, '_, I, K> {
    type Output = K::Value;

    // No closure or adapter has the loop's body: it would not be compiled for wide instructions.
    #[inline(always)]
    fn run(self) -> K::Value {
        let Self { items, marks, code, mut value, space, to } = self;
        code.prepare(items, marks.ended(), space);
        let mut at = 0;
        if let Some(ends) = marks.ends().filter(|_| !marks.go_on) {
            for end in ends {
                let part = std::mem::replace(&mut at, *end as usize)..*end as usize;
                to.push(code.finish(code.segment(value, items, part, space)));
                value = code.first();
            }
        } else {
            let before = to.len();
            for (place, ends) in marks.places() {
                value = code.segment(value, items, std::mem::replace(&mut at, place)..place, space);
                if ends {
                    to.push(code.finish(std::mem::replace(&mut value, code.first())));
                }
                if marks.go_on {
                    marks.pushed[0].push((to.len() - before) as u32);
                }
            }
        }
        code.segment(value, items, at..items.len(), space)
    }
}
