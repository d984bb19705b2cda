//! Meshes around the airfoil NACA 0012, of any size, without a file.
//!
//! The plane around the airfoil is unfolded by a complex square root, which turns the C-shaped grid into a rectangle: a
//! wall below, which is the airfoil in its middle third and a cut line on both sides, and straight lines up from it. The
//! rectangle is divided into `3 i` by `j` cells and folded back by squaring. Coordinates are rounded to six decimals, as
//! they are in the text files, because published results are defined on the rounded ones.
//!
//! [`naca0012`] is the finite-volume form (cells, edges and boundary edges), [`naca0012_fe`] the finite-element form, in
//! which the two sides of the cut line are merged.
//!
//! | file | what is in it |
//! |---|---|
//! | `shape` | coordinates |
//! | `spline` | the cubic spline through the surface |
//! | `volume` | [`naca0012`] |
//! | `element` | [`naca0012_fe`] |

mod element;
mod shape;
mod spline;
mod volume;

pub use element::naca0012_fe;
pub use volume::naca0012;

use drawloom_mesh::raw::RawMesh;

/// More cells than this is a slip of the finger: the mesh would take ten gigabytes.
const MOST_CELLS: u64 = 1 << 26;

/// A generated mesh by its name, `naca0012:400x600` or, for the finite-element form, `naca0012-fe:400x600`. `None` if
/// the name is not one of those.
pub fn by_name(name: &str) -> Option<Result<RawMesh, String>> {
    let (elements, size) = match name.strip_prefix("naca0012:") {
        Some(size) => (false, size),
        None => (true, name.strip_prefix("naca0012-fe:")?),
    };
    let numbers = size.split_once(['x', 'X']).and_then(|(i, j)| Some((i.parse().ok()?, j.parse().ok()?)));
    Some(match numbers {
        Some((i, j)) if elements => naca0012_fe(i, j),
        Some((i, j)) => naca0012(i, j),
        None => Err(format!("`{name}` has no size; write it as naca0012:400x600, for 3 x 400 x 600 cells")),
    })
}

/// Refuses sizes without cells, and those that are too large.
fn check_size(i: usize, j: usize) -> Result<(), String> {
    let cells = (i as u64).checked_mul(j as u64).and_then(|cells| cells.checked_mul(3));
    match cells {
        Some(1..=MOST_CELLS) => Ok(()),
        Some(0) => Err(format!("a mesh of {i} x {j} has no cells; both numbers are at least 1")),
        _ => Err(format!("a mesh of {i} x {j} is too large; it can have {MOST_CELLS} cells, three times the product")),
    }
}

#[cfg(test)]
mod tests {
    use super::{by_name, naca0012};

    #[test]
    fn sizes_without_cells_and_endless_ones_are_refused() {
        for (i, j) in [(0, 5), (5, 0)] {
            assert!(naca0012(i, j).expect_err("refused").contains("has no cells"));
        }
        for (i, j) in [(usize::MAX, 1), (1 << 20, 1 << 20), (usize::MAX, usize::MAX)] {
            assert!(naca0012(i, j).expect_err("refused").contains("is too large"));
        }
    }

    #[test]
    fn names_stand_for_generated_meshes() {
        assert_eq!(by_name("naca0012:2x3").expect("a name").expect("a size").size("cells").expect("cells"), 18);
        let fe = by_name("naca0012-fe:3x5").expect("a name").expect("a size");
        assert_eq!((fe.size("nodes").expect("nodes"), fe.size("bedges").expect("bedges")), (56, 19));
        assert!(by_name("new_grid.dat").is_none());
        for name in ["naca0012:", "naca0012:4", "naca0012:4x", "naca0012:-4x4", "naca0012:4x4x4"] {
            assert!(by_name(name).expect("a name").expect_err("no size").contains("has no size"), "{name}");
        }
        assert!(by_name("naca0012:0x4").expect("a name").is_err());
    }
}
