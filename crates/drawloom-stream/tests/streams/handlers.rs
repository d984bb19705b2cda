//! What nodes do at signals: the user's own, and the boundaries of any region around them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_stream::{Code, ErrorKind, NodeBuilder, Output, Raise, Stream, sink, source};

use crate::loom;

#[test]
fn a_node_sees_the_boundaries_of_all_regions_around_it() {
    for (width, parents) in [(1, 1), (4, 2), (128, 128)] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let log = Arc::clone(&log);
            move |parent: u64| log.lock().unwrap().push((what, parent))
        };
        let (outer_begins, outer_ends, inner_ends) = (note("begin"), note("end"), note("inner"));
        let mut stream = Stream::new("boundaries").width(width).queue_scale(1);
        let items = stream.source("parents", source::range(0..30));
        let (outer, middle) = stream.enumerate_with("outer", items, parents, |n| 0..n % 4);
        let (inner, elements) = stream.enumerate_with("inner", middle, parents, |n| 0..*n);
        // At the end of an outer parent an item goes to the channel that leads to the outer region.
        let node = stream.node("node", elements).state(|| 0).aggregate_channel::<u64>("out", 1);
        let counts = node
            .on_begin(outer, move |run, _| {
                *run.state() = 0;
                outer_begins(*run.parent(outer));
            })
            .on_end(outer, move |run, out| {
                outer_ends(*run.parent(outer));
                let count = *run.state();
                out.push(count);
            })
            .on_end(inner, move |run, _| inner_ends(*run.parent(inner)))
            .run(|run, _| *run.state() += run.items().len() as u64);
        let sums = stream.node("sum", counts).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
        let sums = stream.collect("sums", sums);
        stream.run(&loom(1)).unwrap();
        let count = |n: u64| (0..n % 4).sum::<u64>();
        assert!(sums.take().into_iter().eq((0..30).map(count)), "width {width}");
        let expected = (0..30).flat_map(|n| {
            let inner = (0..n % 4).map(|m| ("inner", m));
            std::iter::once(("begin", n)).chain(inner).chain([("end", n)]).collect::<Vec<_>>()
        });
        assert!(log.lock().unwrap().iter().copied().eq(expected), "width {width}");
    }
}

#[test]
fn an_item_that_would_belong_to_no_parent_is_an_error() {
    let mut stream = Stream::new("orphan");
    let items = stream.source("parents", source::range(0..3));
    let (outer, middle) = stream.enumerate("outer", items, |n| 0..*n);
    let (_, elements) = stream.enumerate("inner", middle, |n| 0..*n);
    let node = stream.node("node", elements).channel::<u64>("out", 1);
    let out = node.on_end(outer, |_, out| out.push(1)).run(|_, _| {});
    stream.discard("sink", out);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("node")));
    assert!(error.to_string().contains("channel `out` of node `node` while no parent"), "{error}");
}

#[test]
fn boundaries_of_regions_that_are_not_around_a_node_cannot_be_handled() {
    let mut stream = Stream::new("aside");
    let items = stream.source("parents", source::range(0..3));
    let (region, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let sums = stream.node("sum", elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    stream.node("after", sums).on_begin(region, |_, ()| {}).run(|_, ()| {});
    let error = stream.plan().unwrap_err();
    assert_eq!(error.diagnostics().iter().map(|d| d.code()).collect::<Vec<_>>(), [Code::Handler]);
    let message = error.to_string();
    assert!(message.contains("node `after`") && message.contains("node `elements`"), "{message}");
}

#[test]
fn a_signal_is_raised_on_one_channel_or_on_all_and_may_become_another_one() {
    for width in [1, 3, 128] {
        let mut stream = Stream::new("tags").width(width);
        let (ten, both) = (stream.signal::<u64>(), stream.signal::<&'static str>());
        let items = stream.source("numbers", source::range(0..100));
        let node = stream.node("split", items).signals(width, 1).channel::<u64>("even", 1).channel::<u64>("odd", 1);
        let (even, odd) = node.each(move |n, push| {
            if n % 2 == 0 {
                push.0.push(*n)
            } else {
                push.1.push(*n)
            }
            match n {
                n if n % 10 == 4 => push.0.raise(ten, *n),
                50 => push.raise_on_all(both, "half"),
                _ => {}
            }
        });
        // Items that drop out before the signal do not move it among those that are left.
        let even = stream.node("fewer", even).filter(|n| n % 4 == 0);
        let node = stream.node("on even", even).channel::<u64>("out", 1);
        let even = node
            .on(ten, |_, out, value| out.push(1000 + value))
            .on(both, |_, out, text| out.push(2000 + text.len() as u64))
            .run(|run, out| out.extend_from_slice(run.items()));
        let node = stream.node("on odd", odd).channel::<u64>("out", 1);
        let odd = node.on(both, move |_, out, _| out.raise(ten, 7)).run(|run, out| out.extend_from_slice(run.items()));
        let node = stream.node("behind", odd).channel::<u64>("out", 1);
        let odd =
            node.on(ten, |_, out, value| out.push(3000 + value)).run(|run, out| out.extend_from_slice(run.items()));
        let (even, odd) = (stream.collect("evens", even), stream.collect("odds", odd));
        stream.run(&loom(1)).unwrap();
        let evens = (0..100).filter(|n| n % 2 == 0).flat_map(|n| {
            let item = (n % 4 == 0).then_some(n);
            let ten = (n % 10 == 4).then_some(1000 + n);
            item.into_iter().chain(ten).chain((n == 50).then_some(2004))
        });
        assert!(even.take().into_iter().eq(evens), "width {width}");
        let odds = (0..50).filter(|n| n % 2 == 1).chain([3007]).chain((50..100).filter(|n| n % 2 == 1));
        assert!(odd.take().into_iter().eq(odds), "width {width}");
    }
}

#[test]
fn all_that_is_said_to_be_done_at_signals_is_done() {
    let mut stream = Stream::new("twice");
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..3));
    let (_, elements) = stream.enumerate("elements", items, |n| 0..*n);
    let marked = stream.node("mark", elements).channel::<u64>("out", 1).at_signals(1).run(move |run, out| {
        let items = run.items();
        items.iter().for_each(|n| out.push(*n));
        out.raise(mark, 7);
    });
    // The bound is said before the channel that it is for.
    let node = stream.node("handles", marked).at_signals(3).signals(0, 1).channel::<u64>("out", 1);
    let node = node.begin(|_, out| out.push(100)).begin(|_, out| (101..103).for_each(|n| out.push(n)));
    let node = node.end(|_, out| out.push(200)).end(|_, out| out.push(201));
    let node = node.on(mark, |_, out, value| out.push(*value)).on(mark, |_, out, value| out.push(value + 1));
    let all = node.run(|run, out| run.items().iter().for_each(|n| out.push(*n)));
    let all = stream.collect("all", all);
    stream.run(&loom(1)).unwrap();
    let (begin, end) = ([100, 101, 102], [200, 201]);
    let expected = [&begin[..], &end, &begin, &[0, 7, 8], &end, &begin, &[0, 1, 7, 8], &end].concat();
    assert_eq!(all.take(), expected);
}

#[test]
fn signals_are_not_put_off_while_fewer_than_a_vector_of_items_wait() {
    const ITEMS: u64 = 1000;
    let (made, furthest) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (counted, ahead) = (Arc::clone(&made), Arc::clone(&furthest));
    let mut stream = Stream::new("early").width(128).queue_scale(1);
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..ITEMS));
    let node = stream.node("raise", items).width(4).signals(4, 0).channel::<u64>("out", 1);
    let raised = node.each(move |n, out| {
        out.push(*n);
        out.raise(mark, *n);
        counted.store(n + 1, Ordering::Relaxed);
    });
    let node = stream.node("handle", raised).channel::<u64>("out", 1);
    // How many items had been made when the signal behind one of them was handled.
    let node = node.on(mark, move |_, _, n| _ = ahead.fetch_max(made.load(Ordering::Relaxed) - n, Ordering::Relaxed));
    let same = node.each(|n, out| out.push(*n));
    let same = stream.collect("all", same);
    let report = stream.run(&loom(1)).unwrap();
    assert!(same.take().into_iter().eq(0..ITEMS));
    let node = report.node("handle").unwrap();
    assert_eq!((node.runs, node.signals), (ITEMS, ITEMS), "each signal ends a vector");
    // The queue of items has room for more than a vector, that of signals for a few.
    let waited = furthest.load(Ordering::Relaxed);
    assert!(waited < 16, "{waited} items were made before the signal behind the first of them was handled");
    let edge = report.edges.iter().find(|edge| edge.to == "handle").unwrap();
    assert!(edge.capacity >= 128 && edge.high_water < 16, "{edge:?}");
}

/// Makes a node of one that has handlers.
type Finish = fn(NodeBuilder<'_, u64>) -> Vec<Output<u64>>;

/// All ways to make a node whose channels follow from what it does.
const WAYS: [(&str, Finish); 11] = [
    ("map", |node| vec![node.map(|n| *n)]),
    ("try_map", |node| vec![node.try_map(|n| Ok::<u64, String>(*n))]),
    ("filter", |node| vec![node.filter(|n| n % 2 == 0)]),
    ("filter_map", |node| vec![node.filter_map(|n| Some(*n))]),
    ("filter_map that may fail", |node| vec![node.filter_map(|n| Ok::<_, String>(Some(*n)))]),
    ("select", |node| vec![node.select(|n| (n, n % 3 > 0))]),
    ("split", |node| {
        let (a, b) = node.split(|n| (n, n % 3 > 0));
        vec![a, b]
    }),
    ("expand", |node| vec![node.expand(|n| 0..n % 7)]),
    ("aggregate", |node| vec![node.aggregate(|| 0, |sum, n| *sum += n, |sum| sum)]),
    ("aggregate_sum", |node| vec![node.aggregate_sum(|n| *n, |_, sum| sum)]),
    ("sink", |node| {
        node.sink(sink::callback(|_| ()));
        Vec::new()
    }),
];

#[test]
fn every_kind_of_node_may_handle_every_signal() {
    for (what, finish) in WAYS {
        for (spans, width) in [(false, 4), (true, 4), (true, 128)] {
            let log = Arc::new(Mutex::new(Vec::new()));
            let note = |what: &'static str| {
                let log = Arc::clone(&log);
                move |parent: u64| log.lock().unwrap().push((what, parent))
            };
            let (begins, ends, outer_ends, marks) = (note("begin"), note("end"), note("outer"), note("mark"));
            let mut stream = Stream::new("all").width(width).queue_scale(1).span_regions(spans);
            let mark = stream.signal::<u64>();
            let items = stream.source("parents", source::range(0..40));
            let (outer, middle) = stream.enumerate_with("outer", items, 3, |n| *n..n + n % 3);
            let (inner, elements) = stream.enumerate_with("inner", middle, 3, |n| 0..n % 5);
            let node = stream.node("raise", elements).signals(width, 1).channel::<u64>("out", 1);
            let raised = node.each(move |n, out| {
                out.push(*n);
                if *n == 2 {
                    out.raise(mark, *n);
                }
            });
            let node = stream.node("node", raised);
            let node = node.begin(move |run, ()| begins(*run.parent(inner)));
            let node = node.on_end(inner, move |run, ()| ends(*run.parent(inner)));
            let node = node.on_end(outer, move |run, ()| outer_ends(*run.parent(outer)));
            let outputs = finish(node.on(mark, move |run, (), value| marks(*run.parent(inner) * 10 + value)));
            let seen = Arc::new(Mutex::new(0));
            for (number, output) in outputs.into_iter().enumerate() {
                // What the node has handled does not come further.
                let seen = Arc::clone(&seen);
                let behind = stream.node(format!("behind {number}"), output);
                behind.on(mark, move |_, (), _| *seen.lock().unwrap() += 1).sink(sink::callback(|_| ()));
            }
            stream.run(&loom(1)).unwrap();
            let expected: Vec<_> = (0..40_u64)
                .flat_map(|n| {
                    let inner = (n..n + n % 3).flat_map(|m| {
                        let mark = (m % 5 > 2).then_some(("mark", m * 10 + 2));
                        [("begin", m)].into_iter().chain(mark).chain([("end", m)])
                    });
                    inner.chain([("outer", n)]).collect::<Vec<_>>()
                })
                .collect();
            assert_eq!(*log.lock().unwrap(), expected, "{what}, width {width}, spans {spans}");
            assert_eq!(*seen.lock().unwrap(), 0, "{what}");
        }
    }
}

#[test]
fn an_enumeration_may_handle_signals_and_the_boundaries_around_it() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (begins, marks) = (Arc::clone(&log), Arc::clone(&log));
    let mut stream = Stream::new("head").width(4);
    let mark = stream.signal::<u64>();
    let items = stream.source("parents", source::range(0..20));
    let (outer, elements) = stream.enumerate("outer", items, |n| 0..n % 3);
    let node = stream.node("raise", elements).channel::<u64>("out", 1).end(move |_, out| out.raise(mark, 7));
    let raised = node.each(|n, out| out.push(*n));
    let node = stream.node("inner", raised).begin(move |run, ()| begins.lock().unwrap().push(*run.parent(outer)));
    let node = node.on(mark, move |_, (), value| marks.lock().unwrap().push(100 + value));
    let (_, elements) = node.enumerate_with(2, |n| 0..n + 3);
    let sums = stream.node("sum", elements).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let node = stream.node("behind", sums).channel::<u64>("out", 1).on(mark, |_, _, _| unreachable!());
    let sums = node.each(|n, out| out.push(*n));
    let sums = stream.collect("sums", sums);
    stream.run(&loom(1)).unwrap();
    assert!(log.lock().unwrap().iter().copied().eq((0..20).flat_map(|n| [n, 107])));
    assert!(sums.take().into_iter().eq((0..20_u64).flat_map(|n| (0..n % 3).map(|m| (0..m + 3).sum::<u64>()))));
}

#[test]
fn a_handler_of_a_node_that_spans_boundaries_sees_the_right_parent() {
    for spans in [true, false] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let theirs = Arc::clone(&seen);
        let mut stream = Stream::new("parents").span_regions(spans);
        let mark = stream.signal::<u64>();
        let items = stream.source("parents", source::range(0..500));
        let (region, elements) = stream.enumerate("elements", items, |n| 0..n % 4);
        let node = stream.node("raise", elements).channel::<u64>("out", 1);
        let raised = node
            .end(move |run, out| {
                if *run.parent(region) % 50 == 3 {
                    out.raise(mark, 1);
                }
            })
            .each(|n, out| out.push(*n));
        let node = stream.node("map", raised);
        let node = node.on(mark, move |run, (), _| theirs.lock().unwrap().push(*run.parent(region)));
        let same = node.map(|n| *n);
        stream.discard("end", same);
        stream.run(&loom(1)).unwrap();
        assert!(seen.lock().unwrap().iter().copied().eq((0..500).filter(|n| n % 50 == 3)), "spans {spans}");
    }
}

#[test]
fn what_is_to_be_done_at_parents_of_no_region_is_refused() {
    let mut stream = Stream::new("no region");
    let items = stream.source("numbers", source::range(0..3));
    let same = stream.node("begins", items).begin(|_, ()| {}).map(|n| *n);
    stream.node("ends", same).end(|_, ()| {}).run(|_, ()| {});
    let error = stream.plan().unwrap_err();
    assert_eq!(error.diagnostics().iter().map(|d| d.code()).collect::<Vec<_>>(), [Code::Handler; 2]);
    let message = error.to_string();
    assert!(message.contains("node `begins`") && message.contains("node `ends`"), "{message}");
}
