//! Tasks that need several workers at once.

/// How many workers a team task takes, at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

impl From<u32> for Bounds {
    fn from(size: u32) -> Self {
        Self { least: size, most: size }
    }
}

impl From<std::ops::RangeInclusive<u32>> for Bounds {
    fn from(range: std::ops::RangeInclusive<u32>) -> Self {
        Self { least: *range.start(), most: *range.end() }
    }
}
