//! Tasks that wait for tasks of two workers run on whichever is free.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use drawloom_runtime::{Loom, Value};

/// Something whose destructor waits for a task, and says whether it came.
struct Waits {
    begins: Sender<()>,
    task: Receiver<()>,
    came: Sender<bool>,
}

impl Drop for Waits {
    fn drop(&mut self) {
        let _ = self.begins.send(());
        let _ = self.came.send(self.task.recv_timeout(Duration::from_secs(60)).is_ok());
    }
}

/// A destructor that waits for a task, and the other ends of it: it begins, the task runs, and the task came.
fn waits() -> (Waits, Receiver<()>, Sender<()>, Receiver<bool>) {
    let (begins, begun) = channel();
    let (ran, task) = channel();
    let (came, comes) = channel();
    (Waits { begins, task, came }, begun, ran, comes)
}

/// Submits a task that says when it runs and then waits for a word. Returns the word's sender, when it runs.
fn held(submit: impl FnOnce(Sender<()>, Receiver<()>)) -> Sender<()> {
    let ((says, runs), (go, may)) = (channel(), channel());
    submit(says, may);
    runs.recv().unwrap();
    go
}

fn hold(says: &Sender<()>, may: &Receiver<()>) {
    says.send(()).unwrap();
    may.recv().unwrap();
}

fn two_values(loom: &Loom) -> (Value<u64>, Value<u64>) {
    (loom.value("x", 0), loom.value("y", 0))
}

#[test]
fn a_destructor_of_an_element_does_not_keep_a_task_from_the_other_worker() {
    for task_first in [true, false] {
        let loom = Loom::builder().workers(2).build().unwrap();
        let (waits, begun, ran, comes) = waits();
        let slow = loom.host_value("slow", std::sync::Mutex::new(waits));
        let (x, y) = two_values(&loom);
        let first = held(|says, may| {
            loom.task("first").read(&slow).update(&x).run(move |_, _| hold(&says, &may));
        });
        let second = held(|says, may| {
            loom.task("second").update(&y).run(move |_| hold(&says, &may));
        });
        let submit = || {
            loom.task("later").read(&x).read(&y).run(move |_, _| ran.send(()).unwrap());
        };
        if task_first {
            submit();
            drop(slow);
        } else {
            drop(slow);
            submit();
        }
        first.send(()).unwrap();
        begun.recv().unwrap();
        second.send(()).unwrap();
        assert!(
            comes.recv().unwrap(),
            "the task waits for the destructor, and that for the task; task first: {task_first}"
        );
        loom.wait_all().unwrap();
    }
}

#[test]
fn dropping_a_plan_does_not_keep_a_task_from_the_other_worker() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let (waits, begun, ran, comes) = waits();
    let waits = std::sync::Mutex::new(waits);
    let (x, y) = two_values(&loom);
    let capture = loom.capture("plan");
    let (says, runs) = channel();
    let (go, may) = channel();
    let (says, may) = (std::sync::Mutex::new(says), std::sync::Mutex::new(may));
    capture.task("first").update(&x).run(move |_| {
        let _captured = &waits;
        hold(&says.lock().unwrap(), &may.lock().unwrap());
    });
    let plan = capture.plan().unwrap();
    let run = plan.start();
    runs.recv().unwrap();
    let second = held(|says, may| {
        loom.task("second").update(&y).run(move |_| hold(&says, &may));
    });
    loom.task("later").read(&x).read(&y).run(move |_, _| ran.send(()).unwrap());
    drop(plan);
    go.send(()).unwrap();
    begun.recv().unwrap();
    second.send(()).unwrap();
    assert!(comes.recv().unwrap(), "the task waits for the destructor, and that for the task");
    run.wait().unwrap();
    loom.wait_all().unwrap();
}

#[test]
fn tasks_that_wait_for_two_workers_run_once() {
    let loom = Loom::builder().workers(2).build().unwrap();
    for round in 0..2000_u64 {
        let (x, y) = two_values(&loom);
        loom.task("a").update(&x).run(move |x| *x = round);
        loom.task("b").update(&y).run(move |y| *y = 2 * round);
        // One waits for `a` alone, the others for both; each runs once.
        let alone = loom.task("alone").read(&x).returns(|x| *x);
        let both = [(); 3].map(|()| loom.task("both").read(&x).read(&y).returns(|x, y| x + y));
        assert_eq!(alone.wait().unwrap(), round);
        for sum in both {
            assert_eq!(sum.wait().unwrap(), 3 * round);
        }
    }
}
