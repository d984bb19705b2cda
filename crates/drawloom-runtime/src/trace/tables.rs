//! What records refer to by number: pieces of regions, and nodes of plans.
//!
//! These are few in comparison with tasks, so each is described once in a recording, and remembers its number.

use std::ops::Range;
use std::panic::Location;

use drawloom_graph::IndexSet;
use drawloom_trace::RegionRecord;
use rustc_hash::FxHashMap;

use crate::access::Mode;
use crate::data::piece::Piece;
use crate::sync::Arc;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::task::name::Name;

/// Everything that a recording describes once.
#[derive(Default)]
pub(crate) struct Tables {
    pub(super) regions: Vec<RegionRecord>,
    region_numbers: FxHashMap<u64, u32>,
    pub(super) pieces: Vec<PieceRecord>,
    pub(super) plans: Vec<PlanRecord>,
}

/// What tasks are called, and where they are submitted.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) name: Name,
    pub(crate) location: &'static Location<'static>,
}

/// A part of a region.
pub(super) struct PieceRecord {
    pub(super) region: u32,
    pub(super) indices: Arc<IndexSet>,
}

/// The nodes of a plan, by number, in flat arrays: a plan may have very many.
#[derive(Default)]
pub(crate) struct PlanRecord {
    pub(crate) nodes: Vec<NodeRecord>,
    /// The accesses of all nodes, one after the other.
    pub(crate) accesses: Vec<AccessEntry>,
    /// The nodes that wait for each node, one after the other.
    pub(crate) later: Vec<u32>,
    /// Pairs of nodes of which the first comes after the second by the user's wish.
    pub(crate) after: Vec<(u32, u32)>,
    /// Pairs of nodes of which the first is complete only when the second is.
    pub(crate) ends_with: Vec<(u32, u32)>,
}

/// A node of a plan. Ranges are of the arrays of its plan.
pub(crate) struct NodeRecord {
    /// None for a point that does nothing.
    pub(crate) site: Option<Site>,
    pub(crate) priority: i32,
    /// Where it runs, unless that is where its run does.
    pub(crate) context: Option<u32>,
    pub(crate) internal: bool,
    pub(crate) accesses: Range<u32>,
    pub(crate) later: Range<u32>,
}

impl PlanRecord {
    pub(super) fn accesses(&self, node: &NodeRecord) -> &[AccessEntry] {
        &self.accesses[node.accesses.start as usize..node.accesses.end as usize]
    }

    pub(super) fn later(&self, node: &NodeRecord) -> &[u32] {
        &self.later[node.later.start as usize..node.later.end as usize]
    }
}

/// An access: the number of the piece, and what is done with it.
#[derive(Clone, Copy)]
pub(crate) struct AccessEntry {
    pub(crate) piece: u32,
    pub(crate) mode: Mode,
    /// The name of the operator of a reduction.
    pub(crate) operator: &'static str,
}

/// The number of something in the recording that met it last.
#[derive(Default)]
pub(crate) struct Mark(AtomicU64);

impl Mark {
    /// The number in a recording, if the thing was met there.
    #[inline]
    pub(super) fn get(&self, recording: u32) -> Option<u32> {
        // Relaxed: the number is all there is to see; what it stands for is read under the lock.
        let word = self.0.load(Ordering::Relaxed);
        ((word >> 32) as u32 == recording).then_some(word as u32)
    }

    fn set(&self, recording: u32, number: u32) {
        self.0.store(u64::from(recording) << 32 | u64::from(number), Ordering::Relaxed);
    }
}

impl Tables {
    /// The number of a piece in the recording that these tables belong to.
    pub(crate) fn piece(&mut self, recording: u32, piece: &Piece) -> u32 {
        if let Some(number) = piece.mark.get(recording) {
            return number;
        }
        let tree = piece.tree();
        let next = self.regions.len() as u32;
        let region = *self.region_numbers.entry(tree.number).or_insert(next);
        if region == next {
            self.regions.push(RegionRecord { name: tree.name.clone().into(), len: tree.len, unordered: false });
        }
        let number = self.pieces.len() as u32;
        self.pieces.push(PieceRecord { region, indices: Arc::clone(&piece.indices) });
        piece.mark.set(recording, number);
        number
    }

    /// The number of a plan in the recording that these tables belong to.
    pub(super) fn plan(&mut self, recording: u32, mark: &Mark, describe: impl FnOnce(&mut Self) -> PlanRecord) {
        if mark.get(recording).is_none() {
            let record = describe(self);
            self.plans.push(record);
            mark.set(recording, self.plans.len() as u32 - 1);
        }
    }
}
