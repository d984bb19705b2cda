//! The types that stand for accesses in the builder, each with the view that a body receives for it.

use std::marker::PhantomData;

use super::frame::{Frame, Places};
use crate::data::element::Element;
use crate::data::region::Region;
use crate::task::arity::for_each_arity;

/// What a task does with one of its arguments; decides what its body receives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no access",
    label = "made by the methods of `Task`, such as `read` and `update`"
)]
pub trait Access: 'static {
    /// What the body receives.
    type View<'v>;

    /// Makes the view of the next argument of a frame.
    ///
    /// # Safety
    /// The frame's next argument was declared with this access, and the task has been granted it.
    #[doc(hidden)]
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> Self::View<'v>;
}

/// The accesses of a task, in the order in which they were declared; decides what its body receives.
pub trait Accesses: 'static {
    /// What the body receives.
    type Views<'v>;

    /// Makes the views of all arguments of a frame.
    ///
    /// # Safety
    /// The frame's arguments are those that were declared with these accesses, and the task has been granted them.
    #[doc(hidden)]
    unsafe fn views<'v>(frame: &mut Frame<'v>) -> Self::Views<'v>;
}

macro_rules! lists {
    ($(($($a:ident $x:ident),*))*) => { $(
        impl<$($a: Access),*> Accesses for ($($a,)*) {
            type Views<'v> = ($($a::View<'v>,)*);
            #[inline]
            #[allow(clippy::unused_unit, reason = "the list may be empty")]
            unsafe fn views<'v>(_frame: &mut Frame<'v>) -> Self::Views<'v> {
                // SAFETY: promised by the caller.
                ($(unsafe { $a::view(_frame) },)*)
            }
        }
    )* };
}
for_each_arity!(lists);

/// The body reads.
pub struct Read<R>(PhantomData<R>);
/// The body writes everything, and finds nothing of use there.
pub struct Write<R>(PhantomData<R>);
/// The body reads and writes.
pub struct Update<R>(PhantomData<R>);
/// The body fills a private accumulator, which is folded in later.
pub struct Reduce<R>(PhantomData<R>);
/// The body reads and writes; the order among such tasks is free.
pub struct Commute<R>(PhantomData<R>);
/// The body gives the region to child tasks, and has no view of its own.
pub struct Lend<R>(PhantomData<R>);
/// The body has a buffer of its own.
pub struct Scratch<T>(PhantomData<T>);
/// The body has a value.
pub struct ByValue<T>(PhantomData<T>);
/// The body reads each region of a list.
pub struct ReadAll<R>(PhantomData<R>);
/// The body reads and writes each region of a list.
pub struct UpdateAll<R>(PhantomData<R>);

impl<R: Region> Access for Read<R> {
    type View<'v> = R::Ref<'v>;
    #[inline]
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> R::Ref<'v> {
        // SAFETY: the caller promises that the task may read this argument; nobody changes it until the task ends.
        unsafe { R::view(frame.place()) }
    }
}

macro_rules! exclusive {
    ($($access:ident)*) => { $(
        impl<R: Region> Access for $access<R> {
            type View<'v> = R::Mut<'v>;
            #[inline]
            unsafe fn view<'v>(frame: &mut Frame<'v>) -> R::Mut<'v> {
                // SAFETY: the caller promises that the task has this argument for itself; arguments of one task of which
                // one is changed do not overlap, which was checked at submission.
                unsafe { R::view_mut(frame.place()) }
            }
        }
    )* };
}
exclusive! { Write Update Commute }

impl<R: Region> Access for Reduce<R> {
    type View<'v> = R::Mut<'v>;
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> R::Mut<'v> {
        // SAFETY: the accumulator belongs to this run of the task alone, and is as long as the piece.
        unsafe { R::view_mut(frame.accumulator()) }
    }
}

/// Proof that a region was lent to the children of a task. Children name the region itself.
pub struct Lent<'v>(PhantomData<&'v ()>);

impl<R: Region> Access for Lend<R> {
    type View<'v> = Lent<'v>;
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> Lent<'v> {
        frame.skip();
        Lent(PhantomData)
    }
}

impl<T: Element> Access for Scratch<T> {
    type View<'v> = &'v mut [T];
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> &'v mut [T] {
        let (address, layout) = frame.scratch();
        let len = layout.size() / size_of::<T>().max(1);
        // SAFETY: the buffer has room for `len` elements, aligned for them, and belongs to this run of the task. A value
        // of zero bytes is valid for elements.
        unsafe {
            std::ptr::write_bytes(address, 0, layout.size());
            std::slice::from_raw_parts_mut(address.cast(), len)
        }
    }
}

impl<T: Element> Access for ByValue<T> {
    type View<'v> = T;
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> T {
        frame.value()
    }
}

/// Views of a list of regions that a task reads. They are made when asked for, so a long list costs nothing.
#[derive(Clone, Copy)]
pub struct Views<'v, R>(Places<'v>, PhantomData<R>);

impl<'v, R: Region> Views<'v, R> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The view of one region of the list.
    ///
    /// # Panics
    /// When the list is shorter.
    pub fn get(&self, index: usize) -> R::Ref<'v> {
        // SAFETY: the task reads every region of the list, so nobody changes them until it ends.
        unsafe { R::view(self.0.get(index)) }
    }

    /// All of them in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = R::Ref<'v>> + use<'v, R> {
        let views = Views::<'v, R>(self.0, PhantomData);
        (0..views.len()).map(move |i| views.get(i))
    }
}

/// Views of a list of regions that a task reads and writes.
pub struct ViewsMut<'v, R>(Places<'v>, PhantomData<R>);

impl<'v, R: Region> ViewsMut<'v, R> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The view of one region of the list, to read.
    ///
    /// # Panics
    /// When the list is shorter.
    pub fn get(&self, index: usize) -> R::Ref<'_> {
        // SAFETY: the task has the regions for itself, and a shared borrow of the list keeps mutable views away.
        unsafe { R::view(self.0.get(index)) }
    }

    /// The view of one region of the list.
    ///
    /// # Panics
    /// When the list is shorter.
    pub fn get_mut(&mut self, index: usize) -> R::Mut<'_> {
        // SAFETY: the task has the regions for itself, and the list is borrowed for as long as the view lives.
        unsafe { R::view_mut(self.0.get(index)) }
    }

    /// All of them in order, at once.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = R::Mut<'_>> {
        let places = self.0;
        // SAFETY: the task has the regions for itself; no two overlap, which was checked at submission; and the list is
        // borrowed for as long as the views live.
        (0..places.len()).map(move |i| unsafe { R::view_mut(places.get(i)) })
    }
}

impl<R: Region> Access for ReadAll<R> {
    type View<'v> = Views<'v, R>;
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> Views<'v, R> {
        Views(frame.places(), PhantomData)
    }
}

impl<R: Region> Access for UpdateAll<R> {
    type View<'v> = ViewsMut<'v, R>;
    unsafe fn view<'v>(frame: &mut Frame<'v>) -> ViewsMut<'v, R> {
        ViewsMut(frame.places(), PhantomData)
    }
}
