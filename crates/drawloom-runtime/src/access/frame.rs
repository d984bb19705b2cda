//! What the body of a task runs in: its arguments, resolved to addresses.

use std::alloc::Layout;

use super::arg::Arg;
use super::parameter::Parameter;
use super::reduction::{Accumulator, Reduction};
use crate::data::element::Element;
use crate::data::piece::Piece;
use crate::sync::Arc;
use crate::team::member::Part;

/// Memory for scratch arguments, which a worker uses again and again.
#[derive(Default)]
pub struct Scratchpad {
    /// Words of 64 bytes, to which nearly every element type is aligned. For others some are skipped.
    blocks: Vec<Block>,
    used: usize,
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Block(#[allow(dead_code)] [std::mem::MaybeUninit<u8>; 64]);

impl Scratchpad {
    /// Makes room for the scratch arguments of one task. Allocates only when a task needs more than any task before it.
    pub(crate) fn reserve(&mut self, layouts: &[Layout]) {
        self.used = 0;
        let blocks = layouts.iter().map(blocks_for).fold(0, usize::saturating_add);
        // Without the memory, the body that asks for its buffer fails.
        if self.blocks.len() < blocks && self.blocks.try_reserve(blocks - self.blocks.len()).is_ok() {
            self.blocks.resize(blocks, Block([std::mem::MaybeUninit::uninit(); 64]));
        }
    }

    /// The next scratch buffer. It is disjoint from all others since `reserve`.
    fn take(&mut self, layout: Layout) -> *mut u8 {
        let skipped = self.blocks.as_ptr().wrapping_add(self.used).align_offset(layout.align());
        let start = self.used.saturating_add(skipped);
        self.used = self.used.saturating_add(blocks_for(&layout));
        let end = start.saturating_add(layout.size().div_ceil(64));
        let Some(buffer) = self.blocks.get_mut(start..end) else {
            // As a panic of the body, which is what runs now, but without the words of one.
            let said = format!("there is no memory for its scratch buffer of {} bytes", layout.size());
            std::panic::resume_unwind(Box::new(said));
        };
        buffer.as_mut_ptr().cast()
    }
}

/// How many blocks a buffer takes, with those that are skipped so that it is aligned.
fn blocks_for(layout: &Layout) -> usize {
    layout.size().div_ceil(64).saturating_add((layout.align() / 64).saturating_sub(1))
}

/// A contribution that a running task fills.
pub(crate) struct Contribution {
    pub(crate) reduction: Arc<Reduction>,
    pub(crate) number: u32,
    pub(crate) accumulator: Accumulator,
}

/// What the body of a task runs in.
pub struct Frame<'v> {
    args: &'v [Arg],
    next: usize,
    /// Of those parameters that need more than arguments.
    parameters: &'v [Parameter],
    next_parameter: usize,
    /// Where the accumulators of the arguments are that are reduced into.
    accumulators: &'v [*mut u8],
    next_accumulator: usize,
    scratch: &'v mut Scratchpad,
    layouts: &'v [Layout],
    next_layout: usize,
    /// Where arguments are: in this process, or in the memory of another node.
    pub(crate) bases: Option<&'v [*mut u8]>,
    /// The part in a team that runs the body.
    pub(crate) team: Option<Part<'v>>,
}

/// Where the elements of an argument are.
#[derive(Clone, Copy)]
pub struct Place<'v> {
    pub(crate) piece: &'v Piece,
    pub(crate) base: *mut u8,
    /// Whether only the elements of the piece are there, one after the other, instead of the whole region.
    pub(crate) compact: bool,
}

impl<'v> Frame<'v> {
    pub(crate) fn new(
        args: &'v [Arg],
        parameters: &'v [Parameter],
        accumulators: &'v [*mut u8],
        scratch: &'v mut Scratchpad,
        layouts: &'v [Layout],
    ) -> Self {
        scratch.reserve(layouts);
        Self {
            args,
            next: 0,
            parameters,
            next_parameter: 0,
            accumulators,
            next_accumulator: 0,
            scratch,
            layouts,
            next_layout: 0,
            bases: None,
            team: None,
        }
    }

    /// The place of the next argument.
    #[inline]
    pub(crate) fn place(&mut self) -> Place<'v> {
        let index = self.next;
        self.next += 1;
        self.place_at(index)
    }

    #[inline]
    fn place_at(&self, index: usize) -> Place<'v> {
        let piece = self.args[index].piece();
        let base = match self.bases {
            None => piece.tree().base(),
            Some(bases) => bases[index],
        };
        Place { piece, base, compact: false }
    }

    /// The places of the arguments of the next `read_all` or `update_all`.
    pub(crate) fn places(&mut self) -> Places<'v> {
        let &Parameter::Count(count) = self.parameter() else { unreachable!("a list was declared here") };
        let first = self.next;
        self.next += count;
        Places { args: &self.args[first..self.next], bases: self.bases.map(|b| &b[first..first + count]) }
    }

    /// The next value.
    pub(crate) fn value<T: Element>(&mut self) -> T {
        self.parameter().as_value().expect("a value was declared here, of this type")
    }

    fn parameter(&mut self) -> &'v Parameter {
        let parameter = &self.parameters[self.next_parameter];
        self.next_parameter += 1;
        parameter
    }

    /// The place of the accumulator for the next argument, which is reduced into.
    pub(crate) fn accumulator(&mut self) -> Place<'v> {
        let piece = self.args[self.next].piece();
        self.next += 1;
        let base = self.accumulators[self.next_accumulator];
        self.next_accumulator += 1;
        Place { piece, base, compact: true }
    }

    /// The next scratch buffer.
    pub(crate) fn scratch(&mut self) -> (*mut u8, Layout) {
        let layout = self.layouts[self.next_layout];
        self.next_layout += 1;
        (self.scratch.take(layout), layout)
    }

    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }
}

/// The places of a list of arguments.
#[derive(Clone, Copy)]
pub(crate) struct Places<'v> {
    args: &'v [Arg],
    bases: Option<&'v [*mut u8]>,
}

impl<'v> Places<'v> {
    pub(crate) fn len(&self) -> usize {
        self.args.len()
    }

    pub(crate) fn get(&self, index: usize) -> Place<'v> {
        let piece = self.args[index].piece();
        let base = self.bases.map_or_else(|| piece.tree().base(), |bases| bases[index]);
        Place { piece, base, compact: false }
    }
}
