//! Vectors: elements one after the other.

use drawloom_graph::{IndexSet, Pieces};

use crate::access::frame::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

use super::indexed::Indexed;
use super::partition::Parts;
use super::piece::Shape;
use super::region::{Handle, Region, kind_of_region};
use super::tree::Cut;

kind_of_region! {
    /// A vector, or a run of elements of one. Tasks see it as a slice.
    Vector
}

impl<T: Send + Sync + 'static> Region for Vector<T> {
    type Ref<'v> = &'v [T];
    type Mut<'v> = &'v mut [T];

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: std::marker::PhantomData }
    }

    #[inline]
    unsafe fn view<'v>(place: Place<'v>) -> &'v [T] {
        let (address, len) = line::<T>(place);
        // SAFETY: the piece is a run of `len` elements at that address, which the caller may read.
        unsafe { std::slice::from_raw_parts(address, len) }
    }

    #[inline]
    unsafe fn view_mut<'v>(place: Place<'v>) -> &'v mut [T] {
        let (address, len) = line::<T>(place);
        // SAFETY: the piece is a run of `len` elements at that address, which the caller has for itself.
        unsafe { std::slice::from_raw_parts_mut(address, len) }
    }
}

#[inline]
pub(crate) fn line<T>(place: Place<'_>) -> (*mut T, usize) {
    let Shape::Line { first, len } = place.piece.shape else { unreachable!("a vector is a line") };
    let first = if place.compact { 0 } else { first };
    // Wrapping, as an empty region has no address to add to.
    (place.base.cast::<T>().wrapping_add(first), len)
}

/// How many pieces, and how many runs of elements in all of them, a partition may have. What is kept of so many takes tens of
/// gibibytes.
const MOST_PIECES: usize = 1 << 28;
const MOST_RUNS: usize = 1 << 30;

/// Refuses a number of pieces of which nearly all would be empty, or that would take all memory: it is a mistake.
pub(crate) fn refuse_too_many(handle: &Handle, count: usize, parts: usize) -> Result<()> {
    refuse_too_scattered(handle, count, 0)?;
    if count <= parts.saturating_mul(16).saturating_add(1024) {
        return Ok(());
    }
    let name = handle.piece().name();
    Err(Error::new(ErrorKind::Partition, format!("region `{name}` cannot be cut into {count} pieces: it has {parts}")))
}

/// Refuses pieces that consist of so many runs of elements that to remember them would take all memory.
pub(crate) fn refuse_too_scattered(handle: &Handle, count: usize, runs: usize) -> Result<()> {
    let name = || handle.piece().name();
    let message = if count > MOST_PIECES {
        format!("region `{}` cannot be cut into {count} pieces: {MOST_PIECES} are the most", name())
    } else if runs > MOST_RUNS {
        format!(
            "region `{}` cannot be cut into pieces that have {runs} runs of neighbouring elements: {MOST_RUNS} are the most",
            name()
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Partition, message))
}

/// Where a piece with one run of indices, or none, lies.
pub(crate) fn line_of(indices: &IndexSet) -> Shape {
    Shape::Line { first: indices.first().unwrap_or(0) as usize, len: indices.len() as usize }
}

impl<T: Send + Sync + 'static> Vector<T> {
    /// Cuts the vector into `count` runs whose lengths differ by at most one. The same call gives the same pieces again.
    ///
    /// # Errors
    /// When `count` is zero, or more than four billion.
    pub fn blocks(&self, count: usize) -> Result<Parts<Vector<T>>> {
        let number = self.block_count(count)?;
        self.handle.cut(Cut::tiles("blocks", &[count]), Pieces::equal(number), true, |_, set| line_of(set))
    }

    /// The blocks of [`Vector::blocks`], each with up to `width` more elements on both sides.
    ///
    /// # Errors
    /// As [`Vector::blocks`].
    pub fn halos(&self, count: usize, width: usize) -> Result<Parts<Vector<T>>> {
        self.block_count(count)?;
        let piece = self.handle.piece();
        let (start, end) = (piece.indices.first().unwrap_or(0), piece.indices.last().map_or(0, |i| i + 1));
        let key = Cut::halos(&[count], &[width]);
        let width = width as u64;
        let blocks = self.blocks(count)?;
        let sets: Vec<IndexSet> = blocks
            .map(|block| {
                let indices = &block.handle.piece().indices;
                match (indices.first(), indices.last()) {
                    (Some(first), Some(last)) => IndexSet::range(
                        first.saturating_sub(width).max(start),
                        (last + 1).saturating_add(width).min(end),
                    ),
                    _ => IndexSet::empty(),
                }
            })
            .collect();
        self.handle.cut(key, Pieces::lists(sets), true, |_, set| line_of(set))
    }

    /// Cuts the vector into runs: a new one starts at each of the given elements. The same call gives the same pieces again.
    ///
    /// # Errors
    /// When the elements are not in ascending order, or one does not exist.
    pub fn runs(&self, starts: &[usize]) -> Result<Parts<Vector<T>>> {
        let ends = starts.iter().copied().chain([self.len()]);
        let runs: Vec<(usize, usize)> = std::iter::once(0).chain(starts.iter().copied()).zip(ends).collect();
        if let Some((start, end)) = runs.iter().find(|(start, end)| start > end) {
            let message = format!("region `{}` cannot be cut into runs: {end} comes after {start}", self.name());
            return Err(Error::new(ErrorKind::Partition, message));
        }
        self.refuse_too_many(runs.len())?;
        let first = self.handle.piece().indices.first().unwrap_or(0);
        let set = |(start, end)| IndexSet::range(first + start as u64, first + end as u64);
        let sets: Vec<IndexSet> = runs.into_iter().map(set).collect();
        self.handle.cut(Cut::Runs(starts.to_vec()), Pieces::lists(sets), true, |_, set| line_of(set))
    }

    /// Cuts the vector by colour: piece `c` holds the elements whose colour is `c`.
    ///
    /// # Errors
    /// When there is not exactly one colour for each element.
    pub fn by_colour(&self, colours: &[u32]) -> Result<Parts<Indexed<T>>> {
        if colours.len() != self.len() {
            return Err(Error::new(
                ErrorKind::Partition,
                format!(
                    "region `{}` has {} elements, and {} colours were given",
                    self.name(),
                    self.len(),
                    colours.len()
                ),
            ));
        }
        let piece = self.handle.piece();
        let count = colours.iter().max().map_or(0, |m| *m as usize + 1);
        self.refuse_too_many(count)?;
        let mut lists: Vec<Vec<drawloom_graph::region::Run>> = vec![Vec::new(); count];
        for (index, &colour) in piece.indices.iter().zip(colours) {
            match lists[colour as usize].last_mut() {
                Some(run) if run.end == index => run.end += 1,
                _ => lists[colour as usize].push(drawloom_graph::region::Run { start: index, end: index + 1 }),
            }
        }
        self.listed(lists.into_iter().map(IndexSet::from_runs).collect(), true)
    }

    /// Cuts the vector into pieces given by lists of element numbers. Pieces may overlap, and must cover everything. The
    /// same lists give the same pieces again.
    ///
    /// # Errors
    /// When an element does not exist, or is in no piece.
    pub fn pieces(&self, lists: &[Vec<usize>]) -> Result<Parts<Indexed<T>>> {
        self.listed(self.global(lists)?, true)
    }

    /// As [`Vector::pieces`], without having to cover everything.
    ///
    /// # Errors
    /// When an element does not exist.
    pub fn subsets(&self, lists: &[Vec<usize>]) -> Result<Parts<Indexed<T>>> {
        self.listed(self.global(lists)?, false)
    }

    fn global(&self, lists: &[Vec<usize>]) -> Result<Vec<IndexSet>> {
        let first = self.handle.piece().indices.first().unwrap_or(0);
        lists
            .iter()
            .enumerate()
            .map(|(number, list)| match list.iter().find(|&&i| i >= self.len()) {
                Some(wrong) => Err(Error::new(
                    ErrorKind::Partition,
                    format!("piece {number} holds element {wrong}, and region `{}` has {}", self.name(), self.len()),
                )),
                None => Ok(list.iter().map(|&i| first + i as u64).collect()),
            })
            .collect()
    }

    fn listed(&self, sets: Vec<IndexSet>, must_cover: bool) -> Result<Parts<Indexed<T>>> {
        let key = Cut::Listed(sets.as_slice().into(), must_cover);
        let shape = |_, set: &IndexSet| Shape::Scattered { len: set.len() as usize };
        self.handle.cut(key, Pieces::lists(sets), must_cover, shape)
    }

    fn block_count(&self, count: usize) -> Result<u32> {
        self.refuse_too_many(count)?;
        match u32::try_from(count) {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Error::new(
                ErrorKind::Partition,
                format!("region `{}` cannot be cut into {count} blocks: it takes 1 to {}", self.name(), u32::MAX),
            )),
        }
    }

    fn refuse_too_many(&self, count: usize) -> Result<()> {
        refuse_too_many(&self.handle, count, self.len())
    }

    /// The same region without its element type: tasks find its elements themselves.
    pub fn erased(&self) -> super::erased::Erased {
        super::erased::Erased(self.handle.clone())
    }

    /// Waits for the tasks that were submitted before, and copies the elements out.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>>
    where
        T: Clone,
    {
        Ok(self.read()?.to_vec())
    }

    /// Waits for the tasks that were submitted before, and gives the elements back: without a copy when this is the last
    /// handle of the whole vector.
    ///
    /// # Errors
    /// As [`Region::read`].
    #[track_caller]
    pub fn into_vec(self) -> Result<Vec<T>>
    where
        T: Clone,
    {
        if !std::ptr::eq(self.handle.piece(), &*self.handle.tree().root) || Arc::strong_count(&self.handle.root) > 1 {
            return self.to_vec();
        }
        drop(self.write()?);
        // SAFETY: this is the only handle, and every task on the region is complete, so nobody has access to it or can
        // get it. The element type is that of the region.
        let data = unsafe { self.handle.tree().buffer_mut().take::<T>() };
        Ok(data)
    }
}
