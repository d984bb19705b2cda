//! Graphs with names: small machines, and mesh programs as messages.

use std::sync::Arc;

use drawloom_apps::aero::{self, Aero};
use drawloom_apps::airfoil::{self, Airfoil};
use drawloom_apps::dots::{self, Dots};
use drawloom_apps::jacobi::{self, Jacobi, Variant};
use drawloom_apps::messages::{self, heat, ring, storm};
use drawloom_apps::naca;
use drawloom_apps::reduction::{self, Bounds, Reduction};
use drawloom_mesh::{HandlerText, Program};
use drawloom_messages::Instance;
use drawloom_messages::xml::Registry;

use super::Failure;
use crate::number::integer;

/// As many devices and edges as fit into a few gigabytes.
const MOST: u64 = 50_000_000;

/// A graph that is made from sizes.
struct Sample {
    name: &'static str,
    /// What the sizes mean.
    sizes: &'static [&'static str],
    /// About how many edges it has.
    edges: fn(&[u64]) -> u64,
    make: fn(&[u64]) -> Result<Arc<Instance>, Failure>,
    /// Whether it is a mesh program, whose type of graph is known here only by making one.
    is_program: bool,
}

const SAMPLES: [Sample; 10] = [
    Sample {
        name: "ring",
        sizes: &["NODES", "LAPS"],
        edges: |sizes| sizes[0],
        make: |sizes| ring::instance(small(sizes[0]), small(sizes[1])).map_err(Failure::unusable),
        is_program: false,
    },
    Sample {
        name: "heat",
        sizes: &["WIDTH", "HEIGHT", "STEPS"],
        edges: |sizes| sizes[0].saturating_mul(sizes[1]),
        make: |sizes| heat::instance(small(sizes[0]), small(sizes[1]), small(sizes[2])).map_err(Failure::unusable),
        is_program: false,
    },
    Sample {
        name: "storm",
        sizes: &["NODES", "DEGREE", "WAVES"],
        edges: |sizes| sizes[0].saturating_mul(sizes[1].saturating_add(1)),
        make: |sizes| storm::instance(small(sizes[0]), small(sizes[1]), small(sizes[2]), 1).map_err(Failure::unusable),
        is_program: false,
    },
    Sample {
        name: "airfoil",
        sizes: &["I", "J", "ITERATIONS"],
        edges: of_cells,
        make: |sizes| {
            let raw = naca::naca0012(sizes[0] as usize, sizes[1] as usize).map_err(Failure::unusable)?;
            graph("airfoil", Airfoil::new(&raw, sizes[2], |_, _| ()).map(|app| app.program), &airfoil::text())
        },
        is_program: true,
    },
    Sample {
        name: "aero",
        sizes: &["I", "J", "ITERATIONS"],
        edges: of_cells,
        make: |sizes| {
            let raw = naca::naca0012_fe(sizes[0] as usize, sizes[1] as usize).map_err(Failure::unusable)?;
            graph("aero", Aero::new(&raw, sizes[2], |_, _| ()).map(|app| app.program), &aero::text())
        },
        is_program: true,
    },
    Sample {
        name: "jacobi",
        sizes: &["SIDE", "SWEEPS"],
        edges: of_nodes,
        make: |sizes| jacobi("jacobi", sizes, Variant::Double),
        is_program: true,
    },
    Sample {
        name: "jacobi_mixed",
        sizes: &["SIDE", "SWEEPS"],
        edges: of_nodes,
        make: |sizes| jacobi("jacobi_mixed", sizes, Variant::Mixed),
        is_program: true,
    },
    Sample {
        name: "reduction",
        sizes: &["I", "J", "ITERATIONS"],
        edges: of_cells,
        make: |sizes| {
            let raw = naca::naca0012(sizes[0] as usize, sizes[1] as usize).map_err(Failure::unusable)?;
            graph("reduction", Reduction::new(&raw, sizes[2], |_, _| ()).map(|app| app.program), &reduction::text())
        },
        is_program: true,
    },
    Sample {
        name: "bounds",
        sizes: &["I", "J"],
        edges: of_cells,
        make: |sizes| {
            let raw = naca::naca0012(sizes[0] as usize, sizes[1] as usize).map_err(Failure::unusable)?;
            graph("bounds", Bounds::new(&raw).map(|app| app.program), &reduction::bounds_text())
        },
        is_program: true,
    },
    Sample {
        name: "dots",
        sizes: &["LENGTH", "ITERATIONS"],
        edges: |sizes| sizes[0].saturating_mul(20),
        make: |sizes| {
            let raw = dots::line(sizes[0] as usize).map_err(Failure::unusable)?;
            graph("dots", Dots::new(&raw, sizes[1], |_, _| ()).map(|app| app.program), &dots::text())
        },
        is_program: true,
    },
];

/// A cell of an airfoil mesh has some forty edges, and there are three for each pair of sizes.
fn of_cells(sizes: &[u64]) -> u64 {
    sizes[0].saturating_mul(sizes[1]).saturating_mul(120)
}

/// A node of a grid has some thirty edges.
fn of_nodes(sizes: &[u64]) -> u64 {
    sizes[0].saturating_mul(sizes[0]).saturating_mul(30)
}

/// Sizes of the small machines. Those that are too large were refused: only counts of steps may be.
fn small(size: u64) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

fn jacobi(name: &str, sizes: &[u64], variant: Variant) -> Result<Arc<Instance>, Failure> {
    let raw = jacobi::grid(sizes[0] as usize).map_err(Failure::unusable)?;
    graph(name, Jacobi::new(&raw, variant, sizes[1], |_, _| ()).map(|app| app.program), &jacobi::text(variant))
}

/// A mesh program as devices.
fn graph(
    name: &str,
    program: Result<Program, drawloom_mesh::Error>,
    text: &HandlerText,
) -> Result<Arc<Instance>, Failure> {
    program.and_then(|program| program.event_graph(name, Some(text))).map_err(Failure::unusable)
}

/// The types of graph whose handlers are known here.
pub(super) fn registry() -> Result<Registry, Failure> {
    let mut registry = messages::registry();
    for sample in SAMPLES.iter().filter(|sample| sample.is_program) {
        // The type is the same for all sizes.
        let smallest = (sample.make)(&[1, 1, 1])?;
        registry.register(smallest.graph_type()).map_err(Failure::unusable)?;
    }
    Ok(registry)
}

/// A sample, if the text is the name of one with sizes.
pub(super) fn by_name(text: &str) -> Result<Option<Arc<Instance>>, Failure> {
    let Some((name, sizes)) = text.split_once(':') else { return Ok(None) };
    let Some(sample) = SAMPLES.iter().find(|sample| sample.name == name) else { return Ok(None) };
    let numbers: Option<Vec<u64>> = sizes.split('x').map(|size| integer(size).ok()).collect();
    match numbers.filter(|numbers| numbers.len() == sample.sizes.len() && (sample.edges)(numbers) <= MOST) {
        Some(numbers) => (sample.make)(&numbers).map(Some),
        None => {
            let form = sample.sizes.join("x");
            Err(Failure::unusable(format_args!(
                "{text:?} is no sample: write {name}:{form}, with at most {MOST} edges"
            )))
        }
    }
}
