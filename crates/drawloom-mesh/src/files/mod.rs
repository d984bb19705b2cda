//! Mesh files: [`read`] finds out what a file is by looking into it.
//!
//! | module | what is in it |
//! |---|---|
//! | [`new_grid`] | the text format of finite-volume meshes |
//! | [`fe_grid`] | the text format of finite-element meshes |
//! | `grid` | what those two have in common |
//! | [`gmsh`] | Gmsh's meshes |
//! | `hdf5` | OP2's HDF5 files, with the feature of that name |
//! | [`vtu`] | VTK's unstructured grids, for viewers |
//! | `mesh_file` | [`MeshFile`], a mesh with the form of its file |
//! | `first_order` | cells of higher order, read by their corners |
//! | `scan`, `bytes` | numbers in text, and as bytes |
//! | `decimal` | numbers with six decimals |
//! | `save` | files that are there as a whole or not at all |

mod bytes;
pub(crate) mod decimal;
pub mod fe_grid;
mod first_order;
pub mod gmsh;
mod grid;
#[cfg(feature = "hdf5")]
pub mod hdf5;
mod mesh_file;
pub mod new_grid;
pub(crate) mod save;
pub(crate) mod scan;
pub mod vtu;

use std::fs;
use std::path::Path;

pub use self::mesh_file::{Form, MeshFile};

use crate::error::{Error, ErrorKind};
use crate::raw::RawMesh;

/// The mesh in a file of any format that is known. The mesh is checked.
pub fn read(path: impl AsRef<Path>) -> Result<RawMesh, Error> {
    open(path).map(|file| file.mesh)
}

/// The mesh in a file of any format that is known, with the form of the file and notes. The mesh is checked.
pub fn open(path: impl AsRef<Path>) -> Result<MeshFile, Error> {
    let path = path.as_ref();
    let bytes = load(path)?;
    #[cfg(feature = "hdf5")]
    if bytes.starts_with(hdf5::MARK) {
        return hdf5::read(path).map(|mesh| MeshFile::new(mesh, "OP2", "HDF5"));
    }
    open_bytes(&bytes).map_err(|error| error.in_file(path))
}

/// Everything in a file. Devices are refused, because some of them have no end.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::io("read", path, source);
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_char_device(&fs::metadata(path).map_err(failed)?.file_type()) {
        return Err(failed(std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is a device, not a file")));
    }
    fs::read(path).map_err(failed)
}

/// The mesh in the bytes of a file of any format that is known. The mesh is checked.
pub fn read_bytes(bytes: &[u8]) -> Result<RawMesh, Error> {
    open_bytes(bytes).map(|file| file.mesh)
}

/// The mesh in the bytes of a file of any format that is known, with the form of the file and notes. The mesh is checked.
pub fn open_bytes(bytes: &[u8]) -> Result<MeshFile, Error> {
    let file = if bytes.starts_with(gmsh::MARK) {
        gmsh::open(bytes)?
    } else if bytes.trim_ascii_start().starts_with(b"<") {
        vtu::open(bytes)?
    } else {
        match counts(bytes) {
            Some(4) => MeshFile::new(new_grid::read(bytes)?, "new_grid", "text"),
            Some(3) => MeshFile::new(fe_grid::read(bytes)?, "FE_grid", "text"),
            _ if bytes.starts_with(b"\x89HDF") => {
                let message = "this is an HDF5 file, which is read by its name, and only with the feature hdf5";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            _ if bytes.is_empty() => return Err(Error::new(ErrorKind::Truncated, "the file is empty")),
            _ => {
                let known = "the counts of new_grid.dat (4) or FE_grid.dat (3), nor as files of Gmsh or VTK do";
                return Err(Error::new(
                    ErrorKind::Malformed,
                    format!("this is no mesh: it starts neither with {known}"),
                ));
            }
        }
    };
    file.mesh.check()?;
    Ok(file)
}

/// How many integers there are in the first line, if there is nothing else.
fn counts(bytes: &[u8]) -> Option<usize> {
    let first_line = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty())?;
    let words = first_line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.clone().all(|word| word.iter().all(u8::is_ascii_digit)).then(|| words.count())
}

/// Writes a mesh to a file, in the format that the ending of its name says: `.vtu` for VTK, `.dat` for the text format that
/// fits the mesh, and with the feature `hdf5`, `.h5` or `.hdf5` for OP2's. The file is there as a whole afterwards, or as it was before if there is an error.
pub fn write(path: impl AsRef<Path>, mesh: &RawMesh) -> Result<(), Error> {
    let path = path.as_ref();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let bytes = match ending.as_deref() {
        #[cfg(feature = "hdf5")]
        Some("h5" | "hdf5") => return hdf5::write(path, mesh),
        Some("vtu") => vtu::write(mesh, vtu::Encoding::default()),
        Some("dat") if mesh.set("edges").is_ok() => new_grid::write(mesh),
        Some("dat") => fe_grid::write(mesh),
        _ => {
            let message = format!("{}: the name of a mesh file ends in .dat or .vtu", path.display());
            return Err(Error::new(ErrorKind::Argument, message));
        }
    };
    save::replace_by(path, &bytes?)
}

/// Writes some bytes to a file, which is there as a whole afterwards, or as it was before if there is an error.
pub fn write_bytes(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    save::replace_by(path.as_ref(), bytes)
}
