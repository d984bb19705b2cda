//! Matrices with a leading dimension, stored by columns as in LAPACK.

use std::ptr::NonNull;

use drawloom_graph::region::Run;
use drawloom_graph::{IndexSet, Pieces};

use crate::access::frame::Place;
use crate::error::{Error, ErrorKind, Result};

use super::partition::Parts;
use super::piece::Shape;
use super::region::{Handle, Region, kind_of_region};
use super::strided::{MatrixMut, MatrixRef};
use super::tree::{Cut, Partition};

kind_of_region! {
    /// A matrix stored by columns, or a tile of one.
    Matrix
}

impl<T: Send + Sync + 'static> Region for Matrix<T> {
    type Ref<'v> = MatrixRef<'v, T>;
    type Mut<'v> = MatrixMut<'v, T>;

    fn handle(&self) -> &Handle {
        &self.handle
    }

    unsafe fn from_handle(handle: Handle) -> Self {
        Self { handle, element: std::marker::PhantomData }
    }

    #[inline]
    unsafe fn view<'v>(place: Place<'v>) -> MatrixRef<'v, T> {
        // SAFETY: promised by the caller.
        unsafe { MatrixRef::new(place, 0) }
    }

    #[inline]
    unsafe fn view_mut<'v>(place: Place<'v>) -> MatrixMut<'v, T> {
        // SAFETY: promised by the caller.
        unsafe { MatrixMut::new(place, 0) }
    }
}

/// The shape of a whole matrix, if the data fits it.
pub(crate) fn matrix_shape(name: &str, rows: usize, columns: usize, leading: usize, len: usize) -> Result<Shape> {
    let refuse = |message| Err(Error::new(ErrorKind::Shape, format!("matrix `{name}`: {message}")));
    if leading < rows {
        return refuse(format!("its leading dimension {leading} is less than its {rows} rows"));
    }
    if leading.checked_mul(columns) != Some(len) {
        return refuse(format!("{columns} columns of {leading} elements do not make {len} elements"));
    }
    Ok(Shape::Strided { first: 0, extents: Box::new([rows, columns]), strides: Box::new([1, leading]) })
}

/// The indices of the elements of a strided piece, along runs of stride one.
pub(crate) fn indices_of(first: usize, extents: &[usize], strides: &[usize]) -> IndexSet {
    if extents.contains(&0) {
        return IndexSet::empty();
    }
    let along = (0..strides.len()).find(|&i| strides[i] == 1).filter(|_| !extents.is_empty());
    let run = along.map_or(1, |i| extents[i]) as u64;
    let others: Vec<usize> = (0..extents.len()).filter(|&i| Some(i) != along).collect();
    let count: usize = others.iter().map(|&i| extents[i]).product();
    let mut at = vec![0; others.len()];
    let runs = (0..count).map(|_| {
        let start = first + others.iter().zip(&at).map(|(&i, n)| n * strides[i]).sum::<usize>();
        for (place, &dimension) in at.iter_mut().zip(&others) {
            *place += 1;
            if *place < extents[dimension] {
                break;
            }
            *place = 0;
        }
        Run { start: start as u64, end: start as u64 + run }
    });
    IndexSet::from_runs(runs.collect::<Vec<_>>())
}

/// The tiles of a strided piece, the first dimension fastest, each with up to `width` more elements on both sides of each
/// dimension.
pub(crate) fn tiles_of(shape: &Shape, tile: &[usize], width: &[usize]) -> Vec<Shape> {
    let Shape::Strided { first, extents, strides } = shape else { unreachable!("only strided pieces have tiles") };
    let counts: Vec<usize> = extents.iter().zip(tile).map(|(e, t)| e.div_ceil(*t)).collect();
    let total: usize = counts.iter().product();
    (0..total)
        .map(|number| {
            let mut rest = number;
            let (mut start, mut part) = (*first, Vec::with_capacity(tile.len()));
            for i in 0..tile.len() {
                let at = (rest % counts[i]) * tile[i];
                rest /= counts[i];
                let end = at.saturating_add(tile[i]).saturating_add(width[i]).min(extents[i]);
                let at = at.saturating_sub(width[i]);
                start += at * strides[i];
                part.push(end - at);
            }
            Shape::Strided { first: start, extents: part.into(), strides: strides.clone() }
        })
        .collect()
}

/// How many tiles a strided piece has, and how many runs of elements in all of them at most.
fn tile_count(shape: &Shape, tile: &[usize], width: &[usize]) -> (usize, usize) {
    let Shape::Strided { extents, strides, .. } = shape else { unreachable!("only strided pieces have tiles") };
    if extents.contains(&0) {
        return (0, 0);
    }
    let along = strides.iter().position(|&stride| stride == 1);
    let (mut count, mut runs) = (1_usize, 1_usize);
    for (i, (&extent, &size)) in extents.iter().zip(tile).enumerate() {
        let tiles = extent.div_ceil(size);
        count = count.saturating_mul(tiles);
        // Those on the margins are in several tiles.
        let margins = tiles.saturating_mul(width[i]).saturating_mul(2).min(extent.saturating_mul(tiles));
        runs = runs.saturating_mul(if Some(i) == along { tiles } else { extent.saturating_add(margins) });
    }
    (count, runs)
}

/// Cuts a strided piece into tiles, which overlap by `width` in each dimension.
pub(crate) fn cut_into_tiles(handle: &Handle, tile: &[usize], width: &[usize], cut: Cut) -> Result<NonNull<Partition>> {
    if tile.contains(&0) {
        return Err(Error::new(
            ErrorKind::Partition,
            format!("region `{}` cannot be cut into tiles of extents {tile:?}", handle.piece().name()),
        ));
    }
    let piece = handle.piece();
    if let Some(known) = handle.tree().known_partition(piece, &cut) {
        return Ok(known);
    }
    let (count, runs) = tile_count(&piece.shape, tile, width);
    handle.refuse_too_scattered(count, runs)?;
    let shapes = tiles_of(&piece.shape, tile, width);
    let sets = shapes.iter().map(|shape| {
        let Shape::Strided { first, extents, strides } = shape else { unreachable!("tiles are strided") };
        indices_of(*first, extents, strides)
    });
    let sets: Vec<IndexSet> = sets.collect();
    // A whole region may have unused elements between its columns, which no tile holds.
    handle.cut(cut, Pieces::lists(sets), false, &|colour, _| shapes[colour].clone())
}

impl<T: Send + Sync + 'static> Matrix<T> {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.extents()[0]
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.extents()[1]
    }

    fn extents(&self) -> &[usize] {
        match &self.handle.piece().shape {
            Shape::Strided { extents, .. } => extents,
            _ => unreachable!("matrices are strided"),
        }
    }

    /// Cuts the matrix into tiles of the given size, those at the end possibly smaller; down the columns first. The same
    /// call gives the same tiles again.
    ///
    /// # Errors
    /// When the tile has no rows or no columns, or there would be so many that they would take all memory.
    pub fn tiles(&self, rows: usize, columns: usize) -> Result<Parts<Matrix<T>>> {
        let cut = Cut::tiles("tiles", &[rows, columns]);
        Ok(self.handle.parts(cut_into_tiles(&self.handle, &[rows, columns], &[0, 0], cut)?))
    }

    /// The tiles of [`Matrix::tiles`], each with up to `width` more rows above and below and columns left and right.
    ///
    /// # Errors
    /// As [`Matrix::tiles`].
    pub fn halo_tiles(&self, rows: usize, columns: usize, width: usize) -> Result<Parts<Matrix<T>>> {
        let (tile, width) = ([rows, columns], [width; 2]);
        Ok(self.handle.parts(cut_into_tiles(&self.handle, &tile, &width, Cut::halos(&tile, &width))?))
    }

    /// How many tiles of the given size the matrix has down, and across.
    pub fn tile_counts(&self, rows: usize, columns: usize) -> (usize, usize) {
        (self.rows().div_ceil(rows.max(1)), self.columns().div_ceil(columns.max(1)))
    }
}
