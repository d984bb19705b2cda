//! Contexts that are deleted: who has their tasks then, and what is left of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use drawloom_runtime::policy::queue::Queue;
use drawloom_runtime::policy::{Policy, Ready};
use drawloom_runtime::{Context, ErrorKind, Loom, Region, WorkerId};

fn loom(workers: usize) -> Loom {
    Loom::builder().workers(workers).build().unwrap()
}

/// Counts the policies that live.
struct Living(Queue, Arc<AtomicUsize>);

impl Living {
    fn make(count: &Arc<AtomicUsize>) -> impl Fn(&drawloom_runtime::WorkersView) -> Box<dyn Policy> + use<> {
        let count = Arc::clone(count);
        move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Box::new(Living(Queue::default(), Arc::clone(&count)))
        }
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Policy for Living {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.0.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.0.pop_front()
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {}
}

/// A task that has started and ends when it is told to.
fn gated(loom: &Loom, context: &Context) -> (std::sync::mpsc::Sender<()>, drawloom_runtime::Future<()>) {
    let (started, wait_for_start) = std::sync::mpsc::channel();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let task = loom.task("gated").in_context(context).run(move || {
        started.send(()).unwrap();
        gate.recv().unwrap();
    });
    wait_for_start.recv().unwrap();
    (open, task)
}

#[test]
fn a_deleted_context_is_given_up_with_its_last_task_and_those_inside_of_it_too() {
    let loom = loom(2);
    let alive = Arc::new(AtomicUsize::new(0));
    let outer = loom.context("outer").policy_with(Living::make(&alive)).create().unwrap();
    let inner = outer.context("inner").policy_with(Living::make(&alive)).create().unwrap();
    let (open, task) = gated(&loom, &inner);
    inner.delete().unwrap();
    outer.delete().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 2, "a task of the inner one runs, and belongs to the outer one");
    open.send(()).unwrap();
    task.wait().unwrap();
    loom.wait_all().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    // Without tasks it goes at once.
    let empty = loom.context("empty").policy_with(Living::make(&alive)).create().unwrap();
    empty.delete().unwrap();
    assert_eq!(alive.load(Ordering::SeqCst), 0);
    let stats = loom.stats();
    assert_eq!((stats.submitted, stats.completed), (1, 1));
    assert_eq!(stats.contexts.len(), 1);
    assert_eq!((stats.contexts[0].name.as_str(), stats.contexts[0].completed), ("main", 1));
}

#[test]
fn who_waits_for_a_context_waits_for_the_tasks_of_those_that_were_deleted_in_it() {
    for depth in [1, 3] {
        let loom = loom(2);
        let outer = loom.context("outer").create().unwrap();
        let mut chain = vec![outer.clone()];
        for _ in 0..depth {
            chain.push(chain[chain.len() - 1].context("inner").create().unwrap());
        }
        let (open, task) = gated(&loom, &chain[depth]);
        for inner in chain.drain(1..).rev() {
            inner.delete().unwrap();
        }
        let waits = std::thread::spawn(move || {
            outer.wait().unwrap();
            task.is_complete()
        });
        // Long enough for the wait to begin, as a rule; the task is not over before.
        (0..1000).for_each(|_| std::thread::yield_now());
        open.send(()).unwrap();
        assert!(waits.join().unwrap(), "the wait ended before the task, depth {depth}");
    }
}

#[test]
fn who_cancels_a_context_cancels_the_tasks_of_those_that_were_deleted_in_it() {
    let loom = loom(2);
    let outer = loom.context("outer").create().unwrap();
    let (first, second) = (outer.context("first").create().unwrap(), outer.context("second").create().unwrap());
    let x = loom.value("x", 0);
    let guard = x.write().unwrap();
    let late = |context: &Context| loom.task("late").update(&x).in_context(context).run(|x| *x += 1);
    let (of_first, of_second, elsewhere) = (late(&first), late(&second), late(&loom.main_context()));
    second.cancel().unwrap();
    first.delete().unwrap();
    second.delete().unwrap();
    outer.cancel().unwrap();
    drop(guard);
    for (task, name) in [(of_first, "`outer`"), (of_second, "`outer`")] {
        let error = task.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        assert!(error.to_string().contains(name), "{error}");
    }
    // What was not theirs is cancelled only for what they did not write.
    assert_eq!(elsewhere.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    let _ = loom.wait_all();
    loom.task("again").write(&x).run(|x| *x = 7).wait().unwrap();
    assert_eq!(x.get().unwrap(), 7);
}

#[test]
fn figures_count_tasks_of_every_context() {
    let loom = loom(2);
    let one = loom.context("one").workers([loom.worker(1).unwrap()]).create().unwrap();
    for _ in 0..10 {
        loom.task("there").in_context(&one).run(|| ());
    }
    one.wait().unwrap();
    let stats = loom.stats();
    assert_eq!(stats.workers[1].executed, 10);
    assert_eq!(stats.workers[0].executed, 0);
    let figures = &stats.contexts[1];
    assert_eq!((figures.id, figures.name.as_str(), figures.workers), (one.id(), "one", 1));
    assert_eq!((figures.submitted, figures.completed, figures.queued), (10, 10, 0));
    one.delete().unwrap();
    loom.task("here").run(|| ());
    loom.wait_all().unwrap();
    let stats = loom.stats();
    assert_eq!(stats.workers.iter().map(|w| w.executed).sum::<u64>(), 11);
    assert_eq!((stats.submitted, stats.completed, stats.contexts.len()), (11, 11, 1));
}
