//! A stream that is under way allocates nothing: all space is there when its queues and states have been full once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_stream::{Output, Raise, Stream, sink, source};

use crate::loom;

/// The system's allocator, which counts how often each thread asks for memory, and how many bytes it has.
pub(crate) struct Counting;

thread_local! {
    static ASKED: Cell<u64> = const { Cell::new(0) };
    /// How many bytes this thread has asked for and not given back, and the most of that since somebody began to look. What another
    /// thread gives back counts there.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// How often this thread has asked for memory.
fn asked() -> u64 {
    ASKED.with(Cell::get)
}

/// How many bytes this thread has. From now on it is looked at how many it has at most.
pub(crate) fn look() -> isize {
    HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    })
}

/// How many bytes this thread had at most since it was looked at.
pub(crate) fn most() -> isize {
    HELD.with(|held| held.get().1)
}

fn count() {
    // A thread that ends may still ask, when it has no counter any more.
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + 1));
}

fn hold(bytes: isize) {
    let _ = HELD.try_with(|held| {
        let (now, most) = held.get();
        held.set((now + bytes, most.max(now + bytes)));
    });
}

// SAFETY: all is done by the system's allocator; counting asks for no memory, as the counter is made by the compiler.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        hold(layout.size() as isize);
        // SAFETY: the caller keeps the rules of `GlobalAlloc`, which are the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        hold(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        hold(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// How many numbers there are; what comes before the half of them is to fill all space once.
const NUMBERS: u64 = 200_000;

/// How often a stream of numbers asks for memory in the second half of them. How much a node does at once depends on the clock:
/// if a run is disturbed in its first half, space may grow once more in the second. So it is the least of some runs.
fn asked_under_way(name: &str, describe: impl Fn(&mut Stream, Output<u64>) -> Output<u64>) -> u64 {
    let mut least = u64::MAX;
    for _ in 0..5 {
        least = least.min(asked_in_one_run(name, &describe));
        if least == 0 {
            break;
        }
    }
    least
}

/// Runs a stream of numbers on one worker, and says how often its thread asked for memory in the second half of them.
fn asked_in_one_run(name: &str, describe: impl FnOnce(&mut Stream, Output<u64>) -> Output<u64>) -> u64 {
    let seen: Arc<[AtomicU64; 2]> = Arc::default();
    let theirs = Arc::clone(&seen);
    let mut stream = Stream::new(name);
    let numbers = source::indexed(NUMBERS, move |number| {
        // A number that is made again would only be looked at later, and count more.
        match number {
            _ if number == NUMBERS / 2 => theirs[0].store(asked(), Ordering::Relaxed),
            _ if number + 1 == NUMBERS => theirs[1].store(asked(), Ordering::Relaxed),
            _ => {}
        }
        number
    });
    let numbers = stream.source("numbers", numbers);
    let result = describe(&mut stream, numbers);
    let add = |sum: &mut u64, items: &[u64]| *sum += items.iter().sum::<u64>();
    stream.sink("sum", result, sink::fold(|| 0_u64, add, |sum| assert!(sum > 0)));
    stream.run(&loom(1)).unwrap();
    let [half, all] = [0, 1].map(|at| seen[at].load(Ordering::Relaxed));
    assert!(half > 0, "whoever makes a stream asks for memory");
    all - half
}

#[test]
fn what_allocates_is_counted() {
    let asked = asked_in_one_run("allocates", |stream, numbers| {
        stream.node("box", numbers).map(|n| *std::hint::black_box(Box::new(*n)))
    });
    assert!(asked >= NUMBERS / 3, "{asked}");
}

#[test]
fn filters_and_expansions_allocate_nothing_under_way() {
    let asked = asked_under_way("filters", |stream, numbers| {
        let odd = stream.node("odd", numbers).filter(|n| n % 2 == 1);
        let more = stream.node("more", odd).select(|n: u64| (n + 1, !n.is_multiple_of(3)));
        let (low, high) = stream.node("split", more).split(|n: u64| (n, n % 10 < 5));
        stream.discard("high", high);
        let many = stream.node("many", low).expand(|n| n..n + n % 4);
        stream
            .node("some", many)
            .width(50)
            .channel::<u64>("out", 2)
            .each(|n, out| (0..n % 3).for_each(|_| out.push(*n)))
    });
    assert_eq!(asked, 0);
}

#[test]
fn regions_allocate_nothing_under_way() {
    for spans in [None, Some(true), Some(false)] {
        let asked = asked_under_way("regions", |stream, numbers| {
            if let Some(spans) = spans {
                *stream = std::mem::replace(stream, Stream::new("spans")).span_regions(spans);
            }
            let (outer, elements) = stream.enumerate("outer", numbers, |n| *n..n + n % 5);
            let (_, elements) = stream.enumerate("inner", elements, |n| *n..n + n % 3);
            let kept = stream.node("kept", elements).select(|n: u64| (n, !n.is_multiple_of(7)));
            let node = stream.node("parents", kept).state(|| 0).channel::<u64>("out", 1);
            let node =
                node.begin(move |run, _| *run.state() = *run.parent(outer)).end(|run, out| out.push(*run.state()));
            let seen = node.run(|run, out| run.items().iter().for_each(|n| out.push(*n)));
            let sums = stream.node("inner sums", seen).aggregate_sum(|n| *n, |_, sum| sum);
            stream.node("outer sums", sums).aggregate(|| 0, |sum, n| *sum += n, |sum| sum)
        });
        assert_eq!(asked, 0, "{spans:?}");
    }
}

#[test]
fn signals_allocate_nothing_under_way_whatever_their_values() {
    let asked = asked_under_way("signals", |stream, numbers| {
        let (small, large) = (stream.signal::<u64>(), stream.signal::<[u64; 20]>());
        let node = stream.node("raise", numbers).signals(200, 1).channel::<u64>("out", 1).channel::<u64>("other", 1);
        let (out, other) = node.run(move |run, both| {
            for n in run.items() {
                both.0.push(*n);
                if n % 5 == 0 {
                    both.0.raise(small, *n);
                }
                if n % 7 == 0 {
                    both.1.push(*n);
                    // One value for both, which is done with on one way sooner than on the other.
                    both.raise_on_all(large, [*n; 20]);
                }
            }
        });
        stream.discard("other end", other);
        let more = stream.node("more", out).map(|n| n + 1);
        let node = stream.node("handle", more).state(|| 0).channel::<u64>("out", 1);
        let node =
            node.on(small, |run, _, value| *run.state() += value).on(large, |run, _, value| *run.state() += value[3]);
        node.run(|run, out| {
            let (items, seen) = (run.items(), *run.state());
            items.iter().for_each(|n| out.push(n + seen % 2));
        })
    });
    assert_eq!(asked, 0);
}

#[test]
fn joins_and_loops_allocate_nothing_under_way() {
    let asked = asked_under_way("joins and loops", |stream, numbers| {
        let (region, elements) = stream.enumerate("elements", numbers, |n| *n..n + n % 6);
        let (left, right) = stream.node("split", elements).split(|n: u64| (n, n.is_multiple_of(3)));
        let left = stream.node("left", left).map(|n| n + 1);
        let both = stream.node("both", [left, right]).map(|n| n % 100);
        let node = stream.node("loop", both);
        let again = node.input();
        let node = node.channel::<u64>("again", 1).channel::<u64>("done", 1);
        let (back, done) = node.each(|n, (back, done)| if *n < 90 { back.push(n + 7) } else { done.push(*n) });
        let back = stream.node("back", back).map(|n| n + 1);
        stream.back_edge(back, again, 1);
        let node = stream.node("own loop", done);
        let again = node.input();
        let node = node.channel::<u64>("again", 1).channel::<u64>("done", 1);
        let (back, done) = node.each(|n, (back, done)| if *n % 4 > 0 { back.push(n - 1) } else { done.push(*n) });
        stream.back_edge(back, again, 1);
        let node = stream.node("ends", done).aggregate_channel::<u64>("out", 1);
        node.end(move |run, out| out.push(*run.parent(region))).run(|_, _| {})
    });
    assert_eq!(asked, 0);
}
