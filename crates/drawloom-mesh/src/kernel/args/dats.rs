//! Reading, writing and updating dats.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::{LoopArg, Single, at, index_in, load, store};
use crate::kernel::accumulate::Out;
use crate::kernel::lanes::{Columns, GROUP, each_of, each_of_mut, rows_of_each};
use crate::kernel::place::Place;

/// The kernel reads one element.
pub struct Read<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Element, const N: usize> LoopArg for Read<R, T, N> {
    type View<'v> = &'v [T; N];
    type Local = MaybeUninit<[T; N]>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        if PLAIN {
            return MaybeUninit::uninit();
        }
        // SAFETY: promised by the caller.
        unsafe { MaybeUninit::new(load::<PLAIN, T, N>(place, R::index::<PLAIN>(place, iteration))) }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, iteration: usize, local: &'v mut Self::Local) -> &'v [T; N] {
        // SAFETY: promised by the caller; a copy was made on the general way.
        unsafe { if PLAIN { &*at(place, R::index::<PLAIN>(place, iteration)) } else { local.assume_init_ref() } }
    }

    type Lanes = Columns<T, N>;

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut MaybeUninit<Columns<T, N>>) {
        // SAFETY: promised by the caller, for every lane.
        unsafe { Columns::gather(lanes, |lane| at(place, R::index::<true>(place, iteration + lane))) };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &MaybeUninit<Columns<T, N>>, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        MaybeUninit::new(unsafe { Columns::row(lanes, lane) })
    }

    #[inline(always)]
    unsafe fn rows(_: &MaybeUninit<Columns<T, N>>, _: usize) -> [Self::Local; GROUP] {
        [const { MaybeUninit::uninit() }; GROUP]
    }
}

/// The kernel reads the elements that all columns of a map lead to.
pub struct ReadWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Element, const N: usize, const A: usize> LoopArg for ReadWhole<T, N, A> {
    type View<'v> = [&'v [T; N]; A];
    type Local = MaybeUninit<[[T; N]; A]>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        if PLAIN {
            return MaybeUninit::uninit();
        }
        // SAFETY: promised by the caller.
        let element = |c| unsafe { load::<PLAIN, T, N>(place, index_in::<PLAIN, A>(place, iteration, c)) };
        MaybeUninit::new(std::array::from_fn(element))
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> [&'v [T; N]; A] {
        if PLAIN {
            // SAFETY: promised by the caller.
            return std::array::from_fn(|c| unsafe { &*at(place, index_in::<PLAIN, A>(place, iteration, c)) });
        }
        // SAFETY: a copy was made on the general way.
        let copies = unsafe { local.assume_init_ref() };
        std::array::from_fn(|c| &copies[c])
    }

    type Lanes = [Columns<T, N>; A];

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut MaybeUninit<[Columns<T, N>; A]>) {
        for (c, columns) in each_of_mut(lanes).iter_mut().enumerate() {
            // SAFETY: promised by the caller, for every lane.
            unsafe { Columns::gather(columns, |lane| at(place, index_in::<true, A>(place, iteration + lane, c))) };
        }
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &MaybeUninit<[Columns<T, N>; A]>, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        MaybeUninit::new(std::array::from_fn(|c| unsafe { Columns::row(&each_of(lanes)[c], lane) }))
    }

    #[inline(always)]
    unsafe fn rows(_: &MaybeUninit<[Columns<T, N>; A]>, _: usize) -> [Self::Local; GROUP] {
        [const { MaybeUninit::uninit() }; GROUP]
    }
}

/// The kernel writes one element.
pub struct Write<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Element, const N: usize> LoopArg for Write<R, T, N> {
    type View<'v> = &'v mut Out<T, N>;
    type Local = Out<T, N>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) -> Out<T, N> {
        Out(None)
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(_: &Place, _: usize, local: &'v mut Out<T, N>) -> &'v mut Out<T, N> {
        local
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Out<T, N>) -> bool {
        let Some(value) = local.0 else { return false };
        // SAFETY: promised by the caller.
        unsafe {
            let index = R::index::<PLAIN>(place, iteration);
            if place.owns(index) {
                store::<PLAIN, T, N>(place, index, value);
            }
        }
        true
    }

    type Lanes = Columns<T, N>;

    #[inline(always)]
    unsafe fn fetch(_: &MaybeUninit<Columns<T, N>>, _: usize) -> Out<T, N> {
        Out(None)
    }

    #[inline(always)]
    fn keep(lanes: &mut MaybeUninit<Columns<T, N>>, lane: usize, local: &Out<T, N>) -> bool {
        local.0.is_some_and(|value| {
            Columns::set_row(lanes, lane, value);
            true
        })
    }

    #[inline(always)]
    unsafe fn rows(lanes: &MaybeUninit<Columns<T, N>>, first: usize) -> [Out<T, N>; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { Columns::rows(lanes, first) }.map(|value| Out(Some(value)))
    }
}

/// The kernel writes the elements that all columns of a map lead to.
pub struct WriteWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Element, const N: usize, const A: usize> LoopArg for WriteWhole<T, N, A> {
    type View<'v> = &'v mut [Out<T, N>; A];
    type Local = [Out<T, N>; A];

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) -> Self::Local {
        std::array::from_fn(|_| Out(None))
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(_: &Place, _: usize, local: &'v mut Self::Local) -> &'v mut [Out<T, N>; A] {
        local
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        for (c, out) in local.iter().enumerate() {
            let Some(value) = out.0 else { return false };
            // SAFETY: promised by the caller.
            unsafe { store::<PLAIN, T, N>(place, index_in::<PLAIN, A>(place, iteration, c), value) };
        }
        true
    }

    type Lanes = [Columns<T, N>; A];

    #[inline(always)]
    unsafe fn fetch(_: &MaybeUninit<[Columns<T, N>; A]>, _: usize) -> Self::Local {
        std::array::from_fn(|_| Out(None))
    }

    #[inline(always)]
    fn keep(lanes: &mut MaybeUninit<[Columns<T, N>; A]>, lane: usize, local: &Self::Local) -> bool {
        let mut all = true;
        for (columns, out) in each_of_mut(lanes).iter_mut().zip(local) {
            all &= out.0.is_some_and(|value| {
                Columns::set_row(columns, lane, value);
                true
            });
        }
        all
    }

    #[inline(always)]
    unsafe fn rows(lanes: &MaybeUninit<[Columns<T, N>; A]>, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { rows_of_each(lanes, first) }.map(|row| row.map(|value| Out(Some(value))))
    }
}

/// The kernel reads and changes one element.
pub struct Update<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Element, const N: usize> LoopArg for Update<R, T, N> {
    type View<'v> = &'v mut [T; N];
    type Local = MaybeUninit<[T; N]>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        unsafe { Read::<R, T, N>::prepare::<PLAIN>(place, iteration) }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> &'v mut [T; N] {
        // SAFETY: promised by the caller; a copy was made on the general way.
        unsafe { if PLAIN { &mut *at(place, R::index::<PLAIN>(place, iteration)) } else { local.assume_init_mut() } }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        if !PLAIN {
            // SAFETY: promised by the caller; a copy was made on the general way.
            unsafe { store::<PLAIN, T, N>(place, R::index::<PLAIN>(place, iteration), *local.assume_init_ref()) };
        }
        true
    }

    type Lanes = Columns<T, N>;

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut MaybeUninit<Columns<T, N>>) {
        // SAFETY: promised by the caller, for every lane.
        unsafe { Columns::gather(lanes, |lane| at(place, R::index::<true>(place, iteration + lane))) };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &MaybeUninit<Columns<T, N>>, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        MaybeUninit::new(unsafe { Columns::row(lanes, lane) })
    }

    #[inline(always)]
    fn keep(lanes: &mut MaybeUninit<Columns<T, N>>, lane: usize, local: &Self::Local) -> bool {
        // SAFETY: the copy of a lane was made by `fetch`.
        Columns::set_row(lanes, lane, unsafe { local.assume_init() });
        true
    }

    #[inline(always)]
    unsafe fn rows(lanes: &MaybeUninit<Columns<T, N>>, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { Columns::rows(lanes, first) }.map(MaybeUninit::new)
    }
}

/// The kernel reads and changes the elements that all columns of a map lead to.
pub struct UpdateWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Element, const N: usize, const A: usize> LoopArg for UpdateWhole<T, N, A> {
    type View<'v> = &'v mut [[T; N]; A];
    type Local = [[T; N]; A];

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        std::array::from_fn(|c| unsafe { load::<PLAIN, T, N>(place, index_in::<PLAIN, A>(place, iteration, c)) })
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(_: &Place, _: usize, local: &'v mut Self::Local) -> &'v mut [[T; N]; A] {
        local
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        for (c, value) in local.iter().enumerate() {
            // SAFETY: promised by the caller.
            unsafe { store::<PLAIN, T, N>(place, index_in::<PLAIN, A>(place, iteration, c), *value) };
        }
        true
    }

    type Lanes = [Columns<T, N>; A];

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut MaybeUninit<[Columns<T, N>; A]>) {
        for (c, columns) in each_of_mut(lanes).iter_mut().enumerate() {
            // SAFETY: promised by the caller, for every lane.
            unsafe { Columns::gather(columns, |lane| at(place, index_in::<true, A>(place, iteration + lane, c))) };
        }
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &MaybeUninit<[Columns<T, N>; A]>, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        std::array::from_fn(|c| unsafe { Columns::row(&each_of(lanes)[c], lane) })
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
