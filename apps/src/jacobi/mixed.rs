//! The program in two precisions. Only the first component of each dat is used, and their numbers differ, so that a mistake
//! in how elements lie in memory shows.

use drawloom_mesh::kernel::{Acc, Highest, Out};
use drawloom_mesh::{Error, Mesh, Program};

use super::Values;
use super::grid::Matrix;

/// What the components that are not used hold. It comes out as it went in.
const UNUSED: f32 = -7.0;

fn begin(u: &mut Out<f32, 2>) {
    u.set([0.0, UNUSED]);
}

fn res(a: &[f64; 3], u: &[f32; 2], beta: &[f32; 1], du: &mut [Acc<f32>; 3]) {
    du[0] += (f64::from(beta[0]) * a[0] * f64::from(u[0])) as f32;
}

fn update(
    r: &[f32; 2],
    du: &mut [f32; 3],
    u: &mut [f32; 2],
    alpha: &[f32; 1],
    sum: &mut [Acc<f32>; 1],
    max: &mut [Highest<f32>; 1],
) {
    u[0] += du[0] + alpha[0] * r[0];
    du[0] = 0.0;
    sum[0] += u[0] * u[0];
    max[0].offer(u[0]);
}

/// The program. `report` gets the number of each sweep, the largest value, and the sum of squares.
pub(super) fn program(
    matrix: Matrix,
    sweeps: u64,
    report: impl Fn(i64, f64, f64) + Send + Sync + 'static,
) -> Result<(Program, Values), Error> {
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", matrix.nodes)?, mesh.set("edges", matrix.coefficients.len())?);
    let ends = mesh.map::<2>("ppedge", edges, nodes, matrix.ends)?;
    let far = f64::from(UNUSED);
    let a = mesh.dat("p_A", edges, matrix.coefficients.into_iter().map(|a| [a, far, far]).collect())?;
    let r = mesh.dat("p_r", nodes, matrix.right.into_iter().map(|r| [r as f32, UNUSED]).collect())?;
    let u = mesh.dat_of("p_u", nodes, [0.0_f32, UNUSED])?;
    let du = mesh.dat_of("p_du", nodes, [0.0_f32, UNUSED, UNUSED])?;
    let (alpha, beta) = (mesh.constant("alpha", [1.0_f32])?, mesh.constant("beta", [1.0_f32])?);
    let (sum, max) = (mesh.global("u_sum", [0.0_f32])?, mesh.global("u_max", [0.0_f32])?);
    let sweep = mesh.global("sweep", [0_i64])?;

    let mut program = Program::new(mesh);
    program.each(nodes, "begin").write(u).run(begin);
    program.repeat_with("sweeps", sweep, sweeps, |program| {
        program.each(edges, "res").read(a).read(u.at(ends, 1)).read(beta).inc(du.at(ends, 0)).run(res);
        program.scalar("reset").update(sum).update(max).run(|sum, max| (*sum, *max) = ([0.0], [0.0]));
        program.each(nodes, "update").read(r).update(du).update(u).read(alpha).inc(sum).max(max).run(update);
        program.require_finite(sum);
        let values = program.scalar("report").read(sum).read(max).read(sweep);
        values.run(move |sum, max, sweep| report(sweep[0], f64::from(max[0]), f64::from(sum[0])));
    });
    Ok((program, Values::Mixed(u)))
}
