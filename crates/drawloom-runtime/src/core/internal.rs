//! What the runtime makes itself: regions, scopes, and tasks that fold and free.

use std::panic::Location;
use std::sync::Weak;

use super::{Core, Owned, Running};
use crate::access::{Arg, Frame, Mode};
use crate::data::piece::Shape;
use crate::data::tree::{Buffer, ElementType, Root, Tree};
use crate::error::ErrorKind;
use crate::order::history::{History, Refusal, Weaver};
use crate::order::scope::{Orphan, Scope, ScopeId};
use crate::order::slot::OpenReduction;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock};
use crate::task::body::{self, Body};
use crate::task::name::Name;
use crate::task::record::{Kind, TaskId, flag};
use crate::task::spec::Spec;

impl Core {
    /// The scope of the children of a running task. Counts one child.
    pub(super) fn scope_inside<'a>(&self, running: &'a Running<'_>) -> &'a Scope {
        let record = running.record;
        record.open.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the calling thread runs the task. When others do so, too, the scope was made before they began.
        let inside = unsafe { record.extras() }.and_then(|extras| extras.inside.as_ref());
        // SAFETY: the scope lives until the task is complete, which is after the calling thread leaves its body.
        unsafe { &*inside.map_or_else(|| self.begin_scope(running), Arc::as_ptr) }
    }

    /// Makes the scope of the children of a running task, before several threads run it.
    fn begin_scope(&self, running: &Running<'_>) -> *const Scope {
        let record = running.record;
        // SAFETY: the calling thread alone runs the task, and is in its body: who called that has no reference to its rare
        // parts, but to lists in them only.
        let (args, extras) = unsafe { (record.args(), record.extras_mut().get_or_insert_with(Box::default)) };
        let lent = args.iter().copied().filter(|a| a.mode().lends()).collect();
        let id = ScopeId(self.next_scope.fetch_add(1, Ordering::Relaxed));
        let scope = Scope::new(id, running.id, self.origin(record), lent, extras.retries > 0);
        // SAFETY: the task is not complete.
        if let Some(outer) = unsafe { record.scope() } {
            outer.enter(Arc::clone(&scope));
        }
        Arc::as_ptr(extras.inside.insert(scope))
    }

    /// Folds what the children of a task contributed to reductions, once its body can submit no more of them. The folds
    /// are children too, so the parent is complete after them.
    #[inline]
    pub(super) fn settle_children(&self, running: &Running<'_>) {
        if let Some(inside) = running.inside() {
            self.in_history(&inside.history, |history| history.close_all(self));
        }
    }

    /// Does something with a history, and lets folds that were begun by it go when it is not locked any more.
    #[inline]
    pub(super) fn in_history<T>(&self, history: &Mutex<History>, f: impl FnOnce(&mut History) -> T) -> T {
        let mut history = lock(history);
        let result = f(&mut history);
        let folds = history.take_folds();
        drop(history);
        if !folds.is_empty() {
            self.retire_left();
        }
        for (fold, waits) in folds {
            // SAFETY: this thread has begun to submit the task.
            let fold = unsafe { Owned::new(fold, self.slab.get(fold.index())) };
            self.finish_submission(fold, &waits, &[]);
        }
        result
    }

    /// Does something while no task can be ordered.
    #[cfg(test)]
    pub(crate) fn while_locked(&self, f: impl FnOnce()) {
        let _locked = lock(&self.outermost);
        f();
    }

    /// Starts the submission of a task that the runtime makes itself, which has its place in a history that is locked.
    fn begin_internal(
        &self,
        name: &'static str,
        location: &'static Location<'static>,
        scope: ScopeId,
        context: u32,
        args: &[Arg],
        body: Body,
    ) -> TaskId {
        let (id, record) = self.take_record(false);
        let mut spec = Spec::new(Name::literal(name), location, self.enter_context_locked(context));
        for &arg in args {
            spec.push(arg);
        }
        self.with_running(|running| {
            let inside = running.filter(|_| scope != ScopeId::OUTERMOST).map(|running| self.scope_inside(running));
            let task = self.describe(id, record, Kind::Task, &mut spec, body, inside);
            record.flags.fetch_or(flag::INTERNAL, Ordering::Relaxed);
            self.trace_submission(&task, inside, args);
        });
        id
    }

    /// Makes a region.
    pub(crate) fn make_tree(
        self: &Arc<Self>,
        name: String,
        element: ElementType,
        buffer: Buffer,
        shape: Shape,
        initialised: bool,
    ) -> Arc<Root> {
        let number = self.next_tree.fetch_add(1, Ordering::Relaxed);
        // A node of a plan has no children who could use the region, and shares the scope of its run with other nodes.
        let owner = self.with_running(|running| {
            running.filter(|running| running.node.is_none()).map_or(ScopeId::OUTERMOST, |running| {
                let scope = self.scope_inside(running);
                // Creating a region adds no child.
                running.record.open.fetch_sub(1, Ordering::Relaxed);
                lock(&self.scopes).entry(scope.id.0).or_insert_with(|| Arc::downgrade(&scope.shared()));
                scope.id
            })
        });
        let tree = Tree::new(number, name, element, buffer, shape, initialised, owner);
        Arc::new(Root { core: Arc::clone(self), tree })
    }

    /// Frees a region once every task on it is complete.
    pub(crate) fn release_tree(&self, tree: Orphan) {
        let (owner, mut left) = (tree.tree().owner, Some(tree));
        if owner != ScopeId::OUTERMOST && self.leave_to_scope(owner, &mut left) {
            return;
        }
        let Some(tree) = left else { return };
        let mut spec = Spec::new(Name::literal("release"), Location::caller(), 0);
        // SAFETY: the tree is freed when what is started here is complete.
        let arg = unsafe { Arg::new(&tree.tree().root, Mode::LendWrite) };
        spec.push(arg);
        spec.extras().frees = Some(tree);
        let mut task = self.make_point(Kind::Sync, spec, false);
        let mut waits = Vec::new();
        // Nothing can be refused: the access is a single one, and does not read.
        let _ = self.order(&mut task, None, &mut waits);
        waits.extend(lock(&self.outermost).loose(arg.piece()));
        self.finish_submission(task, &waits, &[]);
    }

    /// Refuses regions that belong to a task which is not complete: its children may be using them, and only its own scope
    /// knows in which order.
    #[inline]
    pub(super) fn refuse_inner(&self, args: &[Arg]) -> Result<(), Refusal> {
        match args.iter().find(|arg| arg.piece().tree().owner != ScopeId::OUTERMOST) {
            None => Ok(()),
            Some(_) => self.refuse_unfinished(args),
        }
    }

    #[cold]
    fn refuse_unfinished(&self, args: &[Arg]) -> Result<(), Refusal> {
        let scopes = lock(&self.scopes);
        for arg in args {
            let tree = arg.piece().tree();
            if let Some(scope) = scopes.get(&tree.owner.0).and_then(Weak::upgrade) {
                let (name, origin) = (arg.piece().name(), &scope.origin);
                let message = format!("cannot use region `{name}`: it belongs to {origin}, which is not complete");
                return Err(Refusal { kind: ErrorKind::NotLent, message });
            }
        }
        Ok(())
    }

    /// Leaves a region that was created in a task to be freed when that task is complete. False when it is already.
    fn leave_to_scope(&self, owner: ScopeId, tree: &mut Option<Orphan>) -> bool {
        let scopes = lock(&self.scopes);
        scopes.get(&owner.0).and_then(Weak::upgrade).is_some_and(|scope| scope.keep(tree))
    }
}

impl Weaver for Core {
    fn sync_point(&self, tasks: &[TaskId]) -> TaskId {
        self.make_sync_point(tasks)
    }

    fn is_complete(&self, task: TaskId) -> bool {
        Core::is_complete(self, task)
    }

    fn begin_fold(&self, scope: ScopeId, open: &OpenReduction, arg: Arg) -> TaskId {
        let reduction = Arc::clone(&open.reduction);
        // The program knows nothing of folds, but a place where it asked for one.
        let location = reduction.folds.location();
        let body = body::once(move |_: &mut Frame<'_>| {
            if let Some(error) = reduction.spoiled() {
                return Err(error.into());
            }
            if let Some(sum) = reduction.finish() {
                let piece = arg.piece();
                // SAFETY: the fold task has exclusive access to the piece, whose elements have the reduction's type.
                unsafe { reduction.folds.apply(piece, piece.tree().base(), &sum) };
            }
            Ok(())
        });
        self.begin_internal("fold", location, scope, open.context, &[arg], body)
    }
}
