//! One item becomes any number of items, or a parent with its elements.
//!
//! The iterator over what an item becomes is kept between runs. When the channel has no room, the run ends in the middle of
//! the item, and goes on with it when there is room: no queue must hold all that a vector of items may become. It ends there too
//! when elements are heavy, so that the machine can see whether something else is more urgent.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::pace::Pace;
use crate::machine::parents::Parents;
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal, Turns};
use crate::wide::{self, Kernel, MOST_ITEMS};

/// How many parents begin together.
const GROUP: usize = 256;

/// Moves items from an iterator to a channel that has so much room. False when there is none left, though the iterator may
/// just have ended.
#[inline(always)]
fn pour<It: Iterator<Item: 'static> + 'static>(items: &mut It, room: usize, space: &mut Vec<It::Item>) -> bool {
    if let Some(ended) = wide::count_up::<u32, It>(items, room, space) {
        return ended;
    }
    if let Some(ended) = wide::count_up::<u64, It>(items, room, space) {
        return ended;
    }
    let before = space.len();
    space.extend(items.take(room));
    space.len() - before < room
}

/// A node that makes any number of items of each.
pub(crate) struct Expand<I, It: Iterator, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    output: Rc<Pipe<It::Item>>,
    code: Arc<F>,
    /// The item that is under way.
    current: Option<It>,
    /// How many elements are made at a time.
    pace: Pace,
}

impl<I, It, F> Expand<I, It, F>
where
    I: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(I) -> It + 'static,
{
    pub(crate) fn make(code: &Arc<F>, wires: &Wires) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            code: Arc::clone(code),
            current: None,
            pace: Pace::default(),
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
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, marks: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let mut buffer = self.output.buffer.borrow_mut();
        let room = buffer.room().min(self.pace.most());
        let space = buffer.space(room);
        let (before, full) = (space.len(), space.len() + room);
        let begun = self.pace.begin();
        // The boundaries that no item has reached so far.
        let (places, mut pushed) = match marks {
            Some(marks) => {
                marks.clear();
                let (places, [pushed, _]) = marks.noted();
                (places, Some(pushed))
            }
            None => (&[][..], None),
        };
        let mut places = places.iter().map(|place| *place as usize).peekable();
        let mut ran = Ran::all(count);
        for (done, item) in items.iter().enumerate() {
            while places.next_if(|place| *place <= done).is_some() {
                pushed.iter_mut().for_each(|pushed| pushed.push((space.len() - before) as u32));
            }
            let current = self.current.get_or_insert_with(|| (self.code)(item.clone()));
            if !pour(current, full - space.len(), space) {
                ran = Ran { done, stop: Stop::Full };
                break;
            }
            self.current = None;
        }
        if let Some(pushed) = pushed.filter(|_| ran.stop == Stop::Done) {
            pushed.extend(places.map(|_| (space.len() - before) as u32));
        }
        self.pace.end(begun, space.len() - before);
        buffer.measure();
        Ok(ran)
    }

    fn can_span(&self) -> bool {
        true
    }
}

/// A node that enumerates the elements of each item, which is their parent.
pub(crate) struct Enumerate<P, It: Iterator, F> {
    inputs: Vec<Rc<Pipe<P>>>,
    output: Rc<Pipe<It::Item>>,
    parents: Rc<Parents<P>>,
    region: u32,
    code: Arc<F>,
    /// What is left of the parent that is under way, and the number of that parent, or of the next one.
    current: Option<It>,
    parent: u32,
    /// How many elements are made at a time.
    pace: Pace,
}

impl<P, It, F> Enumerate<P, It, F>
where
    P: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It + 'static,
{
    pub(crate) fn make(code: &Arc<F>, region: u32, wires: &Wires) -> Box<dyn Body> {
        let parents = Rc::clone(&wires.parents[region as usize]).as_any_rc();
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            output: typed(&wires.outputs[0].pipe),
            parents: parents.downcast().expect("a region has one type of parents"),
            region,
            code: Arc::clone(code),
            current: None,
            parent: 0,
            pace: Pace::default(),
        })
    }
}

impl<P, It, F> Body for Enumerate<P, It, F>
where
    P: Clone + 'static,
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It + 'static,
{
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, _: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let items = self.inputs[input].peek(count);
        let (mut buffer, mut signals) = (self.output.buffer.borrow_mut(), self.output.signals.borrow_mut());
        let mut parents = self.parents.storage();
        let (waiting, room) = (buffer.len(), buffer.room().min(self.pace.most()));
        let (region, code, space) = (self.region, &*self.code, buffer.space(room));
        let (front, full) = (space.len() - waiting, space.len() + room);
        let begun = self.pace.begin();
        // Elements, parents and boundaries are handled in turn, for a group of parents: so each loop is a simple one.
        let (mut ends, mut done) = ([0; GROUP], 0);
        let stop = loop {
            if done == items.len() {
                break Stop::Done;
            }
            let (under_way, current) = (usize::from(self.current.is_some()), &mut self.current);
            // There is a boundary for each parent, and one more: a parent begins only where it can end too.
            let room = signals.room().saturating_sub(1);
            let group = GROUP.min(items.len() - done).min(room).min(under_way + parents.free()).max(under_way);
            if group == 0 {
                break if room == 0 { Stop::Full } else { Stop::Parents };
            }
            let group = &items[done..done + group];
            let (before, room) = (space.len(), (full - space.len()).min(MOST_ITEMS));
            let ended = wide::call(Pouring {
                items: group,
                code,
                current: &mut *current,
                room,
                space: &mut *space,
                ends: &mut ends,
            });
            let is_left = current.is_some();
            let (first, started) = (before - front, ended + usize::from(is_left));
            if started > under_way {
                let parent = parents.keep(&group[under_way..started]);
                if under_way == 0 {
                    self.parent = parent;
                    let is_raised = signals.push(first, Signal::Begin { region, parent });
                    assert!(is_raised, "a boundary has no room: this is a mistake of ours");
                }
            }
            signals.follow(Turns::ends_of(region, self.parent, is_left), first, &ends[..ended]);
            self.parent = self.parent.wrapping_add(ended as u32);
            done += ended;
            if is_left {
                break Stop::Full;
            }
        };
        self.pace.end(begun, buffer.len() - waiting);
        buffer.measure();
        Ok(Ran { done, stop })
    }

    fn pour(&mut self, input: usize, items: Range<usize>, room: usize, ends: &mut [u32]) -> usize {
        let all = self.inputs[input].peek(items.end);
        let mut buffer = self.output.buffer.borrow_mut();
        let (items, code, space) = (&all[items.start..], &*self.code, buffer.space(room));
        let ended = wide::call(Pouring { items, code, current: &mut self.current, room, space, ends });
        buffer.measure();
        ended
    }
}

/// Pours the elements of parents into a channel, and notes behind how many each ends. Says how many have ended.
struct Pouring<'a, P, It: Iterator, F> {
    items: &'a [P],
    code: &'a F,
    current: &'a mut Option<It>,
    room: usize,
    space: &'a mut Vec<It::Item>,
    ends: &'a mut [u32],
}

impl<P, It, F> Kernel for Pouring<'_, P, It, F>
where
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It,
{
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { items, code, current, room, space, ends } = self;
        let (group, mut ended, before) = (&items[..items.len().min(ends.len())], 0, space.len());
        // What is left of the parent under way, and then more of them.
        if let Some(mut elements) = current.take() {
            if !pour(&mut elements, room, space) {
                *current = Some(elements);
                return 0;
            }
            (ends[0], ended) = ((space.len() - before) as u32, 1);
        }
        let (begun, rest) = pour_all(&group[ended..], code, (before, room), space, &mut ends[ended..]);
        ended += begun - usize::from(rest.is_some());
        *current = rest;
        ended
    }
}

/// Moves the elements of some parents to a channel, and notes where each ends, counted from the place `before`. There is room for so
/// many items behind that place. Says how many parents have begun, and what is left of the last.
#[inline(always)]
fn pour_all<P, It, F>(
    parents: &[P],
    code: &F,
    (before, room): (usize, usize),
    space: &mut Vec<It::Item>,
    ends: &mut [u32],
) -> (usize, Option<It>)
where
    It: Iterator + 'static,
    It::Item: 'static,
    F: Fn(&P) -> It,
{
    if let Some(poured) = wide::count_up_all::<u32, It>(parents.iter().map(code), (before, room), space, ends) {
        return poured;
    }
    if let Some(poured) = wide::count_up_all::<u64, It>(parents.iter().map(code), (before, room), space, ends) {
        return poured;
    }
    for (begun, (parent, end)) in (1..).zip(parents.iter().zip(ends)) {
        let mut elements = code(parent);
        let ended = pour(&mut elements, before + room - space.len(), space);
        *end = (space.len() - before) as u32;
        if !ended {
            return (begun, Some(elements));
        }
    }
    (parents.len(), None)
}
