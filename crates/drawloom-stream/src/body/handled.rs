//! A node whose loop is ours, or a source of elements, or a sink, with handlers of the user's.

use std::ops::Range;

use super::{Body, Chain, Fault, Ran, Stop};
use crate::machine::signal::{Marks, Signal};

/// A node, and what else is done at signals.
pub(crate) struct Handled {
    pub(crate) body: Box<dyn Body>,
    /// It handles signals, and gets no items.
    pub(crate) handlers: Box<dyn Body>,
    /// Whether there are handlers of boundaries: no vector reaches over one then.
    pub(crate) at_boundaries: bool,
}

impl Body for Handled {
    fn run(
        &mut self,
        input: usize,
        count: usize,
        chain: &mut Chain,
        mut marks: Option<&mut Marks<'_>>,
    ) -> Result<Ran, Fault> {
        let ran = self.body.run(input, count, chain, marks.as_deref_mut())?;
        if let Some(marks) = marks {
            // The node itself does not look at parents; its handlers may.
            let passed = if ran.stop == Stop::Full { marks.pushed[0].len() } else { usize::MAX };
            marks.parents().take(passed).for_each(|(_, region, parent)| chain.see(region, parent));
        }
        Ok(ran)
    }

    fn handle(&mut self, signal: &Signal, chain: &mut Chain) -> Result<bool, Fault> {
        let handled = self.handlers.handle(signal, chain)?;
        // What a node does itself at a boundary is for those of its innermost region.
        let own = match signal.boundary() {
            Some((region, ..)) => chain.regions.last().is_some_and(|(own, _)| *own == region),
            None => !handled,
        };
        Ok(handled | (own && self.body.handle(signal, chain)?))
    }

    fn handles(&self, region: u32) -> bool {
        self.handlers.handles(region) || self.body.handles(region)
    }

    fn is_seamless(&self) -> bool {
        self.body.is_seamless()
    }

    fn can_span(&self) -> bool {
        !self.at_boundaries && self.body.can_span()
    }

    fn pour(&mut self, input: usize, items: Range<usize>, room: usize, ends: &mut [u32]) -> usize {
        self.body.pour(input, items, room, ends)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.body.finish()?;
        self.handlers.finish()
    }
}
