//! Everything that is in flight, as one thread sees it.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

use super::State;
use super::blocked::{Blocked, Waiting};
use crate::core::{Core, Service};
use crate::task::record::{Kind, TaskId};

/// Whether anything can go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Motion {
    /// Nothing moves, and nobody is left who could change that.
    Never,
    /// Nothing moves, but someone who is not waiting could change that.
    Perhaps,
    /// Something moves right now.
    Now,
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
    /// The records that each record waits for in order to start.
    pub(super) earlier: FxHashMap<u32, Vec<u32>>,
    /// The records that each record waits for in order to end.
    pub(super) partners: FxHashMap<u32, Vec<u32>>,
    /// Equal when nothing has changed.
    pub(super) signature: u64,
    /// The threads that waited inside of tasks when the picture was judged.
    pub(super) waiting: Waiting,
    /// Whether a policy of the user keeps tasks that are ready.
    pub(super) kept: bool,
}

impl Picture {
    pub(super) fn take(core: &Core) -> Self {
        let entries: Vec<Entry> = core.slab.in_use().into_iter().map(|index| core.look_at(index)).collect();
        // After the entries: see `motion_of`.
        let (mut earlier, mut partners): (FxHashMap<u32, Vec<u32>>, FxHashMap<u32, Vec<u32>>) = Default::default();
        for entry in &entries {
            core.for_each_later(entry.id, |later, ending| {
                let edges = if ending { &mut partners } else { &mut earlier };
                edges.entry(later).or_default().push(entry.id.index());
            });
        }
        let mut hasher = FxHasher::default();
        entries.hash(&mut hasher);
        let signature = hasher.finish();
        let (commuting, waiting) = (core.commuting(), Waiting::default());
        Self { entries, commuting, earlier, partners, signature, waiting, kept: false }
    }

    /// One task that each task has submitted and that is not complete, by the record of the parent.
    pub(super) fn children(&self, core: &Core) -> FxHashMap<u32, TaskId> {
        let tasks = self.entries.iter().filter(|e| e.kind == Kind::Task);
        tasks.filter_map(|e| Some((core.peek_parent(e.id)?.index(), e.id))).collect()
    }

    /// Whether anything can go on.
    pub(super) fn judge(&mut self, core: &Core, state: &State) -> Motion {
        if state.is_helped() || state.blocked.iter().any(Blocked::goes_on) {
            return Motion::Now;
        }
        self.waiting = state.waiting();
        // Every worker sleeps or waits, and nothing is in a queue that a worker would look at.
        if !core.is_quiet_with(&self.waiting) {
            return Motion::Now;
        }
        let mut hasher = FxHasher::default();
        (self.signature, state.changes).hash(&mut hasher);
        self.signature = hasher.finish();
        self.kept = self.entries.iter().any(|e| self.is_kept(core, e));
        let mut motion = state.called_from_outside();
        for entry in &self.entries {
            if motion == Motion::Now {
                break;
            }
            motion = motion.max(self.motion_of(core, state, entry));
        }
        motion
    }

    /// Whether a policy of the user keeps a task that is ready, or nodes of a run.
    pub(super) fn is_kept(&self, core: &Core, entry: &Entry) -> bool {
        entry.kind == Kind::Task
            && entry.pending == 0
            && match (entry.claimed, entry.run) {
                (false, _) => !self.commuting.contains(&entry.id) && core.keeps_tasks(entry.context),
                (true, run) => run && core.keeps_nodes(entry.context),
            }
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
            Kind::Sync | Kind::Gate | Kind::Held => Motion::Now,
            Kind::Task if entry.claimed => {
                // Its body has returned or waits, as no worker is awake. The nodes of a plan cannot be seen here. A team
                // may become possible when someone changes its context.
                if entry.run || core.teams.is_waiting(entry.id) { Motion::Perhaps } else { Motion::Never }
            }
            Kind::Task if self.commuting.contains(&entry.id) => Motion::Never,
            Kind::Task if core.keeps_tasks(entry.context) => Motion::Perhaps,
            Kind::Task => match core.service(entry.context, &self.waiting) {
                Service::Workers => Motion::Now,
                // Someone may drive a worker, or give the context one.
                Service::Waiting | Service::Undriven | Service::Nobody => Motion::Perhaps,
            },
        }
    }
}
