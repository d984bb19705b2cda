//! What the user says about a run in pieces.

use std::sync::Arc;

use crate::slice::RowSink;

/// How a batch is cut, and what its run may use.
#[derive(Clone, Default)]
pub struct Pieces {
    pub(super) axes: Vec<(String, Option<usize>)>,
    pub(super) carries: Vec<(String, String)>,
    pub(super) sinks: Vec<(String, Arc<dyn RowSink>)>,
    pub(super) piece: Option<u64>,
    pub(super) multiple: Option<u64>,
    pub(super) in_flight: Option<usize>,
    pub(super) workers: Option<usize>,
    pub(super) memory: Option<usize>,
}

impl Pieces {
    /// Everything is chosen by what the model needs: for one worker, in memory that stays in its cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The axis of an input that counts rows, or none for an input that is the same for all rows. See [`Model::batch`](crate::Model::batch) for
    /// what is taken otherwise.
    #[must_use]
    pub fn axis(mut self, input: &str, axis: Option<usize>) -> Self {
        self.axes.push((input.to_owned(), axis));
        self
    }

    /// Hands a state on from piece to piece: an input that has no rows is what was given in the first piece, and in every
    /// other one what an output was in the piece before. Pieces run one after the other then. That rows may be cut apart at
    /// all is no longer checked, because it depends on what the state means: see [`PiecePlan::check`](crate::PiecePlan::check).
    #[must_use]
    pub fn carry(mut self, input: &str, output: &str) -> Self {
        self.carries.push((input.to_owned(), output.to_owned()));
        self
    }

    /// Gives the rows of an output away as they are computed. They are along its first axis, and are not kept in memory.
    #[must_use]
    pub fn sink(mut self, output: &str, sink: Arc<dyn RowSink>) -> Self {
        self.sinks.push((output.to_owned(), sink));
        self
    }

    /// How many rows a piece has at most.
    #[must_use]
    pub fn piece(mut self, rows: u64) -> Self {
        self.piece = Some(rows);
        self
    }

    /// The number of rows of a piece should be a multiple of this.
    #[must_use]
    pub fn multiple(mut self, rows: u64) -> Self {
        self.multiple = Some(rows);
        self
    }

    /// How many pieces may be in flight: as many as there are workers, unless that needs too much memory.
    #[must_use]
    pub fn in_flight(mut self, pieces: usize) -> Self {
        self.in_flight = Some(pieces);
        self
    }

    /// How many workers will run it.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// How many bytes the run may use, its results included. Planning it, and trying it out, keep to them too.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }
}
