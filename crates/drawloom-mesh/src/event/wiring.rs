//! What the devices of a loop count: the inputs that a kernel waits for, and the writes before a device is at the end.
//!
//! Every device of a set that the loop reaches is told to begin, executes, and says when it is at the end.

use std::collections::BTreeMap;

use super::involved::Invocation;
use crate::mesh::Mesh;

/// What the devices of a loop wait for.
pub(super) struct Wiring {
    /// For each set, how much each device must have received before it is at the end: its own execution, and what is
    /// written to it through maps.
    pub(super) write_recv_totals: BTreeMap<u32, Vec<u32>>,
    /// What the kernel of a device waits for: all inputs, and the message to begin.
    pub(super) read_recv_total: u32,
}

/// A mask of the lowest bits.
pub(super) fn ones(bits: usize) -> u32 {
    u32::MAX.checked_shr(32 - bits as u32).unwrap_or(0)
}

impl Wiring {
    pub(super) fn new(mesh: &Mesh, invocation: &Invocation) -> Self {
        let execution = |set: &u32| (*set, vec![1; mesh.sets[*set as usize].size]);
        let mut totals: BTreeMap<u32, Vec<u32>> = invocation.sets.iter().map(execution).collect();
        for write in &invocation.writes {
            let map = &mesh.maps[write.map as usize];
            let totals = totals.get_mut(&map.to).expect("the sets that are written to take part");
            for row in map.table.chunks(map.arity) {
                row[write.first..][..write.columns].iter().for_each(|target| totals[*target as usize] += 1);
            }
        }
        let inputs: usize = invocation.reads.iter().map(|read| read.columns).sum();
        Self { write_recv_totals: totals, read_recv_total: inputs as u32 + 1 }
    }

    /// How many devices take part.
    pub(super) fn devices(&self) -> usize {
        self.write_recv_totals.values().map(Vec::len).sum()
    }
}
