//! The bytes of one value, with their type.

use std::fmt;

use serde_json::Value;

use super::json::{self, Missing};
use super::layout::Layout;
use super::{Field, Plain, c};
use crate::error::{Error, ErrorKind, Result};

/// One value of a layout. Its bytes are aligned to eight.
#[derive(Clone)]
pub struct Record {
    layout: Layout,
    words: Vec<u64>,
}

impl Record {
    /// The record of all defaults.
    pub fn new(layout: &Layout) -> Self {
        let mut record = Self { layout: layout.clone(), words: vec![0; layout.words()] };
        record.bytes_mut().copy_from_slice(layout.default_bytes());
        record
    }

    /// A record from bytes.
    ///
    /// # Errors
    /// When there are more or fewer bytes than the layout has, or a `bool` is neither 0 nor 1.
    pub fn from_bytes(layout: &Layout, bytes: &[u8]) -> Result<Self> {
        let mut record = Self::new(layout);
        layout.check(bytes)?;
        record.bytes_mut().copy_from_slice(bytes);
        Ok(record)
    }

    /// A record from a JSON object. Members that are not in it have their defaults.
    ///
    /// # Errors
    /// When a value is not of the declared type, there is no such member, or a member without a default is missing.
    pub fn from_json(layout: &Layout, text: &str) -> Result<Self> {
        let value: Value =
            serde_json::from_str(text).map_err(|e| Error::new(ErrorKind::Value, format!("not JSON: {e}")))?;
        let mut record = Self::new(layout);
        json::read(layout.tuple(), &value, record.bytes_mut(), Missing::Refused)?;
        Ok(record)
    }

    /// A record from an initialiser as in C: values in braces, in the order of the members, all of them.
    ///
    /// # Errors
    /// When it is no initialiser of the declared type.
    pub fn from_c(layout: &Layout, text: &str) -> Result<Self> {
        let mut record = Self::new(layout);
        c::read_initialiser(layout.tuple(), text, record.bytes_mut())?;
        Ok(record)
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.layout.size()]
    }

    /// The bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.layout.size()]
    }

    /// Sets a member by its name.
    ///
    /// # Errors
    /// As [`Layout::field`].
    pub fn with<T: Plain>(mut self, path: &str, value: T) -> Result<Self> {
        let field: Field<T> = self.layout.field(path)?;
        field.set(self.bytes_mut(), value);
        Ok(self)
    }

    /// The value as a compact JSON object.
    pub fn to_json(&self) -> String {
        json::to_string(self.layout.tuple(), self.bytes())
    }

    /// The value as an initialiser of C.
    pub fn to_c(&self) -> String {
        c::initialiser(self.layout.tuple(), self.bytes())
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.layout.tuple().is_like(other.layout.tuple())
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json())
    }
}
