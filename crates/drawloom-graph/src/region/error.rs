//! What can be wrong with a description of spaces, partitions and regions.

use std::fmt;

/// A space, partition, field or map that cannot be built, with the names its author gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionError {
    kind: RegionErrorKind,
    message: String,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionErrorKind {
    /// A name is used twice. Choose another name.
    Duplicate,
    /// An index lies outside its space. Check the colour array, index list or map.
    OutOfBounds,
    /// A partition, map or field belongs to another space than the one it is used with.
    WrongSpace,
    /// A colour array or map has the wrong number of entries for its space.
    WrongLength,
    /// An operation needs the indices of a space that is only declared.
    UnknownIndices,
    /// More pieces, spaces or regions than 32-bit ids can number, or than memory should hold.
    TooMany,
    /// A declared property contradicts the computed one.
    Contradiction,
}

impl RegionError {
    pub(crate) fn new(kind: RegionErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of mistake, for programs.
    pub fn kind(&self) -> RegionErrorKind {
        self.kind
    }
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegionError {}
