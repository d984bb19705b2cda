//! Numbers of the elements of a parent are added up.
//!
//! A sum needs no loop for each parent: it is the difference of two sums from the beginning of the vector, one up to the end of
//! the parent and one up to its begin. So short parents cost no branches that nobody can foresee.

use std::rc::Rc;
use std::sync::Arc;

use super::fold::push_one;
use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal};
use crate::wide::{self, Kernel, Level};

/// Parents with more elements on average are added up one after the other.
const SHORT: usize = 128;

/// The number of an element, and what becomes of the number of elements and their sum.
pub(crate) struct Adding<V, D> {
    pub(crate) value: V,
    pub(crate) finish: D,
}

/// A node that adds up numbers of the elements of each parent.
pub(crate) struct Sum<I, O, V, D> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<O>>,
    code: Arc<Adding<V, D>>,
    /// How many elements of the parent under way there were, and their sum.
    so_far: (u64, u64),
    /// Sums from the beginning of the vector: space for as many as a queue has items, which grows where they are many.
    sums: Vec<u64>,
}

impl<I, O, V, D> Sum<I, O, V, D>
where
    I: 'static,
    O: 'static,
    V: Fn(&I) -> u64 + 'static,
    D: Fn(u64, u64) -> O + 'static,
{
    pub(crate) fn make(code: &Arc<Adding<V, D>>, wires: &Wires<'_>) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let most = inputs.iter().map(|pipe| pipe.capacity()).max().unwrap_or(0);
        Box::new(Self {
            inputs,
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            so_far: (0, 0),
            sums: wide::space_for_sums(most),
        })
    }
}

impl<I, O, V, D> Body for Sum<I, O, V, D>
where
    I: 'static,
    O: 'static,
    V: Fn(&I) -> u64 + 'static,
    D: Fn(u64, u64) -> O + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let sum = wide::call(Total { items: &items, value: &self.code.value });
        self.so_far = (self.so_far.0 + count as u64, self.so_far.1.wrapping_add(sum));
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn handle(&mut self, signal: &Signal, _: &Chain) -> Result<bool, Fault> {
        match signal {
            Signal::User { .. } => return Ok(false),
            Signal::Begin { .. } => {}
            Signal::End { .. } => {
                let (count, sum) = std::mem::take(&mut self.so_far);
                push_one(&self.output, (self.code.finish)(count, sum))?;
            }
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
        let (code, sums) = (&*self.code, &mut self.sums);
        self.so_far = wide::call(Segments { items: &items, marks, code, so_far: self.so_far, sums, space });
        buffer.measure();
        Ok(Ran { done: count, stop: Stop::Done })
    }
}

/// The sum of a vector.
struct Total<'a, I, V> {
    items: &'a [I],
    value: &'a V,
}

impl<I, V: Fn(&I) -> u64> Kernel for Total<'_, I, V> {
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        self.items.iter().map(self.value).fold(0, u64::wrapping_add)
    }
}

/// The sums of the segments of a vector.
struct Segments<'a, 'b, I, O, V, D> {
    items: &'a [I],
    marks: &'a mut Marks<'b>,
    code: &'a Adding<V, D>,
    so_far: (u64, u64),
    sums: &'a mut Vec<u64>,
    space: &'a mut Vec<O>,
}

impl<I: 'static, O, V: Fn(&I) -> u64, D: Fn(u64, u64) -> O> Kernel for Segments<'_, '_, I, O, V, D> {
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64) {
        let Self { items, marks, code, so_far: (mut count, mut sum), sums, space } = self;
        let (mut at, before) = (0, space.len());
        let short = marks.places().len() * SHORT > items.len();
        if short && let Some(ends) = marks.ends() {
            let values = (items, &code.value);
            return wide::segment_sums(Level::best(), values, ends, (count, sum), &code.finish, (sums, space));
        }
        let sums = if short { wide::running_sums(Level::best(), items, &code.value, sums) } else { &[] };
        // The sum from the beginning of the vector up to the boundary before.
        let mut before_it = 0_u64;
        for (place, ends) in marks.places() {
            count += (place - at) as u64;
            sum = sum.wrapping_add(if short {
                sums[place].wrapping_sub(std::mem::replace(&mut before_it, sums[place]))
            } else {
                Total { items: &items[at..place], value: &code.value }.run()
            });
            at = place;
            if ends {
                space.push((code.finish)(count, sum));
                (count, sum) = (0, 0);
            }
            if marks.go_on {
                marks.pushed[0].push((space.len() - before) as u32);
            }
        }
        let rest = if short {
            sums[items.len()].wrapping_sub(before_it)
        } else {
            Total { items: &items[at..], value: &code.value }.run()
        };
        (count + (items.len() - at) as u64, sum.wrapping_add(rest))
    }
}
