//! One region: its storage, its partitions, and what is known about its contents.
//!
//! A tree lives from the creation of a region until the last handle is gone *and* every task that was submitted before then
//! is complete. Tasks therefore point to trees and pieces without counting references: the last handle submits a task that
//! frees the tree, and that task comes after all others by the same rules of order.

use std::any::TypeId;
use std::ptr::NonNull;

use drawloom_graph::{IndexSet, PartitionId, Pieces, Regions, RunIndex};

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::replicate::Replicates;
use crate::order::scope::{Orphan, ScopeId};
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Arc, Mutex, lock};

use super::element::{self, Element};
use super::matrix::indices_of;
use super::piece::{Piece, Shape, run_index};

/// The storage of a region in the memory of this process, as the parts of a `Vec`.
pub(crate) struct Buffer {
    pub(crate) base: *mut u8,
    len: usize,
    capacity: usize,
    release: unsafe fn(*mut u8, usize, usize),
}

impl Buffer {
    pub(crate) fn new<T>(data: Vec<T>) -> Self {
        let mut data = std::mem::ManuallyDrop::new(data);
        Self { base: data.as_mut_ptr().cast(), len: data.len(), capacity: data.capacity(), release: release::<T> }
    }

    /// Takes the elements out again.
    ///
    /// # Safety
    /// `T` is the type given to `new`, and nobody has access to the elements.
    pub(crate) unsafe fn take<T>(&mut self) -> Vec<T> {
        let taken = std::mem::ManuallyDrop::new(std::mem::replace(self, Buffer::new(Vec::<T>::new())));
        // SAFETY: the buffer was made by `new` with this type, and is not dropped.
        unsafe { Vec::from_raw_parts(taken.base.cast(), taken.len, taken.capacity) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: the parts are those given to `new`, and this is the only owner.
        unsafe { (self.release)(self.base, self.len, self.capacity) }
    }
}

/// # Safety
/// The arguments are the parts of a buffer of elements of this type that nobody else owns.
unsafe fn release<T>(base: *mut u8, len: usize, capacity: usize) {
    // SAFETY: promised by the caller.
    let elements: Vec<T> = unsafe { Vec::from_raw_parts(base.cast(), len, capacity) };
    if !std::mem::needs_drop::<T>() {
        return;
    }
    // One by one: a second destructor that panics while the first one unwinds would end the process.
    let mut panicked = None;
    for element in elements {
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(element)));
        match dropped {
            Err(panic) if panicked.is_none() => panicked = Some(panic),
            // What a panic carries may panic when it is dropped, too.
            Err(panic) => std::mem::forget(panic),
            Ok(()) => {}
        }
    }
    if let Some(panic) = panicked {
        std::panic::resume_unwind(panic);
    }
}

/// Finds the first element among some bytes that is no value of its type.
pub(crate) type FindInvalid = fn(&[u8]) -> Option<usize>;

/// What the elements of a region are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ElementType {
    id: TypeId,
    /// What it is called in messages.
    pub(crate) name: &'static str,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// Whether elements may be copied byte by byte, also to other memories.
    pub(crate) portable: bool,
    /// The number of the first element among some bytes that is no value. None where all bytes are values.
    pub(crate) first_invalid: Option<FindInvalid>,
}

impl ElementType {
    /// A type whose elements stay in this process.
    pub(crate) fn host<T: 'static>() -> Self {
        let (name, size, align) = (std::any::type_name::<T>(), size_of::<T>(), align_of::<T>());
        Self { id: TypeId::of::<T>(), name, size, align, portable: false, first_invalid: None }
    }

    /// A type whose elements may move.
    pub(crate) fn portable<T: Element>() -> Self {
        let first_invalid: fn(&[u8]) -> Option<usize> = element::first_invalid::<T>;
        let first_invalid = (!T::ALL_BYTES_VALID).then_some(first_invalid);
        Self { portable: true, first_invalid, ..Self::host::<T>() }
    }

    /// Whether values of this type may take the place of values of the other one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.id == other.id && self.portable == other.portable
    }
}

/// How a partition is found again: asking for the same cut of the same piece gives the same partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Cut {
    /// A cut by numbers, which are all in its name.
    Named(String),
    /// The first element of each run but the first.
    Runs(Vec<usize>),
    /// The indices of each piece, and whether they had to cover everything.
    Listed(Arc<[IndexSet]>, bool),
}

impl Cut {
    /// A cut into tiles of these extents.
    pub(crate) fn tiles(kind: &str, tile: &[usize]) -> Self {
        Self::Named(format!("{kind}{}", by(tile)))
    }

    /// A cut into tiles that have so many more elements in each dimension, on both sides.
    pub(crate) fn halos(tile: &[usize], width: &[usize]) -> Self {
        Self::Named(format!("halos{}w{}", by(tile), by(width)))
    }
}

/// Sizes as text: `3x4`.
fn by(sizes: &[usize]) -> String {
    sizes.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

/// A list of pieces of one piece.
pub(crate) struct Partition {
    pub(crate) name: String,
    pub(crate) of: *const Piece,
    pub(crate) cut: Cut,
    pub(crate) pieces: Box<[Piece]>,
    pub(crate) disjoint: bool,
    pub(crate) index: RunIndex<u32>,
}

/// A partition that is pointed to from elsewhere as long as it is owned here: a `Box` would claim to be the only pointer to it.
pub(crate) struct Pinned(NonNull<Partition>);

impl std::ops::Deref for Pinned {
    type Target = Partition;

    fn deref(&self) -> &Partition {
        // SAFETY: made by `Tree::adopt`, and owned by this.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: made from a box by `Tree::adopt`. what points to it keeps its tree, which is gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// The part of a tree that grows when partitions are made.
pub(crate) struct Partitions {
    /// Names, index sets, disjointness and coverage: the region tree of the graph crate.
    pub(crate) regions: Regions,
    pub(crate) list: Vec<Pinned>,
    listed: u32,
}

/// One region with everything that belongs to it. The alignment keeps what others write off its lines.
#[repr(align(128))]
pub(crate) struct Tree {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) len: u64,
    /// The scope in which the region was created: only tasks of that scope, and tasks it was lent to, may use it.
    pub(crate) owner: ScopeId,
    /// Copies of the elements in other memories. Dropped before the elements: they may still be on their way.
    pub(crate) replicates: Replicates,
    base: std::cell::UnsafeCell<Buffer>,
    /// The whole region, as a piece.
    pub(crate) root: Box<Piece>,
    pub(crate) partitions: Mutex<Partitions>,
    /// Goes up with each partition, so that lists of overlapping pieces are made anew.
    pub(crate) generation: AtomicU32,
    /// Whether `missing` is not empty.
    pub(crate) has_missing: AtomicBool,
    /// What has never been written, in submission order.
    pub(crate) missing: Mutex<IndexSet>,
    /// Whether `spoiled` is not empty.
    pub(crate) has_spoiled: AtomicBool,
    /// What a failed task should have written, with its failure.
    pub(crate) spoiled: Mutex<Vec<(IndexSet, Error)>>,
}

// SAFETY: the buffer is reached only through views, which tasks and guards hold as their accesses were ordered; everything
// else is behind locks and atomics, or immutable.
unsafe impl Send for Tree {}
// SAFETY: as above.
unsafe impl Sync for Tree {}

impl Tree {
    pub(crate) fn new(
        number: u64,
        name: String,
        element: ElementType,
        buffer: Buffer,
        shape: Shape,
        initialised: bool,
        owner: ScopeId,
    ) -> NonNull<Self> {
        let len = buffer.len as u64;
        let mut regions = Regions::new();
        let space = regions.space(name.clone(), len).expect("the first space of a table has no rival");
        regions.field(name.clone(), space).expect("the first field of a table has no rival");
        // The elements between the columns of a matrix belong to nobody.
        let all = Arc::new(match &shape {
            Shape::Strided { first, extents, strides } if shape.len() as u64 != len => {
                indices_of(*first, extents, strides)
            }
            _ => IndexSet::range(0, len),
        });
        let missing = if initialised { IndexSet::empty() } else { IndexSet::range(0, len) };
        // Not in a box, as its pieces point to it.
        let mut tree = NonNull::from(Box::leak(Box::new(Self {
            number,
            name,
            element,
            len,
            owner,
            base: std::cell::UnsafeCell::new(buffer),
            root: Box::new(Piece::new(shape, Arc::clone(&all), space, None)),
            partitions: Mutex::new(Partitions { regions, list: Vec::new(), listed: 0 }),
            replicates: Replicates::default(),
            generation: AtomicU32::new(0),
            has_missing: AtomicBool::new(!missing.is_empty()),
            missing: Mutex::new(missing),
            has_spoiled: AtomicBool::new(false),
            spoiled: Mutex::new(Vec::new()),
        })));
        // SAFETY: just made, and not shared yet.
        unsafe { tree.as_mut() }.root.adopt(tree);
        tree
    }

    /// Where the elements are in the memory of this process.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        // SAFETY: the pointer inside changes only in `buffer_mut`, when no task has the region as an argument, and no guard.
        unsafe { (*self.base.get()).base }
    }

    /// The storage itself.
    ///
    /// # Safety
    /// The caller has exclusive access to the whole region, and no task that is not complete has it as an argument: whoever waits
    /// for the turn of such a task looks where its elements are.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn buffer_mut(&self) -> &mut Buffer {
        // SAFETY: promised by the caller.
        unsafe { &mut *self.base.get() }
    }

    /// Finds a partition of a piece that was made before.
    pub(crate) fn known_partition(&self, of: &Piece, cut: &Cut) -> Option<NonNull<Partition>> {
        find(&lock(&self.partitions).list, of, cut)
    }

    /// Finds or makes a partition of a piece. `shapes` says where each piece lies, given its indices.
    pub(crate) fn partition(
        &self,
        of: &Piece,
        cut: Cut,
        pieces: Pieces<'static>,
        must_cover: bool,
        shapes: &dyn Fn(usize, &IndexSet) -> Shape,
    ) -> Result<NonNull<Partition>> {
        let mut partitions = lock(&self.partitions);
        let Partitions { regions, list, listed } = &mut *partitions;
        if let Some(found) = find(list, of, &cut) {
            return Ok(found);
        }
        let name = match &cut {
            Cut::Named(name) => name.clone(),
            Cut::Runs(_) | Cut::Listed(..) => {
                *listed += 1;
                format!("pieces{listed}")
            }
        };
        let refuse = |message: String| Error::new(ErrorKind::Partition, message);
        let id = regions
            .partition(name.clone(), of.space, pieces)
            .map_err(|e| refuse(format!("region `{}` cannot be cut: {e}", self.name)))?;
        let coverage = regions.coverage(id);
        if must_cover && let Some(index) = coverage.missing {
            return Err(refuse(format!(
                "the pieces of region `{}` miss index {index}; use `subsets` for pieces that need not cover it all",
                self.name
            )));
        }
        let partition = self.adopt(name, of, cut, id, regions, coverage.disjoint, shapes);
        let pointer = partition.0;
        list.push(partition);
        // Release: pairs with `Piece::aliases`, which must find the new pieces once it sees the new number.
        self.generation.fetch_add(1, Ordering::Release);
        Ok(pointer)
    }

    #[allow(clippy::too_many_arguments)]
    fn adopt(
        &self,
        name: String,
        of: &Piece,
        cut: Cut,
        id: PartitionId,
        regions: &Regions,
        disjoint: bool,
        shapes: &dyn Fn(usize, &IndexSet) -> Shape,
    ) -> Pinned {
        let pieces: Box<[Piece]> = (0..regions.piece_count(id))
            .map(|colour| {
                let space = regions.piece(id, colour);
                let indices = regions.indices(space).expect("pieces made from indices have them");
                let shape = shapes(colour as usize, indices);
                Piece::new(shape, Arc::new(indices.clone()), space, Some(colour))
            })
            .collect();
        let index = run_index(pieces.iter().map(|p| &*p.indices));
        let mut partition = NonNull::from(Box::leak(Box::new(Partition { name, of, cut, pieces, disjoint, index })));
        // SAFETY: just made, and not shared yet.
        for piece in unsafe { &mut partition.as_mut().pieces } {
            piece.adopt(NonNull::from(self));
            piece.partition = partition.as_ptr();
        }
        Pinned(partition)
    }

    /// What a piece is called in messages: `u`, or `u.blocks4[1]`.
    pub(crate) fn piece_name(&self, piece: &Piece) -> String {
        lock(&self.partitions).regions.space_name(piece.space)
    }

    /// The failure that spoiled some of these indices.
    pub(crate) fn spoiled(&self, indices: &IndexSet) -> Option<Error> {
        if !self.has_spoiled.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.spoiled).iter().find(|(set, _)| set.first_common(indices).is_some()).map(|(_, e)| e.clone())
    }

    /// Notes that a failed task did not write these indices properly.
    pub(crate) fn spoil(&self, indices: &IndexSet, error: &Error) {
        if indices.is_empty() {
            return;
        }
        let mut spoiled = lock(&self.spoiled);
        mend(&mut spoiled, indices);
        spoiled.push((indices.clone(), error.clone()));
        // Release: pairs with `spoiled`; tasks that come after are also ordered by the queues.
        self.has_spoiled.store(true, Ordering::Release);
    }

    /// Notes that these indices hold proper values again.
    pub(crate) fn heal(&self, indices: &IndexSet) {
        if !self.has_spoiled.load(Ordering::Acquire) {
            return;
        }
        let mut spoiled = lock(&self.spoiled);
        mend(&mut spoiled, indices);
        self.has_spoiled.store(!spoiled.is_empty(), Ordering::Release);
    }
}

fn find(list: &[Pinned], of: &Piece, cut: &Cut) -> Option<NonNull<Partition>> {
    list.iter().find(|p| std::ptr::eq(p.of, of) && p.cut == *cut).map(|found| found.0)
}

fn mend(spoiled: &mut Vec<(IndexSet, Error)>, indices: &IndexSet) {
    for (set, _) in spoiled.iter_mut() {
        *set = set.difference(indices);
    }
    spoiled.retain(|(set, _)| !set.is_empty());
}

/// What all handles of one region share. When the last one goes, the region is given up.
pub(crate) struct Root {
    pub(crate) core: Arc<Core>,
    pub(crate) tree: NonNull<Tree>,
}

// SAFETY: trees are `Sync`, and live at least as long as this.
unsafe impl Send for Root {}
// SAFETY: as above.
unsafe impl Sync for Root {}

impl Root {
    pub(crate) fn tree(&self) -> &Tree {
        // SAFETY: the tree is freed by a task that this object submits when it is dropped.
        unsafe { self.tree.as_ref() }
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // SAFETY: the tree was leaked when this was made, and this is the last of its handles.
        self.core.release_tree(unsafe { Orphan::new(self.tree) });
    }
}
