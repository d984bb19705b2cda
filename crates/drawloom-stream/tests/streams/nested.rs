//! Streams that are run inside of nodes and tasks.

use std::error::Error as _;

use drawloom_runtime::Loom;
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
    let mut stream = Stream::new("outer").width(4);
    let items = stream.source("numbers", source::range(0..50));
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
