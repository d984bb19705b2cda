//! What the kernels compute, on plain numbers: for one element, or for several at once in the lanes of a vector.
//!
//! A state is `(density, momentum in x, momentum in y, energy)`. The numbers are those of OP2's application of the same
//! name, so residuals agree.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A number, or several that are computed with alike.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Another number of the same kind: the same in all lanes.
    #[must_use]
    fn of(self, value: f64) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
}

impl Real for f64 {
    #[inline(always)]
    fn of(self, value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }
}

/// The area of a cell over the largest time step that is stable in it, from its corners and its state.
#[inline(always)]
pub fn time_step<R: Real>(x: [[R; 2]; 4], q: [R; 4], gam: R, gm1: R, cfl: R) -> R {
    let ri = gm1.of(1.0) / q[0];
    let u = ri * q[1];
    let v = ri * q[2];
    let c = (gam * gm1 * (ri * q[3] - gm1.of(0.5) * (u * u + v * v))).sqrt();
    let mut sides = [gm1.of(0.0); 4];
    for (n, side) in sides.iter_mut().enumerate() {
        let (a, b) = (x[n], x[(n + 1) % 4]);
        let (dx, dy) = (b[0] - a[0], b[1] - a[1]);
        *side = (u * dy - v * dx).abs() + c * (dx * dx + dy * dy).sqrt();
    }
    (sides[0] + sides[1] + sides[2] + sides[3]) / cfl
}

/// The flux through an edge between two cells.
#[inline(always)]
pub fn flux<R: Real>([dx, dy]: [R; 2], q1: [R; 4], q2: [R; 4], mu: R, gm1: R) -> [R; 4] {
    let half = gm1.of(0.5);
    let (r1, r2) = (gm1.of(1.0) / q1[0], gm1.of(1.0) / q2[0]);
    let p1 = gm1 * (q1[3] - half * r1 * (q1[1] * q1[1] + q1[2] * q1[2]));
    let p2 = gm1 * (q2[3] - half * r2 * (q2[1] * q2[1] + q2[2] * q2[2]));
    let vol1 = r1 * (q1[1] * dy - q1[2] * dx);
    let vol2 = r2 * (q2[1] * dy - q2[2] * dx);
    let pressure = [gm1.of(0.0), (p1 + p2) * dy, -(p1 + p2) * dx, vol1 * p1 + vol2 * p2];
    // The same operations for all four numbers, so that they can be done at once.
    let mut flux = [gm1.of(0.0); 4];
    for n in 0..4 {
        flux[n] = half * (vol1 * q1[n] + vol2 * q2[n] + pressure[n]) + mu * (q1[n] - q2[n]);
    }
    flux
}

/// The pressure of a state.
#[inline(always)]
pub fn pressure(q: [f64; 4], gm1: f64) -> f64 {
    gm1 * (q[3] - 0.5 * (1.0 / q[0]) * (q[1] * q[1] + q[2] * q[2]))
}

/// The numbers that never change. The reference computes with some that were rounded to single precision.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// The ratio of specific heats.
    pub gam: f64,
    /// One less.
    pub gm1: f64,
    /// How much of the largest stable time step is taken.
    pub cfl: f64,
    /// How much states are smoothed.
    pub eps: f64,
    /// The state far away.
    pub far: [f64; 4],
}

impl Constants {
    /// Air, at a Mach number of 0.4.
    pub fn air() -> Self {
        let gam = f64::from(1.4_f32);
        let gm1 = gam - 1.0;
        let u = gam.sqrt() * f64::from(0.4_f32);
        let far = [1.0, u, 0.0, 1.0 / gm1 + 0.5 * u * u];
        Self { gam, gm1, cfl: f64::from(0.9_f32), eps: f64::from(0.05_f32), far }
    }
}
