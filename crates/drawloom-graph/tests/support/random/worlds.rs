//! Random tables of regions, small enough that every pair of regions can be looked at.

use std::collections::BTreeSet;

use drawloom_graph::{IndexMap, IndexSet, Pieces, RegionId, Regions};
use fastrand::Rng;

/// A table of regions, and those of them that a generator may use.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) regions: Regions,
    pub(crate) ids: Vec<RegionId>,
}

/// A world with consistent facts.
pub(crate) fn world(rng: &mut Rng) -> World {
    let regions = match rng.u8(..6) {
        0 => flat(rng),
        1 => tree(rng),
        2 => two_partitions(rng),
        3 => facts(rng),
        _ => concrete(rng),
    };
    World { ids: regions.ids().collect(), regions }
}

/// A world whose facts contradict each other, more often than not.
pub(crate) fn inconsistent(rng: &mut Rng) -> World {
    let mut regions = facts(rng);
    let ids: Vec<RegionId> = regions.ids().collect();
    let pick = |rng: &mut Rng| ids[rng.usize(..ids.len())];
    for _ in 0..rng.u8(1..3) {
        let (a, b) = (pick(rng), pick(rng));
        if rng.bool() {
            regions.add_disjoint(a, b);
        } else {
            regions.add_subregion(a, b);
        }
    }
    World { regions, ids }
}

/// A few regions that are all disjoint, or nearly so: a missing fact makes two roots alias.
fn flat(rng: &mut Rng) -> Regions {
    let mut regions = Regions::new();
    let ids = named(&mut regions, &["A", "B", "C", "D"][..rng.usize(2..5)]);
    let forgotten = rng.u8(..10) == 0;
    for (i, &a) in ids.iter().enumerate() {
        for &b in &ids[i + 1..] {
            if !(forgotten && rng.bool()) {
                regions.add_disjoint(a, b);
            }
        }
    }
    regions
}

/// A root, its children and some grandchildren; siblings are disjoint or they may alias. Sometimes a second root.
fn tree(rng: &mut Rng) -> Regions {
    let mut regions = Regions::new();
    let root = named(&mut regions, &["R"])[0];
    let children = named(&mut regions, &["P", "Q", "S"][..rng.usize(2..4)]);
    children.iter().for_each(|c| regions.add_subregion(*c, root));
    siblings(rng, &mut regions, &children);
    if rng.bool() {
        let grandchildren = named(&mut regions, &["P1", "P2"]);
        grandchildren.iter().for_each(|c| regions.add_subregion(*c, children[0]));
        siblings(rng, &mut regions, &grandchildren);
    }
    if rng.bool() {
        let other = named(&mut regions, &["X"])[0];
        regions.add_disjoint(root, other);
    }
    regions
}

/// Two cuts of one parent: pieces of one cut are disjoint, and pieces of the two may alias unless a fact denies it.
fn two_partitions(rng: &mut Rng) -> Regions {
    let mut regions = Regions::new();
    let root = named(&mut regions, &["R"])[0];
    let first = named(&mut regions, &["P1", "P2"]);
    let second = named(&mut regions, &["Q1", "Q2"]);
    for piece in first.iter().chain(&second) {
        regions.add_subregion(*piece, root);
    }
    regions.add_disjoint(first[0], first[1]);
    if rng.u8(..4) > 0 {
        regions.add_disjoint(second[0], second[1]);
    }
    if rng.bool() {
        regions.add_disjoint(first[0], second[1]);
    }
    if rng.bool() {
        let other = named(&mut regions, &["X"])[0];
        regions.add_disjoint(root, other);
    }
    regions
}

/// Any consistent facts, several parents included.
fn facts(rng: &mut Rng) -> Regions {
    let mut regions = Regions::new();
    let ids = named(&mut regions, &["A", "B", "C", "D", "E", "F"][..rng.usize(3..7)]);
    // below[i] holds every region inside region i.
    let mut below: Vec<BTreeSet<usize>> = (0..ids.len()).map(|i| BTreeSet::from([i])).collect();
    for child in 1..ids.len() {
        for _ in 0..[0, 1, 1, 1, 2][rng.usize(..5)] {
            let parent = rng.usize(..child);
            regions.add_subregion(ids[child], ids[parent]);
            let added = below[child].clone();
            let above: Vec<usize> = (0..ids.len()).filter(|i| below[*i].contains(&parent)).collect();
            above.into_iter().for_each(|i| below[i].extend(&added));
        }
    }
    // Parents of a later region can gain nothing after it: ids grow downwards, so `below` is closed here.
    for a in 0..ids.len() {
        for b in a + 1..ids.len() {
            if below[a].is_disjoint(&below[b]) && rng.u8(..10) < 6 {
                regions.add_disjoint(ids[a], ids[b]);
            }
        }
    }
    regions
}

/// An index space with partitions whose overlaps are computed.
fn concrete(rng: &mut Rng) -> Regions {
    let mut regions = Regions::new();
    let len = rng.u64(3..9);
    let cells = regions.space("cells", len).expect("a fresh name");
    let u = regions.field("u", cells).expect("a fresh name");
    let whole = rng.u8(..10) > 0;
    if whole {
        regions.whole(u);
    }
    let blocks = regions.partition("blocks", cells, Pieces::equal(rng.u32(2..4))).expect("blocks cut any space");
    let mut cuts = vec![blocks];
    let second = match rng.u8(..7) {
        0 => Some(regions.partition("halos", cells, Pieces::halo(blocks, rng.u64(1..3)))),
        1 => {
            let colours: Vec<u32> = (0..len).map(|_| rng.u32(..2)).collect();
            Some(regions.partition("colours", cells, Pieces::colours(&colours)))
        }
        2 => Some(regions.partition("lists", cells, Pieces::lists([some_indices(rng, len), some_indices(rng, len)]))),
        3 => {
            let targets = (0..len).map(|_| rng.u64(..len)).collect();
            let map = IndexMap::new(&regions, cells, cells, 1, targets).expect("targets lie in the space");
            let pieces = match rng.u8(..3) {
                0 => Pieces::image(blocks, &map),
                1 => Pieces::preimage(blocks, &map),
                _ => Pieces::halo_through(blocks, &map),
            };
            Some(regions.partition("mapped", cells, pieces))
        }
        4 => {
            let first = regions.piece(blocks, 0);
            Some(regions.partition("tiles", first, Pieces::equal(2)))
        }
        5 => Some(regions.partition("declared", cells, Pieces::declared(2, rng.bool(), rng.bool()))),
        _ => None,
    };
    cuts.extend(second.map(|s| s.expect("the partition lies in its space")));
    for cut in cuts {
        for colour in 0..regions.piece_count(cut) {
            regions.region(u, regions.piece(cut, colour)).expect("pieces of the field's own space");
        }
    }
    if rng.bool() {
        let v = regions.field("v", cells).expect("a fresh name");
        regions.whole(v);
    }
    regions
}

fn some_indices(rng: &mut Rng, len: u64) -> IndexSet {
    let start = rng.u64(..len);
    IndexSet::range(start, rng.u64(start..len) + 1).union(&IndexSet::range(rng.u64(..len), len))
}

fn named(regions: &mut Regions, names: &[&str]) -> Vec<RegionId> {
    names.iter().map(|n| regions.abstract_region(*n).expect("a fresh name")).collect()
}

/// Makes siblings disjoint, all of them, some of them, or none.
fn siblings(rng: &mut Rng, regions: &mut Regions, ids: &[RegionId]) {
    let share = [100, 100, 60, 0][rng.usize(..4)];
    for (i, &a) in ids.iter().enumerate() {
        for &b in &ids[i + 1..] {
            if rng.u8(..100) < share {
                regions.add_disjoint(a, b);
            }
        }
    }
}
