//! Plain mesh data: what every reader, writer, orderer and partitioner works on.
//!
//! A [`RawMesh`] is a list of named sets, of maps between sets, of dats on sets and of constants, and nothing more: no
//! access rights, no layouts, no plans. It can be put together in any way; [`RawMesh::check`] says whether its parts fit.
//!
//! | file | what is in it |
//! |---|---|
//! | `mesh` | [`RawMesh`] and its parts |
//! | `values` | [`Values`], an array of one of the element types |
//! | `check` | whether the parts fit together |
//! | `centres` | where elements are |
//! | `cells` | cells as shapes in space |
//! | `groups` | [`Group`], elements that belong together, such as a part of the boundary |
//! | `adjacency` | [`Adjacency`], which elements of a set are neighbours |

mod adjacency;
mod cells;
mod centres;
mod check;
mod groups;
mod mesh;
mod values;

pub use adjacency::Adjacency;
pub(crate) use adjacency::Inverse;
pub use cells::{Cells, Geometry, Shape};
pub(crate) use centres::{Centres, centres};
pub use groups::Group;
pub use mesh::{RawConstant, RawDat, RawMap, RawMesh, RawSet};
pub use values::Values;
