//! The four operations of a tiled Cholesky factorisation, on square tiles in double precision.
//!
//! A tile is `nb` by `nb` elements, column-major, in one contiguous slice. Any `nb` works; multiples of 8 are fastest.
//!
//! | module | what is in it |
//! |---|---|
//! | [`view`] | strided views that know their bounds |
//! | [`lanes`] | the vectors of each instruction set |
//! | [`micro`] | the block of registers through which nearly all operations go |
//! | [`table`] | one table of functions for each instruction set, chosen at run time |
//! | [`scratch`] | memory to pack large tiles into |
//! | [`blocked`] | the four operations, made of panels |
//!
//! `unsafe` code is confined to `lanes`, `micro` and `table`.

mod blocked;
#[allow(unsafe_code)]
mod lanes;
#[allow(unsafe_code)]
mod micro;
mod scratch;
#[allow(unsafe_code)]
mod table;
mod view;

pub use blocked::{Kernels, NotPositive};
