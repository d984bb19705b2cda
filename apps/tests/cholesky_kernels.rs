//! The tile kernels against their definitions, at every level this processor has.

use drawloom_apps::cholesky::{Kernels, Layout, NotPositive, Order, Spd, TiledMatrix, max_error};

/// Sizes around every edge of the kernels: less than a vector, between block sizes, and past the packing thresholds.
fn sizes() -> impl Iterator<Item = usize> {
    (1..=70).chain([96, 128, 130, 136, 200])
}

/// Tiles in which rounding errors stay in proportion to the number of terms.
const TOLERANCE: f64 = 1e-15;

fn levels() -> impl Iterator<Item = Kernels> {
    drawloom_apps::levels().into_iter().map(Kernels::at)
}

fn random(nb: usize, seed: u64) -> Vec<f64> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..nb * nb).map(|_| rng.f64() - 0.5).collect()
}

/// A lower triangle with a strong diagonal. What lies above it is not a number, so that reading it shows.
fn triangle(nb: usize, seed: u64) -> Vec<f64> {
    let mut l = random(nb, seed);
    for j in 0..nb {
        l[j * nb..j * nb + j].fill(f64::NAN);
        l[j + j * nb] += 2.0 + nb as f64 / 8.0;
    }
    l
}

/// Where an element of the lower triangle is used, and zero above.
fn lower(l: &[f64], nb: usize, i: usize, j: usize) -> f64 {
    if i < j { 0.0 } else { l[i + j * nb] }
}

/// C - A * B^T by the definition.
fn subtract_product(a: &[f64], b: &[f64], c: &[f64], nb: usize) -> Vec<f64> {
    let mut result = c.to_vec();
    for k in 0..nb {
        for j in 0..nb {
            for i in 0..nb {
                result[i + j * nb] -= a[i + k * nb] * b[j + k * nb];
            }
        }
    }
    result
}

#[track_caller]
fn assert_close(found: &[f64], expected: &[f64], nb: usize, from: impl Fn(usize) -> usize, what: &str) {
    for j in 0..nb {
        for i in from(j)..nb {
            let (found, expected) = (found[i + j * nb], expected[i + j * nb]);
            let bound = TOLERANCE * (nb as f64 + 8.0) * expected.abs().max(1.0);
            assert!((found - expected).abs() <= bound, "{what}: ({i}, {j}) is {found:e} and should be {expected:e}");
        }
    }
}

#[test]
fn gemm_subtracts_the_product() {
    for nb in sizes() {
        let (a, b, c) = (random(nb, 1), random(nb, 2), random(nb, 3));
        let expected = subtract_product(&a, &b, &c, nb);
        for kernels in levels() {
            let mut found = c.clone();
            kernels.gemm(&a, &b, &mut found, nb);
            assert_close(&found, &expected, nb, |_| 0, &format!("gemm {nb} {kernels:?}"));
        }
    }
}

#[test]
fn syrk_subtracts_the_square_from_the_lower_triangle() {
    for nb in sizes() {
        let (a, c) = (random(nb, 1), random(nb, 3));
        let expected = subtract_product(&a, &a, &c, nb);
        for kernels in levels() {
            let mut found = c.clone();
            kernels.syrk(&a, &mut found, nb);
            assert_close(&found, &expected, nb, |j| j, &format!("syrk {nb} {kernels:?}"));
        }
    }
}

#[test]
fn trsm_gives_what_times_the_triangle_is_the_right_side() {
    for nb in sizes() {
        let (l, b) = (triangle(nb, 1), random(nb, 2));
        for kernels in levels() {
            let mut x = b.clone();
            kernels.trsm(&l, &mut x, nb);
            let mut product = vec![0.0; nb * nb];
            for k in 0..nb {
                for j in k..nb {
                    for i in 0..nb {
                        product[i + j * nb] += x[i + k * nb] * l[j + k * nb];
                    }
                }
            }
            assert_close(&product, &b, nb, |_| 0, &format!("trsm {nb} {kernels:?}"));
        }
    }
}

#[test]
fn potrf_gives_the_factor_of_a_product() {
    for nb in sizes() {
        let expected = triangle(nb, 1);
        let mut a = vec![f64::NAN; nb * nb];
        for j in 0..nb {
            for i in j..nb {
                a[i + j * nb] = (0..=j).map(|k| lower(&expected, nb, i, k) * lower(&expected, nb, j, k)).sum();
            }
        }
        for kernels in levels() {
            let mut found = a.clone();
            assert_eq!(kernels.potrf(&mut found, nb), Ok(()), "potrf {nb} {kernels:?}");
            assert_close(&found, &expected, nb, |j| j, &format!("potrf {nb} {kernels:?}"));
        }
    }
}

#[test]
fn levels_that_fuse_give_the_same_bits() {
    let fused: Vec<_> = levels().filter(|kernels| kernels.level() != "portable").collect();
    for nb in sizes() {
        let mut results = fused.iter().map(|kernels| {
            let (a, b, l) = (random(nb, 1), random(nb, 2), triangle(nb, 3));
            let mut c = random(nb, 4);
            kernels.gemm(&a, &b, &mut c, nb);
            kernels.trsm(&l, &mut c, nb);
            let mut d: Vec<_> = triangle(nb, 5).iter().map(|x| if x.is_nan() { 0.0 } else { *x }).collect();
            (0..nb).for_each(|i| d[i + i * nb] += 4.0 * nb as f64);
            kernels.syrk(&a, &mut d, nb);
            kernels.potrf(&mut d, nb).unwrap();
            let d = (0..nb * nb).filter(|at| at % nb >= at / nb).map(|at| d[at].to_bits());
            c.iter().map(|x| x.to_bits()).chain(d).collect::<Vec<_>>()
        });
        let first = results.next();
        assert!(results.all(|other| Some(&other) == first.as_ref()), "size {nb}");
    }
}

#[test]
fn a_pivot_that_is_not_positive_is_named() {
    for nb in [1, 7, 8, 9, 24, 64, 65, 130] {
        for pivot in [0, nb / 2, nb - 1] {
            for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                for kernels in levels() {
                    let mut a = vec![0.0; nb * nb];
                    (0..nb).for_each(|i| a[i + i * nb] = 1.0);
                    a[pivot + pivot * nb] = bad;
                    let found = kernels.potrf(&mut a, nb);
                    assert_eq!(found, Err(NotPositive { pivot }), "{nb} {bad} {kernels:?}");
                }
            }
        }
    }
}

#[test]
fn a_matrix_is_factored_whatever_the_tile_size() {
    for (n, tile) in [(1, 1), (5, 8), (64, 64), (65, 64), (100, 7), (100, 16), (192, 32), (257, 48), (300, 150)] {
        let matrix = Spd::new(Layout::new(n, tile).unwrap(), 3);
        for kernels in levels() {
            for order in [Order::Left, Order::Right] {
                let mut tiles = TiledMatrix::new(matrix).unwrap();
                tiles.factor_serial(kernels, order).unwrap();
                // By the definition, without any of our kernels.
                let mut largest = 0.0_f64;
                for row in 0..n {
                    for column in 0..=row {
                        let sum: f64 = (0..=column).map(|k| tiles.element(row, k) * tiles.element(column, k)).sum();
                        largest = largest.max((sum - matrix.element(row, column)).abs());
                    }
                }
                let error = largest / matrix.max_norm();
                assert!(error < 1e-15 * 4.0, "n {n}, tile {tile}, {kernels:?}, {order:?}: error {error:e}");
                assert!(max_error(kernels, matrix, |row, column| tiles.tile(row, column)) < 1e-15 * 4.0);
            }
        }
    }
}

#[test]
fn the_order_of_operations_does_not_change_a_bit() {
    let matrix = Spd::new(Layout::new(200, 24).unwrap(), 3);
    let factor = |order| {
        let mut tiles = TiledMatrix::new(matrix).unwrap();
        tiles.factor_serial(Kernels::detect(), order).unwrap();
        tiles
    };
    let (left, right) = (factor(Order::Left), factor(Order::Right));
    for row in 0..200 {
        for column in 0..=row {
            assert_eq!(left.element(row, column).to_bits(), right.element(row, column).to_bits());
        }
    }
}

#[test]
fn the_pivot_of_a_whole_matrix_is_counted_from_its_first_row() {
    let matrix = Spd::new(Layout::new(50, 8).unwrap(), 3);
    let mut tiles = TiledMatrix::new(matrix).unwrap();
    tiles.tile_mut(3, 3)[2 + 2 * 8] = -1.0;
    assert_eq!(tiles.factor_serial(Kernels::detect(), Order::Right), Err(NotPositive { pivot: 26 }));
}

#[test]
#[should_panic(expected = "a tile of 4 by 4 in a slice of 15 elements")]
fn a_slice_that_is_not_a_tile_is_refused() {
    Kernels::detect().gemm(&[0.0; 16], &[0.0; 16], &mut [0.0; 15], 4);
}

#[test]
fn the_last_of_all_levels_is_the_one_in_use() {
    assert_eq!(levels().last().map(Kernels::level), Some(Kernels::detect().level()));
}
