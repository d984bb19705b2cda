//! The four operations of a tiled Cholesky factorisation, on square tiles in double precision.
//!
//! A tile is `nb` by `nb` elements, column-major, in one contiguous slice. Any `nb` works; multiples of 8 are fastest.
//!
//! | module | what is in it |
//! |---|---|
//! | [`view`] | strided views that know their bounds |
//! | [`micro`] | the block of registers through which nearly all operations go |
//! | [`level`] | the same at each level of instructions |
//! | [`scratch`] | memory to pack large tiles into |
//! | [`blocked`] | the four operations, made of panels |
//!
//! `unsafe` code is confined to `micro`.

mod blocked;
mod level;
#[allow(unsafe_code)]
mod micro;
mod scratch;
mod view;

pub use blocked::{Kernels, NotPositive};
