//! Everything that is in flight, as one thread sees it.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::{On, State};
use crate::core::{Core, Service};
use crate::task::record::{Kind, TaskId};

/// Whether anything can go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Motion {
    /// Something moves right now.
    Now,
    /// Nothing moves, but someone who is not waiting could change that.
    Perhaps,
    /// Nothing moves, and nobody is left who could change that.
    Never,
}

/// A record that is in use.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Entry {
    pub(crate) id: TaskId,
    pub(crate) kind: Kind,
    pub(crate) pending: u32,
    pub(crate) claimed: bool,
    /// Whether it stands for the run of a plan, whose nodes have no records.
    pub(crate) run: bool,
    pub(crate) context: u32,
}

/// Everything that is in flight.
pub(super) struct Picture {
    pub(super) entries: Vec<Entry>,
    /// Tasks that wait for data that others hold who commute with them.
    pub(super) commuting: FxHashSet<TaskId>,
    /// The records that each record waits for.
    pub(super) earlier: FxHashMap<u32, Vec<u32>>,
    /// Equal when nothing has changed.
    pub(super) signature: u64,
}

impl Picture {
    pub(super) fn take(core: &Core) -> Self {
        let entries: Vec<Entry> = core.slab.in_use().into_iter().map(|index| core.look_at(index)).collect();
        // After the entries: see `motion_of`.
        let mut earlier: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for entry in &entries {
            core.for_each_later(entry.id, |later| earlier.entry(later).or_default().push(entry.id.index()));
        }
        let mut hasher = FxHasher::default();
        entries.hash(&mut hasher);
        Self { entries, commuting: core.commuting(), earlier, signature: hasher.finish() }
    }

    /// Whether anything can go on.
    pub(super) fn motion(&self, core: &Core, state: &State) -> Motion {
        let is_done = |on: On| match on {
            On::Task(id) => core.is_complete(id),
            On::Turn(id) => core.is_complete(id) || core.look_at(id.index()).pending == 0,
            On::Room => core.slab.has_room(),
            On::Everything => core.is_everything_complete(),
        };
        if state.blocked.iter().any(|b| is_done(b.on)) {
            return Motion::Now;
        }
        let mut motion = Motion::Never;
        for entry in &self.entries {
            let one = self.motion_of(core, state, entry);
            match one {
                Motion::Now => return Motion::Now,
                Motion::Perhaps => motion = Motion::Perhaps,
                Motion::Never => {}
            }
        }
        motion
    }

    fn motion_of(&self, core: &Core, state: &State, entry: &Entry) -> Motion {
        match entry.kind {
            Kind::Extension => Motion::Never,
            // Someone has just taken it from the pool.
            Kind::Free => Motion::Now,
            Kind::Held if entry.pending == 0 => {
                let Some(guard) = state.guards.iter().find(|g| g.task == entry.id) else { return Motion::Now };
                let waits = state.blocked.iter().any(|b| b.thread == guard.thread);
                if waits { Motion::Never } else { Motion::Perhaps }
            }
            // While a task is being submitted, or a task that it waited for is completing, more is pending than there are
            // edges: whoever does that has yet to count down. There are never more edges than pending, and the edges were
            // looked at later, so equal numbers were equal then.
            _ if entry.pending > 0 => {
                let edges = self.earlier.get(&entry.id.index()).map_or(0, Vec::len);
                if edges == entry.pending as usize { Motion::Never } else { Motion::Now }
            }
            Kind::Sync | Kind::Held => Motion::Now,
            Kind::Task if entry.claimed => {
                // Its body has returned or waits, as no worker is awake. The nodes of a plan cannot be seen here. A team
                // may become possible when someone changes its context.
                if entry.run || core.teams.is_waiting(entry.id) { Motion::Perhaps } else { Motion::Never }
            }
            Kind::Task if self.commuting.contains(&entry.id) => Motion::Never,
            Kind::Task => match core.service(entry.context) {
                Service::Workers => Motion::Now,
                // Someone may drive a worker, or give the context one.
                Service::Undriven | Service::Nobody => Motion::Perhaps,
            },
        }
    }
}
