//! Tiled Cholesky factorisation: `A = L * L^T` for a symmetric positive definite matrix, in double precision.
//!
//! The lower triangle of the matrix is cut into square tiles ([`Layout`]); four kernels work on tiles ([`Kernels`]);
//! [`Layout::operations`] lists what is to be done to which tile, in an order in which it may be run or submitted.
//!
//! ```
//! use drawloom_apps::cholesky::{Kernels, Layout, Order, Spd, TiledMatrix, max_error};
//!
//! let kernels = Kernels::detect();
//! let matrix = Spd::new(Layout::new(100, 16)?, 1);
//! let mut tiles = TiledMatrix::new(matrix)?;
//! tiles.factor_serial(kernels, Order::Left)?;
//! assert!(max_error(kernels, matrix, |row, column| tiles.tile(row, column)) < 1e-14);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what is in it |
//! |---|---|
//! | [`kernel`] | the four operations on tiles, fast on every processor |
//! | [`layout`] | tiles of a matrix, and the operations in order |
//! | [`matrix`] | the matrix to factor; tiles in memory; the serial loop |
//! | [`check`] | the result against the definition |
//! | [`line`] | elements that start at a cache line |
//! | [`tasks`] | tiles as regions, operations as tasks: submitted, or recorded as a plan |

mod check;
mod kernel;
mod layout;
mod line;
mod matrix;
mod tasks;

pub use check::max_error;
pub use kernel::{Kernels, NotPositive};
pub use layout::{Layout, LayoutError, Operation, Order};
pub use matrix::{Spd, TiledMatrix};
pub use tasks::{Factor, Tiles, TilesError};
