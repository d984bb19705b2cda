//! Regions inside of loops: parents go around.

use drawloom_stream::{ErrorKind, Output, Stream, source};

use crate::loom;

/// What becomes of a number in one round, of which not much is left: how many of its elements are kept decides.
fn round(n: u64) -> u64 {
    let kept = (n..n + n * 7 % 13).filter(|element| element % 3 != 0).count() as u64;
    n / 2 - (kept % 3).min(n / 2)
}

/// How often a number goes around until it is zero.
fn rounds(mut n: u64) -> u64 {
    let mut rounds = 0;
    while n > 0 {
        n = round(n);
        rounds += 1;
    }
    rounds
}

/// A number, where it came from, and how many rounds it has seen.
type Traveller = (u64, u64, u64);

/// The nodes of a round: elements are made, some are kept, and how many there are becomes of the parent.
fn around(stream: &mut Stream, from: Output<Traveller>, parents: usize) -> Output<Traveller> {
    let (parent, elements) = stream.enumerate_with("elements", from, parents, |(n, ..)| *n..n + n * 7 % 13);
    let kept = stream.node("keep", elements).select(|n: u64| (n, !n.is_multiple_of(3)));
    let node = stream.node("count", kept).state(|| 0_u64).aggregate_channel::<Traveller>("out", 1);
    node.end(move |run, out| {
        let (n, origin, rounds) = *run.parent(parent);
        let kept = std::mem::take(run.state());
        out.push((n / 2 - (kept % 3).min(n / 2), origin, rounds + 1));
    })
    .run(|run, _| *run.state() += run.items().len() as u64)
}

/// Adds a loop of such rounds behind a channel. What comes out are pairs of numbers and their rounds.
fn travel(stream: &mut Stream, from: Output<Traveller>, parents: usize) -> Output<(u64, u64)> {
    let node = stream.node("gate", from);
    let again = node.input();
    let (back, done) = node.channel("again", 1).channel("done", 1).each(|traveller: &Traveller, (back, done)| {
        let (n, origin, rounds) = *traveller;
        if n == 0 { done.push((origin, rounds)) } else { back.push(*traveller) }
    });
    let back = around(stream, back, parents);
    stream.back_edge(back, again, 1);
    done
}

#[test]
fn parents_go_around_until_nothing_is_left() {
    let expected: Vec<(u64, u64)> = (0..2000).map(|n| (n, rounds(n))).collect();
    for (width, parents) in [(1, 1), (3, 1), (7, 2), (32, 5), (128, 128), (1000, 3)] {
        for workers in [1, 2, 3] {
            for ordered in [false, true] {
                let mut stream = Stream::new("rounds").width(width).queue_scale(1);
                stream = if ordered { stream.ordered() } else { stream };
                let items = stream.source("numbers", source::indexed(2000, |n| (n, n, 0)));
                let done = travel(&mut stream, items, parents);
                let done = stream.collect("done", done);
                let report = stream.run(&loom(workers)).unwrap();
                let mut done = done.take();
                if !ordered {
                    done.sort_unstable();
                }
                assert_eq!(done, expected, "width {width}, {parents} parents, {workers} workers, ordered: {ordered}");
                assert!(report.edges.iter().all(|edge| edge.high_water <= edge.capacity));
            }
        }
    }
}

#[test]
fn a_loop_with_a_region_may_lie_in_a_region() {
    for (width, parents) in [(1, 1), (5, 2), (64, 16)] {
        let mut stream = Stream::new("groups").width(width).queue_scale(1);
        let groups = stream.source("groups", source::range(0..60));
        let (_, items) = stream.enumerate_with("members", groups, parents, |n| (0..n % 9).map(|m| (m * 11, m, 0)));
        let done = travel(&mut stream, items, parents);
        let sums = stream.node("rounds", done).aggregate_sum(|(_, rounds)| *rounds, |count, sum| (count, sum));
        let sums = stream.collect("sums", sums);
        stream.run(&loom(1)).unwrap();
        let of = |n: u64| (n % 9, (0..n % 9).map(|m| rounds(m * 11)).sum::<u64>());
        assert!(sums.take().into_iter().eq((0..60).map(of)), "width {width}, {parents} parents");
    }
}

/// Elements leave the loop: some in a sink inside of the region, and some as an aggregate of each parent in each round.
#[test]
fn what_leaves_the_region_of_a_loop_by_other_ways_is_in_order_and_complete() {
    let (mut seen_expected, mut evens_expected) = (Vec::new(), Vec::new());
    for mut n in 0..300_u64 {
        while n > 0 {
            seen_expected.extend((0..n % 20).filter(|element| element % 3 == 2));
            evens_expected.push((0..n % 20).filter(|element| element % 3 == 1).sum::<u64>());
            n = (n / 2).min((0..n % 20).filter(|element| element % 3 == 0).sum());
        }
    }
    for (width, parents) in [(1, 1), (4, 3), (100, 128)] {
        for workers in [1, 2, 3] {
            let mut stream = Stream::new("exits").width(width).queue_scale(1).ordered();
            let items = stream.source("numbers", source::range(0..300));
            let node = stream.node("gate", items);
            let again = node.input();
            let (back, done) = node
                .channel::<u64>("again", 1)
                .channel::<u64>("done", 1)
                .each(|n, (back, done)| if *n == 0 { done.push(7) } else { back.push(*n) });
            let (parent, elements) = stream.enumerate_with("elements", back, parents, |n| 0..n % 20);
            let node = stream.node("part", elements).channel::<u64>("stay", 1).channel::<u64>("even", 1);
            let (stay, even, seen) = node.channel::<u64>("seen", 1).each(|n, (stay, even, seen)| match n % 3 {
                0 => stay.push(*n),
                1 => even.push(*n),
                _ => seen.push(*n),
            });
            let seen = stream.collect("seen", seen);
            let evens = stream.node("evens", even).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
            let evens = stream.collect("sums", evens);
            let node = stream.node("stay", stay).state(|| 0).aggregate_channel::<u64>("out", 1);
            let rest = node.end(move |run, out| {
                let sum = std::mem::take(run.state());
                out.push(sum.min(*run.parent(parent) / 2));
            });
            let rest = rest.run(|run, _| *run.state() += run.items().iter().sum::<u64>());
            stream.back_edge(rest, again, 1);
            let done = stream.collect("done", done);
            stream.run(&loom(workers)).unwrap();
            let what = format!("width {width}, {parents} parents, {workers} workers");
            assert_eq!(done.take(), [7; 300], "{what}");
            assert_eq!(seen.take(), seen_expected, "{what}");
            assert_eq!(evens.take(), evens_expected, "{what}");
        }
    }
}

#[test]
fn parents_in_a_loop_may_multiply_within_its_bound() {
    for (width, parents) in [(1, 1), (4, 2), (32, 128)] {
        let mut stream = Stream::new("tree").width(width).queue_scale(1);
        let items = stream.source("numbers", source::range(0..40));
        let node = stream.node("gate", items);
        let again = node.input();
        // An item of value n becomes 2^n leaves, as many as 16 at once, and is counted by its elements on the way.
        let (back, leaves) = node
            .channel::<u64>("again", 1)
            .channel::<u64>("leaves", 1)
            .each(|n, (back, leaves)| if n % 5 == 0 { leaves.push(1) } else { back.push(n % 5) });
        let (_, elements) = stream.enumerate_with("elements", back, parents, |n| 0..*n);
        let counts = stream.node("count", elements).aggregate_sum(|_| 1, |count, _| count);
        let doubled = stream.node("double", counts).width(3).channel::<u64>("out", 2).each(|n, out| {
            out.push(n - 1);
            out.push(n - 1);
        });
        stream.back_edge(doubled, again, 16);
        let leaves = stream.collect("leaves", leaves);
        stream.run(&loom(2)).unwrap();
        assert_eq!(leaves.len(), (0..40).map(|n| 1 << (n % 5)).sum::<usize>(), "width {width}");
    }
}

#[test]
fn a_loop_whose_parents_grow_beyond_its_bound_is_an_error() {
    for sums in [false, true] {
        let mut stream = Stream::new("flood").width(8).queue_scale(1);
        let items = stream.source("one", source::range(0..1));
        let node = stream.node("double", items);
        let again = node.input();
        let (back, out) = node.channel::<u64>("again", 2).channel::<u64>("out", 1).each(|n, (back, _)| {
            back.push(*n);
            back.push(*n);
        });
        let (_, elements) = stream.enumerate("elements", back, |n| 0..*n);
        let node = stream.node("fold", elements);
        let counts = match sums {
            true => node.aggregate_sum(|_| 1, |count, _| count),
            false => node.aggregate(|| 0, |count, _| *count += 1, |count| count),
        };
        stream.back_edge(counts, again, 2);
        stream.discard("never", out);
        let error = stream.run(&loom(1)).unwrap_err();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Exceeded, Some("fold")), "{error}");
        let expected = "more items go around over channel `out` of node `fold` than the bound of its loop allows";
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn loops_inside_of_each_other_are_refused_also_where_a_region_lies_between_them() {
    let mut stream = Stream::new("nested");
    let items = stream.source("numbers", source::range(0..1));
    let outer = stream.node("outer", items);
    let again_outer = outer.input();
    let (back, done) = outer.channel::<u64>("again", 1).channel::<u64>("done", 1).each(|n, (_, done)| done.push(*n));
    let (_, elements) = stream.enumerate("elements", back, |n| 0..*n);
    let inner = stream.node("inner", elements);
    let again_inner = inner.input();
    let (turn, out) = inner.channel::<u64>("again", 1).channel::<u64>("out", 1).each(|n, (_, out)| out.push(*n));
    stream.back_edge(turn, again_inner, 1);
    let sums = stream.node("sum", out).aggregate_sum(|n| *n, |_, sum| sum);
    stream.back_edge(sums, again_outer, 1);
    stream.discard("nowhere", done);
    let error = stream.plan().unwrap_err();
    let told: Vec<String> = error.diagnostics().iter().map(|one| one.to_string()).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    let expected = "node `inner` is in the loop of node `outer` and in that of node `inner`";
    assert!(told[0].contains(expected), "{told:?}");
}
