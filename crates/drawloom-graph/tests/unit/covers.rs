//! Covers are exact: they hold what `may_alias` says, pair by pair, on random worlds.

use super::{Covers, Part};
use crate::region::regions::ABSTRACT;
use crate::region::{IndexMap, IndexSet, Pieces, RegionId, Regions};

/// The regions in a group, by walking the parents of every region in use.
fn members(covers: &Covers, used: &[RegionId], part: Part) -> Vec<RegionId> {
    let holds = |r: &&RegionId| match part.below {
        true => covers.is_above(part.group, covers.group(**r)),
        false => covers.group(**r) == part.group,
    };
    used.iter().filter(holds).copied().collect()
}

fn assert_exact(regions: &Regions, used: &[RegionId]) {
    let covers = Covers::new(regions, used.iter().copied());
    for &region in used {
        let mut covered: Vec<RegionId> = covers.cover(region).iter().flat_map(|p| members(&covers, used, *p)).collect();
        covered.sort_unstable();
        covered.dedup();
        let mut aliases: Vec<RegionId> =
            used.iter().copied().filter(|other| regions.may_alias(region, *other)).collect();
        aliases.sort_unstable();
        let names = |list: &[RegionId]| list.iter().map(|r| regions.name(*r).into_owned()).collect::<Vec<_>>();
        assert_eq!(names(&covered), names(&aliases), "the cover of {}", regions.name(region));
        for part in covers.cover(region) {
            let above = covers.is_above(part.group, covers.group(region));
            assert_eq!(part.around, above && part.group != covers.group(region), "{}", regions.name(region));
        }
    }
}

fn sample(random: &mut fastrand::Rng, regions: &Regions) -> Vec<RegionId> {
    regions.ids().filter(|_| random.u32(0..4) > 0).collect()
}

#[test]
fn covers_of_indexed_worlds_are_exact() {
    for seed in 0..400 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut regions = Regions::new();
        let len = random.u64(1..20);
        let cells = regions.space("cells", len).unwrap();
        let mut spaces = vec![cells];
        for number in 0..random.u32(1..6) {
            let of = spaces[random.usize(..spaces.len())];
            let known = regions.indices(of).cloned();
            let name = format!("p{number}");
            let pieces = match (random.u32(0..6), known) {
                (0, _) | (_, None) => Pieces::declared(random.u32(1..4), random.bool(), random.bool()),
                (1 | 2, _) => Pieces::equal(random.u32(1..5)),
                (_, Some(set)) => Pieces::lists(
                    (0..random.u32(1..4))
                        .map(|_| set.iter().filter(|_| random.bool()).collect::<IndexSet>())
                        .collect::<Vec<_>>(),
                ),
            };
            let partition = regions.partition(name, of, pieces).unwrap();
            (0..regions.piece_count(partition)).for_each(|c| spaces.push(regions.piece(partition, c)));
        }
        for field in ["u", "v"] {
            let field = regions.field(field, cells).unwrap();
            spaces.iter().for_each(|s| {
                regions.region(field, *s).unwrap();
            });
        }
        let used = sample(&mut random, &regions);
        assert_exact(&regions, &used);
    }
}

#[test]
fn covers_of_stated_worlds_are_exact() {
    let mut checked = 0;
    for seed in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut regions = Regions::new();
        let mut ids: Vec<RegionId> = Vec::new();
        for number in 0..random.usize(1..9) {
            let id = regions.abstract_region(format!("r{number}")).unwrap();
            for _ in 0..random.u32(0..3) {
                if let Some(&parent) = random.choice(&ids) {
                    regions.add_subregion(id, parent);
                }
            }
            ids.push(id);
            if random.u32(0..4) == 0 {
                let cut = Pieces::declared(random.u32(1..4), random.bool(), false);
                let partition = regions.partition("p", regions.space_of(id), cut).unwrap();
                for colour in 0..regions.piece_count(partition) {
                    ids.push(regions.region(ABSTRACT, regions.piece(partition, colour)).unwrap());
                }
            }
        }
        for _ in 0..random.u32(0..5) {
            let (a, b) = (ids[random.usize(..ids.len())], ids[random.usize(..ids.len())]);
            if a != b {
                regions.add_disjoint(a, b);
            }
        }
        if regions.inconsistencies().is_empty() {
            checked += 1;
            let used = sample(&mut random, &regions);
            assert_exact(&regions, &used);
        }
    }
    assert!(checked > 500, "most of the random facts must be consistent for this test to mean something");
}

#[test]
fn a_block_overlaps_only_the_halos_of_its_neighbours() {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 1000).unwrap();
    let u = regions.field("u", cells).unwrap();
    let blocks = regions.partition("blocks", cells, Pieces::equal(100)).unwrap();
    let targets = (0..1000u64).flat_map(|i| [i.saturating_sub(1), (i + 1).min(999)]).collect();
    let map = IndexMap::new(&regions, cells, cells, 2, targets).unwrap();
    let halos = regions.partition("halos", cells, Pieces::halo_through(blocks, &map)).unwrap();
    for partition in [blocks, halos] {
        (0..100).for_each(|c| {
            regions.region(u, regions.piece(partition, c)).unwrap();
        });
    }
    let used: Vec<RegionId> = regions.ids().collect();
    let covers = Covers::new(&regions, used.iter().copied());
    let block = regions.region(u, regions.piece(blocks, 50)).unwrap();
    assert_eq!(covers.cover(block).len(), 3, "the block itself and the halos of its two neighbours");
    assert_exact(&regions, &used);
}
