//! The values of the user's signals.
//!
//! A value may wait on several edges at once, so it is shared. Its space comes back when nobody has it any more, and the next
//! signal of its kind gets it: a stream that is under way allocates nothing for signals.
//!
//! There is space for as many values as there are places for signals, each as large as the largest kind. Space of one kind is of no
//! use to another: where there would be too much of it, what nobody needs is given back.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// A value that is shared.
pub(crate) type Value = Rc<dyn Held>;

/// Space for a value whose type is not known.
pub(crate) trait Held: Any {
    /// The value.
    fn get(&self) -> Option<&dyn Any>;
    /// Somebody has handled the signal, or it came to where it ends.
    fn see(&self);
    /// Nobody needs the value any more. Says whether the signal was seen.
    fn clear(&mut self) -> bool;
    /// What it costs to have it.
    fn bytes(&self) -> usize;
    fn as_any(&mut self) -> &mut dyn Any;
}

/// Space for a value.
struct Slot<V> {
    value: Option<V>,
    seen: Cell<bool>,
}

impl<V> Slot<V> {
    fn new(value: V) -> Self {
        Self { value: Some(value), seen: Cell::new(false) }
    }
}

/// What the memory for it looks like: it is counted who has it.
#[repr(C)]
struct Counted<V>([usize; 2], Slot<V>);

/// What it costs to have space for a value of some type. It is noted where what is free is, for twice as many at most.
pub(crate) const fn value_bytes<V: 'static>() -> usize {
    size_of::<Counted<V>>() + 2 * size_of::<Value>()
}

impl<V: 'static> Held for Slot<V> {
    fn get(&self) -> Option<&dyn Any> {
        self.value.as_ref().map(|value| value as &dyn Any)
    }

    fn see(&self) {
        self.seen.set(true);
    }

    fn clear(&mut self) -> bool {
        self.value = None;
        self.seen.replace(false)
    }

    fn bytes(&self) -> usize {
        value_bytes::<V>()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Space for the values of one copy of a stream.
pub(crate) struct Values {
    /// What nobody needs now.
    free: RefCell<Vec<Free>>,
    /// How many bytes all space has, free or not, and how many it may have.
    bytes: Cell<usize>,
    most: usize,
    /// What the largest value costs.
    largest: usize,
}

/// Space for values of one kind of signals.
struct Free {
    tag: u64,
    space: Vec<Value>,
}

impl Values {
    /// Space of up to so many bytes, for values of which the largest costs so many.
    pub(crate) fn new(most: usize, largest: usize) -> Self {
        Self { free: RefCell::default(), bytes: Cell::new(0), most, largest }
    }

    /// Space for the value of a signal, with the value in it.
    pub(crate) fn hold<V: 'static>(&self, tag: u64, value: V) -> Value {
        assert!(
            value_bytes::<V>() <= self.largest,
            "a signal is raised that is of another stream: its value has {} bytes, for which there is no room here",
            size_of::<V>()
        );
        let mut all = self.free.borrow_mut();
        let free = all.iter_mut().find(|free| free.tag == tag).and_then(|free| free.space.pop());
        let Some(mut space) = free else { return self.make(&mut all, value) };
        // A kind of signals has one type of values, and what is free is nobody's.
        match Rc::get_mut(&mut space).and_then(|space| space.as_any().downcast_mut::<Slot<V>>()) {
            Some(slot) => slot.value = Some(value),
            None => return self.make(&mut all, value),
        }
        space
    }

    /// Makes space, and gives some of other kinds back for that, if it has to be.
    #[cold]
    fn make<V: 'static>(&self, all: &mut [Free], value: V) -> Value {
        let mut bytes = self.bytes.get() + value_bytes::<V>();
        while bytes > self.most
            && let Some(other) = all.iter_mut().find_map(|free| free.space.pop())
        {
            bytes -= other.bytes();
        }
        self.bytes.set(bytes);
        Rc::new(Slot::new(value))
    }

    /// Somebody does not need a value any more. If nobody else does, it is dropped, and its space is free. False when nobody has
    /// seen the signal, and nobody will.
    pub(crate) fn release(&self, tag: u64, mut value: Value) -> bool {
        let Some(space) = Rc::get_mut(&mut value) else { return true };
        let seen = space.clear();
        let mut all = self.free.borrow_mut();
        match all.iter_mut().find(|free| free.tag == tag) {
            Some(free) => free.space.push(value),
            None => all.push(Free { tag, space: vec![value] }),
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::{Value, Values, value_bytes};

    fn address(value: &Value) -> *const () {
        Rc::as_ptr(value).cast()
    }

    #[test]
    fn space_comes_back_when_the_last_one_is_done_with_a_value() {
        let values = Values::new(1000, 100);
        let witness = Rc::new(5_u64);
        let first = values.hold(1, Rc::clone(&witness));
        let (second, place) = (Rc::clone(&first), address(&first));
        assert!(values.release(1, first), "it may be seen where it is still");
        assert_eq!(Rc::strong_count(&witness), 2, "somebody has it still");
        let seen = second.get().and_then(|value| value.downcast_ref::<Rc<u64>>()).map(|value| **value);
        assert_eq!(seen, Some(5));
        assert!(!values.release(1, second), "nobody has seen it");
        assert_eq!(Rc::strong_count(&witness), 1, "it is dropped at once");
        let other = values.hold(2, String::from("other"));
        assert_ne!(address(&other), place, "this is another kind of signals");
        let third = values.hold(1, Rc::new(7_u64));
        assert_eq!(address(&third), place);
        assert!(third.get().is_some_and(|value| value.is::<Rc<u64>>()));
        third.see();
        assert!(values.release(1, third));
    }

    #[test]
    fn space_of_one_kind_makes_room_for_another() {
        let large = value_bytes::<[u64; 10]>();
        let values = Values::new(3 * large, large);
        let held: Vec<Value> = (0..3).map(|n| values.hold(1, [n; 10])).collect();
        held.into_iter().for_each(|value| _ = values.release(1, value));
        // There is no room for both, so one of the first kind goes.
        let small: Vec<Value> = (0..3).map(|n| values.hold(2, n)).collect();
        let bytes = values.bytes.get();
        assert!(bytes <= 3 * large, "{bytes}");
        small.into_iter().for_each(|value| _ = values.release(2, value));
        let again = [values.hold(1, [7; 10]), values.hold(1, [8; 10])];
        assert_eq!(values.bytes.get(), bytes, "what is there is used again");
        again.into_iter().for_each(|value| _ = values.release(1, value));
        let held: Vec<Value> = (0..3).map(|n| values.hold(1, [n; 10])).collect();
        assert!(values.bytes.get() <= 3 * large && held.len() == 3, "some of the other kind are gone");
    }

    #[test]
    #[should_panic(expected = "a signal is raised that is of another stream")]
    fn a_value_that_is_larger_than_any_of_the_stream_is_none_of_it() {
        let values = Values::new(1000, value_bytes::<u64>());
        drop(values.hold(1, 7_u64));
        drop(values.hold(2, [7_u64; 9]));
    }
}
