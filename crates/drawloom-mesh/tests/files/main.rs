//! Files of meshes, generated meshes, and what is done with them: orders, partitions and pictures.

mod gmsh;
#[cfg(feature = "hdf5")]
mod hdf5;
mod mutations;
mod naca;
mod orders;
mod plot;
mod support;
mod vtu;
