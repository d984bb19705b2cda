//! Counting and comparing: contributions to globals from loops that also change dats.
//!
//! A loop that is cut into blocks may run an iteration in several of them. What it contributes to a global must count once
//! all the same, and this program shows whether it does.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod` | [`Reduction`], which counts edges and cells |
//! | `bounds` | [`Bounds`]: lowest and highest values, directly and through a map |
//! | `text` | the kernels as C text, for graph files |

mod bounds;
mod text;

pub use bounds::{Bounds, FIVE, five};
pub use text::{bounds_text, text};

use std::sync::Arc;

use drawloom_mesh::kernel::Acc;
use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Dat, Error, Mesh, Program};
use parking_lot::Mutex;

/// How many iterations two loops counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Those of the loop over edges.
    pub edges: i32,
    /// Those of the loop over cells.
    pub cells: i32,
}

/// The program, and the names of what it computes.
pub struct Reduction {
    /// Its loops.
    pub program: Program,
    /// How many edges and cells there really are.
    pub sizes: Counts,
    /// For each cell, how many edges name it first, over all iterations, and how many iterations there were.
    pub seen: Dat<f64, 2>,
    /// What was counted in each iteration, as far as the program has run.
    pub counts: Arc<Mutex<Vec<Counts>>>,
}

/// An edge, counted, that contributes to a cell.
fn count_edge(seen: &mut [Acc<f64>; 2], count: &mut [Acc<i32>; 1]) {
    seen[0] += 1.0;
    count[0] += 1;
}

/// A cell, counted, that changes itself.
fn count_cell(seen: &mut [f64; 2], count: &mut [Acc<i32>; 1]) {
    seen[1] += 1.0;
    count[0] += 1;
}

impl Reduction {
    /// The program on a mesh, for a number of iterations. `progress` is called after each.
    ///
    /// # Errors
    /// When the mesh has no edges, no cells, or no map `pecell` from the ones to two of the others.
    pub fn new(
        raw: &RawMesh,
        iterations: u64,
        progress: impl Fn(u64, Counts) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::with_progress(raw, iterations, Box::new(progress))
    }

    /// Not generic, so that the kernels are compiled once, and not for each function that looks on.
    fn with_progress(
        raw: &RawMesh,
        iterations: u64,
        progress: Box<dyn Fn(u64, Counts) + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut mesh = Mesh::from_raw(raw)?;
        let (edges, cells) = (mesh.find_set("edges")?, mesh.find_set("cells")?);
        let pecell = mesh.find_map::<2>("pecell")?;
        let sizes = Counts { edges: mesh.size(edges)? as i32, cells: mesh.size(cells)? as i32 };
        let seen = mesh.dat_of("p_seen", cells, [0.0; 2])?;
        let (edge_count, cell_count) = (mesh.global("edge_count", [0])?, mesh.global("cell_count", [0])?);
        let iteration = mesh.global("iteration", [0_i64])?;
        let counts = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&counts);

        let mut program = Program::new(mesh);
        program.repeat_with("iterations", iteration, iterations, |program| {
            let reset = program.scalar("reset").update(edge_count).update(cell_count);
            reset.run(|edges, cells| (*edges, *cells) = ([0], [0]));
            program.each(edges, "count_edge").inc(seen.at(pecell, 0)).inc(edge_count).run(count_edge);
            program.each(cells, "count_cell").update(seen).inc(cell_count).run(count_cell);
            let counted = program.scalar("report").read(edge_count).read(cell_count).read(iteration);
            counted.run(move |edges, cells, iteration| {
                let counts = Counts { edges: edges[0], cells: cells[0] };
                noted.lock().push(counts);
                progress(iteration[0] as u64 + 1, counts);
            });
        });
        program.check()?;
        Ok(Self { program, sizes, seen, counts })
    }
}
