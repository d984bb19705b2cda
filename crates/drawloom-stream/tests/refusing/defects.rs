//! What the ancestor accepts and then loses, or corrupts: here it gives the right result, or is refused.
//!
//! | in the ancestor | here |
//! |---|---|
//! | types that nobody knows, a missing header | does not compile |
//! | a sink as a source, an edge into a source | there is no way to say it: a source has no `input`, and a sink no channel |
//! | loops lose items | `loops`; those that cannot be run are refused (`refused`) |
//! | nested regions, a sink inside of one | `regions`, `random` |
//! | elements without an enumeration | there is no way to say it: `Region` comes from `enumerate` |
//! | aggregation outside of a region, or twice | `refused` |
//! | no items, or hundreds, for each; widths of 0, 33, 4096 | `refused`; here |
//! | a channel that leads nowhere crashes the compiler | `refused` |
//! | two streams, or a node and a module, of one name | nothing depends on it; two nodes of one name are refused |
//! | names that become keywords, or change from run to run | here; figures name what the user named (`seeing`) |
//! | queues that ignore the consumer's width, or are too small | here, and `counts` for random widths and gains |
//! | queues of signals overflow at empty or short regions | here |
//! | what is pushed at an end is deferred, lost, or more than there is room for | here |
//! | buffers that cannot be copied, offsets scaled twice | sources and sinks are the slices and vectors of the language |
//! | sinks, queues and pushes beyond their bounds corrupt memory | `wrong`, `waits` |

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use drawloom_stream::{ErrorKind, Settings, Stream, source};

use crate::{loom, munge};

/// Three filters of some width in a row, whose queues have room for so many runs.
fn filters(width: usize, scale: usize) -> usize {
    let mut stream = Stream::new("filters").queue_scale(scale);
    let mut items = stream.source("numbers", source::indexed(100_000, |i| 2 * i as u32));
    for (name, modulus) in [("f1", 2), ("f2", 3), ("f3", 5)] {
        // Only the filters are narrow: the sink takes 128.
        items = stream.node(name, items).width(width).filter_map(move |n| {
            let hash = munge(*n);
            hash.is_multiple_of(modulus).then_some(hash)
        });
    }
    let result = stream.collect("result", items);
    stream.run(&loom(1)).unwrap();
    result.len()
}

#[test]
fn narrow_producers_and_small_queues_lose_nothing() {
    for (width, scale) in [(16, 1), (16, 4), (32, 4), (64, 4), (100, 4), (128, 1), (1, 1), (33, 2), (4096, 1)] {
        assert_eq!(filters(width, scale), 3326, "width {width}, room for {scale} runs");
    }
}

#[test]
fn very_short_regions_in_narrow_vectors_are_not_lost() {
    for (regions, mean) in [(3000, 0), (20_000, 1)] {
        let mut stream = Stream::new("short").width(32).fuse(false);
        let items = stream.source("parents", source::range(0..regions));
        let (_, elements) = stream.enumerate_with("elements", items, 128, move |n| 0..*n % (2 * mean + 1));
        let counts = stream.node("count", elements).aggregate(|| 0_u64, |count, _| *count += 1, |count| count);
        let counts = stream.collect("counts", counts);
        let report = stream.run(&loom(1)).unwrap();
        assert!(counts.take().into_iter().eq((0..regions).map(|n| n % (2 * mean + 1))));
        assert!(report.node("elements").unwrap().flushes > 0, "the head waits for places");
    }
}

#[test]
fn what_is_pushed_at_the_end_of_the_last_parent_arrives() {
    for regions in [1, 2, 151] {
        let mut stream = Stream::new("ends");
        let items = stream.source("parents", source::range(0..regions));
        let (region, elements) = stream.enumerate("elements", items, |n| 0..n % 3);
        let node = stream.node("record", elements).aggregate_channel::<u64>("out", 1);
        let records = node.end(move |run, out| out.push(*run.parent(region))).run(|_, _| {});
        let records = stream.collect("records", records);
        stream.run(&loom(1)).unwrap();
        assert!(records.take().into_iter().eq(0..regions));
    }
}

#[test]
fn ends_may_push_all_that_they_declare_and_no_more() {
    let run = |declared: usize| {
        let mut stream = Stream::new("many at the end").width(4).queue_scale(1);
        let items = stream.source("parents", source::range(0..100));
        let (_, elements) = stream.enumerate_with("elements", items, 3, |n| 0..n % 3);
        let node = stream.node("burst", elements).aggregate_channel::<u64>("out", 1).at_signals(declared);
        // What the run just before has pushed takes no room from the end.
        let bursts = node.end(|_, out| (0..9).for_each(|n| out.push(n))).run(|run, out| {
            run.items().iter().for_each(|n| out.push(*n));
        });
        let bursts = stream.collect("bursts", bursts);
        stream.run(&loom(1)).map(|_| bursts.take())
    };
    assert!(run(9).unwrap().into_iter().eq((0..100).flat_map(|n| (0..n % 3).chain(0..9))));
    let error = run(8).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("burst")));
    assert!(error.to_string().contains("channel `out` of node `burst`"), "{error}");
}

#[test]
fn hundreds_of_items_may_come_of_one() {
    let mut stream = Stream::new("hundreds").width(7);
    let items = stream.source("numbers", source::range(0..100));
    let many =
        stream.node("many", items).channel::<u64>("out", 300).each(|n, out| (0..3 * n).for_each(|m| out.push(m)));
    let many = stream.collect("result", many);
    stream.run(&loom(2)).unwrap();
    assert_eq!(many.len(), (0..100).map(|n| 3 * n).sum::<usize>());
}

#[test]
fn names_may_be_anything() {
    let mut stream = Stream::new("");
    let mut items = stream.source("o", source::range(0..10));
    for name in ["fn", "self", "two words", "{}", "\"", "ω", "out"] {
        items = stream.node(name, items).map(|n| n + 1);
    }
    let result = stream.collect("sink", items);
    stream.run(&loom(1)).unwrap();
    assert!(result.take().into_iter().eq(7..17));
}

#[test]
fn a_parent_may_have_more_elements_than_there_is_memory_for() {
    let mut stream = Stream::new("huge").memory(64 << 10).width(16).fuse(false);
    let items = stream.source("parents", source::range(0..2));
    let (_, elements) = stream.enumerate_with("elements", items, 1, |n| 0..(n + 1) * 1_000_000);
    let counts = stream.node("count", elements).aggregate(|| 0_u64, |count, _| *count += 1, |count| count);
    let counts = stream.collect("counts", counts);
    let report = stream.run(&loom(1)).unwrap();
    assert_eq!(counts.take(), [1_000_000, 2_000_000]);
    assert!(report.node("elements").unwrap().flushes > 0, "the head waits for the place of the first parent");
    let held: usize = report.edges.iter().map(|edge| edge.capacity * size_of::<u64>()).sum();
    assert!(held <= 64 << 10, "{held}");
}

#[test]
fn a_parent_without_end_behind_others_runs_until_it_is_cancelled() {
    for fused in [true, false] {
        let far = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&far);
        let mut stream = Stream::new("endless").fuse(fused);
        let items = stream.source("parents", source::range(0..9));
        let (_, elements) = stream.enumerate("elements", items, |n| if *n == 0 { 0..5 } else { 0..u64::MAX });
        let some = stream.node("some", elements).filter(move |n| {
            if *n == 100_000 {
                seen.store(true, Ordering::Relaxed);
            }
            n % 2 == 0
        });
        let counts = stream.node("count", some).aggregate(|| 0_u64, |count, _| *count += 1, |count| count);
        let _counts = stream.collect("counts", counts);
        let loom = loom(1);
        let running = stream.plan().unwrap().start(&loom, &Settings::new()).unwrap();
        while !far.load(Ordering::Relaxed) && !running.is_complete() {
            std::thread::yield_now();
        }
        running.cancel();
        let error = running.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
    }
}

#[test]
fn a_large_gain_on_few_items_stays_within_the_memory() {
    let mut stream = Stream::new("gain").memory(64 << 10);
    let items = stream.source("numbers", source::range(0..1_000_000));
    let many = stream.node("gain", items).expand(|n| 0..if n == 123_456 { 10_000 } else { 0 });
    let many = stream.collect("result", many);
    let report = stream.run(&loom(1)).unwrap();
    assert!(many.take().into_iter().eq(0..10_000));
    let held: usize = report.edges.iter().map(|edge| edge.capacity * size_of::<u64>()).sum();
    assert!(held <= 64 << 10, "{held}");
}

#[test]
fn a_stream_without_a_sink_runs_for_what_its_nodes_do() {
    let (to, from) = std::sync::mpsc::channel();
    let mut stream = Stream::new("no sink");
    let items = stream.source("numbers", source::range(0..300));
    stream.node("last", items).run(move |run, ()| to.send(run.items().len()).unwrap());
    stream.run(&loom(1)).unwrap();
    assert_eq!(from.iter().collect::<Vec<_>>(), [128, 128, 44]);
}

#[test]
fn a_region_of_another_stream_has_no_parents_here() {
    let mut other = Stream::new("other");
    let items = other.source("numbers", source::range(0..1));
    let (foreign, elements) = other.enumerate("elements", items, |n| 0..*n);
    other.discard("sink", elements);
    let mut stream = Stream::new("own");
    let items = stream.source("numbers", source::range(0..9));
    let (_, elements) = stream.enumerate("elements", items, |n| 0..*n);
    stream.node("looks", elements).run(move |run, ()| drop(run.parent(foreign)));
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("looks")), "{error}");
}

#[test]
fn a_failure_stops_all_workers_and_leaves_the_engine_usable() {
    let loom = loom(3);
    for _ in 0..10 {
        let mut stream = Stream::new("fails");
        let items = stream.source("numbers", source::range(0..1_000_000));
        let items = stream.node("breaks", items).map(|n| {
            assert!(*n != 77_777, "no such number");
            *n
        });
        stream.discard("nowhere", items);
        assert_eq!(stream.run(&loom).unwrap_err().node(), Some("breaks"));
        let mut stream = Stream::new("fine");
        let items = stream.source("numbers", source::range(0..1000));
        let all = stream.collect("all", items);
        stream.run(&loom).unwrap();
        assert_eq!(all.len(), 1000);
    }
}
