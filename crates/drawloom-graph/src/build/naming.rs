//! Unique names for the nodes that a builder makes.
//!
//! A task keeps the name its author gave; a second one of the name becomes `name#2`. Versions are called after their region:
//! `u@0`, `u@1`. A task whose own name has the form of a version's gets a suffix, so that no version made later can
//! meet it.

use rustc_hash::FxHashMap;

use crate::region::{RegionId, Regions};

/// Hands out unique names.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    /// For each name given out to a compute node, the next suffix to try.
    taken: FxHashMap<String, u32>,
    versions: Vec<u32>,
    regions: Vec<Option<Box<str>>>,
    buffer: String,
}

impl Naming {
    pub(crate) fn new(regions: &Regions) -> Self {
        Self {
            taken: FxHashMap::default(),
            versions: vec![0; regions.len()],
            regions: vec![None; regions.len()],
            buffer: String::new(),
        }
    }

    /// A name for a compute node.
    pub(crate) fn compute(&mut self, wanted: &str) -> &str {
        let looks_like_version =
            wanted.rsplit_once('@').is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        self.buffer.clear();
        self.buffer.push_str(wanted);
        if looks_like_version {
            self.buffer.push_str("#1");
        }
        // An empty name would be shown as the number of the node, which another node may be called.
        if wanted.is_empty() {
            self.buffer.push_str("task");
        }
        let length = self.buffer.len();
        while let Some(next) = self.taken.get_mut(self.buffer.as_str()) {
            let suffix = *next;
            *next += 1;
            self.buffer.truncate(length);
            self.buffer.push_str(&format!("#{suffix}"));
            if !self.taken.contains_key(self.buffer.as_str()) {
                break;
            }
            self.buffer.truncate(length);
        }
        self.taken.insert(self.buffer.clone(), 2);
        &self.buffer
    }

    /// A name for the next version of a region.
    pub(crate) fn version(&mut self, table: &Regions, region: RegionId) -> &str {
        let name = self.regions[region.index()].get_or_insert_with(|| table.name(region).into());
        self.buffer.clear();
        self.buffer.push_str(name);
        self.buffer.push('@');
        self.buffer.push_str(&self.versions[region.index()].to_string());
        self.versions[region.index()] += 1;
        &self.buffer
    }
}
