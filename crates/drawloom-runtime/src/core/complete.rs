//! Completing tasks: what waited for them goes on.

use super::{Core, Local, Owned, spoil};
use crate::error::{Error, ErrorKind};
use crate::order::scope::{Orphan, Scope};
use crate::panic;
use crate::sync::atomic::Ordering;
use crate::sync::lock;
use crate::task::extras::Extras;
use crate::task::record::{Kind, Record, TaskId, flag};

impl Core {
    /// Ends a task's own part. It is complete once its children are, too.
    #[inline]
    pub(super) fn end(&self, local: &mut Local, task: Owned<'_>) {
        let record = task.record;
        if record.flags.load(Ordering::Relaxed) & flag::COMMUTES != 0 {
            // Already here: a task that ends only with another one must not keep from it what both commute on. Children
            // have no part in it.
            for freed in self.arbiter.release(task.args()) {
                // SAFETY: it was ready but for that, and is in no queue.
                let freed = unsafe { Owned::new(freed, self.slab.get(freed.index())) };
                self.offer(freed, &mut local.ready);
            }
        }
        // Nobody can add to `open` any more, so seeing one means that nobody else will count down.
        // Acquire: pairs with the counting down by children.
        if record.open.load(Ordering::Acquire) == 1 || record.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: its part was the last.
            unsafe { self.complete(local, task.id.index()) };
        }
    }

    /// Completes a task, and everything that is complete with it. Tasks that become ready are added to `local.ready`.
    ///
    /// # Safety
    /// The calling thread has the task, all parts of which are done: its own, and those of its children.
    pub(crate) unsafe fn complete(&self, local: &mut Local, index: u32) {
        let mut stack = std::mem::take(&mut local.stack);
        stack.push(index);
        while let Some(index) = stack.pop() {
            // SAFETY: promised by the caller; what is added to the stack is complete for the same reason.
            unsafe { self.complete_one(local, index, &mut stack) };
        }
        local.stack = stack;
        if local.freed.len() > self.slab.keep || local.worker.is_none() {
            self.slab.give_back(&mut local.freed, local.worker.is_none());
        }
    }

    /// # Safety
    /// As for `complete`.
    #[inline]
    unsafe fn complete_one(&self, local: &mut Local, index: u32, stack: &mut Vec<u32>) {
        let record = self.slab.get(index);
        let id = TaskId::new(index, record.generation());
        let flags = record.flags.load(Ordering::Relaxed);
        let (kind, context) = (record.kind(), record.context());
        // SAFETY: this thread has the task. Its rare parts are moved out, so that they are dropped before the record is used
        // again. The scope lives until the parent is complete, which is after what is counted down at the end.
        let (scope, mut extras) = unsafe { (record.title.scope().as_ref(), record.extras_mut().take()) };
        let mut failed = flags & flag::FAILED != 0;
        if failed && let Some(extras) = extras.as_deref().filter(|extras| extras.inside.is_some()) {
            // SAFETY: as above.
            unsafe { self.spoil_lent(id, record, extras) };
        }
        if extras.as_ref().and_then(|e| e.inside.as_ref()).is_some_and(|inside| inside.has_failed()) {
            failed |= self.adopt_failures(id, record, scope, failed, extras.as_deref_mut());
        }
        let mut reason = if failed { self.failures.peek(id) } else { None };
        if kind == Kind::Gate {
            reason = self.failures.pass_on(id);
            failed = reason.is_some();
        }
        // Before others can see that the task is complete: then its regions are theirs to use.
        if let Some(inside) = extras.as_mut().and_then(|extras| extras.inside.take()) {
            self.end_scope(scope, &inside);
        }
        record.set_kind(Kind::Free);
        let mut edge = record.close();
        if failed {
            // The future may be gone already; if it goes later, it sees that the task is complete.
            self.failures.forget(id, || record.forgotten.load(Ordering::Relaxed) == id.generation());
        }
        if record.flags.load(Ordering::SeqCst) & flag::WAITED != 0 {
            self.waiters.wake(id);
        }
        while let Some(at) = edge {
            let holder = self.slab.get(at.record());
            edge = holder.next_edge(at.link());
            // Written before the edge was published, and not changed until it is counted down.
            let extension = holder.kind() == Kind::Extension;
            let (binding, ending) = (holder.is_binding(at.link()), holder.is_ending(at.link()));
            let later = if extension { holder.owner() } else { at.record() };
            let record = self.slab.get(later);
            // Read before the count goes down: a guard whose turn has come may be gone at once, and its record used again.
            let id = TaskId::new(later, record.generation());
            let is_guard = record.kind() == Kind::Held;
            if ending {
                if record.open.fetch_sub(1, Ordering::AcqRel) == 1 {
                    stack.push(later);
                }
                continue;
            }
            if failed && binding {
                if let Some(reason) = &reason {
                    self.failures.cancel_for(id, reason);
                }
                record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
            }
            if self.reserve(local, later, record) {
                continue;
            }
            // AcqRel: the one who reaches zero sees what all earlier tasks did.
            if record.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.tracer.ready(id);
                if is_guard {
                    self.turn_of_guard(id, stack);
                } else {
                    // SAFETY: this thread has counted down the last that the task waited for.
                    self.make_ready(unsafe { Owned::new(id, record) }, stack, &mut local.ready);
                }
                if !local.ready.is_empty() {
                    // There is something else to go on with.
                    self.settle_reserved(local);
                }
            }
        }
        if extras.is_some() || !stack.is_empty() {
            // Destructors and wakers are the user's, and may take long, or even wait for the task that is reserved.
            self.settle_reserved(local);
        }
        if let Some(extras) = extras {
            self.drop_extras(local, record, *extras);
        }
        if kind == Kind::Task {
            self.note_completed(context, local.worker);
        }
        if let Some(parent) = scope.map(|scope| scope.parent) {
            self.waiters.wake_threads(parent);
            if self.slab.get(parent.index()).open.fetch_sub(1, Ordering::AcqRel) == 1 {
                stack.push(parent.index());
            }
        }
        local.freed.push(index);
    }

    /// A task failed that had children: what it lent to them is spoiled, now that they have done what they could.
    ///
    /// # Safety
    /// The calling thread has the task, of which these are the rare parts.
    #[cold]
    unsafe fn spoil_lent(&self, id: TaskId, record: &Record, extras: &Extras) {
        let of_node = extras.node.as_ref().and_then(|node| node.error.clone());
        let Some(error) = of_node.or_else(|| self.failures.peek(id)) else { return };
        // SAFETY: promised by the caller.
        let args = unsafe { record.args_with(extras) };
        spoil(args.iter().filter(|arg| arg.mode().lends()), error.root());
    }

    /// The failures of children that a task did not look at become its own. True when it failed for that.
    #[cold]
    fn adopt_failures(
        &self,
        id: TaskId,
        record: &Record,
        scope: Option<&Scope>,
        failed: bool,
        extras: Option<&mut Extras>,
    ) -> bool {
        let parent = scope.map_or(TaskId::NONE, |scope| scope.parent);
        let error = self.failures.adopt(id, parent, failed);
        if let Some(scope) = scope.filter(|_| failed || error.is_some()) {
            scope.note_failure();
        }
        let Some(error) = error else { return false };
        let error = Error::caused(self.origin(record), "a task that it submitted failed", error);
        let error = self.failures.number(error);
        match extras.and_then(|extras| extras.node.as_mut()) {
            Some(node) => (node.error, node.adopted) = (Some(error), true),
            None => self.failures.note(id, parent, error, true),
        }
        true
    }

    /// Ends the scope of a task whose children are complete, and frees the regions that were left to it.
    #[cold]
    fn end_scope(&self, outer: Option<&Scope>, inside: &Scope) {
        if let Some(outer) = outer {
            outer.leave(inside.id);
        }
        // Nobody looks it up from here on, nor at it from outside; see `peek_parent`. Regions whose last handle goes now are
        // released like those of the application.
        lock(&self.scopes).remove(&inside.id.0);
        for tree in inside.end().into_iter().flatten() {
            // SAFETY: no handle is left, and all tasks of the scope that the region belongs to are complete.
            unsafe { self.drop_tree(tree) };
        }
    }

    #[cold]
    fn drop_extras(&self, local: &mut Local, record: &Record, mut extras: Extras) {
        for extension in extras.extensions.drain(..) {
            let record = self.slab.get(extension);
            record.set_kind(Kind::Free);
            record.close();
            local.freed.push(extension);
        }
        if let Some(node) = extras.node.take() {
            self.end_node(local, node);
        }
        if let Some(tree) = extras.frees.take() {
            // SAFETY: no handle is left, and all tasks that use the region are complete: this one came after them.
            unsafe { self.drop_tree(tree) };
        }
        // What a device was to run is the user's.
        if let Err(said) = panic::catch(|| drop(extras)) {
            // The record is not used again before this thread gives it back.
            let message = format!("while its implementation was dropped: {said}");
            self.failures.note_other(Error::of_task(ErrorKind::Panicked, self.origin(record), message));
        }
    }

    /// Frees a region.
    ///
    /// # Safety
    /// Nobody uses the region any more.
    unsafe fn drop_tree(&self, tree: Orphan) {
        // SAFETY: promised by the caller.
        let tree = unsafe { tree.into_box() };
        let name = tree.name.clone();
        if let Err(said) = panic::catch(|| drop(tree)) {
            let message = format!("dropping an element of region `{name}` panicked: {said}");
            self.failures.note_other(Error::new(ErrorKind::Panicked, message));
        }
    }

    /// Gives kept records back, so that a submitter that waits for room sees them.
    pub(crate) fn flush(&self, local: &mut Local) {
        self.slab.give_back(&mut local.freed, true);
    }
}
