//! Programs written with drawloom, used by its command line, its tests and its benchmarks.
//!
//! | module | what is in it |
//! |---|---|
//! | [`aero`] | the potential of a flow, by finite elements |
//! | [`airfoil`] | the flow around an airfoil, on an unstructured mesh |
//! | [`cholesky`] | tiled Cholesky factorisation, with kernels that are fast on small tiles |
//! | [`dots`] | sums and scalar products whose results are known |
//! | [`filters`] | streams with irregular numbers of items: filters, expansions, regions, loops |
//! | [`jacobi`] | Jacobi's method on a grid, in one precision and in two |
//! | [`messages`] | graphs of devices that send each other messages |
//! | [`naca`] | a generator of meshes around an airfoil |
//! | [`reduction`] | counting iterations, and lowest and highest values |
//!
//! Kernels are compiled for several instruction sets and chosen at run time ([`Level`]).

#![deny(unsafe_code)]

pub mod aero;
pub mod airfoil;
pub mod cholesky;
pub mod dots;
pub mod filters;
pub mod jacobi;
mod level;
pub mod messages;
pub mod naca;
pub mod reduction;

pub use level::Level;
