//! How many rows a piece has, and how many pieces are in flight.
//!
//! More rows in a piece make no row cheaper as soon as the tensors of a piece do not stay in the cache, so the choice is the
//! largest piece that does, and that the memory allows. Fewer pieces in flight are better than a piece that does not fit.

use crate::error::{Error, ErrorKind};
use crate::plan::Pieces;
use crate::slice::Slicing;

/// Pieces are not made larger than this many bytes unless the user asks for it.
const CACHE: usize = 4 << 20;

/// A batch of any size is cut into pieces of no more rows than this unless the user asks for it.
const MOST_ROWS: u64 = 64;

pub(super) struct Choice {
    pub(super) slicing: Slicing,
    pub(super) in_flight: usize,
}

/// Chooses for a number of rows, with so many bytes that are needed anyway, and a function from rows of a piece to bytes.
pub(super) fn choose(pieces: &Pieces, rows: u64, fixed: usize, need: &dyn Fn(u64) -> usize) -> Result<Choice, Error> {
    let multiple = pieces.multiple.unwrap_or(1);
    let wanted = pieces.in_flight.or(pieces.workers).unwrap_or(1);
    if wanted == 0 || multiple == 0 {
        return Err(Error::new(ErrorKind::Batch, "the number of pieces in flight and the multiple must not be zero"));
    }
    let memory = pieces.memory.unwrap_or(usize::MAX);
    let slicing = |piece: u64| Slicing::new(piece).multiple(multiple);
    let fits = |bytes: usize, in_flight: usize| bytes.saturating_mul(in_flight).saturating_add(fixed) <= memory;
    if let Some(piece) = pieces.piece {
        let cut = slicing(piece).cut(rows)?;
        let bytes = need(cut.most());
        let most = usize::try_from(cut.pieces()).unwrap_or(usize::MAX).min(wanted);
        let in_flight = (1..=most).rev().find(|in_flight| fits(bytes, *in_flight));
        let in_flight = in_flight.ok_or_else(|| too_little(cut.most(), fixed, bytes, memory))?;
        return Ok(Choice { slicing: slicing(piece), in_flight });
    }
    let smallest = multiple.min(rows.max(1));
    let least = need(smallest);
    let most = usize::try_from(rows.div_ceil(multiple).max(1)).unwrap_or(usize::MAX).min(wanted);
    let in_flight = (1..=most).rev().find(|in_flight| fits(least, *in_flight));
    let in_flight = in_flight.ok_or_else(|| too_little(smallest, fixed, least, memory))?;
    // Every piece in flight should have something to do.
    let share = rows.div_ceil(in_flight as u64).div_ceil(multiple).clamp(1, MOST_ROWS.div_ceil(multiple));
    let good = |steps: u64| {
        let bytes = need(steps * multiple);
        (bytes <= CACHE || steps == 1) && fits(bytes, in_flight)
    };
    let (mut low, mut high) = (1, share);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if good(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(Choice { slicing: slicing(low * multiple), in_flight })
}

fn too_little(rows: u64, fixed: usize, piece: usize, memory: usize) -> Error {
    let needed = fixed.saturating_add(piece);
    let rows = if rows == 1 { "one row".to_owned() } else { format!("a piece of {rows} rows") };
    let message = format!(
        "{rows} does not fit into {memory} bytes: {needed} would do, {piece} of them for the piece, and {fixed} for results \
         and what is the same for all rows"
    );
    Error::new(ErrorKind::Memory, message)
}
