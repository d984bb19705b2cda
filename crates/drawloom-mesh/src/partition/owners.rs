//! Who owns what.

use crate::error::{Error, ErrorKind};
use crate::raw::RawMesh;

/// The owner of each element of each set of a mesh: a part, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    primary: String,
    parts: usize,
    sets: Vec<(String, Vec<u32>)>,
}

impl Partition {
    pub(super) fn new(primary: &str, parts: usize, sets: Vec<(String, Vec<u32>)>) -> Self {
        Self { primary: primary.to_owned(), parts, sets }
    }

    /// How many parts there are, empty ones included.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The set that was divided first.
    pub fn primary(&self) -> &str {
        &self.primary
    }

    /// The owner of each element of a set.
    pub fn owners(&self, set: &str) -> Option<&[u32]> {
        self.sets.iter().find(|(name, _)| name == set).map(|(_, owners)| owners.as_slice())
    }

    /// All sets with the owners of their elements.
    pub fn sets(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.sets.iter().map(|(name, owners)| (name.as_str(), owners.as_slice()))
    }

    /// The owners in a set of this mesh.
    pub(super) fn owners_in(&self, mesh: &RawMesh, set: &str) -> Result<&[u32], Error> {
        let size = mesh.size(set)?;
        self.owners(set).filter(|owners| owners.len() == size).ok_or_else(|| {
            Error::new(
                ErrorKind::Mismatch,
                format!("the partition is of another mesh: `{set}` has {size} elements here"),
            )
        })
    }
}
