//! The five kernels: a cell-centred finite-volume scheme for the Euler equations with scalar dissipation, in two stages.
//!
//! The formulas are in [`maths`](super::maths).

use drawloom_mesh::kernel::{Acc, HighestWith, Out};

use super::maths::{flux, pressure, time_step};

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
    adt.set([time_step(x.map(|x| *x), *q, gam[0], gm1[0], cfl[0])]);
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
    let flux = flux([x1[0] - x2[0], x1[1] - x2[1]], *q1, *q2, mu, gm1[0]);
    for (n, f) in flux.into_iter().enumerate() {
        res1[n] += f;
        res2[n] -= f;
    }
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
        let p1 = pressure(*q1, gm1[0]);
        res1[1] += p1 * dy;
        res1[2] += -p1 * dx;
        return;
    }
    for (n, f) in flux([dx, dy], *q1, *qinf, adt1[0] * eps[0], gm1[0]).into_iter().enumerate() {
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
