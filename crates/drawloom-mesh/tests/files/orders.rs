//! Orders and partitions of random meshes.

use crate::naca::naca0012;
use crate::support::random_mesh;
use drawloom_mesh::partition::{self, partition};
use drawloom_mesh::raw::{Adjacency, RawMesh};
use drawloom_mesh::renumber::{self, Permutation, Renumbering, quality, renumber};
use drawloom_mesh::{Error, ErrorKind};
use fastrand::Rng;

const CASES: u64 = 2000;

const ORDERS: [renumber::Method; 2] = [renumber::Method::ReverseCuthillMckee, renumber::Method::Hilbert];

const DIVISIONS: &[partition::Method] = &[
    partition::Method::Blocks,
    partition::Method::Coordinates,
    partition::Method::Graph,
    #[cfg(feature = "metis")]
    partition::Method::Metis,
];

/// A method that needs coordinates may say that there are none.
fn unless_without_coordinates<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(error.to_string().contains("has no coordinates"), "{error}");
            None
        }
    }
}

/// The same mesh in a random order.
fn scrambled(mesh: &RawMesh, random: &mut Rng) -> RawMesh {
    let sets = mesh.sets.iter().map(|set| {
        let mut order: Vec<u32> = (0..set.size as u32).collect();
        random.shuffle(&mut order);
        (set.name.clone(), Permutation::new(order).expect("a permutation"))
    });
    Renumbering::new(sets.collect()).apply(mesh).expect("it fits")
}

#[test]
fn orders_are_permutations_and_can_be_undone() {
    let mut done = 0;
    for seed in 0..CASES {
        let mesh = random_mesh(&mut Rng::with_seed(seed));
        for set in &mesh.sets {
            for method in ORDERS {
                let Some(renumbering) = unless_without_coordinates(renumber(&mesh, &set.name, method)) else {
                    continue;
                };
                for (set, permutation) in renumbering.sets() {
                    assert_eq!(permutation.len(), mesh.size(set).expect("a set"));
                    Permutation::new(permutation.order().to_vec()).expect("every element has one place");
                    assert_eq!(permutation.inverse().order(), permutation.place());
                }
                let moved = renumbering.apply(&mesh).expect("it fits");
                moved.check().expect("it is still right");
                assert_eq!(renumbering.undo(&moved).expect("it fits"), mesh, "seed {seed}");
                done += 1;
            }
        }
    }
    assert!(done > CASES, "{done}");
}

#[test]
fn orders_bring_neighbours_together_again_after_scrambling() {
    let mesh = naca0012(30, 40).expect("a mesh");
    let wild = scrambled(&mesh, &mut Rng::with_seed(9));
    let bandwidth = |mesh: &RawMesh| {
        let cells = Adjacency::of_set(mesh, "cells").expect("a set");
        (0..cells.len() as u32).flat_map(|a| cells.of(a).iter().map(move |b| a.abs_diff(*b))).max().expect("neighbours")
    };
    let ordered = |method| renumber(&wild, "cells", method).expect("ordered").apply(&wild).expect("it fits");
    let narrow = ordered(renumber::Method::ReverseCuthillMckee);
    // 90 x 40 cells: walking along the short side gives about 40, and the cut line doubles that.
    assert!(bandwidth(&narrow) <= 100, "{} instead of {}", bandwidth(&narrow), bandwidth(&wild));
    let curve = ordered(renumber::Method::Hilbert);
    for name in ["pcell", "pecell", "pedge"] {
        let reuse = |mesh: &RawMesh| quality(mesh).into_iter().find(|map| map.map == name).expect("a map").reuse;
        for mesh in [&narrow, &curve] {
            assert!(reuse(mesh) > 1.5 * reuse(&wild), "{name}: {} and {}", reuse(mesh), reuse(&wild));
        }
    }
}

#[test]
fn partitions_give_every_element_one_owner() {
    for seed in 0..CASES {
        let mut random = Rng::with_seed(seed);
        let mesh = random_mesh(&mut random);
        let parts = [1, 2, 3, 7, 16, 100][random.usize(..6)];
        let set = &mesh.sets[random.usize(..mesh.sets.len())].name;
        for method in DIVISIONS.iter().copied() {
            let Some(partition) = unless_without_coordinates(partition(&mesh, set, parts, method)) else { continue };
            let quality = partition.quality(&mesh).expect("figures");
            for (set, owners) in partition.sets() {
                assert_eq!(owners.len(), mesh.size(set).expect("a set"));
                assert!(owners.iter().all(|owner| (*owner as usize) < parts), "seed {seed}");
                let figures = quality.set(set).expect("a set");
                assert_eq!((figures.owned.len(), figures.halo.len()), (parts, parts));
                assert_eq!(figures.owned.iter().sum::<usize>(), owners.len());
            }
            assert!(quality.cut_edges <= quality.edges);
            if parts == 1 {
                assert_eq!((quality.cut_edges, quality.sets.iter().flat_map(|set| &set.halo).sum::<usize>()), (0, 0));
            }
        }
    }
}

#[test]
fn partitions_of_a_mesh_are_balanced_and_cut_little() {
    let mesh = scrambled(&naca0012(40, 60).expect("a mesh"), &mut Rng::with_seed(4));
    for method in DIVISIONS.iter().copied().filter(|method| *method != partition::Method::Blocks) {
        for parts in [2, 3, 8, 13] {
            let quality = partition(&mesh, "cells", parts, method).expect("divided").quality(&mesh).expect("figures");
            let cells = quality.set("cells").expect("a set");
            assert!(cells.imbalance < 1.05, "{method:?} in {parts}: imbalance {}", cells.imbalance);
            // 7200 cells: a square part has about 4 sqrt(7200 / parts) sides, each of which two parts share.
            let good = 2.0 * (7200.0 * parts as f64).sqrt();
            assert!((quality.cut_edges as f64) < 2.0 * good, "{method:?} in {parts}: {} cut", quality.cut_edges);
            assert!(cells.halo.iter().sum::<usize>() <= quality.cut_edges);
        }
    }
}

#[test]
fn senseless_numbers_of_parts_and_unknown_sets_are_refused() {
    let mesh = naca0012(2, 3).expect("a mesh");
    for parts in [0, (1 << 20) + 1, usize::MAX] {
        let error = partition(&mesh, "cells", parts, partition::Method::Graph).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Argument);
    }
    let more = partition(&mesh, "cells", 1 << 20, partition::Method::Graph).expect("parts may be empty");
    assert_eq!(more.quality(&mesh).expect("figures").set("cells").expect("a set").owned.iter().max(), Some(&1));
    assert_eq!(partition(&mesh, "none", 2, partition::Method::Graph).expect_err("refused").kind(), ErrorKind::Unknown);
    assert_eq!(renumber(&mesh, "none", renumber::Method::Hilbert).expect_err("refused").kind(), ErrorKind::Unknown);
    let other = naca0012(2, 4).expect("a mesh");
    assert_eq!(more.quality(&other).expect_err("refused").kind(), ErrorKind::Mismatch);
}
