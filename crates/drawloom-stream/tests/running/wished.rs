//! What somebody outside waits for does not wait for heavy items of others, and no wish to flush gets lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use drawloom_stream::{Running, Settings, Stream, sink, source};

use crate::loom;

/// Nothing takes so long, unless it never comes.
const NEVER: Duration = Duration::from_secs(60);
/// Somebody else's patience, who would bring it all the same.
const HOUR: Duration = Duration::from_secs(3600);

/// Counts items, each of which takes a millisecond.
#[derive(Clone, Default)]
struct Heavy(Arc<AtomicU64>);

impl Heavy {
    fn work(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
    }

    fn done(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    fn wait_for(&self, count: u64) {
        while self.done() < count {
            thread::yield_now();
        }
    }
}

fn start(stream: Stream) -> Running {
    stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap()
}

#[test]
fn what_was_given_before_a_wish_comes_out_whatever_is_at_work() {
    for width in [1, 4] {
        let mut stream = Stream::new("wish").width(4);
        let (giver, items) = source::buffer(600, HOUR);
        let items = stream.source("numbers", items);
        let heavy = Heavy::default();
        let theirs = heavy.clone();
        let items = stream.node("heavy", items).width(width).map(move |n: &u64| {
            (0..20).for_each(|_| theirs.work());
            *n
        });
        let (to, results) = mpsc::sync_channel(1000);
        stream.sink("results", items, sink::sender(to));
        let running = start(stream);
        (0..8).for_each(|n| giver.give(n).unwrap());
        while running.given() < 8 {
            thread::yield_now();
        }
        running.flush();
        heavy.wait_for(1);
        // The node is at work, and so the source cannot take these yet.
        (8..11).for_each(|n| giver.give(n).unwrap());
        running.flush();
        for n in 0..11 {
            assert_eq!(results.recv_timeout(NEVER), Ok(n), "width {width}");
        }
        drop(giver);
        running.wait().unwrap();
    }
}

#[test]
fn a_wish_that_wakes_a_run_is_for_what_was_given_before_it() {
    let (to_run, from_here) = mpsc::channel();
    let (giver, given) = source::buffer(10, HOUR);
    for (what, items) in [("buffer", given), ("receiver", source::receiver(from_here, HOUR))] {
        let mut stream = Stream::new(what).width(4);
        let items = stream.source("numbers", items);
        let (to, results) = mpsc::sync_channel(10);
        stream.sink("results", items, sink::sender(to));
        let running = start(stream);
        for n in 0..500 {
            if what == "buffer" {
                giver.give(n).unwrap();
            } else {
                to_run.send(n).unwrap();
            }
            running.flush();
            assert_eq!(results.recv_timeout(NEVER), Ok(n), "{what}");
        }
        running.cancel();
        running.wait().unwrap_err();
    }
}

#[test]
fn a_wish_that_comes_to_a_heavy_node_is_for_what_the_one_before_it_has_made() {
    // The queue between both holds 64 runs and the rest of one. It is full when there are 256 items in it.
    let mut stream = Stream::new("wish").width(4).queue_scale(64);
    let items = stream.source("numbers", source::range(0..1_000_000));
    let (first, second) = (Heavy::default(), Heavy::default());
    let theirs = first.clone();
    let items = stream.node("first", items).fuse(false).filter(move |n: &u64| {
        if *n > 100_344 {
            theirs.work();
        }
        // Three of four, 258 of them: two are left when the second node has run all vectors that are full.
        (100_000..100_344).contains(n) && !n.is_multiple_of(4)
    });
    let theirs = second.clone();
    let items = stream.node("second", items).fuse(false).map(move |n: &u64| {
        theirs.work();
        *n
    });
    let (to, results) = mpsc::sync_channel(600);
    stream.sink("results", items, sink::sender(to));
    let running = start(stream);
    second.wait_for(1);
    running.flush();
    for n in (100_000_u64..100_344).filter(|n| !n.is_multiple_of(4)) {
        assert_eq!(results.recv_timeout(NEVER), Ok(n));
    }
    let before = first.done();
    running.cancel();
    running.wait().unwrap_err();
    assert!(before <= 60, "{before}");
}

#[test]
fn what_comes_over_a_heavy_way_goes_through_a_join_that_waits_for_a_boundary() {
    for wishes in [false, true] {
        let mut stream = Stream::new("join").width(4);
        let (giver, items) = source::buffer(600, if wishes { HOUR } else { Duration::from_millis(2) });
        let items = stream.source("numbers", items);
        let (_, elements) = stream.enumerate("elements", items, |n: &u64| 0..*n);
        let (rest, hundreds) = stream.node("part", elements).split(|n: u64| (n, !n.is_multiple_of(100)));
        let heavy = Heavy::default();
        let theirs = heavy.clone();
        let rest = stream.node("heavy", rest).fuse(false).map(move |n: &u64| {
            theirs.work();
            *n
        });
        let all = stream.node("all", [rest, hundreds]).map(|n: &u64| *n);
        let (to, results) = mpsc::sync_channel(2000);
        stream.sink("results", all, sink::sender(to));
        let running = start(stream);
        giver.give(1000).unwrap();
        if wishes {
            while running.given() < 1 {
                thread::yield_now();
            }
            running.flush();
            heavy.wait_for(20);
            running.flush();
        }
        let mut looked_at = 0;
        assert!(results.iter().inspect(|_| looked_at += 1).any(|n| !n.is_multiple_of(100)));
        let before = heavy.done();
        drop(giver);
        running.wait().unwrap();
        assert_eq!(looked_at + results.try_iter().count(), 1000);
        assert!(before <= 400, "wishes: {wishes}: {before}");
    }
}

#[test]
fn a_live_source_is_asked_though_heavy_items_of_another_wait() {
    for wishes in [false, true] {
        let mut stream = Stream::new("beside").width(4);
        let items = stream.source("numbers", source::range(0..1_000_000));
        let heavy = Heavy::default();
        let theirs = heavy.clone();
        let items = stream.node("heavy", items).map(move |n: &u64| {
            theirs.work();
            *n
        });
        stream.discard("nowhere", items);
        let (giver, items) = source::buffer(600, if wishes { HOUR } else { Duration::from_millis(1) });
        let items = stream.source("live", items);
        let items = stream.node("double", items).map(|n: &u64| 2 * n);
        let (to, results) = mpsc::sync_channel(600);
        stream.sink("results", items, sink::sender(to));
        let running = start(stream);
        heavy.wait_for(20);
        let at_giving = heavy.done();
        giver.give(21).unwrap();
        if wishes {
            running.flush();
        }
        assert_eq!(results.recv_timeout(NEVER), Ok(42));
        let meanwhile = heavy.done() - at_giving;
        running.cancel();
        running.wait().unwrap_err();
        assert!(meanwhile <= 300, "wishes: {wishes}: {meanwhile}");
    }
}
