//! Dividing a mesh into parts of equal size with few connections between them.
//!
//! [`partition`](partition()) divides one set, the primary one, by the method that was chosen; the elements of the other
//! sets belong to the part that most of their neighbours belong to. Every element has exactly one owner. What a part
//! needs and does not own is its halo. [`Partition::quality`] counts both.
//!
//! ```
//! use drawloom_mesh::{partition::{Method, partition}, raw::RawMesh};
//!
//! // Rows of 60 cells, and the edges between them.
//! let across = (0..1800).filter(|cell| cell % 60 < 59).flat_map(|cell| [cell, cell + 1]);
//! let table: Vec<u32> = across.chain((0..1740).flat_map(|cell| [cell, cell + 60])).collect();
//! let mut mesh = RawMesh::new();
//! mesh.add_set("cells", 1800).add_set("edges", table.len() / 2).add_map("pecell", "edges", "cells", 2, table);
//! let partition = partition(&mesh, "cells", 4, Method::Graph)?;
//! let quality = partition.quality(&mesh)?;
//! assert!(quality.set("cells").is_some_and(|cells| cells.imbalance < 1.02));
//! assert!(quality.cut_edges < 250);
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `owners` | [`Partition`] |
//! | `recursion` | halves of halves |
//! | `space` | halves by coordinates |
//! | `grow` | halves by the graph of neighbours |
//! | `sides` | two halves, and what moving an element gains |
//! | `refine` | moving elements between two halves so that fewer connections are cut |
//! | `inherit` | owners in the other sets |
//! | `quality` | figures |

mod grow;
mod inherit;
#[cfg(feature = "metis")]
mod metis;
mod owners;
mod quality;
mod recursion;
mod refine;
mod sides;
mod space;

pub use owners::Partition;
pub use quality::{Quality, SetQuality};

use crate::error::{Error, ErrorKind};
use crate::raw::{Adjacency, RawMesh, centres};

/// More parts than this is a slip of the finger.
const MOST_PARTS: usize = 1 << 20;

/// How to divide the primary set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Consecutive elements, in the order that they have. Good after renumbering along a curve.
    Blocks,
    /// Recursive coordinate bisection: cut the longest direction in the middle, and so on. Fast; needs coordinates.
    Coordinates,
    /// Recursive bisection of the graph of neighbours: grow one half from a far end, then move elements along the
    /// border as long as that cuts fewer connections (C. Fiduccia and R. Mattheyses, 1982). Needs no coordinates.
    Graph,
    /// METIS's multilevel method. Its results may differ from build to build.
    #[cfg(feature = "metis")]
    Metis,
}

/// Divides a mesh into parts. With more parts than elements, some parts are empty.
pub fn partition(mesh: &RawMesh, set: &str, parts: usize, method: Method) -> Result<Partition, Error> {
    mesh.check()?;
    let size = mesh.size(set)?;
    if !(1..=MOST_PARTS).contains(&parts) {
        let message = format!("a mesh is divided into 1 to {MOST_PARTS} parts, not {parts}");
        return Err(Error::new(ErrorKind::Argument, message));
    }
    let owners = match method {
        Method::Blocks => blocks(size, parts),
        Method::Coordinates => space::by_coordinates(&centres(mesh, set)?, parts),
        Method::Graph => grow::by_graph(&Adjacency::of_set(mesh, set)?, parts),
        #[cfg(feature = "metis")]
        Method::Metis => metis::divide(&Adjacency::of_set(mesh, set)?, parts)?,
    };
    Ok(inherit::inherit(mesh, set, parts, owners))
}

/// Consecutive elements together.
fn blocks(size: usize, parts: usize) -> Vec<u32> {
    (0..size).map(|element| (element as u64 * parts as u64 / size as u64) as u32).collect()
}
