//! Contributing to dats and to globals.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Element;

use super::{Folding, LoopArg, Path, Update, load, store};
use crate::kernel::lanes::{Columns, GROUP, rows_of_each};
use crate::kernel::operator::Operator;
use crate::kernel::place::Place;
use crate::kernel::sealed::Sealed;
use crate::run::Slot;

/// Folds one contribution into an element.
///
/// # Safety
/// The element exists, and is the calling thread's to change.
#[inline(always)]
unsafe fn contribute<O: Operator<T>, T: Element, const N: usize>(place: &Place, index: usize, value: [T; N]) {
    // SAFETY: promised by the caller.
    unsafe {
        let before = load::<T, N>(place, index);
        store::<T, N>(place, index, std::array::from_fn(|c| O::fold(before[c], value[c])));
    }
}

/// How contributions of `N` numbers are folded.
fn folding_of<O: Operator<T>, T: Element, const N: usize>() -> Folding {
    const {
        assert!(
            align_of::<T>() <= align_of::<Slot>(),
            "kernels cannot contribute to a type that is aligned to more than 16 bytes"
        );
    }
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
    /// To the element of a dat, or to a global, which is as a dat of one element.
    unsafe fn apply<O: Operator<T>, T: Element, const N: usize>(
        place: &Place,
        index: usize,
        _: *mut u8,
        from: *const u8,
    ) {
        // SAFETY: promised by the caller.
        unsafe { contribute::<O, T, N>(place, index, *from.cast()) };
    }
    Folding {
        size: size_of::<[T; N]>(),
        align: align_of::<T>(),
        is_valid: (!T::ALL_BYTES_VALID).then_some(<[T; N] as Element>::is_valid),
        identity: identity::<O, T, N>,
        fold: fold::<O, T, N>,
        apply: apply::<O, T, N>,
        element_at: None,
    }
}

/// The kernel contributes: straight into the element of its own iteration or the accumulator of a global, and through maps
/// to a copy of the operator's identity, which is folded into the elements afterwards.
pub struct Contribute<O, P, T, const N: usize>(PhantomData<(O, P, T)>);

impl<O, P, T, const N: usize> Sealed for Contribute<O, P, T, N> {}

impl<O: Operator<T>, P: Path, T: Element, const N: usize> LoopArg for Contribute<O, P, T, N> {
    type View<'v> = &'v mut P::Each<[O::Cell; N]>;
    type Local = MaybeUninit<P::Each<[T; N]>>;

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        if P::IS_MAP {
            return MaybeUninit::new(P::each(|_| const { [O::IDENTITY; N] }));
        }
        // SAFETY: promised by the caller.
        unsafe { Update::<P, T, N>::prepare::<PLAIN>(place, iteration) }
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> Self::View<'v> {
        let values: *mut P::Each<[T; N]> = match P::IS_MAP {
            true => local.as_mut_ptr(),
            // SAFETY: promised by the caller.
            false => unsafe { Update::<P, T, N>::view::<PLAIN>(place, iteration, local) },
        };
        // SAFETY: a cell has the bytes of the number in it, and one or an array of them those of the numbers.
        unsafe { &mut *values.cast() }
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        // SAFETY: promised by the caller. A stage has room for the contributions of every iteration that is run with it.
        unsafe {
            if !P::IS_MAP {
                return Update::<P, T, N>::finish::<PLAIN>(place, iteration, local);
            }
            let values = P::list(local.assume_init_ref());
            if !PLAIN && !place.stage.is_null() {
                let stage = place.stage.cast::<[T; N]>().add(iteration * P::COLUMNS);
                stage.copy_from_nonoverlapping(values.as_ptr(), P::COLUMNS);
                return true;
            }
            for (c, value) in values.iter().enumerate() {
                let index = P::index::<PLAIN>(place, iteration, c);
                if place.owns(index) {
                    contribute::<O, T, N>(place, index, *value);
                }
            }
        }
        true
    }

    fn folding() -> Option<Folding> {
        Some(folding_of::<O, T, N>())
    }

    // The same loop may contribute to an element directly and through a map: what other lanes add then must be there. And
    // one accumulator of a global for all lanes is what makes lanes wait for each other.
    const IN_LANES: bool = P::IS_MAP;
    type Lanes = P::Each<Columns<T, N>>;

    #[inline(always)]
    fn lanes() -> Self::Lanes {
        P::each(|_| Columns::empty())
    }

    #[inline(always)]
    unsafe fn fetch(_: &Self::Lanes, _: usize) -> Self::Local {
        MaybeUninit::new(P::each(|_| const { [O::IDENTITY; N] }))
    }

    #[inline(always)]
    unsafe fn keep(lanes: &mut Self::Lanes, lane: usize, local: &Self::Local) -> bool {
        // SAFETY: promised by the caller: `fetch` made it.
        unsafe { Update::<P, T, N>::keep(lanes, lane, local) }
    }

    #[inline(always)]
    unsafe fn rows(lanes: &Self::Lanes, first: usize) -> [Self::Local; GROUP] {
        // SAFETY: promised by the caller.
        unsafe { rows_of_each::<P, T, N, _>(lanes, first, |value| value) }.map(MaybeUninit::new)
    }
}
