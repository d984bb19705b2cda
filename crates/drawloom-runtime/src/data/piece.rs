//! A part of a region: where its elements are, and which other parts overlap it.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use drawloom_graph::{IndexSet, SpaceId};
use rustc_hash::FxHashMap;

use crate::order::slot::Slot;
use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::sync::{Arc, Padded, lock};
use crate::trace::tables::Mark;

use super::tree::{Partition, Tree};

/// Where the elements of a piece are, relative to the start of the region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One run of elements.
    Line { first: usize, len: usize },
    /// Elements at fixed distances: extents and strides of each dimension, in elements.
    Strided { first: usize, extents: Box<[usize]>, strides: Box<[usize]> },
    /// The elements of an index set, one after the other.
    Scattered { len: usize },
    /// Consecutive rows of a sparse matrix with this pattern; the elements are the values of those rows.
    Rows { first: usize, len: usize, rows: std::ops::Range<usize>, pattern: Arc<super::csr::Pattern> },
}

impl Shape {
    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Shape::Line { len, .. } | Shape::Scattered { len } | Shape::Rows { len, .. } => *len,
            Shape::Strided { extents, .. } => extents.iter().product(),
        }
    }
}

/// Another piece of the same region that shares elements with this one.
pub(crate) struct Alias {
    piece: NonNull<Piece>,
    /// How many elements they share.
    pub(crate) shared: u64,
    /// Whether the other piece lies in this one completely.
    pub(crate) inside: bool,
}

impl Alias {
    pub(crate) fn piece(&self) -> &Piece {
        // SAFETY: pieces of one tree live as long as each other.
        unsafe { self.piece.as_ref() }
    }
}

/// The pieces that overlap a given one, as known at a generation of the tree.
pub(crate) struct Aliases {
    generation: u32,
    list: Vec<Alias>,
    /// The list that this one replaced; it may still be read, and is freed with the tree.
    before: Option<Box<Aliases>>,
}

/// A part of a region. The alignment leaves four bits of its address for the mode of an argument.
#[repr(align(16))]
pub(crate) struct Piece {
    tree: Option<NonNull<Tree>>,
    pub(crate) shape: Shape,
    pub(crate) indices: Arc<IndexSet>,
    pub(crate) space: SpaceId,
    pub(crate) colour: Option<u32>,
    /// The partition that this is a piece of; null for a whole region.
    pub(crate) partition: *const Partition,
    aliases: AtomicPtr<Aliases>,
    /// Its number in a trace.
    pub(crate) mark: Mark,
    /// What the tasks of the outermost scope did with this piece; guarded by the lock of that scope. Apart from the rest, as
    /// threads that submit write it while those that run tasks read the rest.
    pub(crate) slot: Padded<UnsafeCell<Slot>>,
}

// SAFETY: the slot is guarded by the lock of the outermost scope; `aliases` is an atomic pointer to something immutable;
// everything else is immutable once the piece is adopted.
unsafe impl Send for Piece {}
// SAFETY: as above.
unsafe impl Sync for Piece {}

impl Piece {
    pub(crate) fn new(shape: Shape, indices: Arc<IndexSet>, space: SpaceId, colour: Option<u32>) -> Self {
        Self {
            tree: None,
            shape,
            indices,
            space,
            colour,
            partition: std::ptr::null(),
            aliases: AtomicPtr::new(std::ptr::null_mut()),
            mark: Mark::default(),
            slot: Padded(UnsafeCell::new(Slot::default())),
        }
    }

    /// Says which tree the piece belongs to, before anyone else can see it.
    pub(crate) fn adopt(&mut self, tree: NonNull<Tree>) {
        self.tree = Some(tree);
    }

    #[inline]
    pub(crate) fn tree(&self) -> &Tree {
        // SAFETY: pieces are adopted before anyone can see them, and owned by the tree they point to.
        unsafe { self.tree.unwrap_unchecked().as_ref() }
    }

    /// Whether the pieces of this one's partition are known to be disjoint.
    pub(crate) fn disjoint_partition(&self) -> Option<&Partition> {
        // SAFETY: partitions live as long as their tree.
        unsafe { self.partition.as_ref() }.filter(|p| p.disjoint)
    }

    pub(crate) fn name(&self) -> String {
        self.tree().piece_name(self)
    }

    /// The pieces that share elements with this one, this one left out.
    #[inline]
    pub(crate) fn aliases(&self) -> &[Alias] {
        // Acquire: pairs with `Tree::partition`, and with the publication below.
        let generation = self.tree().generation.load(Ordering::Acquire);
        let list = self.aliases.load(Ordering::Acquire);
        // SAFETY: published lists are immutable, and freed with the tree.
        match unsafe { list.as_ref() } {
            Some(aliases) if aliases.generation == generation => &aliases.list,
            None if generation == 0 => &[],
            _ => self.find_aliases(),
        }
    }

    #[cold]
    fn find_aliases(&self) -> &[Alias] {
        let tree = self.tree();
        // The lock keeps partitions from being added, and others from publishing the same list.
        let partitions = lock(&tree.partitions);
        let generation = tree.generation.load(Ordering::Relaxed);
        let current = self.aliases.load(Ordering::Relaxed);
        // SAFETY: as in `aliases`.
        if let Some(aliases) = unsafe { current.as_ref() }.filter(|a| a.generation == generation) {
            return &aliases.list;
        }
        let mut list = Vec::new();
        let mut consider = |other: &Piece, shared: u64| {
            if !std::ptr::eq(other, self) && shared > 0 {
                list.push(Alias { piece: NonNull::from(other), shared, inside: shared == other.indices.len() });
            }
        };
        consider(&tree.root, self.indices.len());
        for partition in &partitions.list {
            for (colour, shared) in partition.index.overlaps(&self.indices) {
                consider(&partition.pieces[colour as usize], shared);
            }
        }
        if std::ptr::eq(self, &*tree.root) {
            // Tasks on pieces without elements need the region, too: what frees it is ordered by the whole.
            let empty = partitions.list.iter().flat_map(|p| &p.pieces).filter(|p| p.indices.is_empty());
            list.extend(empty.map(|p| Alias { piece: NonNull::from(p), shared: 0, inside: true }));
        }
        // SAFETY: the old list came from `Box::into_raw` below, and stays allocated as part of the new one.
        let before = (!current.is_null()).then(|| unsafe { Box::from_raw(current) });
        let aliases = Box::into_raw(Box::new(Aliases { generation, list, before }));
        // Release: pairs with the load in `aliases`.
        self.aliases.store(aliases, Ordering::Release);
        // SAFETY: just made, and freed only with the tree.
        unsafe { &(*aliases).list }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let list = self.aliases.load(Ordering::Relaxed);
        if !list.is_null() {
            // SAFETY: made by `Box::into_raw`, and nobody else has access to the piece any more.
            let mut list = Some(unsafe { Box::from_raw(list) });
            // One by one: a long chain must not be dropped recursively.
            while let Some(mut aliases) = list {
                list = aliases.before.take();
            }
        }
    }
}

/// Finds the pieces of a partition that overlap an index set.
pub(crate) struct RunIndex {
    /// Start, end and colour of every run, by start.
    runs: Vec<(u64, u64, u32)>,
    /// The greatest end among the runs up to here.
    reach: Vec<u64>,
}

impl RunIndex {
    pub(crate) fn new<'a>(sets: impl Iterator<Item = &'a IndexSet>) -> Self {
        let mut runs: Vec<(u64, u64, u32)> = sets
            .enumerate()
            .flat_map(|(colour, set)| set.runs().iter().map(move |run| (run.start, run.end, colour as u32)))
            .collect();
        runs.sort_unstable();
        let reach = runs
            .iter()
            .scan(0, |reach, run| {
                *reach = run.1.max(*reach);
                Some(*reach)
            })
            .collect();
        Self { runs, reach }
    }

    /// The colours whose pieces overlap the set, with the number of shared indices, by colour.
    pub(crate) fn overlaps(&self, set: &IndexSet) -> Vec<(u32, u64)> {
        let mut shared: FxHashMap<u32, u64> = FxHashMap::default();
        for run in set.runs() {
            let end = self.runs.partition_point(|r| r.0 < run.end);
            for i in (0..end).rev() {
                if self.reach[i] <= run.start {
                    break;
                }
                let (start, end, colour) = self.runs[i];
                if end > run.start {
                    *shared.entry(colour).or_default() += end.min(run.end) - start.max(run.start);
                }
            }
        }
        let mut list: Vec<(u32, u64)> = shared.into_iter().collect();
        list.sort_unstable();
        list
    }
}
