//! Products of matrices.

use fastrand::Rng;
use pulp::Arch;

use crate::operators::simd::activation::Activation;
use crate::operators::simd::dot::multiply_rows;
use crate::operators::simd::lanes::LANES;
use crate::operators::simd::product::{BUFFER, Bias, Finish, Left, Runs, multiply_packed, multiply_runs, packed_size};
use crate::operators::simd::vector::multiply_vectors;
use crate::{ALL, assert_near, levels, random, value};

/// Matrices, and what follows their product.
struct Case {
    m: usize,
    k: usize,
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
    rows: Vec<f32>,
    columns: Vec<f32>,
    add: Option<Vec<f32>>,
    activation: Activation,
}

impl Case {
    fn new(rng: &mut Rng) -> Self {
        // Sizes around those of tiles, and now and then more than one block of `k`.
        let (m, n) = (rng.usize(1..40), rng.usize(1..160));
        let k = if rng.u8(0..6) == 0 { rng.usize(190..600) } else { rng.usize(0..40) };
        let add = rng.bool().then(|| random(rng, m * n));
        Self {
            m,
            k,
            n,
            a: random(rng, m * k),
            b: random(rng, k * n),
            rows: random(rng, m),
            columns: random(rng, n),
            add,
            activation: ALL[rng.usize(0..ALL.len())],
        }
    }

    fn finish(&self, bias: u8) -> Finish<'_> {
        let bias = match bias {
            0 => Bias::None,
            1 => Bias::Rows(&self.rows),
            _ => Bias::Columns(&self.columns),
        };
        Finish { bias, add: self.add.as_deref(), activation: self.activation }
    }

    /// What must come out.
    fn expected(&self, bias: u8) -> Vec<f64> {
        let place = |row: usize, column: usize| {
            let products =
                (0..self.k).map(|k| f64::from(self.a[row * self.k + k]) * f64::from(self.b[k * self.n + column]));
            let bias = match bias {
                0 => 0.0,
                1 => self.rows[row],
                _ => self.columns[column],
            };
            let add = self.add.as_ref().map_or(0.0, |add| f64::from(add[row * self.n + column]));
            value(self.activation, products.sum::<f64>() + f64::from(bias) + add)
        };
        (0..self.m).flat_map(|row| (0..self.n).map(move |column| place(row, column))).collect()
    }

    fn check(&self, level: Arch, expected: &[f64], found: &[f32]) {
        for (found, expected) in found.iter().zip(expected) {
            assert_near(*found, *expected, self.k, &(level, self.m, self.k, self.n, self.activation));
        }
    }

    fn right(&self) -> Runs<'_> {
        Runs { values: &self.b, row: self.n, starts: &[0], length: self.k, left: 0 }
    }
}

/// A matrix in panels of sixteen rows.
fn pack(a: &[f32], m: usize, k: usize) -> Vec<f32> {
    let mut packed = vec![f32::NAN; packed_size(m, k)];
    for row in 0..m {
        for column in 0..k {
            packed[row / LANES * k * LANES + column * LANES + row % LANES] = a[row * k + column];
        }
    }
    packed
}

/// The same matrix with its rows and columns exchanged.
fn turned(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| (0..rows).map(move |row| values[row * columns + column])).collect()
}

#[test]
fn a_product_is_the_sums_that_define_it_with_what_follows() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..24 {
        let case = Case::new(&mut rng);
        let (m, k, n) = (case.m, case.k, case.n);
        let packed = pack(&case.a, m, k);
        let b_rows = turned(&case.b, k, n);
        let bias = rng.u8(0..3);
        let (finish, expected) = (case.finish(bias), case.expected(bias));
        let mut buffer = vec![0.0; BUFFER];
        for level in levels() {
            let mut c = vec![f32::NAN; m * n];
            for left in [Left::strided(&case.a, k, 1), Left::packed(&packed, k)] {
                for buffer in [&mut buffer[..], &mut []] {
                    c.fill(f32::NAN);
                    multiply_runs(level, (m, n), left, case.right(), buffer, &mut c, &finish);
                    case.check(level, &expected, &c);
                }
                c.fill(f32::NAN);
                let write = |row: usize, column: usize, columns: usize, block: &mut [f32]| {
                    for (number, line) in block.chunks_exact_mut(3 * LANES).enumerate() {
                        line[..columns].copy_from_slice(&case.b[(row + number) * n + column..][..columns]);
                    }
                };
                multiply_packed(level, (m, k, n), left, &mut buffer, write, &mut c, &finish);
                case.check(level, &expected, &c);
            }
            c.fill(f32::NAN);
            multiply_rows(level, (m, k, n), &case.a, &b_rows, &mut c, &finish);
            case.check(level, &expected, &c);
        }
    }
}

#[test]
fn a_product_with_vectors_is_the_sums_that_define_it() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..100 {
        let (rows, k, items) = (rng.usize(1..90), rng.usize(1..70), rng.usize(1..10));
        let (a, x, bias) = (random(&mut rng, rows * k), random(&mut rng, items * k), random(&mut rng, rows));
        let activation = ALL[rng.usize(0..ALL.len())];
        // Rows that are not there must not matter.
        let packed = pack(&a, rows, k);
        for level in levels() {
            let mut y = vec![f32::NAN; items * rows];
            multiply_vectors(level, (rows, k), &packed, &x, &mut y, (Some(&bias), None, activation));
            for (place, found) in y.iter().enumerate() {
                let (item, row) = (place / rows, place % rows);
                let products = (0..k).map(|k_at| f64::from(a[row * k + k_at]) * f64::from(x[item * k + k_at]));
                assert_near(
                    *found,
                    value(activation, products.sum::<f64>() + f64::from(bias[row])),
                    k,
                    &(level, rows, k),
                );
            }
        }
    }
}

#[test]
fn the_bits_of_an_element_do_not_depend_on_what_else_is_computed() {
    let mut rng = Rng::with_seed(3);
    for _ in 0..16 {
        let case = Case::new(&mut rng);
        let (m, k, n) = (case.m, case.k, case.n);
        let mut buffer = vec![0.0; BUFFER];
        for level in levels() {
            let whole = |rows: &[f32], count: usize, buffer: &mut [f32]| {
                let mut c = vec![f32::NAN; count * n];
                let finish = Finish { activation: case.activation, ..Finish::NOTHING };
                multiply_runs(level, (count, n), Left::strided(rows, k, 1), case.right(), buffer, &mut c, &finish);
                c
            };
            let all = whole(&case.a, m, &mut buffer);
            // Rows in pieces.
            let piece = rng.usize(1..=m);
            let mut apart = Vec::new();
            for first in (0..m).step_by(piece) {
                let count = piece.min(m - first);
                apart.extend(whole(&case.a[first * k..][..count * k], count, &mut []));
            }
            assert!(all.iter().zip(&apart).all(|(a, b)| a.to_bits() == b.to_bits()), "{level:?} {m} {k} {n} {piece}");
            // Columns one by one.
            let column = rng.usize(0..n);
            let values: Vec<f32> = (0..k).map(|row| case.b[row * n + column]).collect();
            let right = Runs { values: &values, row: 1, starts: &[0], length: k, left: 0 };
            let mut one = vec![f32::NAN; m];
            let finish = Finish { activation: case.activation, ..Finish::NOTHING };
            multiply_runs(level, (m, 1), Left::strided(&case.a, k, 1), right, &mut [], &mut one, &finish);
            assert!((0..m).all(|row| one[row].to_bits() == all[row * n + column].to_bits()), "{level:?} {m} {k} {n}");
        }
    }
}

#[test]
fn machines_that_multiply_and_add_in_one_step_give_the_same_bits() {
    let mut rng = Rng::with_seed(4);
    let levels: Vec<Arch> = levels().into_iter().filter(|level| !matches!(level, Arch::Scalar)).collect();
    for _ in 0..40 {
        let case = Case::new(&mut rng);
        let b_rows = turned(&case.b, case.k, case.n);
        let results: Vec<[Vec<f32>; 2]> = (levels.iter())
            .map(|&level| {
                let finish = case.finish(1);
                let mut found = [vec![0.0; case.m * case.n], vec![0.0; case.m * case.n]];
                let left = Left::strided(&case.a, case.k, 1);
                multiply_runs(level, (case.m, case.n), left, case.right(), &mut [], &mut found[0], &finish);
                multiply_rows(level, (case.m, case.k, case.n), &case.a, &b_rows, &mut found[1], &finish);
                found
            })
            .collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{} {} {}", case.m, case.k, case.n);
    }
}
