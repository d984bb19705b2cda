//! Files of a batch on the command line: which format they have, and whether they can be written.

use std::path::Path;

use super::beside::files_beside;
use crate::written::{self, Use};

/// How an array is stored in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As NumPy writes it.
    Npy,
    /// Its elements alone, in little-endian order.
    Raw,
}

impl Format {
    /// The format that the name of a file asks for.
    pub(crate) fn of(path: &Path) -> Result<Self, String> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        match ending.as_deref() {
            Some("npy") => Ok(Self::Npy),
            Some("raw" | "bin") => Ok(Self::Raw),
            _ => Err(format!(
                "{} ends with neither .npy, for an array of NumPy, nor .raw or .bin, for elements without a header",
                path.display()
            )),
        }
    }
}

/// Refuses to write a file that is read too, or that something else is written to, and files that cannot be written. The
/// model is read, and so are the files beside it that hold its values, and the inputs.
pub(crate) fn check_written(model: &Path, inputs: Vec<Use>, written: &[Use]) -> Result<(), String> {
    let mut read = inputs;
    read.push(Use::new("the model", model));
    // A large model takes a while to be read again, so that is done only where there is something to lose.
    if written.iter().any(|output| output.path.is_file()) {
        read.extend(files_beside(model).iter().map(|path| Use::new("a file with values of the model", path)));
    }
    written::check(&read, written)
}
