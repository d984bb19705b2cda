//! Nodes that need no queue between them run as one, and nothing else changes.

use std::sync::{Mutex, mpsc};

use drawloom_stream::{Collected, ErrorKind, Plan, Settings, Stream, sink, source};

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
    assert_eq!(plan.fused(), [["more", "odd", "large", "split", "rest"]]);
    let report = plan.run(&loom(2)).unwrap();
    let node = |name: &str| report.node(name).unwrap();
    assert_eq!(node("more").fused_into, None);
    assert!(node("more").runs >= 10_000 / 16);
    assert_eq!((node("large").fused_into.as_deref(), node("large").runs), (Some("more"), 0));
    assert!(report.table().contains("in more"), "{}", report.table());
    assert!(plan.to_dot(Some(&report)).contains("in more"));
    // Nor are there queues between them, though the report has what space there is.
    let cells = |edge: &str| {
        let table = report.table();
        let line = table.lines().find(|line| line.starts_with(edge)).unwrap();
        line[edge.len()..].split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(cells("more.out -> odd"), ["in", "more"]);
    assert_eq!(cells("mark.out -> more").len(), 2);
    assert!(cells("mark.out -> more").iter().all(|figure| figure.parse::<usize>().is_ok()));
    let picture = plan.to_dot(Some(&report));
    assert!(picture.contains("n2 -> n3 [label=\"out\"]") && picture.contains("n1 -> n2 [label=\"out "), "{picture}");
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
    // A function over a slice may look at parents.
    let c = stream.node("c", elements).channel::<u64>("out", 1).each(|n, out| out.push(n + 1));
    let d = stream.node("sum", c).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let (even, odd) = stream.node("split", d).split(|n| (n, n % 2 == 0));
    let e = stream.node("joined", [even, odd]).map(|n| n + 1);
    // A callback is called for a vector at a time.
    stream.sink("end", e, sink::callback(|_| ()));
    assert!(stream.plan().unwrap().fused().is_empty());
    // Vectors are to end at boundaries.
    let mut stream = Stream::new("apart").span_regions(false);
    let items = stream.source("numbers", source::range(0..100));
    let (_, elements) = stream.enumerate("each", items, |n| 0..*n % 5);
    let a = stream.node("a", elements).map(|n| n + 1);
    let b = stream.node("sum", a).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    stream.discard("end", b);
    assert!(stream.plan().unwrap().fused().is_empty());
}

/// Regions inside of each other, of which the inner one is a chain, with signals from before them, and the sums of all.
fn regions(fuse: bool, width: usize, numbers: u64) -> (Plan, Collected<(u64, u64)>, Collected<u64>) {
    let mut stream = Stream::new("regions").width(width).fuse(fuse).ordered();
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..numbers));
    let marked = stream.node("mark", items).signals(width, 1).channel::<u64>("out", 1).each(move |n, out| {
        out.push(*n);
        if n % 50 == 7 {
            out.raise(mark, *n);
        }
    });
    let (_, elements) = stream.enumerate("outer", marked, |n| *n..n + n % 4);
    // Some parents have no elements, and one has more than any queue holds.
    let (_, elements) = stream.enumerate("inner", elements, |n| 0..if *n == 77 { 100_000 } else { n % 9 });
    let more = stream.node("more", elements).map(|n| n + 1);
    let odd = stream.node("odd", more).select(|n: u64| (n, n % 2 == 1));
    let sums = stream.node("sums", odd).aggregate_sum(|n| *n, |count, sum| 1000 * sum + count);
    let (low, high) = stream.node("split", sums).split(|n| (n, n % 3 > 0));
    let high = stream.collect("high", high);
    let low = stream.node("low", low).select(|n: u64| (n % 1_000_003, n % 7 != 1));
    let all = stream.node("all", low).aggregate(|| 0_u64, |sum, n| *sum += n, |sum| sum);
    let node = stream.node("last", all).state(|| 0).channel::<(u64, u64)>("out", 1);
    let pairs = node.on(mark, |run, _, value| *run.state() = *value).run(|run, out| {
        let (items, last) = (run.items(), *run.state());
        items.iter().for_each(|n| out.push((*n, last)));
    });
    let pairs = stream.collect("pairs", pairs);
    (stream.plan().unwrap(), pairs, high)
}

/// What the stream above gives, worked out one number after the other.
fn regions_by_hand(numbers: u64) -> (Vec<(u64, u64)>, Vec<u64>) {
    let (mut pairs, mut high, mut last) = (Vec::new(), Vec::new(), 0);
    for number in 0..numbers {
        let mut all = 0;
        for inner in number..number + number % 4 {
            let elements = (0..if inner == 77 { 100_000 } else { inner % 9 }).map(|n| n + 1).filter(|n| n % 2 == 1);
            let (count, sum) = elements.fold((0, 0), |(count, sum), n| (count + 1, sum + n));
            let item = 1000 * sum + count;
            match item % 3 {
                0 => high.push(item),
                _ if item % 7 != 1 => all += item % 1_000_003,
                _ => {}
            }
        }
        pairs.push((all, last));
        last = if number % 50 == 7 { number } else { last };
    }
    (pairs, high)
}

#[test]
fn a_region_that_is_a_chain_runs_as_one_and_gives_the_same() {
    let expected = regions_by_hand(2000);
    for width in [1, 3, 128, 1000] {
        for fuse in [false, true] {
            let (plan, pairs, high) = regions(fuse, width, 2000);
            let fused = plan.fused();
            let chains: [&[&str]; 2] = [&["inner", "more", "odd", "sums", "split"], &["low", "all"]];
            assert_eq!(fused, if fuse { &chains[..] } else { &[] });
            let report = plan.run(&loom(1)).unwrap();
            assert_eq!((pairs.take(), high.take()), expected, "width {width}, fuse {fuse}");
            let inputs = |name: &str| report.node(name).unwrap().inputs;
            // The elements of the outer parents are those of the inner ones' parents.
            assert_eq!(["outer", "inner", "sums", "split"].map(inputs), [2000, 3000, inputs("sums"), 3000]);
            assert_eq!(inputs("more"), inputs("odd"));
            let (plan, _, high) = regions(fuse, width, 2000);
            plan.run(&loom(2)).unwrap();
            assert_eq!(high.take(), expected.1, "width {width}, fuse {fuse}, two workers");
        }
    }
}

#[test]
fn a_parent_that_never_ends_can_be_cancelled_in_a_region_that_runs_as_one() {
    let mut stream = Stream::new("endless");
    let (told, seen) = mpsc::channel();
    let items = stream.source("numbers", source::range(0..1));
    let (_, elements) = stream.enumerate("elements", items, |_| 0..u64::MAX);
    let told = Mutex::new(Some(told));
    let more = stream.node("more", elements).map(move |n| {
        // The first element says that the run has begun.
        told.lock().unwrap().take().into_iter().for_each(|told| told.send(()).unwrap());
        n + 1
    });
    let sums = stream.node("sums", more).aggregate_sum(|n| *n, |_, sum| sum);
    stream.discard("end", sums);
    let plan = stream.plan().unwrap();
    assert_eq!(plan.fused(), [["elements", "more", "sums", "end"]]);
    let loom = loom(1);
    let running = plan.start(&loom, &Settings::new()).unwrap();
    seen.recv().unwrap();
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_sink_is_never_called_without_items() {
    for spans in [false, true] {
        let mut stream = Stream::new("few").span_regions(spans).width(4);
        let items = stream.source("numbers", source::range(0..1000));
        let few = stream.node("few", items).filter(|n| n % 100 == 0);
        let (out, all) = stream.node("split", few).split(|n: u64| (n, n == 500));
        let least = |least: &mut u64, items: &[u64]| *least = (*least).min(items[0]);
        stream.sink("one", out, sink::fold(|| u64::MAX, least, |least| assert_eq!(least, 500)));
        // Most parents have no elements, and their sink is inside of the region.
        let (_, elements) = stream.enumerate("elements", all, |n| 0..n / 900);
        let more = stream.node("more", elements).map(|n| n + 7);
        stream.sink("inside", more, sink::fold(|| u64::MAX, least, |least| assert_eq!(least, 7)));
        stream.run(&loom(1)).unwrap();
    }
}

#[test]
fn a_sink_that_fails_is_named_though_it_runs_as_part_of_another_node() {
    let mut stream = Stream::new("full");
    let items = stream.source("numbers", source::range(0..1000));
    let more = stream.node("more", items).map(|n| n + 1);
    let (few, _) = sink::at_most(500);
    stream.sink("few", more, few);
    let plan = stream.plan().unwrap();
    assert_eq!(plan.fused(), [["more", "few"]]);
    let error = plan.run(&loom(1)).unwrap_err();
    assert!(error.to_string().contains("sink `few` failed"), "{error}");
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
    assert_eq!(plan.fused(), [["a", "b", "c", "end"]]);
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

/// Most parents are short, so that a run takes several vectors of them; and some are so long that it is interrupted.
#[test]
fn what_a_run_over_many_vectors_has_begun_with_is_not_given_to_others() {
    let length = |n: u64| if n % 512 == 100 { 100_000 } else { n % 3 };
    let expected: Vec<(u64, u64)> = (0..4096).map(|n| (length(n), (0..length(n)).sum())).collect();
    for width in [1, 2, 16] {
        let mut stream = Stream::new("given").width(width).ordered();
        let numbers = stream.source("numbers", source::iter(0..4096_u64));
        let (_, elements) = stream.enumerate("elements", numbers, move |n| 0..length(*n));
        let sums = stream.node("sums", elements).aggregate_sum(|n: &u64| *n, |count, sum| (count, sum));
        let mut plain = Stream::new("given").width(width);
        let numbers = plain.source("numbers", source::range(0..4096));
        let (_, elements) = plain.enumerate("elements", numbers, move |n| 0..length(*n));
        let some = plain.node("sums", elements).aggregate_sum(|n: &u64| *n, |count, sum| (count, sum));
        let (sums, some) = (stream.collect("result", sums), plain.collect("result", some));
        stream.run(&loom(4)).unwrap();
        assert_eq!(sums.take(), expected, "width {width}");
        plain.run(&loom(4)).unwrap();
        let (mut some, mut expected) = (some.take(), expected.clone());
        some.sort_unstable();
        expected.sort_unstable();
        assert_eq!(some, expected, "width {width}, in any order");
    }
}

#[test]
fn long_chains_are_several_nodes_and_need_little_of_the_stack() {
    let mut stream = Stream::new("long").width(8);
    let mut items = stream.source("numbers", source::range(0..100));
    for n in 0..20_000 {
        items = stream.node(format!("n{n}"), items).map(|n| n + 1);
    }
    let result = stream.collect("result", items);
    let plan = stream.plan().unwrap();
    assert!(plan.fused().iter().all(|chain| chain.len() <= 64));
    plan.run(&loom(1)).unwrap();
    assert!(result.take().into_iter().eq(20_000..20_100));
}

#[test]
fn a_region_that_is_too_long_a_chain_has_boundaries() {
    for length in [10, 61, 62, 63, 64, 65, 200] {
        let mut stream = Stream::new("region").width(8);
        let parents = stream.source("parents", source::range(0..100));
        let (_, mut items) = stream.enumerate("elements", parents, |n| 0..n % 10);
        for n in 0..length {
            items = stream.node(format!("n{n}"), items).map(|n| n + 1);
        }
        let sums = stream.node("sums", items).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
        let sums = stream.collect("result", sums);
        stream.run(&loom(1)).unwrap();
        let sum = |n: u64| (0..n % 10).map(|n| n + length).sum::<u64>();
        assert!(sums.take().into_iter().eq((0..100).map(sum)), "{length}");
    }
}

/// A chain of a map, an `each` that makes so many items of each, and a filter, or a sink at once.
fn gains(most: usize, width: usize, filter: bool) -> (Plan, Collected<u64>) {
    let mut stream = Stream::new("gains").width(width);
    let items = stream.source("numbers", source::range(0..3000));
    let more = stream.node("more", items).map(|n| n + 1);
    let node = stream.node("makes", more).signals(0, 1).channel::<u64>("out", most);
    let made = node.each(move |n, out| (0..n % (most as u64 + 1)).for_each(|i| out.push(n * 100 + i)));
    let made = if filter { stream.node("odd", made).filter(|n| n % 2 == 1) } else { made };
    let result = stream.collect("result", made);
    (stream.plan().unwrap(), result)
}

#[test]
fn what_a_node_may_make_decides_whether_it_runs_as_one_with_what_consumes_it() {
    let odd: &[&[&str]] = &[&["more", "makes", "odd", "result"]];
    let end: &[&[&str]] = &[&["more", "makes", "result"]];
    let (apart, odd_apart): (&[&[&str]], &[&[&str]]) =
        (&[&["more", "makes"]], &[&["more", "makes"], &["odd", "result"]]);
    for (most, width, filter, expected) in [
        (1, 128, true, odd),
        (1, 128, false, end),
        // A vector of 128 becomes up to 32 KiB: that is near; or a little more.
        (32, 128, false, end),
        (33, 128, false, apart),
        (2, 4096, false, apart),
        // A filter looks at vectors of its own width.
        (2, 128, true, odd_apart),
    ] {
        let (plan, result) = gains(most, width, filter);
        assert_eq!(plan.fused(), expected, "{most} items for each of {width}");
        plan.run(&loom(1)).unwrap();
        let made = (1..3001_u64).flat_map(|n| (0..n % (most as u64 + 1)).map(move |i| n * 100 + i));
        let made: Vec<u64> = made.filter(|n| !filter || n % 2 == 1).collect();
        assert_eq!(result.take(), made, "{most} items for each of {width}");
    }
}

#[test]
fn a_node_may_be_kept_apart_which_can_be_seen() {
    let mut stream = Stream::new("apart");
    let items = stream.source("numbers", source::range(0..1000));
    let a = stream.node("a", items).map(|n| n + 1);
    let b = stream.node("b", a).fuse(false).map(|n| n + 1);
    let c = stream.node("c", b).map(|n| n + 1);
    let d = stream.node("d", c).map(|n| n + 1);
    stream.discard("end", d);
    let plan = stream.plan().unwrap();
    assert_eq!(plan.fused(), [["c", "d", "end"]]);
    assert!(plan.to_dot(None).contains("width 128, apart"));
    let report = plan.run(&loom(1)).unwrap();
    assert_eq!(report.nodes.iter().filter(|node| !node.fuses).map(|node| &node.name).collect::<Vec<_>>(), ["b"]);
    assert!(report.table().contains("b (apart)"), "{}", report.table());
    assert!(!report.node("b").unwrap().fuses);
    assert_eq!(report.node("b").unwrap().runs, 8);
    // A region with such a node does not run as one either.
    let mut stream = Stream::new("region");
    let items = stream.source("numbers", source::range(0..100));
    let (_, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let same = stream.node("same", elements).fuse(false).map(|n| *n);
    let sums = stream.node("sum", same).aggregate_sum(|n| *n, |_, sum| sum);
    stream.discard("end", sums);
    assert!(stream.plan().unwrap().fused().is_empty());
}
