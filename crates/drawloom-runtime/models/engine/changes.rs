//! Contexts that change while tasks run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{append, check, loom};
use crate::context::change::Told;
use crate::policy::queue::Queue;
use crate::policy::{Policy, Ready, WorkerId};
use crate::sync::thread;
use crate::{Context, Loom};

fn workers(loom: &Loom, numbers: &[usize]) -> Vec<WorkerId> {
    numbers.iter().map(|&number| loom.worker(number).unwrap()).collect()
}

/// A policy that notices when it is asked for a task while its workers change, or when two changes overlap.
#[derive(Default)]
struct Watchful {
    queue: Queue,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    popping: AtomicUsize,
    changing: AtomicUsize,
    /// How many changes there were: read, and written later, so that it is right only when they are exclusive.
    changes: AtomicUsize,
    /// A panic of a policy would be caught, so what is wrong is noted.
    wrong: AtomicBool,
}

impl Seen {
    fn note(&self, is_wrong: bool) {
        self.wrong.fetch_or(is_wrong, Ordering::SeqCst);
    }
}

impl Policy for Watchful {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.queue.push_back(task);
    }

    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.seen.popping.fetch_add(1, Ordering::SeqCst);
        self.seen.note(self.seen.changing.load(Ordering::SeqCst) > 0);
        thread::yield_now();
        let task = self.queue.pop_front();
        self.seen.note(self.seen.changing.load(Ordering::SeqCst) > 0);
        self.seen.popping.fetch_sub(1, Ordering::SeqCst);
        task
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn set_workers(&self, _: &[WorkerId]) {
        self.seen.note(self.seen.changing.fetch_add(1, Ordering::SeqCst) > 0);
        self.seen.note(self.seen.popping.load(Ordering::SeqCst) > 0);
        let before = self.seen.changes.load(Ordering::SeqCst);
        thread::yield_now();
        self.seen.changes.store(before + 1, Ordering::SeqCst);
        self.seen.note(self.seen.popping.load(Ordering::SeqCst) > 0);
        self.seen.changing.fetch_sub(1, Ordering::SeqCst);
    }
}

fn watched(loom: &Loom, numbers: &[usize]) -> (Context, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let same = Arc::clone(&seen);
    let policy =
        move |_: &_| -> Box<dyn Policy> { Box::new(Watchful { seen: Arc::clone(&same), ..Watchful::default() }) };
    let context = loom.context("watched").workers(workers(loom, numbers)).policy_with(policy).create().unwrap();
    (context, seen)
}

#[test]
fn changes_are_exclusive_also_in_what_they_count() {
    check(|| {
        let loom = loom(2);
        let (context, seen) = watched(&loom, &[0]);
        let before = seen.changes.load(Ordering::SeqCst);
        for _ in 0..2 {
            loom.task("task").in_context(&context).run(|| ());
        }
        let (same, second) = (context.clone(), workers(&loom, &[1]));
        let other = thread::spawn(move || {
            same.add_workers(second.clone()).unwrap();
            same.remove_workers(second).unwrap();
        });
        context.add_workers(workers(&loom, &[1])).unwrap();
        context.remove_workers(workers(&loom, &[1])).unwrap();
        other.join().unwrap();
        context.wait().unwrap();
        assert_eq!(seen.changes.load(Ordering::SeqCst), before + 4, "every change counts once");
        assert_eq!(context.workers().unwrap(), workers(&loom, &[0]));
        assert!(!seen.wrong.load(Ordering::SeqCst), "an operation or a change came into a change");
    });
}

#[test]
fn no_thread_takes_a_lock_while_it_holds_that_of_a_worker() {
    use crate::sync::alone::Alone;
    let before = Alone::times();
    check(|| {
        let loom = loom(2);
        let context = loom.context("both").workers(workers(&loom, &[0, 1])).create().unwrap();
        let team = loom.task("team").in_context(&context).team(1..=2).run(|_| ());
        let (own, worker) = (context.clone(), workers(&loom, &[0]));
        loom.task("turn").run(move || own.remove_workers(worker).unwrap());
        context.add_workers(workers(&loom, &[0])).unwrap();
        team.wait().unwrap();
        loom.wait_all().unwrap();
    });
    assert!(Alone::times() > before, "in no schedule did anyone hold the lock of a worker");
}

#[test]
fn a_change_tells_old_and_new_workers_in_order() {
    check(|| {
        let loom = loom(3);
        let context = loom.context("moving").workers(workers(&loom, &[2, 0])).create().unwrap();
        loom.core().changes.take_told();
        loom.task("task").in_context(&context).run(|| ());
        context.resize(workers(&loom, &[1, 2])).unwrap();
        let all = workers(&loom, &[0, 1, 2]);
        let announced = all.iter().map(|&worker| Told::Announced(worker));
        let expected: Vec<Told> = announced.chain(all.iter().map(|&worker| Told::Done(worker))).collect();
        assert_eq!(loom.core().changes.take_told(), expected);
        context.wait().unwrap();
    });
}

#[test]
fn a_worker_changes_its_own_contexts_from_a_task_and_is_not_told() {
    check(|| {
        let loom = loom(2);
        let context = loom.context("own").workers(workers(&loom, &[0, 1])).create().unwrap();
        loom.core().changes.take_told();
        let (inner, own) = (loom.clone(), context.clone());
        let leave = loom.task("leave").in_context(&context).returns(move || {
            let this = inner.current_worker().unwrap();
            own.remove_workers([this]).unwrap();
            this
        });
        let gone = leave.wait().unwrap();
        let told = loom.core().changes.take_told();
        assert!(!told.contains(&Told::Announced(gone)) && !told.contains(&Told::Done(gone)), "{told:?}");
        assert_eq!(told.len(), 2, "the other worker is told: {told:?}");
        let (inner, x) = (loom.clone(), loom.value("x", 0_u64));
        let next = loom.task("next").update(&x).in_context(&context).returns(move |x| {
            append(x, 1);
            inner.current_worker().unwrap()
        });
        assert_ne!(next.wait().unwrap(), gone, "a worker that left takes no more tasks");
        let (inner, own) = (loom.clone(), context.clone());
        let back = loom.task("back").returns(move || own.add_workers([inner.current_worker().unwrap()]).unwrap());
        back.wait().unwrap();
        context.wait().unwrap();
    });
}

#[test]
fn workers_that_change_contexts_of_each_other_do_not_block() {
    check(|| {
        let loom = loom(2);
        let context = loom.context("both").workers(workers(&loom, &[0, 1])).create().unwrap();
        for number in 0..2 {
            let (own, worker) = (context.clone(), workers(&loom, &[number]));
            loom.task("turn").run(move || {
                own.remove_workers(worker.clone()).unwrap();
                own.add_workers(worker).unwrap();
            });
        }
        loom.task("task").in_context(&context).run(|| ());
        loom.wait_all().unwrap();
        assert_eq!(context.workers().unwrap().len(), 2);
    });
}

#[test]
fn a_task_runs_on_a_worker_that_belongs_to_its_context_when_it_is_chosen() {
    check(|| {
        let loom = loom(2);
        let context = loom.context("one").workers(workers(&loom, &[0])).create().unwrap();
        let (x, inner) = (loom.value("x", 0_u64), loom.clone());
        // A chain, whose tasks follow on each other without an operation.
        let before: Vec<_> = (1..=2)
            .map(|digit| {
                let inner = inner.clone();
                loom.task("before").update(&x).in_context(&context).returns(move |x| {
                    append(x, digit);
                    inner.current_worker().unwrap()
                })
            })
            .collect();
        context.resize(workers(&loom, &[1])).unwrap();
        let after = loom.task("after").update(&x).in_context(&context).returns(move |x| {
            append(x, 3);
            inner.current_worker().unwrap()
        });
        assert_eq!(after.wait().unwrap(), workers(&loom, &[1])[0], "it was submitted after the change");
        for task in before {
            task.wait().unwrap();
        }
        assert_eq!(x.get().unwrap(), 123);
    });
}

#[test]
fn tasks_of_a_deleted_context_go_on_in_the_one_around_it() {
    check(|| {
        let loom = loom(2);
        let context = loom.context("short").workers(workers(&loom, &[0])).create().unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let (other, same, count) = (loom.clone(), context.clone(), Arc::clone(&ran));
        let submitter = thread::spawn(move || {
            let submit = |_| {
                let count = Arc::clone(&count);
                other.task("task").in_context(&same).run(move || {
                    count.fetch_add(1, Ordering::SeqCst);
                })
            };
            (0..2).map(submit).collect::<Vec<_>>()
        });
        context.delete().unwrap();
        // Refused once the context is gone, and never lost.
        let outcomes: Vec<_> = submitter.join().unwrap().into_iter().map(crate::Future::wait).collect();
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(refused.clone().all(|error| error.kind() == crate::ErrorKind::Context), "{outcomes:?}");
        assert_eq!(ran.load(Ordering::SeqCst), 2 - refused.count());
        loom.wait_all().unwrap();
        assert_eq!(Arc::strong_count(&ran), 1, "every body has run or was dropped");
    });
}
