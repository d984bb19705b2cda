//! Reading, changing and contributing to globals.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::contribute::{apply_to_dat, folding_of};
use super::{Folding, LoopArg, nothing_in_lanes};
use crate::element::Ordered;
use crate::kernel::accumulate::{HighestWith, LowestWith};
use crate::kernel::lanes::GROUP;
use crate::kernel::operator::{Lowering, Operator, Raising};
use crate::kernel::place::Place;

/// The kernel reads a global.
pub struct ReadGlobal<T, const N: usize>(PhantomData<T>);

impl<T: Element, const N: usize> LoopArg for ReadGlobal<T, N> {
    type View<'v> = &'v [T; N];
    type Local = MaybeUninit<[T; N]>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, _: usize) -> Self::Local {
        if PLAIN {
            return MaybeUninit::uninit();
        }
        // SAFETY: promised by the caller.
        unsafe { *place.base.cast() }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, local: &'v mut Self::Local) -> &'v [T; N] {
        // SAFETY: promised by the caller; a copy was made on the general way.
        unsafe { if PLAIN { &*place.base.cast() } else { local.assume_init_ref() } }
    }

    // The same for all lanes. A copy, as nothing that the kernel writes can be taken for a change of it.
    type Lanes = [T; N];

    #[inline(always)]
    unsafe fn gather(place: &Place, _: usize, lanes: &mut MaybeUninit<[T; N]>) {
        // SAFETY: promised by the caller.
        *lanes = unsafe { *place.base.cast() };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &MaybeUninit<[T; N]>, _: usize) -> Self::Local {
        *lanes
    }

    #[inline(always)]
    unsafe fn rows(_: &MaybeUninit<[T; N]>, _: usize) -> [Self::Local; GROUP] {
        [const { MaybeUninit::uninit() }; GROUP]
    }
}

/// Scalar code changes a global.
pub struct UpdateGlobal<T, const N: usize>(PhantomData<T>);

impl<T: Element, const N: usize> LoopArg for UpdateGlobal<T, N> {
    type View<'v> = &'v mut [T; N];
    type Local = ();
    const IN_LANES: bool = false;
    nothing_in_lanes!();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> &'v mut [T; N] {
        // SAFETY: promised by the caller.
        unsafe { &mut *place.base.cast() }
    }
}

/// The kernel contributes to a global.
pub struct ContributeGlobal<O, T, const N: usize>(PhantomData<(O, T)>);

impl<O: Operator<T>, T: Element, const N: usize> LoopArg for ContributeGlobal<O, T, N> {
    type View<'v> = &'v mut [O::Cell; N];
    type Local = ();
    // One accumulator for all lanes is what makes lanes wait for each other.
    const IN_LANES: bool = false;
    nothing_in_lanes!();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> &'v mut [O::Cell; N] {
        // SAFETY: promised by the caller: the base is an accumulator. A cell has the bytes of the number in it.
        unsafe { &mut *place.base.cast() }
    }

    fn folding() -> Option<Folding> {
        Some(folding_of::<O, T, N>(apply_to_dat::<O, T, N>))
    }
}

/// The kernel contributes to a global, with something that belongs to the contribution.
pub struct ContributeWith<O, T, P>(PhantomData<(O, T, P)>);

macro_rules! contribute_with {
    ($operator:ident $cell:ident $compare:tt $identity:ident) => {
        impl<T: Ordered, P: Element> LoopArg for ContributeWith<$operator, T, P> {
            type View<'v> = &'v mut $cell<T, P>;
            type Local = ();
            const IN_LANES: bool = false;
            nothing_in_lanes!();

            #[inline(always)]
            unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

            #[inline(always)]
            unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> Self::View<'v> {
                // SAFETY: promised by the caller: the base is an accumulator.
                unsafe { &mut *place.base.cast() }
            }

            fn folding() -> Option<Folding> {
                unsafe fn identity<T: Ordered, P: Element>(at: *mut u8) {
                    // SAFETY: the caller gives room for one contribution. An element may be all zeros.
                    unsafe {
                        let payload = std::mem::zeroed();
                        at.cast::<$cell<T, P>>().write($cell { value: T::$identity, payload, element: u32::MAX });
                    };
                }
                unsafe fn fold<T: Ordered, P: Element>(into: *mut u8, from: *const u8) {
                    // SAFETY: the caller gives two contributions.
                    unsafe {
                        let (from, into) = (&*from.cast::<$cell<T, P>>(), &mut *into.cast::<$cell<T, P>>());
                        let is_first = from.value == into.value && from.element < into.element;
                        if from.value $compare into.value || is_first {
                            (into.value, into.payload, into.element) = (from.value, from.payload, from.element);
                        }
                    }
                }
                unsafe fn apply<T: Ordered, P: Element>(place: &Place, _: usize, payload: *mut u8, from: *const u8) {
                    // SAFETY: the caller gives a contribution, and the addresses of a global and of its payload; and where
                    // contributions come in any order, that of the element whose contribution the global has.
                    unsafe {
                        let from = &*from.cast::<$cell<T, P>>();
                        let (value, element) = (place.base.cast::<T>(), place.stage.cast::<u32>());
                        let is_first = from.value == *value && !element.is_null() && from.element < *element;
                        if from.value $compare *value || is_first {
                            *value = from.value;
                            *payload.cast::<P>() = from.payload;
                            if !element.is_null() {
                                *element = from.element;
                            }
                        }
                    }
                }
                Some(Folding {
                    size: size_of::<$cell<T, P>>(),
                    identity: identity::<T, P>,
                    fold: fold::<T, P>,
                    apply: apply::<T, P>,
                    element_at: Some(std::mem::offset_of!($cell<T, P>, element)),
                })
            }
        }
    };
}
contribute_with! { Lowering LowestWith < HIGHEST }
contribute_with! { Raising HighestWith > LOWEST }
