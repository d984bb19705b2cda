//! Numbers of a file, as text or as bytes.

use super::super::scan::Scanner;
use crate::error::{Error, ErrorKind};

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// Bytes, the lowest one first.
    Little,
    /// Bytes, the highest one first.
    Big,
}

/// A place in a file.
pub(super) struct Source<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) form: Form,
    /// Whether the version is 4.0, in which some things come in another order.
    pub(super) older: bool,
}

impl<'a> Source<'a> {
    /// An integer that may be negative: Gmsh's `int`.
    pub(super) fn integer(&mut self, what: &str) -> Result<i64, Error> {
        match self.form {
            Form::Text => self.scanner.integer(|| what.to_owned()),
            Form::Little => self.bytes(what).map(|bytes| i32::from_le_bytes(bytes).into()),
            Form::Big => self.bytes(what).map(|bytes| i32::from_be_bytes(bytes).into()),
        }
    }

    /// A count or the number of a node or element: Gmsh's `size_t`.
    pub(super) fn count(&mut self, what: &str) -> Result<u64, Error> {
        match self.form {
            Form::Text => self.scanner.index(u64::MAX, || what.to_owned()),
            Form::Little => self.bytes(what).map(u64::from_le_bytes),
            Form::Big => self.bytes(what).map(u64::from_be_bytes),
        }
    }

    /// A finite number.
    pub(super) fn float(&mut self, what: &str) -> Result<f64, Error> {
        let value = match self.form {
            Form::Text => return self.scanner.float(|| what.to_owned()),
            Form::Little => self.bytes(what).map(f64::from_le_bytes)?,
            Form::Big => self.bytes(what).map(f64::from_be_bytes)?,
        };
        if value.is_finite() { Ok(value) } else { Err(self.wrong(format!("{what} is {value}"))) }
    }

    /// An error at this place.
    pub(super) fn wrong(&self, message: String) -> Error {
        let place = match self.form {
            Form::Text => format!("line {}", self.scanner.line_number()),
            _ => format!("byte {}", self.scanner.place()),
        };
        Error::new(ErrorKind::Malformed, format!("{place}: {message}"))
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Error> {
        let bytes = self.scanner.bytes(N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| {
            Error::new(ErrorKind::Truncated, format!("the file ends where a number was expected: {what}"))
        })
    }
}
