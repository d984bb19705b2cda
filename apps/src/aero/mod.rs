//! The potential of a compressible flow around an airfoil, by finite elements: Newton's method around conjugate gradients.
//!
//! | file | what is in it |
//! |---|---|
//! | `kernels` | what is computed for each cell and node |
//! | `text` | the kernels as C text, for graph files |

pub mod kernels;
mod text;

pub use text::text;

use std::sync::Arc;

use drawloom_mesh::raw::RawMesh;
use drawloom_mesh::{Dat, Error, Mesh, Program};
use parking_lot::Mutex;

/// What one outer iteration came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outer {
    /// How many steps of the conjugate gradients it took.
    pub inner: i64,
    /// By how much the potential changed, as a mean over the nodes.
    pub residual: f64,
}

/// The program, and the names of what it computes.
pub struct Aero {
    /// Its loops.
    pub program: Program,
    /// How many cells the mesh has.
    pub cells: usize,
    /// The potential.
    pub phim: Dat<f64, 1>,
    /// What came of each outer iteration, as far as the program has run.
    pub iterations: Arc<Mutex<Vec<Outer>>>,
}

/// The most steps of the conjugate gradients.
const MOST_STEPS: i64 = 200;

/// The derivatives of the four bilinear shape functions in the points of Gauss, with as many digits as the reference has.
fn derivatives() -> kernels::Derivatives {
    let (a, b) = (0.788675134594813, 0.211324865405187);
    let (one, other) = ([-a, a, -b, b], [-b, b, -a, a]);
    let (up, down) = ([-a, -b, a, b], [-b, -a, b, a]);
    let all = [one, one, other, other, up, down, up, down];
    std::array::from_fn(|n| all[n / 4][n % 4])
}

impl Aero {
    /// The program on a mesh, for a number of outer iterations. `progress` is called after each.
    ///
    /// # Errors
    /// When the mesh lacks one of the sets, maps and dats of such a mesh.
    pub fn new(
        raw: &RawMesh,
        iterations: u64,
        progress: impl Fn(u64, Outer) + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        Self::with_progress(raw, iterations, Box::new(progress))
    }

    /// Not generic, so that the kernels are compiled once, and not for each function that looks on.
    fn with_progress(
        raw: &RawMesh,
        iterations: u64,
        progress: Box<dyn Fn(u64, Outer) + Send + Sync>,
    ) -> Result<Self, Error> {
        let mut mesh = Mesh::from_raw(raw)?;
        let (nodes, cells, bedges) = (mesh.find_set("nodes")?, mesh.find_set("cells")?, mesh.find_set("bedges")?);
        let (pcell, pbedge) = (mesh.find_map::<4>("pcell")?, mesh.find_map::<1>("pbedge")?);
        let x = mesh.find_dat::<f64, 2>("p_x")?;
        let (count, node_count) = (mesh.size(cells)?, mesh.size(nodes)?);

        let gam = 1.4;
        let gm1 = mesh.constant("gm1", [gam - 1.0])?;
        let gm1i = mesh.constant("gm1i", [1.0 / (gam - 1.0)])?;
        let minf = 0.1;
        let m2 = mesh.constant("m2", [minf * minf])?;
        let weights = mesh.constant("wtg2", [0.25; 4])?;
        let shape = mesh.constant("Ng2_xi", derivatives())?;

        let start: Vec<[f64; 1]> = match raw.dat("p_x")?.values.as_f64() {
            Some(x) => x.chunks(2).map(|x| [minf * x[0]]).collect(),
            None => Vec::new(),
        };
        let phim = mesh.dat("p_phim", nodes, start)?;
        let mut zeros = |name: &str| mesh.dat_of(name, nodes, [0.0]);
        let res = zeros("p_resm")?;
        let v = zeros("p_V")?;
        let p = zeros("p_P")?;
        let u = zeros("p_U")?;
        let k = mesh.dat_of("p_K", cells, [0.0; 16])?;

        let c1 = mesh.global("c1", [0.0])?;
        let c2 = mesh.global("c2", [0.0])?;
        let c3 = mesh.global("c3", [0.0])?;
        let (alpha, beta) = (mesh.global("alpha", [0.0])?, mesh.global("beta", [0.0])?);
        let (goal, inner) = (mesh.global("goal", [0.0])?, mesh.global("inner", [0_i64])?);
        let (goes_on, rms) = (mesh.global("goes_on", [false])?, mesh.global("rms", [0.0])?);
        let outer = mesh.global("outer", [0_i64])?;

        let done = Arc::new(Mutex::new(Vec::new()));
        let mut program = Program::new(mesh);
        program.repeat_with("newton", outer, iterations, |program| {
            program
                .each(cells, "res_calc")
                .read(x.through(pcell))
                .read(phim.through(pcell))
                .read(shape)
                .read(weights)
                .read(gm1)
                .read(gm1i)
                .read(m2)
                .write(k)
                .inc(res.through(pcell))
                .run(kernels::res_calc);
            program.each(bedges, "dirichlet").write(res.at(pbedge, 0)).run(kernels::dirichlet);
            program.scalar("begin").update(c1).run(|c1| c1[0] = 0.0);
            program.each(nodes, "init_cg").read(res).inc(c1).write(u).write(v).write(p).run(kernels::init_cg);
            // Without this, what is not a number would be below any goal, and the first guess be taken for the solution.
            program.require_finite(c1);
            program.scalar("goal").read(c1).update(goal).update(inner).update(goes_on).run(
                |c1, goal, inner, goes_on| {
                    goal[0] = 0.1 * c1[0].sqrt();
                    inner[0] = 0;
                    goes_on[0] = c1[0].sqrt() > goal[0];
                },
            );
            program.while_true(goes_on, |program| {
                program.each(cells, "spMV").inc(v.through(pcell)).read(k).read(p.through(pcell)).run(kernels::sp_mv);
                program.each(bedges, "dirichlet").write(v.at(pbedge, 0)).run(kernels::dirichlet);
                program.scalar("reset").update(c2).update(c3).run(|c2, c3| (c2[0], c3[0]) = (0.0, 0.0));
                program.each(nodes, "dotPV").read(p).read(v).inc(c2).run(kernels::dot_pv);
                program.scalar("alpha").read(c1).read(c2).update(alpha).run(|c1, c2, alpha| alpha[0] = c1[0] / c2[0]);
                program
                    .each(nodes, "updateUR")
                    .update(u)
                    .update(res)
                    .read(p)
                    .update(v)
                    .read(alpha)
                    .run(kernels::update_ur);
                program.each(nodes, "dotR").read(res).inc(c3).run(kernels::dot_r);
                program.scalar("beta").read(c3).update(c1).update(beta).run(|c3, c1, beta| {
                    beta[0] = c3[0] / c1[0];
                    c1[0] = c3[0];
                });
                program.each(nodes, "updateP").read(res).update(p).read(beta).run(kernels::update_p);
                let judge = program.scalar("judge").read(c1).read(goal).update(inner).update(goes_on);
                judge.run(|c1, goal, inner, goes_on| {
                    inner[0] += 1;
                    goes_on[0] = c1[0].sqrt() > goal[0] && inner[0] < MOST_STEPS;
                });
            });
            program.scalar("reset_rms").update(rms).run(|rms| rms[0] = 0.0);
            program.each(nodes, "update").update(phim).write(res).read(u).inc(rms).run(kernels::update);
            program.require_finite(rms);
            let done = Arc::clone(&done);
            program.scalar("report").read(rms).read(inner).read(outer).run(move |rms, inner, outer| {
                let came = Outer { inner: inner[0], residual: (rms[0] / node_count.max(1) as f64).sqrt() };
                done.lock().push(came);
                progress(outer[0] as u64 + 1, came);
            });
        });
        program.check()?;
        Ok(Self { program, cells: count, phim, iterations: done })
    }
}
