//! Several edges into one node.

use drawloom_stream::{Stream, source};

use crate::loom;

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
fn several_sources_may_join() {
    let mut stream = Stream::new("sources").width(16);
    let a = stream.source("a", source::range(0..100));
    let b = stream.source("b", source::range(1000..1500));
    let all = stream.collect("all", [a, b]);
    stream.run(&loom(1)).unwrap();
    let mut all = all.take();
    all.sort_unstable();
    assert!(all.into_iter().eq((0..100).chain(1000..1500)));
}
