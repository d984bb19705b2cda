//! The kernels: bilinear elements for the potential, and the steps of the conjugate gradients.

use drawloom_mesh::kernel::{Acc, Out};

/// The shape functions' derivatives in the four points of integration: by the first coordinate, then by the second.
pub type Derivatives = [f64; 32];

/// The residual of a cell, and its matrix.
#[allow(clippy::too_many_arguments)]
pub fn res_calc(
    x: [&[f64; 2]; 4],
    phim: [&[f64; 1]; 4],
    shape: &Derivatives,
    weights: &[f64; 4],
    gm1: &[f64; 1],
    gm1i: &[f64; 1],
    m2: &[f64; 1],
    k: &mut Out<f64, 16>,
    res: &mut [[Acc<f64>; 1]; 4],
) {
    let mut matrix = [0.0; 16];
    for i in 0..4 {
        let (first, second) = (&shape[4 * i..4 * i + 4], &shape[16 + 4 * i..20 + 4 * i]);
        let along = |by: &[f64], c: usize| (0..4).fold(0.0, |sum, m| sum + by[m] * x[m][c]);
        // The derivatives of the coordinates by those of the element, and with them those of the shape functions.
        let (y_2, x_1, y_1, x_2) = (along(second, 1), along(first, 0), along(first, 1), along(second, 0));
        let det = y_2 * x_1 - y_1 * x_2;
        let n_x: [f64; 4] = std::array::from_fn(|m| (y_2 * first[m] - y_1 * second[m]) / det);
        let n_y: [f64; 4] = std::array::from_fn(|m| (x_1 * second[m] - x_2 * first[m]) / det);
        let weight = weights[i] * det;
        let (mut u, mut v) = (0.0, 0.0);
        for j in 0..4 {
            u += n_x[j] * phim[j][0];
            v += n_y[j] * phim[j][0];
        }
        let dk = 1.0 + 0.5 * gm1[0] * (m2[0] - (u * u + v * v));
        let rho = dk.powf(gm1i[0]);
        let rc2 = rho / dk;
        let along_flow: [f64; 4] = std::array::from_fn(|j| u * n_x[j] + v * n_y[j]);
        for j in 0..4 {
            res[j][0] += weight * rho * along_flow[j];
        }
        for j in 0..4 {
            for l in 0..4 {
                matrix[4 * j + l] +=
                    weight * rho * (n_x[j] * n_x[l] + n_y[j] * n_y[l]) - weight * rc2 * along_flow[j] * along_flow[l];
            }
        }
    }
    k.set(matrix);
}

/// Far away nothing changes.
pub fn dirichlet(res: &mut Out<f64, 1>) {
    res.set([0.0]);
}

/// Begins the conjugate gradients.
pub fn init_cg(r: &[f64; 1], c: &mut [Acc<f64>; 1], u: &mut Out<f64, 1>, v: &mut Out<f64, 1>, p: &mut Out<f64, 1>) {
    c[0] += r[0] * r[0];
    p.set(*r);
    u.set([0.0]);
    v.set([0.0]);
}

/// The matrix of a cell times the direction.
pub fn sp_mv(v: &mut [[Acc<f64>; 1]; 4], k: &[f64; 16], p: [&[f64; 1]; 4]) {
    for (j, v) in v.iter_mut().enumerate() {
        for (l, p) in p.iter().enumerate() {
            // The upper half is all that counts, as the matrix is symmetric.
            let (row, column) = if j <= l { (j, l) } else { (l, j) };
            v[0] += k[4 * row + column] * p[0];
        }
    }
}

/// A scalar product.
pub fn dot_pv(p: &[f64; 1], v: &[f64; 1], c: &mut [Acc<f64>; 1]) {
    c[0] += p[0] * v[0];
}

/// A step along the direction.
pub fn update_ur(u: &mut [f64; 1], r: &mut [f64; 1], p: &[f64; 1], v: &mut [f64; 1], alpha: &[f64; 1]) {
    u[0] += alpha[0] * p[0];
    r[0] -= alpha[0] * v[0];
    v[0] = 0.0;
}

/// The square of the residual.
pub fn dot_r(r: &[f64; 1], c: &mut [Acc<f64>; 1]) {
    c[0] += r[0] * r[0];
}

/// The next direction.
pub fn update_p(r: &[f64; 1], p: &mut [f64; 1], beta: &[f64; 1]) {
    p[0] = beta[0] * p[0] + r[0];
}

/// The next potential, and how much it differs.
pub fn update(phim: &mut [f64; 1], res: &mut Out<f64, 1>, u: &[f64; 1], rms: &mut [Acc<f64>; 1]) {
    phim[0] -= u[0];
    res.set([0.0]);
    rms[0] += u[0] * u[0];
}
