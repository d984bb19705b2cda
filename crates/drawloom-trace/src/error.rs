//! What can be wrong with a trace that comes from outside.

use std::error::Error as StdError;
use std::{fmt, io};

/// Why a trace cannot be read, written or used.
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
    /// Reading or writing failed. The error's source says how.
    Io,
    /// The file does not start with the header of a trace. Check that it is one.
    NotATrace,
    /// The file has another version of the format. Read it with the version of Drawloom that wrote it.
    Version,
    /// The file stops before its last line. Whoever wrote it was interrupted; record the run again.
    Truncated,
    /// A line is not what the format says, or refers to something that is not there.
    Malformed,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
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

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self {
            kind: ErrorKind::Io,
            message: format!("the trace cannot be read or written: {source}"),
            source: Some(source),
        }
    }
}
