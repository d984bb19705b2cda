//! [`MeshFile`]: a mesh with the form of its file.

use std::collections::BTreeMap;
use std::fmt;

use crate::raw::RawMesh;

/// A mesh that was read from a file, the form of the file, and notes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeshFile {
    /// The mesh.
    pub mesh: RawMesh,
    /// The form of the file.
    pub form: Form,
    /// What the file has and the mesh has not, or has in another way, one sentence each.
    pub notes: Vec<String>,
}

/// The form of a mesh file. It is displayed as in `VTK 1.0, appended raw, little endian, 64-bit headers, zlib`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Form {
    /// The format, such as `Gmsh` or `VTK`.
    pub format: &'static str,
    /// The version of the format, if it has versions.
    pub version: Option<String>,
    /// How numbers are written, such as `text` or `binary, little endian`.
    pub encoding: String,
    /// The compression of numbers.
    pub compression: Option<&'static str>,
}

impl MeshFile {
    /// A file of a format that has one form only.
    pub(super) fn new(mesh: RawMesh, format: &'static str, encoding: &str) -> Self {
        let form = Form { format, version: None, encoding: encoding.to_owned(), compression: None };
        Self { mesh, form, notes: Vec::new() }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.format)?;
        if let Some(version) = &self.version {
            write!(f, " {version}")?;
        }
        write!(f, ", {}", self.encoding)?;
        self.compression.map_or(Ok(()), |compression| write!(f, ", {compression}"))
    }
}

/// The names that a mesh has so far. Files may use a name twice, for data of points and of cells, and a mesh may not.
#[derive(Default)]
pub(super) struct Names {
    /// For each name the number that was last put at its end.
    used: BTreeMap<String, usize>,
}

impl Names {
    /// A name that is not used yet: the one that is wanted, or else with a number at its end, which becomes a note.
    pub(super) fn unique(&mut self, wanted: &str, notes: &mut Vec<String>) -> String {
        let wanted = if wanted.is_empty() { "unnamed" } else { wanted };
        let mut number = self.used.get(wanted).copied().unwrap_or(0);
        let mut name = wanted.to_owned();
        while self.used.contains_key(&name) {
            number += 1;
            name = format!("{wanted}_{}", number + 1);
        }
        if name != wanted {
            notes.push(format!("the name `{wanted}` is used more than once; one of its uses is named `{name}` here"));
            self.used.insert(wanted.to_owned(), number);
        }
        self.used.insert(name.clone(), 0);
        name
    }
}
