//! The part that each device has in a loop: whether it is told to begin, what it waits for, whether it says that it is at
//! the end.
//!
//! In the plain form every device of a set that the loop reaches has the same part. In the pruned form a device has a part
//! only if a message says something that follows from no other:
//!
//! - A device is told to begin if it has a value to send, or if its kernel has nothing else to wait for.
//! - What has arrived at all who wait for it was sent. So those who send values need not say that they did: their readers
//!   execute. And those who send results need not: who receives them says so. Only the last ones in this order speak:
//!   devices that were written to, devices whose kernels write nothing through maps, and those who contribute to globals.

use std::collections::BTreeMap;

use super::involved::Invocation;
use super::options::{Control, Events};
use crate::mesh::Mesh;

/// The part of one device in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Role {
    /// Whether it is told to begin.
    pub(super) begins: bool,
    /// Whether it says that it is at the end. Otherwise it is silent.
    pub(super) ends: bool,
    /// Which values it sends: a bit for each dat of its set that is read through maps.
    pub(super) read_send_mask: u32,
    /// How much it must have received before it is at the end: what is written to it, its own execution, and the word to
    /// begin unless it is counted among what is read.
    pub(super) write_recv_total: u32,
}

/// The parts of all devices in a loop.
pub(super) struct Wiring {
    /// For each set, the parts of its devices.
    pub(super) roles: BTreeMap<u32, Vec<Role>>,
    /// What the kernel of a device waits for: all inputs, and the word to begin if it is counted.
    pub(super) read_recv_total: u32,
    /// Whether the word to begin is counted among what is read, on the loop's own set.
    pub(super) begin_is_read: bool,
}

/// As many ones.
pub(super) fn ones(bits: usize) -> u32 {
    u32::MAX.checked_shr(32 - bits as u32).unwrap_or(0)
}

impl Wiring {
    pub(super) fn new(mesh: &Mesh, invocation: &Invocation, options: &Events) -> Self {
        let home = invocation.decl.set;
        let inputs: usize = invocation.reads.iter().map(|read| read.columns).sum();
        let begin_is_read = !options.prune || inputs == 0 || !invocation.told(mesh).is_empty();
        let contributes = !invocation.contributions().is_empty();
        let quiescent = options.control == Control::Quiescence;
        let mut roles = BTreeMap::new();
        for &set in &invocation.sets {
            let is_home = set == home;
            let dats = invocation.read_dats_on(mesh, set);
            let mut role = Role::default();
            if !options.prune {
                role = Role { begins: true, ends: !quiescent, read_send_mask: ones(dats.len()), write_recv_total: 1 };
            } else if is_home {
                let ends = !quiescent && invocation.writes.is_empty();
                role = Role { begins: begin_is_read, ends, read_send_mask: 0, write_recv_total: 1 };
            }
            role.ends |= is_home && contributes;
            let mut list = vec![role; mesh.sets[set as usize].size];
            for write in invocation.writes.iter().filter(|write| mesh.dats[write.dat as usize].set == set) {
                let map = &mesh.maps[write.map as usize];
                for row in map.table.chunks(map.arity) {
                    for target in &row[write.first..write.first + write.columns] {
                        let role = &mut list[*target as usize];
                        role.write_recv_total += 1;
                        role.ends |= !quiescent;
                    }
                }
            }
            for read in invocation.reads.iter().filter(|read| options.prune && dats.contains(&read.dat)) {
                let bit = dats.iter().position(|dat| *dat == read.dat).expect("it is one of them");
                let map = &mesh.maps[read.map as usize];
                for row in map.table.chunks(map.arity) {
                    for source in &row[read.first..read.first + read.columns] {
                        let role = &mut list[*source as usize];
                        role.begins = true;
                        role.read_send_mask |= 1 << bit;
                    }
                }
            }
            if options.prune {
                let is_counted = |role: &Role| role.begins && !(is_home && begin_is_read);
                list.iter_mut().for_each(|role| role.write_recv_total += u32::from(is_counted(role)));
            }
            roles.insert(set, list);
        }
        Self { roles, read_recv_total: inputs as u32 + u32::from(begin_is_read), begin_is_read }
    }

    /// How many devices have a part of some kind.
    pub(super) fn count(&self, has: impl Fn(&Role) -> bool) -> usize {
        self.roles.values().flatten().filter(|role| has(role)).count()
    }
}
