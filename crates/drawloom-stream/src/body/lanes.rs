//! Functions of one item, around which the loop is ours.
//!
//! The loop computes values and flags without a branch, so that the compiler can use wide instructions, and moves the values
//! that are kept side by side without a branch too: see [`wide`].

use std::rc::Rc;
use std::sync::Arc;

use pulp::Arch;

use super::{Body, Chain, Fault, Ran, Wires};
use crate::error::Failure;
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::Marks;
use crate::wide::{self, Kept, Kernel};

/// Space for what is kept of runs over the items of some queues.
fn space_for<I>(inputs: &[Rc<Pipe<I>>]) -> Kept {
    Kept::of_up_to(inputs.iter().map(|pipe| pipe.capacity()).max().unwrap_or(0))
}

/// A node that keeps some of its items, and maps them.
pub(crate) struct Select<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<F>,
    kept: Kept,
    level: Arch,
}

impl<I, O, F> Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let (kept, output) = (space_for(&inputs), typed(&wires.outputs[0].pipe));
        Box::new(Self { inputs, output, code: Arc::clone(code), kept, level: Arch::new() })
    }
}

impl<I, O, F> Body for Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let kept = &mut self.kept;
        kept.clear();
        wide::select_at(self.level, &items[..], buffer.space(count), &mut |word| kept.add(word), &*self.code);
        buffer.measure();
        if let Some(marks) = marks {
            let (places, [pushed, _]) = marks.noted();
            kept.count(places, pushed);
        }
        Ok(Ran::all(count))
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }
}

/// A node that maps its items, and sends each to one of two channels.
pub(crate) struct Split<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    outputs: [Rc<Pipe<O>>; 2],
    code: Arc<F>,
    kept: Kept,
    level: Arch,
}

impl<I, O, F> Split<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let (kept, outputs) = (space_for(&inputs), [0, 1].map(|channel| typed(&wires.outputs[channel].pipe)));
        Box::new(Self { inputs, outputs, code: Arc::clone(code), kept, level: Arch::new() })
    }
}

impl<I, O, F> Body for Split<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let [mut accepted, mut rejected] = self.outputs.each_ref().map(|pipe| pipe.buffer.borrow_mut());
        let both = (accepted.space(count), rejected.space(count));
        let kept = &mut self.kept;
        kept.clear();
        wide::split_at(self.level, &items[..], both, &mut |word| kept.add(word), &*self.code);
        accepted.measure();
        rejected.measure();
        if let Some(marks) = marks {
            let (places, [yes, no]) = marks.noted();
            kept.count(places, yes);
            no.clear();
            no.extend(places.iter().zip(&*yes).map(|(place, yes)| place - yes));
        }
        Ok(Ran::all(count))
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }
}

/// A node that makes at most one item of each, whatever the types.
pub(crate) struct Pick<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<F>,
}

impl<I, O, F> Pick<I, O, F>
where
    I: 'static,
    O: 'static,
    F: Fn(&I) -> Result<Option<O>, Failure> + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires) -> Box<dyn Body> {
        let inputs = wires.inputs.iter().map(typed).collect();
        Box::new(Self { inputs, output: typed(&wires.outputs[0].pipe), code: Arc::clone(code) })
    }
}

impl<I, O, F> Body for Pick<I, O, F>
where
    I: 'static,
    O: 'static,
    F: Fn(&I) -> Result<Option<O>, Failure> + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(count);
        let mut at = 0;
        if let Some(marks) = marks {
            marks.clear();
            let before = space.len();
            for (place, _) in marks.places() {
                wide::call(Picking { items: &items[at..place], code: &*self.code, space }).map_err(Fault::Node)?;
                marks.pushed[0].push((space.len() - before) as u32);
                at = place;
            }
        }
        wide::call(Picking { items: &items[at..], code: &*self.code, space }).map_err(Fault::Node)?;
        buffer.measure();
        Ok(Ran::all(count))
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }
}

/// Makes at most one item of each, until one fails.
struct Picking<'a, I, O, F> {
    items: &'a [I],
    code: &'a F,
    space: &'a mut Vec<O>,
}

impl<I, O, F: Fn(&I) -> Result<Option<O>, Failure>> Kernel for Picking<'_, I, O, F> {
    type Output = Result<(), Failure>;

    #[inline(always)]
    fn run(self) -> Result<(), Failure> {
        // Code that cannot fail was wrapped, and becomes the plain loop again when it is inlined here.
        for item in self.items {
            if let Some(item) = (self.code)(item)? {
                self.space.push(item);
            }
        }
        Ok(())
    }
}
