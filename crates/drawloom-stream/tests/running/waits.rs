//! Nodes that wait for somebody outside of the stream keep nobody else from running, and nothing is lost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use drawloom_stream::{ErrorKind, Output, Settings, Stream, sink, source};

use crate::{in_time, loom};

/// So long that no test comes to its end by it.
const NEVER: Duration = Duration::from_secs(3600);

#[test]
fn a_full_buffer_holds_the_stream_until_somebody_takes() {
    for (workers, capacity, most) in [(1, 1, 1), (1, 0, 3), (2, 7, 100), (3, 300, 64)] {
        let mut stream = Stream::new("full").width(16);
        let items = stream.source("numbers", source::range(0..5000));
        let (to, drain) = sink::buffer(capacity);
        stream.sink("buffer", items, to);
        let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
        let mut taken = Vec::new();
        loop {
            assert!(drain.len() <= capacity.max(1));
            let some = drain.take_up_to(most);
            if some.is_empty() {
                break;
            }
            taken.extend(some);
        }
        running.wait().unwrap();
        taken.sort_unstable();
        assert!(taken.into_iter().eq(0..5000), "{workers} workers, capacity {capacity}");
    }
}

#[test]
fn a_full_sink_does_not_keep_the_other_branch_from_its_end() {
    // The left sink has room for one item and nobody takes any, until the right one has all of its items.
    let mut stream = Stream::new("branches").width(4);
    let a = stream.source("a", source::range(0..100));
    let b = stream.source("b", source::range(0..1000));
    let (left, mut drain) = sink::buffer(1);
    stream.sink("left", a, left);
    let (all, seen) = mpsc::channel();
    let count = AtomicU64::new(0);
    let right = sink::callback(move |items: &[u64]| {
        if count.fetch_add(items.len() as u64, Ordering::Relaxed) + items.len() as u64 == 1000 {
            all.send(()).unwrap();
        }
    });
    stream.sink("right", b, right);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    seen.recv().unwrap();
    assert!(drain.by_ref().eq(0..100));
    running.wait().unwrap();
}

/// A live source, of whose items those below ten go to a sink with room for one, which nobody empties, and all others to another
/// branch, whatever is in between on both ways.
fn other_branch(workers: usize, between: fn(&mut Stream, &str, Output<u64>) -> Output<u64>) {
    in_time(move || {
        let mut stream = Stream::new("branches").width(4);
        let (giver, items) = source::buffer(64, Duration::from_millis(1));
        let items = stream.source("numbers", items);
        let node = stream.node("part", items).channel::<u64>("small", 1).channel::<u64>("large", 1);
        let (small, large) = node.each(|n, (small, large)| if *n < 10 { small.push(*n) } else { large.push(*n) });
        let small = between(&mut stream, "before the full sink", small);
        let large = between(&mut stream, "before the other", large);
        let (to, mut drain) = sink::buffer(1);
        stream.sink("full", small, to);
        let (to, mut others) = sink::buffer(64);
        stream.sink("other", large, to);
        let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
        // What belongs to the full sink comes first, and some of it again.
        for n in [0, 1, 2, 10, 3, 11, 12, 4, 13] {
            giver.give(n).unwrap();
        }
        let mut seen: Vec<u64> = others.by_ref().take(4).collect();
        for n in [14, 15] {
            giver.give(n).unwrap();
            seen.extend(others.next());
        }
        seen.sort_unstable();
        assert_eq!(seen, [10, 11, 12, 13, 14, 15]);
        drop(giver);
        let mut rest: Vec<u64> = drain.by_ref().collect();
        rest.sort_unstable();
        assert_eq!(rest, [0, 1, 2, 3, 4]);
        running.wait().unwrap();
        assert_eq!(others.next(), None);
    });
}

#[test]
fn a_full_sink_does_not_keep_items_of_the_same_node_from_another_branch() {
    for workers in [1, 2, 3] {
        other_branch(workers, |_, _, items| items);
        other_branch(workers, |stream, name, items| stream.node(name, items).fuse(false).map(|n| *n));
        other_branch(workers, |stream, name, items| {
            let (_, elements) = stream.enumerate(format!("{name}, parts"), items, |n| std::iter::once(*n));
            stream.node(name, elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum)
        });
    }
}

#[test]
fn a_full_channel_holds_the_stream_too() {
    let (to, from) = mpsc::sync_channel(3);
    let mut stream = Stream::new("channel").width(16);
    let items = stream.source("numbers", source::range(0..500));
    stream.sink("channel", items, sink::sender(to));
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    // The plan is gone with the stream, and so is its sender when the run is over.
    assert!(from.iter().take(500).eq(0..500));
    running.wait().unwrap();
}

#[test]
fn a_sink_that_nobody_takes_from_any_more_fails() {
    let mut stream = Stream::new("gone");
    let items = stream.source("numbers", source::range(0..5000));
    let (to, drain) = sink::buffer(4);
    stream.sink("buffer", items, to);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
    assert_eq!(drain.take_up_to(1).len(), 1);
    drop(drain);
    let error = running.wait().unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Sink, Some("buffer")), "{error}");
    assert!(error.to_string().contains("nobody receives"), "{error}");
}

#[test]
fn a_run_that_waits_for_room_can_be_cancelled_and_the_drain_ends() {
    let mut stream = Stream::new("cancelled");
    let items = stream.source("numbers", source::range(0..5000));
    let (to, mut drain) = sink::buffer(4);
    stream.sink("buffer", items, to);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
    assert!(drain.next().is_some());
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(drain.count() <= 4);
}

#[test]
fn a_failed_run_ends_the_drain() {
    let mut stream = Stream::new("failed");
    let items = stream.source("numbers", source::range(0..100));
    let items = stream.node("breaks", items).state(|| panic!("no state")).channel::<u64>("out", 1).run(|_, _| {});
    let (to, drain) = sink::buffer(4);
    stream.sink("buffer", items, to);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
    assert_eq!(drain.count(), 0);
    assert_eq!(running.wait().unwrap_err().node(), Some("breaks"));
}

#[test]
fn boundaries_reach_a_sink_that_waits_inside_of_a_region() {
    let mut stream = Stream::new("region").width(8).queue_scale(1);
    let items = stream.source("parents", source::range(0..50));
    let (_, elements) = stream.enumerate_with("elements", items, 2, |n| 0..n % 7);
    let (to, drain) = sink::buffer(3);
    stream.sink("buffer", elements, to);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    let expected = (0..50_u64).flat_map(|n| 0..n % 7);
    assert!(drain.eq(expected));
    running.wait().unwrap();
}

#[test]
fn items_are_given_while_the_stream_runs_until_all_givers_are_gone() {
    for workers in [1, 2] {
        let (giver, numbers) = source::buffer(5, NEVER);
        let mut stream = Stream::new("given").width(16);
        let items = stream.source("numbers", numbers);
        let doubled = stream.node("double", items).map(|n: &u64| 2 * n);
        let result = stream.collect("result", doubled);
        let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
        let other = giver.clone();
        let helper = std::thread::spawn(move || (0..500).try_for_each(|n| other.give(n)));
        (500..1000).try_for_each(|n| giver.give(n)).unwrap();
        helper.join().unwrap().unwrap();
        drop(giver);
        running.wait().unwrap();
        let mut result = result.take();
        result.sort_unstable();
        assert!(result.into_iter().eq((0..1000).map(|n| 2 * n)), "{workers} workers");
    }
}

#[test]
fn a_giver_learns_that_the_run_is_over() {
    let (giver, numbers) = source::buffer(1, NEVER);
    let mut stream = Stream::new("over");
    let items = stream.source("numbers", numbers);
    let items = stream.node("breaks", items).map(|n: &u64| {
        assert!(*n < 3, "too large");
        *n
    });
    stream.discard("nowhere", items);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    let helper = std::thread::spawn(move || (0..).find_map(|n| giver.give(n).err()).unwrap());
    // Three items are no full vector, and the patience is long: only this brings the panic about.
    while !running.is_complete() {
        running.flush();
        std::thread::yield_now();
    }
    assert_eq!(running.wait().unwrap_err().node(), Some("breaks"));
    assert!(helper.join().unwrap() >= 3);
}

#[test]
fn a_flush_on_demand_brings_items_to_their_end_and_is_reported() {
    let (giver, numbers) = source::buffer(100, NEVER);
    let (to, mut results) = sink::buffer(100);
    let mut stream = Stream::new("demand").width(128);
    let items = stream.source("numbers", numbers);
    let doubled = stream.node("double", items).map(|n: &u64| 2 * n);
    stream.sink("results", doubled, to);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    for n in 0..3 {
        giver.give(n).unwrap();
        // The item may not have been taken yet when the wish is seen.
        while results.is_empty() {
            running.flush();
            std::thread::yield_now();
        }
        assert_eq!(results.next(), Some(2 * n));
    }
    drop(giver);
    let report = running.wait().unwrap();
    let node = report.node("double").unwrap();
    assert_eq!((node.inputs, node.runs, node.full_runs), (3, 3, 0), "the price in lanes is reported");
    assert!(report.node("numbers").unwrap().flushes >= 3);
}

#[test]
fn one_wish_to_flush_is_enough_whenever_it_comes() {
    in_time(|| {
        let (giver, numbers) = source::buffer(100, NEVER);
        let (to, mut results) = sink::buffer(100);
        let mut stream = Stream::new("demand").width(128);
        let items = stream.source("numbers", numbers);
        stream.sink("results", items, to);
        let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
        for n in 0..5000 {
            giver.give(n).unwrap();
            // The source may be about to wait just now, or may do so already.
            while running.given() <= n {
                std::hint::spin_loop();
            }
            running.flush();
            assert_eq!(results.next(), Some(n));
        }
        drop(giver);
        running.wait().unwrap();
    });
}

#[test]
fn a_patience_that_is_over_brings_items_to_their_end_though_more_come() {
    let (giver, numbers) = source::buffer(100, Duration::ZERO);
    let (to, mut results) = sink::buffer(100);
    let mut stream = Stream::new("patience").width(128);
    let items = stream.source("numbers", numbers);
    stream.sink("results", items, to);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
    for n in 0..50_u64 {
        giver.give(n).unwrap();
        assert_eq!(results.next(), Some(n));
    }
    drop(giver);
    running.wait().unwrap();
}

#[test]
fn copies_that_have_nothing_to_do_take_what_others_have_not_begun() {
    // All items are in one chunk, and the copy that has the first ones waits for room: the other does the rest.
    for _ in 0..20 {
        let (done, all) = mpsc::channel();
        let mut stream = Stream::new("share").width(4);
        let items = stream.source("numbers", source::range(0..1000));
        let node = stream.node("split", items).channel::<u64>("held", 1).channel::<u64>("free", 1);
        let (first, rest) = node.each(|n, (held, free)| if *n < 4 { held.push(*n) } else { free.push(*n) });
        let (to, mut drain) = sink::buffer(1);
        stream.sink("held", first, to);
        stream.sink("free", rest, sink::callback(move |items: &[u64]| done.send(items.to_vec()).unwrap()));
        let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
        // What is in the vectors of the copy that waits stays there.
        let mut free: Vec<u64> = Vec::new();
        while free.len() < 900 {
            free.extend(all.recv().unwrap());
        }
        assert!(drain.by_ref().eq(0..4));
        running.wait().unwrap();
        free.extend(all.iter().flatten());
        free.sort_unstable();
        assert!(free.into_iter().eq(4..1000));
    }
}
