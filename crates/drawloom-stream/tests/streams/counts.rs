//! Without signals, every node runs as rarely as it can: its items divided by its width, rounded up.

use drawloom_stream::{Push, Report, Run, Stream, source};
use fastrand::Rng;

use crate::{loom, munge};

fn counts(report: &Report) -> Vec<(u64, u64, u64)> {
    let nodes = report.nodes.iter().filter(|node| !node.is_source);
    nodes.map(|node| (node.inputs, node.runs, node.full_runs)).collect()
}

#[test]
fn three_filters_in_a_row_run_as_often_as_the_ancestor_s() {
    for scale in [None, Some(1), Some(4), Some(16)] {
        let mut stream = Stream::new("filters").fuse(false);
        if let Some(scale) = scale {
            stream = stream.queue_scale(scale);
        }
        let mut items = stream.source("numbers", source::indexed(1_000_000, |i| 2 * i as u32));
        for (name, modulus) in [("f1", 2), ("f2", 3), ("f3", 5)] {
            items = stream.node(name, items).select(move |item: u32| {
                let value = munge(item);
                (value, value.is_multiple_of(modulus))
            });
        }
        let result = stream.collect("result", items);
        let report = stream.run(&loom(1)).unwrap();
        let expected = [(1_000_000, 7813, 7812), (500_350, 3909, 3908), (166_328, 1300, 1299), (33_184, 260, 259)];
        assert_eq!(counts(&report), expected);
        let result = result.take();
        let sum: u64 = result.iter().map(|value| u64::from(*value)).sum();
        assert_eq!((result.len(), sum), (33_184, 71_313_248_635_145));
    }
}

/// What the node with a synthetic gain does: each of the first items of a run gets one copy more.
fn synthetic(gain: f64) -> impl Fn(&mut Run<'_, u32>, &mut Push<'_, u32>) {
    move |run, out| {
        let items = run.items();
        let more = (items.len() as f64 * gain.fract()).floor() as usize;
        for (lane, item) in items.iter().enumerate() {
            for _ in 0..gain.floor() as usize + usize::from(lane < more) {
                out.push(*item);
            }
        }
    }
}

#[test]
fn nodes_with_synthetic_gains_run_as_often_as_the_ancestor_s() {
    let mut stream = Stream::new("gains");
    let mut items = stream.source("numbers", source::indexed(100_000, |i| i as u32));
    for (number, gain) in [0.25, 11.5, 0.125, 0.25, 0.5].into_iter().enumerate() {
        items = stream.node(format!("gain {number}"), items).channel::<u32>("out", 16).run(synthetic(gain));
    }
    stream.discard("result", items);
    let report = stream.run(&loom(1)).unwrap();
    let expected = [(100_000, 782), (25_000, 196), (287_500, 2247), (35_937, 281), (8984, 71), (4492, 36)];
    let measured = counts(&report).into_iter().map(|(inputs, runs, full)| {
        assert_eq!(full, runs - 1);
        (inputs, runs)
    });
    assert_eq!(measured.collect::<Vec<_>>(), expected);
}

#[test]
fn random_trees_with_random_gains_and_widths_run_as_rarely_as_they_can() {
    let cases: u64 = std::env::var("DRAWLOOM_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let loom = loom(1);
    for seed in 0..cases {
        let mut rng = Rng::with_seed(seed);
        let mut stream = Stream::new("tree").fuse(rng.bool()).queue_scale(rng.usize(1..4));
        // Now and then so many that nodes take many vectors at once.
        let numbers = if rng.usize(..16) == 0 { rng.u64(..200_000) } else { rng.u64(..3000) };
        let all = match rng.usize(..3) {
            0 => source::range(0..numbers),
            1 => source::slice((0..numbers).collect::<Vec<u64>>()),
            _ => source::iter(0..numbers),
        };
        let mut open = vec![stream.source("numbers", all)];
        for number in 0..rng.usize(1..8) {
            let from = open.swap_remove(rng.usize(..open.len()));
            let width = rng.usize(1..40);
            let node = stream.node(format!("node {number}"), from).width(width);
            let most = rng.u64(1..4);
            match rng.usize(..3) {
                0 => open.push(node.filter(move |n| n % most == 0)),
                1 => open.push(node.expand(move |n| n..n + n % (3 * most))),
                _ => {
                    let node = node.channel::<u64>("a", most as usize).channel::<u64>("b", 1);
                    let (a, b) = node.each(move |n, (a, b)| {
                        (0..n % (most + 1)).for_each(|_| a.push(n / 2));
                        if n % 3 == 0 {
                            b.push(*n);
                        }
                    });
                    open.extend([a, b]);
                }
            }
        }
        for (number, from) in open.into_iter().enumerate() {
            stream.discard(format!("sink {number}"), from);
        }
        let report = stream.run(&loom).unwrap();
        for node in report.nodes.iter().filter(|node| !node.is_source && node.fused_into.is_none()) {
            let (inputs, width) = (node.inputs, node.width as u64);
            assert_eq!((node.runs, node.full_runs), (inputs.div_ceil(width), inputs / width), "seed {seed}: {node:?}");
        }
        for edge in &report.edges {
            assert!(edge.high_water <= edge.capacity, "seed {seed}: {edge:?}");
        }
    }
}
