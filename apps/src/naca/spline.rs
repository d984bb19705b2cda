//! A cubic spline with not-a-knot ends: the third derivative does not jump at the second and the last but one point.
//!
//! The unknowns are the slopes at the points. They solve a tridiagonal system, by elimination with row exchanges.

/// A spline through points whose abscissas grow.
pub(super) struct Spline {
    x: Vec<f64>,
    y: Vec<f64>,
    slope: Vec<f64>,
}

impl Spline {
    /// The spline through at least four points.
    pub(super) fn through(x: Vec<f64>, y: Vec<f64>) -> Self {
        let last = x.len() - 1;
        let h: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let d: Vec<f64> = y.windows(2).zip(&h).map(|(pair, h)| (pair[1] - pair[0]) / h).collect();
        let mut system = Tridiagonal { rows: Vec::with_capacity(x.len()) };
        let (h0, h1) = (h[0], h[1]);
        let right = ((h0 + 2.0 * (h0 + h1)) * h1 * d[0] + h0 * h0 * d[1]) / (h0 + h1);
        system.rows.push([h1, h0 + h1, 0.0, right]);
        for i in 1..last {
            let right = 3.0 * (h[i] * d[i - 1] + h[i - 1] * d[i]);
            system.rows.push([h[i], 2.0 * (h[i - 1] + h[i]), h[i - 1], right]);
        }
        let (h0, h1) = (h[last - 1], h[last - 2]);
        let right = (h0 * h0 * d[last - 2] + (2.0 * (h0 + h1) + h0) * h1 * d[last - 1]) / (h0 + h1);
        system.rows.push([h0 + h1, h1, 0.0, right]);
        Self { slope: system.solve(), x, y }
    }

    /// The value at an abscissa; beyond the ends, that of the outer cubics.
    pub(super) fn at(&self, x: f64) -> f64 {
        let k = self.x.partition_point(|point| *point <= x).saturating_sub(1).min(self.x.len() - 2);
        let h = self.x[k + 1] - self.x[k];
        let d = (self.y[k + 1] - self.y[k]) / h;
        let (left, right) = (self.slope[k], self.slope[k + 1]);
        let t = x - self.x[k];
        let c = (3.0 * d - 2.0 * left - right) / h;
        let b = (left - 2.0 * d + right) / (h * h);
        self.y[k] + t * (left + t * (c + t * b))
    }
}

/// Equations in which each unknown meets only its neighbours: three coefficients and a right side for each, the first
/// coefficient being that of the unknown before; the first row has none before, and starts with its own.
struct Tridiagonal {
    rows: Vec<[f64; 4]>,
}

impl Tridiagonal {
    /// Gaussian elimination, taking the larger of two rows as the pivot; that fills in a second diagonal above.
    fn solve(mut self) -> Vec<f64> {
        let rows = &mut self.rows;
        let count = rows.len();
        for i in 0..count - 1 {
            // Row i starts at unknown i already, and row i + 1 starts at unknown i too.
            if rows[i + 1][0].abs() > rows[i][0].abs() {
                rows.swap(i, i + 1);
            }
            let [a, b, c, right] = rows[i];
            let [below, b1, c1, right1] = rows[i + 1];
            let factor = below / a;
            rows[i + 1] = [b1 - factor * b, c1 - factor * c, 0.0, right1 - factor * right];
        }
        let mut solution = vec![0.0; count + 2];
        for i in (0..count).rev() {
            let [a, b, c, right] = rows[i];
            solution[i] = (right - b * solution[i + 1] - c * solution[i + 2]) / a;
        }
        solution.truncate(count);
        solution
    }
}

#[cfg(test)]
mod tests {
    use super::Spline;

    #[test]
    fn a_cubic_is_reproduced_and_continued_beyond_the_ends() {
        let cubic = |x: f64| 2.0 - x + 0.5 * x * x - 0.25 * x * x * x;
        let x = vec![-2.0, -1.5, 0.0, 0.25, 1.0, 3.0];
        let spline = Spline::through(x.clone(), x.iter().map(|x| cubic(*x)).collect());
        for x in [-3.0, -2.0, -1.75, 0.0, 0.1, 0.9, 2.0, 3.0, 4.0] {
            assert!((spline.at(x) - cubic(x)).abs() < 1e-12, "at {x}");
        }
    }

    #[test]
    fn the_spline_goes_through_its_points() {
        let y = vec![0.0, 1.0, 0.0, 5.0, -1.0];
        let spline = Spline::through(vec![0.0, 1.0, 1.5, 2.0, 4.0], y.clone());
        for (x, y) in [0.0, 1.0, 1.5, 2.0, 4.0].into_iter().zip(y) {
            assert!((spline.at(x) - y).abs() < 1e-12);
        }
    }
}
