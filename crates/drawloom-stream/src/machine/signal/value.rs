//! The values of the user's signals.
//!
//! A value may wait on several edges at once, so it is shared. Its space comes back when nobody has it any more, and the next
//! signal of its kind gets it: a stream that is under way allocates nothing for signals.

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

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

/// Space that nobody needs now, in one copy of a stream.
#[derive(Default)]
pub(crate) struct Values(RefCell<Vec<Free>>);

/// Space for values of one kind of signals.
struct Free {
    tag: u64,
    space: Vec<Value>,
}

impl Values {
    /// Space for the value of a signal, with the value in it.
    pub(crate) fn hold<V: 'static>(&self, tag: u64, value: V) -> Value {
        let mut all = self.0.borrow_mut();
        let free = all.iter_mut().find(|free| free.tag == tag).and_then(|free| free.space.pop());
        let Some(mut space) = free else { return Rc::new(Slot::new(value)) };
        // A kind of signals has one type of values, and what is free is nobody's.
        match Rc::get_mut(&mut space).and_then(|space| space.as_any().downcast_mut::<Slot<V>>()) {
            Some(slot) => slot.value = Some(value),
            None => return Rc::new(Slot::new(value)),
        }
        space
    }

    /// Somebody does not need a value any more. If nobody else does, it is dropped, and its space is free. False when nobody has
    /// seen the signal, and nobody will.
    pub(crate) fn release(&self, tag: u64, mut value: Value) -> bool {
        let Some(space) = Rc::get_mut(&mut value) else { return true };
        let seen = space.clear();
        let mut all = self.0.borrow_mut();
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

    use super::{Value, Values};

    fn address(value: &Value) -> *const () {
        Rc::as_ptr(value).cast()
    }

    #[test]
    fn space_comes_back_when_the_last_one_is_done_with_a_value() {
        let values = Values::default();
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
}
