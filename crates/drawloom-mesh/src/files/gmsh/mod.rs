//! Gmsh's `.msh`, versions 4.0 and 4.1: text, and 4.1 in binary form too.
//!
//! The mesh gets a set `nodes` with the dat `p_x` (two coordinates if all nodes lie in the plane z = 0, else three), and
//! for each type of element a set such as `triangles` with
//!
//! - a map `triangles_nodes` to the nodes, in Gmsh's order (higher orders have their own sets, such as `triangles6`);
//! - a dat `triangles_entity` with the number of the geometric entity that an element belongs to;
//! - a dat `triangles_physical` with the number of that entity's first physical group, or 0.
//!
//! For a physical group with a name there is a constant `group_NAME` with its dimension and its number. Other sections
//! are passed over.
//!
//! | file | what is in it |
//! |---|---|
//! | `source` | numbers, as text or as bytes |
//! | `element` | the types of elements |
//! | `sections` | the sections of a file |
//! | `assembly` | the mesh that they make |

mod assembly;
mod element;
mod sections;
mod source;

use crate::error::Error;
use crate::raw::RawMesh;

/// What a file starts with.
pub(super) const MARK: &[u8] = b"$MeshFormat";

/// Reads the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<RawMesh, Error> {
    assembly::assemble(sections::read(bytes)?)
}
