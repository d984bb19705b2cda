//! What the user's code pushes to.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use pulp::Arch;

use super::Wire;
use super::channels::Bounds;
use crate::build::handle::Tag;
use crate::machine::pipe::{Buffer, Pipe, typed};
use crate::machine::signal::{Signal, Signals, Value, Values};
use crate::wide::{self, Lanes};

/// A channel during a run: items are pushed to it, and signals raised among them.
///
/// What is pushed beyond what the channel declares makes the run of the stream fail: nothing is lost silently.
pub struct Push<'a, T> {
    items: RefMut<'a, Vec<T>>,
    /// How many items at the front of the vector are consumed already.
    consumed: usize,
    signals: &'a RefCell<Signals>,
    /// Where the values of signals are kept, and the stream whose signals they are.
    values: &'a Values,
    stream: u64,
    left: usize,
    /// Of what a run may push over a back edge, that which is not for the item that is at hand; how much each item may push, and whether there is
    /// such an item.
    kept: usize,
    each: usize,
    by_item: bool,
    signals_left: usize,
    /// Whether the channel leads back in a loop, where no signal goes around.
    back: bool,
    too_many: Option<Excess>,
}

/// Of what there was too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Excess {
    /// Items in a run, or at a signal.
    Items,
    /// Items for one item.
    Each,
    Signals,
    /// Signals on all channels, of which all lead back.
    Nowhere,
}

impl<T> Push<'_, T> {
    /// Pushes an item.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.left == 0 {
            self.exceed();
            return;
        }
        self.left -= 1;
        self.items.push(item);
    }

    /// Pushes all items of a slice.
    pub fn extend_from_slice(&mut self, items: &[T])
    where
        T: Clone,
    {
        if items.len() > self.left {
            self.exceed();
            return;
        }
        self.left -= items.len();
        self.items.extend_from_slice(items);
    }

    /// Maps plain items, which may come from several slices side by side, and pushes those whose flag is set: as
    /// [`NodeBuilder::select`](crate::NodeBuilder::select) does, with the widest instructions that the processor has.
    pub fn select<L: Lanes>(&mut self, items: L, code: impl Fn(L::Lane) -> (T, bool))
    where
        T: Copy + Default + 'static,
    {
        if items.count() > self.left {
            // There may be less room than items, so each that is kept is looked at.
            for (item, keep) in items.lanes().map(code) {
                if keep {
                    self.push(item);
                }
            }
            return;
        }
        let before = self.items.len();
        wide::select_at(Arch::new(), items, &mut self.items, &mut |_| (), &code);
        self.left -= self.items.len() - before;
    }

    /// How many more items may be pushed in this run, or for this item by a function of one item.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Raises a signal behind everything that was pushed so far.
    ///
    /// # Panics
    /// When the signal is of another stream. The run of this one fails then, with the name of the node.
    pub fn raise<V: 'static>(&mut self, tag: Tag<V>, value: V) {
        let value = self.hold(tag, value);
        self.raise_shared(tag, value);
    }

    /// Space for the value of a signal.
    pub(crate) fn hold<V: 'static>(&self, tag: Tag<V>, value: V) -> Value {
        // Nobody in this stream handles it, and there need not be room for its value.
        assert!(
            tag.stream == self.stream,
            "a signal of another stream is raised: a node can raise those of its own stream, and no others"
        );
        self.values.hold(tag.tag, value)
    }

    pub(crate) fn raise_shared<V: 'static>(&mut self, tag: Tag<V>, value: Value) {
        let waiting = self.waiting();
        let signal = Signal::User { tag: tag.tag, value };
        if self.signals_left == 0 || !self.signals.borrow_mut().push(waiting, signal) {
            self.too_many.get_or_insert(Excess::Signals);
            return;
        }
        self.signals_left -= 1;
    }

    /// Whether a signal that is raised on all channels is not raised on this one.
    pub(crate) fn leads_back(&self) -> bool {
        self.back
    }

    /// A signal was raised on all channels, and all of them lead back.
    pub(crate) fn raise_nowhere(&mut self) {
        self.too_many.get_or_insert(Excess::Nowhere);
    }

    /// How many items wait in the queue.
    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.items.len() - self.consumed
    }

    /// So many items may be pushed from now on: there is space for them.
    #[inline]
    pub(crate) fn renew(&mut self, left: usize) {
        (self.left, self.kept) = (left, 0);
    }

    /// From now on it is said of each item when its turn comes.
    #[inline]
    pub(crate) fn by_item(&mut self) {
        self.by_item = true;
    }

    /// It is the turn of the next item, which may push what each may push. This is done instead of counting what the item before has
    /// pushed: then the one look at what is left is all that a push costs. What is left for one item is not computed from what was
    /// left before it, so that no item waits for the one before; only a back edge may have less room than all items may push.
    #[inline]
    pub(crate) fn next_item(&mut self) {
        if self.back {
            let all = self.left + self.kept;
            self.left = all.min(self.each);
            self.kept = all - self.left;
        } else {
            self.left = self.each;
        }
    }

    #[cold]
    fn exceed(&mut self) {
        self.too_many.get_or_insert(if self.by_item { Excess::Each } else { Excess::Items });
    }

    pub(crate) fn excess(&self) -> Option<Excess> {
        self.too_many
    }
}

/// A channel's end of its edge.
pub struct End<T> {
    pipe: Rc<Pipe<T>>,
    values: Rc<Values>,
    stream: u64,
    /// Items on their way to the node they come from: its queue is in use while it runs.
    staged: Option<RefCell<Vec<T>>>,
    most: usize,
    at_signal: usize,
    depth: usize,
    back: bool,
}

impl<T: 'static> End<T> {
    /// A channel of a node of a stream.
    pub(crate) fn new(wire: &Wire, stream: u64) -> Self {
        let staged = wire.own.then(RefCell::default);
        let Wire { most, at_signal, depth, back, .. } = *wire;
        let (pipe, values) = (typed(&wire.pipe), Rc::clone(&wire.values));
        Self { pipe, values, stream, staged, most, at_signal, depth, back }
    }

    /// How many items may be pushed in a run over so many inputs, or at a signal.
    pub(crate) fn most(&self, bounds: &Bounds) -> usize {
        match bounds.inputs {
            _ if self.is_deeper(bounds) => 0,
            Some(inputs) => self.most.saturating_mul(inputs),
            None => self.at_signal,
        }
    }

    /// How many items may be pushed for each input.
    pub(crate) fn each(&self) -> usize {
        self.most
    }

    /// Whether it leads back, and its loop has all items that it may have.
    pub(crate) fn is_loop_full(&self) -> bool {
        let staged = self.staged.as_ref().map_or(0, |staged| staged.borrow().len());
        self.back && self.pipe.buffer.borrow().room() <= staged
    }

    /// Whether its items would belong to a parent that is not under way.
    pub(crate) fn is_deeper(&self, bounds: &Bounds) -> bool {
        self.depth > bounds.depth
    }

    /// Begins a run over so many inputs, or the handling of a signal.
    pub(crate) fn open(&self, bounds: &Bounds) -> Push<'_, T> {
        let (most, signals_allowed) = (self.most(bounds), bounds.signals);
        let (signals, values, stream) = (&self.pipe.signals, &*self.values, self.stream);
        if let Some(staged) = &self.staged {
            let left = most.min(self.pipe.buffer.borrow().room());
            let mut items = staged.borrow_mut();
            // Grows to as many as may be pushed at once, and no further.
            items.reserve_exact(left + wide::slack::<T>());
            return Push {
                items,
                consumed: 0,
                signals,
                values,
                stream,
                left,
                kept: 0,
                each: self.most,
                by_item: false,
                signals_left: 0,
                back: self.back,
                too_many: None,
            };
        }
        let mut buffer = self.pipe.buffer.borrow_mut();
        // A back edge has the room that the loop's bound says, and no signals; all others have what a run may need.
        let (left, signals_left) = if self.back { (most.min(buffer.room()), 0) } else { (most, signals_allowed) };
        let waiting = buffer.len();
        let consumed = buffer.space(left).len() - waiting;
        let items = RefMut::map(buffer, Buffer::items);
        Push {
            items,
            consumed,
            signals,
            values,
            stream,
            left,
            kept: 0,
            each: self.most,
            by_item: false,
            signals_left,
            back: self.back,
            too_many: None,
        }
    }

    /// Ends a run: what was pushed is in the queue, and nobody looks at it.
    pub(crate) fn settle(&self) {
        let mut buffer = self.pipe.buffer.borrow_mut();
        if let Some(staged) = &self.staged {
            let mut staged = staged.borrow_mut();
            buffer.space(staged.len()).append(&mut staged);
        }
        buffer.measure();
    }
}
