//! Functions of one item, for which the loop is ours.
//!
//! The loop computes values and flags without a branch, so that the compiler can use wide instructions, and moves the values
//! that are kept side by side without a branch too: see [`wide`].

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::build::handle::Region;
use crate::error::Failure;
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::Marks;
use crate::wide::{self, Kept, Kernel, Level};

/// How many items were kept before each boundary, and, where the others go to a second channel, how many were not.
struct Count<'a, 'b> {
    kept: &'a mut Kept,
    marks: &'a mut Marks<'b>,
    others: bool,
}

impl Kernel for Count<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (places, [kept, others]) = self.marks.noted();
        self.kept.note(Level::best(), places, kept);
        if self.others {
            others.clear();
            others.extend(places.iter().zip(kept).map(|(place, kept)| place - *kept));
        }
    }
}

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
    level: Level,
}

impl<I, O, F> Select<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires<'_>) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let kept = space_for(&inputs);
        Box::new(Self {
            inputs,
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            kept,
            level: Level::best(),
        })
    }

    fn select(&mut self, input: usize, count: usize) {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let kept = &mut self.kept;
        kept.clear();
        wide::select_at(self.level, &items[..], buffer.space(count), &mut |word| kept.add(word), &*self.code);
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

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut Marks<'_>, _: &mut Chain) -> Result<Ran, Fault> {
        self.select(input, count);
        wide::call(Count { kept: &mut self.kept, marks, others: false });
        Ok(Ran { done: count, stop: Stop::Done })
    }
}

/// A node that keeps some of its items, and maps them with their parents.
pub(crate) struct SelectIn<I, P, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    region: Region<P>,
    code: Arc<F>,
    /// The parent of each lane. Grows to as many as are taken at once, and no further: parents may be large.
    parents: Vec<P>,
    kept: Kept,
    level: Level,
}

impl<I, P, O, F> SelectIn<I, P, O, F>
where
    I: Copy + 'static,
    P: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I, P) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, region: Region<P>, wires: &Wires<'_>) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let kept = space_for(&inputs);
        Box::new(Self {
            inputs,
            output: typed(&wires.outputs[0].pipe),
            region,
            code: Arc::clone(code),
            parents: Vec::new(),
            kept,
            level: Level::best(),
        })
    }

    /// Another run begins, over so many items.
    fn begin(&mut self, count: usize) {
        self.parents.clear();
        self.parents.reserve_exact(count);
    }

    /// The lanes up to this one have the parent that is under way.
    fn fill(&mut self, up_to: usize, chain: &Chain) {
        if self.parents.len() < up_to {
            let parent = chain.parent(self.region).expect("items in a region have a parent: this is a mistake of ours");
            self.parents.resize(up_to, *parent);
        }
    }

    /// Runs over so many items, whose parents are known.
    fn select(&mut self, input: usize, count: usize) {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let (kept, code) = (&mut self.kept, &*self.code);
        kept.clear();
        let lanes = (&items[..], &self.parents[..]);
        let both = |(item, parent): (I, P)| code(item, parent);
        wide::select_at(self.level, lanes, buffer.space(count), &mut |word| kept.add(word), &both);
        buffer.measure();
    }
}

impl<I, P, O, F> Body for SelectIn<I, P, O, F>
where
    I: Copy + 'static,
    P: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I, P) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, chain: &Chain) -> Result<Ran, Fault> {
        self.begin(count);
        self.fill(count, chain);
        self.select(input, count);
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut Marks<'_>, chain: &mut Chain) -> Result<Ran, Fault> {
        self.begin(count);
        for (place, region, parent) in marks.parents() {
            self.fill(place, chain);
            chain.see(region, parent);
        }
        self.fill(count, chain);
        self.select(input, count);
        wide::call(Count { kept: &mut self.kept, marks, others: false });
        Ok(Ran { done: count, stop: Stop::Done })
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
    pub(crate) fn make(code: &Arc<F>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
        })
    }
}

impl<I, O, F> Body for Pick<I, O, F>
where
    I: 'static,
    O: 'static,
    F: Fn(&I) -> Result<Option<O>, Failure> + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        wide::call(Picking { items: &items, code: &*self.code, space: buffer.space(count) }).map_err(Fault::Node)?;
        buffer.measure();
        Ok(Ran { done: count, stop: Stop::Done })
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
        let space = buffer.space(count);
        let (mut at, before) = (0, space.len());
        for (place, _) in marks.places() {
            wide::call(Picking { items: &items[at..place], code: &*self.code, space }).map_err(Fault::Node)?;
            marks.pushed[0].push((space.len() - before) as u32);
            at = place;
        }
        wide::call(Picking { items: &items[at..], code: &*self.code, space }).map_err(Fault::Node)?;
        buffer.measure();
        Ok(Ran { done: count, stop: Stop::Done })
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

/// A node that maps its items, and sends each to one of two channels.
pub(crate) struct Split<I, O, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    outputs: [Rc<Pipe<O>>; 2],
    code: Arc<F>,
    kept: Kept,
    level: Level,
}

impl<I, O, F> Split<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires<'_>) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let kept = space_for(&inputs);
        Box::new(Self {
            inputs,
            outputs: [typed(&wires.outputs[0].pipe), typed(&wires.outputs[1].pipe)],
            code: Arc::clone(code),
            kept,
            level: Level::best(),
        })
    }

    fn split(&mut self, input: usize, count: usize) {
        let items = self.inputs[input].peek(count);
        let [mut accepted, mut rejected] = self.outputs.each_ref().map(|pipe| pipe.buffer.borrow_mut());
        let both = (accepted.space(count), rejected.space(count));
        let kept = &mut self.kept;
        kept.clear();
        wide::split_at(self.level, &items[..], both, &mut |word| kept.add(word), &*self.code);
        accepted.measure();
        rejected.measure();
    }
}

impl<I, O, F> Body for Split<I, O, F>
where
    I: Copy + 'static,
    O: Copy + Default + 'static,
    F: Fn(I) -> (O, bool) + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        self.split(input, count);
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn is_seamless(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, marks: &mut Marks<'_>, _: &mut Chain) -> Result<Ran, Fault> {
        self.split(input, count);
        wide::call(Count { kept: &mut self.kept, marks, others: true });
        Ok(Ran { done: count, stop: Stop::Done })
    }
}
