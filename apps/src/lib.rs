//! Programs written with drawloom, used by its command line, its tests and its benchmarks.
//!
//! | module | what is in it |
//! |---|---|
//! | [`airfoil`] | the flow around an airfoil, on an unstructured mesh |
//! | [`cholesky`] | tiled Cholesky factorisation, with kernels that are fast on small tiles |
//! | [`filters`] | streams with irregular numbers of items: filters, expansions, regions, loops |
//! | [`micro`] | the smallest tasks in six shapes: what a task costs |
//! | [`taskbench`] | Task Bench: graphs of known shape with a kernel of any size, and what they say about a runtime |
//!
//! Kernels are compiled for several instruction sets and chosen at run time ([`Level`]).

#![deny(unsafe_code)]

pub mod airfoil;
pub mod cholesky;
pub mod filters;
mod level;
pub mod micro;
pub mod taskbench;

pub use level::Level;
