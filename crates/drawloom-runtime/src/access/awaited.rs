//! What a task reads, while it still waits for those who write it.
//!
//! A worker that watches for another one to be done would see that, and then wait once more for what the other one has written:
//! two transfers between processors, one after the other. So it asks for the data each time it looks. As long as nobody writes
//! there it has the data already, and afterwards that is on its way together with the news.

use super::{Arg, Mode};
use crate::sync::near::bring_line_to_read;

/// Of more inputs than these it asks for the first.
const MOST: usize = 4;

/// The beginnings of what a task reads.
pub(crate) struct Awaited {
    lines: [*const u8; MOST],
    count: usize,
}

impl Awaited {
    pub(crate) fn by(args: &[Arg]) -> Self {
        // What is left out of the order is nobody's business before the task runs.
        let read = args.iter().filter(|arg| arg.mode().reads() && arg.mode() != Mode::Reduce && arg.is_ordered());
        let mut awaited = Self { lines: [std::ptr::null(); MOST], count: 0 };
        for (line, first) in awaited.lines.iter_mut().zip(read.filter_map(|arg| arg.piece().first_element())) {
            *line = first;
            awaited.count += 1;
        }
        awaited
    }

    /// Asks for it.
    #[inline]
    pub(crate) fn bring_near(&self) {
        self.lines[..self.count].iter().for_each(|line| bring_line_to_read(*line));
    }
}
