//! How fast graphs are read from JSON and written to it.
//!
//! A stencil of 500 blocks and 1000 steps: a million nodes, 2.5 million edges.

use divan::Bencher;
use divan::counter::BytesCount;
use drawloom_lang::json;

const BLOCKS: usize = 500;
const STEPS: usize = 1000;

fn main() {
    divan::main();
}

/// Ids as texts, or as integers.
fn stencil(integers: bool) -> String {
    use std::fmt::Write as _;
    let version = |step: usize, block: usize| match integers {
        true => format!("{}", step * 2 * BLOCKS + block),
        false => format!("\"u{block}.version{step}\""),
    };
    let task = |step: usize, block: usize| match integers {
        true => format!("{}", (step * 2 + 1) * BLOCKS + block),
        false => format!("\"smooth{block}.step{step}\""),
    };
    let names: Vec<String> = (0..BLOCKS).map(|block| format!("\"u{block}\"")).collect();
    let mut text = format!("{{\"region_graph\":{{\"regions\":[{}]}},\"nodes\":[", names.join(","));
    for step in 0..=STEPS {
        for block in 0..BLOCKS {
            let _ = write!(text, "{{\"id\":{},\"label\":\"Region\",\"region\":\"u{block}\"}},", version(step, block));
            if step < STEPS {
                let _ = write!(text, "{{\"id\":{},\"label\":\"Task\"}},", task(step, block));
            }
        }
    }
    text.pop();
    text.push_str("],\"edges\":[");
    for step in 0..STEPS {
        for block in 0..BLOCKS {
            for near in [block.saturating_sub(1), block, (block + 1).min(BLOCKS - 1)] {
                let (from, to) = (version(step, near), task(step, block));
                let _ = write!(text, "{{\"from\":{from},\"to\":{to},\"label\":\"Read\"}},");
            }
            let (from, to) = (task(step, block), version(step + 1, block));
            let _ = write!(text, "{{\"from\":{from},\"to\":{to},\"label\":\"Write\"}},");
            let _ = write!(text, "{{\"from\":{from},\"to\":{to},\"label\":\"Write\",\"port\":1}},");
        }
    }
    text.pop();
    text.push_str("]}");
    text
}

#[divan::bench(args = [false, true], sample_count = 5)]
fn read(bencher: Bencher<'_, '_>, integers: bool) {
    let text = stencil(integers);
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| json::read(text.as_bytes()).expect("a graph"));
}

#[divan::bench(args = [false, true], sample_count = 5)]
fn write(bencher: Bencher<'_, '_>, integers: bool) {
    let text = stencil(integers);
    let graph = json::read(text.as_bytes()).expect("a graph");
    bencher.counter(BytesCount::of_str(&text)).bench_local(|| json::write(&graph));
}
