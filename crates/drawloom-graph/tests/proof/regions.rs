//! Aliasing and containment against index sets and facts, one by one.

use std::collections::BTreeSet;

use crate::support::random::{self, worlds};
use drawloom_graph::{Alias, Containment, Fact, RegionId, Regions, SpaceId};

/// Every index of a space, one by one.
fn indices(regions: &Regions, space: SpaceId) -> Option<BTreeSet<u64>> {
    Some(regions.indices(space)?.iter().collect())
}

/// A space and everything around it in the tree of partitions, innermost first.
fn tree_above(regions: &Regions, space: SpaceId) -> Vec<SpaceId> {
    std::iter::successors(Some(space), |s| Some(regions.partition_parent(regions.piece_of(*s)?.0))).collect()
}

/// A region and everything around it by facts.
fn facts_above(regions: &Regions, region: RegionId) -> BTreeSet<RegionId> {
    let mut above = BTreeSet::from([region]);
    loop {
        let more: Vec<RegionId> = regions
            .facts()
            .iter()
            .filter_map(|f| match f {
                Fact::Subregion(child, parent) if above.contains(child) && !above.contains(parent) => Some(*parent),
                _ => None,
            })
            .collect();
        if more.is_empty() {
            return above;
        }
        above.extend(more);
    }
}

/// "Regions alias unless some pair of their ancestors-or-selves is listed as disjoint."
fn abstract_alias(regions: &Regions, a: RegionId, b: RegionId) -> bool {
    let (above_a, above_b) = (facts_above(regions, a), facts_above(regions, b));
    let apart = |x: &RegionId, y: &RegionId| above_a.contains(x) && above_b.contains(y);
    !regions.facts().iter().any(|f| matches!(f, Fact::Disjoint(x, y) if apart(x, y) || apart(y, x)))
}

/// Regions of one field alias when they share an index. Where indices are not known, declared disjointness decides, and
/// what is known about the spaces around.
fn concrete_alias(regions: &Regions, a: RegionId, b: RegionId) -> bool {
    if regions.field_of(a) != regions.field_of(b) {
        return false;
    }
    let (sa, sb) = (regions.space_of(a), regions.space_of(b));
    let (above_a, above_b) = (tree_above(regions, sa), tree_above(regions, sb));
    // Also an empty piece counts as inside what it was cut from.
    if above_a.contains(&sb) || above_b.contains(&sa) {
        return true;
    }
    let declared_apart = above_a.iter().any(|x| {
        above_b.iter().any(|y| match (regions.piece_of(*x), regions.piece_of(*y)) {
            (Some((p, i)), Some((q, j))) => p == q && i != j && regions.is_disjoint(p),
            _ => false,
        })
    });
    let known = |above: &[SpaceId]| above.iter().find_map(|s| indices(regions, *s)).expect("roots have indices");
    !declared_apart && !known(&above_a).is_disjoint(&known(&above_b))
}

#[test]
fn may_alias_is_what_indices_and_facts_say() {
    let mut apart = 0;
    for case in 0..random::cases(6000) {
        let world = worlds::world(&mut random::seeded("regions", case));
        let regions = &world.regions;
        for a in regions.ids() {
            for b in regions.ids() {
                let expected = match (regions.field_of(a), regions.field_of(b)) {
                    (None, None) => abstract_alias(regions, a, b),
                    _ => concrete_alias(regions, a, b),
                };
                let pair = format!("case {case}: {} and {}", regions.name(a), regions.name(b));
                assert_eq!(regions.may_alias(a, b), expected, "{pair}");
                assert_eq!(regions.may_alias(b, a), expected, "{pair}, the other way round");
                explains_itself(regions, a, b, &pair);
                apart += u64::from(!expected);
            }
        }
    }
    assert!(apart > 1000, "many pairs are disjoint");
}

/// The reason given is true.
fn explains_itself(regions: &Regions, a: RegionId, b: RegionId, pair: &str) {
    let (sa, sb) = (regions.space_of(a), regions.space_of(b));
    let fine = match regions.alias(a, b) {
        Alias::Same => a == b,
        Alias::Contains(outer, inner) => {
            [(a, b), (b, a)].contains(&(outer, inner)) && regions.is_subregion(inner, outer)
        }
        Alias::Shares(index) => [sa, sb].iter().all(|s| indices(regions, *s).is_some_and(|i| i.contains(&index))),
        Alias::DifferentFields => regions.field_of(a) != regions.field_of(b),
        Alias::DisjointPieces(partition, i, j) => {
            let holds = |s, colour| tree_above(regions, s).contains(&regions.piece(partition, colour));
            i != j && regions.is_disjoint(partition) && holds(sa, i) && holds(sb, j)
        }
        Alias::NoSharedIndex => !concrete_alias(regions, a, b),
        Alias::Stated(..) => !abstract_alias(regions, a, b),
        _ => regions.may_alias(a, b),
    };
    assert!(fine, "{pair}: {:?}", regions.alias(a, b));
}

#[test]
fn is_subregion_is_what_indices_and_facts_say() {
    for case in 0..random::cases(6000) {
        let world = worlds::world(&mut random::seeded("inside", case));
        let regions = &world.regions;
        for a in regions.ids() {
            for b in regions.ids() {
                let (sa, sb) = (regions.space_of(a), regions.space_of(b));
                let same_field = regions.field_of(a) == regions.field_of(b);
                let by_tree = tree_above(regions, sa).contains(&sb);
                let by_facts = facts_above(regions, a).contains(&b);
                let by_indices = match (indices(regions, sa), indices(regions, sb)) {
                    (Some(inner), Some(outer)) => inner.is_subset(&outer),
                    _ => false,
                };
                let expected = same_field && (by_tree || by_facts || by_indices);
                let pair = format!("case {case}: {} in {}", regions.name(a), regions.name(b));
                assert_eq!(regions.is_subregion(a, b), expected, "{pair}");
                let why = regions.containment(a, b);
                assert_eq!(why == Some(Containment::Same), a == b, "{pair}");
                assert!(why != Some(Containment::Ancestor) || by_tree || by_facts, "{pair}");
                assert!(why != Some(Containment::Indices) || by_indices, "{pair}");
            }
        }
    }
}

#[test]
fn coverage_and_its_witnesses_are_what_the_indices_say() {
    let mut met = BTreeSet::new();
    for case in 0..random::cases(6000) {
        let world = worlds::world(&mut random::seeded("coverage", case));
        let regions = &world.regions;
        let Some(cells) = regions.find_space("cells") else { continue };
        let parts = regions.partitions_of(cells).iter().copied();
        for partition in parts.filter(|p| regions.indices(regions.piece(*p, 0)).is_some()) {
            let piece = |c| indices(regions, regions.piece(partition, c)).expect("all pieces are known, or none");
            let pieces: Vec<BTreeSet<u64>> = (0..regions.piece_count(partition)).map(piece).collect();
            let all: BTreeSet<u64> = pieces.iter().flatten().copied().collect();
            let whole = indices(regions, cells).expect("a root space has indices");
            let coverage = regions.coverage(partition);
            assert_eq!(coverage.complete, all == whole, "case {case}");
            assert_eq!(coverage.disjoint, all.len() == pieces.iter().map(BTreeSet::len).sum::<usize>(), "case {case}");
            assert_eq!(coverage.disjoint, regions.is_disjoint(partition), "case {case}");
            assert_eq!(coverage.complete, regions.is_complete(partition), "case {case}");
            assert_eq!(coverage.shared.is_none(), coverage.disjoint, "case {case}");
            assert_eq!(coverage.missing.is_none(), coverage.complete, "case {case}");
            if let Some((i, j, index)) = coverage.shared {
                let both = pieces[i as usize].contains(&index) && pieces[j as usize].contains(&index);
                assert!(i != j && both, "case {case}: {i} and {j} share {index}");
            }
            if let Some(index) = coverage.missing {
                assert!(whole.contains(&index) && !all.contains(&index), "case {case}: {index} is missing");
            }
            met.insert((coverage.disjoint, coverage.complete));
        }
    }
    assert_eq!(met.len(), 4, "all four combinations were met");
}
