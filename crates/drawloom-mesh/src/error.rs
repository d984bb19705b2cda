//! What can be wrong with a mesh, or with a file that should hold one.

use std::error::Error as StdError;
use std::path::Path;
use std::{fmt, io};

/// Why something cannot be done with a mesh. The message names the sets, maps, dats, files and elements involved.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<io::Error>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed, a full disk for example. The error's source says how.
    Io,
    /// A file is not in the format that it seems to be in. The message says where, and what was expected there.
    Malformed,
    /// A file ends too early. Whoever wrote it was interrupted; write it again.
    Truncated,
    /// The parts of a mesh do not fit together: a target that does not exist, a table that is too short, a name that
    /// is used twice. Mend the mesh where the message says.
    Inconsistent,
    /// The format is known and something in it is not supported, or needs a feature that this build is without.
    Unsupported,
    /// There is no set, map or dat of that name. The message lists those that there are.
    Unknown,
    /// A number or a choice that was asked for makes no sense: no parts, a mesh without cells.
    Argument,
    /// A loop would depend on the order of its iterations, or its arguments do not belong together. Nothing was run.
    Refused,
    /// Something failed while a program ran: a kernel panicked or did not write what it must, scalar code returned an
    /// error.
    Failed,
    /// A number that must be finite is not. The message says in which iteration, and in which element it is found.
    NotFinite,
    /// A checkpoint was changed after it was written: its checksum is wrong. Use an older one.
    Damaged,
    /// A checkpoint belongs to another mesh or another program. Start with those it was written with.
    Mismatch,
    /// A file has another version of its format. Read it with the version of Drawloom that wrote it.
    Version,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// An error of the operating system while `doing` something to a file.
    pub(crate) fn io(doing: &str, path: &Path, source: io::Error) -> Self {
        Self {
            kind: ErrorKind::Io,
            message: format!("cannot {doing} {}: {source}", path.display()),
            source: Some(source),
        }
    }

    /// The same error, and in which file it was found.
    pub(crate) fn in_file(mut self, path: &Path) -> Self {
        self.message = format!("{}: {}", path.display(), self.message);
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Writing to a stream whose name is not known.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self { kind: ErrorKind::Io, message: format!("cannot write: {source}"), source: Some(source) }
    }
}
