//! Unstructured meshes: sets, maps and dats as plain data, with their files, generators, orders, partitions and pictures.
//!
//! ```
//! use drawloom_mesh::{files, naca};
//!
//! let mesh = naca::naca0012(6, 9)?;
//! assert_eq!(mesh.size("cells")?, 162);
//! let text = files::new_grid::write(&mesh)?;
//! assert!(text.starts_with(b" 190 162 303 42 \n"));
//! assert_eq!(files::new_grid::read(&text)?, mesh);
//! # Ok::<(), drawloom_mesh::Error>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`raw`] | the plain data of a mesh, and whether its parts fit together |
//! | [`naca`] | a generator of meshes around an airfoil |
//! | [`files`] | readers and writers of mesh files |
//! | [`plot`](mod@plot) | pictures of meshes and fields |
//! | [`partition`] | parts of equal size with few connections |
//! | [`checkpoint`] | the state of a running program in a file |
//! | [`renumber`] | orders in which neighbours are near each other |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod checkpoint;
mod error;
pub mod files;
pub mod naca;
pub mod partition;
pub mod plot;
pub mod raw;
pub mod renumber;

pub use error::{Error, ErrorKind};
