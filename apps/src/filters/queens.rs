//! Queens on a board, none of which attacks another: each node places the queen of one row.
//!
//! A board may go on in as many ways as it has columns, or in none, and nobody knows beforehand; so the nodes make boards as there
//! is room for them, and no queue must hold all that a vector of boards may become.

use drawloom_stream::{Result, source};

use super::{Program, Request, Tally};

/// Columns are bits of a number.
const MOST: u64 = 32;

/// A board with queens in its first rows.
#[derive(Clone, Copy, Debug)]
struct Board {
    /// The columns that are taken, and those that are attacked in the next row along both diagonals.
    columns: u32,
    falling: u32,
    rising: u32,
    /// The column of the first queen.
    first: u8,
}

impl Board {
    const EMPTY: Board = Board { columns: 0, falling: 0, rising: 0, first: 0 };

    /// The columns that nothing attacks in the next row.
    fn free(&self, size: u32) -> u32 {
        let all = u32::MAX.checked_shr(32 - size).unwrap_or(0);
        all & !(self.columns | self.falling | self.rising)
    }

    /// The board with a queen more, in a column given by its bit.
    fn with(&self, queen: u32) -> Board {
        let is_first = self.columns == 0;
        Board {
            columns: self.columns | queen,
            falling: (self.falling | queen) << 1,
            rising: (self.rising | queen) >> 1,
            first: if is_first { queen.trailing_zeros() as u8 } else { self.first },
        }
    }
}

/// The ways in which a board goes on.
struct Placing {
    board: Board,
    free: u32,
}

impl Iterator for Placing {
    type Item = Board;

    fn next(&mut self) -> Option<Board> {
        let queen = self.free & self.free.wrapping_neg();
        self.free ^= queen;
        (queen != 0).then(|| self.board.with(queen))
    }
}

/// All boards of n rows. The sum adds the columns of the first queens, counted from zero.
pub(super) fn boards(request: &Request) -> Result<Program> {
    let mut stream = request.stream("queens");
    if request.n > MOST {
        let why = format!("a board has at most {MOST} rows");
        let failing = stream.source("boards", source::fallible(std::iter::once(Err::<Board, _>(why))));
        let tally = Tally::add(&mut stream, "sink", failing, |_| 0);
        return Program::of(stream, vec![("sink", tally)]);
    }
    let size = request.n as u32;
    // The queens of the first two rows come from the source, so that several workers have something to begin with.
    let rows = size.min(2);
    let starts = stream.source("starts", source::indexed(request.n.pow(rows), |number| number));
    let mut boards = stream.node("first rows", starts).filter_map(move |number: &u64| {
        let mut number = *number;
        (0..rows).try_fold(Board::EMPTY, |board, _| {
            let queen = 1 << (number % u64::from(size));
            number /= u64::from(size);
            (board.free(size) & queen != 0).then(|| board.with(queen))
        })
    });
    for row in rows..size {
        let node = stream.node(format!("row {}", row + 1), boards);
        boards = node.expand(move |board: Board| Placing { free: board.free(size), board });
    }
    let tally = Tally::add(&mut stream, "sink", boards, |board: &Board| u64::from(board.first));
    Program::of(stream, vec![("sink", tally)])
}
