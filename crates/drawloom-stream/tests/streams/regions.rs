//! Regions: parents, their elements, and what is made of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_stream::{ErrorKind, Stream, source};
use fastrand::Rng;

use crate::{loom, munge};

#[test]
fn each_parent_gives_one_item_also_without_elements() {
    for (parents, width) in [(1, 128), (1, 1), (3, 4), (128, 32), (2, 1000)] {
        let mut rng = Rng::with_seed(7);
        let lengths: Vec<u64> = (0..500).map(|_| if rng.bool() { 0 } else { rng.u64(..300) }).collect();
        let expected: Vec<u64> = lengths.iter().map(|length| (0..*length).sum()).collect();
        let mut stream = Stream::new("sums").width(width).fuse(false);
        let items = stream.source("lengths", source::slice(lengths));
        let (_, elements) = stream.enumerate_with("elements", items, parents, |length| 0..*length);
        let sums = stream.node("sum", elements).aggregate(|| 0, |sum, item| *sum += item, |sum| sum);
        let sums = stream.collect("sums", sums);
        let report = stream.run(&loom(1)).unwrap();
        assert_eq!(sums.take(), expected, "{parents} parents, width {width}");
        let blocked = report.node("elements").unwrap().flushes;
        assert!(blocked > 0 || parents == 128, "the head waits for places: {blocked}");
    }
}

#[test]
fn many_empty_parents_are_not_lost() {
    let mut stream = Stream::new("empty").width(32);
    let items = stream.source("parents", source::range(0..20_000));
    let (region, elements) = stream.enumerate("none", items, |_| std::iter::empty::<u64>());
    let node = stream.node("end", elements).aggregate_channel::<u64>("out", 1);
    let ends = node.end(move |run, out| out.push(*run.parent(region))).run(|_, _| {});
    let ends = stream.collect("ends", ends);
    stream.run(&loom(1)).unwrap();
    assert!(ends.take().into_iter().eq(0..20_000));
}

#[test]
fn begin_and_end_come_once_for_each_parent_at_each_node() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut stream = Stream::new("hooks").width(8).fuse(false);
    let items = stream.source("parents", source::range(0..100));
    let (region, mut elements) = stream.enumerate_with("elements", items, 5, |n| 0..(n * 7) % 30);
    for name in ["a", "b"] {
        let (begins, ends) = (Arc::clone(&log), Arc::clone(&log));
        elements = stream
            .node(name, elements)
            .channel::<u64>("out", 1)
            .begin(move |run, _| begins.lock().unwrap().push((name, *run.parent(region), true)))
            .end(move |run, _| ends.lock().unwrap().push((name, *run.parent(region), false)))
            .run(|run, out| run.items().iter().filter(|n| *n % 2 == 0).for_each(|n| out.push(*n)));
    }
    stream.discard("sink", elements);
    let report = stream.run(&loom(1)).unwrap();
    assert!(report.node("elements").unwrap().flushes > 0, "the head waits for places");
    let log = log.lock().unwrap();
    for name in ["a", "b"] {
        let expected = (0..100).flat_map(|parent| [(name, parent, true), (name, parent, false)]);
        assert!(log.iter().copied().filter(|entry| entry.0 == name).eq(expected), "{name}");
    }
}

#[test]
fn regions_nest_and_see_all_parents_around_them() {
    for (outer_parents, inner_parents, width) in [(1, 1, 1), (1, 3, 16), (4, 1, 128), (128, 128, 128), (2, 2, 7)] {
        let mut stream = Stream::new("nested").width(width).fuse(false);
        let items = stream.source("cubes", source::range(0..60));
        let (outer, planes) = stream.enumerate_with("planes", items, outer_parents, |n| 0..n % 9);
        let (inner, cells) = stream.enumerate_with("cells", planes, inner_parents, |n| 0..n * 3);
        let weighted = stream.node("weigh", cells).channel::<u64>("out", 1).run(move |run, out| {
            let (cube, plane) = (run.parent(outer), run.parent(inner));
            run.items().iter().for_each(|cell| out.push(*cube * 1_000_000 + *plane * 1000 + cell));
        });
        let plane_sums = stream.node("sum planes", weighted).aggregate(|| 0, |sum, item| *sum += item, |sum| sum);
        let cube_sums = stream.node("sum cubes", plane_sums).aggregate(Vec::new, |all, sum| all.push(*sum), |all| all);
        let result = stream.collect("result", cube_sums);
        let report = stream.run(&loom(1)).unwrap();
        for (head, parents) in [("planes", outer_parents), ("cells", inner_parents)] {
            let blocked = report.node(head).unwrap().flushes;
            assert!(blocked > 0 || parents == 128, "`{head}` waits for places: {blocked}");
        }
        let cell = |cube: u64, plane: u64, cell: u64| cube * 1_000_000 + plane * 1000 + cell;
        let sum = |cube: u64, plane: u64| (0..plane * 3).map(|c| cell(cube, plane, c)).sum::<u64>();
        let expected: Vec<Vec<u64>> =
            (0..60).map(|cube| (0..cube % 9).map(|plane| sum(cube, plane)).collect()).collect();
        assert_eq!(result.take(), expected, "{outer_parents} {inner_parents} {width}");
    }
}

#[test]
fn a_flush_of_a_region_goes_no_further_than_the_region() {
    for parents in 1..=10 {
        let mut stream = Stream::new("contained").width(16).fuse(false);
        let items = stream.source("parents", source::range(0..500));
        let (_, elements) = stream.enumerate_with("elements", items, parents, |n| 0..n % 5);
        let kept = stream.node("inside", elements).filter(|n| n % 2 == 0);
        let sums = stream.node("sum", kept).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
        let behind = stream.node("behind", sums).map(|n| *n);
        let sums = stream.collect("sums", behind);
        let report = stream.run(&loom(1)).unwrap();
        assert_eq!(sums.len(), 500);
        let (flushes, behind) = (report.node("elements").unwrap().flushes, report.node("behind").unwrap());
        // Half of the places are free when the head goes on.
        assert!(flushes >= 500 / parents as u64 - 1, "{parents} places: {flushes} flushes");
        assert_eq!((behind.inputs, behind.runs), (500, 32), "{parents} places: vectors behind the region are full");
    }
}

#[test]
fn a_node_raises_one_signal_for_each_that_it_handles_unless_it_declares_more() {
    for (raised, fits) in [(1, true), (2, false)] {
        let mut stream = Stream::new("default");
        let mark = stream.signal::<u64>();
        let items = stream.source("numbers", source::range(0..100));
        let marked = stream.node("mark", items).channel::<u64>("out", 1).run(move |run, out| {
            out.extend_from_slice(run.items());
            out.raise(mark, 7);
        });
        let node = stream.node("handles", marked).channel::<u64>("out", 1);
        let node = node.on(mark, move |_, out, value| (0..raised).for_each(|_| out.raise(mark, *value)));
        let items = node.run(|run, out| out.extend_from_slice(run.items()));
        stream.discard("nowhere", items);
        match stream.run(&loom(1)) {
            Ok(_) => assert!(fits, "{raised} signals"),
            Err(error) => {
                assert_eq!(
                    (error.kind(), error.node(), fits),
                    (ErrorKind::Exceeded, Some("handles"), false),
                    "{error}"
                );
            }
        }
    }
}

#[test]
fn signals_keep_their_place_among_items() {
    for (width, scale) in [(1, 1), (5, 1), (16, 2), (128, 4)] {
        let mut stream = Stream::new("signals").width(width).queue_scale(scale);
        let mark = stream.signal::<u64>();
        let items = stream.source("numbers", source::range(0..1000));
        let marked = stream.node("mark", items).signals(width, 1).channel::<u64>("out", 2).each(move |n, out| {
            out.push(*n);
            if n % 10 == 3 {
                out.raise(mark, *n);
            }
            if n % 4 == 0 {
                out.push(*n);
            }
        });
        let kept = stream.node("keep", marked).filter(|n| n % 3 != 0);
        let node = stream.node("last", kept).state(|| 0).channel::<(u64, u64)>("out", 1);
        let pairs = node.on(mark, |run, _, value| *run.state() = *value).run(|run, out| {
            let items = run.items();
            let last = *run.state();
            items.iter().for_each(|n| out.push((*n, last)));
        });
        let pairs = stream.collect("pairs", pairs);
        stream.run(&loom(1)).unwrap();
        let mut expected = Vec::new();
        let mut last = 0;
        for n in 0..1000_u64 {
            let mut keep = |last| {
                if n % 3 != 0 {
                    expected.push((n, last))
                }
            };
            keep(last);
            if n % 10 == 3 {
                last = n;
            }
            if n % 4 == 0 {
                keep(last);
            }
        }
        assert_eq!(pairs.take(), expected, "width {width}");
    }
}

#[test]
fn an_expansion_needs_no_room_for_all_that_it_makes() {
    let seen = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&seen);
    let mut stream = Stream::new("gain").memory(1 << 20);
    let items = stream.source("numbers", source::range(0..1_000_000));
    let many = stream.node("many", items).expand(|n| 0..if n == 700_000 { 10_000_u64 } else { 0 });
    let sink = drawloom_stream::sink::callback(move |items: &[u64]| {
        theirs.fetch_add(items.len() as u64, Ordering::Relaxed);
    });
    stream.sink("count", many, sink);
    let report = stream.run(&loom(1)).unwrap();
    assert_eq!(seen.load(Ordering::Relaxed), 10_000);
    let bytes: usize = report.edges.iter().map(|edge| edge.capacity * 8).sum();
    assert!(bytes <= 1 << 20, "{bytes}");
}

/// Inputs, runs and full runs of the nodes of a stream that sums segments of fixed length over 10^5 numbers.
fn segments(length: u64, spans: bool) -> Vec<(u64, u64, u64)> {
    let mut stream = Stream::new("segments").span_regions(spans).fuse(false);
    let starts = stream.source("starts", source::indexed(100_000_u64.div_ceil(length), move |i| i * length));
    let (_, elements) = stream.enumerate("elements", starts, move |start| *start..100_000.min(start + length));
    let hashes = stream.node("hash", elements).select(|n: u64| {
        let hash = munge(n as u32);
        (hash, hash.is_multiple_of(2))
    });
    let sums = stream.node("acc", hashes).aggregate(|| 0, |sum, n| *sum += u64::from(*n), |sum| sum);
    let sums = stream.collect("sums", sums);
    let report = stream.run(&loom(1)).unwrap();
    let sums = sums.take();
    assert_eq!(sums.len() as u64, 100_000_u64.div_ceil(length));
    assert_eq!(sums.into_iter().sum::<u64>(), 107_471_978_673_294);
    let figures = ["hash", "acc"].map(|name| report.node(name).unwrap());
    figures.iter().map(|node| (node.inputs, node.runs, node.full_runs)).collect()
}

#[test]
fn without_spanning_vectors_end_at_every_boundary_as_the_ancestor_s() {
    assert_eq!(segments(128, false)[0], (100_000, 782, 781));
    assert_eq!(segments(128, false)[1], (49_982, 782, 0));
    assert_eq!(segments(129, false)[0], (100_000, 1551, 775));
    assert_eq!(segments(129, false)[1], (49_982, 776, 0));
    assert_eq!(segments(4096, false)[0], (100_000, 782, 781));
}

/// Runs and inputs of a node that keeps everything, in a region of 100 parents of so many elements.
fn lanes(length: u64, forced: Option<bool>) -> (u64, u64) {
    let stream = Stream::new("lanes").width(8).fuse(false);
    let mut stream = match forced {
        Some(spans) => stream.span_regions(spans),
        None => stream,
    };
    let items = stream.source("parents", source::range(0..100));
    let (_, elements) = stream.enumerate("elements", items, move |n| *n..n + length);
    let elements = stream.node("node", elements).select(|n: u64| (n, true));
    let counts = stream.node("count", elements).aggregate_sum(|_| 1, |count, sum| (count, sum));
    let counts = stream.collect("counts", counts);
    let report = stream.run(&loom(1)).unwrap();
    assert_eq!(counts.take(), vec![(length, length); 100]);
    let node = report.node("node").unwrap();
    (node.inputs, node.runs)
}

#[test]
fn vectors_reach_over_the_boundaries_of_short_parents_and_end_at_those_of_long_ones() {
    // Eight lanes: three elements are few, and a thousand and one are many.
    assert_eq!(lanes(3, None), lanes(3, Some(true)));
    assert_eq!(lanes(3, Some(false)), (300, 100));
    assert_eq!(lanes(1001, Some(false)), (100_100, 100 * 126));
    assert!(lanes(1001, Some(true)).1 < 100 * 125 + 50);
    // It is known only after some elements how many there are.
    assert!(lanes(1001, None).1 > 100 * 126 - 10);
}

#[test]
fn expansions_and_splits_fill_their_vectors_in_short_regions_too() {
    let mut stream = Stream::new("gain and split").width(16).span_regions(true).ordered();
    let items = stream.source("parents", source::range(0..500));
    let (_, elements) = stream.enumerate("elements", items, |n| *n..n + n % 4);
    // Some become so many that a queue is full in the middle of them.
    let many = stream.node("expand", elements).expand(|n| 0..if n == 77 { 20_000 } else { n % 3 });
    let (even, odd) = stream.node("split", many).split(|n: u64| (n, n.is_multiple_of(2)));
    let even = stream.node("even", even).aggregate_sum(|n| *n, |count, sum| (count, sum));
    let odd = stream.node("odd", odd).aggregate(
        || (0, 0),
        |(count, sum), n| (*count, *sum) = (*count + 1, *sum + n),
        |sum| sum,
    );
    let (even, odd) = (stream.collect("evens", even), stream.collect("odds", odd));
    let (plan, loom) = (stream.plan().unwrap(), loom(1));
    let of = |parent: u64| (parent..parent + parent % 4).flat_map(|n| 0..if n == 77 { 20_000 } else { n % 3 });
    let sums =
        |odd| (0..500).map(move |parent| of(parent).filter(|n| n % 2 == odd).fold((0, 0), |s, n| (s.0 + 1, s.1 + n)));
    // An expansion that is slow for once makes less at a time for a while, so a busy machine empties lanes. It fills none that would be
    // empty otherwise: some run shows how full they can be.
    let mut best = [0.0_f64; 2];
    for _ in 0..20 {
        let report = plan.run(&loom).unwrap();
        assert!(even.take().into_iter().eq(sums(0)));
        assert!(odd.take().into_iter().eq(sums(1)));
        let lanes = ["expand", "split"].map(|name| report.node(name).unwrap().mean_lanes());
        best = [best[0].max(lanes[0]), best[1].max(lanes[1])];
        if best[0] > 12.0 && best[1] > 15.0 {
            return;
        }
    }
    panic!("{best:?} of 16 lanes of `expand` and `split`");
}

#[test]
fn spanning_vectors_are_nearly_full_whatever_the_lengths() {
    for length in [1, 16, 128, 129, 4096] {
        for (inputs, runs, _) in segments(length, true) {
            let lanes = inputs as f64 / runs as f64;
            assert!(lanes > 90.0, "{lanes} of 128 lanes at length {length}");
        }
    }
}
