//! Numbers of elements, sizes of sets, and arguments that may be absent.

use std::marker::PhantomData;

use super::{Folding, LoopArg, Path, nothing_in_lanes};
use crate::kernel::place::Place;
use crate::kernel::sealed::Sealed;

/// The kernel receives the number of an element.
pub struct Index<P>(PhantomData<P>);

impl<P> Sealed for Index<P> {}

impl<P: Path> LoopArg for Index<P> {
    type View<'v> = usize;
    type Local = ();
    nothing_in_lanes!();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<const PLAIN: bool>(place: &Place, iteration: usize, (): &mut ()) -> usize {
        if !PLAIN && place.fixed {
            // SAFETY: the base is the number itself.
            return unsafe { *place.base.cast::<u64>() as usize };
        }
        // SAFETY: promised by the caller.
        unsafe { P::index::<PLAIN>(place, iteration, 0) }
    }
}

/// The kernel receives the number of elements of a set.
pub struct Size;

impl Sealed for Size {}

impl LoopArg for Size {
    type View<'v> = usize;
    type Local = ();
    nothing_in_lanes!();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<const PLAIN: bool>(place: &Place, _: usize, (): &mut ()) -> usize {
        place.size
    }
}

/// An argument that may be absent.
pub struct Optional<A>(PhantomData<A>);

impl<A> Sealed for Optional<A> {}

impl<A: LoopArg> LoopArg for Optional<A> {
    type View<'v> = Option<A::View<'v>>;
    type Local = Option<A::Local>;
    const IN_LANES: bool = false;
    nothing_in_lanes!(None);

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(place: &Place, iteration: usize) -> Self::Local {
        // SAFETY: promised by the caller.
        place.present.then(|| unsafe { A::prepare::<PLAIN>(place, iteration) })
    }

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(
        place: &Place,
        iteration: usize,
        local: &'v mut Self::Local,
    ) -> Option<A::View<'v>> {
        // SAFETY: promised by the caller.
        local.as_mut().map(|local| unsafe { A::view::<PLAIN>(place, iteration, local) })
    }

    #[inline(always)]
    unsafe fn finish<const PLAIN: bool>(place: &Place, iteration: usize, local: &mut Self::Local) -> bool {
        // SAFETY: promised by the caller.
        local.as_mut().is_none_or(|local| unsafe { A::finish::<PLAIN>(place, iteration, local) })
    }

    fn folding() -> Option<Folding> {
        A::folding()
    }
}
