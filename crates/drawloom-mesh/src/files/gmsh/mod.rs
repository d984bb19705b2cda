//! Gmsh's `.msh`, versions 2.2, 4.0 and 4.1, as text and in binary form.
//!
//! The mesh gets a set `nodes` with the dat `p_x` (two coordinates if all nodes lie in the plane z = 0, else three), and
//! for each shape of element a set such as `triangles` with
//!
//! - a map `triangles_nodes` to the corners, in Gmsh's order;
//! - a dat `triangles_entity` with the number of the geometric entity that an element belongs to;
//! - a dat `triangles_physical` with the number of its first physical group, or 0; if some element is in several groups,
//!   `triangles_physical_2` has the second one, and so on.
//!
//! For a physical group with a name there is a constant `group_NAME` with its dimension and its number. Data of nodes
//! become dats of their names, data of elements dats such as `triangles_NAME`. Elements of higher order are read by their
//! corners, without the nodes between these, which is noted. Other sections are passed over.
//!
//! | file | what is in it |
//! |---|---|
//! | `source` | numbers, as text or as bytes |
//! | `element` | the types of elements |
//! | `sections` | the sections of a file: groups, entities |
//! | `nodes`, `elements`, `field` | the sections of nodes, elements and data |
//! | `assembly` | the mesh that they make |

mod assembly;
mod element;
mod elements;
mod field;
mod nodes;
mod sections;
mod source;

use self::source::Encoding;
use super::mesh_file::{Form, MeshFile};
use crate::error::Error;
use crate::raw::RawMesh;

/// What a file starts with.
pub(super) const MARK: &[u8] = b"$MeshFormat";

/// The mesh in the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<RawMesh, Error> {
    open(bytes).map(|file| file.mesh)
}

pub(super) fn open(bytes: &[u8]) -> Result<MeshFile, Error> {
    let (mut source, version) = sections::format(bytes)?;
    let encoding = match source.encoding {
        Encoding::Text => "text".to_owned(),
        Encoding::Binary(order) => format!("binary, {}", order.name()),
    };
    let form = Form { format: "Gmsh", version: Some(version), encoding, compression: None };
    assembly::assemble(sections::read(&mut source)?, form, bytes.len())
}
