//! What holds at the end of a run, however it ends: nodes are cleaned up, and sinks keep what they have taken.

use std::io::{BufWriter, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_stream::{Collected, ErrorKind, Output, Plan, Result, Settings, Sink, Stream, sink, source};

use crate::loom;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Well,
    Panic,
    Source,
    Cancelled,
}

const ENDS: [End; 4] = [End::Well, End::Panic, End::Source, End::Cancelled];
const MANY: u64 = 100_000;
/// So many items have come to the sink before a run fails, or is cancelled.
const ENOUGH: u64 = 1000;

/// Runs a stream of `MANY` numbers, or without an end, into what is built for them; says how that ended.
fn run(end: End, workers: usize, build: impl FnOnce(&mut Stream, Output<u64>)) -> (Plan, Result<()>) {
    let mut stream = Stream::new("ends");
    let past = Arc::new(AtomicBool::new(false));
    let passed = Arc::clone(&past);
    let count = if end == End::Cancelled { u64::MAX } else { MANY };
    let numbers = (0..count).map(move |n| if n == MANY / 2 && end == End::Source { Err("torn") } else { Ok(n) });
    let items = stream.source("numbers", source::fallible(numbers));
    let items = stream.node("breaks", items).width(16).map(move |n| {
        assert!(end != End::Panic || *n != MANY / 2, "no such number");
        if *n == MANY / 2 {
            past.store(true, Ordering::Relaxed);
        }
        *n
    });
    build(&mut stream, items);
    let plan = stream.plan().unwrap();
    let running = plan.start(&loom(workers), &Settings::new()).unwrap();
    if end == End::Cancelled {
        while !passed.load(Ordering::Relaxed) && !running.is_complete() {
            std::thread::yield_now();
        }
        running.cancel();
    }
    (plan, running.wait().map(drop))
}

/// Whether a run ended as it should.
fn check(end: End, ended: Result<()>) {
    match (end, ended) {
        (End::Well, Ok(())) => {}
        (End::Panic, Err(error)) => assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("breaks"))),
        (End::Source, Err(error)) => assert_eq!((error.kind(), error.node()), (ErrorKind::Source, Some("numbers"))),
        (End::Cancelled, Err(error)) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        (end, ended) => panic!("{end:?}: {ended:?}"),
    }
}

#[test]
fn nodes_are_cleaned_up_however_a_run_ends() {
    for end in ENDS {
        for workers in [1, 3] {
            let (made, cleaned) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let (_, ended) = run(end, workers, |stream, items| {
                let mut items = items;
                for name in ["a", "b"] {
                    let (made, cleaned) = (Arc::clone(&made), Arc::clone(&cleaned));
                    let node = stream.node(name, items).state(move || made.fetch_add(1, Ordering::Relaxed));
                    let node = node.cleanup(move |_| {
                        cleaned.fetch_add(1, Ordering::Relaxed);
                        // This is an error of a run that ends well, and of no other.
                        assert!(end == End::Well, "cleaning up fails too");
                    });
                    items = node.channel::<u64>("out", 1).run(|run, out| out.extend_from_slice(run.items()));
                }
                stream.discard("nowhere", items);
            });
            check(end, ended);
            let (made, cleaned) = (made.load(Ordering::Relaxed), cleaned.load(Ordering::Relaxed));
            assert_eq!((made, cleaned), (2 * workers as u64, 2 * workers as u64), "{end:?}, {workers} workers");
        }
    }
}

#[test]
fn nodes_are_cleaned_up_when_another_cannot_begin_or_fails_at_its_end() {
    for begins in [true, false] {
        let cleaned = Arc::new(Mutex::new(Vec::new()));
        let mut stream = Stream::new("first");
        let mut items = stream.source("numbers", source::range(0..10));
        for name in ["a", "b", "c"] {
            let cleaned = Arc::clone(&cleaned);
            let node = stream.node(name, items).state(move || assert!(begins || name != "b", "no state"));
            let node = node.cleanup(move |()| {
                cleaned.lock().unwrap().push(name);
                if name == "b" {
                    std::panic::panic_any("no end");
                }
            });
            items = node.channel::<u64>("out", 1).run(|run, out| out.extend_from_slice(run.items()));
        }
        stream.discard("nowhere", items);
        let error = stream.run(&loom(1)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("b")), "{error}");
        let all: &[&str] = if begins { &["a", "b", "c"] } else { &["a"] };
        assert_eq!(*lock(&cleaned), all);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[test]
fn collections_keep_what_they_have_taken() {
    for make in
        [sink::collect::<u64>, || sink::at_most::<u64>(usize::MAX - 1)] as [fn() -> (Sink<u64>, Collected<u64>); 2]
    {
        for end in ENDS {
            for workers in [1, 3] {
                let (to, collected) = make();
                let came = Arc::new(AtomicU64::new(0));
                let seen = Arc::clone(&came);
                let (_, ended) = run(end, workers, |stream, items| {
                    let (items, copy) = (stream.node("both", items).width(16).channel::<u64>("out", 1), seen);
                    let items = items.run(move |run, out| {
                        copy.fetch_add(run.items().len() as u64, Ordering::Relaxed);
                        out.extend_from_slice(run.items());
                    });
                    stream.sink("to", items, to);
                });
                check(end, ended);
                let mut items = collected.take();
                assert!(items.len() as u64 > ENOUGH, "{end:?}, {workers} workers: {}", items.len());
                assert!(items.len() as u64 <= came.load(Ordering::Relaxed));
                if workers == 1 {
                    assert!(items.iter().copied().eq(0..items.len() as u64), "{end:?}");
                }
                items.sort_unstable();
                items.dedup();
                assert!(end != End::Well || items.len() as u64 == MANY);
                assert!(collected.is_empty());
            }
        }
    }
}

#[test]
fn folds_hand_in_what_they_have_taken() {
    for end in ENDS {
        for workers in [1, 3] {
            let (all, copies) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
            let (sum, handed) = (Arc::clone(&all), Arc::clone(&copies));
            let done = move |count: u64| {
                sum.fetch_add(count, Ordering::Relaxed);
                handed.fetch_add(1, Ordering::Relaxed);
            };
            let to = sink::fold(|| 0, |count: &mut u64, items: &[u64]| *count += items.len() as u64, done);
            check(end, run(end, workers, |stream, items| stream.sink("fold", items, to)).1);
            assert_eq!(copies.load(Ordering::Relaxed), workers as u64, "{end:?}");
            assert!(all.load(Ordering::Relaxed) > ENOUGH, "{end:?}, {workers} workers");
            assert!(end != End::Well || all.load(Ordering::Relaxed) == MANY);
        }
    }
}

#[test]
fn a_fold_that_panics_hands_in_no_value_that_is_not_whole() {
    let handed = Arc::new(AtomicU64::new(0));
    let done = Arc::clone(&handed);
    let to = sink::fold(
        || 0_u64,
        |count, items: &[u64]| {
            *count += items.len() as u64;
            assert!(*count < 500, "too many");
        },
        move |_| {
            done.fetch_add(1, Ordering::Relaxed);
        },
    );
    let mut stream = Stream::new("breaks");
    let items = stream.source("numbers", source::range(0..MANY));
    stream.sink("fold", items, to);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic, "{error}");
    assert_eq!(handed.load(Ordering::Relaxed), 0);
}

/// A writer that anybody can look into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_of_runs_that_do_not_end_well_are_written_too() {
    for end in [End::Panic, End::Source, End::Cancelled] {
        let file = Shared::default();
        let to = sink::lines(BufWriter::with_capacity(64 << 20, file.clone()));
        // The plan has the writer, and lives for longer.
        let (_plan, ended) = run(end, 1, |stream, items| stream.sink("file", items, to));
        check(end, ended);
        let text = String::from_utf8(std::mem::take(&mut *lock(&file.0))).unwrap();
        let lines: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(lines.len() as u64 > ENOUGH && lines.iter().copied().eq(0..lines.len() as u64), "{end:?}");
    }
}
