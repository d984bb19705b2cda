//! Batches in files: arrays of NumPy, elements without a header, and images.
//!
//! Only the rows of the pieces in flight are in memory.

mod array;
#[cfg(feature = "images")]
mod images;
mod npy;
mod writer;

use std::io::{Error, ErrorKind, Result};
use std::path::Path;

pub use array::ArrayFile;
#[cfg(feature = "images")]
pub use images::{Colours, Front, Images};
pub use npy::{NpyWriter, write_npy};
pub use writer::{RawWriter, write_raw};

/// Refuses a pipe or a device, which may never end, and whose length nobody knows. It is asked before such a file is opened, because
/// even that may wait for ever.
pub fn regular(path: &Path) -> Result<()> {
    if std::fs::metadata(path)?.is_file() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidInput, "it is no regular file, but a folder, a pipe or a device"))
}
