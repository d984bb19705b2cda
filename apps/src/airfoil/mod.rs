//! The flow of air around a NACA 0012 airfoil, as a program of mesh loops.
//!
//! | file | what is in it |
//! |---|---|
//! | [`kernels`] | what is computed for each cell and edge |
//! | [`maths`] | the formulas in them |
//! | [`fused`] | the same written by hand, as the limit to compare with |
//! | `text` | the kernels as C text, for graph files |

pub mod fused;
pub mod kernels;
pub mod maths;
mod text;

pub use text::text;

use std::sync::Arc;

use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Dat, Error, Global, Mesh, Program};
use parking_lot::Mutex;

use maths::Constants;

/// The program, and the names of what it computes.
pub struct Airfoil {
    /// Its loops.
    pub program: Program,
    /// How many cells the mesh has.
    pub cells: usize,
    /// The state of each cell: density, momentum and energy.
    pub q: Dat<f64, 4>,
    /// The sum of the squares of the changes in the last iteration.
    pub rms: Global<f64, 1>,
    /// The residual after each iteration, as far as the program has run.
    pub residuals: Arc<Mutex<Vec<f64>>>,
}

impl Airfoil {
    /// The program on a mesh, for a number of iterations. `progress` is called after each.
    ///
    /// # Errors
    /// When the mesh lacks one of the sets, maps and dats of an airfoil mesh.
    pub fn new(
        raw: &RawMesh,
        iterations: u64,
        progress: impl Fn(u64, f64) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::with_progress(raw, iterations, Box::new(progress))
    }

    /// Not generic, so that the kernels are compiled once, and not for each function that looks on.
    fn with_progress(
        raw: &RawMesh,
        iterations: u64,
        progress: Box<dyn Fn(u64, f64) + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut mesh = Mesh::from_raw(raw)?;
        let (edges, bedges, cells) = (mesh.find_set("edges")?, mesh.find_set("bedges")?, mesh.find_set("cells")?);
        let (pedge, pecell) = (mesh.find_map::<2>("pedge")?, mesh.find_map::<2>("pecell")?);
        let (pbedge, pbecell) = (mesh.find_map::<2>("pbedge")?, mesh.find_map::<1>("pbecell")?);
        let pcell = mesh.find_map::<4>("pcell")?;
        let (x, bound) = (mesh.find_dat::<f64, 2>("p_x")?, mesh.find_dat::<i32, 1>("p_bound")?);
        let count = mesh.size(cells)?;

        let air = Constants::air();
        let gam = mesh.constant("gam", [air.gam])?;
        let gm1 = mesh.constant("gm1", [air.gm1])?;
        let cfl = mesh.constant("cfl", [air.cfl])?;
        let eps = mesh.constant("eps", [air.eps])?;
        let qinf = mesh.constant("qinf", air.far)?;

        let q = mesh.dat_of("p_q", cells, air.far)?;
        let qold = mesh.dat_of("p_qold", cells, [0.0; 4])?;
        let adt = mesh.dat_of("p_adt", cells, [0.0])?;
        let res = mesh.dat_of("p_res", cells, [0.0; 4])?;
        let rms = mesh.global("rms", [0.0])?;
        let (largest, place) = (mesh.global("largest", [0.0])?, mesh.global("place", [0_u32])?);
        let iteration = mesh.global("iteration", [0_i64])?;

        let residuals = Arc::new(Mutex::new(Vec::new()));
        let mut program = Program::new(mesh);
        program.repeat_with("time", iteration, iterations, |program| {
            program.each(cells, "save_soln").read(q).write(qold).run(kernels::save_soln);
            program.repeat("stage", 2, |program| {
                program
                    .each(cells, "adt_calc")
                    .read(x.through(pcell))
                    .read(q)
                    .read(gam)
                    .read(gm1)
                    .read(cfl)
                    .write(adt)
                    .run(kernels::adt_calc);
                program
                    .each(edges, "res_calc")
                    .read(x.at(pedge, 0))
                    .read(x.at(pedge, 1))
                    .read(q.at(pecell, 0))
                    .read(q.at(pecell, 1))
                    .read(adt.at(pecell, 0))
                    .read(adt.at(pecell, 1))
                    .read(gm1)
                    .read(eps)
                    .inc(res.at(pecell, 0))
                    .inc(res.at(pecell, 1))
                    .run(kernels::res_calc);
                program
                    .each(bedges, "bres_calc")
                    .read(x.at(pbedge, 0))
                    .read(x.at(pbedge, 1))
                    .read(q.at(pbecell, 0))
                    .read(adt.at(pbecell, 0))
                    .read(bound)
                    .read(gm1)
                    .read(eps)
                    .read(qinf)
                    .inc(res.at(pbecell, 0))
                    .run(kernels::bres_calc);
                program.scalar("reset").update(rms).update(largest).run(|rms, largest| {
                    rms[0] = 0.0;
                    largest[0] = 0.0;
                });
                program
                    .each(cells, "update")
                    .index()
                    .read(qold)
                    .write(q)
                    .update(res)
                    .read(adt)
                    .inc(rms)
                    .max_with(largest, place)
                    .run(kernels::update);
            });
            program.require_finite(rms);
            let residuals = Arc::clone(&residuals);
            program.scalar("report").read(rms).read(iteration).run(move |rms, iteration| {
                let residual = (rms[0] / count.max(1) as f64).sqrt();
                residuals.lock().push(residual);
                progress(iteration[0] as u64 + 1, residual);
            });
        });
        program.check()?;
        Ok(Self { program, cells: count, q, rms, residuals })
    }
}
