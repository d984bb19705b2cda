//! How an iteration leads to the elements of an argument.

use crate::kernel::place::Place;
use crate::kernel::sealed::Sealed;

/// How an iteration leads to one element, or to one through each column of a map.
pub trait Path: Sealed + Send + Sync + 'static {
    /// A value for each element: the value itself where there is one element, an array where there are several.
    #[doc(hidden)]
    type Each<X>;
    /// How many elements there are.
    #[doc(hidden)]
    const COLUMNS: usize;
    /// Whether several iterations may lead to the same element.
    #[doc(hidden)]
    const IS_MAP: bool;

    #[doc(hidden)]
    fn each<X>(of: impl FnMut(usize) -> X) -> Self::Each<X>;

    #[doc(hidden)]
    fn list<X>(each: &Self::Each<X>) -> &[X];

    #[doc(hidden)]
    fn list_mut<X>(each: &mut Self::Each<X>) -> &mut [X];

    /// The address of a single element as that of all of them; none where there are several.
    #[doc(hidden)]
    fn single<X>(element: *mut X) -> Option<*mut Self::Each<X>>;

    /// The number of the element that a column leads to.
    ///
    /// # Safety
    /// The place is that of an argument with this path; the iteration exists, and the column is below `COLUMNS`.
    #[doc(hidden)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize, column: usize) -> usize;
}

macro_rules! one_element {
    () => {
        type Each<X> = X;
        const COLUMNS: usize = 1;

        #[inline(always)]
        fn each<X>(mut of: impl FnMut(usize) -> X) -> X {
            of(0)
        }

        #[inline(always)]
        fn list<X>(each: &X) -> &[X] {
            std::slice::from_ref(each)
        }

        #[inline(always)]
        fn list_mut<X>(each: &mut X) -> &mut [X] {
            std::slice::from_mut(each)
        }

        #[inline(always)]
        fn single<X>(element: *mut X) -> Option<*mut X> {
            Some(element)
        }
    };
}

/// The element of the iteration itself.
#[derive(Debug)]
pub struct Direct;

impl Sealed for Direct {}

impl Path for Direct {
    one_element!();
    const IS_MAP: bool = false;

    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize, _: usize) -> usize {
        if !PLAIN && place.fixed { 0 } else { iteration }
    }
}

/// The value of a global, whatever the iteration.
#[derive(Debug)]
pub struct Fixed;

impl Sealed for Fixed {}

impl Path for Fixed {
    one_element!();
    const IS_MAP: bool = false;

    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(_: &Place, _: usize, _: usize) -> usize {
        0
    }
}

/// The element that a column of a map with `A` columns leads to.
#[derive(Debug)]
pub struct Column<const A: usize>;

impl<const A: usize> Sealed for Column<A> {}

impl<const A: usize> Path for Column<A> {
    one_element!();
    const IS_MAP: bool = true;

    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize, column: usize) -> usize {
        // SAFETY: promised by the caller; the place starts at the column.
        unsafe { index_in::<PLAIN, A>(place, iteration, column) }
    }
}

/// The elements that all columns of a map with `A` columns lead to.
#[derive(Debug)]
pub struct All<const A: usize>;

impl<const A: usize> Sealed for All<A> {}

impl<const A: usize> Path for All<A> {
    type Each<X> = [X; A];
    const COLUMNS: usize = A;
    const IS_MAP: bool = true;

    #[inline(always)]
    fn each<X>(of: impl FnMut(usize) -> X) -> [X; A] {
        std::array::from_fn(of)
    }

    #[inline(always)]
    fn list<X>(each: &[X; A]) -> &[X] {
        each
    }

    #[inline(always)]
    fn list_mut<X>(each: &mut [X; A]) -> &mut [X] {
        each
    }

    #[inline(always)]
    fn single<X>(_: *mut X) -> Option<*mut [X; A]> {
        None
    }

    #[inline(always)]
    unsafe fn index<const PLAIN: bool>(place: &Place, iteration: usize, column: usize) -> usize {
        // SAFETY: promised by the caller.
        unsafe { index_in::<PLAIN, A>(place, iteration, column) }
    }
}

/// # Safety
/// The iteration exists, and so does the column, counted from where the place starts.
#[inline(always)]
unsafe fn index_in<const PLAIN: bool, const A: usize>(place: &Place, iteration: usize, column: usize) -> usize {
    if !PLAIN && place.fixed {
        return column;
    }
    // SAFETY: the table of a map has `A` entries for each iteration.
    unsafe { *place.table.add(iteration * A + column) as usize }
}
