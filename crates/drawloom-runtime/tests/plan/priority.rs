//! Which of the ready tasks of a plan runs first.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use drawloom_runtime::Loom;

/// The order in which one worker runs the tasks of a plan, recorded by `record`, under a policy. Each task appends its name.
fn order(policy: &str, record: impl Fn(&dyn Fn(&str, i32, &[usize]) -> usize)) -> Vec<String> {
    let loom = Loom::builder().workers(1).policy(policy).build().unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    let capture = loom.capture("plan");
    let steps = Mutex::new(Vec::new());
    record(&|name, priority, after| {
        let (ran, text) = (Arc::clone(&ran), name.to_owned());
        let mut steps = steps.lock().unwrap();
        let task =
            after.iter().fold(capture.task(name.to_owned()).priority(priority), |task, &at| task.after(steps[at]));
        steps.push(task.run(move || ran.lock().unwrap().push(text.clone())));
        steps.len() - 1
    });
    capture.plan().unwrap().run().unwrap();
    let ran = ran.lock().unwrap();
    ran.clone()
}

/// A short chain, a long one, and many tasks that stand alone.
fn chains(task: &dyn Fn(&str, i32, &[usize]) -> usize) {
    let s0 = task("s0", 0, &[]);
    task("s1", 0, &[s0]);
    for i in 0..80 {
        task(&format!("alone{i}"), 0, &[]);
    }
    let l0 = task("l0", 0, &[]);
    let l1 = task("l1", 0, &[l0]);
    let l2 = task("l2", 0, &[l1]);
    task("l3", 0, &[l2]);
}

#[test]
fn under_prio_the_longest_path_comes_first() {
    let ran = order("prio", chains);
    assert_eq!(ran[..4], ["l0", "l1", "s0", "l2"]);
    assert_eq!(ran.len(), 86);
}

#[test]
fn priorities_that_were_given_come_first_and_critical_paths_decide_among_equal_ones() {
    for policy in ["prio", "lws", "ws"] {
        let ran = order(policy, |task| {
            task("patient", -3, &[]);
            let start = task("start", 9, &[]);
            for i in 0..70 {
                task(&format!("plain{i}"), 0, &[]);
            }
            task("fourth", 5, &[start]);
            let second = task("second", 7, &[start]);
            task("third", 6, &[second]);
            let path = task("path", 5, &[start]);
            task("after path", 0, &[path]);
        });
        // What follows "path" makes it more urgent than the other one of the same priority.
        assert_eq!(ran[..5], ["start", "second", "third", "path", "fourth"], "{policy}");
        assert_eq!(ran.last().unwrap(), "patient", "{policy}");
        assert_eq!(ran.len(), 77);
    }
}

#[test]
fn tasks_without_priorities_keep_those_of_their_paths_when_others_were_given_some() {
    let ran = order("prio", |task| {
        task("patient", -1, &[]);
        for i in 0..3 {
            task(&format!("alone{i}"), 0, &[]);
        }
        let l0 = task("l0", 0, &[]);
        task("l1", 0, &[l0]);
        task("urgent", 1, &[]);
    });
    assert_eq!(ran, ["urgent", "l0", "alone0", "alone1", "alone2", "l1", "patient"]);
}

#[test]
fn a_task_from_outside_is_served_between_the_nodes_of_a_plan_as_its_priority_says() {
    let loom = Loom::builder().workers(1).policy("prio").build().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (go, wait) = channel();
    let (ready, began) = channel();
    let wait = Mutex::new(wait);
    let capture = loom.capture("plan");
    let first = {
        let order = Arc::clone(&order);
        capture.task("first").run(move || {
            ready.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
            order.lock().unwrap().push("first");
        })
    };
    for name in ["second", "third"] {
        let order = Arc::clone(&order);
        capture.task(name).after(first).run(move || order.lock().unwrap().push(name));
    }
    let run = capture.plan().unwrap().start();
    began.recv().unwrap();
    let outside = Arc::clone(&order);
    let task = loom.task("outside").priority(1000).run(move || outside.lock().unwrap().push("outside"));
    go.send(()).unwrap();
    run.wait().unwrap();
    task.wait().unwrap();
    assert_eq!(*order.lock().unwrap(), ["first", "outside", "second", "third"]);
}
