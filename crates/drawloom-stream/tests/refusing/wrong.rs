//! What goes wrong in a run is said, with names, and all workers stop.

use std::io::{BufWriter, Write};
use std::time::Duration;

use drawloom_stream::{ErrorKind, Output, Raise, Settings, Stream, sink, source};

use crate::{in_time, loom};

#[test]
fn a_push_beyond_what_is_declared_is_an_error() {
    let mut stream = Stream::new("many").width(4);
    let items = stream.source("numbers", source::range(0..100));
    let many = stream.node("twice", items).channel::<u64>("out", 1).each(|n, out| {
        out.push(*n);
        out.push(*n);
    });
    let result = stream.collect("result", many);
    let error = stream.run(&loom(2)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("twice")));
    assert!(error.to_string().contains("channel `out` of node `twice`"), "{error}");
    assert!(result.len() < 100);
}

/// The kind and the text of the error of a stream whose node `n` is made of the source `items`.
fn error_of(
    width: usize,
    fuse: bool,
    node: impl Fn(&mut Stream, Output<u64>) -> Output<u64>,
) -> Option<(ErrorKind, String)> {
    let mut stream = Stream::new("one").width(width).fuse(fuse);
    let items = stream.source("items", source::range(0..100));
    let made = node(&mut stream, items);
    stream.discard("nowhere", made);
    let error = stream.run(&loom(1)).err()?;
    assert_eq!(error.node(), Some("n"), "{error}");
    Some((error.kind(), error.to_string()))
}

#[test]
fn a_push_beyond_what_one_item_may_push_is_an_error_at_every_width() {
    type Made = fn(&mut Stream, Output<u64>) -> Output<u64>;
    let twice: [Made; 5] = [
        |stream, items| {
            let node = stream.node("n", items).channel::<u64>("out", 1);
            node.each(|n, out| (0..if n % 10 == 0 { 2 } else { 0 }).for_each(|_| out.push(*n)))
        },
        |stream, items| {
            let node = stream.node("n", items).signals(0, 0).channel::<u64>("out", 1);
            node.each(|n, out| out.extend_from_slice(if n % 10 == 0 { &[1, 2] } else { &[] }))
        },
        |stream, items| {
            let node = stream.node("n", items).channel::<u64>("out", 1);
            node.each(|n, out| {
                out.select(&[*n, *n][..], |n| (n, n % 10 == 9));
                Ok::<(), String>(())
            })
        },
        |stream, items| {
            let node = stream.node("n", items).channel::<u64>("other", 3).channel::<u64>("out", 1);
            let (other, out) = node.each(|n, (other, out)| {
                (0..n % 4).for_each(|_| other.push(*n));
                (0..if n % 10 == 0 { 2 } else { 0 }).for_each(|_| out.push(*n));
            });
            stream.discard("others", other);
            out
        },
        |stream, items| {
            // In a region, where a run may be over elements of many parents.
            let (_, items) = stream.enumerate("elements", items, |n| *n..n + 3);
            let node = stream.node("n", items).signals(0, 0).channel::<u64>("out", 1);
            let made = node.each(|n, out| (0..if n % 10 == 0 { 2 } else { 0 }).for_each(|_| out.push(*n)));
            stream.node("sum", made).aggregate_sum(|_| 0, |_, n| n)
        },
    ];
    for (which, twice) in twice.into_iter().enumerate() {
        for width in [1, 2, 10, 128] {
            for fuse in [true, false] {
                let error = error_of(width, fuse, twice);
                let (kind, error) = error.unwrap_or_else(|| panic!("node {which} pushes too much at width {width}"));
                assert_eq!(kind, ErrorKind::Exceeded);
                let expected =
                    "more than the 1 items were pushed to channel `out` of node `n` that it may get for each item";
                assert_eq!(error, expected, "node {which}, width {width}");
            }
        }
    }
}

#[test]
fn what_one_item_does_not_push_is_left_for_others_of_a_slice_only() {
    for width in [2, 10, 128] {
        let all = |stream: &mut Stream, items| {
            let node = stream.node("n", items).channel::<u64>("out", 1);
            node.run(|run, out| run.items().iter().for_each(|_| out.push(run.items()[0])))
        };
        assert_eq!(error_of(width, true, all), None);
        let each = |stream: &mut Stream, items| {
            let node = stream.node("n", items).channel::<u64>("out", 3);
            node.each(|n, out| (0..3).for_each(|left| (assert_eq!(out.left(), 3 - left), out.push(*n)).1))
        };
        assert_eq!(error_of(width, true, each), None);
    }
}

#[test]
fn an_item_that_pushes_too_much_over_a_back_edge_is_told_from_a_loop_that_grows() {
    let looping = |width: usize, ends: u64, pushes: usize| {
        error_of(width, true, |stream, items| {
            let node = stream.node("n", items);
            let again = node.input();
            let node = node.channel::<u64>("again", 2).channel::<u64>("done", 1);
            let (back, done) = node.each(move |n, (back, done)| match *n {
                n if n < ends && n % 10 == 0 => (0..pushes).for_each(|_| back.push(n + 100)),
                n => done.push(n),
            });
            stream.back_edge(back, again, 4);
            done
        })
    };
    for width in [1, 2, 10, 128] {
        assert_eq!(looping(width, 200, 2), None);
        let (_, error) = looping(width, 200, 3).unwrap();
        assert!(error.contains("the 2 items were pushed to channel `again` of node `n`"), "{error}");
        let (_, error) = looping(width, u64::MAX, 2).unwrap();
        assert!(error.contains("than the bound of its loop allows"), "{error}");
    }
}

#[test]
fn more_signals_than_declared_are_an_error() {
    let mut stream = Stream::new("signals");
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..100));
    let marked = stream.node("mark", items).channel::<u64>("out", 1).each(move |n, out| out.raise(mark, *n));
    stream.discard("nowhere", marked);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("mark")));
    assert!(error.to_string().contains("than the 2 signals that the node declares"), "{error}");
}

#[test]
fn a_panic_whose_value_panics_when_it_is_dropped_ends_the_run_too() {
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    for workers in [1, 2, 3] {
        let error = in_time(move || {
            let mut stream = Stream::new("twice").width(4);
            let (giver, items) = source::buffer(16, Duration::ZERO);
            let items = stream.source("numbers", items);
            let items = stream.node("fails", items).map(|n: &u64| {
                if *n == 7 {
                    std::panic::panic_any(Twice);
                }
                *n
            });
            stream.discard("nowhere", items);
            let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
            (0..10).for_each(|n| _ = giver.give(n));
            running.wait().unwrap_err()
        });
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("fails")), "{error}");
    }
}

#[test]
fn a_panic_is_attributed_to_its_node() {
    for workers in [1, 3] {
        let mut stream = Stream::new("panic");
        let items = stream.source("numbers", source::range(0..100_000));
        let items = stream.node("fine", items).map(|n| n + 1);
        let items = stream.node("breaks", items).map(|n| {
            assert!(*n != 50_000, "no such number");
            *n
        });
        stream.discard("nowhere", items);
        let error = stream.run(&loom(workers)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("breaks")), "{error}");
        assert!(error.to_string().contains("no such number"), "{error}");
    }
}

#[test]
fn a_parent_of_a_region_that_a_node_is_not_in_cannot_be_seen() {
    let mut stream = Stream::new("outside");
    let items = stream.source("numbers", source::range(0..10));
    let (region, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let sums = stream.node("sum", elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let after = stream.node("after", sums).channel::<u64>("out", 1);
    let after = after.run(move |run, out| out.push(*run.parent(region)));
    stream.discard("nowhere", after);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("after")), "{error}");
    let message =
        "node `after` panicked: the parents of the region of node `elements` are seen by nodes inside of it only";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_parent_that_is_not_under_way_cannot_be_seen() {
    let mut stream = Stream::new("between");
    let items = stream.source("numbers", source::range(1..10));
    let (outer, elements) = stream.enumerate("outer", items, |n| 0..*n);
    let (inner, elements) = stream.enumerate("inner", elements, |n| 0..*n);
    let node = stream.node("node", elements).on_begin(outer, move |run, ()| drop(run.parent(inner)));
    node.run(|_, ()| ());
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("node")), "{error}");
    assert_eq!(error.to_string(), "node `node` panicked: no parent of the region of node `inner` is under way");
}

#[test]
fn a_parent_of_another_stream_cannot_be_seen() {
    let mut other = Stream::new("other");
    let items = other.source("numbers", source::range(0..10));
    let (region, elements) = other.enumerate("elements", items, |n| 0..*n);
    other.discard("nowhere", elements);
    let mut stream = Stream::new("own");
    let items = stream.source("numbers", source::range(0..10));
    stream.node("node", items).run(move |run, ()| drop(run.parent(region)));
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!(error.to_string(), "node `node` panicked: a region of another stream has no parents here");
}

#[test]
fn a_signal_of_another_stream_cannot_be_raised() {
    fn raises<V: Clone + Send + Sync + 'static>(value: V) {
        let foreign = Stream::new("other").signal::<V>();
        for on_all in [false, true] {
            let mut stream = Stream::new("own");
            let own = stream.signal::<u64>();
            let items = stream.source("numbers", source::range(0..10));
            let node = stream.node("raise", items).signals(200, 0).channel::<u64>("one", 1).channel::<u64>("two", 1);
            let value = value.clone();
            let (one, two) = node.each(move |n, push| {
                push.0.raise(own, *n);
                let value = value.clone();
                if on_all { push.raise_on_all(foreign, value) } else { push.1.raise(foreign, value) }
            });
            stream.discard("nowhere", [one, two]);
            let error = stream.run(&loom(1)).unwrap_err();
            assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("raise")), "{error}");
            let message = "node `raise` panicked: a signal of another stream is raised: a node can raise those of its own \
                           stream, and no others";
            assert_eq!(error.to_string(), message);
        }
    }
    // One whose value would fit, one whose value is larger than all of the stream, and one without a value.
    raises(7_u64);
    raises([7_u64; 100]);
    raises(());
}

#[test]
fn sources_and_sinks_that_fail_end_the_run() {
    let mut stream = Stream::new("source");
    let lines = (0..1000_u64).map(|n| if n == 700 { Err("torn paper") } else { Ok(n) });
    let items = stream.source("lines", source::fallible(lines));
    stream.discard("nowhere", items);
    let error = stream.run(&loom(2)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Source, Some("lines")));
    assert!(error.to_string().contains("torn paper"), "{error}");

    let mut stream = Stream::new("sink");
    let items = stream.source("numbers", source::range(0..1000));
    let (few, collected) = sink::at_most(999);
    stream.sink("few", items, few);
    let error = stream.run(&loom(2)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Sink, Some("few")));
    assert!(error.to_string().contains("999"), "{error}");
    assert!(collected.len() <= 999);
}

#[test]
fn a_sink_of_fixed_size_may_be_filled_to_the_last_place() {
    let mut stream = Stream::new("full");
    let items = stream.source("numbers", source::range(0..1000));
    let (all, collected) = sink::at_most(1000);
    stream.sink("all", items, all);
    stream.run(&loom(2)).unwrap();
    assert_eq!(collected.len(), 1000);
}

#[test]
fn an_empty_source_is_no_error_and_state_is_made_and_cleaned_up() {
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (made, cleaned) = (log.clone(), log.clone());
    let mut stream = Stream::new("empty");
    let items = stream.source("nothing", source::range(5..5));
    let node = stream.node("node", items).state(move || made.lock().unwrap().push("made"));
    node.cleanup(move |()| cleaned.lock().unwrap().push("cleaned")).run(|_, ()| {});
    let report = stream.run(&loom(1)).unwrap();
    assert_eq!(report.node("node").unwrap().runs, 0);
    assert_eq!(*log.lock().unwrap(), ["made", "cleaned"]);
}

#[test]
fn lines_are_written_one_for_each_item_by_the_end_of_each_run() {
    let path = std::env::temp_dir().join(format!("drawloom-stream-lines-{}", std::process::id()));
    for workers in [1, 2] {
        let mut stream = Stream::new("lines");
        let items = stream.source("numbers", source::range(0..300));
        let file = BufWriter::with_capacity(1 << 20, std::fs::File::create(&path).unwrap());
        stream.sink("file", items, sink::lines(file));
        // The plan has the writer, and lives for longer.
        let plan = stream.plan().unwrap();
        for runs in 1..3 {
            plan.run(&loom(workers)).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let mut numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq((0..300 * runs).map(|n| n / runs)), "{workers} workers, {runs} runs");
        }
    }
    std::fs::remove_file(&path).unwrap();
}

/// A writer that cannot keep what it buffers.
struct Full;

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Err(std::io::Error::other("no space left"))
    }
}

#[test]
fn lines_that_cannot_be_written_are_an_error_of_the_sink() {
    for workers in [1, 2] {
        let mut stream = Stream::new("full");
        let items = stream.source("numbers", source::range(0..100));
        stream.sink("file", items, sink::lines(Full));
        let error = stream.run(&loom(workers)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Sink, Some("file")), "{error}");
        assert!(error.to_string().contains("no space left"), "{error}");
    }
}

/// A number that has no text beyond 70.
#[derive(Clone)]
struct Speechless(u64);

impl std::fmt::Display for Speechless {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        if self.0 < 70 { Ok(()) } else { Err(std::fmt::Error) }
    }
}

#[test]
fn items_that_cannot_be_formatted_are_an_error_of_the_sink() {
    let path = std::env::temp_dir().join(format!("drawloom-stream-speechless-{}", std::process::id()));
    let mut stream = Stream::new("speechless");
    let items = stream.source("numbers", source::slice((0..100).map(Speechless).collect::<Vec<_>>()));
    stream.sink("file", items, sink::lines(BufWriter::new(std::fs::File::create(&path).unwrap())));
    let error = stream.run(&loom(1)).unwrap_err();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Sink, Some("file")), "{error}");
    let message = "sink `file` failed: an item cannot be formatted: its `Display` returned an error";
    assert_eq!(error.to_string(), message);
    assert!(text.lines().map(|line| line.parse::<u64>().unwrap()).eq(0..70), "{text}");
}
