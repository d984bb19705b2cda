//! Sources whose items have positions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use drawloom_stream::{ErrorKind, Settings, Stream, source};

use crate::loom;

#[test]
fn one_worker_makes_each_item_once_and_in_order() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&made);
    let mut stream = Stream::new("once").width(100);
    let items = source::indexed(100_000, move |n| {
        theirs.lock().unwrap().push(n);
        n
    });
    let items = stream.source("numbers", items);
    let odd = stream.node("odd", items).filter(|n: &u64| n % 2 == 1);
    let odd = stream.collect("odd numbers", odd);
    stream.plan().unwrap().run(&loom(1)).unwrap();
    assert!(made.lock().unwrap().iter().copied().eq(0..100_000));
    assert!(odd.take().into_iter().eq((0..100_000).filter(|n| n % 2 == 1)));
}

#[test]
fn a_function_of_the_index_that_panics_is_told_by_the_name_of_its_source() {
    for workers in [1, 2] {
        let mut stream = Stream::new("panics");
        let items = source::indexed(10_000, |n| {
            assert_ne!(n, 7777, "the one that is not to be");
            n
        });
        let items = stream.source("numbers", items);
        let items = stream.node("same", items).map(|n: &u64| *n);
        stream.discard("nowhere", items);
        let error = stream.plan().unwrap().run(&loom(workers)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("numbers")), "{error}");
        assert!(error.to_string().contains("the one that is not to be"), "{error}");
    }
}

#[test]
fn a_wish_to_stop_is_seen_within_a_vector_of_items_that_are_heavy_to_make() {
    let (begun, has_begun) = mpsc::channel();
    let count = Arc::new(AtomicU64::new(0));
    let theirs = Arc::clone(&count);
    let items = source::indexed(100_000, move |n| {
        if theirs.fetch_add(1, Ordering::SeqCst) == 20 {
            begun.send(()).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
        n
    });
    let mut stream = Stream::new("cancelled").width(1000);
    let items = stream.source("numbers", items);
    stream.discard("nowhere", items);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new().workers(1)).unwrap();
    has_begun.recv().unwrap();
    running.cancel();
    let before = count.load(Ordering::SeqCst);
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(count.load(Ordering::SeqCst) - before <= 4);
}

#[test]
fn a_source_gives_no_more_than_fits_into_its_queue() {
    let (begun, has_begun) = mpsc::channel();
    let count = AtomicU64::new(0);
    let mut stream = Stream::new("progress").width(4);
    let items = stream.source("numbers", source::slice((0..1_000_000).collect::<Vec<u64>>()));
    let items = stream.node("heavy", items).map(move |n: &u64| {
        if count.fetch_add(1, Ordering::SeqCst) == 20 {
            begun.send(()).unwrap();
        }
        thread::sleep(Duration::from_millis(1));
        *n
    });
    stream.discard("nowhere", items);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    has_begun.recv().unwrap();
    let given = running.given();
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!((20..5000).contains(&given), "{given}");
}

#[test]
fn a_source_that_makes_items_does_not_wait_for_itself() {
    let mut stream = Stream::new("timed");
    let items = source::indexed(100, |n| {
        thread::sleep(Duration::from_micros(100));
        n
    });
    let items = stream.source("numbers", items);
    stream.discard("nowhere", items);
    let report = stream.plan().unwrap().start(&loom(1), &Settings::new().timed()).unwrap().wait().unwrap();
    let (made, waited) = (report.nodes[0].user, report.edges[0].blocked);
    assert!(made >= Duration::from_millis(10) && waited < made / 4, "{made:?} {waited:?}");
    assert!(report.nodes.iter().all(|node| node.overhead < made / 4), "{}", report.table());
}
