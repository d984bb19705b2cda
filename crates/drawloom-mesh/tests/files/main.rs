//! Files of meshes, and what is done with them: orders and partitions.

mod counting;
mod damage;
mod gmsh;
#[cfg(feature = "hdf5")]
mod hdf5;
mod mutations;
/// Generated meshes; the crate of the applications, which have them, depends on this one.
#[path = "../../../../apps/src/naca/mod.rs"]
#[allow(dead_code, missing_docs, unreachable_pub)]
mod naca;
mod orders;
mod others;
mod support;
mod vtu;
