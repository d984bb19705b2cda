//! Edges between tasks.

use std::mem::MaybeUninit;
use std::panic::Location;

use super::{Core, Local};
use crate::access::Arg;
use crate::sync::atomic::Ordering;
use crate::task::body;
use crate::task::name::Name;
use crate::task::record::{ARGS, Description, EDGES, EdgeId, Kind, PAYLOAD, Record, TaskId, flag};
use crate::task::spec::Spec;

impl Core {
    /// Makes a task wait for others, and lets it go. Until now it could not become ready.
    #[inline]
    pub(crate) fn finish_submission(&self, id: TaskId, waits: &[TaskId], after: &[TaskId]) {
        let record = self.slab.get(id.index());
        let ends_with = self.begin_ends_with(id, record);
        let count = (waits.len() + after.len()) as u32;
        if count == 0 && !ends_with {
            record.pending.store(0, Ordering::Relaxed);
            self.tracer.ready(id);
            self.dispatch_one(id.index());
            return;
        }
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
            done += u32::from(!self.link(id, &mut link, earlier, false));
        }
        for &earlier in after {
            if !self.link(id, &mut link, self.gate(record, earlier), true) {
                done += 1;
                if let Some(reason) = self.failures.peek(earlier) {
                    self.failures.cancel_for(id, &reason);
                    record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed);
                }
            }
        }
        if ends_with {
            self.link_ends(id, record, &mut link);
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
            self.dispatch_one(id.index());
        }
    }

    /// Adds an edge from an earlier task. False when that one is complete already.
    #[inline]
    fn link(&self, id: TaskId, link: &mut usize, earlier: TaskId, binding: bool) -> bool {
        let record = self.slab.get(id.index());
        let (holder, slot) = self.edge_slot(id, *link);
        *link += 1;
        let later = if holder == id.index() { record } else { self.slab.get(holder) };
        if binding {
            later.mark_binding(slot, true);
        }
        let linked = self.slab.get(earlier.index()).link(earlier.generation(), EdgeId::new(holder, slot), later);
        if !linked {
            *link -= 1;
            if binding {
                later.mark_binding(slot, false);
            }
        }
        linked
    }

    /// The record and the link in it that hold a task's edge with a number.
    #[inline]
    fn edge_slot(&self, id: TaskId, number: usize) -> (u32, usize) {
        if number < EDGES {
            return (id.index(), number);
        }
        self.extension(id, number)
    }

    #[cold]
    fn extension(&self, id: TaskId, number: usize) -> (u32, usize) {
        let record = self.slab.get(id.index());
        let description = record.description.get().cast::<Description>();
        // SAFETY: this thread is submitting the task, which cannot become ready yet. Others may have a look at its arguments
        // already, as edges were published: so there is no reference to all of it.
        let ((name, location), extras) = unsafe {
            let extras = &mut (*description).extras;
            (record.title.words().whole(), extras.get_or_insert_with(Box::default))
        };
        let nth = (number - EDGES) / EDGES;
        if nth == extras.extensions.len() {
            let (index, extension) = self.take_record(false);
            // Relaxed: published together with the edges.
            extension.open.store(id.index(), Ordering::Relaxed);
            extension.clear_marks();
            // SAFETY: just taken from the pool.
            unsafe {
                (*extension.description.get()).write(Description {
                    table: &body::NOTHING,
                    extras: None,
                    args: [Arg::NONE; ARGS],
                    payload: [MaybeUninit::uninit(); PAYLOAD],
                });
            }
            extension.title.set(name, location, std::ptr::null());
            extension.set_kind(Kind::Extension);
            extras.extensions.push(index);
        }
        (extras.extensions[nth], number % EDGES)
    }

    /// Counts the tasks that this one must end with, before it can end.
    fn begin_ends_with(&self, _: TaskId, record: &Record) -> bool {
        // SAFETY: this thread is submitting the task.
        let description = unsafe { (*record.description.get()).assume_init_ref() };
        let Some(extras) = &description.extras else { return false };
        let count = extras.ends_with.len() as u32;
        record.open.fetch_add(count, Ordering::Relaxed);
        count > 0
    }

    #[cold]
    fn link_ends(&self, id: TaskId, record: &Record, link: &mut usize) {
        // SAFETY: this thread is submitting the task, which cannot run yet, as `pending` counts one more.
        let ends: Vec<TaskId> = unsafe { (*record.description.get()).assume_init_ref() }
            .extras
            .as_ref()
            .map_or_else(Vec::new, |e| e.ends_with.clone());
        for earlier in ends {
            let (holder, slot) = self.edge_slot(id, *link);
            let later = self.slab.get(holder);
            later.mark_ending(slot, true);
            if self.slab.get(earlier.index()).link(earlier.generation(), EdgeId::new(holder, slot), later) {
                *link += 1;
            } else {
                later.mark_ending(slot, false);
                record.open.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// One task that stands for several: complete when all of them are. None when they are complete already.
    pub(super) fn make_sync_point(&self, tasks: &[TaskId]) -> TaskId {
        match tasks {
            [] => return TaskId::NONE,
            [only] => return *only,
            _ => {}
        }
        let (index, record) = self.take_record(false);
        let id = TaskId::new(index, record.generation());
        let mut spec = Spec::new(Name::literal("sync"), Location::caller(), 0);
        let payload = [MaybeUninit::uninit(); PAYLOAD];
        self.describe(record, Kind::Sync, &mut spec, &body::NOTHING, None, payload);
        // Release: as in `finish_submission`.
        record.pending.store(tasks.len() as u32 + 1, Ordering::Release);
        let (mut done, mut link) = (1, 0);
        for &task in tasks {
            done += u32::from(!self.link(id, &mut link, task, false));
        }
        if record.pending.fetch_sub(done, Ordering::AcqRel) == done {
            let mut local = Local::new(None);
            self.complete(&mut local, index);
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
        let (index, gate) = self.take_record(false);
        let id = TaskId::new(index, gate.generation());
        let mut spec = Spec::new(Name::literal("gate"), Location::caller(), 0);
        let payload = [MaybeUninit::uninit(); PAYLOAD];
        self.describe(gate, Kind::Gate, &mut spec, &body::NOTHING, None, payload);
        // Release: as in `finish_submission`.
        gate.pending.store(2, Ordering::Release);
        let done = 1 + u32::from(!self.link(id, &mut 0, earlier, true));
        if gate.pending.fetch_sub(done, Ordering::AcqRel) == done {
            // Nobody knows it, so nobody waits for it. The earlier task is complete, and says itself whether it failed.
            self.complete(&mut Local::new(None), index);
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
            // AcqRel: as in `complete_one`.
            if self.slab.get(id.index()).pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.tracer.ready(id);
                let mut stack = Vec::new();
                self.make_ready(id.index(), &mut stack, &mut local.ready);
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
