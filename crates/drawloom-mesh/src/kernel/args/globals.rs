//! Reading globals, and contributing to them with a payload.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::{Folding, LoopArg, nothing_in_lanes};
use crate::element::Ordered;
use crate::kernel::accumulate::{HighestWith, LowestWith};
use crate::kernel::lanes::GROUP;
use crate::kernel::operator::{Lowering, Raising};
use crate::kernel::place::Place;
use crate::kernel::sealed::Sealed;
use crate::run::Slot;

/// The kernel reads a global.
pub struct ReadGlobal<T, const N: usize>(PhantomData<T>);

impl<T, const N: usize> Sealed for ReadGlobal<T, N> {}

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

    // The same for all lanes. A copy, as nothing that the kernel writes can be taken for a change of it. Without a branch on
    // whether it was made, which would keep the compiler from using vector instructions.
    type Lanes = MaybeUninit<[T; N]>;

    #[inline(always)]
    fn lanes() -> Self::Lanes {
        MaybeUninit::uninit()
    }

    #[inline(always)]
    unsafe fn gather(place: &Place, _: usize, lanes: &mut Self::Lanes) {
        // SAFETY: promised by the caller.
        *lanes = unsafe { *place.base.cast() };
    }

    #[inline(always)]
    unsafe fn fetch(lanes: &Self::Lanes, _: usize) -> Self::Local {
        *lanes
    }

    #[inline(always)]
    unsafe fn rows(_: &Self::Lanes, _: usize) -> [Self::Local; GROUP] {
        [const { MaybeUninit::uninit() }; GROUP]
    }
}

/// The kernel contributes to a global, with something that belongs to the contribution.
///
/// It works on a copy, which is read and written member by member: bytes between the members keep their values, so that all
/// bytes of a contribution can be sent.
pub struct ContributeWith<O, T, P>(PhantomData<(O, T, P)>);

impl<O, T, P> Sealed for ContributeWith<O, T, P> {}

macro_rules! contribute_with {
    ($operator:ident $cell:ident $compare:tt $identity:ident) => {
        impl<T: Ordered, P: Element> LoopArg for ContributeWith<$operator, T, P> {
            type View<'v> = &'v mut $cell<T, P>;
            type Local = Option<$cell<T, P>>;
            const IN_LANES: bool = false;
            nothing_in_lanes!(None);

            #[inline(always)]
            unsafe fn prepare<const PLAIN: bool>(place: &Place, _: usize) -> Self::Local {
                let at = place.base.cast::<$cell<T, P>>();
                // SAFETY: promised by the caller: the base is an accumulator.
                Some(unsafe { $cell { value: (*at).value, payload: (*at).payload, element: (*at).element } })
            }

            #[inline(always)]
            unsafe fn view<'v, const PLAIN: bool>(
                _: &Place,
                _: usize,
                local: &'v mut Self::Local,
            ) -> &'v mut $cell<T, P> {
                local.as_mut().expect("`prepare` made it")
            }

            #[inline(always)]
            unsafe fn finish<const PLAIN: bool>(place: &Place, _: usize, local: &mut Self::Local) -> bool {
                let at = place.base.cast::<$cell<T, P>>();
                if let Some($cell { value, payload, element }) = *local {
                    // SAFETY: as in `prepare`.
                    unsafe { ((*at).value, (*at).payload, (*at).element) = (value, payload, element) };
                }
                true
            }

            fn folding() -> Option<Folding> {
                const {
                    assert!(
                        align_of::<$cell<T, P>>() <= align_of::<Slot>(),
                        "kernels cannot contribute a value or a payload that is aligned to more than 16 bytes"
                    );
                }
                fn is_valid<T: Ordered, P: Element>(bytes: &[u8]) -> bool {
                    let value = &bytes[std::mem::offset_of!($cell<T, P>, value)..][..size_of::<T>()];
                    let payload = &bytes[std::mem::offset_of!($cell<T, P>, payload)..][..size_of::<P>()];
                    T::is_valid(value) && P::is_valid(payload)
                }
                unsafe fn identity<T: Ordered, P: Element>(at: *mut u8) {
                    let at = at.cast::<$cell<T, P>>();
                    // SAFETY: the caller gives room for one contribution. A portable value may be all zeros.
                    unsafe {
                        (&raw mut (*at).value).write(T::$identity);
                        (&raw mut (*at).payload).write(std::mem::zeroed());
                        (&raw mut (*at).element).write(u32::MAX);
                    }
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
                    align: align_of::<$cell<T, P>>(),
                    is_valid: (!T::ALL_BYTES_VALID || !P::ALL_BYTES_VALID).then_some(is_valid::<T, P>),
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
