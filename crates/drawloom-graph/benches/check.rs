//! How fast graphs are checked, ordered and built: a hundred thousand nodes of each family.
//!
//! `drawloom-bench graph` measures the same families at any size, with memory and a linear fit.

mod families;

use divan::Bencher;
use drawloom_graph::Graph;

fn main() {
    divan::main();
}

fn graph(family: &str) -> Graph {
    match family {
        "stencil" => families::stencil(256, 195),
        "deep stencil" => families::deep_stencil(8, 195),
        "fan out" => families::fan_out(100_000),
        "reopen" => families::reopen(10_000, 3, false),
        _ => families::reopen(10_000, 3, true),
    }
}

const FAMILIES: [&str; 5] = ["stencil", "deep stencil", "fan out", "reopen", "reopen, read only"];

#[divan::bench(args = FAMILIES, sample_count = 20)]
fn check(bencher: Bencher<'_, '_>, family: &str) {
    let graph = graph(family);
    bencher.bench_local(|| graph.check());
}

#[divan::bench(args = FAMILIES, sample_count = 20)]
fn order(bencher: Bencher<'_, '_>, family: &str) {
    let graph = graph(family);
    bencher.bench_local(|| graph.order());
}

#[divan::bench(sample_count = 20)]
fn append() -> Graph {
    families::program(256, 195).finish()
}
