//! What every kind of region has in common, and how views are made.

use std::ptr::NonNull;

use drawloom_graph::{IndexSet, Pieces};

use crate::access::frame::Place as FramePlace;
use crate::access::{Arg, Mode};
use crate::error::Result;
use crate::sync::Arc;

use super::guard::{ReadGuard, WriteGuard};
use super::partition::Parts;
use super::piece::{Piece, Shape};
use super::tree::{Cut, Partition, Root, Tree};

pub use crate::access::frame::Place;

/// A counted reference to a piece of a region.
#[derive(Clone)]
pub struct Handle {
    pub(crate) root: Arc<Root>,
    piece: NonNull<Piece>,
}

// SAFETY: pieces are `Sync`, and live as long as their root.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    pub(crate) fn new(root: Arc<Root>, piece: NonNull<Piece>) -> Self {
        Self { root, piece }
    }

    pub(crate) fn whole(root: Arc<Root>) -> Self {
        let piece = NonNull::from(&*root.tree().root);
        Self { root, piece }
    }

    pub(crate) fn tree(&self) -> &Tree {
        self.root.tree()
    }

    pub(crate) fn piece(&self) -> &Piece {
        // SAFETY: pieces live as long as their tree, which the root keeps.
        unsafe { self.piece.as_ref() }
    }
}

impl Handle {
    /// Finds or makes a list of pieces of this one: see [`Tree::partition`].
    pub(super) fn cut(
        &self,
        cut: Cut,
        pieces: Pieces<'static>,
        must_cover: bool,
        shapes: &dyn Fn(usize, &IndexSet) -> Shape,
    ) -> Result<NonNull<Partition>> {
        self.tree().partition(self.piece(), cut, pieces, must_cover, shapes)
    }

    /// The pieces of a list, as regions of a kind.
    pub(super) fn parts<R: Region>(&self, partition: NonNull<Partition>) -> Parts<R> {
        Parts::new(&self.root, partition)
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.piece().name())
    }
}

/// Data that the runtime stores, or a piece of it.
///
/// A region is a handle: cloning it does not copy data. The data is reached in two ways only. Tasks declare what they do
/// with a region, and their bodies receive a view of exactly that kind. Code outside of tasks takes a guard, which waits
/// for the tasks that matter.
///
/// The data goes away when the last handle is gone and the last task on it is complete.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no region",
    label = "tasks share data that the runtime stores",
    note = "store it with `Loom::vector`, `Loom::value` or their siblings, and pass the handle that they return"
)]
pub trait Region: Clone + Send + Sync + 'static + sealed::Sealed {
    /// What a body receives for a region that it reads.
    type Ref<'v>;
    /// What a body receives for a region that it changes.
    type Mut<'v>;

    #[doc(hidden)]
    fn handle(&self) -> &Handle;

    /// # Safety
    /// The handle is that of a piece of this kind, with elements of this type: views are made from nothing else.
    #[doc(hidden)]
    unsafe fn from_handle(handle: Handle) -> Self;

    /// Whether tasks on this handle are left out of the order of tasks.
    #[doc(hidden)]
    fn is_ordered(&self) -> bool {
        true
    }

    /// # Safety
    /// The place is that of a piece of this kind, and nobody changes the piece while the view lives.
    #[doc(hidden)]
    unsafe fn view<'v>(place: FramePlace<'v>) -> Self::Ref<'v>;

    /// # Safety
    /// The place is that of a piece of this kind, and nobody else has access to the piece while the view lives.
    #[doc(hidden)]
    unsafe fn view_mut<'v>(place: FramePlace<'v>) -> Self::Mut<'v>;

    /// The name of the region, or of the piece: `u`, or `u.blocks4[1]`.
    fn name(&self) -> String {
        self.handle().piece().name()
    }

    /// How many elements it has.
    fn len(&self) -> usize {
        self.handle().piece().shape.len()
    }

    /// Whether it has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until every task that was submitted before and changes the data is complete, and gives access to read it.
    /// Tasks that change the data wait until the guard is gone.
    ///
    /// # Errors
    /// When a task that should have written the data failed, when nothing was ever written, inside of a task, and when the
    /// wait could never end.
    #[track_caller]
    fn read(&self) -> Result<ReadGuard<Self>> {
        ReadGuard::take(self)
    }

    /// Waits until every task that was submitted before and touches the data is complete, and gives access to change it.
    /// Tasks that touch the data wait until the guard is gone.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    fn write(&self) -> Result<WriteGuard<Self>> {
        WriteGuard::take(self)
    }

    /// As [`Region::write`], to write every element anew: there need not be any contents, and what a failed task should have
    /// written is proper again. Elements that are left alone keep what is there, which is zero where nothing was.
    ///
    /// # Errors
    /// Inside of a task, and when the wait could never end.
    #[track_caller]
    fn overwrite(&self) -> Result<WriteGuard<Self>> {
        WriteGuard::overwrite(self)
    }

    /// Waits until every task that was submitted before and touches the data is complete.
    ///
    /// # Errors
    /// As [`Region::read`], except that there need not be any contents.
    #[track_caller]
    fn wait(&self) -> Result<()> {
        let handle = self.handle();
        // SAFETY: the region is here until the wait is over.
        let arg = unsafe { Arg::new(handle.piece(), Mode::LendWrite) };
        handle.root.core.wait_for_piece(arg, std::panic::Location::caller())
    }
}

pub(crate) mod sealed {
    /// Keeps kinds of regions to this crate: views are made from addresses, and must fit how the data is stored.
    pub trait Sealed {}
}

/// Calls `f` with the start and length of each run of a piece's elements, in the order in which accumulators hold them.
pub(crate) fn for_each_run(piece: &Piece, mut f: impl FnMut(usize, usize)) {
    for run in piece.indices.runs() {
        f(run.start as usize, (run.end - run.start) as usize);
    }
}

/// A region that tasks use without being ordered by it.
///
/// Made by the `unordered` method of a region.
#[derive(Clone)]
pub struct Unordered<R>(pub(crate) R);

impl<R: Region> sealed::Sealed for Unordered<R> {}

impl<R: Region> Region for Unordered<R> {
    type Ref<'v> = R::Ref<'v>;
    type Mut<'v> = R::Mut<'v>;

    fn handle(&self) -> &Handle {
        self.0.handle()
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { R::from_handle(handle) })
    }

    fn is_ordered(&self) -> bool {
        false
    }

    unsafe fn view<'v>(place: FramePlace<'v>) -> R::Ref<'v> {
        // SAFETY: promised by the caller.
        unsafe { R::view(place) }
    }

    unsafe fn view_mut<'v>(place: FramePlace<'v>) -> R::Mut<'v> {
        // SAFETY: promised by the caller.
        unsafe { R::view_mut(place) }
    }
}

/// The parts of a kind of region that are the same for all kinds.
macro_rules! kind_of_region {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        pub struct $name<T> {
            handle: $crate::data::region::Handle,
            element: std::marker::PhantomData<fn(T) -> T>,
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                Self { handle: self.handle.clone(), element: std::marker::PhantomData }
            }
        }

        impl<T> std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}({:?})", stringify!($name), self.handle)
            }
        }

        impl<T> $crate::data::region::sealed::Sealed for $name<T> {}

        impl<T: Send + Sync + 'static> $name<T> {
            /// The same region, left out of the order of tasks.
            ///
            /// # Safety
            /// The caller orders the tasks that use the result, against each other and against all other users of the
            /// region, so that no task changes what another one uses at the same time.
            pub unsafe fn unordered(&self) -> $crate::data::region::Unordered<Self> {
                $crate::data::region::Unordered(self.clone())
            }
        }
    };
}
pub(crate) use kind_of_region;
