//! The program in double precision.

use drawloom_mesh::kernel::{Acc, Highest, Out};
use drawloom_mesh::{Error, Mesh, Program};

use super::Values;
use super::grid::Matrix;

fn begin(u: &mut Out<f64, 1>) {
    u.set([0.0]);
}

fn res(a: &[f64; 1], u: &[f64; 1], beta: &[f64; 1], du: &mut [Acc<f64>; 1]) {
    du[0] += beta[0] * a[0] * u[0];
}

fn update(
    r: &[f64; 1],
    du: &mut [f64; 1],
    u: &mut [f64; 1],
    alpha: &[f64; 1],
    sum: &mut [Acc<f64>; 1],
    max: &mut [Highest<f64>; 1],
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
    let a = mesh.dat("p_A", edges, matrix.coefficients.into_iter().map(|a| [a]).collect())?;
    let r = mesh.dat("p_r", nodes, matrix.right.into_iter().map(|r| [r]).collect())?;
    let (u, du) = (mesh.dat_of("p_u", nodes, [0.0])?, mesh.dat_of("p_du", nodes, [0.0])?);
    let (alpha, beta) = (mesh.constant("alpha", [1.0])?, mesh.constant("beta", [1.0])?);
    let (sum, max) = (mesh.global("u_sum", [0.0])?, mesh.global("u_max", [0.0])?);
    let sweep = mesh.global("sweep", [0_i64])?;

    let mut program = Program::new(mesh);
    program.each(nodes, "begin").write(u).run(begin);
    program.repeat_with("sweeps", sweep, sweeps, |program| {
        program.each(edges, "res").read(a).read(u.at(ends, 1)).read(beta).inc(du.at(ends, 0)).run(res);
        program.scalar("reset").update(sum).update(max).run(|sum, max| (*sum, *max) = ([0.0], [0.0]));
        program.each(nodes, "update").read(r).update(du).update(u).read(alpha).inc(sum).max(max).run(update);
        program.require_finite(sum);
        let values = program.scalar("report").read(sum).read(max).read(sweep);
        values.run(move |sum, max, sweep| report(sweep[0], max[0], sum[0]));
    });
    Ok((program, Values::Double(u)))
}
