//! Policies: those that come with the runtime, and those of users, whatever they do.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drawloom_runtime::policy::queue::Queue;
use drawloom_runtime::policy::{Policy, Ready, choice};
use drawloom_runtime::{ErrorKind, Loom, Plan, WorkerId};

/// What ran, in order, on a runtime with one worker that is driven once everything is submitted.
fn order_of(policy: &str, priorities: &[i32]) -> Vec<usize> {
    let loom = Loom::builder().workers(1).undriven([0]).policy(policy).build().unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    for (number, &priority) in priorities.iter().enumerate() {
        let ran = Arc::clone(&ran);
        loom.task("t").priority(priority).run(move || ran.lock().unwrap().push(number));
    }
    let mut driver = loom.driver(loom.worker(0).unwrap()).unwrap();
    driver.init().unwrap();
    while driver.run_once().unwrap() {}
    loom.wait_all().unwrap();
    ran.lock().unwrap().clone()
}

#[test]
fn eager_runs_tasks_in_the_order_in_which_they_became_ready() {
    assert_eq!(order_of("eager", &[0, 3, -1, 2]), [0, 1, 2, 3]);
}

#[test]
fn prio_runs_the_highest_priority_first_and_equal_ones_in_order() {
    assert_eq!(order_of("prio", &[0, 3, -1, 3, 5]), [4, 1, 3, 0, 2]);
}

#[test]
fn stealing_runs_positive_priorities_first_and_negative_ones_last() {
    for policy in ["ws", "lws"] {
        let order = order_of(policy, &[-2, 0, 7, -1, 9]);
        assert_eq!(order, [4, 2, 1, 3, 0], "{policy}");
    }
}

/// What ran, in order, on four workers that take turns once everything is submitted. A worker that finds nothing where its own
/// tasks are takes one of the next worker's, so the order tells where tasks were placed.
fn order_in_turns(policy: &str) -> Vec<usize> {
    let loom = Loom::builder().workers(4).undriven(0..4).policy(policy).build().unwrap();
    let ran = Arc::new(Mutex::new(Vec::new()));
    for number in 0..40 {
        let ran = Arc::clone(&ran);
        loom.task("t").run(move || ran.lock().unwrap().push(number));
    }
    let mut drivers: Vec<_> = loom.worker_ids().into_iter().map(|w| loom.driver(w).unwrap()).collect();
    for turn in 0..40 {
        let driver = &mut drivers[turn % 4];
        driver.init().unwrap();
        assert!(driver.run_once().unwrap());
        driver.deinit();
    }
    loom.wait_all().unwrap();
    ran.lock().unwrap().clone()
}

#[test]
fn the_same_seed_places_tasks_in_the_same_way_and_another_one_does_not() {
    let order = order_in_turns("random:7");
    assert_eq!(order_in_turns("random:7"), order);
    assert_ne!(order_in_turns("random:8"), order);
    assert_ne!(order_in_turns("eager"), order);
}

#[test]
fn every_policy_gives_the_same_result() {
    for policy in choice::NAMES.into_iter().chain(["random:42"]) {
        for workers in [1, 2, 17] {
            let loom = Loom::builder().workers(workers).policy(policy).build().unwrap();
            let x = loom.value("x", 1_u64);
            let ys: Vec<_> = (0..10_u64).map(|i| loom.value(format!("y{i}"), i)).collect();
            for round in 0..30_u64 {
                for (i, y) in ys.iter().enumerate() {
                    let task = loom.task("mix").read(&x).update(y).priority(i as i32 - 5);
                    task.run(move |x, y| *y = y.wrapping_mul(31).wrapping_add(*x));
                }
                loom.task("next").update(&x).run(move |x| *x = x.wrapping_mul(17) + round);
            }
            let serial = (0..30_u64).fold(1_u64, |x, round| x.wrapping_mul(17) + round);
            assert_eq!(x.get().unwrap(), serial, "{policy}, {workers} workers");
        }
    }
}

#[test]
fn a_policy_that_does_not_exist_is_refused_with_those_that_do() {
    for name in ["fifo", "random:x", ""] {
        let error = Loom::builder().workers(1).policy(name).build().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Setting);
        assert!(error.to_string().contains("lws, ws, eager, prio, random"), "{error}");
    }
}

/// Gives every task to one worker only.
struct OnlyLast {
    queue: Queue,
    last: Mutex<Option<WorkerId>>,
}

impl Policy for OnlyLast {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.queue.push_back(task);
    }
    fn pop(&self, worker: WorkerId) -> Option<Ready> {
        if *self.last.lock().unwrap() == Some(worker) { self.queue.pop_front() } else { None }
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn set_workers(&self, workers: &[WorkerId]) {
        *self.last.lock().unwrap() = workers.last().copied();
    }
    fn suits_all(&self) -> bool {
        false
    }
}

#[test]
fn a_policy_of_the_user_decides_who_runs_a_task() {
    let make = |_: &_| -> Box<dyn Policy> { Box::new(OnlyLast { queue: Queue::default(), last: Mutex::new(None) }) };
    let loom = Loom::builder().workers(3).build().unwrap();
    let context = loom.context("picky").policy_with(make).create().unwrap();
    for expected in [2, 1] {
        for _ in 0..50 {
            let handle = loom.clone();
            let worker = loom.task("t").in_context(&context).returns(move || handle.current_worker().unwrap().index());
            assert_eq!(worker.wait().unwrap(), expected);
        }
        context.remove_workers([loom.worker(expected).unwrap()]).unwrap();
    }
}

/// Panics at every third call of each method.
#[derive(Default)]
struct Moody {
    queue: Queue,
    calls: std::sync::atomic::AtomicUsize,
}

impl Moody {
    fn mood(&self) {
        let calls = self.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert_ne!(calls % 3, 2, "in a bad mood");
    }
}

impl Policy for Moody {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.mood();
        self.queue.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        self.mood();
        self.queue.pop_front()
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {}
}

#[test]
fn a_policy_that_panics_loses_no_task_and_kills_no_worker() {
    let loom = Loom::builder().workers(2).policy_with(|_| Box::new(Moody::default())).build().unwrap();
    let x = loom.value("x", 0_u32);
    for _ in 0..100 {
        loom.task("count").update(&x).run(|x| *x += 1);
    }
    loom.wait_all().unwrap();
    assert_eq!(x.get().unwrap(), 100);
}

/// A payload of a panic that panics when it is dropped.
struct PanicsInDrop;
impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("the payload of a panic panics as well");
    }
}

/// Panics at the first call of `pop`, with a payload that panics when it is dropped.
#[derive(Default)]
struct PanicsOnce {
    queue: Queue,
    panicked: std::sync::atomic::AtomicBool,
}

impl Policy for PanicsOnce {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.queue.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        if !self.panicked.swap(true, Ordering::Relaxed) {
            std::panic::panic_any(PanicsInDrop);
        }
        self.queue.pop_front()
    }
    fn len(&self) -> usize {
        self.queue.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {}
}

#[test]
fn a_policy_whose_panic_panics_again_when_it_is_dropped_kills_no_worker() {
    let loom = Loom::builder().workers(1).policy_with(|_| Box::new(PanicsOnce::default())).build().unwrap();
    assert_eq!(loom.task("runs").returns(|| 7).wait().unwrap(), 7);
    let made = Loom::builder().workers(1).policy_with(|_| std::panic::panic_any(PanicsInDrop)).build();
    assert!(made.unwrap_err().to_string().contains("the function that makes the policy panicked"));
}

/// Puts all it gets into one place that others share, and panics or keeps everything when it is told to.
#[derive(Clone, Default)]
struct Odd {
    tasks: Arc<Queue>,
    panics_after_storing: bool,
    keeps: bool,
}

impl Policy for Odd {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.tasks.push_back(task);
        assert!(!self.panics_after_storing, "stored it, and panics all the same");
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        if self.keeps { None } else { self.tasks.pop_front() }
    }
    fn len(&self) -> usize {
        self.tasks.len()
    }
    fn set_workers(&self, _: &[WorkerId]) {}
    fn stolen(&self, _: WorkerId) -> u64 {
        7
    }
}

impl Odd {
    fn loom(&self, workers: usize) -> Loom {
        let policy = self.clone();
        let builder = Loom::builder().workers(workers).patience(Duration::from_millis(20));
        builder.policy_with(move |_| Box::new(policy.clone())).build().unwrap()
    }
}

/// A plan whose nodes count how often they ran.
fn counting_plan(loom: &Loom, nodes: usize) -> (Plan, Vec<Arc<AtomicUsize>>) {
    let capture = loom.capture("counts");
    let counts: Vec<_> = (0..nodes).map(|_| Arc::new(AtomicUsize::new(0))).collect();
    for count in &counts {
        let count = Arc::clone(count);
        capture.task("count").run(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
    }
    (capture.plan().unwrap(), counts)
}

#[test]
fn what_a_policy_stores_and_panics_over_runs_once() {
    for workers in [1, 2, 8] {
        let loom = Odd { panics_after_storing: true, ..Odd::default() }.loom(workers);
        let ran = Arc::new(AtomicUsize::new(0));
        let x = loom.value("x", 0_u32);
        for _ in 0..40 {
            let ran = Arc::clone(&ran);
            loom.task("free").run(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            loom.task("chained").update(&x).run(|x| *x += 1);
        }
        // Few nodes are pushed one by one, and many in shares.
        for nodes in [3, 500] {
            let (plan, counts) = counting_plan(&loom, nodes);
            for _ in 0..5 {
                plan.run().unwrap();
            }
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 5), "{workers} workers, {nodes} nodes");
        }
        loom.wait_all().unwrap();
        assert_eq!((ran.load(Ordering::Relaxed), x.get().unwrap()), (40, 40));
    }
}

#[test]
fn a_policy_that_returns_tasks_of_another_runtime_runs_none_of_them() {
    let policy = Odd::default();
    // One puts its tasks and nodes into the common place and gets none back, as its own worker is never driven.
    let keeper = Odd { keeps: true, ..policy.clone() };
    let theirs = keeper.loom(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..100)
        .map(|_| {
            let ran = Arc::clone(&ran);
            theirs.task("theirs").run(move || {
                ran.fetch_add(1, Ordering::Relaxed);
            })
        })
        .collect();
    let ours = policy.loom(2);
    let x = ours.value("x", 0_u32);
    for _ in 0..100 {
        ours.task("ours").update(&x).run(|x| *x += 1);
    }
    ours.wait_all().unwrap();
    assert_eq!((ran.load(Ordering::Relaxed), x.get().unwrap()), (0, 100));
    // A task that another one makes ready needs no policy, so some of theirs may be left. Each of these asks for what is there.
    for _ in 0..10_000 {
        if policy.tasks.is_empty() {
            break;
        }
        ours.task("ours").run(|| ()).wait().unwrap();
    }
    assert!(policy.tasks.is_empty(), "the tasks of the other runtime came out, and were thrown away");
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    // They are not lost to their own runtime, which tells of them, and gives them up when it ends.
    let error = theirs.wait_all().unwrap_err();
    assert!(error.to_string().contains("does not hand it out"), "{error}");
    drop(theirs);
    for task in tasks {
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    }
}

#[test]
fn what_a_policy_keeps_to_itself_is_named_and_given_up() {
    for workers in [1, 2] {
        let loom = Odd { keeps: true, ..Odd::default() }.loom(workers);
        let task = loom.task("kept").run(|| ());
        let error = loom.wait_all().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Stalled);
        let text = error.to_string();
        assert!(
            text.contains("this thread waits for all tasks, and nothing has changed for 20ms: task `kept` ("),
            "{text}"
        );
        assert!(text.contains("is ready, but the policy of context `main` does not hand it out"), "{text}");
        loom.cancel();
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        let _ = loom.wait_all();
        // The run itself is kept as well as any task, so its nodes get no further than that.
        let (plan, _) = counting_plan(&loom, 3);
        let error = plan.run().unwrap_err();
        assert!(
            error.to_string().contains("`counts`") && error.to_string().contains("does not hand it out"),
            "{error}"
        );
    }
}

#[test]
fn a_policy_that_nobody_asks_is_not_said_to_keep_anything() {
    let loom = Loom::builder().workers(1).patience(Duration::from_millis(20)).build().unwrap();
    let empty = loom.context("empty").workers([]).policy_with(|_| Box::new(Odd::default())).create().unwrap();
    loom.task("nobody's").in_context(&empty).run(|| ());
    let text = loom.wait_all().unwrap_err().to_string();
    assert!(
        text.contains("task `nobody's` (") && text.contains("waits for a worker: context `empty` has none"),
        "{text}"
    );
    assert!(!text.contains("hand it out"), "{text}");
    empty.delete().unwrap();
    loom.wait_all().unwrap();
}

/// Hands out the first task only.
#[derive(Default)]
struct Once(Queue, AtomicUsize);

impl Policy for Once {
    fn push(&self, task: Ready, _: Option<WorkerId>) {
        self.0.push_back(task);
    }
    fn pop(&self, _: WorkerId) -> Option<Ready> {
        if self.0.is_empty() || self.1.fetch_add(1, Ordering::Relaxed) > 0 { None } else { self.0.pop_front() }
    }
    fn len(&self) -> usize {
        // Also wrong about what it has.
        0
    }
    fn set_workers(&self, _: &[WorkerId]) {}
}

#[test]
fn nodes_that_a_policy_keeps_to_itself_are_told_of_and_given_up_when_the_runtime_ends() {
    let builder = Loom::builder().workers(2).patience(Duration::from_millis(20));
    let loom = builder.policy_with(|_| Box::new(Once::default())).build().unwrap();
    let (plan, counts) = counting_plan(&loom, 3);
    let error = plan.run().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stalled);
    let text = error.to_string();
    assert!(text.contains("task `counts` ("), "{text}");
    assert!(text.contains("is ready, but the policy of context `main` does not hand it out"), "{text}");
    drop((plan, loom));
    assert!(counts.iter().all(|c| Arc::strong_count(c) == 1), "what the nodes captured is dropped");
    assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 0), "a run that was given up runs nothing more");
}

#[test]
fn what_a_policy_keeps_to_itself_runs_when_its_context_is_deleted() {
    let loom = Loom::builder().workers(2).build().unwrap();
    let policy = Odd { keeps: true, ..Odd::default() };
    let context = loom.context("greedy").policy_with(move |_| Box::new(policy.clone())).create().unwrap();
    let tasks: Vec<_> = (0..10).map(|i| loom.task("kept").in_context(&context).returns(move || i)).collect();
    assert_eq!(context.waiting().unwrap(), 10);
    context.delete().unwrap();
    assert_eq!(tasks.into_iter().map(|t| t.wait().unwrap()).sum::<i32>(), 45);
}

#[test]
fn the_figures_of_a_users_policy_are_those_of_the_runtime() {
    let loom = Odd::default().loom(2);
    assert_eq!(loom.stats().workers[1].stolen, 7);
}
