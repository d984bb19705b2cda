//! The arguments of a kernel: how each kind is found, shown to the kernel, and put back.
//!
//! Every kind is a type, so a loop is compiled for exactly its arguments, with the kernel in the middle. There are two
//! ways through each: the *plain* one, where a kernel works on the data in place, and the general one, where it works on
//! copies that are gathered before and put back after. Both give the same bits.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use drawloom_runtime::Portable;

use super::accumulate::{HighestWith, LowestWith, Out};
use super::operator::{Lowering, Operator, Raising};
use super::place::Place;
use crate::element::Ordered;

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
}

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
unsafe fn index_in<const PLAIN: bool, const A: usize>(place: &Place, iteration: usize, column: usize) -> usize {
    if !PLAIN && place.fixed {
        return column;
    }
    // SAFETY: the table of a map has `A` entries for each iteration.
    unsafe { *place.table.add(iteration * A + column) as usize }
}

/// The address of an element whose components lie side by side.
#[inline(always)]
unsafe fn at<T, const N: usize>(place: &Place, index: usize) -> *mut [T; N] {
    // SAFETY: the caller vouches for the element.
    unsafe { place.base.cast::<[T; N]>().add(index) }
}

#[inline(always)]
unsafe fn load<const PLAIN: bool, T: Portable, const N: usize>(place: &Place, index: usize) -> [T; N] {
    if PLAIN || place.distance == 0 {
        // SAFETY: the caller vouches for the element.
        return unsafe { *at(place, index) };
    }
    let first = place.base.cast::<T>();
    // SAFETY: as above; the components of an element lie `distance` apart.
    std::array::from_fn(|c| unsafe { *first.add(c * place.distance + index) })
}

#[inline(always)]
unsafe fn store<const PLAIN: bool, T: Portable, const N: usize>(place: &Place, index: usize, value: [T; N]) {
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

/// The kernel reads one element.
pub struct Read<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Portable, const N: usize> LoopArg for Read<R, T, N> {
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
}

/// The kernel reads the elements that all columns of a map lead to.
pub struct ReadWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Portable, const N: usize, const A: usize> LoopArg for ReadWhole<T, N, A> {
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
}

/// The kernel writes one element.
pub struct Write<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Portable, const N: usize> LoopArg for Write<R, T, N> {
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
}

/// The kernel writes the elements that all columns of a map lead to.
pub struct WriteWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Portable, const N: usize, const A: usize> LoopArg for WriteWhole<T, N, A> {
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
}

/// The kernel reads and changes one element.
pub struct Update<R, T, const N: usize>(PhantomData<(R, T)>);

impl<R: Single, T: Portable, const N: usize> LoopArg for Update<R, T, N> {
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
}

/// The kernel reads and changes the elements that all columns of a map lead to.
pub struct UpdateWhole<T, const N: usize, const A: usize>(PhantomData<T>);

impl<T: Portable, const N: usize, const A: usize> LoopArg for UpdateWhole<T, N, A> {
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
}

/// Folds one contribution into an element.
///
/// # Safety
/// The element exists, and is the calling thread's to change.
#[inline(always)]
unsafe fn contribute<const PLAIN: bool, O: Operator<T>, T: Portable, const N: usize>(
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
fn folding_of<O: Operator<T>, T: Portable, const N: usize>(
    apply: unsafe fn(&Place, usize, *mut u8, *const u8),
) -> Folding {
    unsafe fn identity<O: Operator<T>, T, const N: usize>(at: *mut u8) {
        // SAFETY: the caller gives room for one contribution.
        unsafe { at.cast::<[T; N]>().write(const { [O::IDENTITY; N] }) };
    }
    unsafe fn fold<O: Operator<T>, T: Portable, const N: usize>(into: *mut u8, from: *const u8) {
        // SAFETY: the caller gives two contributions.
        unsafe {
            let (into, from) = (into.cast::<[T; N]>(), *from.cast::<[T; N]>());
            let before = *into;
            *into = std::array::from_fn(|c| O::fold(before[c], from[c]));
        }
    }
    Folding { size: size_of::<[T; N]>(), identity: identity::<O, T, N>, fold: fold::<O, T, N>, apply }
}

/// Folds a contribution into the element of a dat.
unsafe fn apply_to_dat<O: Operator<T>, T: Portable, const N: usize>(
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

impl<O: Operator<T>, T: Portable, const N: usize> LoopArg for ContributeHere<O, T, N> {
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
}

/// The kernel contributes to the elements that one or all columns of a map lead to.
pub struct ContributeThere<O, T, const N: usize, const A: usize>(PhantomData<(O, T)>);

/// Puts the contributions of one iteration, through `C` columns of a map with `A`, where they belong.
///
/// # Safety
/// As [`LoopArg::view`].
#[inline(always)]
unsafe fn put_back<const PLAIN: bool, O: Operator<T>, T: Portable, const N: usize, const A: usize, const C: usize>(
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

impl<O: Operator<T>, T: Portable, const N: usize, const A: usize> LoopArg for ContributeAt<O, T, N, A> {
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
}

impl<O: Operator<T>, T: Portable, const N: usize, const A: usize> LoopArg for ContributeThere<O, T, N, A> {
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
}

/// The kernel reads a global.
pub struct ReadGlobal<T, const N: usize>(PhantomData<T>);

impl<T: Portable, const N: usize> LoopArg for ReadGlobal<T, N> {
    type View<'v> = &'v [T; N];
    type Local = ();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> &'v [T; N] {
        // SAFETY: promised by the caller.
        unsafe { &*place.base.cast() }
    }
}

/// Scalar code changes a global.
pub struct UpdateGlobal<T, const N: usize>(PhantomData<T>);

impl<T: Portable, const N: usize> LoopArg for UpdateGlobal<T, N> {
    type View<'v> = &'v mut [T; N];
    type Local = ();

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

impl<O: Operator<T>, T: Portable, const N: usize> LoopArg for ContributeGlobal<O, T, N> {
    type View<'v> = &'v mut [O::Cell; N];
    type Local = ();

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
        impl<T: Ordered, P: Portable> LoopArg for ContributeWith<$operator, T, P> {
            type View<'v> = &'v mut $cell<T, P>;
            type Local = ();

            #[inline(always)]
            unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

            #[inline(always)]
            unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> Self::View<'v> {
                // SAFETY: promised by the caller: the base is an accumulator.
                unsafe { &mut *place.base.cast() }
            }

            fn folding() -> Option<Folding> {
                unsafe fn identity<T: Ordered, P: Portable>(at: *mut u8) {
                    // SAFETY: the caller gives room for one contribution. A portable value may be all zeros.
                    unsafe { at.cast::<$cell<T, P>>().write($cell { value: T::$identity, payload: std::mem::zeroed() }) };
                }
                unsafe fn fold<T: Ordered, P: Portable>(into: *mut u8, from: *const u8) {
                    // SAFETY: the caller gives two contributions.
                    unsafe {
                        let from = &*from.cast::<$cell<T, P>>();
                        (*into.cast::<$cell<T, P>>()).offer(from.value, from.payload);
                    }
                }
                unsafe fn apply<T: Ordered, P: Portable>(place: &Place, _: usize, payload: *mut u8, from: *const u8) {
                    // SAFETY: the caller gives a contribution, and the addresses of a global and of its payload.
                    unsafe {
                        let from = &*from.cast::<$cell<T, P>>();
                        let value = place.base.cast::<T>();
                        if from.value $compare *value {
                            *value = from.value;
                            *payload.cast::<P>() = from.payload;
                        }
                    }
                }
                Some(Folding {
                    size: size_of::<$cell<T, P>>(),
                    identity: identity::<T, P>,
                    fold: fold::<T, P>,
                    apply: apply::<T, P>,
                })
            }
        }
    };
}
contribute_with! { Lowering LowestWith < HIGHEST }
contribute_with! { Raising HighestWith > LOWEST }

/// The kernel receives the number of an element.
pub struct Index<R>(PhantomData<R>);

impl<R: Single> LoopArg for Index<R> {
    type View<'v> = usize;
    type Local = ();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, iteration: usize, (): &'v mut ()) -> usize {
        if !PLAIN && place.fixed {
            // SAFETY: the base is the number itself.
            return unsafe { *place.base.cast::<u64>() as usize };
        }
        // SAFETY: promised by the caller.
        unsafe { R::index::<PLAIN>(place, iteration) }
    }
}

/// The kernel receives the number of elements of a set.
pub struct Size;

impl LoopArg for Size {
    type View<'v> = usize;
    type Local = ();

    #[inline(always)]
    unsafe fn prepare<const PLAIN: bool>(_: &Place, _: usize) {}

    #[inline(always)]
    unsafe fn view<'v, const PLAIN: bool>(place: &Place, _: usize, (): &'v mut ()) -> usize {
        place.size
    }
}

/// An argument that may be absent.
pub struct Optional<A>(PhantomData<A>);

impl<A: LoopArg> LoopArg for Optional<A> {
    type View<'v> = Option<A::View<'v>>;
    type Local = Option<A::Local>;

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
