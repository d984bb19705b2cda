//! The arguments of a kernel: how each kind is found, shown to the kernel, and put back.
//!
//! Every kind is a type, so a loop is compiled for exactly its arguments, with the kernel in the middle. There are two
//! ways through each: the *plain* one, where a kernel works on the data in place, and the general one, where it works on
//! copies that are gathered before and put back after. On the second one, several iterations can be gathered at once, so
//! that the compiler finds the same operation for all of them side by side. All give the same bits.
//!
//! | file | what is in it |
//! |---|---|
//! | `path` | how an iteration leads to elements: directly, through one column of a map, through all |
//! | `dats` | reading, writing and updating dats |
//! | `contribute` | contributing to dats and to globals |
//! | `globals` | reading globals, and contributing to them with a payload |
//! | `others` | numbers of elements, sizes of sets, and arguments that may be absent |

mod contribute;
mod dats;
mod globals;
mod others;
mod path;

pub(crate) use contribute::Contribute;
pub(crate) use dats::{Read, Update, Write};
pub(crate) use globals::{ContributeWith, ReadGlobal};
pub(crate) use others::{Index, Optional, Size};
pub(crate) use path::{All, Column, Direct, Fixed, Path};

use drawloom_runtime::Element;

use super::lanes::GROUP;
use super::place::Place;
use super::sealed::Sealed;
use crate::mesh::store::Validity;

/// One argument of a kernel. Only the arguments of this crate implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a kernel",
    label = "made by the methods of a loop, such as `read` and `inc`"
)]
pub trait LoopArg: Sealed + Send + Sync + 'static {
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
    /// if this kind changes it, by the calling thread alone. With `PLAIN`, the place is plain. `prepare` or `fetch` made
    /// the local value, for the same place and iteration.
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

    /// Room for the values of some iterations.
    #[doc(hidden)]
    fn lanes() -> Self::Lanes;

    /// Brings what the kernel reads in the next iterations.
    ///
    /// # Safety
    /// As `view`, for [`LANES`](super::lanes::LANES) iterations; the place is plain. On x86-64, the processor has AVX.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn gather(_: &Place, _: usize, _: &mut Self::Lanes) {}

    /// As `prepare`, of what was brought for a lane.
    ///
    /// # Safety
    /// `IN_LANES` holds, and `gather` was called.
    #[doc(hidden)]
    unsafe fn fetch(lanes: &Self::Lanes, lane: usize) -> Self::Local;

    /// Keeps what the kernel did in a lane. False when it did not do what it must.
    ///
    /// # Safety
    /// `fetch` made the local value.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn keep(_: &mut Self::Lanes, _: usize, _: &Self::Local) -> bool {
        true
    }

    /// What `finish` puts back of a few lanes.
    ///
    /// # Safety
    /// `keep` was called, and true, for these lanes. On x86-64, the processor has AVX.
    #[doc(hidden)]
    unsafe fn rows(lanes: &Self::Lanes, first: usize) -> [Self::Local; GROUP];
}

/// The lanes of an argument that brings nothing and puts nothing back.
macro_rules! nothing_in_lanes {
    ($($local:expr)?) => {
        type Lanes = ();

        #[inline(always)]
        fn lanes() {}

        #[inline(always)]
        unsafe fn fetch((): &(), _: usize) -> Self::Local {
            $($local)?
        }

        #[inline(always)]
        unsafe fn rows((): &(), _: usize) -> [Self::Local; crate::kernel::lanes::GROUP] {
            std::array::from_fn(|_| { $($local)? })
        }
    };
}
pub(super) use nothing_in_lanes;

/// How contributions to an argument are kept apart and folded, by bytes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    /// The bytes of one contribution, a multiple of its alignment, which is at most that of a slot.
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// Whether some bytes, as many as a contribution has, are one; none if all bytes are.
    pub(crate) is_valid: Option<Validity>,
    /// Makes the contribution that changes nothing. Bytes between its members stay as they are.
    pub(crate) identity: unsafe fn(*mut u8),
    /// Folds the second contribution, which comes later, into the first.
    pub(crate) fold: unsafe fn(*mut u8, *const u8),
    /// Folds a contribution into the element of a dat, or into the value of a global; its payload is the second address.
    pub(crate) apply: unsafe fn(&Place, usize, *mut u8, *const u8),
    /// Where a contribution says which element it is of, if equal ones count by that.
    pub(crate) element_at: Option<usize>,
}

#[cfg(feature = "messages")]
impl Folding {
    /// Makes the contribution that changes nothing of some bytes.
    ///
    /// # Panics
    /// When there is no room for one.
    pub(crate) fn write_identity(&self, at: &mut [u8]) {
        self.check_room(at);
        // SAFETY: there is room for one contribution, at an address that suits it.
        unsafe { (self.identity)(at.as_mut_ptr()) };
    }

    /// Folds a contribution, which comes later, into another one.
    ///
    /// # Panics
    /// When the bytes of one of them are none.
    pub(crate) fn fold_bytes(&self, into: &mut [u8], from: &[u8]) {
        self.check(into);
        self.check(from);
        // SAFETY: both are contributions, at addresses that suit them.
        unsafe { (self.fold)(into.as_mut_ptr(), from.as_ptr()) };
    }

    /// Refuses bytes that are no contribution.
    ///
    /// # Panics
    /// When they are none.
    pub(crate) fn check(&self, bytes: &[u8]) {
        self.check_room(bytes);
        let is_valid = self.is_valid.is_none_or(|is_valid| is_valid(bytes));
        assert!(is_valid, "a contribution holds bytes that are no value of its type");
    }

    fn check_room(&self, bytes: &[u8]) {
        let is_aligned = bytes.as_ptr().align_offset(self.align) == 0;
        assert!(bytes.len() == self.size && is_aligned, "a record has another size or alignment than its layout");
    }
}

/// The address of an element whose components lie side by side.
#[inline(always)]
pub(super) unsafe fn at<T, const N: usize>(place: &Place, index: usize) -> *mut [T; N] {
    // SAFETY: the caller vouches for the element.
    unsafe { place.base.cast::<[T; N]>().add(index) }
}

#[inline(always)]
pub(super) unsafe fn load<T: Element, const N: usize>(place: &Place, index: usize) -> [T; N] {
    // SAFETY: the caller vouches for the element.
    unsafe { *at(place, index) }
}

#[inline(always)]
pub(super) unsafe fn store<T: Element, const N: usize>(place: &Place, index: usize, value: [T; N]) {
    // SAFETY: the caller vouches for the element.
    unsafe { *at(place, index) = value };
}
