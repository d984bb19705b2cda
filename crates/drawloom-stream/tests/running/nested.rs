//! Streams that are run inside of nodes and tasks.

use std::error::Error as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use drawloom_runtime::{Context, Loom};
use drawloom_stream::{Error, ErrorKind, Plan, Result, Settings, Stream, source};

use crate::{in_time, loom};

/// How many workers a stream is run by, and in which context, if it is said.
type How = fn(&Loom) -> Settings;

/// The numbers below n, counted by a stream.
fn count(loom: &Loom, n: u64, settings: &Settings) -> Result<u64> {
    let mut stream = Stream::new("inner");
    let items = stream.source("numbers", source::range(0..n));
    let collected = stream.collect("all", items);
    stream.plan()?.start(loom, settings)?.wait()?;
    Ok(collected.len() as u64)
}

/// A stream of which a node does something for each number below 50.
fn outer<E>(code: impl Fn(u64) -> std::result::Result<u64, E> + Send + Sync + 'static) -> Plan
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    outer_over(source::range(0..50), code)
}

/// A stream of which a node does something for each number.
fn outer_over<E>(
    numbers: source::Source<u64>,
    code: impl Fn(u64) -> std::result::Result<u64, E> + Send + Sync + 'static,
) -> Plan
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let mut stream = Stream::new("outer").width(4);
    let items = stream.source("numbers", numbers);
    let same = stream.node("runs it", items).try_map(move |n| match code(*n) {
        Ok(counted) => (assert_eq!(counted, *n), Ok(counted)).1,
        Err(error) => Err(error),
    });
    stream.discard("nowhere", same);
    stream.plan().unwrap()
}

/// Runs a stream inside of a node of another one.
fn nested(workers: usize, how: How, inner: How) -> Result<()> {
    in_time(move || {
        let loom = loom(workers);
        let (theirs, settings) = (loom.clone(), inner(&loom));
        let plan = outer(move |n| count(&theirs, n, &settings));
        let result = plan.start(&loom, &how(&loom))?.wait().map(drop);
        // Whatever became of it, nobody is left who waits.
        loom.wait_all().unwrap();
        result
    })
}

/// Whether an error says that a stream inside of another one needs workers of that one.
fn is_refused(error: &Error) {
    assert_eq!((error.kind(), error.node()), (ErrorKind::Failed, Some("runs it")), "{error}");
    let inner = error.source().and_then(|source| source.downcast_ref::<Error>()).unwrap();
    assert_eq!(inner.kind(), ErrorKind::Engine, "{inner}");
    let text = inner.to_string();
    assert!(text.contains("stream `outer`") && text.contains("stream `inner`"), "{text}");
    assert!(text.contains("one worker") && text.contains("context"), "it says what to do instead: {text}");
}

fn all(_: &Loom) -> Settings {
    Settings::new()
}

fn one(_: &Loom) -> Settings {
    Settings::new().workers(1)
}

fn two(_: &Loom) -> Settings {
    Settings::new().workers(2)
}

/// A context of some of the workers.
fn some(loom: &Loom, workers: &[usize]) -> Settings {
    let workers = workers.iter().map(|number| loom.worker(*number).unwrap());
    Settings::new().in_context(&loom.context("some").workers(workers).create().unwrap())
}

#[test]
fn a_stream_that_needs_workers_of_the_stream_around_it_is_refused() {
    for _ in 0..8 {
        is_refused(&nested(2, all, all).unwrap_err());
        is_refused(&nested(3, two, all).unwrap_err());
        is_refused(&nested(3, |loom| some(loom, &[0, 1]), |loom| some(loom, &[1, 2])).unwrap_err());
    }
    let error = in_time(|| {
        let loom = loom(2);
        let theirs = loom.clone();
        let plan = outer(move |n| {
            let mut stream = Stream::new("inner");
            let items = stream.source("numbers", source::range(0..n));
            stream.discard("nowhere", items);
            stream.run(&theirs).map(|_| n)
        });
        plan.run(&loom).unwrap_err()
    });
    is_refused(&error);
}

#[test]
fn a_stream_runs_inside_of_a_node_where_its_workers_can_come() {
    for _ in 0..8 {
        nested(1, all, all).unwrap();
        nested(2, one, all).unwrap();
        nested(2, all, one).unwrap();
        nested(3, two, one).unwrap();
        nested(3, |loom| some(loom, &[0, 1]), |loom| some(loom, &[2])).unwrap();
    }
}

#[test]
fn a_stream_runs_inside_of_a_plain_task() {
    for workers in [1, 2, 3] {
        in_time(move || {
            let loom = loom(workers);
            let plain = |n, settings: Settings| {
                let theirs = loom.clone();
                loom.task("plain").try_run(move || count(&theirs, n, &settings))
            };
            for n in 0..20 {
                assert_eq!(plain(n, all(&loom)).wait().unwrap(), n);
            }
            // Those that need one worker each need not wait for each other.
            let at_once: Vec<_> = (0..20).map(|n| plain(n, one(&loom))).collect();
            for (n, task) in (0..20).zip(at_once) {
                assert_eq!(task.wait().unwrap(), n);
            }
        });
    }
}

#[test]
fn a_run_that_is_dropped_inside_of_a_node_is_cancelled() {
    for workers in [1, 2] {
        in_time(move || {
            let loom = loom(workers);
            let theirs = loom.clone();
            let plan = outer(move |n| {
                let mut stream = Stream::new("endless");
                let items = stream.source("numbers", source::iter(0_u64..));
                stream.discard("nowhere", items);
                stream.plan()?.start(&theirs, &Settings::new()).map(|running| (drop(running), n).1)
            });
            plan.run(&loom).unwrap();
            loom.wait_all().unwrap();
        });
    }
}

#[test]
fn a_run_that_is_no_child_of_a_node_is_not_waited_for_and_is_cancelled() {
    in_time(|| {
        let loom = loom(3);
        let mut stream = Stream::new("endless");
        let items = stream.source("numbers", source::iter(0_u64..));
        stream.discard("nowhere", items);
        let running = stream.plan().unwrap().start(&loom, &Settings::new().workers(1)).unwrap();
        let running = std::sync::Mutex::new(Some(running));
        let plan = outer(move |n| match running.lock().unwrap().take() {
            Some(running) => running.wait().map(|_| n),
            None => Ok(n),
        });
        let error = plan.start(&loom, &Settings::new().workers(1)).unwrap().wait().unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Failed, Some("runs it")), "{error}");
        let text = error.to_string();
        assert!(text.contains("`outer`") && text.contains("`endless`") && text.contains("not its child"), "{text}");
        loom.wait_all().unwrap();
    });
}

/// What a node was told that waited for a task which could not be complete.
fn is_told(error: &Error, words: &[&str]) {
    assert_eq!((error.kind(), error.node()), (ErrorKind::Failed, Some("runs it")), "{error}");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
}

/// An engine of three workers that is soon out of patience, and contexts of some of them.
fn contexts<const N: usize>(all: [&[usize]; N]) -> (Loom, [Context; N]) {
    let loom = Loom::builder().workers(3).patience(Duration::from_millis(100)).build().unwrap();
    let context = |workers: &[usize]| {
        let workers = workers.iter().map(|number| loom.worker(*number).unwrap());
        loom.context(format!("of {}", workers.len())).workers(workers).create().unwrap()
    };
    let all = all.map(context);
    (loom, all)
}

#[test]
fn a_node_that_waits_for_a_task_which_waits_for_workers_of_its_stream_is_told() {
    for _ in 0..8 {
        let error = in_time(|| {
            let (loom, [front, back]) = contexts([&[0, 1], &[2]]);
            let theirs = loom.clone();
            let begun = Arc::new(AtomicUsize::new(0));
            let copies = Arc::clone(&begun);
            let mut stream = Stream::new("outer").width(4);
            let items = stream.source("numbers", source::range(0..50));
            let same = stream.node("runs it", items).try_map(move |n| {
                // A worker whose copy has not begun is free to help, and the task could be complete.
                while begun.load(Ordering::SeqCst) < 2 {
                    thread::yield_now();
                }
                let (inside, n) = (theirs.clone(), *n);
                theirs.task("plain").in_context(&back).try_run(move || count(&inside, n, &Settings::new())).wait()
            });
            // A copy makes its states when it begins.
            let node = stream.node("begins", same).state(move || _ = copies.fetch_add(1, Ordering::SeqCst));
            let same = node.channel::<u64>("out", 1).run(|run, out| run.items().iter().for_each(|n| out.push(*n)));
            stream.discard("nowhere", same);
            let plan = stream.plan().unwrap();
            let error = plan.start(&loom, &Settings::new().in_context(&front)).unwrap().wait().unwrap_err();
            loom.wait_all().unwrap();
            error
        });
        is_told(&error, &["task `plain`", "task `inner`", "a team of at least 3 workers"]);
    }
}

/// A node of a stream on two workers waits for a task of the other worker, whose copy has nothing to do.
fn by_the_other(numbers: impl FnOnce() -> (source::Source<u64>, Box<dyn std::any::Any>) + Send + 'static) {
    let error = in_time(|| {
        let (loom, [both, first, second]) = contexts([&[0, 1], &[0], &[1]]);
        let theirs = loom.clone();
        let (numbers, _givers) = numbers();
        let plan = outer_over(numbers, move |n| {
            let other = if theirs.current_worker().unwrap().index() == 0 { &second } else { &first };
            theirs.task("plain").in_context(other).run(|| ()).wait().map(|()| n)
        });
        let error = plan.start(&loom, &Settings::new().in_context(&both)).unwrap().wait().unwrap_err();
        loom.wait_all().unwrap();
        error
    });
    is_told(&error, &["task `outer`", "task `plain`", "a worker: all those of context `of 1` wait inside of tasks"]);
}

#[test]
fn a_node_that_waits_for_a_task_of_a_worker_of_its_stream_is_told() {
    for _ in 0..4 {
        by_the_other(|| (source::range(1..2), Box::new(())));
        // Also when the other copy waits for items that may come, and when it looks now and then whether they do.
        by_the_other(|| {
            let (giver, numbers) = source::buffer(8, Duration::ZERO);
            giver.give(1).unwrap();
            (numbers, Box::new(giver))
        });
        by_the_other(|| {
            let (giver, numbers) = mpsc::channel();
            giver.send(1).unwrap();
            (source::receiver(numbers, Duration::ZERO), Box::new(giver))
        });
    }
}
