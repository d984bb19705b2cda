//! Iterators that are slow do not hold back what they gave before, and nobody waits for them without need.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use drawloom_stream::{ErrorKind, Plan, Settings, Stream, sink, source};

use crate::{in_time, loom};

/// How many items an iterator gave.
type Given = Arc<AtomicU64>;

/// A stream over an endless iterator that takes a millisecond for each item, or longer. The sink is told which items it got, and how
/// many there were when it did.
fn slow(patience: Duration, told: impl Fn(&[u64], u64) + Send + Sync + 'static) -> (Plan, Given) {
    let given = Given::default();
    let (theirs, seen) = (Arc::clone(&given), Arc::clone(&given));
    let items = std::iter::repeat_with(move || {
        thread::sleep(Duration::from_millis(1));
        theirs.fetch_add(1, Ordering::SeqCst)
    });
    let mut stream = Stream::new("slow");
    let items = stream.source("numbers", source::iter(items).patience(patience));
    let items = stream.node("same", items).filter(|_| true);
    stream.sink("told", items, sink::callback(move |items: &[u64]| told(items, seen.load(Ordering::SeqCst))));
    (stream.plan().unwrap(), given)
}

#[test]
fn items_of_a_slow_iterator_come_to_their_end_in_time() {
    let (to, from) = mpsc::channel();
    let (plan, _) = slow(Duration::from_millis(5), move |items, given| to.send((items.to_vec(), given)).unwrap());
    let running = plan.start(&loom(1), &Settings::new()).unwrap();
    let mut next = 0;
    for (items, given) in from.iter().take(10) {
        assert!((1..=5).contains(&items.len()), "{} items", items.len());
        assert_eq!((items[0], given), (next, next + items.len() as u64), "nothing waits for more items");
        next = given;
    }
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn items_of_a_slow_iterator_are_flushed_on_demand() {
    let (to, from) = mpsc::channel();
    let (plan, given) = slow(Duration::MAX, move |items, _| to.send(items.to_vec()).unwrap());
    let running = plan.start(&loom(1), &Settings::new()).unwrap();
    while given.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
    running.flush();
    assert!(from.recv().unwrap().len() < 100);
}

#[test]
fn a_wish_to_stop_is_seen_between_items_of_a_slow_iterator() {
    for workers in [1, 2] {
        let (plan, given) = slow(Duration::MAX, |_, _| ());
        let running = plan.start(&loom(workers), &Settings::new()).unwrap();
        while given.load(Ordering::SeqCst) < 5 {
            thread::yield_now();
        }
        running.cancel();
        let before = given.load(Ordering::SeqCst);
        assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
        let more = given.load(Ordering::SeqCst) - before;
        assert!(more <= workers as u64, "{more} items");
    }
}

#[test]
fn who_waits_for_an_iterator_that_another_asks_flushes_what_it_has() {
    in_time(|| {
        let ((go_on, gate), (to, from)) = (mpsc::channel::<()>(), mpsc::channel());
        let gate = Mutex::new(gate);
        let items = (0..51_u64).inspect(move |n| match n {
            50 => _ = gate.lock().unwrap().recv(),
            _ => thread::sleep(Duration::from_millis(1)),
        });
        let mut stream = Stream::new("gate");
        let items = stream.source("numbers", source::iter(items).patience(Duration::from_millis(10)));
        stream.sink("told", items, sink::callback(move |items: &[u64]| to.send(items.len()).unwrap()));
        let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
        // The copy that asks for the last item may hold up to ten others. What the other copy has comes to its end.
        let mut come = 0;
        while come < 50 - 10 {
            come += from.recv().unwrap();
        }
        drop(go_on);
        running.wait().unwrap();
        assert_eq!(come + from.iter().sum::<usize>(), 51);
    });
}

#[test]
fn a_quick_iterator_gives_full_vectors() {
    let mut stream = Stream::new("quick").width(128).fuse(false);
    let items = stream.source("numbers", source::iter(0..100_000_u64));
    let items = stream.node("third", items).filter(|n| n % 3 == 0);
    let result = stream.collect("result", items);
    let report = stream.plan().unwrap().run(&loom(1)).unwrap();
    let runs = |name: &str| report.node(name).unwrap().runs;
    assert_eq!((runs("third"), runs("result")), (100_000_u64.div_ceil(128), 33_334_u64.div_ceil(128)));
    assert!(result.take().into_iter().eq((0..100_000).step_by(3)));
}

#[test]
fn an_iterator_that_panics_stops_all_workers_and_is_not_asked_again() {
    in_time(|| {
        let items = (0..100_u64).inspect(|n| {
            thread::sleep(Duration::from_millis(1));
            assert!(*n < 20, "no more");
        });
        let mut stream = Stream::new("panics");
        let items = stream.source("numbers", source::iter(items));
        let result = stream.collect("result", items);
        let (plan, loom) = (stream.plan().unwrap(), loom(2));
        let error = plan.run(&loom).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("numbers")), "{error}");
        result.take();
        plan.run(&loom).unwrap();
        assert_eq!(result.take(), [0_u64; 0], "a later run has no items");
    });
}

#[test]
fn why_an_iterator_panicked_is_told_however_many_workers_ask_it() {
    in_time(|| {
        for (workers, ordered) in [(1, false), (2, false), (3, false), (2, true)] {
            let loom = loom(workers);
            for _ in 0..100 {
                let mut stream = Stream::new("panics");
                if ordered {
                    stream = stream.ordered();
                }
                let items = (0..100_000_u64).inspect(|n| assert!(*n != 5000, "the real reason"));
                let items = stream.source("numbers", source::iter(items));
                stream.discard("nowhere", items);
                let error = stream.run(&loom).unwrap_err();
                assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("numbers")), "{error}");
                assert!(error.to_string().contains("the real reason"), "{error}");
            }
        }
    });
}

/// An iterator that panics when it is dropped, and asked for its fourth item if that is wanted.
struct Fragile(u64, End);

#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    Well,
    Error,
    Panic,
}

impl Iterator for Fragile {
    type Item = Result<u64, &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0 += 1;
        match self.1 {
            _ if self.0 < 4 => Some(Ok(self.0)),
            End::Well => None,
            End::Error => Some(Err("an error")),
            End::Panic => panic!("the real reason"),
        }
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        std::panic::panic_any("its drop");
    }
}

#[test]
fn an_iterator_that_cannot_be_dropped_does_not_hide_why_it_ended() {
    in_time(|| {
        for end in [End::Well, End::Error, End::Panic] {
            for (workers, read) in [(1, false), (2, false), (3, false), (1, true), (2, true)] {
                let mut stream = Stream::new("fragile");
                let items = Fragile(0, end);
                let items = if read { source::reader(items, Duration::MAX) } else { source::fallible(items) };
                let items = stream.source("numbers", items);
                stream.discard("nowhere", items);
                let (plan, loom) = (stream.plan().unwrap(), loom(workers));
                let error = plan.run(&loom).unwrap_err();
                let (kind, why) = match end {
                    End::Well => (ErrorKind::Panic, "its drop"),
                    End::Error => (ErrorKind::Source, "an error"),
                    End::Panic => (ErrorKind::Panic, "the real reason"),
                };
                assert_eq!((error.kind(), error.node()), (kind, Some("numbers")), "{end:?}: {error}");
                assert!(error.to_string().contains(why), "{end:?}: {error}");
                plan.run(&loom).unwrap();
            }
        }
    });
}

#[test]
fn what_a_failed_run_left_is_not_given_to_the_next() {
    in_time(|| {
        for workers in [2, 3] {
            let loom = loom(workers);
            for _ in 0..200 {
                // Few heavy items, so that copies give back what others can do.
                let numbers = (0..200_u64).map(|n| if n == 199 { Err("torn") } else { Ok(n) });
                let mut stream = Stream::new("torn").width(4);
                let items = stream.source("numbers", source::fallible(numbers));
                let items = stream.node("heavy", items).map(|n| {
                    let begun = Instant::now();
                    while begun.elapsed() < Duration::from_micros(20) {
                        std::hint::spin_loop();
                    }
                    *n
                });
                let result = stream.collect("result", items);
                let plan = stream.plan().unwrap();
                assert_eq!(plan.run(&loom).unwrap_err().kind(), ErrorKind::Source);
                result.take();
                plan.run(&loom).unwrap();
                assert_eq!(result.take(), [0_u64; 0], "{workers} workers");
            }
        }
    });
}
