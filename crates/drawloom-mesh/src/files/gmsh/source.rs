//! Numbers of a file, as text or as bytes.

use super::super::bytes::ByteOrder;
use super::super::scan::Scanner;
use crate::error::{Error, ErrorKind};

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Binary(ByteOrder),
}

/// The versions of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// 2.0 to 2.2: elements have their groups, there are no entities and no blocks.
    Two,
    /// 4.0: blocks of one entity, whose groups are in a section of entities.
    Four,
    /// 4.1: as 4.0, with some things in another order.
    FourOne,
}

/// A place in a file.
pub(super) struct Source<'a> {
    pub(super) scanner: Scanner<'a>,
    pub(super) encoding: Encoding,
    pub(super) version: Version,
    /// How many bytes a size takes in binary files: 4 or 8.
    pub(super) size_bytes: usize,
}

impl<'a> Source<'a> {
    /// An integer that may be negative: Gmsh's `int`.
    pub(super) fn integer(&mut self, what: &str) -> Result<i64, Error> {
        match self.encoding {
            Encoding::Text => self.scanner.integer(|| what.to_owned()),
            Encoding::Binary(order) => self.bytes(what).map(|bytes| i32::from_le_bytes(order.little(bytes)).into()),
        }
    }

    /// A count: Gmsh's `size_t`.
    pub(super) fn count(&mut self, what: &str) -> Result<u64, Error> {
        match self.encoding {
            Encoding::Text => self.scanner.index(u64::MAX, || what.to_owned()),
            Encoding::Binary(order) if self.size_bytes == 4 => {
                self.bytes(what).map(|bytes| u32::from_le_bytes(order.little(bytes)).into())
            }
            Encoding::Binary(order) => self.bytes(what).map(|bytes| u64::from_le_bytes(order.little(bytes))),
        }
    }

    /// The number of a node or an element.
    pub(super) fn number(&mut self, what: &str) -> Result<u64, Error> {
        if self.encoding == Encoding::Text || self.version == Version::FourOne {
            return self.count(what);
        }
        let number = self.integer(what)?;
        u64::try_from(number).map_err(|_| self.wrong(format!("{what} is {number}")))
    }

    /// A count that is written as text in a line of its own, also in binary files.
    pub(super) fn line_count(&mut self, what: &str) -> Result<u64, Error> {
        let count = self.scanner.index(u64::MAX, || what.to_owned())?;
        self.scanner.line();
        Ok(count)
    }

    /// A number that may be infinite or not a number.
    pub(super) fn any_float(&mut self, what: &str) -> Result<f64, Error> {
        match self.encoding {
            Encoding::Text => self.scanner.any_float(|| what.to_owned()),
            Encoding::Binary(order) => self.bytes(what).map(|bytes| f64::from_le_bytes(order.little(bytes))),
        }
    }

    /// A finite number.
    pub(super) fn float(&mut self, what: &str) -> Result<f64, Error> {
        if self.encoding == Encoding::Text {
            return self.scanner.float(|| what.to_owned());
        }
        let value = self.any_float(what)?;
        if value.is_finite() { Ok(value) } else { Err(self.wrong(format!("{what} is {value}"))) }
    }

    /// An error at this place.
    pub(super) fn wrong(&self, message: String) -> Error {
        Error::new(ErrorKind::Malformed, format!("{}: {message}", self.place()))
    }

    /// This place, for errors.
    pub(super) fn place(&self) -> String {
        match self.encoding {
            Encoding::Text => format!("line {}", self.scanner.line_number()),
            Encoding::Binary(_) => format!("byte {}", self.scanner.place()),
        }
    }

    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Error> {
        let bytes = self.scanner.bytes(N).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| {
            let message = format!("{}: the file ends where a number was expected: {what}", self.place());
            Error::new(ErrorKind::Truncated, message)
        })
    }
}
