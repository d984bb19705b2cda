//! Jacobi's method for Laplace's equation: every node becomes the mean of its neighbours, and 1 is all around.
//!
//! The matrix is kept by edges: one from each node to itself with the coefficient -1, and one from each node to each of its
//! neighbours with 1/4. A side on which a node has no neighbour counts as a neighbour of value 1.
//!
//! | file | what is in it |
//! |---|---|
//! | `grid` | square grids, and the matrix of any mesh with edges |
//! | `double` | the program in double precision |
//! | `mixed` | the same in two precisions, with more components than it needs |
//! | `text` | the kernels as C text, for graph files |

mod double;
mod grid;
mod mixed;
mod text;

pub use grid::{by_name, grid};
pub use text::text;

use std::sync::Arc;

use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Dat, Error, Program, Run};
use parking_lot::Mutex;

/// What one sweep came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sweep {
    /// The largest value.
    pub max: f64,
    /// The root of the mean of the squares of the values.
    pub rms: f64,
}

/// Which numbers the program computes with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variant {
    /// Double precision, one component everywhere.
    #[default]
    Double,
    /// Coefficients in double precision and values in single, of two and three components of which one is used.
    Mixed,
}

/// The program, and the names of what it computes.
pub struct Jacobi {
    /// Its loops.
    pub program: Program,
    /// How many nodes there are.
    pub nodes: usize,
    /// What came of each sweep, as far as the program has run.
    pub sweeps: Arc<Mutex<Vec<Sweep>>>,
    values: Values,
}

/// The values of the nodes, in each variant.
#[derive(Clone, Copy)]
enum Values {
    Double(Dat<f64, 1>),
    Mixed(Dat<f32, 2>),
}

impl Jacobi {
    /// The program on a mesh with nodes and edges, for a number of sweeps. `progress` is called after each.
    ///
    /// # Errors
    /// When the mesh has no nodes, or no map `pedge` from edges to two of them.
    pub fn new(
        raw: &RawMesh,
        variant: Variant,
        sweeps: u64,
        progress: impl Fn(u64, Sweep) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::with_progress(raw, variant, sweeps, Box::new(progress))
    }

    /// Not generic, so that the kernels are compiled once, and not for each function that looks on.
    fn with_progress(
        raw: &RawMesh,
        variant: Variant,
        sweeps: u64,
        progress: Box<dyn Fn(u64, Sweep) + Send + Sync>,
    ) -> Result<Self, Error> {
        let matrix = grid::Matrix::of(raw)?;
        let nodes = matrix.nodes;
        let done = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&done);
        let report = move |sweep: i64, max: f64, sum: f64| {
            let came = Sweep { max, rms: (sum / nodes.max(1) as f64).sqrt() };
            noted.lock().push(came);
            progress(sweep as u64 + 1, came);
        };
        let (program, values) = match variant {
            Variant::Double => double::program(matrix, sweeps, report)?,
            Variant::Mixed => mixed::program(matrix, sweeps, report)?,
        };
        program.check()?;
        Ok(Self { program, nodes, sweeps: done, values })
    }

    /// The values of the nodes.
    ///
    /// # Errors
    /// When the run is another program's, or failed.
    pub fn values(&self, run: &Run) -> Result<Vec<f64>, Error> {
        Ok(match self.values {
            Values::Double(u) => run.dat(u)?.into_flattened(),
            Values::Mixed(u) => run.dat(u)?.iter().map(|u| f64::from(u[0])).collect(),
        })
    }
}
