//! Back edges.

use std::sync::{Arc, Mutex};

use drawloom_stream::{ErrorKind, Raise, Result, Stream, sink, source};

use crate::loom;

fn collatz(mut n: u64) -> u64 {
    let mut steps = 0;
    while n > 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        steps += 1;
    }
    steps
}

#[test]
fn a_node_that_leads_to_itself_goes_on_until_nothing_is_left() {
    for width in [1, 7, 128] {
        let mut stream = Stream::new("collatz").width(width).queue_scale(1);
        let items = stream.source("numbers", source::indexed(3000, |n| (n, n, 0)));
        let node = stream.node("step", items);
        let again = node.input();
        let (back, done) = node.channel("again", 1).channel("done", 1).each(|(n, at, steps), (back, done)| match *at {
            0 | 1 => done.push((*n, *steps)),
            even if even % 2 == 0 => back.push((*n, even / 2, steps + 1)),
            odd => back.push((*n, 3 * odd + 1, steps + 1)),
        });
        stream.back_edge(back, again, 1);
        let result = stream.collect("result", done);
        stream.run(&loom(1)).unwrap();
        let mut result: Vec<(u64, u64)> = result.take();
        result.sort_unstable();
        assert!(result.into_iter().eq((0..3000).map(|n| (n, collatz(n)))), "width {width}");
    }
}

#[test]
fn a_loop_of_several_nodes_may_multiply_within_its_bound_and_lie_in_a_region() {
    for (width, parents) in [(1, 1), (4, 2), (32, 128)] {
        let mut stream = Stream::new("tree").width(width).queue_scale(1);
        let items = stream.source("parents", source::range(0..50));
        let (_, elements) = stream.enumerate_with("elements", items, parents, |n| 0..n % 5);
        let node = stream.node("count down", elements);
        let again = node.input();
        // An item of value n becomes 2^n leaves, as many as 16 at once.
        let (twice, leaves) = node
            .channel::<u64>("twice", 1)
            .channel::<u64>("leaves", 1)
            .each(|n, (twice, leaves)| if *n == 0 { leaves.push(1) } else { twice.push(n - 1) });
        let doubled = stream.node("double", twice).width(3).channel::<u64>("out", 2).each(|n, out| {
            out.push(*n);
            out.push(*n);
        });
        stream.back_edge(doubled, again, 16);
        let sums = stream.node("sum", leaves).aggregate(|| 0, |sum, item| *sum += item, |sum| sum);
        let sums = stream.collect("sums", sums);
        stream.run(&loom(1)).unwrap();
        let expected: Vec<u64> = (0..50).map(|n| (0..n % 5).map(|e| 1 << e).sum()).collect();
        assert_eq!(sums.take(), expected, "width {width}");
    }
}

#[test]
fn a_loop_that_grows_beyond_its_bound_is_an_error() {
    let mut stream = Stream::new("flood").width(8).queue_scale(1);
    let items = stream.source("one", source::range(0..1));
    let node = stream.node("double", items);
    let again = node.input();
    let (back, out) = node.channel::<u64>("again", 2).channel::<u64>("out", 1).each(|n, (back, _)| {
        back.push(*n);
        back.push(*n);
    });
    stream.back_edge(back, again, 2);
    stream.discard("never", out);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("double")), "{error}");
    assert!(error.to_string().contains("channel `again` of node `double`"), "{error}");
}

#[test]
fn a_signal_that_would_go_around_is_an_error_that_says_so() {
    let mut stream = Stream::new("around").width(8);
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..100));
    let node = stream.node("halve", items);
    let again = node.input();
    let (back, out) = node.channel::<u64>("again", 1).channel::<u64>("out", 1).each(move |n, (back, out)| {
        if n % 2 == 0 && *n > 0 {
            back.push(n / 2);
            back.raise(mark, *n);
        } else {
            out.push(*n);
        }
    });
    stream.back_edge(back, again, 1);
    stream.discard("odd", out);
    let error = stream.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("halve")), "{error}");
    let expected =
        "a signal was raised on channel `again` of node `halve`, which leads back: no signal goes around in a loop";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_signal_on_all_channels_does_not_go_back_into_the_loop() {
    for width in [1, 7, 128] {
        let mut stream = Stream::new("marks").width(width);
        let mark = stream.signal::<u64>();
        let items = stream.source("numbers", source::range(0..100));
        let node = stream.node("twice", items).signals(width, 1);
        let again = node.input();
        let node = node.channel::<u64>("again", 1).channel::<u64>("one", 1).channel::<u64>("other", 1);
        let (back, one, other) = node.each(move |n, push| match *n {
            n if n < 100 => push.0.push(n + 100),
            n => {
                push.1.push(n);
                push.2.push(n);
                if n % 10 == 0 {
                    push.raise_on_all(mark, n);
                }
            }
        });
        stream.back_edge(back, again, 1);
        let ends = [("one", one), ("other", other)].map(|(name, items)| {
            let node = stream.node(format!("see {name}"), items).signals(0, 0).channel::<u64>("out", 1);
            let seen = node.on(mark, |_, out, n| out.push(1000 + n)).each(|n, out| out.push(*n));
            stream.collect(name, seen)
        });
        stream.run(&loom(1)).unwrap();
        let expected = (100..200).flat_map(|n| [Some(n), (n % 10 == 0).then_some(1000 + n)]).flatten();
        let expected: Vec<u64> = expected.collect();
        assert_eq!(ends.map(|end| end.take()), [expected.clone(), expected], "width {width}");
    }
}

#[test]
fn a_signal_on_all_channels_of_which_all_lead_back_is_an_error() {
    for both in [false, true] {
        let mut stream = Stream::new("back");
        let mark = stream.signal::<u64>();
        let items = stream.source("numbers", source::range(0..100));
        let node = stream.node("nowhere else", items);
        let again = node.input();
        if both {
            let node = node.channel::<u64>("one", 1).channel::<u64>("other", 1);
            let (one, other) = node.each(move |n, push| push.raise_on_all(mark, *n));
            stream.back_edge(one, again, 1);
            stream.back_edge(other, again, 1);
        } else {
            let back = node.channel::<u64>("one", 1).each(move |n, push| push.raise_on_all(mark, *n));
            stream.back_edge(back, again, 1);
        }
        let error = stream.run(&loom(1)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("nowhere else")), "{error}");
        let expected = "a signal was raised on all channels of node `nowhere else`, all of which lead back";
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A loop of two nodes, the second of which only leads back. The signals of each item below ten are raised before the loop, or in
/// it on the way to the second node. Returns those that came out.
fn marks_beside_the_way_back(inside: bool) -> Result<Vec<u64>> {
    let mut stream = Stream::new("halves").width(4);
    let mark = stream.signal::<u64>();
    let items = stream.source("numbers", source::range(0..100));
    let before = stream.node("before", items).signals(4, 1).channel::<u64>("out", 1).run(move |run, out| {
        for n in run.items() {
            if !inside && *n < 10 {
                out.raise(mark, *n);
            }
            out.push(*n);
        }
    });
    let node = stream.node("part", before).signals(4, 1);
    let again = node.input();
    let (even, odd) = node.channel::<u64>("even", 1).channel::<u64>("odd", 1).run(move |run, (even, odd)| {
        for n in run.items() {
            if inside && *n == 8 {
                even.raise(mark, *n);
            }
            if n % 2 == 0 && *n > 0 { even.push(*n) } else { odd.push(*n) }
        }
    });
    let half = stream.node("halve", even).map(|n| n / 2);
    stream.back_edge(half, again, 1);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&seen);
    stream.node("seen", odd).on(mark, move |_, _, n| theirs.lock().unwrap().push(*n)).sink(sink::callback(|_| ()));
    stream.run(&loom(1))?;
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    Ok(seen)
}

#[test]
fn a_signal_that_ends_in_the_loop_in_which_it_was_raised_is_an_error() {
    assert_eq!(marks_beside_the_way_back(false).unwrap(), (0..10).collect::<Vec<u64>>());
    let error = marks_beside_the_way_back(true).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("halve")), "{error}");
    assert!(error.to_string().contains("no signal goes around in a loop"), "{error}");
}
