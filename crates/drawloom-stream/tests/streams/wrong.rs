//! What goes wrong in a run is said, with names, and all workers stop.

use std::io::{BufWriter, Write};

use drawloom_stream::{ErrorKind, Stream, sink, source};

use crate::loom;

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

#[test]
fn more_signals_than_declared_are_an_error() {
    let mut stream = Stream::new("signals");
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..100));
    let marked = stream.node("mark", items).channel::<u64>("out", 1).each(move |n, out| out.raise(mark, *n));
    stream.discard("nowhere", marked);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("mark")));
    assert!(error.to_string().contains("more than the 2 signals"), "{error}");
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
