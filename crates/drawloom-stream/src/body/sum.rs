//! Numbers of the elements of a parent are added up.
//!
//! Where parents are short, a loop for each of them costs a branch that the processor cannot foresee. The sum of one is the difference of
//! two sums from the beginning of the vector, up to its end and up to its begin, which needs none.

use std::rc::Rc;
use std::sync::Arc;

use super::fold::push_one;
use super::{Body, Chain, Fault, Ran, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal};
use crate::wide::{self, Kernel};

/// Parents with more elements on average are added up one after the other.
const SHORT: usize = 64;

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
    /// Space for the sums from the beginning of the vector.
    sums: Vec<u64>,
}

impl<I, O, V, D> Sum<I, O, V, D>
where
    I: 'static,
    O: 'static,
    V: Fn(&I) -> u64 + 'static,
    D: Fn(u64, u64) -> O + 'static,
{
    pub(crate) fn make(code: &Arc<Adding<V, D>>, wires: &Wires) -> Box<dyn Body> {
        let inputs: Vec<Rc<Pipe<I>>> = wires.inputs.iter().map(typed).collect();
        let (output, code) = (typed(&wires.outputs[0].pipe), Arc::clone(code));
        Box::new(Self { inputs, output, code, so_far: (0, 0), sums: Vec::new() })
    }
}

impl<I, O, V, D> Body for Sum<I, O, V, D>
where
    I: 'static,
    O: 'static,
    V: Fn(&I) -> u64 + 'static,
    D: Fn(u64, u64) -> O + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let (items, code) = (self.inputs[input].peek(count), &*self.code);
        let Some(marks) = marks else {
            let sum = wide::call(Total { items: &items, value: &code.value });
            self.so_far = (self.so_far.0 + count as u64, self.so_far.1.wrapping_add(sum));
            return Ok(Ran::all(count));
        };
        marks.clear();
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(marks.ended());
        let sums = &mut self.sums;
        if marks.ended() * SHORT >= count {
            // Grows to as many as a queue has items, and no further.
            sums.reserve_exact((count + 1).saturating_sub(sums.len()));
            sums.resize(sums.len().max(count + 1), 0);
        }
        self.so_far = wide::call(Segments { items: &items, marks, code, so_far: self.so_far, sums, space });
        buffer.measure();
        Ok(Ran::all(count))
    }

    fn handle(&mut self, signal: &Signal, _: &mut Chain) -> Result<bool, Fault> {
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
}

/// The sum of some items.
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
    sums: &'a mut [u64],
    space: &'a mut Vec<O>,
}

impl<I, O, V: Fn(&I) -> u64, D: Fn(u64, u64) -> O> Kernel for Segments<'_, '_, I, O, V, D> {
    type Output = (u64, u64);

    #[inline(always)]
    fn run(self) -> (u64, u64) {
        let Self { items, marks, code, so_far: (mut count, mut sum), sums, space } = self;
        let short = marks.ended() * SHORT >= items.len();
        if short {
            running_sums(items, &code.value, sums);
        }
        // The place of the boundary before, and the sum from the beginning of the vector up to it.
        let (mut at, mut up_to) = (0, 0_u64);
        let mut add = |place: usize| {
            let more = match short {
                true => sums[place].wrapping_sub(std::mem::replace(&mut up_to, sums[place])),
                false => Total { items: &items[at..place], value: &code.value }.run(),
            };
            ((place - std::mem::replace(&mut at, place)) as u64, more)
        };
        if let Some(ends) = marks.ends().filter(|_| !marks.go_on) {
            for end in ends {
                let (elements, more) = add(*end as usize);
                space.push((code.finish)(count + elements, sum.wrapping_add(more)));
                (count, sum) = (0, 0);
            }
        } else {
            let before = space.len();
            for (place, ends) in marks.places() {
                let (elements, more) = add(place);
                (count, sum) = (count + elements, sum.wrapping_add(more));
                if ends {
                    space.push((code.finish)(count, sum));
                    (count, sum) = (0, 0);
                }
                if marks.go_on {
                    marks.pushed[0].push((space.len() - before) as u32);
                }
            }
        }
        let (elements, more) = add(items.len());
        (count + elements, sum.wrapping_add(more))
    }
}

/// The sum of the first items, for each number of them from none to all. Four at once, so that an addition waits for the one before it
/// only once in four. Sums wrap around.
#[inline(always)]
fn running_sums<I, V: Fn(&I) -> u64>(items: &[I], value: &V, sums: &mut [u64]) {
    let Some((none, sums)) = sums[..=items.len()].split_first_mut() else { return };
    *none = 0;
    let mut sum = 0_u64;
    let (fours, rest) = items.as_chunks::<4>();
    let (sums_of_fours, sums_of_rest) = sums.as_chunks_mut::<4>();
    for (four, sums) in fours.iter().zip(sums_of_fours) {
        let [a, b, c, d] = four.each_ref().map(value);
        let (ab, cd) = (a.wrapping_add(b), c.wrapping_add(d));
        *sums = [a, ab, ab.wrapping_add(c), ab.wrapping_add(cd)].map(|more| sum.wrapping_add(more));
        sum = sums[3];
    }
    for (item, to) in rest.iter().zip(sums_of_rest) {
        sum = sum.wrapping_add(value(item));
        *to = sum;
    }
}
