//! The five kernels: a cell-centred finite-volume scheme for the Euler equations with scalar dissipation, in two stages.
//!
//! A state is `(density, momentum in x, momentum in y, energy)`. The numbers are those of OP2's application of the same
//! name, so residuals agree.

use drawloom_mesh::kernel::{Acc, HighestWith, Out};

/// Keeps the state.
#[inline(always)]
pub fn save_soln(q: &[f64; 4], qold: &mut Out<f64, 4>) {
    qold.set(*q);
}

/// The area of a cell over the largest time step that is stable in it.
#[inline(always)]
pub fn adt_calc(
    x: [&[f64; 2]; 4],
    q: &[f64; 4],
    gam: &[f64; 1],
    gm1: &[f64; 1],
    cfl: &[f64; 1],
    adt: &mut Out<f64, 1>,
) {
    let ri = 1.0 / q[0];
    let u = ri * q[1];
    let v = ri * q[2];
    let c = (gam[0] * gm1[0] * (ri * q[3] - 0.5 * (u * u + v * v))).sqrt();
    let mut sides = [0.0; 4];
    for (n, side) in sides.iter_mut().enumerate() {
        let (a, b) = (x[n], x[(n + 1) % 4]);
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        *side = (u * dy - v * dx).abs() + c * (dx * dx + dy * dy).sqrt();
    }
    adt.set([(sides[0] + sides[1] + sides[2] + sides[3]) / cfl[0]]);
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
    let (r1, r2) = (1.0 / q1[0], 1.0 / q2[0]);
    let p1 = gm1 * (q1[3] - 0.5 * r1 * (q1[1] * q1[1] + q1[2] * q1[2]));
    let p2 = gm1 * (q2[3] - 0.5 * r2 * (q2[1] * q2[1] + q2[2] * q2[2]));
    let vol1 = r1 * (q1[1] * dy - q1[2] * dx);
    let vol2 = r2 * (q2[1] * dy - q2[2] * dx);
    let pressure = [0.0, (p1 + p2) * dy, -(p1 + p2) * dx, vol1 * p1 + vol2 * p2];
    // The same operations for all four numbers, so that they can be done at once.
    let mut flux = [0.0; 4];
    for n in 0..4 {
        flux[n] = 0.5 * (vol1 * q1[n] + vol2 * q2[n] + pressure[n]) + mu * (q1[n] - q2[n]);
    }
    flux
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
    }
    // Once for each cell: additions to one number wait for each other.
    rms[0] += square;
    q.set(next);
    largest.offer(square, cell as u32);
}
