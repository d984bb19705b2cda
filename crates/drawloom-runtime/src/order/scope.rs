//! Where tasks are submitted: outside of all tasks, or in one.
//!
//! A task that submits tasks is their parent. Children are ordered among themselves only: their parent has been granted
//! everything they may touch, so they need no order against tasks outside of the family. A parent is complete when its body
//! has returned and all its children are complete.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Weak;

use crate::access::Arg;
use crate::data::tree::Tree;
use crate::error::TaskOrigin;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Arc, Mutex, lock};
use crate::task::record::TaskId;

use super::history::History;

/// The name of a scope. The outermost one is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScopeId(pub(crate) u64);

impl ScopeId {
    pub(crate) const OUTERMOST: ScopeId = ScopeId(0);
}

/// Whether a task that is ready suits someone of its family who has time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Suits {
    Yes,
    /// Its context is that of other workers at the moment.
    NotNow,
    /// Someone else took it.
    Gone,
}

/// The children of one attempt of a task.
#[derive(Default)]
struct Attempt {
    children: Vec<TaskId>,
    /// At this length, those that are complete are left out: an attempt may have any number of children.
    sweep_at: usize,
}

/// The shortest list of children that is swept.
const SWEEP: usize = 64;

/// A region without handles, to be freed when no task uses it any more.
pub(crate) struct Orphan(NonNull<Tree>);

// SAFETY: trees are `Send` and `Sync`.
unsafe impl Send for Orphan {}
// SAFETY: as above.
unsafe impl Sync for Orphan {}

impl Orphan {
    /// # Safety
    /// The tree was made by `Box::leak`, and its last handle is gone. This is made once.
    pub(crate) unsafe fn new(tree: NonNull<Tree>) -> Self {
        Self(tree)
    }

    pub(crate) fn tree(&self) -> &Tree {
        // SAFETY: it is not freed yet.
        unsafe { self.0.as_ref() }
    }

    /// The tree itself, to be dropped.
    ///
    /// # Safety
    /// All tasks that use the region are complete.
    pub(crate) unsafe fn into_box(self) -> Box<Tree> {
        // SAFETY: promised by the caller, and where this was made.
        unsafe { Box::from_raw(self.0.as_ptr()) }
    }
}

/// The inside of a task that has children.
pub(crate) struct Scope {
    pub(crate) id: ScopeId,
    pub(crate) parent: TaskId,
    pub(crate) origin: TaskOrigin,
    /// What the parent lends to its children.
    pub(crate) lent: Vec<Arg>,
    pub(crate) history: Mutex<History>,
    /// Children that are ready. A ticket for each of them is in a policy's queues; who comes first takes a child.
    ready: Mutex<VecDeque<TaskId>>,
    /// Scopes of children, so that a waiting parent finds grandchildren too.
    inner: Mutex<Vec<Arc<Scope>>>,
    /// Regions created here whose last handle is gone; none once the scope has ended.
    garbage: Mutex<Option<Vec<Orphan>>>,
    /// Whether a child failed.
    failed: AtomicBool,
    /// The children that may not be complete, if the parent may be tried again; see [`Scope::note_child`].
    attempt: Option<Mutex<Attempt>>,
    itself: Weak<Scope>,
}

impl Attempt {
    #[cold]
    fn add(&mut self, child: TaskId, is_complete: impl Fn(TaskId) -> bool) {
        if self.children.len() >= self.sweep_at.max(SWEEP) {
            self.children.retain(|child| !is_complete(*child));
            self.sweep_at = 2 * self.children.len();
        }
        self.children.push(child);
    }
}

impl Scope {
    pub(crate) fn new(id: ScopeId, parent: TaskId, origin: TaskOrigin, lent: Vec<Arg>, retries: bool) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            id,
            parent,
            origin,
            lent,
            history: Mutex::new(History::new(id)),
            ready: Mutex::new(VecDeque::new()),
            inner: Mutex::new(Vec::new()),
            garbage: Mutex::new(Some(Vec::new())),
            failed: AtomicBool::new(false),
            attempt: retries.then(Mutex::default),
            itself: itself.clone(),
        })
    }

    /// Notes that a child failed. Relaxed: the parent looks when its last child has counted down.
    pub(crate) fn note_failure(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether a child failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Notes a child, if the parent may be tried again: the next attempt begins when those of this one are complete.
    #[inline]
    pub(crate) fn note_child(&self, child: TaskId, is_complete: impl Fn(TaskId) -> bool) {
        if let Some(attempt) = &self.attempt {
            lock(attempt).add(child, is_complete);
        }
    }

    /// The children of an attempt that may not be complete. It has no others any more.
    pub(crate) fn take_children(&self) -> Vec<TaskId> {
        self.attempt.as_ref().map_or_else(Vec::new, |attempt| std::mem::take(&mut lock(attempt).children))
    }

    /// Forgets that children failed, all of which are complete.
    pub(crate) fn forget_failures(&self) {
        self.failed.store(false, Ordering::Relaxed);
    }

    /// A counted reference to this scope.
    pub(crate) fn shared(&self) -> Arc<Scope> {
        self.itself.upgrade().expect("a scope that is in use is counted")
    }

    /// Keeps a region until the scope ends. False when it has ended.
    pub(crate) fn keep(&self, tree: &mut Option<Orphan>) -> bool {
        let mut garbage = lock(&self.garbage);
        garbage.as_mut().map(|list| list.extend(tree.take())).is_some()
    }

    /// Ends the scope, and returns the regions that were left to it.
    pub(crate) fn end(&self) -> Option<Vec<Orphan>> {
        lock(&self.garbage).take()
    }

    /// Whether a task of the family is ready that suits who asks, as far as one can see.
    pub(crate) fn has_ready(&self, suits: &dyn Fn(TaskId) -> Suits) -> bool {
        let has = |scope: &Scope| lock(&scope.ready).iter().any(|&task| suits(task) == Suits::Yes);
        self.find_in_family(|scope| has(scope).then_some(())).is_some()
    }

    /// Asks this scope, and then those inside of it, which may be nested deeper than a stack is.
    fn find_in_family<T>(&self, ask: impl Fn(&Scope) -> Option<T>) -> Option<T> {
        if let found @ Some(_) = ask(self) {
            return found;
        }
        let inside = |scope: &Scope, next: &mut Vec<Arc<Scope>>| next.extend(lock(&scope.inner).iter().rev().cloned());
        let mut next = Vec::new();
        inside(self, &mut next);
        while let Some(scope) = next.pop() {
            if let found @ Some(_) = ask(&scope) {
                return found;
            }
            inside(&scope, &mut next);
        }
        None
    }

    pub(crate) fn push(&self, task: TaskId) {
        lock(&self.ready).push_back(task);
    }

    /// The next task of the family that is ready and suits who asks: a child, or a child of a child. Those that do not suit
    /// stay for others of the family.
    pub(crate) fn pop_family(&self, suits: &dyn Fn(TaskId) -> Suits) -> Option<TaskId> {
        self.find_in_family(|scope| scope.pop(suits))
    }

    fn pop(&self, suits: &dyn Fn(TaskId) -> Suits) -> Option<TaskId> {
        let mut ready = lock(&self.ready);
        let mut at = 0;
        while let Some(&task) = ready.get(at) {
            match suits(task) {
                Suits::Yes => return ready.remove(at),
                Suits::NotNow => at += 1,
                Suits::Gone => drop(ready.remove(at)),
            }
        }
        None
    }

    pub(crate) fn enter(&self, inner: Arc<Scope>) {
        lock(&self.inner).push(inner);
    }

    pub(crate) fn leave(&self, id: ScopeId) {
        lock(&self.inner).retain(|scope| scope.id != id);
    }
}
