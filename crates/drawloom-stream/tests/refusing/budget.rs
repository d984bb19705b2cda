//! A run has no more memory than its stream may use, whatever its items, signals and parents are.
//!
//! Each stream is run with the least memory with which it is not refused, and with more. What its worker has at most during the run,
//! over what it has before, is that much and a little for the bookkeeping of nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_runtime::Loom;
use drawloom_stream::{Code, Output, Raise, Stream, source};

use crate::allocations::{look, most};
use crate::loom;

/// What a run has besides its memory, as the documentation of `Stream::memory` says: for each node, and once.
const FOR_EACH_NODE: usize = 2 << 10;
const ONCE: usize = 4 << 10;

/// An item of some bytes.
#[derive(Clone, Copy)]
struct Bytes<const N: usize>([u8; N]);

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Bytes<N> {
    fn of(number: u64) -> Self {
        Self([number as u8; N])
    }

    fn number(&self) -> u64 {
        u64::from(self.0[0])
    }
}

/// Describes the nodes of a stream behind its source, up to what is to go to a sink that keeps nothing.
type Describe<T> = fn(&mut Stream, Output<T>) -> Output<T>;

/// How a stream is described.
struct Case<T> {
    name: &'static str,
    width: usize,
    fuses: bool,
    items: u64,
    make: fn(u64) -> T,
    describe: Describe<T>,
}

impl<T: Copy + 'static> Case<T> {
    fn stream(&self, memory: usize) -> Stream {
        let mut stream = Stream::new(self.name).width(self.width).fuse(self.fuses).memory(memory);
        let items = stream.source("items", source::indexed(self.items, self.make));
        let result = (self.describe)(&mut stream, items);
        stream.discard("nowhere", result);
        stream
    }

    /// Whether it needs more. Nothing else is wrong with it.
    fn is_refused(&self, memory: usize) -> bool {
        let refused = self.stream(memory).plan().err();
        let codes = refused.iter().flat_map(|error| error.diagnostics()).map(|one| one.code());
        assert!(codes.clone().all(|code| code == Code::Memory), "{}: {refused:?}", self.name);
        refused.is_some()
    }

    /// The least memory with which it is not refused.
    fn least(&self) -> usize {
        let (mut low, mut high) = (0, 1 << 40);
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            *(if self.is_refused(middle) { &mut low } else { &mut high }) = middle;
        }
        high
    }

    /// Runs it twice with so much memory, and says how much there was at most. The second run has queues for what the first was like.
    fn held(&self, memory: usize, loom: &Loom) -> (usize, usize) {
        let plan = self.stream(memory).plan().unwrap();
        let (mut held, mut nodes) = (0, 0);
        for _ in 0..2 {
            let before = on_worker(loom, look);
            nodes = plan.run(loom).unwrap().nodes.len();
            held = held.max(usize::try_from(on_worker(loom, most) - before).unwrap());
        }
        (held, nodes)
    }

    /// Runs it with the least memory, and with more.
    fn check(&self, loom: &Loom) {
        let least = self.least();
        for memory in [least, least + 1000, least + least / 2, 3 * least, 20 * least] {
            let (held, nodes) = self.held(memory, loom);
            let allowed = memory + nodes * FOR_EACH_NODE + ONCE;
            let Self { name, width, fuses, .. } = self;
            let item = size_of::<T>();
            assert!(
                held <= allowed,
                "{name}: {held} bytes at most, where {memory} are to be used of at least {least}: items of {item} bytes, width {width}, {nodes} nodes, fused: {fuses}"
            );
        }
    }
}

/// Something that the only worker of an engine says.
fn on_worker(loom: &Loom, ask: fn() -> isize) -> isize {
    loom.task("ask").returns(ask).wait().unwrap()
}

/// Checks a stream for some sizes of items, in vectors of some widths, with its nodes alone and together.
macro_rules! check {
    ($describe:ident, $($bytes:literal),*) => {{
        let loom = loom(1);
        for (width, fuses) in [(1, true), (1, false), (8, true), (8, false), (128, true), (128, false)] {
            let name = stringify!($describe);
            $(
                let items = (3 * width as u64 + 400).min((64 << 20) / $bytes);
                let describe = $describe::<$bytes>;
                Case { name, width, fuses, items, make: Bytes::<$bytes>::of, describe }.check(&loom);
            )*
        }
    }};
}

fn chain<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let items = stream.node("map", items).map(|item| Bytes::of(item.number() + 1));
    let items = stream.node("filter", items).filter(|item| !item.number().is_multiple_of(7));
    stream.node("select", items).select(|item| (item, !item.number().is_multiple_of(5)))
}

#[test]
fn chains_stay_within_the_memory() {
    check!(chain, 1, 24, 65536);
}

fn join<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let (left, right) = stream.node("split", items).split(|item| (item, item.number().is_multiple_of(3)));
    let left = stream.node("left", left).map(|item| *item);
    stream.node("both", [left, right]).select(|item: Bytes<N>| (item, true))
}

#[test]
fn joins_stay_within_the_memory() {
    check!(join, 1, 65536);
}

fn gains<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let node = stream.node("three", items).signals(0, 0).channel::<Bytes<N>>("out", 3);
    let items = node.each(|item, out| (0..item.number() % 4).for_each(|_| out.push(*item)));
    let items = stream.node("many", items).expand(|item| std::iter::repeat_n(item, item.number() as usize % 5));
    let node = stream.node("run", items).channel::<Bytes<N>>("out", 2);
    node.run(|run, out| {
        out.extend_from_slice(run.items());
        out.select(run.items(), |item| (item, true));
    })
}

#[test]
fn gains_stay_within_the_memory() {
    check!(gains, 24, 65536);
}

fn regions<const N: usize, const PARENTS: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let (outer, elements) =
        stream.enumerate_with("outer", items, PARENTS, |item| std::iter::repeat_n(*item, item.number() as usize % 5));
    let seen = stream.node("seen", elements).signals(0, 0).channel::<Bytes<N>>("out", 1).run(move |run, out| {
        let parent = run.parent(outer).number();
        out.select(run.items(), |item| (item, item.number() == parent));
    });
    let (_, elements) =
        stream.enumerate_with("inner", seen, PARENTS, |item| std::iter::repeat_n(*item, item.number() as usize % 3));
    let some = stream.node("some", elements).map(|item| *item);
    let some = stream.node("same", some).filter(|_| true);
    let sums = stream.node("sums", some).aggregate_sum(|item| item.number(), |_, sum| Bytes::<N>::of(sum));
    let (_, numbers) = stream.enumerate_with("numbers", sums, PARENTS, |item| 0..item.number());
    let even = stream.node("even", numbers).select(|n: u64| (n as u32, n.is_multiple_of(2)));
    let sums = stream.node("even sums", even).aggregate_sum(|n| u64::from(*n), |_, sum| Bytes::<N>::of(sum));
    stream.node("last", sums).aggregate(Bytes::default, |to, item| *to = *item, |last| last)
}

fn one_parent<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    regions::<N, 1>(stream, items)
}

fn many_parents<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    regions::<N, 50>(stream, items)
}

#[test]
fn regions_stay_within_the_memory() {
    check!(one_parent, 1, 65536);
    check!(many_parents, 24, 1000);
}

fn signals<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let (large, small) = (stream.signal::<Bytes<N>>(), stream.signal::<u64>());
    let node = stream.node("raise", items).signals(40, 0).channel::<Bytes<N>>("out", 1).channel::<u64>("other", 1);
    // One kind for long, and then another: the space of the first is not to stay.
    let seen = Arc::new(AtomicU64::new(0));
    let (out, other) = node.run(move |run, both| {
        for item in run.items() {
            both.0.push(*item);
            match seen.fetch_add(1, Ordering::Relaxed) {
                at if at % 200 < 100 => both.0.raise(large, *item),
                at => both.raise_on_all(small, at),
            }
        }
    });
    let (_, numbers) = stream.enumerate_with("numbers", other, 4, |n| 0..n % 3);
    stream.discard("others", numbers);
    let out = stream.node("forward", out).map(|item| *item);
    let node = stream.node("handle", out).signals(0, 2).at_signals(1).channel::<Bytes<N>>("out", 1);
    let node = node.on(large, move |_, out, value: &Bytes<N>| {
        out.raise(large, *value);
        out.raise(large, *value);
    });
    node.on(small, |_, out, n| out.push(Bytes::of(*n))).run(|run, out| out.extend_from_slice(run.items()))
}

#[test]
fn the_values_of_signals_stay_within_the_memory() {
    let loom = loom(1);
    for width in [1, 8, 32] {
        let items = 600;
        Case { name: "signals", width, fuses: true, items, make: Bytes::<1>::of, describe: signals::<1> }.check(&loom);
        Case { name: "signals", width, fuses: false, items, make: Bytes::<9999>::of, describe: signals::<9999> }
            .check(&loom);
    }
}

fn loops<const N: usize>(stream: &mut Stream, items: Output<Bytes<N>>) -> Output<Bytes<N>> {
    let node = stream.node("own", items);
    let again = node.input();
    let node = node.channel::<Bytes<N>>("again", 2).channel::<Bytes<N>>("done", 1);
    let (back, items) = node.each(|item, (back, done)| match item.number() {
        n if n % 4 == 3 => (0..2).for_each(|_| back.push(Bytes::of(n - 1))),
        n if n % 4 > 0 => back.push(Bytes::of(n - 1)),
        _ => done.push(*item),
    });
    stream.back_edge(back, again, 2);
    let node = stream.node("far", items);
    let again = node.input();
    let node = node.channel::<Bytes<N>>("again", 1).channel::<Bytes<N>>("done", 1);
    let (back, done) =
        node.each(|item, (back, done)| if item.number() < 9 { done.push(*item) } else { back.push(*item) });
    let back = stream.node("back", back).map(|item| Bytes::of(item.number() / 2));
    stream.back_edge(back, again, 1);
    done
}

#[test]
fn loops_stay_within_the_memory() {
    check!(loops, 1, 1000, 65536);
}

/// Numbers have more space behind them than other items: whole registers are written.
#[test]
fn queues_of_numbers_stay_within_the_memory() {
    let loom = loom(1);
    let describe: Describe<u64> = |stream, items| {
        let items = stream.node("select", items).select(|n: u64| (n, !n.is_multiple_of(3)));
        let (even, odd) = stream.node("split", items).split(|n: u64| (n as u32, n.is_multiple_of(2)));
        stream.discard("odd", odd);
        stream.node("more", even).expand(|n| u64::from(n)..u64::from(n) + 3)
    };
    for (width, fuses) in [(1, true), (1, false), (8, false), (128, true)] {
        Case { name: "numbers", width, fuses, items: 5000, make: |n| n, describe }.check(&loom);
    }
}

/// The sizes of the defects that were found.
#[test]
fn what_does_not_fit_is_refused_and_what_fits_stays_within() {
    let loom = loom(1);
    let map: Describe<[u64; 8192]> = |stream, items| stream.node("map", items).map(|item| *item);
    let large = Case { name: "large", width: 1, fuses: true, items: 100, make: |n| [n; 8192], describe: map };
    assert!(large.is_refused(70_000), "two queues of an item each need more");
    assert!((131_072..140_000).contains(&large.least()), "{}", large.least());
    let signals: Describe<u64> = |stream, items| {
        let mark = stream.signal::<[u8; 10_000]>();
        let node = stream.node("raise", items).signals(128, 0).channel::<u64>("out", 1);
        node.run(move |run, out| {
            out.extend_from_slice(run.items());
            run.items().iter().for_each(|_| out.raise(mark, [1; 10_000]));
        })
    };
    let signals = Case { name: "signals", width: 128, fuses: true, items: 1000, make: |n| n, describe: signals };
    assert!(signals.is_refused(300_000), "a run may raise 128 signals");
    signals.check(&loom);
}
