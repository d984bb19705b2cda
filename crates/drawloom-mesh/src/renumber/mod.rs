//! Orders in which neighbours are near each other in memory.
//!
//! [`renumber`] orders one set, by its graph ([`Method::ReverseCuthillMckee`]) or along a curve through space
//! ([`Method::Hilbert`]); the other sets follow. The result is a [`Renumbering`], a permutation for each set, which can
//! be applied to a mesh and undone on results. [`quality`] says in figures what was gained.
//!
//! ```
//! use drawloom_mesh::{raw::RawMesh, renumber::{Method, quality, renumber}};
//!
//! // A ring of cells, the next of each 700 numbers further.
//! let table: Vec<u32> = (0..1801).flat_map(|cell| [cell, (cell + 700) % 1801]).collect();
//! let mut mesh = RawMesh::new();
//! mesh.add_set("cells", 1801).add_set("edges", 1801).add_map("pecell", "edges", "cells", 2, table);
//! let renumbering = renumber(&mesh, "cells", Method::ReverseCuthillMckee)?;
//! let ordered = renumbering.apply(&mesh)?;
//! assert_eq!(renumbering.undo(&ordered)?, mesh);
//! assert!(quality(&ordered)[0].reuse > quality(&mesh)[0].reuse);
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | file | what is in it |
//! |---|---|
//! | `permutation` | [`Permutation`] and [`Renumbering`] |
//! | `cuthill_mckee` | the order by the graph |
//! | `hilbert` | the order along a curve |
//! | `follow` | the orders of the other sets |
//! | `quality` | figures |

mod cuthill_mckee;
mod follow;
mod hilbert;
mod permutation;
mod quality;

pub use permutation::{Permutation, Renumbering};
pub use quality::{MapQuality, quality};

use crate::error::Error;
use crate::raw::{Adjacency, RawMesh};

/// How to order a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Breadth first through the graph of neighbours, from the far end of it, then reversed (E. Cuthill and J. McKee 1969,
    /// J. A. George 1971). Makes the greatest distance between neighbours small. Needs no coordinates.
    ReverseCuthillMckee,
    /// Along the Hilbert curve through the coordinates. Makes most distances small, so that blocks of elements touch few
    /// others. Needs coordinates on the set or on one that it leads to.
    Hilbert,
}

/// Orders a set, and every set that maps connect with it.
pub fn renumber(mesh: &RawMesh, set: &str, method: Method) -> Result<Renumbering, Error> {
    mesh.check()?;
    let order = match method {
        Method::ReverseCuthillMckee => cuthill_mckee::order(&Adjacency::of_set(mesh, set)?),
        Method::Hilbert => hilbert::order(&crate::raw::centres(mesh, set)?),
    };
    Ok(follow::follow(mesh, set, Permutation::of_order(order)))
}
