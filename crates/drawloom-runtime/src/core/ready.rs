//! Tasks that became ready, on their way to workers.

use super::waiting::CHILDREN_ONLY;
use super::{Core, Local, Owned, Running, SharedLocal};
use crate::error::Result;
use crate::order::scope::{Scope, Suits};
use crate::policy::{Ready, WorkerId};
use crate::stall::On;
use crate::sync::atomic::{Ordering, fence};
use crate::sync::stack::with_room;
use crate::sync::{MutexGuard, lock, try_lock};
use crate::task::record::{Kind, TaskId, flag};
use crate::worker::cycle::Found;
use crate::worker::seat::Seat;

/// A worker between two scheduling operations, or a thread that is none and has no operations.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    seat: Option<&'a Seat>,
    generation: u64,
}

impl Place<'_> {
    /// Whether it may go on without another operation: it still belongs to its contexts, and nobody wants anything of it.
    #[inline]
    pub(crate) fn may_go_on(self) -> bool {
        self.seat.is_none_or(|seat| seat.state.is_calm() && seat.generation() == self.generation)
    }
}

impl Core {
    /// Hands a task out that became ready outside of a worker's own loop.
    #[inline]
    pub(super) fn dispatch_one(&self, task: Owned<'_>) {
        let (record, context) = (task.record, task.record.context());
        let plain = record.kind() == Kind::Task
            && record.title.scope().is_null()
            && record.flags.load(Ordering::Relaxed) & (flag::COMMUTES | flag::DEVICE) == 0;
        if plain && self.serial.is_none() {
            self.give(context, Ready::task(task.id, record.priority()), None);
            self.drain_stopped();
            return;
        }
        let worker = self.with_running(|running| {
            running.filter(|running| running.record.context() == context).and_then(|running| running.local.worker())
        });
        let mut local = Local::new(worker);
        let mut stack = Vec::new();
        self.make_ready(task, &mut stack, &mut local.ready);
        for index in stack {
            // SAFETY: what has no body is complete when it is ready.
            unsafe { self.complete(&mut local, index) };
        }
        self.hand_out(&mut local);
        self.flush(&mut local);
    }

    /// Notes that a task is ready: it can run, or is complete already. That is then on the stack.
    #[inline]
    pub(crate) fn make_ready(&self, task: Owned<'_>, stack: &mut Vec<u32>, ready: &mut Vec<(u32, Ready)>) {
        let record = task.record;
        match record.kind() {
            Kind::Task => {
                let commutes = record.flags.load(Ordering::Relaxed) & flag::COMMUTES != 0;
                if !commutes || self.arbiter.acquire(task.id, task.args()) {
                    self.offer(task, ready);
                }
            }
            Kind::Sync | Kind::Gate => stack.push(task.id.index()),
            // Its holder, who submitted it, sees that nothing is left to wait for.
            Kind::Held => {}
            Kind::Free | Kind::Extension => unreachable!("only tasks become ready"),
        }
    }

    /// The turn of a guard has come. Its holder may have seen that already, and the record may hold another task by now: only
    /// what the id says is certain.
    pub(super) fn turn_of_guard(&self, id: TaskId, stack: &mut Vec<u32>) {
        let record = self.slab.get(id.index());
        // In one order with a thread that gave the guard up; see `finish_hold`.
        fence(Ordering::SeqCst);
        // A guard that was given up stays until someone claims it. Otherwise the mark is that of another generation.
        if record.forgotten.load(Ordering::SeqCst) == id.generation() && record.claim(id.generation()) {
            stack.push(id.index());
        } else {
            self.waiters.wake(id);
        }
    }

    /// Offers a task that nothing holds back to everyone who may run it.
    #[inline]
    pub(super) fn offer(&self, task: Owned<'_>, ready: &mut Vec<(u32, Ready)>) {
        if task.record.flags.load(Ordering::Relaxed) & flag::DEVICE != 0 {
            self.offer_to_devices(task, ready);
        } else {
            self.offer_to_workers(task, ready);
        }
    }

    /// Offers a task to its parent, while that waits, and to the workers of its context.
    #[inline]
    pub(super) fn offer_to_workers(&self, task: Owned<'_>, ready: &mut Vec<(u32, Ready)>) {
        let (id, context, priority) = (task.id, task.record.context(), task.record.priority());
        // SAFETY: the task is not complete before it is pushed, and the scope is not used afterwards: the waiting parent may
        // run the task at once, and be complete.
        if let Some(scope) = unsafe { task.record.scope() } {
            let parent = scope.parent;
            scope.push(id);
            self.waiters.wake_threads(parent);
        }
        ready.push((context, Ready::task(id, priority)));
    }

    /// Gives ready tasks to the policies of their contexts.
    pub(crate) fn hand_out(&self, local: &mut Local) {
        if self.serial.is_some() {
            self.run_serially(local);
            return;
        }
        self.settle_reserved(local);
        if local.ready.is_empty() {
            return;
        }
        for (context, ready) in local.ready.drain(..) {
            // What is near to the worker's last task is near to this one only in the same context.
            self.give(context, ready, local.worker.filter(|_| context == local.context));
        }
        self.drain_stopped();
    }

    /// The task that a worker goes on with, after others that became ready were handed out.
    #[inline]
    pub(crate) fn follow_on(&self, local: &mut Local) -> Option<Ready> {
        self.watch_reserved(local);
        if local.ready.is_empty() {
            return None;
        }
        let (context, priority) = (local.ready[0].0, local.ready[0].1.priority);
        let next = self.may_follow_on(local, context, priority).then(|| local.ready.swap_remove(0).1);
        self.hand_out(local);
        next
    }

    /// Whether a worker may run a task that its last one made ready, without a scheduling operation: the policy allows it,
    /// the worker still belongs to the context, and nobody wants anything of it.
    #[inline]
    fn may_follow_on(&self, local: &Local, context: u32, priority: i32) -> bool {
        local.worker.is_some()
            && self.context(context).follows_on
            && context == local.context
            && priority >= 0
            && self.place_of(local.worker, local.generation).may_go_on()
    }

    /// Where a thread is, from its last scheduling operation to the next.
    #[inline]
    pub(crate) fn place(&self, local: SharedLocal<'_>) -> Place<'_> {
        let (worker, generation) = local.worker_and_generation();
        self.place_of(worker, generation)
    }

    #[inline]
    pub(super) fn place_of(&self, worker: Option<WorkerId>, generation: u64) -> Place<'_> {
        Place { seat: worker.map(|worker| self.workers.seat(worker)), generation }
    }

    /// One scheduling operation of a worker, by the thread that drives it.
    #[inline]
    pub(crate) fn choose(&self, local: &mut Local, worker: WorkerId) -> Found {
        let seat = self.workers.seat(worker);
        let ask = |context| {
            let task = self.context(context).policy.pop(worker)?;
            Some((context, task, seat.generation()))
        };
        // SAFETY: the calling thread drives the worker, and is not in an operation: policies have no way to come here.
        let (found, asked) = unsafe { seat.operate(ask) };
        if self.context_waiters.load(Ordering::Relaxed) > 0 {
            // Counts of completed tasks that were written before the operation are visible now.
            self.waiters.note_quiet();
        }
        match found {
            Some((context, task, generation)) => {
                local.context = context;
                local.generation = generation;
                Found::Task(task)
            }
            None if asked => Found::Team,
            None => Found::Nothing,
        }
    }

    /// A scheduling operation of a worker that waits for the children of a task: it may run only their family, as far as
    /// it belongs to their contexts. Threads that are no workers have no operations.
    pub(super) fn choose_family(&self, running: &Running<'_>, inside: &Scope) -> Found {
        let seat = running.local.worker().map(|worker| self.workers.seat(worker));
        if seat.is_some_and(|seat| seat.state.enter()) {
            seat.inspect(|seat| seat.state.leave());
            return Found::Team;
        }
        // SAFETY: inside of an operation of this thread's worker.
        let member = |context| seat.is_none_or(|seat| unsafe { seat.belongs_to(context) });
        let chosen = inside.pop_family(&|id| self.suits(id, &member));
        let found = chosen.map_or(Found::Nothing, |id| Found::Task(Ready::task(id, 0)));
        seat.inspect(|seat| seat.state.leave());
        found
    }

    /// Whether a ready task is for someone who belongs to some contexts.
    pub(super) fn suits(&self, id: TaskId, is_member: &dyn Fn(u32) -> bool) -> Suits {
        let record = self.slab.get(id.index());
        if record.was_claimed(id.generation()) {
            return Suits::Gone;
        }
        // If the task was run and its record is in use again, the claim will fail, whatever is read here.
        let context = self.home(record.context());
        if is_member(context) { Suits::Yes } else { Suits::NotNow }
    }

    /// Who waits inside of a task looks again: contexts have other workers than before.
    pub(crate) fn wake_family_waits(&self) {
        for worker in self.workers.ids() {
            if let Some(task) = self.workers.seat(worker).waits_in() {
                self.waiters.wake_threads(task);
            }
        }
    }

    /// A worker begins to wait for the children of a task.
    pub(super) fn begin_family_wait(&self, running: &Running<'_>, parent: TaskId) {
        self.set_family_wait(running, Some(parent));
    }

    /// A worker runs something again, or returns to the body of the task; `outer` is the task in which it waits still, as a
    /// member of a team of that task's family.
    pub(super) fn end_family_wait(&self, running: &Running<'_>, outer: Option<TaskId>) {
        self.set_family_wait(running, outer);
    }

    fn set_family_wait(&self, running: &Running<'_>, parent: Option<TaskId>) {
        let Some(worker) = running.local.worker() else { return };
        let seat = self.workers.seat(worker);
        seat.set_waits_in(parent);
        // A member that has slept can join teams of the family.
        seat.set_meets(false);
        self.teams.reconsider(self);
    }

    /// A worker that waits for children takes part in teams of their family.
    pub(super) fn join_family_team(&self, local: &mut Local) {
        if let Some(worker) = local.worker {
            self.take_part(local, worker);
        }
    }

    /// The context in which the tasks of a context run: itself, unless it was deleted.
    pub(crate) fn home(&self, mut index: u32) -> u32 {
        while let Some(heir) = self.context(index).heir() {
            index = heir;
        }
        index
    }

    /// Gives a ready task to the policy of its context, and wakes a worker for it.
    #[inline]
    pub(crate) fn give(&self, index: u32, task: Ready, by: Option<WorkerId>) {
        self.context(index).policy.push(task, by);
        // In one order with workers that go to sleep, and with changes of contexts.
        fence(Ordering::SeqCst);
        if self.workers.confined.load(Ordering::Relaxed) {
            self.wake_member(index);
        } else {
            self.workers.sleep.notify_fenced();
        }
    }

    /// A task was pushed into a context: wakes a worker that belongs to it.
    #[cold]
    fn wake_member(&self, index: u32) {
        let context = self.context(index);
        if context.is_deleted() {
            return self.move_to_heir(index);
        }
        if context.suits_all() {
            self.workers.sleep.notify_among(|worker| context.has(worker));
        } else {
            for worker in context.members().workers.iter() {
                self.workers.sleep.wake_worker(worker.index());
            }
        }
    }

    /// Tasks of a deleted context go on in the one that has them now.
    ///
    /// A thread that pushes into a context looks afterwards whether it was deleted, and the thread that deletes a context
    /// empties it after saying so. Both are sequentially consistent, so one of them finds the task.
    pub(crate) fn move_to_heir(&self, index: u32) {
        let heir = self.home(index);
        let all: Vec<WorkerId> = self.workers.ids().collect();
        let mut tasks = Vec::new();
        self.context(index).policy.drain(&all, &mut tasks);
        for task in tasks {
            self.give(heir, task, None);
        }
    }

    /// Someone found a task, and there may be more: wakes others.
    pub(crate) fn wake_more(&self) {
        if !self.workers.confined.load(Ordering::SeqCst) {
            return self.workers.sleep.notify();
        }
        for (_, context) in self.contexts.iter().filter(|(_, c)| !c.policy.is_empty()) {
            self.workers.sleep.notify_among(|worker| context.has(worker));
        }
    }

    /// Counts a task of a context as complete.
    #[inline]
    pub(super) fn note_completed(&self, context: u32, worker: Option<WorkerId>) {
        if context == 0 {
            self.context(0).count_completed(worker);
        } else {
            self.leave_context(context, worker);
        }
        // For the main context, a store that is still on its way could be missed by someone who begins to wait now. The
        // worker's next operation looks again.
        if self.context_waiters.load(Ordering::SeqCst) > 0 {
            self.waiters.note_quiet();
        }
    }

    /// Waits until all tasks of a context are complete.
    pub(crate) fn wait_for_context(&self, index: u32) -> Result<()> {
        let state = self.context(index);
        self.refuse_wait_in_task(|_| format!("waits for the context `{}`; {CHILDREN_ONLY}", state.name))?;
        self.context_waiters.fetch_add(1, Ordering::SeqCst);
        let waited = self.waiters.wait_quiet(self, On::Context(index), |core| core.context(index).is_quiet());
        self.context_waiters.fetch_sub(1, Ordering::SeqCst);
        waited
    }

    /// Runs ready tasks right here: the serial engine.
    fn run_serially(&self, local: &mut Local) {
        let Some(serial) = &self.serial else { return };
        if self.is_running() {
            // A task that submits runs its children at once.
            self.run_all(local);
        } else if !Core::is_in_task() && !self.is_inside_now() {
            // Other threads wait for their turn. This one may have it: then an operator or a destructor submits.
            self.run_in_turn(local, lock(&serial.turn));
        } else {
            match try_lock(&serial.turn) {
                Some(turn) => self.run_in_turn(local, turn),
                None => lock(&serial.left).append(&mut local.ready),
            }
        }
        // What was left while the turn was given back is nobody's yet.
        while !lock(&serial.left).is_empty()
            && let Some(turn) = try_lock(&serial.turn)
        {
            self.run_in_turn(local, turn);
        }
        // There are no workers to say so to threads that wait for everything.
        self.waiters.note_quiet();
    }

    /// Runs ready tasks, and what others have left, with the turn of a serial engine.
    fn run_in_turn(&self, local: &mut Local, turn: MutexGuard<'_, ()>) {
        let Some(serial) = &self.serial else { return };
        serial.begin();
        self.run_all(local);
        loop {
            let mut left = std::mem::take(&mut *lock(&serial.left));
            if left.is_empty() {
                break;
            }
            // The oldest first, as those that are ready are taken from the end.
            left.reverse();
            local.ready.append(&mut left);
            self.run_all(local);
        }
        serial.end();
        drop(turn);
    }

    fn run_all(&self, local: &mut Local) {
        while let Some((_, ready)) = local.ready.pop() {
            with_room(|| self.inside(|| self.run_ready(local, ready)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{Future, IntoFuture};
    use std::pin::pin;
    use std::sync::atomic::AtomicUsize;
    use std::sync::{Arc, Mutex, mpsc};
    use std::task::{Context, Wake, Waker};

    use crate::sync::atomic::Ordering;
    use crate::task::future::Pending;
    use crate::task::record::{Kind, TaskId};
    use crate::{Loom, Region};

    /// The thread that makes a guard's turn come may be late: the holder has gone, and the record is another task's, whose
    /// future is gone too.
    #[test]
    fn the_turn_of_a_guard_that_is_gone_leaves_the_next_task_of_the_record_alone() {
        let loom = Loom::builder().workers(1).build().unwrap();
        let core = loom.core();
        let (value, other) = (loom.value("value", 0_u64), loom.value("other", 0_u64));
        let held = value.write().unwrap();
        let guard = core.look_at(core.slab.in_use()[0]).id;
        let blocks = other.write().unwrap();
        drop(held);
        assert!(core.is_complete(guard));
        let mut later: Vec<TaskId> = Vec::new();
        while later.last().is_none_or(|id| id.index() != guard.index()) {
            later.push(loom.task("later").update(&other).run(|other| *other += 1).id());
            assert!(later.len() < 1000, "the record is used again");
        }
        let next = *later.last().unwrap();
        core.slab.get(next.index()).forgotten.store(next.generation(), Ordering::SeqCst);
        let mut stack = Vec::new();
        core.turn_of_guard(guard, &mut stack);
        assert!(stack.is_empty(), "a task was taken for a guard that was given up");
        drop(blocks);
        loom.wait_all().unwrap();
        assert_eq!(*other.read().unwrap(), later.len() as u64);
    }

    /// Blocks whoever wakes it, until it may go on.
    struct Blocks {
        wakes: mpsc::SyncSender<()>,
        goes_on: Mutex<mpsc::Receiver<()>>,
    }

    impl Wake for Blocks {
        fn wake(self: Arc<Self>) {
            self.wakes.send(()).unwrap();
            self.goes_on.lock().unwrap().recv().unwrap();
        }
    }

    /// A worker makes a child ready, and is kept from going on with it. The parent, which waits, has run the child meanwhile, and
    /// its record is that of a task which must not run yet.
    #[test]
    fn a_child_that_its_parent_has_run_is_not_taken_for_whatever_has_its_record_now() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let loom = Loom::builder().workers(3).build().unwrap();
        let core = loom.core();
        let (x, other) = (loom.value("x", 0_u64), loom.value("other", 0_u64));
        let guard = other.write().unwrap();
        let (go, may_go) = mpsc::sync_channel::<()>(0);
        let (tell, told) = mpsc::sync_channel(1);
        let (handle, inner) = (loom.clone(), x.clone());
        let parent = loom.task("parent").lend(&x).run(move |_| {
            let x = inner;
            let (began, has_begun) = mpsc::sync_channel(1);
            let first = handle.task("first").update(&x).run(move |_| {
                began.send(()).unwrap();
                may_go.recv().unwrap();
            });
            has_begun.recv().unwrap();
            let (ran, has_run) = mpsc::sync_channel(1);
            let last = handle.task("last").ends_with(&first).run(move || ran.send(()).unwrap());
            has_run.recv().unwrap();
            let second = handle.task("second").update(&x).run(|x| *x += 1);
            tell.send((last, second.id())).unwrap();
            second.wait().unwrap();
        });
        let (last, second) = told.recv().unwrap();
        let (wakes, was_woken) = mpsc::sync_channel(1);
        let (goes_on, may_go_on) = mpsc::sync_channel(1);
        let waker = Waker::from(Arc::new(Blocks { wakes, goes_on: Mutex::new(may_go_on) }));
        let mut last = pin!(last.into_future());
        assert!(last.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        go.send(()).unwrap();
        was_woken.recv().unwrap();
        // The parent and the third worker have nothing left to do, and keep no records.
        let sleeping = |count| {
            while core.workers.sleep.sleeping() < count {
                std::thread::yield_now()
            }
        };
        sleeping(2);
        let mut later = 0;
        while later == 0 || core.look_at(second.index()).kind != Kind::Task {
            loom.task("later").update(&other).run(|_| _ = RUNS.fetch_add(1, Ordering::SeqCst));
            later += 1;
            assert!(later < 1000, "the record is used again");
        }
        goes_on.send(()).unwrap();
        sleeping(3);
        assert_eq!(RUNS.load(Ordering::SeqCst), 0, "a task ran that waits for a guard");
        drop(guard);
        parent.wait().unwrap();
        loom.wait_all().unwrap();
        assert_eq!((RUNS.load(Ordering::SeqCst), x.get().unwrap()), (later, 1));
    }

    /// A task that drops the last handle of a region completes what frees it, right there.
    #[test]
    fn records_of_what_completes_while_a_task_submits_come_back() {
        let loom = Loom::builder().workers(1).build().unwrap();
        for _ in 0..2000 {
            let value = loom.value("value", 0_u64);
            loom.task("drops").run(move || drop(value)).wait().unwrap();
        }
        loom.wait_all().unwrap();
        let (made, _) = loom.core().slab.counts();
        assert!(made <= 256, "{made} records for one task at a time");
    }
}
