//! Nodes that need no queue between them run as one, and nothing else changes.

use drawloom_stream::{Collected, Plan, Stream, source};

use crate::loom;

/// A map, a filter, a selection and a split in a row, with signals that come from before them, and one node behind.
fn chain(fuse: bool, width: usize) -> (Plan, Collected<(u64, u64)>, Collected<u64>) {
    let mut stream = Stream::new("chain").width(width).fuse(fuse);
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..10_000));
    let marked = stream.node("mark", items).signals(width, 1).channel::<u64>("out", 1).each(move |n, out| {
        out.push(*n);
        if n % 100 == 7 {
            out.raise(mark, *n);
        }
    });
    let more = stream.node("more", marked).map(|n| n + 1);
    let odd = stream.node("odd", more).filter(|n| n % 2 == 1);
    let large = stream.node("large", odd).select(|n| (3 * n, n > 500));
    let (sixes, rest) = stream.node("split", large).split(|n| (n, n.is_multiple_of(5)));
    let node = stream.node("last", sixes).state(|| 0).channel::<(u64, u64)>("out", 1);
    let pairs = node.on(mark, |run, _, value| *run.state() = *value).run(|run, out| {
        let items = run.items();
        let last = *run.state();
        items.iter().for_each(|n| out.push((*n, last)));
    });
    let pairs = stream.collect("pairs", pairs);
    let rest = stream.collect("rest", rest);
    (stream.plan().unwrap(), pairs, rest)
}

#[test]
fn a_chain_gives_the_same_with_signals_in_their_places() {
    let mut expected = (Vec::new(), Vec::new());
    let mut last = 0;
    for number in 0..10_000_u64 {
        let n = number + 1;
        if n % 2 == 1 && n > 500 {
            if (3 * n).is_multiple_of(5) { expected.0.push((3 * n, last)) } else { expected.1.push(3 * n) }
        }
        // The signal comes behind the item.
        last = if number % 100 == 7 { number } else { last };
    }
    for width in [1, 7, 128, 1000] {
        for fuse in [false, true] {
            let (plan, pairs, rest) = chain(fuse, width);
            let report = plan.run(&loom(1)).unwrap();
            assert_eq!((pairs.take(), rest.take()), expected, "width {width}, fuse {fuse}");
            let inputs = |name: &str| report.node(name).unwrap().inputs;
            assert_eq!(["more", "odd", "large", "split"].map(inputs), [10_000, 10_000, 5000, 4750]);
        }
    }
}

#[test]
fn which_nodes_run_as_one_is_seen_everywhere() {
    let (plan, ..) = chain(true, 16);
    assert_eq!(plan.fused(), [["more", "odd", "large", "split"]]);
    let report = plan.run(&loom(2)).unwrap();
    let node = |name: &str| report.node(name).unwrap();
    assert_eq!(node("more").fused_into, None);
    assert!(node("more").runs >= 10_000 / 16);
    assert_eq!((node("large").fused_into.as_deref(), node("large").runs), (Some("more"), 0));
    assert!(report.table().contains("in more"), "{}", report.table());
    let large = "{\"name\":\"large\",\"is_source\":false,\"width\":16,\"inputs\":5000,\"fused_into\":\"more\"}";
    assert!(report.json().contains(large), "{}", report.json());
    assert!(plan.to_dot(Some(&report)).contains("in more"));
    let (plan, ..) = chain(false, 16);
    assert!(plan.fused().is_empty());
}

#[test]
fn what_needs_a_queue_stays_apart() {
    let mut stream = Stream::new("apart");
    let items = stream.source("numbers", source::range(0..100));
    let a = stream.node("a", items).map(|n| n + 1);
    let b = stream.node("b", a).width(7).map(|n| n + 1);
    let (_, elements) = stream.enumerate("each", b, |n| 0..*n % 5);
    let c = stream.node("c", elements).map(|n| n + 1);
    let d = stream.node("d", c).map(|n| n + 1);
    let d = stream.node("sum", d).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let (even, odd) = stream.node("split", d).split(|n| (n, n % 2 == 0));
    let e = stream.node("joined", [even, odd]).map(|n| n + 1);
    stream.discard("end", e);
    assert!(stream.plan().unwrap().fused().is_empty());
}

#[test]
fn a_panic_names_the_node_in_which_it_was() {
    let mut stream = Stream::new("wrong");
    let items = stream.source("numbers", source::range(0..1000));
    let a = stream.node("a", items).map(|n| n + 1);
    let b = stream.node("b", a).map(|n| if *n == 500 { panic!("five hundred") } else { *n });
    let c = stream.node("c", b).map(|n| n + 1);
    stream.discard("end", c);
    let plan = stream.plan().unwrap();
    assert_eq!(plan.fused(), [["a", "b", "c"]]);
    let error = plan.run(&loom(1)).unwrap_err();
    assert!(error.to_string().contains("node `b` panicked: five hundred"), "{error}");
}

#[test]
fn runs_over_many_vectors_lose_nothing() {
    for width in [128, 1000] {
        let mut stream = Stream::new("long").width(width);
        let items = stream.source("numbers", source::range(0..100_000));
        let a = stream.node("a", items).map(|n| 3 * n);
        let b = stream.node("b", a).filter(|n| n % 2 == 0);
        let c = stream.node("c", b).select(|n| (n + 1, n % 5 != 0));
        let result = stream.collect("result", c);
        stream.run(&loom(1)).unwrap();
        let expected = (0..100_000_u64).map(|n| 3 * n).filter(|n| n % 2 == 0 && n % 5 != 0).map(|n| n + 1);
        assert!(result.take().into_iter().eq(expected), "width {width}");
    }
}
