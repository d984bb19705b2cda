//! A reader that blocks holds nobody up: what it gave comes to its end, and a wish to flush or to cancel is seen at once.

use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use drawloom_stream::{Error, ErrorKind, Plan, Settings, Source, Stream, sink, source};

use crate::{in_time, loom};

/// An item, or an error of the reader's.
type Read<T> = Result<T, io::Error>;

/// An iterator that blocks until it is sent something. It says when it is dropped.
struct Blocking<T> {
    items: mpsc::Receiver<Read<T>>,
    asked: Arc<AtomicU64>,
    dropped: mpsc::Sender<()>,
}

/// Who sends to it.
struct Other<T> {
    sender: mpsc::Sender<Read<T>>,
    asked: Arc<AtomicU64>,
    is_dropped: mpsc::Receiver<()>,
}

fn blocking<T>() -> (Other<T>, Blocking<T>) {
    let ((sender, items), (dropped, is_dropped)) = (mpsc::channel(), mpsc::channel());
    let asked = Arc::new(AtomicU64::new(0));
    (Other { sender, asked: Arc::clone(&asked), is_dropped }, Blocking { items, asked, dropped })
}

impl<T> Other<T> {
    fn send(&self, items: impl IntoIterator<Item = T>) {
        items.into_iter().for_each(|item| self.sender.send(Ok(item)).unwrap());
    }
}

impl<T> Iterator for Blocking<T> {
    type Item = Read<T>;

    fn next(&mut self) -> Option<Read<T>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.items.recv().ok()
    }
}

impl<T> Drop for Blocking<T> {
    fn drop(&mut self) {
        _ = self.dropped.send(());
    }
}

/// A stream into a channel.
fn told(numbers: Source<u64>, ordered: bool) -> (Plan, mpsc::Receiver<u64>) {
    let (to, from) = mpsc::channel();
    let mut stream = Stream::new("told").width(128);
    if ordered {
        stream = stream.ordered();
    }
    let numbers = stream.source("numbers", numbers);
    let numbers = stream.node("same", numbers).filter(|_| true);
    let tell = move |items: &[u64]| items.iter().for_each(|item| _ = to.send(*item));
    stream.sink("told", numbers, sink::callback(tell));
    (stream.plan().unwrap(), from)
}

/// Runs something with one, two and three workers, in order or not.
fn each(what: impl Fn(usize, bool) + Send + 'static) {
    in_time(move || {
        for (workers, ordered) in [(1, false), (1, true), (2, false), (2, true), (3, false), (3, true)] {
            what(workers, ordered);
        }
    });
}

fn sorted(items: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut items: Vec<u64> = items.collect();
    items.sort_unstable();
    items
}

#[test]
fn items_come_to_their_end_while_a_reader_blocks() {
    each(|workers, ordered| {
        let (other, items) = blocking();
        let (plan, from) = told(source::reader(items, Duration::from_millis(1)), ordered);
        let running = plan.start(&loom(workers), &Settings::new()).unwrap();
        for n in 0..10 {
            other.send(5 * n..5 * n + 5);
            // Whoever sends waits for these, and the reader for whoever sends.
            assert_eq!(sorted(from.iter().take(5)), Vec::from_iter(5 * n..5 * n + 5), "{workers} workers");
        }
        drop(other);
        running.wait().unwrap();
    });
}

#[test]
fn items_of_a_reader_that_blocks_are_flushed_on_demand() {
    each(|workers, ordered| {
        let (other, items) = blocking();
        let (plan, from) = told(source::reader(items, Duration::MAX), ordered);
        let running = plan.start(&loom(workers), &Settings::new()).unwrap();
        other.send(0..3);
        while running.given() < 3 {
            thread::yield_now();
        }
        running.flush();
        assert_eq!(sorted(from.iter().take(3)), [0, 1, 2], "{workers} workers");
        drop(other);
        running.wait().unwrap();
    });
}

#[test]
fn a_run_whose_reader_blocks_is_cancelled_at_once() {
    each(|workers, ordered| {
        let (other, items) = blocking();
        let (plan, from) = told(source::reader(items, Duration::MAX), ordered);
        let running = plan.start(&loom(workers), &Settings::new()).unwrap();
        other.send(0..3);
        while other.asked.load(Ordering::SeqCst) < 4 {
            thread::yield_now();
        }
        running.cancel();
        assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        // Nobody has let the reader go on yet. Now it ends with that call, and a later run has nothing of it.
        other.send([3]);
        other.is_dropped.recv().unwrap();
        assert_eq!(other.asked.load(Ordering::SeqCst), 4);
        from.try_iter().for_each(drop);
        plan.run(&loom(workers)).unwrap();
        assert_eq!(from.try_iter().count(), 0, "{workers} workers");
    });
}

#[test]
fn a_run_that_fails_does_not_wait_for_its_reader() {
    in_time(|| {
        for workers in [1, 2, 3] {
            let (other, items) = blocking();
            let mut stream = Stream::new("fails");
            let numbers = stream.source("numbers", source::reader(items, Duration::ZERO));
            let numbers = stream.node("breaks", numbers).try_map(|n: &u64| if *n < 3 { Ok(*n) } else { Err("three") });
            stream.discard("nowhere", numbers);
            other.send(0..4);
            let error = stream.run(&loom(workers)).unwrap_err();
            assert_eq!((error.kind(), error.node()), (ErrorKind::Failed, Some("breaks")), "{error}");
            other.send([4]);
            other.is_dropped.recv().unwrap();
        }
    });
}

#[test]
fn what_was_read_ahead_is_dropped_when_the_run_is_over() {
    in_time(|| {
        for workers in [1, 2, 3] {
            let (other, items) = blocking();
            let mut stream = Stream::new("full").width(4).queue_scale(1);
            let items = stream.source("items", source::reader(items, Duration::ZERO));
            let (to, drain) = sink::buffer(1);
            stream.sink("full", items, to);
            let plan = stream.plan().unwrap();
            let running = plan.start(&loom(workers), &Settings::new()).unwrap();
            let item = Arc::new(());
            other.send(std::iter::repeat_n(&item, 500).cloned());
            while other.asked.load(Ordering::SeqCst) <= 500 {
                thread::yield_now();
            }
            running.cancel();
            assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
            drain.for_each(drop);
            assert_eq!(Arc::strong_count(&item), 1, "the reader blocks, and has none of them");
        }
    });
}

#[test]
fn a_reader_that_waits_for_room_ends_with_the_run() {
    in_time(|| {
        for workers in [1, 2] {
            let (other, items) = blocking();
            let mut stream = Stream::new("full").width(4).queue_scale(1);
            let items = stream.source("items", source::reader(items, Duration::ZERO));
            let (to, _drain) = sink::buffer(1);
            stream.sink("full", items, to);
            let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
            other.send(0..10_000);
            while other.asked.load(Ordering::SeqCst) <= 1024 {
                thread::yield_now();
            }
            drop(running);
            other.is_dropped.recv().unwrap();
            assert!(other.asked.load(Ordering::SeqCst) < 2000);
        }
    });
}

#[test]
fn a_reader_waits_for_room_and_nothing_is_lost() {
    in_time(|| {
        for workers in [1, 2, 3] {
            let asked = Arc::new(AtomicU64::new(0));
            let theirs = Arc::clone(&asked);
            let items = (0..20_000_u64).inspect(move |_| _ = theirs.fetch_add(1, Ordering::SeqCst));
            let mut stream = Stream::new("pressure").width(16).queue_scale(1);
            let items = stream.source("numbers", source::reader(items.map(Ok::<u64, String>), Duration::MAX));
            let (to, drain) = sink::buffer(1);
            stream.sink("to", items, to);
            let running = stream.plan().unwrap().start(&loom(workers), &Settings::new()).unwrap();
            let (mut all, mut ahead) = (Vec::new(), 0);
            for item in drain {
                all.push(item);
                ahead = ahead.max(asked.load(Ordering::SeqCst) - all.len() as u64);
            }
            let report = running.wait().unwrap();
            assert!(sorted(all.into_iter()).into_iter().eq(0..20_000), "{workers} workers");
            let queues = workers * report.edges.iter().map(|edge| edge.capacity).sum::<usize>();
            // One is on its way into what is read ahead, and the sink has one.
            assert!(ahead <= (1024 + queues + 2) as u64, "{ahead} items");
        }
    });
}

#[test]
fn items_of_a_reader_keep_their_order() {
    in_time(|| {
        for workers in [1, 2, 3] {
            let items = (0..5000).map(Ok::<u64, String>);
            let (plan, from) = told(source::reader(items, Duration::from_micros(50)), true);
            plan.run(&loom(workers)).unwrap();
            assert!(from.try_iter().eq(0..5000), "{workers} workers");
        }
    });
}

#[test]
fn an_error_of_a_reader_is_the_source_of_the_runs() {
    each(|workers, ordered| {
        let items = (0..5000).map(|n| if n == 3000 { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(n) });
        let (plan, from) = told(source::reader::<_, io::Error>(items, Duration::MAX), ordered);
        let error = plan.run(&loom(workers)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Source, Some("numbers")), "{error}");
        let why = error.source().and_then(|source| source.downcast_ref::<io::Error>()).map(io::Error::kind);
        assert_eq!(why, Some(io::ErrorKind::ConnectionReset), "{error}");
        assert!(from.try_iter().all(|n| n < 3000));
        plan.run(&loom(workers)).unwrap();
        assert_eq!(from.try_iter().count(), 0);
    });
}

#[test]
fn a_panic_of_a_reader_is_an_error_that_names_the_source() {
    each(|workers, ordered| {
        let items = (0..5000).inspect(|n| assert!(*n != 3000, "the real reason")).map(Ok::<u64, String>);
        let (plan, _from) = told(source::reader(items, Duration::MAX), ordered);
        let error: Error = plan.run(&loom(workers)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("numbers")), "{error}");
        assert!(error.to_string().contains("the real reason"), "{error}");
        plan.run(&loom(workers)).unwrap();
    });
}

#[test]
fn the_first_run_has_the_items_of_a_reader_and_those_beside_it_have_none() {
    in_time(|| {
        let (other, items) = blocking();
        let (plan, from) = told(source::reader(items, Duration::ZERO), false);
        let first = plan.start(&loom(1), &Settings::new()).unwrap();
        plan.run(&loom(2)).unwrap();
        other.send(0..3);
        assert!(from.iter().take(3).eq(0..3));
        drop(other);
        first.wait().unwrap();
    });
}

#[test]
fn a_reader_has_a_thread_with_a_name_when_it_runs_and_none_before() {
    in_time(|| {
        let (other, items) = blocking::<u64>();
        drop(told(source::reader(items, Duration::ZERO), false));
        other.is_dropped.recv().unwrap();
        assert_eq!(other.asked.load(Ordering::SeqCst), 0);

        let items = std::iter::once_with(|| match thread::current().name() {
            Some("drawloom-reader") => Ok(1),
            name => Err(format!("it is called {name:?}")),
        });
        let (plan, from) = told(source::reader(items, Duration::ZERO), false);
        plan.run(&loom(1)).unwrap();
        assert!(from.try_iter().eq([1]));
    });
}
