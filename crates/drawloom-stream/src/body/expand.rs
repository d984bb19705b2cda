//! One item becomes any number of items, or a parent with its elements.
//!
//! The iterator over what an item becomes is kept between runs. When the channel has no room, the run ends in the middle of
//! the item, and goes on with it when there is room: no queue must hold all that a vector of items may become.

use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::parents::Parents;
use crate::machine::pipe::{Buffer, Pipe, typed};
use crate::machine::signal::{Signal, Signals};

/// Moves items from an iterator to a channel while there is room. False when there is none left, though the iterator may just
/// have ended.
fn pour<T: 'static>(items: &mut impl Iterator<Item = T>, buffer: &mut Buffer<T>) -> bool {
    let room = buffer.room();
    let space = buffer.space(room);
    let before = space.len();
    space.extend(items.take(room));
    let ended = space.len() - before < room;
    buffer.measure();
    ended
}

/// A node that makes any number of items of each.
pub(crate) struct Expand<I, It: Iterator, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<It::Item>>,
    code: Arc<F>,
    /// The item that is under way.
    current: Option<It>,
}

impl<I, It, F> Expand<I, It, F>
where
    I: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(I) -> It + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            current: None,
        })
    }
}

impl<I, It, F> Body for Expand<I, It, F>
where
    I: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(I) -> It + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        for (done, item) in items.iter().enumerate() {
            let current = self.current.get_or_insert_with(|| (self.code)(item.clone()));
            if !pour(current, &mut buffer) {
                return Ok(Ran { done, stop: Stop::Full });
            }
            self.current = None;
        }
        Ok(Ran { done: count, stop: Stop::Done })
    }
}

/// A node that enumerates the elements of each item, which is their parent.
pub(crate) struct Enumerate<P, It: Iterator, F> {
    inputs: Vec<Rc<Pipe<P>>>,
    output: Rc<Pipe<It::Item>>,
    parents: Rc<Parents<P>>,
    region: u32,
    code: Arc<F>,
    /// The parent that is under way, and where it is kept.
    current: Option<(It, u32)>,
}

impl<P, It, F> Enumerate<P, It, F>
where
    P: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It + 'static,
{
    pub(crate) fn make(code: &Arc<F>, region: u32, wires: &Wires<'_>) -> Box<dyn Body> {
        let parents = Rc::clone(&wires.parents[region as usize]).as_any_rc();
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            parents: parents.downcast().expect("a region has one type of parents"),
            region,
            code: Arc::clone(code),
            current: None,
        })
    }
}

/// Raises a boundary behind what was pushed. There is room: a parent begins only where it can end too.
fn raise<T>(signals: &mut Signals, buffer: &Buffer<T>, signal: Signal) {
    let raised = signals.push(buffer.len(), signal);
    assert!(raised, "a boundary has no room: this is a mistake of ours");
}

impl<P, It, F> Body for Enumerate<P, It, F>
where
    P: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let (region, items) = (self.region, self.inputs[input].peek(count));
        let (mut buffer, mut signals) = (self.output.buffer.borrow_mut(), self.output.signals.borrow_mut());
        for (done, item) in items.iter().enumerate() {
            if self.current.is_none() {
                if signals.room() < 2 {
                    return Ok(Ran { done, stop: Stop::Full });
                }
                let Some(parent) = self.parents.keep(|| item.clone()) else {
                    return Ok(Ran { done, stop: Stop::Parents });
                };
                self.current = Some(((self.code)(item), parent));
                raise(&mut signals, &buffer, Signal::Begin { region, parent });
            }
            if let Some((elements, parent)) = &mut self.current {
                if !pour(elements, &mut buffer) {
                    return Ok(Ran { done, stop: Stop::Full });
                }
                raise(&mut signals, &buffer, Signal::End { region, parent: *parent });
            }
            self.current = None;
        }
        Ok(Ran { done: count, stop: Stop::Done })
    }
}
