//! Reading, writing and updating dats.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::{LoopArg, Path, at, load, store};
use crate::kernel::accumulate::Out;
use crate::kernel::lanes::{Columns, GROUP, rows_of_each};
use crate::kernel::place::Place;
use crate::kernel::sealed::Sealed;

/// The kernel reads.
pub struct Read<P, T, const N: usize>(PhantomData<(P, T)>);

impl<P, T, const N: usize> Sealed for Read<P, T, N> {}

impl<P: Path, T: Element, const N: usize> LoopArg for Read<P, T, N> {
    type View<'v> = P::Each<&'v [T; N]>;
    type Local = P::Each<MaybeUninit<[T; N]>>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        if PLAIN {
            return P::each(|_| MaybeUninit::uninit());
        }
        // SAFETY: promised by the caller.
        P::each(|c| MaybeUninit::new(unsafe { load::<T, N>(place, P::index::<PLAIN>(place, iteration, c)) }))
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> P::Each<&'v [T; N]> {
        if PLAIN {
            // SAFETY: promised by the caller.
            return P::each(|c| unsafe { &*at(place, P::index::<PLAIN>(place, iteration, c)) });
        }
        let copies: &'v [MaybeUninit<[T; N]>] = P::list(local);
        // SAFETY: copies were made on the general way.
        P::each(|c| unsafe { copies[c].assume_init_ref() })
    }

    type Lanes = P::Each<Columns<T, N>>;

    #[inline(always)]
    fn lanes() -> Self::Lanes {
        P::each(|_| Columns::empty())
    }

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut Self::Lanes) {
        // SAFETY: promised by the caller.
        unsafe { gather::<P, T, N>(place, iteration, lanes) };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &Self::Lanes, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        P::each(|c| MaybeUninit::new(unsafe { P::list(lanes)[c].row(lane) }))
    }

    #[inline(always)]
    unsafe fn rows(_: &Self::Lanes, _: usize) -> [Self::Local; GROUP] {
        std::array::from_fn(|_| P::each(|_| MaybeUninit::uninit()))
    }
}

/// Brings the elements of all lanes.
///
/// # Safety
/// As [`LoopArg::gather`].
#[inline(always)]
unsafe fn gather<P: Path, T: Element, const N: usize>(
    place: &Place,
    iteration: usize,
    lanes: &mut P::Each<Columns<T, N>>,
) {
    for (c, columns) in P::list_mut(lanes).iter_mut().enumerate() {
        // SAFETY: promised by the caller, for every lane.
        unsafe { columns.gather(|lane| at(place, P::index::<true>(place, iteration + lane, c))) };
    }
}

/// The kernel writes.
pub struct Write<P, T, const N: usize>(PhantomData<(P, T)>);

impl<P, T, const N: usize> Sealed for Write<P, T, N> {}

impl<P: Path, T: Element, const N: usize> LoopArg for Write<P, T, N> {
    type View<'v> = &'v mut P::Each<Out<T, N>>;
    type Local = P::Each<Out<T, N>>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) -> Self::Local {
        P::each(|_| Out(None))
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(_: &Place, _: usize, local: &'v mut Self::Local) -> Self::View<'v> {
        local
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        for (c, out) in P::list(local).iter().enumerate() {
            let Some(value) = out.0 else { return false };
            // SAFETY: promised by the caller.
            unsafe {
                let index = P::index::<PLAIN>(place, iteration, c);
                if P::IS_MAP || place.owns(index) {
                    store::<T, N>(place, index, value);
                }
            }
        }
        true
    }

    type Lanes = P::Each<Columns<T, N>>;

    #[inline(always)]
    fn lanes() -> Self::Lanes {
        P::each(|_| Columns::empty())
    }

    #[inline(always)]
    unsafe fn fetch(_: &Self::Lanes, _: usize) -> Self::Local {
        P::each(|_| Out(None))
    }

    #[inline(always)]
    unsafe fn keep(lanes: &mut Self::Lanes, lane: usize, local: &Self::Local) -> bool {
        let mut all = true;
        for (columns, out) in P::list_mut(lanes).iter_mut().zip(P::list(local)) {
            match out.0 {
                Some(value) => columns.set_row(lane, value),
                None => all = false,
            }
        }
        all
    }

    #[inline(always)]
    unsafe fn rows(lanes: &Self::Lanes, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { rows_of_each::<P, T, N, _>(lanes, first, |value| Out(Some(value))) }
    }
}

/// The kernel reads and changes.
pub struct Update<P, T, const N: usize>(PhantomData<(P, T)>);

impl<P, T, const N: usize> Sealed for Update<P, T, N> {}

impl<P: Path, T: Element, const N: usize> LoopArg for Update<P, T, N> {
    type View<'v> = &'v mut P::Each<[T; N]>;
    type Local = MaybeUninit<P::Each<[T; N]>>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        if PLAIN && P::single::<u8>(place.base).is_some() {
            return MaybeUninit::uninit();
        }
        // SAFETY: promised by the caller.
        let element = |c| unsafe { load::<T, N>(place, P::index::<PLAIN>(place, iteration, c)) };
        MaybeUninit::new(P::each(element))
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> &'v mut P::Each<[T; N]> {
        // SAFETY: promised by the caller; copies were made unless there is a single element, which is plain.
        unsafe {
            if PLAIN && let Some(element) = P::single(at(place, P::index::<PLAIN>(place, iteration, 0))) {
                &mut *element
            } else {
                local.assume_init_mut()
            }
        }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        if PLAIN && P::single::<u8>(place.base).is_some() {
            return true;
        }
        // SAFETY: promised by the caller; copies were made, as above.
        unsafe {
            for (c, value) in P::list(local.assume_init_ref()).iter().enumerate() {
                store::<T, N>(place, P::index::<PLAIN>(place, iteration, c), *value);
            }
        }
        true
    }

    type Lanes = P::Each<Columns<T, N>>;

    #[inline(always)]
    fn lanes() -> Self::Lanes {
        P::each(|_| Columns::empty())
    }

    #[inline(always)]
    unsafe fn gather(place: &Place, iteration: usize, lanes: &mut Self::Lanes) {
        // SAFETY: promised by the caller.
        unsafe { gather::<P, T, N>(place, iteration, lanes) };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &Self::Lanes, lane: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        MaybeUninit::new(P::each(|c| unsafe { P::list(lanes)[c].row(lane) }))
    }

    #[inline(always)]
    unsafe fn keep(lanes: &mut Self::Lanes, lane: usize, local: &Self::Local) -> bool {
        // SAFETY: promised by the caller: `fetch` made a copy.
        let values = P::list(unsafe { local.assume_init_ref() });
        P::list_mut(lanes).iter_mut().zip(values).for_each(|(columns, value)| columns.set_row(lane, *value));
        true
    }

    #[inline(always)]
    unsafe fn rows(lanes: &Self::Lanes, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { rows_of_each::<P, T, N, _>(lanes, first, |value| value) }.map(MaybeUninit::new)
    }
}
