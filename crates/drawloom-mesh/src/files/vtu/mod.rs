//! VTK's `.vtu`: an unstructured grid with its data, for ParaView and its like.
//!
//! Writing: points are the first set with coordinates; cells are the sets that lead to it by three corners or more. Dats on
//! those sets become point and cell data, constants become field data, and the rest is left out. With several sets of
//! cells, a dat on one of them is not a number (or 0) on the others.
//!
//! Reading: files in every encoding and compression. The points become the set `nodes` with the dat `p_x`. Cells of one
//! shape become the set `cells` with the map `pcell`, solids one with the name of their shape. Cells of several shapes become
//! a set for each, such as `triangles` with the map `triangles_nodes`, and their data get the name of the set at their end.
//! Cells of higher order are read by their corners. Pieces are put together one after another. Both is noted.
//!
//! | file | what is in it |
//! |---|---|
//! | `write` | [`write()`](write()), [`left_out`] |
//! | `read` | [`read()`](read()) |
//! | `document` | the arrays of a file |
//! | `array` | the numbers of an array |
//! | `compression` | compressed data |
//! | `cell` | the types of cells |

mod array;
mod cell;
mod compression;
mod document;
mod read;
mod write;

pub(super) use read::open;
pub use read::read;
pub use write::{Encoding, left_out, write};
