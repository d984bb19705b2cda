//! Whether a factor is one: the definition, `A = L * L^T`, element by element.

use super::kernel::Kernels;
use super::layout::Layout;
use super::matrix::Spd;

/// The largest element of `A - L * L^T`, divided by the largest of A. Not a number anywhere counts as infinite.
///
/// `tile` gives the tiles of L; what lies above the diagonal is not looked at. The products take about as long as the
/// factorisation itself did on one core.
///
/// # Panics
/// When a tile does not have `tile * tile` elements.
pub fn max_error<'a>(kernels: Kernels, matrix: Spd, tile: impl Fn(usize, usize) -> &'a [f64]) -> f64 {
    let layout = matrix.layout();
    let mut rest = vec![0.0; layout.tile_len()];
    let mut largest = 0.0_f64;
    let mut diagonal = vec![0.0; layout.tile_len()];
    for column in 0..layout.side() {
        lower_triangle(layout, tile(column, column), &mut diagonal);
        for row in column..layout.side() {
            matrix.fill(row, column, &mut rest);
            for k in 0..column {
                kernels.gemm(tile(row, k), tile(column, k), &mut rest, layout.tile());
            }
            let last = if row == column { &diagonal } else { tile(row, column) };
            kernels.gemm(last, &diagonal, &mut rest, layout.tile());
            for (j, elements) in rest.chunks_exact(layout.tile()).enumerate() {
                let top = if row == column { j } else { 0 };
                for element in &elements[top..] {
                    largest = if element.is_nan() { f64::INFINITY } else { largest.max(element.abs()) };
                }
            }
        }
    }
    largest / matrix.max_norm()
}

fn lower_triangle(layout: Layout, tile: &[f64], triangle: &mut [f64]) {
    let size = layout.tile();
    for (j, (from, to)) in tile.chunks_exact(size).zip(triangle.chunks_exact_mut(size)).enumerate() {
        to[..j].fill(0.0);
        to[j..].copy_from_slice(&from[j..]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Order;
    use super::super::matrix::TiledMatrix;
    use super::*;

    fn factored() -> (Spd, TiledMatrix) {
        let matrix = Spd::new(Layout::new(30, 8).unwrap(), 7);
        let mut tiles = TiledMatrix::new(matrix).unwrap();
        tiles.factor_serial(Kernels::detect(), Order::Left).unwrap();
        (matrix, tiles)
    }

    fn error(matrix: Spd, tiles: &TiledMatrix) -> f64 {
        max_error(Kernels::detect(), matrix, |row, column| tiles.tile(row, column))
    }

    #[test]
    fn one_wrong_element_in_any_tile_is_seen() {
        let (matrix, tiles) = factored();
        assert!(error(matrix, &tiles) < 1e-15);
        for (row, column) in matrix.layout().coordinates() {
            let (_, mut tiles) = factored();
            tiles.tile_mut(row, column)[5] += 1e-3;
            assert!(error(matrix, &tiles) > 1e-6, "tile ({row}, {column})");
        }
    }

    #[test]
    fn a_factor_that_is_not_a_number_has_an_infinite_error() {
        let (matrix, mut tiles) = factored();
        tiles.tile_mut(1, 0)[0] = f64::NAN;
        assert_eq!(error(matrix, &tiles), f64::INFINITY);
    }

    #[test]
    fn what_lies_above_the_diagonal_does_not_count() {
        let (matrix, mut tiles) = factored();
        tiles.tile_mut(1, 1)[8] = f64::NAN;
        assert!(error(matrix, &tiles) < 1e-15);
    }
}
