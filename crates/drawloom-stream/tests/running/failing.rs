//! Code of the user's that returns errors: the run ends with one of them, and everybody stops and cleans up.

use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_stream::{Error, ErrorKind, Output, Raise, Result, Settings, Stream, sink, source};

use crate::loom;

/// An error of the user's.
#[derive(Debug, PartialEq)]
struct Torn(u64);

impl fmt::Display for Torn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "number {} is torn", self.0)
    }
}

impl std::error::Error for Torn {}

const MANY: u64 = 60_000;
const BAD: u64 = MANY / 2;

fn look(n: u64) -> std::result::Result<u64, Torn> {
    if n == BAD { Err(Torn(n)) } else { Ok(n) }
}

/// Whether an error is the user's, of a node, and says so.
fn is_torn(error: &Error, kind: ErrorKind, node: &str) {
    assert_eq!((error.kind(), error.node()), (kind, Some(node)), "{error}");
    assert_eq!(error.source().and_then(|source| source.downcast_ref()), Some(&Torn(BAD)), "{error}");
    assert!(error.to_string().contains(node) && error.to_string().contains("number 30000 is torn"), "{error}");
}

/// Runs a stream whose node `torn` is made by each of these, between one that has a state and one that collects.
fn run(torn: impl Fn(&mut Stream, Output<u64>) -> Output<u64>) {
    for (fuse, workers) in [(true, 1), (false, 1), (true, 3), (false, 3)] {
        let (made, cleaned) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let mut stream = Stream::new("torn").fuse(fuse).width(16).queue_scale(1);
        let numbers = stream.source("numbers", source::range(0..MANY));
        let (made_here, cleaned_here) = (Arc::clone(&made), Arc::clone(&cleaned));
        let node = stream.node("state", numbers).state(move || made_here.fetch_add(1, Ordering::Relaxed));
        let node = node.cleanup(move |_| _ = cleaned_here.fetch_add(1, Ordering::Relaxed));
        let numbers = node.channel::<u64>("out", 1).run(|run, out| out.extend_from_slice(run.items()));
        let more = stream.node("same", numbers).map(|n| *n);
        let torn = torn(&mut stream, more);
        let after = stream.node("after", torn).map(|n| *n);
        let taken = stream.collect("taken", after);
        let plan = stream.plan().unwrap();
        for runs in 1..3 {
            let error = plan.start(&loom(workers), &Settings::new()).unwrap().wait().map(drop).unwrap_err();
            is_torn(&error, ErrorKind::Failed, "torn");
            let counts = [&made, &cleaned].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(counts, [runs * workers as u64; 2], "fuse {fuse}, {workers} workers");
        }
        let taken = taken.take();
        assert!(!taken.contains(&BAD) && taken.len() < 2 * MANY as usize);
        if workers == 1 {
            // Queues hold little, so all but the last items before the one that failed are there.
            assert!(taken.len() as u64 > 2 * (BAD - 1000), "{}", taken.len());
        }
    }
}

#[test]
fn a_node_that_maps_may_fail() {
    run(|stream, numbers| stream.node("torn", numbers).try_map(|n| look(*n)));
    run(|stream, numbers| stream.node("torn", numbers).filter_map(|n| look(*n).map(Some)));
}

#[test]
fn a_node_with_a_function_over_a_slice_may_fail() {
    run(|stream, numbers| {
        let node = stream.node("torn", numbers).channel::<u64>("out", 1);
        node.each(|n, out| {
            out.push(look(*n)?);
            Ok::<(), Torn>(())
        })
    });
    run(|stream, numbers| {
        let node = stream.node("torn", numbers).channel::<u64>("out", 1);
        node.run(|run, out| run.items().iter().try_for_each(|n| look(*n).map(|n| out.push(n))))
    });
}

#[test]
fn a_handler_may_fail() {
    run(|stream, numbers| {
        let mark = stream.signal::<u64>();
        let node = stream.node("raise", numbers).signals(16, 1).channel::<u64>("out", 1);
        let marked = node.each(move |n, out| if *n % 100 == 0 { out.raise_on_all(mark, *n) } else { out.push(*n) });
        let node = stream.node("torn", marked).channel::<u64>("out", 1);
        let node = node.on(mark, |run, _, n| {
            if let Err(torn) = look(*n) {
                run.fail(torn);
                run.fail("only the first counts");
            }
        });
        node.run(|run, out| out.extend_from_slice(run.items()))
    });
}

#[test]
fn nodes_in_regions_and_loops_may_fail() {
    for spans in [true, false] {
        run(move |stream, numbers| {
            *stream = std::mem::replace(stream, Stream::new("spans")).span_regions(spans);
            let (region, elements) = stream.enumerate("elements", numbers, |n| *n..n + 2);
            let node = stream.node("torn", elements).signals(0, 0).channel::<u64>("out", 1);
            let seen = node.run(move |run, out| {
                look(*run.parent(region))?;
                out.extend_from_slice(run.items());
                Ok::<(), Torn>(())
            });
            stream.node("sum", seen).aggregate_sum(|_| 0, |_, n| n)
        });
    }
    run(|stream, numbers| {
        let node = stream.node("head", numbers);
        let again = node.input();
        let node = node.channel::<u64>("again", 1).channel::<u64>("done", 1);
        let (back, done) = node.each(|n, (back, done)| if *n == BAD { back.push(*n) } else { done.push(*n) });
        let back = stream.node("torn", back).try_map(|n| look(*n));
        stream.back_edge(back, again, 1);
        done
    });
}

#[test]
fn nothing_is_asked_of_a_node_after_it_has_failed() {
    for fuse in [true, false] {
        let calls = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&calls);
        let mut stream = Stream::new("calls").fuse(fuse);
        let numbers = stream.source("numbers", source::range(0..1000));
        let numbers = stream.node("torn", numbers).try_map(move |n| {
            theirs.fetch_add(1, Ordering::Relaxed);
            if *n == 10 { Err("ten") } else { Ok(*n) }
        });
        stream.discard("nowhere", numbers);
        let error = stream.run(&loom(1)).unwrap_err();
        assert_eq!(error.to_string(), "node `torn` failed: ten");
        assert_eq!(calls.load(Ordering::Relaxed), 11);
    }
}

#[test]
fn a_callback_may_fail_and_what_it_took_before_stays_taken() {
    for workers in [1, 3] {
        let seen = Arc::new(AtomicU64::new(0));
        let theirs = Arc::clone(&seen);
        let mut stream = Stream::new("callback").width(16);
        let numbers = stream.source("numbers", source::range(0..MANY));
        let call = move |items: &[u64]| -> std::result::Result<(), Torn> {
            items.iter().try_for_each(|n| look(*n).map(|_| _ = theirs.fetch_add(1, Ordering::Relaxed)))
        };
        stream.sink("torn", numbers, sink::callback(call));
        let error = stream.run(&loom(workers)).unwrap_err();
        is_torn(&error, ErrorKind::Sink, "torn");
        let seen = seen.load(Ordering::Relaxed);
        assert!(seen < MANY && (workers > 1 || seen == BAD), "{seen}");
    }
}

#[test]
fn errors_of_iterators_are_the_source() {
    for (ordered, workers) in [(false, 1), (false, 3), (true, 3)] {
        let mut stream = Stream::new("iterator");
        if ordered {
            stream = stream.ordered();
        }
        let numbers = stream.source("torn", source::fallible((0..MANY).map(look)));
        stream.discard("nowhere", numbers);
        is_torn(&stream.run(&loom(workers)).unwrap_err(), ErrorKind::Source, "torn");
    }
}

#[test]
fn errors_of_writers_are_the_source() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut stream = Stream::new("lines");
    let numbers = stream.source("numbers", source::range(0..10));
    stream.sink("closed", numbers, sink::lines(Closed));
    let error: Result<_> = stream.run(&loom(1));
    let error = error.unwrap_err();
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::BrokenPipe), "{error}");
    assert_eq!(error, error.clone());
}
