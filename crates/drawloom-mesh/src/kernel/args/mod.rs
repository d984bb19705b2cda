//! The arguments of a kernel: how each kind is found, shown to the kernel, and put back.
//!
//! Every kind is a type, so a loop is compiled for exactly its arguments, with the kernel in the middle. There are two
//! ways through each: the *plain* one, where a kernel works on the data in place, and the general one, where it works on
//! copies that are gathered before and put back after. On the second one, several iterations can be gathered at once, so
//! that the compiler finds the same operation for all of them side by side. All give the same bits.
//!
//! | file | what is in it |
//! |---|---|
//! | `dats` | reading, writing and updating dats |
//! | `contribute` | contributing to dats |
//! | `globals` | reading, changing and contributing to globals |
//! | `others` | numbers of elements, sizes of sets, and arguments that may be absent |

mod contribute;
mod dats;
mod globals;
mod others;

pub(crate) use contribute::{ContributeAt, ContributeHere, ContributeThere};
pub(crate) use dats::{Read, ReadWhole, Update, UpdateWhole, Write, WriteWhole};
pub(crate) use globals::{ContributeGlobal, ContributeWith, ReadGlobal, UpdateGlobal};
pub(crate) use others::{Index, Optional, Size};

use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::lanes::GROUP;
use super::place::Place;

/// One argument of a kernel.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a kernel",
    label = "made by the methods of a loop, such as `read` and `inc`"
)]
pub trait LoopArg: Send + Sync + 'static {
    /// What the kernel receives.
    type View<'v>;
    /// What is kept beside the data while the kernel runs.
    #[doc(hidden)]
    type Local;

    /// # Safety
    /// As `view`.
    #[doc(hidden)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local;

    /// # Safety
    /// The place is that of an argument of this kind; the iteration exists; and its element may be read, and also changed
    /// if this kind changes it, by the calling thread alone. With `PLAIN`, the place is plain.
    #[doc(hidden)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> Self::View<'v>;

    /// Puts back what the kernel did. False when it did not do what it must.
    ///
    /// # Safety
    /// As `view`.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(_: &Place, _: usize, _: &mut Self::Local) -> bool {
        true
    }

    /// How contributions are kept and folded, for arguments that contribute.
    #[doc(hidden)]
    fn folding() -> Option<Folding> {
        None
    }

    /// Where the values of some iterations lie, component by component.
    #[doc(hidden)]
    type Lanes;
    /// Whether the kernel may run for some iterations before what it did is put back for the first of them.
    #[doc(hidden)]
    const IN_LANES: bool = true;

    /// Brings what the kernel reads in the next iterations.
    ///
    /// # Safety
    /// As `view`, for [`LANES`](super::lanes::LANES) iterations; the place is plain. On x86-64, the processor has AVX.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn gather(_: &Place, _: usize, _: &mut MaybeUninit<Self::Lanes>) {}

    /// As `prepare`, of what was brought for a lane.
    ///
    /// # Safety
    /// `gather` was called.
    #[doc(hidden)]
    unsafe fn fetch(lanes: &MaybeUninit<Self::Lanes>, lane: usize) -> Self::Local;

    /// Keeps what the kernel did in a lane. False when it did not do what it must.
    #[doc(hidden)]
    #[inline(always)]
    fn keep(_: &mut MaybeUninit<Self::Lanes>, _: usize, _: &Self::Local) -> bool {
        true
    }

    /// What `finish` puts back of a few lanes.
    ///
    /// # Safety
    /// `keep` was called, and true, for these lanes. On x86-64, the processor has AVX.
    #[doc(hidden)]
    unsafe fn rows(lanes: &MaybeUninit<Self::Lanes>, first: usize) -> [Self::Local; GROUP];
}

/// The lanes of an argument that brings nothing and puts nothing back.
macro_rules! nothing_in_lanes {
    ($($local:expr)?) => {
        type Lanes = ();

        #[inline(always)]
        unsafe fn fetch(_: &std::mem::MaybeUninit<()>, _: usize) -> Self::Local {
            $($local)?
        }

        #[inline(always)]
        unsafe fn rows(_: &std::mem::MaybeUninit<()>, _: usize) -> [Self::Local; crate::kernel::lanes::GROUP] {
            std::array::from_fn(|_| { $($local)? })
        }
    };
}
pub(super) use nothing_in_lanes;

/// How contributions to an argument are kept apart and folded, by bytes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    /// The bytes of one contribution, a multiple of its alignment of at most 16.
    pub(crate) size: usize,
    /// Makes the contribution that changes nothing.
    pub(crate) identity: unsafe fn(*mut u8),
    /// Folds the second contribution, which comes later, into the first.
    pub(crate) fold: unsafe fn(*mut u8, *const u8),
    /// Folds a contribution into the element of a dat, or into the value of a global; its payload is the second address.
    pub(crate) apply: unsafe fn(&Place, usize, *mut u8, *const u8),
    /// Where a contribution says which element it is of, if equal ones count by that.
    pub(crate) element_at: Option<usize>,
}

/// How an iteration leads to one element.
pub trait Single: Send + Sync + 'static {
    #[doc(hidden)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize) -> usize;
}

/// The element of the iteration itself.
#[derive(Debug)]
pub struct Direct;
/// The element that a column of a map with `A` columns leads to.
#[derive(Debug)]
pub struct Column<const A: usize>;

impl Single for Direct {
    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize) -> usize {
        if !PLAIN && place.fixed { 0 } else { iteration }
    }
}

impl<const A: usize> Single for Column<A> {
    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize) -> usize {
        // SAFETY: the iteration exists, so the table has a row for it; the place starts at the column.
        unsafe { index_in::<PLAIN, A>(place, iteration, 0) }
    }
}

/// # Safety
/// The iteration exists, and so does the column, counted from where the place starts.
#[inline(always)]
pub(super) unsafe fn index_in<const PLAIN: bool, const A: usize>(
    place: &Place,
    iteration: usize,
    column: usize,
) -> usize {
    if !PLAIN && place.fixed {
        return column;
    }
    // SAFETY: the table of a map has `A` entries for each iteration.
    unsafe { *place.table.add(iteration * A + column) as usize }
}

/// The address of an element whose components lie side by side.
#[inline(always)]
pub(super) unsafe fn at<T, const N: usize>(place: &Place, index: usize) -> *mut [T; N] {
    // SAFETY: the caller vouches for the element.
    unsafe { place.base.cast::<[T; N]>().add(index) }
}

#[inline(always)]
pub(super) unsafe fn load<const PLAIN: bool, T: Element, const N: usize>(place: &Place, index: usize) -> [T; N] {
    if PLAIN || place.distance == 0 {
        // SAFETY: the caller vouches for the element.
        return unsafe { *at(place, index) };
    }
    let first = place.base.cast::<T>();
    // SAFETY: as above; the components of an element lie `distance` apart.
    std::array::from_fn(|c| unsafe { *first.add(c * place.distance + index) })
}

#[inline(always)]
pub(super) unsafe fn store<const PLAIN: bool, T: Element, const N: usize>(place: &Place, index: usize, value: [T; N]) {
    if PLAIN || place.distance == 0 {
        // SAFETY: the caller vouches for the element.
        unsafe { *at(place, index) = value };
        return;
    }
    let first = place.base.cast::<T>();
    for (c, value) in value.into_iter().enumerate() {
        // SAFETY: as in `load`.
        unsafe { *first.add(c * place.distance + index) = value };
    }
}
