//! Looking at tasks from outside, for reports: who is in flight, what it is called, what comes after it.
//!
//! Nothing here is needed to run tasks, and nothing here may disturb those that run. The fields are atomics,
//! read one by one and then checked against the record's generation: if that has changed, what was read means nothing and
//! is thrown away.

use rustc_hash::FxHashSet;

use super::reserve::RESERVED;
use super::{Core, Local, Running};
use crate::access::Arg;
use crate::context::ContextState;
use crate::error::TaskOrigin;
use crate::order::scope::Scope;
use crate::policy::WorkerId;
use crate::stall::Entry;
use crate::stall::blocked::{Inside, Waiting};
use crate::sync::atomic::{Ordering, fence};
use crate::sync::lock;
use crate::task::extras::Extras;
use crate::task::record::{Kind, TaskId, flag};
use crate::team::CalledBy;
use crate::trace::Described;
use crate::trace::tables::Site;

/// How many edges of one task are followed at most: a list that is changed meanwhile might have no end.
const EDGES: usize = 1 << 20;

/// Who can run the tasks of a context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Service {
    /// Workers that the runtime launched, or the submitting thread itself.
    Workers,
    /// Only workers that wait inside of tasks.
    Waiting,
    /// Only workers that the application drives.
    Undriven,
    /// Nobody.
    Nobody,
}

/// Parts of the description of one task.
#[derive(Clone, Copy)]
pub(crate) struct Peeked {
    name: crate::task::name::Name,
    location: &'static std::panic::Location<'static>,
    /// Only to be compared; but see `peek_parent`.
    pub(crate) scope: *const Scope,
}

impl Core {
    /// Who can run the tasks of a context.
    pub(crate) fn service(&self, context: u32, waiting: &Waiting) -> Service {
        let context = self.context(self.home(context));
        let is_driven = |w: &WorkerId| self.workers.seat(*w).driven.load(Ordering::SeqCst);
        let free = |w: &WorkerId| is_driven(w) && !waiting.workers.contains(w);
        if self.serial.is_some() || context.members().workers.iter().any(free) {
            Service::Workers
        } else if self.has_driven_workers(context) {
            Service::Waiting
        } else if context.members().workers.is_empty() {
            Service::Nobody
        } else {
            Service::Undriven
        }
    }

    pub(crate) fn context_name(&self, context: u32) -> String {
        self.context(context).name.clone()
    }

    /// The worker that the calling thread is, while it runs a task.
    pub(crate) fn running_worker(&self) -> Option<WorkerId> {
        // SAFETY: the pointer is that of the thread's own state, which is only read.
        self.running().and_then(|running| unsafe { (*running.local).worker })
    }

    /// A wait of the calling thread for tasks, if it keeps a worker from others, or the serial engine.
    pub(crate) fn waits_inside(&self) -> Option<Inside> {
        // SAFETY: the pointer is that of the thread's own state, which is only read.
        let worker = self.running().map(|running| unsafe { (*running.local).worker })?;
        (worker.is_some() || self.serial.is_some()).then(|| self.inside_task(worker, None))
    }

    /// A wait of the calling thread inside of a task, for tasks or for somebody who calls.
    pub(crate) fn inside_task(&self, worker: Option<WorkerId>, by: Option<CalledBy>) -> Inside {
        let mut tasks = self.all_running();
        let task = tasks.next();
        Inside { worker, task, around: tasks.collect(), by }
    }

    /// Whether ready tasks of a context are with a policy of the user, which may keep them to itself.
    pub(crate) fn keeps_tasks(&self, context: u32) -> bool {
        self.serial.is_none() && self.context(self.home(context)).tickets.is_some()
    }

    /// Whether nodes of runs in a context are with a policy of the user.
    pub(crate) fn keeps_nodes(&self, context: u32) -> bool {
        self.context(self.home(context)).tickets.as_ref().is_some_and(|tickets| tickets.has_nodes())
    }

    /// Whether everybody sleeps except for some workers, which wait, and nothing is in a queue that somebody looks at.
    pub(crate) fn is_quiet_with(&self, waiting: &Waiting) -> bool {
        if let Some(serial) = &self.serial {
            return waiting.count >= serial.running.load(Ordering::SeqCst);
        }
        // What is with a policy of the user may stay there.
        let served = |(index, context): &(u32, &ContextState)| {
            context.tickets.is_none() && self.service(*index, waiting) == Service::Workers
        };
        self.devices.are_idle()
            && self.workers.sleep.sleeping() + waiting.count >= self.workers.driven()
            && self.contexts.iter().filter(served).all(|(_, c)| c.policy.is_empty())
    }

    pub(crate) fn is_everything_complete(&self) -> bool {
        self.contexts.iter().all(|(_, context)| context.is_quiet())
    }

    /// Tasks that wait for data that others hold who commute with them.
    pub(crate) fn commuting(&self) -> FxHashSet<TaskId> {
        self.arbiter.waiting()
    }

    /// What a record is used for at the moment.
    pub(crate) fn look_at(&self, index: u32) -> Entry {
        let record = self.slab.get(index);
        // Acquire: who sees that something is pending sees the description that was written before.
        let pending = record.pending.load(Ordering::Acquire) & !RESERVED;
        let flags = record.flags.load(Ordering::Relaxed);
        Entry {
            id: TaskId::new(index, record.generation()),
            kind: record.kind(),
            pending,
            claimed: record.is_claimed(),
            run: flags & flag::RUN != 0,
            context: record.context(),
        }
    }

    /// Calls `f` with the records that wait for a task, and whether they do so in order to end, and not to start.
    pub(crate) fn for_each_later(&self, id: TaskId, mut f: impl FnMut(u32, bool)) {
        let record = self.slab.get(id.index());
        let mut edge = record.first_edge();
        for _ in 0..EDGES {
            let Some(at) = edge else { return };
            let holder = self.slab.get(at.record());
            edge = holder.next_edge(at.link());
            let ending = holder.is_ending(at.link());
            if holder.kind() != Kind::Extension {
                f(at.record(), ending);
                continue;
            }
            // Both are read again afterwards: a record that was used anew meanwhile belongs to someone else.
            let owner = holder.owner();
            if holder.kind() == Kind::Extension && record.generation() == id.generation() {
                f(owner, ending);
            }
        }
    }

    /// The task in which a task was submitted, if it was in one and is not complete.
    pub(crate) fn peek_parent(&self, id: TaskId) -> Option<TaskId> {
        let _scopes = lock(&self.scopes);
        let scope = self.peek(id)?.scope;
        // SAFETY: the task was not complete when its scope was read, so that its parent had not ended the scope; and to do that
        // it needs the lock which is held here, see `end_scope`.
        unsafe { scope.as_ref() }.map(|scope| scope.parent)
    }

    /// Parts of the description of a task, unless it is complete.
    pub(crate) fn peek(&self, id: TaskId) -> Option<Peeked> {
        let record = self.slab.get(id.index());
        // A record without a kind is not described yet, or not any more.
        if record.generation() != id.generation() || record.kind() == Kind::Free {
            return None;
        }
        let words = record.title.words();
        // Pairs with the Release of `Title::set`: who reads a word of a later task sees the later generation.
        fence(Ordering::Acquire);
        if record.generation() != id.generation() {
            return None;
        }
        // SAFETY: the record had a kind, and is still used for the same task.
        let (name, location) = unsafe { words.whole() };
        Some(Peeked { name, location, scope: words.scope })
    }

    /// The name and place of a task, unless it is complete.
    pub(crate) fn peek_origin(&self, id: TaskId) -> Option<TaskOrigin> {
        let peeked = self.peek(id)?;
        Some(TaskOrigin { name: peeked.name.as_str().to_owned(), location: peeked.location })
    }

    /// The name and place of a task that a thread is running, or of the node of a plan.
    pub(crate) fn origin_of(&self, running: &Running<'_>) -> TaskOrigin {
        running.node.map_or_else(|| self.origin(running.record), |node| node.origin())
    }

    /// The task that the calling thread is running.
    pub(crate) fn running_origin(&self) -> Option<TaskOrigin> {
        self.running().map(|running| self.origin_of(running))
    }

    /// Records the submission of a task, while its place in the order is being decided.
    #[inline]
    pub(super) fn trace_submission(&self, id: TaskId, scope: Option<&Scope>, args: &[Arg], extras: Option<&Extras>) {
        if self.tracer.is_on() {
            self.describe_submission(id, scope, args, extras);
        }
    }

    #[cold]
    fn describe_submission(&self, id: TaskId, scope: Option<&Scope>, args: &[Arg], extras: Option<&Extras>) {
        let record = self.slab.get(id.index());
        if record.kind() == Kind::Sync {
            // It does nothing, and frees a region at most.
            return;
        }
        let parent = scope.map_or(TaskId::NONE, |scope| scope.parent);
        // SAFETY: this thread is submitting the task.
        let ((name, location), priority) = unsafe { (record.title.words().whole(), *record.priority.get()) };
        let internal = record.flags.load(Ordering::Relaxed) & flag::INTERNAL != 0 || record.kind() != Kind::Task;
        let (ends_with, folds) = extras.map_or((&[][..], &[][..]), |extras| (&extras.ends_with, &extras.folds));
        let (site, context) = (Site { name, location }, record.context());
        let task = Described { id, parent, site, context, priority, internal, ends_with, folds };
        // SAFETY: the pointer is that of the thread's own state, which is only read.
        let worker = self.running().and_then(|running| unsafe { (*running.local).worker });
        self.tracer.submitted(&task, args, worker);
    }

    /// Records that a task starts, and now and then how many wait in the queues.
    #[cold]
    pub(super) fn trace_start(&self, id: TaskId, local: &mut Local) {
        if self.tracer.start(id, local.worker) {
            self.tracer.queue_length(local.worker, self.contexts.iter().map(|(_, c)| c.policy.len()).sum());
        }
    }
}
