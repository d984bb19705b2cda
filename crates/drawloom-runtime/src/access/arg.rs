//! One argument of a task, in one word: the address of a piece, and in its low bits the mode.

use std::num::NonZeroUsize;
use std::ptr::NonNull;

use crate::data::piece::Piece;

/// How a task uses an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Mode {
    Read = 0,
    Write = 1,
    Update = 2,
    Reduce = 3,
    Commute = 4,
    LendRead = 5,
    LendUpdate = 6,
    LendWrite = 7,
}

impl Mode {
    /// Whether the task may change the elements.
    pub(crate) fn mutates(self) -> bool {
        !matches!(self, Mode::Read | Mode::LendRead)
    }

    /// Whether the task makes use of what the elements hold.
    pub(crate) fn reads(self) -> bool {
        !matches!(self, Mode::Write | Mode::LendWrite)
    }

    /// Whether the task overwrites the elements without having looked at them.
    pub(crate) fn replaces(self) -> bool {
        matches!(self, Mode::Write | Mode::LendWrite)
    }

    /// Whether children may use the argument.
    pub(crate) fn lends(self) -> bool {
        matches!(self, Mode::LendRead | Mode::LendUpdate | Mode::LendWrite)
    }

    /// The word used in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Mode::Read | Mode::LendRead => "read",
            Mode::Write | Mode::LendWrite => "write",
            Mode::Update | Mode::LendUpdate => "update",
            Mode::Reduce => "reduce",
            Mode::Commute => "commute",
        }
    }

    pub(crate) fn from_bits(bits: usize) -> Self {
        match bits {
            0 => Mode::Read,
            1 => Mode::Write,
            2 => Mode::Update,
            3 => Mode::Reduce,
            4 => Mode::Commute,
            5 => Mode::LendRead,
            6 => Mode::LendUpdate,
            _ => Mode::LendWrite,
        }
    }
}

/// A piece and what a task does with it.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Arg(NonNull<Piece>);

const MODE: usize = 7;
const UNORDERED: usize = 8;

// SAFETY: pieces are `Sync`.
unsafe impl Send for Arg {}
// SAFETY: as above.
unsafe impl Sync for Arg {}

impl Arg {
    /// # Safety
    /// The region lives longer than this argument and its copies: a handle keeps it meanwhile, or they are those of tasks, which
    /// are complete before the region is freed, as what frees it comes after them.
    pub(crate) unsafe fn new(piece: &Piece, mode: Mode) -> Self {
        Self(NonNull::from(piece).map_addr(|a| a | mode as usize))
    }

    /// The same argument with another mode.
    pub(crate) fn with_mode(self, mode: Mode) -> Self {
        // No address is nothing but a mode.
        Self(self.0.map_addr(|a| NonZeroUsize::new(a.get() & !MODE | mode as usize).unwrap_or(a)))
    }

    /// The same argument, left out of the order of tasks.
    pub(crate) fn unordered(self) -> Self {
        Self(self.0.map_addr(|a| a | UNORDERED))
    }

    pub(crate) fn mode(&self) -> Mode {
        Mode::from_bits(self.0.addr().get() & MODE)
    }

    pub(crate) fn is_ordered(&self) -> bool {
        self.0.addr().get() & UNORDERED == 0
    }

    pub(crate) fn piece(&self) -> &Piece {
        // SAFETY: the piece is there as long as the argument is; see `new`.
        unsafe { &*self.0.as_ptr().map_addr(|a| a & !(MODE | UNORDERED)) }
    }
}
