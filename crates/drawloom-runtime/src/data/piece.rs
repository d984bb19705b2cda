//! A part of a region: where its elements are, and which other parts overlap it.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use drawloom_graph::{IndexSet, RunIndex, SpaceId};
use rustc_hash::FxHashMap;

use crate::order::slot::Slot;
use crate::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
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
}

impl Shape {
    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Shape::Line { len, .. } | Shape::Scattered { len } => *len,
            Shape::Strided { extents, .. } => extents.iter().product(),
        }
    }
}

/// Another piece of the same region that shares elements with this one.
#[derive(Clone, Copy)]
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

/// The pieces that overlap a given one: those that were found last, and the list of those known before.
///
/// When there are new partitions, only what overlaps in them is added. So a region that is cut again and again keeps each
/// overlap once.
struct Aliases {
    /// The generation of the tree up to which the partitions were searched. Changed under the lock of the partitions.
    generation: AtomicU32,
    found: Box<[Alias]>,
    /// None when null. Freed with the piece, as this list is.
    before: *const Aliases,
}

impl Aliases {
    fn before(&self) -> Option<&Aliases> {
        // SAFETY: null, or a list that was published before this one, which are freed together.
        unsafe { self.before.as_ref() }
    }
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

// SAFETY: the slot is guarded by the lock of the outermost scope; `aliases` is an atomic pointer to lists that only have
// atomic changes; everything else is immutable once the piece is adopted.
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
            slot: Padded::new(UnsafeCell::new(Slot::default())),
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
    pub(crate) fn aliases(&self) -> impl Iterator<Item = &Alias> + Clone {
        std::iter::successors(self.newest_aliases(), |list| list.before()).flat_map(|list| list.found.iter())
    }

    #[inline]
    fn newest_aliases(&self) -> Option<&Aliases> {
        // Acquire: pairs with `Tree::partition`, and with the publication below.
        let generation = self.tree().generation.load(Ordering::Acquire);
        // SAFETY: published lists stay where they are, and are freed with the piece.
        match unsafe { self.aliases.load(Ordering::Acquire).as_ref() } {
            Some(aliases) if aliases.generation.load(Ordering::Acquire) == generation => Some(aliases),
            None if generation == 0 => None,
            _ => Some(self.find_aliases()),
        }
    }

    #[cold]
    fn find_aliases(&self) -> &Aliases {
        let tree = self.tree();
        // The lock keeps partitions from being added, and others from publishing the same list.
        let partitions = lock(&tree.partitions);
        let generation = tree.generation.load(Ordering::Relaxed);
        let current = self.aliases.load(Ordering::Relaxed);
        // SAFETY: as above.
        let known = unsafe { current.as_ref() };
        let searched = known.map_or(0, |aliases| aliases.generation.load(Ordering::Relaxed));
        // Each generation is one partition more.
        let added = &partitions.list[searched as usize..];
        let mut found = Vec::new();
        let mut consider = |other: &Piece, shared: u64| {
            if !std::ptr::eq(other, self) && shared > 0 {
                found.push(Alias { piece: NonNull::from(other), shared, inside: shared == other.indices.len() });
            }
        };
        if known.is_none() {
            consider(&tree.root, self.indices.len());
        }
        for partition in added {
            for (colour, shared) in overlaps(&partition.index, &self.indices) {
                consider(&partition.pieces[colour as usize], shared);
            }
        }
        if std::ptr::eq(self, &*tree.root) {
            // Tasks on pieces without elements need the region, too: what frees it is ordered by the whole.
            let empty = added.iter().flat_map(|p| &p.pieces).filter(|p| p.indices.is_empty());
            found.extend(empty.map(|p| Alias { piece: NonNull::from(p), shared: 0, inside: true }));
        }
        if let (Some(known), true) = (known, found.is_empty()) {
            // Release: pairs with the load in `newest_aliases`.
            known.generation.store(generation, Ordering::Release);
            return known;
        }
        let aliases = Aliases { generation: AtomicU32::new(generation), found: found.into(), before: current };
        let aliases = Box::into_raw(Box::new(aliases));
        // Release: as above.
        self.aliases.store(aliases, Ordering::Release);
        // SAFETY: just made, and freed only with the piece.
        unsafe { &*aliases }
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        let mut list: *const Aliases = self.aliases.load(Ordering::Relaxed);
        while !list.is_null() {
            // SAFETY: made by `Box::into_raw`, in no other list, and no other thread has access to the piece any more.
            list = unsafe { Box::from_raw(list.cast_mut()) }.before;
        }
    }
}

/// The runs of all pieces of a partition, by colour.
pub(crate) fn run_index<'a>(sets: impl Iterator<Item = &'a IndexSet>) -> RunIndex<u32> {
    RunIndex::new(sets.zip(0..).flat_map(|(set, colour)| set.runs().iter().map(move |run| (*run, colour))))
}

/// The colours whose pieces overlap a set, with the number of shared indices, by colour.
fn overlaps(index: &RunIndex<u32>, set: &IndexSet) -> Vec<(u32, u64)> {
    let mut shared: FxHashMap<u32, u64> = FxHashMap::default();
    for wanted in set.runs() {
        index.overlaps(*wanted, |run, colour| {
            *shared.entry(colour).or_default() += run.end.min(wanted.end) - run.start.max(wanted.start);
        });
    }
    let mut list: Vec<(u32, u64)> = shared.into_iter().collect();
    list.sort_unstable();
    list
}

#[cfg(all(test, not(any(loom, feature = "shuttle"))))]
mod tests {
    use super::*;
    use crate::{Loom, Region};

    /// How many aliases a piece keeps, in all its lists.
    fn kept(piece: &Piece) -> usize {
        std::iter::successors(piece.newest_aliases(), |list| list.before()).map(|list| list.found.len() + 1).sum()
    }

    /// The pieces that share elements with one, with how many.
    fn overlapping(piece: &Piece, without: &Piece) -> Vec<(*const Piece, u64)> {
        let shared = piece.aliases().filter(|alias| alias.shared > 0 && !std::ptr::eq(alias.piece(), without));
        let mut shared: Vec<_> = shared.map(|alias| (std::ptr::from_ref(alias.piece()), alias.shared)).collect();
        shared.sort_unstable();
        shared
    }

    #[test]
    fn a_region_that_is_cut_again_and_again_keeps_what_overlaps_once() {
        let loom = Loom::serial();
        let v = loom.vector("v", vec![0_u8; 64]);
        let tree = v.handle().tree();
        let half = v.blocks(2).unwrap().next().unwrap();
        for i in 0..1000_usize {
            let (first, second) = (i % 64, i / 64 % 64);
            let cut = v.subsets(&[vec![first], vec![second, 63 - first], Vec::new()]).unwrap().next().unwrap();
            for piece in [v.handle().piece(), half.handle().piece(), cut.handle().piece()] {
                let mut same = Piece::new(piece.shape.clone(), Arc::clone(&piece.indices), piece.space, None);
                same.adopt(NonNull::from(tree));
                assert_eq!(overlapping(piece, piece), overlapping(&same, piece), "found bit by bit, and at once");
            }
        }
        let cuts = tree.generation.load(Ordering::Relaxed) as usize;
        assert!(cuts > 900, "most cuts were new");
        let places = kept(v.handle().piece());
        assert!(places < 4 * cuts, "{places} places for {cuts} cuts");
    }
}
