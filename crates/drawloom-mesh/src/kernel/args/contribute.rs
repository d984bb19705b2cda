//! Contributing to dats.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::dats::Update;
use super::{Direct, Folding, LoopArg, index_in, load, nothing_in_lanes, store};
use crate::kernel::lanes::{Columns, GROUP, each_of_mut, rows_of_each};
use crate::kernel::operator::Operator;
use crate::kernel::place::Place;

/// Folds one contribution into an element.
///
/// # Safety
/// The element exists, and is the calling thread's to change.
#[inline(always)]
unsafe fn contribute<const PLAIN: bool, O: Operator<T>, T: Element, const N: usize>(
    place: &Place,
    index: usize,
    value: [T; N],
) {
    // SAFETY: promised by the caller.
    unsafe {
        let before = load::<PLAIN, T, N>(place, index);
        store::<PLAIN, T, N>(place, index, std::array::from_fn(|c| O::fold(before[c], value[c])));
    }
}

/// How contributions of `N` numbers are folded.
pub(super) fn folding_of<O: Operator<T>, T: Element, const N: usize>(
    apply: unsafe fn(&Place, usize, *mut u8, *const u8),
) -> Folding {
    unsafe fn identity<O: Operator<T>, T, const N: usize>(at: *mut u8) {
        // SAFETY: the caller gives room for one contribution.
        unsafe { at.cast::<[T; N]>().write(const { [O::IDENTITY; N] }) };
    }
    unsafe fn fold<O: Operator<T>, T: Element, const N: usize>(into: *mut u8, from: *const u8) {
        // SAFETY: the caller gives two contributions.
        unsafe {
            let (into, from) = (into.cast::<[T; N]>(), *from.cast::<[T; N]>());
            let before = *into;
            *into = std::array::from_fn(|c| O::fold(before[c], from[c]));
        }
    }
    Folding { size: size_of::<[T; N]>(), identity: identity::<O, T, N>, fold: fold::<O, T, N>, apply, element_at: None }
}

/// Folds a contribution into the element of a dat, or into a global, which is as a dat of one element.
pub(super) unsafe fn apply_to_dat<O: Operator<T>, T: Element, const N: usize>(
    place: &Place,
    index: usize,
    _: *mut u8,
    from: *const u8,
) {
    // SAFETY: promised by the caller.
    unsafe { contribute::<false, O, T, N>(place, index, *from.cast()) };
}

/// The kernel contributes to the element of its own iteration: straight into the data.
pub struct ContributeHere<O, T, const N: usize>(PhantomData<(O, T)>);

impl<O: Operator<T>, T: Element, const N: usize> LoopArg for ContributeHere<O, T, N> {
    type View<'v> = &'v mut [O::Cell; N];
    type Local = MaybeUninit<[T; N]>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        unsafe { Update::<Direct, T, N>::prepare::<PLAIN>(place, iteration) }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> &'v mut [O::Cell; N] {
        // SAFETY: promised by the caller; a cell has the bytes of the number in it.
        unsafe { &mut *std::ptr::from_mut(Update::<Direct, T, N>::view::<PLAIN>(place, iteration, local)).cast() }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        // SAFETY: promised by the caller.
        unsafe { Update::<Direct, T, N>::finish::<PLAIN>(place, iteration, local) }
    }

    fn folding() -> Option<Folding> {
        Some(folding_of::<O, T, N>(apply_to_dat::<O, T, N>))
    }

    // The same loop may contribute to the same dat through a map: what other lanes add then must be there.
    const IN_LANES: bool = false;
    nothing_in_lanes!(MaybeUninit::uninit());
}

/// The kernel contributes to the elements that one or all columns of a map lead to.
pub struct ContributeThere<O, T, const N: usize, const A: usize>(PhantomData<(O, T)>);

/// Puts the contributions of one iteration, through `C` columns of a map with `A`, where they belong.
///
/// # Safety
/// As [`LoopArg::view`].
#[inline(always)]
unsafe fn put_back<const PLAIN: bool, O: Operator<T>, T: Element, const N: usize, const A: usize, const C: usize>(
    place: &Place,
    iteration: usize,
    local: &[[T; N]; C],
) {
    if !PLAIN && !place.stage.is_null() {
        // SAFETY: the stage has room for the contributions of every iteration that is run with it.
        unsafe { *place.stage.cast::<[[T; N]; C]>().add(iteration) = *local };
        return;
    }
    for (c, value) in local.iter().enumerate() {
        // SAFETY: promised by the caller.
        unsafe {
            let index = index_in::<PLAIN, A>(place, iteration, c);
            if place.owns(index) {
                contribute::<PLAIN, O, T, N>(place, index, *value);
            }
        }
    }
}

/// The kernel contributes to the element that one column of a map leads to.
pub struct ContributeAt<O, T, const N: usize, const A: usize>(PhantomData<(O, T)>);

impl<O: Operator<T>, T: Element, const N: usize, const A: usize> LoopArg for ContributeAt<O, T, N, A> {
    type View<'v> = &'v mut [O::Cell; N];
    type Local = [[T; N]; 1];

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) -> Self::Local {
        const { [[O::IDENTITY; N]; 1] }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(_: &Place, _: usize, local: &'v mut Self::Local) -> &'v mut [O::Cell; N] {
        // SAFETY: a cell has the bytes of the number in it.
        unsafe { &mut *std::ptr::from_mut(&mut local[0]).cast() }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        // SAFETY: promised by the caller.
        unsafe { put_back::<PLAIN, O, T, N, A, 1>(place, iteration, local) };
        true
    }

    fn folding() -> Option<Folding> {
        Some(folding_of::<O, T, N>(apply_to_dat::<O, T, N>))
    }

    type Lanes = Columns<T, N>;

    #[inline(always)]
    unsafe fn fetch(_: &MaybeUninit<Columns<T, N>>, _: usize) -> Self::Local {
        const { [[O::IDENTITY; N]; 1] }
    }

    #[inline(always)]
    fn keep(lanes: &mut MaybeUninit<Columns<T, N>>, lane: usize, local: &Self::Local) -> bool {
        Columns::set_row(lanes, lane, local[0]);
        true
    }

    #[inline(always)]
    unsafe fn rows(lanes: &MaybeUninit<Columns<T, N>>, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { Columns::rows(lanes, first) }.map(|value| [value])
    }
}

impl<O: Operator<T>, T: Element, const N: usize, const A: usize> LoopArg for ContributeThere<O, T, N, A> {
    type View<'v> = &'v mut [[O::Cell; N]; A];
    type Local = [[T; N]; A];

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) -> Self::Local {
        const { [[O::IDENTITY; N]; A] }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        _: &Place,
        _: usize,
        local: &'v mut Self::Local,
    ) -> &'v mut [[O::Cell; N]; A] {
        // SAFETY: a cell has the bytes of the number in it.
        unsafe { &mut *std::ptr::from_mut(local).cast() }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        // SAFETY: promised by the caller.
        unsafe { put_back::<PLAIN, O, T, N, A, A>(place, iteration, local) };
        true
    }

    fn folding() -> Option<Folding> {
        Some(folding_of::<O, T, N>(apply_to_dat::<O, T, N>))
    }

    type Lanes = [Columns<T, N>; A];

    #[inline(always)]
    unsafe fn fetch(_: &MaybeUninit<[Columns<T, N>; A]>, _: usize) -> Self::Local {
        const { [[O::IDENTITY; N]; A] }
    }

    #[inline(always)]
    fn keep(lanes: &mut MaybeUninit<[Columns<T, N>; A]>, lane: usize, local: &Self::Local) -> bool {
        for (columns, value) in each_of_mut(lanes).iter_mut().zip(local) {
            Columns::set_row(columns, lane, *value);
        }
        true
    }

    #[inline(always)]
    unsafe fn rows(lanes: &MaybeUninit<[Columns<T, N>; A]>, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { rows_of_each(lanes, first) }
    }
}
