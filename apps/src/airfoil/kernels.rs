//! The five kernels: a cell-centred finite-volume scheme for the Euler equations with scalar dissipation, in two stages.
//!
//! A state is `(density, momentum in x, momentum in y, energy)`. The numbers are those of OP2's application of the same
//! name, in the same order of operations, so that residuals agree digit by digit.

use drawloom_mesh::kernel::{Acc, HighestWith, Out};

/// Keeps the state.
#[inline(always)]
pub fn save_soln(q: &[f64; 4], qold: &mut Out<f64, 4>) {
    qold.set(*q);
}

/// The area of a cell over the largest time step that is stable in it.
#[inline(always)]
pub fn adt_calc(x: [&[f64; 2]; 4], q: &[f64; 4], gam: &[f64; 1], gm1: &[f64; 1], cfl: &[f64; 1], adt: &mut Out<f64, 1>) {
    let ri = 1.0 / q[0];
    let u = ri * q[1];
    let v = ri * q[2];
    let c = (gam[0] * gm1[0] * (ri * q[3] - 0.5 * (u * u + v * v))).sqrt();
    let side = |a: &[f64; 2], b: &[f64; 2]| {
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        (u * dy - v * dx).abs() + c * (dx * dx + dy * dy).sqrt()
    };
    let sides = side(x[0], x[1]) + side(x[1], x[2]) + side(x[2], x[3]) + side(x[3], x[0]);
    adt.set([sides / cfl[0]]);
}

/// The flux through an edge between two cells.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn res_calc(
    x1: &[f64; 2],
    x2: &[f64; 2],
    q1: &[f64; 4],
    q2: &[f64; 4],
    adt1: &[f64; 1],
    adt2: &[f64; 1],
    gm1: &[f64; 1],
    eps: &[f64; 1],
    res1: &mut [Acc<f64>; 4],
    res2: &mut [Acc<f64>; 4],
) {
    let mu = 0.5 * (adt1[0] + adt2[0]) * eps[0];
    let flux = flux([x1[0] - x2[0], x1[1] - x2[1]], q1, q2, mu, gm1[0]);
    for (n, f) in flux.into_iter().enumerate() {
        res1[n] += f;
        res2[n] -= f;
    }
}

#[inline(always)]
fn flux([dx, dy]: [f64; 2], q1: &[f64; 4], q2: &[f64; 4], mu: f64, gm1: f64) -> [f64; 4] {
    let ri = 1.0 / q1[0];
    let p1 = gm1 * (q1[3] - 0.5 * ri * (q1[1] * q1[1] + q1[2] * q1[2]));
    let vol1 = ri * (q1[1] * dy - q1[2] * dx);
    let ri = 1.0 / q2[0];
    let p2 = gm1 * (q2[3] - 0.5 * ri * (q2[1] * q2[1] + q2[2] * q2[2]));
    let vol2 = ri * (q2[1] * dy - q2[2] * dx);
    [
        0.5 * (vol1 * q1[0] + vol2 * q2[0]) + mu * (q1[0] - q2[0]),
        0.5 * (vol1 * q1[1] + p1 * dy + vol2 * q2[1] + p2 * dy) + mu * (q1[1] - q2[1]),
        0.5 * (vol1 * q1[2] - p1 * dx + vol2 * q2[2] - p2 * dx) + mu * (q1[2] - q2[2]),
        0.5 * (vol1 * (q1[3] + p1) + vol2 * (q2[3] + p2)) + mu * (q1[3] - q2[3]),
    ]
}

/// The flux through an edge of the wall, which only the pressure passes, or of the far field.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn bres_calc(
    x1: &[f64; 2],
    x2: &[f64; 2],
    q1: &[f64; 4],
    adt1: &[f64; 1],
    bound: &[i32; 1],
    gm1: &[f64; 1],
    eps: &[f64; 1],
    qinf: &[f64; 4],
    res1: &mut [Acc<f64>; 4],
) {
    let (dx, dy) = (x1[0] - x2[0], x1[1] - x2[1]);
    if bound[0] == 1 {
        let ri = 1.0 / q1[0];
        let p1 = gm1[0] * (q1[3] - 0.5 * ri * (q1[1] * q1[1] + q1[2] * q1[2]));
        res1[1] += p1 * dy;
        res1[2] += -p1 * dx;
        return;
    }
    for (n, f) in flux([dx, dy], q1, qinf, adt1[0] * eps[0], gm1[0]).into_iter().enumerate() {
        res1[n] += f;
    }
}

/// The next state, and how much it differs from the kept one.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
pub fn update(
    cell: usize,
    qold: &[f64; 4],
    q: &mut Out<f64, 4>,
    res: &mut [f64; 4],
    adt: &[f64; 1],
    rms: &mut [Acc<f64>; 1],
    largest: &mut HighestWith<f64, u32>,
) {
    let adti = 1.0 / adt[0];
    let mut next = [0.0; 4];
    let mut square = 0.0;
    for n in 0..4 {
        let del = adti * res[n];
        next[n] = qold[n] - del;
        res[n] = 0.0;
        square += del * del;
        rms[0] += del * del;
    }
    q.set(next);
    largest.offer(square, cell as u32);
}
