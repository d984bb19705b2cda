//! Seeded generators: the same seed gives the same case on every machine.
//!
//! | file | concept |
//! |---|---|
//! | `worlds` | tables of regions |
//! | `sketch` | a graph that can still be changed, and made smaller while it stays interesting |
//! | `weave` | raw graphs: woven in program order, then perturbed |
//! | `programs` | sequences of calls for the builder |

pub(crate) mod programs;
pub(crate) mod sketch;
pub(crate) mod weave;
pub(crate) mod worlds;

use drawloom_graph::Graph;
use fastrand::Rng;

/// Any raw graph of up to seven tasks, valid or not.
pub(crate) fn graph(rng: &mut Rng) -> Graph {
    let world = if rng.u8(..) < 8 { worlds::inconsistent(rng) } else { worlds::world(rng) };
    weave::sketch(rng, &world).to_graph()
}

/// A valid raw graph of up to seven tasks.
pub(crate) fn valid_graph(rng: &mut Rng) -> Graph {
    loop {
        let graph = graph(rng);
        if graph.check().is_valid() {
            return graph;
        }
    }
}

/// A random case number turned into a generator. Neighbouring numbers give unrelated cases.
pub(crate) fn seeded(family: &str, case: u64) -> Rng {
    Rng::with_seed(super::meaning::mix(super::meaning::text(family), case))
}

/// How many cases a proof runs: the number given, or that of the environment variable `DRAWLOOM_CASES`.
pub(crate) fn cases(usual: u64) -> u64 {
    match std::env::var("DRAWLOOM_CASES") {
        Ok(text) => text.parse().expect("DRAWLOOM_CASES is a number of cases"),
        Err(_) => usual,
    }
}
