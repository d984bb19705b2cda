//! Few heavy items are shared by all workers, and a wish to stop is seen between them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use drawloom_stream::{ErrorKind, Output, Running, Settings, Source, Stream, sink, source};

use crate::{in_time, loom};

/// How many items each thread had.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<HashMap<ThreadId, u64>>>);

impl Seen {
    /// An item that takes some time.
    fn work(&self) {
        *self.0.lock().unwrap().entry(thread::current().id()).or_default() += 1;
        thread::sleep(Duration::from_millis(10));
    }

    /// The items of the thread that had most of them, and all items.
    fn most(&self) -> (u64, u64) {
        let seen = self.0.lock().unwrap();
        (seen.values().copied().max().unwrap(), seen.values().sum())
    }
}

/// Runs a stream of 64 heavy items on some workers. Nobody has more than half of them, where four would have sixteen each.
fn is_shared(what: &str, workers: usize, items: Source<u64>, make: fn(&mut Stream, Output<u64>, Seen)) {
    let (mut stream, seen) = (Stream::new(what), Seen::default());
    let items = stream.source("numbers", items);
    make(&mut stream, items, seen.clone());
    stream.plan().unwrap().run(&loom(workers)).unwrap();
    let (most, all) = seen.most();
    assert_eq!(all, 64, "{what}");
    assert!(most <= if workers == 2 { 48 } else { 32 }, "{what}: one of {workers} workers had {most} of 64 items");
}

fn map(stream: &mut Stream, items: Output<u64>, seen: Seen) {
    let items = stream.node("map", items).map(move |n: &u64| {
        seen.work();
        *n
    });
    stream.discard("nowhere", items);
}

fn each(stream: &mut Stream, items: Output<u64>, seen: Seen) {
    let items = stream.node("first", items).filter(|_| true);
    let items = stream.node("each", items).channel::<u64>("out", 1).each(move |n, out| {
        seen.work();
        out.push(*n);
    });
    stream.discard("nowhere", items);
}

fn callback(stream: &mut Stream, items: Output<u64>, seen: Seen) {
    stream.sink("callback", items, sink::callback(move |items: &[u64]| items.iter().for_each(|_| seen.work())));
}

#[test]
fn few_heavy_items_are_shared_whatever_does_them() {
    for workers in [2, 4] {
        is_shared("map", workers, source::range(0..64), map);
        is_shared("each", workers, source::range(0..64), each);
        is_shared("callback", workers, source::range(0..64), callback);
    }
}

#[test]
fn few_heavy_items_are_shared_whatever_they_come_from() {
    is_shared("slice", 4, source::slice((0..64).collect::<Vec<u64>>()), map);
    is_shared("iter", 4, source::iter(0..64), map);
    let (to, from) = mpsc::channel();
    (0..64).try_for_each(|n| to.send(n)).unwrap();
    drop(to);
    is_shared("receiver", 4, source::receiver(from, Duration::from_secs(3600)), map);
    let (giver, items) = source::buffer(64, Duration::from_secs(3600));
    let giving = thread::spawn(move || (0..64).for_each(|n| while giver.give(n).is_err() {}));
    is_shared("buffer", 4, items, map);
    giving.join().unwrap();
}

#[test]
fn few_heavy_items_of_an_ordered_stream_are_shared_and_stay_in_order() {
    let (mut stream, seen) = (Stream::new("ordered").ordered(), Seen::default());
    let items = stream.source("numbers", source::range(0..64));
    let theirs = seen.clone();
    let items = stream.node("map", items).map(move |n: &u64| {
        theirs.work();
        *n
    });
    let result = stream.collect("result", items);
    stream.plan().unwrap().run(&loom(4)).unwrap();
    assert!(result.take().into_iter().eq(0..64));
    assert!(seen.most().0 <= 32, "{:?}", seen.most());
}

/// Of many items 64 are heavy: whoever has them has more in its queue by then, and the others are done soon. What they become is
/// large, so a node takes few of them at once.
fn heavy_from(first: u64, stream: &mut Stream, items: Output<u64>, seen: &Seen) -> Output<[u64; 128]> {
    let seen = seen.clone();
    stream.node("map", items).map(move |n: &u64| {
        if (first..first + 64).contains(n) {
            seen.work();
        }
        [*n; 128]
    })
}

#[test]
fn what_waits_behind_heavy_items_is_shared_and_still_comes_to_a_callback_in_order() {
    let (mut stream, seen) = (Stream::new("ordered").width(4).ordered(), Seen::default());
    let items = stream.source("numbers", source::range(0..20_000));
    // They are in the last chunk: who has an earlier one keeps the others from delivering theirs.
    let items = heavy_from(19_600, &mut stream, items, &seen);
    let came = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&came);
    let take = move |items: &[[u64; 128]]| theirs.lock().unwrap().extend(items.iter().map(|item| item[127]));
    stream.sink("callback", items, sink::callback(take));
    stream.plan().unwrap().run(&loom(4)).unwrap();
    assert!(came.lock().unwrap().iter().copied().eq(0..20_000), "{came:?}");
    assert!(seen.most().0 <= 60, "{:?}", seen.most());
}

/// Numbers of an ordered stream, of which a node keeps those that are heavy: copies have nothing for the sink, and nothing to do, when
/// others have much of both.
fn few_are_kept(numbers: u64, is_heavy: fn(u64) -> bool) {
    in_time(move || {
        let mut stream = Stream::new("kept").width(8).ordered();
        let items = stream.source("numbers", source::range(0..numbers));
        let items = stream.node("heavy", items).filter(move |n: &u64| {
            if is_heavy(*n) {
                thread::sleep(Duration::from_micros(200));
            }
            is_heavy(*n)
        });
        let came = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&came);
        let take = move |items: &[u64]| theirs.lock().unwrap().extend_from_slice(items);
        stream.sink("callback", items, sink::callback(take));
        stream.plan().unwrap().run(&loom(4)).unwrap();
        assert!(came.lock().unwrap().iter().copied().eq((0..numbers).filter(|n| is_heavy(*n))));
    });
}

#[test]
fn what_others_have_of_a_chunk_is_waited_for_and_no_more() {
    // Heavy ones in the first chunk of a few, and in two chunks.
    few_are_kept(4000, |n| n < 400);
    few_are_kept(4000, |n| (1000..1300).contains(&n));
    // Chunks here are larger than a queue, so whoever gives back has not taken all of its own.
    few_are_kept(4_000_000, |n| n < 5000 && n % 16 == 0);
    few_are_kept(4_000_000, |n| (3_900_000..3_912_000).contains(&n) && n % 16 == 0);
}

#[test]
fn a_heavy_function_of_the_index_is_shared() {
    let seen = Seen::default();
    let theirs = seen.clone();
    let items = source::indexed(64, move |n| {
        theirs.work();
        n
    });
    let mut stream = Stream::new("indexed");
    let items = stream.source("numbers", items);
    let result = stream.collect("result", items);
    stream.plan().unwrap().run(&loom(4)).unwrap();
    assert_eq!(result.len(), 64);
    // An item that goes back is made again.
    let (most, all) = seen.most();
    assert!(most <= 32 && all < 2 * 64, "{most} of {all}");
}

/// Cancels a run as soon as some items were begun, and says how many were begun after that.
fn begun_after_cancel(make: impl FnOnce(&mut Stream, Box<dyn Fn() + Send + Sync>)) -> u64 {
    let (begun, has_begun) = mpsc::channel();
    let count = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&count);
    let work = move || {
        if theirs.fetch_add(1, Ordering::SeqCst) == 40 {
            begun.send(()).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    };
    let mut stream = Stream::new("cancelled").width(4);
    make(&mut stream, Box::new(work));
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new().workers(1)).unwrap();
    has_begun.recv().unwrap();
    running.cancel();
    let before = count.load(Ordering::SeqCst);
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    count.load(Ordering::SeqCst) - before
}

#[test]
fn a_wish_to_stop_is_seen_behind_a_vector_of_heavy_items() {
    let of_map = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..100_000));
        let items = stream.node("map", items).map(move |n: &u64| {
            work();
            *n
        });
        stream.discard("nowhere", items);
    });
    assert!(of_map <= 4, "map: {of_map}");
    let of_source = begun_after_cancel(|stream, work| {
        let items = source::indexed(100_000, move |n| {
            work();
            n
        });
        let items = stream.source("numbers", items);
        stream.discard("nowhere", items);
    });
    assert!(of_source <= 4, "source: {of_source}");
    let of_fold = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..100_000));
        let fold = sink::fold(|| (), move |(), items: &[u64]| items.iter().for_each(|_| work()), |()| ());
        stream.sink("fold", items, fold);
    });
    assert!(of_fold <= 4, "fold: {of_fold}");
    let of_elements = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..10));
        let (_, elements) = stream.enumerate("elements", items, |_| 0..10_000_u64);
        let elements = stream.node("map", elements).map(move |n: &u64| {
            work();
            *n
        });
        let sums = stream.node("sum", elements).aggregate_sum(|n: &u64| *n, |_, sum| sum);
        stream.discard("nowhere", sums);
    });
    assert!(of_elements <= 4, "elements: {of_elements}");
    let of_iterator = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..10));
        let work = Arc::new(work);
        let elements = stream.node("expand", items).expand(move |_| {
            let work = Arc::clone(&work);
            (0..10_000_u64).inspect(move |_| work())
        });
        stream.discard("nowhere", elements);
    });
    assert!(of_iterator <= 4, "expand: {of_iterator}");
    let of_short_regions = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..10_000));
        let (_, elements) = stream.enumerate("elements", items, |n| std::iter::once(*n));
        let work = Arc::new(work);
        // A vector reaches over the boundaries of a thousand parents.
        let elements = stream.node("expand", elements).width(1000).expand(move |n| {
            let work = Arc::clone(&work);
            std::iter::once(n).inspect(move |_| work())
        });
        stream.discard("nowhere", elements);
    });
    assert!(of_short_regions <= 4, "expand in short regions: {of_short_regions}");
    let of_parents = begun_after_cancel(|stream, work| {
        let items = stream.source("numbers", source::range(0..10));
        let work = Arc::new(work);
        let (_, elements) = stream.enumerate("elements", items, move |_| {
            let work = Arc::clone(&work);
            (0..10_000_u64).inspect(move |_| work())
        });
        let sums = stream.node("sum", elements).fuse(false).aggregate_sum(|n: &u64| *n, |_, sum| sum);
        stream.discard("nowhere", sums);
    });
    assert!(of_parents <= 4, "enumerate: {of_parents}");
}

/// Heavy items of a live source, or heavy elements of one, in a stream to which a buffer is connected. Says how many were begun when the
/// first of them came out, with the patience of the source, or after a wish to flush.
fn begun_before_the_first(what: &str, wishes: bool) -> u64 {
    let patience = if wishes { Duration::from_secs(3600) } else { Duration::from_millis(2) };
    let mut stream = Stream::new("live").width(1);
    let (giver, items) = source::buffer(600, patience);
    let items = stream.source("numbers", items);
    let begun = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&begun);
    let work = Arc::new(move |n: &u64| {
        theirs.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(1));
        *n
    });
    let numbers = move |_: u64| {
        let work = Arc::clone(&work);
        (0..500).map(move |n| work(&n))
    };
    let given = if what == "map" { 500 } else { 1 };
    let results = match what {
        "map" => {
            let items = stream.node("light", items).map(|n| *n);
            stream.node("map", items).fuse(false).map(move |n| n + numbers(0).next().unwrap_or(0))
        }
        "expand" => stream.node("expand", items).expand(numbers),
        _ => stream.enumerate("elements", items, move |n| numbers(*n)).1,
    };
    // Whose vector is far from full when the first item comes.
    let results = stream.node("behind", results).width(64).map(|n| *n);
    let (to, mut drain) = sink::buffer(600);
    stream.sink("results", results, to);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    (0..given).for_each(|n| giver.give(n).unwrap());
    if wishes {
        // Nothing begins while queues are not full and nobody wishes it. What comes of it waits for the second wish.
        while running.given() < given {
            thread::yield_now();
        }
        running.flush();
        while begun.load(Ordering::SeqCst) < 20 {
            thread::yield_now();
        }
        running.flush();
    }
    assert_eq!(drain.next(), Some(0), "{what}");
    let before = begun.load(Ordering::SeqCst);
    drop(giver);
    assert!(drain.eq(1..500), "{what}");
    running.wait().unwrap();
    before
}

#[test]
fn what_has_come_of_heavy_live_items_is_brought_to_its_end_before_all_has() {
    for what in ["map", "expand", "enumerate"] {
        for wishes in [false, true] {
            let before = begun_before_the_first(what, wishes);
            assert!(before <= 250, "{what}, wishes: {wishes}: {before}");
        }
    }
}

/// Something heavy that is done again and again, until somebody has seen what came of it.
#[derive(Clone, Default)]
struct UntilSeen(Arc<(AtomicU64, AtomicU64)>);

impl UntilSeen {
    fn work(&self) {
        let (begun, seen) = &*self.0;
        begun.fetch_add(1, Ordering::SeqCst);
        if seen.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// A sink that notes how much had begun when the first item came.
    fn sink(&self) -> impl Fn(&[u64]) + Send + Sync + 'static {
        let this = self.clone();
        move |_| {
            let (begun, seen) = &*this.0;
            _ = seen.compare_exchange(0, begun.load(Ordering::SeqCst), Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// How much had begun when the first item came.
    fn seen(&self) -> u64 {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// Runs a stream over live items which are all there from the beginning, and which have a short patience. Says how much of 500 heavy
/// things had begun when something of them was seen.
fn begun_before_any_was_seen(
    numbers: u64,
    make: impl FnOnce(&mut Stream, Output<u64>, UntilSeen) -> Output<u64>,
) -> u64 {
    let (giver, items) = source::buffer(numbers as usize, Duration::from_millis(2));
    (0..numbers).for_each(|n| giver.give(n).unwrap());
    let (mut stream, work) = (Stream::new("patience").width(4).span_regions(true).fuse(false), UntilSeen::default());
    let items = stream.source("numbers", items);
    let items = make(&mut stream, items, work.clone());
    stream.sink("seen", items, sink::callback(work.sink()));
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    drop(giver);
    running.wait().unwrap();
    assert_eq!(work.0.0.load(Ordering::SeqCst), 500);
    work.seen()
}

#[test]
fn elements_whose_vectors_reach_over_boundaries_come_to_their_end_when_the_patience_is_over() {
    let before = begun_before_any_was_seen(100, |stream, items, work| {
        let (_, elements) = stream.enumerate("elements", items, |_| 0..5_u64);
        stream.node("heavy", elements).map(move |n| (work.work(), *n).1)
    });
    assert!(before <= 250, "{before}");
}

#[test]
fn what_is_made_at_the_ends_of_parents_comes_to_its_end_when_the_patience_is_over() {
    let before = begun_before_any_was_seen(500, |stream, items, work| {
        let (_, none) = stream.enumerate("none", items, |_| std::iter::empty::<u64>());
        let node = stream.node("heavy", none).aggregate_channel::<u64>("out", 1);
        node.end(move |_, out| (work.work(), out.push(1)).1).run(|_, _| {})
    });
    assert!(before <= 250, "{before}");
}

/// Runs a stream over one item of a source with a short patience, which becomes 500 heavy ones. Says how many of them had begun when
/// one was seen.
fn begun_of_one(workers: usize, ordered: bool, one: Source<u64>) -> u64 {
    let work = UntilSeen::default();
    let stream = Stream::new("one").width(4);
    let mut stream = if ordered { stream.ordered() } else { stream };
    let items = stream.source("one", one);
    let theirs = work.clone();
    let items = stream.node("heavy", items).expand(move |_| {
        let work = theirs.clone();
        (0..500).inspect(move |_| work.work())
    });
    stream.sink("seen", items, sink::callback(work.sink()));
    stream.plan().unwrap().run(&loom(workers)).unwrap();
    work.seen()
}

#[test]
fn a_reader_s_patience_holds_for_heavy_items_too() {
    for workers in [1, 2] {
        let one = source::reader(std::iter::once(Ok::<u64, String>(1)), Duration::from_millis(2));
        let before = begun_of_one(workers, false, one);
        assert!(before <= 250, "{workers} workers: {before}");
    }
}

#[test]
fn the_patience_of_a_source_whose_items_are_numbered_holds_for_heavy_items_too() {
    let (to, from) = mpsc::channel();
    to.send(1).unwrap();
    drop(to);
    let before = begun_of_one(2, true, source::receiver(from, Duration::from_millis(2)));
    assert!(before <= 250, "{before}");
}

#[test]
fn a_patience_is_looked_at_soon_where_live_items_become_heavy() {
    let work = UntilSeen::default();
    let (giver, items) = source::buffer(5000, Duration::from_millis(2));
    (0..5000).for_each(|n| giver.give(n).unwrap());
    drop(giver);
    // Queues are large, so that a node takes very many at once by then. Few of what becomes of them are near at once.
    let mut stream = Stream::new("become").width(4).queue_scale(500).fuse(false);
    let items = stream.source("numbers", items);
    let theirs = work.clone();
    let items = stream.node("map", items).map(move |n: &u64| {
        if *n >= 4500 {
            theirs.work();
        }
        [u8::from(*n >= 4500); 1024]
    });
    let sink = work.sink();
    let heavy_ones = move |items: &[[u8; 1024]]| {
        if items.iter().any(|item| item[0] == 1) {
            sink(&[]);
        }
    };
    stream.sink("seen", items, sink::callback(heavy_ones));
    stream.plan().unwrap().run(&loom(1)).unwrap();
    let before = work.seen();
    assert!((1..=60).contains(&before), "{before}");
}

/// Somebody who wishes a flush while a node is at work, and a node that goes on when the wish is there.
fn wished_in_the_middle() -> (impl Fn() + Send + Sync + 'static, impl FnOnce(&Running)) {
    let ((at_work, is_at_work), (wished, is_wished)) = (mpsc::channel(), mpsc::channel());
    let gate = Mutex::new((at_work, is_wished));
    let wait = move || {
        let (at_work, is_wished) = &*gate.lock().unwrap();
        at_work.send(()).unwrap();
        is_wished.recv().unwrap();
    };
    let wish = move |running: &Running| {
        is_at_work.recv().unwrap();
        running.flush();
        wished.send(()).unwrap();
    };
    (wait, wish)
}

#[test]
fn a_node_that_hurries_does_nothing_more_before_those_behind_it_have() {
    let (wait, wish) = wished_in_the_middle();
    let (runs, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (theirs, noted) = (Arc::clone(&runs), Arc::clone(&seen));
    let mut stream = Stream::new("wished").width(10);
    // They are there, so each step is a run.
    let items = stream.source("numbers", source::slice((0..1000).collect::<Vec<u64>>()));
    let items = stream.node("runs", items).channel::<u64>("out", 1).run(move |run, out| {
        if theirs.fetch_add(1, Ordering::SeqCst) == 2 {
            wait();
        }
        run.items().iter().for_each(|n| out.push(*n));
    });
    let note = move |_: &[u64]| {
        _ = noted.compare_exchange(0, runs.load(Ordering::SeqCst), Ordering::SeqCst, Ordering::SeqCst);
    };
    stream.sink("seen", items, sink::callback(note));
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    wish(&running);
    running.wait().unwrap();
    assert_eq!(seen.load(Ordering::SeqCst), 3);
}

#[test]
fn a_node_that_hurries_takes_what_is_behind_the_last_boundary_in_the_same_run() {
    let (wait, wish) = wished_in_the_middle();
    let mut stream = Stream::new("hurry").width(64).span_regions(true).fuse(false);
    let items = stream.source("numbers", source::range(0..20));
    let (_, elements) = stream.enumerate("elements", items, |n| 2 * n..2 * n + 2);
    // Three at first, so that the second parent is not at its end when the wish is seen.
    let elements = stream.node("first", elements).width(3).map(move |n: &u64| {
        if *n == 1 {
            wait();
        }
        *n
    });
    let elements = stream.node("behind", elements).map(|n| *n);
    stream.discard("nowhere", elements);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    wish(&running);
    let report = running.wait().unwrap();
    let node = report.node("behind").unwrap();
    assert_eq!((node.inputs, node.runs), (40, 2), "what is there at the wish, and the rest");
}

/// The last items are heavy, when nobody expects it any more: a node takes very many at once by then.
fn heavy_at_the_end(stream: &mut Stream, work: impl Fn() + Send + Sync + 'static) {
    let items = stream.source("numbers", source::range(0..1_010_000));
    // Few of what becomes of them fit into the nearest cache.
    let items = stream.node("map", items).map(move |n: &u64| {
        if *n >= 1_000_000 {
            work();
        }
        [*n as u8; 1024]
    });
    stream.discard("nowhere", items);
}

#[test]
fn a_wish_to_stop_is_seen_soon_where_items_become_heavy() {
    let (begun, has_begun) = mpsc::channel();
    let count = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&count);
    let mut stream = Stream::new("cancelled").width(4);
    heavy_at_the_end(&mut stream, move || {
        if theirs.fetch_add(1, Ordering::SeqCst) == 0 {
            begun.send(()).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
    });
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    has_begun.recv().unwrap();
    running.cancel();
    let before = count.load(Ordering::SeqCst);
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    let after = count.load(Ordering::SeqCst) - before;
    assert!(after <= 24, "{after}");
}

#[test]
fn items_that_become_heavy_are_shared() {
    let (mut stream, seen) = (Stream::new("shared").width(4), Seen::default());
    let theirs = seen.clone();
    let items = stream.source("numbers", source::range(0..1_000_100));
    let items = stream.node("map", items).map(move |n: &u64| {
        if (500_000..500_100).contains(n) {
            theirs.work();
        }
        [*n as u8; 1024]
    });
    stream.discard("nowhere", items);
    stream.plan().unwrap().run(&loom(2)).unwrap();
    let (most, all) = seen.most();
    assert!(all == 100 && most <= 90, "{most} of {all}");
}
