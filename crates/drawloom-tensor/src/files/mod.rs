//! Batches in files: arrays of NumPy, elements without a header, and images.
//!
//! Only the rows of the pieces in flight are in memory.

mod array;
#[cfg(feature = "images")]
mod images;
mod npy;
mod writer;

pub use array::ArrayFile;
#[cfg(feature = "images")]
pub use images::{Colours, Front, Images};
pub use npy::{NpyWriter, write_npy};
pub use writer::{RawWriter, write_raw};
