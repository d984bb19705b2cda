//! Which of a few regions may alias, without comparing all pairs.

use crate::region::RegionId;
use crate::region::cover::{Covers, Group};

/// Counts regions by group, so that a region's cover tells how many of them it may alias.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    round: u32,
    here: Vec<(u32, u32)>,
    below: Vec<(u32, u32)>,
    /// Whether a region aliases only itself and what contains it. Two different ones of these never alias, which settles
    /// most questions at once.
    alone: Vec<bool>,
    above: Vec<Group>,
}

impl Tally {
    pub(crate) fn new(covers: &Covers, regions: usize) -> Self {
        let n = covers.group_count();
        let mut alone = vec![true; regions];
        for (index, alone) in alone.iter_mut().enumerate() {
            let region = RegionId::from_index(index);
            if covers.is_used(region) {
                let cover = covers.cover(region);
                let own = covers.group(region);
                *alone = covers.is_leaf(own) && cover.iter().all(|p| p.group == own || p.around && !p.below);
            }
        }
        Self { round: 0, here: vec![(0, 0); n], below: vec![(0, 0); n], alone, above: Vec::new() }
    }

    /// Whether some two of the regions may alias. Equal regions count as aliasing.
    ///
    /// May answer yes for regions under several parents that do not alias; never answers no wrongly.
    pub(crate) fn any_overlap(&mut self, covers: &Covers, regions: &[RegionId]) -> bool {
        if regions.len() <= 8 && regions.iter().all(|r| self.alone[r.index()]) {
            return regions.iter().enumerate().any(|(i, r)| regions[..i].contains(r));
        }
        self.count(covers, regions);
        regions.iter().any(|&r| self.aliases(covers, r) > 1)
    }

    /// Whether one region may alias any of the others.
    pub(crate) fn overlaps(&mut self, covers: &Covers, region: RegionId, others: &[RegionId]) -> bool {
        if self.alone[region.index()] && others.iter().all(|r| self.alone[r.index()]) {
            return others.contains(&region);
        }
        self.count(covers, others);
        self.aliases(covers, region) > 0
    }

    fn count(&mut self, covers: &Covers, regions: &[RegionId]) {
        self.round += 1;
        for &region in regions {
            let group = covers.group(region);
            bump(&mut self.here[group as usize], self.round);
            covers.above(group, &mut self.above);
            self.above.iter().for_each(|g| bump(&mut self.below[*g as usize], self.round));
        }
    }

    fn aliases(&self, covers: &Covers, region: RegionId) -> u32 {
        let counted = |(round, count): (u32, u32)| if round == self.round { count } else { 0 };
        covers
            .cover(region)
            .iter()
            .map(|p| counted(if p.below { self.below[p.group as usize] } else { self.here[p.group as usize] }))
            .sum()
    }
}

fn bump(slot: &mut (u32, u32), round: u32) {
    *slot = (round, if slot.0 == round { slot.1 + 1 } else { 1 });
}
