//! The orders that rule E adds to the dataflow, as a short list of pairs of tasks.
//!
//! Listing the rule literally would pair every reader with every later mutator. Most pairs follow from others. Let D be a
//! version of region r, m the earliest later mutation that may alias r, and V the first version at or after m of r itself,
//! of a region that contains r, or of one that aliases exactly what r aliases. Everything that aliases r aliases the region of V, so m reaches V (or is V), and V
//! reaches every aliasing version behind it. A reader of D that runs before the mutators up to V therefore runs before all
//! later writers too, and only the mutators up to V need to be listed.
//!
//! Reductions are the exception: V reaches a later reduced version through *some* reducer, and the others need not
//! follow. A reduced version is *linked* when each of its reducers takes a version of the same region that no aliasing
//! version follows before the reduction; what holds for one reducer then holds for all. Mutations that are not linked are
//! *stray*, and are listed up to the next version around r that some other task reads: that reader is itself ordered
//! before all strays behind it.

use super::timeline::{Mutation, Timeline};
use crate::check::serial::Ordered;
use crate::graph::Label;
use crate::region::RegionId;
use crate::region::cover::{Covers, Group, Joined};

/// Lists pairs (before, after) of tasks whose transitive closure, with the dataflow, is exactly the required order.
/// `None` when there would be more than `most` of them.
pub(crate) fn required(ordered: &Ordered<'_>, most: usize) -> Option<Vec<(u32, u32)>> {
    let Ordered { flow, topology, covers, .. } = *ordered;
    let stray = strays(ordered);
    let mut later = Timeline::new(covers);
    let mut later_strays = Timeline::new(covers);
    let mut past = Past::new(covers);
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let mut readers: Vec<u32> = Vec::new();
    let mut mutators: Vec<u32> = Vec::new();
    for at in (0..flow.len() as u32).rev() {
        let version = topology.node(at);
        let Some(region) = ordered.region(version) else { continue };
        let (group, cover) = (covers.group(region), covers.cover(region));
        readers.clear();
        readers.extend(flow.task_readers(version));
        readers.sort_unstable();
        readers.dedup();
        if !readers.is_empty()
            && let Some(first) = later.earliest(cover)
        {
            mutators.clear();
            let room = (most - pairs.len()) / readers.len();
            let mut collect = |m: Mutation| {
                mutators.extend(flow.task_mutators(m.version));
                mutators.len() <= room
            };
            let around = past.around(region, first);
            later.up_to(cover, around.any, &mut collect);
            later_strays.up_to(cover, around.read, &mut collect);
            mutators.sort_unstable();
            mutators.dedup();
            if mutators.len() > room {
                return None;
            }
            for &reader in &readers {
                pairs.extend(
                    mutators.iter().filter(|c| **c != reader && !follows(ordered, reader, **c)).map(|c| (reader, *c)),
                );
            }
        }
        past.enter(region, at, readers.iter().any(|x| !flow.out.labels(*x).contains(&Label::Reduce)));
        if flow.task_mutators(version).next().is_some() {
            later.enter(group, Mutation { position: at, version });
            if stray.as_ref().is_some_and(|s| s[version as usize]) {
                later_strays.enter(group, Mutation { position: at, version });
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Some(pairs)
}

/// Whether a task takes a version that another makes, so that their order needs no listing.
fn follows(ordered: &Ordered<'_>, before: u32, after: u32) -> bool {
    let flow = ordered.flow;
    flow.into.degree(after) <= 16 && flow.mutated(before).any(|v| flow.into.nodes(after).contains(&v))
}

/// The positions of versions later than the current point, by class of regions.
struct Past<'a> {
    covers: &'a Covers,
    /// Latest first.
    any: Vec<Vec<u32>>,
    /// Those that a task reads which reduces nothing.
    read: Vec<Vec<u32>>,
    above: Vec<Group>,
}

/// How far mutations must be listed: up to these positions.
struct Around {
    any: u32,
    read: u32,
}

impl<'a> Past<'a> {
    fn new(covers: &'a Covers) -> Self {
        let n = covers.class_count();
        Self { covers, any: vec![Vec::new(); n], read: vec![Vec::new(); n], above: Vec::new() }
    }

    fn enter(&mut self, region: RegionId, position: u32, is_read: bool) {
        let class = self.covers.class(region) as usize;
        self.any[class].push(position);
        if is_read {
            self.read[class].push(position);
        }
    }

    /// The first versions at or after a position of a region, of one that contains it, or of one of the same class.
    fn around(&mut self, region: RegionId, position: u32) -> Around {
        let first = |list: &[u32]| {
            let behind = list.partition_point(|p| *p >= position);
            if behind == 0 { u32::MAX } else { list[behind - 1] }
        };
        let mut around = Around { any: u32::MAX, read: u32::MAX };
        self.covers.above(self.covers.group(region), &mut self.above);
        for region in self.above.iter().filter_map(|g| self.covers.region(*g)) {
            let class = self.covers.class(region) as usize;
            around.any = around.any.min(first(&self.any[class]));
            around.read = around.read.min(first(&self.read[class]));
        }
        around
    }
}

/// For each version, whether it is a stray reduction. `None` when the graph has no reductions.
fn strays(ordered: &Ordered<'_>) -> Option<Vec<bool>> {
    let Ordered { flow, topology, covers, graph } = *ordered;
    if !flow.has_reductions {
        return None;
    }
    let mut stray = vec![false; flow.len()];
    // Positions are stored plus one, so that zero is "none".
    let mut versions = Joined::new(covers);
    let is_same = |v: u32, region: RegionId| flow.is_data(v) && graph.nodes()[v as usize].region() == Some(region);
    for at in 0..flow.len() as u32 {
        let version = topology.node(at);
        let Some(region) = ordered.region(version) else { continue };
        if flow.into.labels(version).contains(&Label::Reduce) {
            let last: u32 = versions.over(region);
            let base = |reducer: u32| {
                let inputs = flow.into.nodes(reducer).iter();
                inputs.filter(|v| is_same(**v, region)).map(|v| topology.position(*v) + 1).max().unwrap_or(0)
            };
            stray[version as usize] = flow.task_mutators(version).any(|r| base(r) < last);
        }
        versions.enter(region, at + 1);
    }
    Some(stray)
}
