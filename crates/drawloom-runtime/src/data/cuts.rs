//! Cuts of a vector into blocks, runs, colours and lists. They do not depend on the type of its elements, so they are compiled
//! once for all types.

use std::ptr::NonNull;

use drawloom_graph::region::Run;
use drawloom_graph::{IndexSet, Pieces};

use crate::error::{Error, ErrorKind, Result};

use super::piece::Shape;
use super::region::Handle;
use super::tree::{Cut, Partition};

/// How many pieces, and how many runs of elements in all of them, a partition may have. What is kept of so many takes tens of
/// gibibytes.
const MOST_PIECES: usize = 1 << 28;
const MOST_RUNS: usize = 1 << 30;

type Found = Result<NonNull<Partition>>;

/// Cuts of a vector.
impl Handle {
    pub(super) fn blocks(&self, count: usize) -> Found {
        self.refuse_too_many(count)?;
        let number = match u32::try_from(count) {
            Ok(number) if number > 0 => number,
            _ => {
                let (name, most) = (self.piece().name(), u32::MAX);
                return Err(refused(format!(
                    "region `{name}` cannot be cut into {count} blocks: it takes 1 to {most}"
                )));
            }
        };
        self.cut(Cut::tiles("blocks", &[count]), Pieces::equal(number), true, &line_of)
    }

    pub(super) fn halos(&self, count: usize, width: usize) -> Found {
        let blocks = self.blocks(count)?;
        // SAFETY: partitions live as long as their tree, which this handle keeps.
        let blocks = unsafe { blocks.as_ref() };
        let indices = &self.piece().indices;
        let (start, end) = (indices.first().unwrap_or(0), indices.last().map_or(0, |last| last + 1));
        let wide = width as u64;
        let with_halo = |indices: &IndexSet| match (indices.first(), indices.last()) {
            (Some(first), Some(last)) => {
                IndexSet::range(first.saturating_sub(wide).max(start), (last + 1).saturating_add(wide).min(end))
            }
            _ => IndexSet::empty(),
        };
        let sets: Vec<IndexSet> = blocks.pieces.iter().map(|block| with_halo(&block.indices)).collect();
        self.cut(Cut::halos(&[count], &[width]), Pieces::lists(sets), true, &line_of)
    }

    pub(super) fn runs(&self, starts: &[usize]) -> Found {
        let ends = starts.iter().copied().chain([self.piece().shape.len()]);
        let runs: Vec<(usize, usize)> = std::iter::once(0).chain(starts.iter().copied()).zip(ends).collect();
        if let Some((start, end)) = runs.iter().find(|(start, end)| start > end) {
            let name = self.piece().name();
            return Err(refused(format!("region `{name}` cannot be cut into runs: {end} comes after {start}")));
        }
        self.refuse_too_many(runs.len())?;
        let first = self.piece().indices.first().unwrap_or(0);
        let set = |(start, end)| IndexSet::range(first + start as u64, first + end as u64);
        let sets: Vec<IndexSet> = runs.into_iter().map(set).collect();
        self.cut(Cut::Runs(starts.to_vec()), Pieces::lists(sets), true, &line_of)
    }

    pub(super) fn by_colour(&self, colours: &[u32]) -> Found {
        let (piece, len) = (self.piece(), self.piece().shape.len());
        if colours.len() != len {
            let (name, given) = (piece.name(), colours.len());
            return Err(refused(format!("region `{name}` has {len} elements, and {given} colours were given")));
        }
        let count = colours.iter().max().map_or(0, |most| *most as usize + 1);
        self.refuse_too_many(count)?;
        let mut lists: Vec<Vec<Run>> = vec![Vec::new(); count];
        for (index, &colour) in piece.indices.iter().zip(colours) {
            match lists[colour as usize].last_mut() {
                Some(run) if run.end == index => run.end += 1,
                _ => lists[colour as usize].push(Run { start: index, end: index + 1 }),
            }
        }
        self.listed(lists.into_iter().map(IndexSet::from_runs).collect(), true)
    }

    /// Pieces given by lists of element numbers.
    pub(super) fn lists(&self, lists: &[Vec<usize>], must_cover: bool) -> Found {
        let (first, len) = (self.piece().indices.first().unwrap_or(0), self.piece().shape.len());
        let set = |(number, list): (usize, &Vec<usize>)| match list.iter().find(|&&index| index >= len) {
            Some(wrong) => {
                let name = self.piece().name();
                Err(refused(format!("piece {number} holds element {wrong}, and region `{name}` has {len}")))
            }
            None => Ok(list.iter().map(|&index| first + index as u64).collect()),
        };
        self.listed(lists.iter().enumerate().map(set).collect::<Result<_>>()?, must_cover)
    }

    fn listed(&self, sets: Vec<IndexSet>, must_cover: bool) -> Found {
        let key = Cut::Listed(sets.as_slice().into(), must_cover);
        let shape = |_, set: &IndexSet| Shape::Scattered { len: set.len() as usize };
        self.cut(key, Pieces::lists(sets), must_cover, &shape)
    }

    /// Refuses a number of pieces of which nearly all would be empty, or that would take all memory: it is a mistake.
    fn refuse_too_many(&self, count: usize) -> Result<()> {
        self.refuse_too_scattered(count, 0)?;
        let len = self.piece().shape.len();
        if count <= len.saturating_mul(16).saturating_add(1024) {
            return Ok(());
        }
        Err(refused(format!("region `{}` cannot be cut into {count} pieces: it has {len}", self.piece().name())))
    }

    /// Refuses pieces that consist of so many runs of elements that to remember them would take all memory.
    pub(super) fn refuse_too_scattered(&self, count: usize, runs: usize) -> Result<()> {
        let name = || self.piece().name();
        if count > MOST_PIECES {
            let message = format!("region `{}` cannot be cut into {count} pieces: {MOST_PIECES} are the most", name());
            return Err(refused(message));
        }
        if runs > MOST_RUNS {
            let name = name();
            return Err(refused(format!(
                "region `{name}` cannot be cut into pieces that have {runs} runs of neighbouring elements: {MOST_RUNS} are the most"
            )));
        }
        Ok(())
    }
}

/// Where a piece with one run of indices, or none, lies.
fn line_of(_: usize, indices: &IndexSet) -> Shape {
    Shape::Line { first: indices.first().unwrap_or(0) as usize, len: indices.len() as usize }
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::Partition, message)
}
