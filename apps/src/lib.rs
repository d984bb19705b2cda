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
//! | [`micro`] | the smallest tasks in six shapes: what a task costs |
//! | [`reduction`] | counting iterations, and lowest and highest values |
//! | [`taskbench`] | Task Bench: graphs of known shape with a kernel of any size, and what they say about a runtime |
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
pub mod micro;
pub mod reduction;
pub mod taskbench;

pub use level::Level;
