//! Memory that a kernel computes with, beside its results.

use crate::error::{ErrorKind, Fault};
use crate::run::call::Place;
use crate::run::room::Room;
use crate::tensor::View;
use crate::tensor::element::{Element, zeros};
use crate::tensor::memory::{ALIGNMENT, Buffer, Loan};

/// Temporary memory for a kernel while it runs. It is part of what a plan predicts, so a kernel must take every buffer here
/// that grows with its inputs.
///
/// A kernel asks for buffers, and drops them when it ends. Buffers are laid out one behind the other, and none of them is
/// used again for another before the kernel ends: one that is needed in a loop should be asked for outside of it.
#[derive(Default)]
pub struct Scratch {
    /// Where it is, if that was planned.
    place: Option<Place>,
    /// How many bytes of the place were given out.
    used: usize,
    need: Need,
    /// How many of the bytes that were taken elsewhere are there, and not only counted.
    heap_there: usize,
    /// How many bytes it may have where no place was planned, together with the results.
    pub(crate) room: Room,
    /// Whether the kernel asks for everything before it reads or writes an element.
    pub(super) asks_first: bool,
}

/// What a kernel needs while it runs, beside its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// How many bytes it asked for, with the most that aligning them can take.
    pub(crate) scratch: usize,
    /// The most bytes that it took elsewhere.
    pub(crate) heap: usize,
}

impl Need {
    pub(crate) fn total(self) -> usize {
        self.scratch.saturating_add(self.heap)
    }

    /// The larger of both, each by itself.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { scratch: self.scratch.max(other.scratch), heap: self.heap.max(other.heap) }
    }
}

impl Scratch {
    /// What a buffer of so many elements takes at most.
    pub fn bytes<T: Element>(count: usize) -> usize {
        // Aligning is counted as a constant, so that the whole grows by the same with each row.
        count.saturating_mul(T::TYPE.size()).saturating_add(ALIGNMENT)
    }

    /// A buffer of elements that are zero.
    pub fn zeros<T: Element>(&mut self, count: usize) -> Result<Buffer<T>, Fault> {
        let planned = self.place.is_some();
        let mut buffer = self.unset(count)?;
        if planned {
            buffer.fill(T::default());
        }
        Ok(buffer)
    }

    /// A buffer of elements that are whatever was there before.
    pub fn unset<T: Element>(&mut self, count: usize) -> Result<Buffer<T>, Fault> {
        self.check_order();
        self.need.scratch = self.need.scratch.saturating_add(Self::bytes::<T>(count));
        let bytes = count.saturating_mul(T::TYPE.size());
        let Some(place) = &self.place else {
            let there = self.room.take(bytes, || "what it computes with".to_owned())?;
            if !there {
                self.room.lack();
            }
            return Ok(Buffer::Own(if there { zeros(count)? } else { Vec::new() }));
        };
        let end = self.used.saturating_add(bytes);
        if end > place.bytes {
            let message = format!("it needs {end} bytes while it runs, and {} were planned", place.bytes);
            return Err(Fault::of(ErrorKind::Memory, message));
        }
        let loan = Loan::new(&place.arena, place.offset + self.used, count)?;
        self.used = end.next_multiple_of(ALIGNMENT);
        Ok(Buffer::Lent(loan))
    }

    /// A buffer with the elements of an iterator that says how many there are.
    pub fn filled<T: Element>(&mut self, values: impl ExactSizeIterator<Item = T>) -> Result<Buffer<T>, Fault> {
        let mut buffer = self.unset(values.len())?;
        buffer.iter_mut().zip(values).for_each(|(into, value)| *into = value);
        Ok(buffer)
    }

    /// A buffer with what a function makes of the elements of a tensor. Those of an absent tensor are absent.
    pub fn converted<A: Element, T: Element>(
        &mut self,
        view: View<'_>,
        convert: impl Fn(A) -> T,
    ) -> Result<Buffer<T>, Fault> {
        let mut buffer = self.unset(view.len())?;
        if view.is_absent() {
            self.room.lack();
        } else {
            buffer.iter_mut().zip(view.values::<A>()?).for_each(|(into, value)| *into = convert(*value));
        }
        Ok(buffer)
    }

    /// Ends a kernel that misses something it asked for. Memory for results is given only if nothing is missing, so this is
    /// for kernels that compute before they know how large their results are.
    pub fn all_there(&self) -> Result<(), Fault> {
        if self.is_there() { Ok(()) } else { Err(Fault::absent()) }
    }

    /// Whether everything that was asked for is there, with the elements it was made from.
    pub fn is_there(&self) -> bool {
        !self.room.lacks()
    }

    /// The room that is used where no place was planned, together with the results.
    pub fn room(&self) -> &Room {
        &self.room
    }

    /// Says that the kernel is about to take so many bytes of other memory, so that a plan counts them: what a library
    /// allocates, or lists whose length is not known before. It is refused if there is no room for them.
    pub fn count(&mut self, bytes: usize) -> Result<(), Fault> {
        if !self.hold(bytes, bytes)? {
            self.room.lack();
        }
        Ok(())
    }

    /// The same for bytes of which only some are there, as others are of absent tensors. Whether there is room for them.
    pub fn hold(&mut self, bytes: usize, there: usize) -> Result<bool, Fault> {
        self.check_order();
        self.room.miss(bytes.saturating_sub(self.elsewhere()));
        self.need.heap = self.need.heap.max(bytes);
        let more = there.saturating_sub(self.heap_there);
        let fits = self.room.take(more, || "what it takes elsewhere".to_owned())?;
        if fits {
            self.heap_there += more;
        }
        Ok(fits)
    }

    /// A kernel that says that it asks for scratch memory first does so: what it would ask for later would not be counted
    /// where its results do not fit.
    fn check_order(&self) {
        debug_assert!(
            !(self.asks_first && self.room.has_results()),
            "scratch memory is asked for after that of results"
        );
    }

    /// How many bytes of other memory there may be, those that were taken before included.
    pub fn elsewhere(&self) -> usize {
        self.room.left().saturating_add(self.heap_there)
    }

    /// Makes it ready for a node, with room for what has no planned place, and with or without such a place.
    pub(crate) fn ready(&mut self, room: Room, place: Option<Place>) {
        *self = Self { place, room, ..Self::default() };
    }

    /// Gives a planned place back.
    pub(crate) fn done(&mut self) {
        (self.place, self.used) = (None, 0);
    }

    pub(crate) fn need(&self) -> Need {
        self.need
    }
}
