//! How good a partition is.

use super::Partition;
use crate::error::Error;
use crate::raw::{Adjacency, RawMesh};

/// Figures of a partition.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Quality {
    /// How many parts there are.
    pub parts: usize,
    /// How many pairs of neighbours in the primary set have different owners.
    pub cut_edges: usize,
    /// How many pairs of neighbours there are in the primary set.
    pub edges: usize,
    /// Figures of each set.
    pub sets: Vec<SetQuality>,
}

/// Figures of one set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SetQuality {
    /// The set.
    pub set: String,
    /// How many elements each part owns.
    pub owned: Vec<usize>,
    /// How many elements of others each part needs, because elements that it owns lead to them.
    pub halo: Vec<usize>,
    /// What the largest part owns, divided by the mean. 1 is perfect.
    pub imbalance: f64,
}

impl Quality {
    /// Figures of a set.
    pub fn set(&self, name: &str) -> Option<&SetQuality> {
        self.sets.iter().find(|set| set.set == name)
    }
}

impl Partition {
    /// The figures of this partition of a mesh.
    pub fn quality(&self, mesh: &RawMesh) -> Result<Quality, Error> {
        mesh.check()?;
        let adjacency = Adjacency::of_set(mesh, self.primary())?;
        let owners = self.owners_in(mesh, self.primary())?;
        let cut = |element: usize| {
            let others = adjacency.of(element as u32).iter();
            others.filter(|other| owners[**other as usize] != owners[element]).count()
        };
        // Every pair is seen from both of its ends.
        let cut_edges = (0..owners.len()).map(cut).sum::<usize>() / 2;
        let sets = mesh.sets.iter().map(|set| self.set_quality(mesh, &set.name)).collect::<Result<_, _>>()?;
        Ok(Quality { parts: self.parts(), cut_edges, edges: adjacency.pairs(), sets })
    }

    fn set_quality(&self, mesh: &RawMesh, set: &str) -> Result<SetQuality, Error> {
        let owners = self.owners_in(mesh, set)?;
        let mut owned = vec![0; self.parts()];
        owners.iter().for_each(|owner| owned[*owner as usize] += 1);
        // Part and target, of every target that the part does not own.
        let mut needed: Vec<(u32, u32)> = Vec::new();
        for map in mesh.maps.iter().filter(|map| map.to == set) {
            let from = self.owners_in(mesh, &map.from)?;
            for (row, part) in map.rows().zip(from) {
                needed.extend(
                    row.iter().filter(|target| owners[**target as usize] != *part).map(|target| (*part, *target)),
                );
            }
        }
        needed.sort_unstable();
        needed.dedup();
        let mut halo = vec![0; self.parts()];
        needed.iter().for_each(|(part, _)| halo[*part as usize] += 1);
        let most = owned.iter().max().copied().unwrap_or(0);
        let imbalance = if owners.is_empty() { 1.0 } else { most as f64 * self.parts() as f64 / owners.len() as f64 };
        Ok(SetQuality { set: set.to_owned(), owned, halo, imbalance })
    }
}
