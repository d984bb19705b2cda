//! Edges between tasks.

use std::panic::Location;

use super::{Core, Local, Owned};
use crate::sync::atomic::Ordering;
use crate::task::name::Name;
use crate::task::record::{EDGES, Edge, EdgeId, Kind, Record, TaskId};
use crate::task::spec::Spec;

impl Core {
    /// Makes a task wait for others, and lets it go. Until now it could not become ready.
    #[inline]
    pub(crate) fn finish_submission(&self, mut task: Owned<'_>, waits: &[TaskId], after: &[TaskId]) {
        let (id, record) = (task.id, task.record);
        let ends_with = task.extras_mut().map_or_else(Vec::new, |extras| std::mem::take(&mut extras.ends_with));
        let count = (waits.len() + after.len()) as u32;
        if count == 0 && ends_with.is_empty() {
            record.pending.store(0, Ordering::Relaxed);
            self.tracer.ready(id);
            self.dispatch_one(task);
            return;
        }
        // It cannot end before those that it ends with.
        record.open.fetch_add(ends_with.len() as u32, Ordering::Relaxed);
        // One more, so that the task is not ready before all edges are there.
        // Release: who looks from outside at what waits sees the description; see `stall`.
        record.pending.store(count + 1, Ordering::Release);
        let mut done = 1;
        let mut link = 0;
        for &earlier in waits {
            #[cfg(test)]
            if self.leaves_out_edge() {
                done += 1;
                continue;
            }
            done += u32::from(!self.link(&mut task, &mut link, earlier, Edge::Order));
        }
        for &earlier in after {
            if !self.link(&mut task, &mut link, self.gate(record, earlier), Edge::Binding) {
                done += 1;
                if let Some(reason) = self.failures.peek(earlier) {
                    self.cancel_for(&task, &reason);
                }
            }
        }
        for earlier in ends_with {
            if !self.link(&mut task, &mut link, earlier, Edge::Ending) {
                record.open.fetch_sub(1, Ordering::AcqRel);
            }
        }
        let ready = if link == 0 {
            // Without an edge nobody else counts down.
            record.pending.store(0, Ordering::Relaxed);
            true
        } else {
            // AcqRel: the one who reaches zero sees everything written by those who counted down before.
            record.pending.fetch_sub(done, Ordering::AcqRel) == done
        };
        if ready {
            self.tracer.ready(id);
            self.dispatch_one(task);
        }
    }

    /// Adds an edge from an earlier task. False when that one is complete already.
    #[inline]
    fn link(&self, task: &mut Owned<'_>, link: &mut usize, earlier: TaskId, edge: Edge) -> bool {
        let number = *link;
        let (holder, slot) = if number < EDGES { (task.id.index(), number) } else { self.extension(task, number) };
        let later = self.slab.get(holder);
        if edge != Edge::Order {
            later.mark(slot, edge);
        }
        let linked = self.slab.get(earlier.index()).link(earlier.generation(), EdgeId::new(holder, slot), later);
        if linked {
            *link += 1;
        } else if edge != Edge::Order {
            later.mark(slot, Edge::Order);
        }
        linked
    }

    /// The record and the link in it that hold one of very many edges.
    #[cold]
    fn extension(&self, task: &mut Owned<'_>, number: usize) -> (u32, usize) {
        // SAFETY: this thread is submitting the task, which cannot become ready yet. Others look at its arguments at most.
        let ((name, location), extras) = unsafe {
            let extras = task.record.extras_mut();
            (task.record.title.words().whole(), extras.get_or_insert_with(Box::default))
        };
        let nth = (number - EDGES) / EDGES;
        if nth == extras.extensions.len() {
            let extension = self.make_point(Kind::Extension, Spec::new(name, location, 0), false);
            // Relaxed: published together with the edges.
            extension.record.open.store(task.id.index(), Ordering::Relaxed);
            extras.extensions.push(extension.id.index());
        }
        (extras.extensions[nth], number % EDGES)
    }

    /// One task that stands for several: complete when all of them are. None when they are complete already.
    pub(super) fn make_sync_point(&self, tasks: &[TaskId]) -> TaskId {
        match tasks {
            [] => return TaskId::NONE,
            [only] => return *only,
            _ => {}
        }
        let mut point = self.make_point(Kind::Sync, Spec::new(Name::literal("sync"), Location::caller(), 0), false);
        let id = point.id;
        // Release: as in `finish_submission`.
        point.record.pending.store(tasks.len() as u32 + 1, Ordering::Release);
        let (mut done, mut link) = (1, 0);
        for &task in tasks {
            done += u32::from(!self.link(&mut point, &mut link, task, Edge::Order));
        }
        if point.record.pending.fetch_sub(done, Ordering::AcqRel) == done {
            let mut local = Local::new(None);
            // SAFETY: this thread has it, and there is nothing to do.
            unsafe { self.complete(&mut local, id.index()) };
            // Nobody knows it, so nobody waits for it: nothing is handed out, which could run tasks while a history is locked.
            debug_assert!(local.ready.is_empty());
            return TaskId::NONE;
        }
        id
    }

    /// What a task that comes after another one waits for: that one, or a gate if it was submitted elsewhere and this one is a
    /// child. Then the other one may wait for the parent, and nothing could ever go on, not even when the child is cancelled;
    /// see [`Core::open_gates`].
    fn gate(&self, record: &Record, earlier: TaskId) -> TaskId {
        let scope = record.title.scope();
        if scope.is_null() || self.peek(earlier).is_none_or(|other| std::ptr::eq(other.scope, scope)) {
            return earlier;
        }
        let mut gate = self.make_point(Kind::Gate, Spec::new(Name::literal("gate"), Location::caller(), 0), false);
        let id = gate.id;
        // Release: as in `finish_submission`.
        gate.record.pending.store(2, Ordering::Release);
        let done = 1 + u32::from(!self.link(&mut gate, &mut 0, earlier, Edge::Binding));
        if gate.record.pending.fetch_sub(done, Ordering::AcqRel) == done {
            // Nobody knows it, so nobody waits for it. The earlier task is complete, and says itself whether it failed.
            // SAFETY: this thread has it, and there is nothing to do.
            unsafe { self.complete(&mut Local::new(None), id.index()) };
            return earlier;
        }
        id
    }

    /// Opens the gates of tasks that were cancelled: they need not wait for their turn, as they will not run. Only what was
    /// inferred from data must be waited for all the same, since later tasks rely on it; and that makes no cycles.
    pub(super) fn open_gates(&self) {
        let mut local = Local::new(None);
        for index in self.slab.in_use() {
            let record = self.slab.get(index);
            // Read before the kind: a record that is still of this generation when its edge is taken was a gate then.
            let generation = record.generation();
            if record.kind() != Kind::Gate {
                continue;
            }
            let task = |edge: EdgeId| {
                let holder = self.slab.get(edge.record());
                let index = if holder.kind() == Kind::Extension { holder.owner() } else { edge.record() };
                TaskId::new(index, self.slab.get(index).generation())
            };
            let Some(edge) = record.take_edge(generation, |edge| self.is_given_up(task(edge))) else { continue };
            let id = task(edge);
            let later = self.slab.get(id.index());
            // AcqRel: as in `complete_one`.
            if later.pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.tracer.ready(id);
                let mut stack = Vec::new();
                // SAFETY: this thread has counted down the last that the task waited for.
                self.make_ready(unsafe { Owned::new(id, later) }, &mut stack, &mut local.ready);
                debug_assert!(stack.is_empty(), "a task is no point that stands for others");
            }
        }
        self.hand_out(&mut local);
    }

    /// Leaves out the next edge that is inferred: a mistake made on purpose, to see whether it is found.
    #[cfg(test)]
    pub(crate) fn leave_out_edge(&self) {
        self.leave_out.store(true, Ordering::SeqCst);
    }

    #[cfg(test)]
    fn leaves_out_edge(&self) -> bool {
        self.leave_out.swap(false, Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use crate::Loom;
    use crate::task::future::Pending;
    use crate::task::record::TaskId;

    /// Sync points are made while a history is locked, and the task that has the turn may need that history to end.
    #[test]
    fn a_sync_point_of_complete_tasks_does_not_wait_for_the_turn_of_a_serial_engine() {
        let loom = Loom::serial();
        let complete: Vec<TaskId> = (0..2).map(|_| loom.task("done").run(|| ()).id()).collect();
        let (started, starts) = channel();
        let (go_on, goes_on) = channel();
        let long = std::thread::spawn({
            let loom = loom.clone();
            move || {
                let task = loom.task("long").returns(move || {
                    started.send(()).unwrap();
                    goes_on.recv_timeout(Duration::from_secs(60)).is_ok()
                });
                task.wait()
            }
        });
        starts.recv().unwrap();
        assert!(loom.core().make_sync_point(&complete).is_none());
        let _ = go_on.send(());
        assert!(long.join().unwrap().unwrap(), "the sync point waited for the task");
    }
}
