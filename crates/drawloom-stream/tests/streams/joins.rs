//! Several edges into one node.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use drawloom_stream::{Settings, Stream, sink, source};

use crate::{in_time, loom};

#[test]
fn what_was_split_comes_together_again() {
    for width in [1, 3, 64] {
        let mut stream = Stream::new("diamond").width(width).queue_scale(1);
        let items = stream.source("numbers", source::range(0..1000));
        let node = stream.node("split", items).channel::<u64>("even", 1).channel::<u64>("odd", 2);
        let (even, odd) = node.each(|n, (even, odd)| {
            if n.is_multiple_of(2) {
                even.push(*n);
            } else {
                odd.push(*n);
                odd.push(*n);
            }
        });
        let odd = stream.node("some", odd).width(2).filter(|n| n % 3 == 0);
        let both = stream.node("both", [even, odd]).map(|n| n + 1);
        let both = stream.collect("result", both);
        stream.run(&loom(1)).unwrap();
        let mut result = both.take();
        result.sort_unstable();
        let copies = |n: u64| {
            if n.is_multiple_of(2) {
                1
            } else if n.is_multiple_of(3) {
                2
            } else {
                0
            }
        };
        let expected: Vec<u64> = (0..1000).flat_map(|n| (0..copies(n)).map(move |_| n + 1)).collect();
        assert_eq!(result, expected, "width {width}");
    }
}

#[test]
fn a_parent_ends_at_a_join_when_it_has_ended_on_all_edges() {
    for (width, parents, scale) in [(1, 1, 1), (4, 2, 1), (16, 128, 1), (128, 3, 2), (5, 7, 3)] {
        let mut stream = Stream::new("joined region").width(width).queue_scale(scale);
        let items = stream.source("parents", source::range(0..200));
        let (_, elements) = stream.enumerate_with("elements", items, parents, |n| 0..(n * 37) % 50);
        let node = stream.node("split", elements).channel::<u64>("short", 1).channel::<u64>("long", 3);
        let (short, long) = node.each(|n, (short, long)| {
            if n % 7 == 0 {
                short.push(*n);
            }
            (0..n % 4).for_each(|_| long.push(1));
        });
        let long = stream.node("one", long).width(3).map(|n| *n);
        let long = stream.node("two", long).map(|n| n * 100);
        let sums = stream.node("sum", [short, long]).aggregate(|| 0, |sum, item| *sum += item, |sum| sum);
        let sums = stream.collect("sums", sums);
        stream.run(&loom(1)).unwrap();
        let part = |n: u64| (if n.is_multiple_of(7) { n } else { 0 }) + 100 * (n % 4);
        let expected: Vec<u64> = (0..200_u64).map(|n| (0..(n * 37) % 50).map(part).sum()).collect();
        assert_eq!(sums.take(), expected, "width {width}, {parents} parents");
    }
}

#[test]
fn a_signal_comes_to_a_join_over_each_edge_and_a_boundary_once() {
    for width in [1, 16] {
        let mut stream = Stream::new("signals").width(width);
        let mark = stream.signal::<u64>();
        let items = stream.source("parents", source::range(0..100));
        let (_, elements) = stream.enumerate("elements", items, |n| 0..n % 3);
        let marked = stream.node("mark", elements).signals(width, 1).channel::<u64>("out", 1).each(move |n, out| {
            out.push(*n);
            out.raise(mark, *n);
        });
        let (even, odd) = stream.node("split", marked).split(|n: u64| (n, n.is_multiple_of(2)));
        let counts = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
        let (marks, ends) = (Arc::clone(&counts), Arc::clone(&counts));
        let node = stream.node("join", [even, odd]);
        let node = node.on(mark, move |_, (), _| _ = marks[0].fetch_add(1, Ordering::Relaxed));
        node.end(move |_, ()| _ = ends[1].fetch_add(1, Ordering::Relaxed)).run(|_, ()| ());
        stream.run(&loom(1)).unwrap();
        let elements: u64 = (0..100).map(|n| n % 3).sum();
        let counts = [&counts[0], &counts[1]].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(counts, [2 * elements, 100], "width {width}");
    }
}

#[test]
fn several_sources_may_join_on_any_number_of_workers() {
    for workers in [1, 2, 3] {
        let loom = loom(workers);
        for more in [0, 1, 7, 100, 3000] {
            let mut stream = Stream::new("sources").width(16);
            let a = stream.source("a", source::range(0..100));
            let b = stream.source("b", source::range(1000..1000 + more));
            let b = stream.node("b less one", b).map(|n| n - 1);
            let all = stream.collect("all", [a, b]);
            stream.run(&loom).unwrap();
            let mut all = all.take();
            all.sort_unstable();
            assert!(all.into_iter().eq((0..100).chain(999..999 + more)), "{workers} workers, {more} items more");
        }
    }
}

#[test]
fn items_of_a_live_source_pass_a_join_though_the_other_source_has_none() {
    in_time(|| {
        let mut stream = Stream::new("live").width(16);
        let ((giver, a), (idle, b)) = (source::buffer(16, Duration::ZERO), source::buffer(16, Duration::ZERO));
        let a = stream.source("a", a);
        let b = stream.source("b", b);
        let few = stream.source("few", source::range(100..110));
        let all = stream.node("all", [a, b, few]).map(|n| n + 1);
        let (to, results) = sink::buffer(100);
        stream.sink("results", all, to);
        let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
        let next = |count| {
            let mut some: Vec<u64> = (0..count).flat_map(|_| results.take_up_to(1)).collect();
            some.sort_unstable();
            some
        };
        // Those of a source that has no more do not wait for the others either.
        assert!(next(10).into_iter().eq(101..111));
        for n in 0..5 {
            giver.give(n).unwrap();
            assert_eq!(next(1), [n + 1]);
        }
        idle.give(20).unwrap();
        assert_eq!(next(1), [21]);
        drop(idle);
        giver.give(30).unwrap();
        assert_eq!(next(1), [31]);
        drop(giver);
        running.wait().unwrap();
    });
}

#[test]
fn a_live_source_whose_queue_is_full_at_a_join_gives_all_that_it_has() {
    in_time(|| {
        let mut stream = Stream::new("full").width(4).queue_scale(1);
        let (giver, live) = source::buffer(100, Duration::ZERO);
        let live = stream.source("live", live);
        let few = stream.source("few", source::range(100..102));
        // The join waits for what comes over this way, so a flush alone does not make it run.
        let few = stream.node("slow", few).width(3).map(|n| *n);
        let all = stream.collect("all", [live, few]);
        (0..23).for_each(|n| giver.give(n).unwrap());
        drop(giver);
        stream.run(&loom(1)).unwrap();
        let mut all = all.take();
        all.sort_unstable();
        assert!(all.into_iter().eq((0..23).chain(100..102)));
    });
}

#[test]
fn flushes_that_come_over_one_edge_before_the_other_are_all_passed_on() {
    in_time(|| {
        let mut stream = Stream::new("diamond").width(8).fuse(false);
        let (giver, numbers) = source::buffer(100, Duration::MAX);
        let numbers = stream.source("numbers", numbers);
        let node = stream.node("part", numbers).channel::<u64>("left", 1).channel::<u64>("right", 1);
        let (left, right) = node.each(|n, (left, right)| {
            left.push(*n);
            right.push(*n);
        });
        let (seen, is_seen) = mpsc::channel();
        let left = stream.node("left", left).map(move |n| {
            seen.send(*n).unwrap();
            *n
        });
        let right = stream.node("right", right).map(|n| *n);
        let node = stream.node("slow", right).channel::<u64>("on", 1).channel::<u64>("aside", 1);
        let (right, aside) = node.each(|n, (on, aside)| {
            on.push(*n);
            aside.push(*n);
        });
        // Nobody takes from this one for a while, so what goes the right way does not come to its end.
        let (to, drain) = sink::buffer(1);
        stream.sink("aside", aside, to);
        let all = stream.node("all", [left, right]).map(|n| *n);
        let all = stream.collect("result", all);
        let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
        for n in 0..15 {
            giver.give(n).unwrap();
            while running.given() <= n {
                std::thread::yield_now();
            }
            // The end of the source is a flush too.
            if n % 5 == 4 && n < 14 {
                running.flush();
                assert!(is_seen.iter().take(5).eq(n - 4..=n));
            }
        }
        drop(giver);
        assert!(drain.eq(0..15));
        running.wait().unwrap();
        assert_eq!(all.len(), 30);
    });
}
