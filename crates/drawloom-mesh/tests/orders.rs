//! Orders and partitions of meshes whose right result is known.

use drawloom_mesh::ErrorKind;
use drawloom_mesh::partition::{self, Partition, partition};
use drawloom_mesh::raw::{RawMesh, Values};
use drawloom_mesh::renumber::{self, Permutation, Renumbering, quality, renumber};

/// A grid of cells, with an edge between each two neighbours.
fn grid(across: u32, up: u32) -> RawMesh {
    let mut mesh = RawMesh::new();
    let mut table = Vec::new();
    for n in 0..across * up {
        if n % across + 1 < across {
            table.extend([n, n + 1]);
        }
        if n / across + 1 < up {
            table.extend([n, n + across]);
        }
    }
    mesh.add_set("cells", (across * up) as usize).add_set("edges", table.len() / 2);
    mesh.add_map("pecell", "edges", "cells", 2, table);
    mesh
}

fn by_graph(mesh: &RawMesh, parts: usize) -> Partition {
    partition(mesh, "cells", parts, partition::Method::Graph).unwrap()
}

/// How many connections between cells a division by the graph cuts.
fn cut(mesh: &RawMesh, parts: usize) -> usize {
    by_graph(mesh, parts).quality(mesh).unwrap().cut_edges
}

#[test]
fn a_strip_is_cut_at_its_narrowest() {
    let strip = grid(30, 3);
    assert_eq!(cut(&strip, 2), 3);
    assert_eq!(cut(&strip, 3), 6);
}

#[test]
fn a_square_in_quarters_is_cut_not_much_worse_than_by_a_cross() {
    let found = cut(&grid(40, 40), 4);
    assert!(found <= 110, "{found} cut, and a cross cuts 80");
}

#[test]
fn elements_without_neighbours_are_divided_evenly() {
    let mut mesh = RawMesh::new();
    mesh.add_set("cells", 10);
    let partition = by_graph(&mesh, 5);
    let owners = partition.owners("cells").unwrap();
    assert!((0..5).all(|part| owners.iter().filter(|owner| **owner == part).count() == 2), "{owners:?}");
}

#[test]
fn one_element_that_is_next_to_all_others_is_no_trouble() {
    let mut mesh = RawMesh::new();
    let count = 300_000;
    mesh.add_set("cells", count + 1).add_set("edges", count);
    mesh.add_map("pecell", "edges", "cells", 2, (1..=count as u32).flat_map(|cell| [0, cell]).collect());
    let partition = by_graph(&mesh, 4);
    let owners = partition.owners("cells").unwrap();
    let first = owners.iter().filter(|owner| **owner == owners[0]).count();
    let cut = partition.quality(&mesh).unwrap().cut_edges;
    assert_eq!(cut, count + 1 - first, "an element that is not with the one in the middle is cut off");
}

#[test]
fn parts_of_a_mesh_are_of_nearly_equal_size() {
    let partition = by_graph(&grid(150, 75), 7);
    for part in 0..7 {
        let count = partition.owners("cells").unwrap().iter().filter(|owner| **owner == part).count();
        assert!((1575..=1640).contains(&count), "part {part} has {count} of 11250");
    }
}

/// The owners of points in the plane that are divided by their coordinates.
fn by_coordinates(points: Vec<f64>, parts: usize) -> Vec<u32> {
    let mut mesh = RawMesh::new();
    mesh.add_set("points", points.len() / 2).add_dat("x", "points", 2, Values::F64(points));
    let partition = partition(&mesh, "points", parts, partition::Method::Coordinates).unwrap();
    partition.owners("points").unwrap().to_vec()
}

#[test]
fn the_longest_direction_is_cut() {
    let points = (0..40).flat_map(|n| [f64::from(n % 10), f64::from(n / 10)]).collect();
    let owners = by_coordinates(points, 2);
    assert!((0..40).all(|n| owners[n] == u32::from(n % 10 >= 5)), "{owners:?}");
}

#[test]
fn places_that_are_all_the_same_or_extreme_are_divided_too() {
    for points in [vec![1.0; 20], vec![f64::MAX; 20], (0..20).map(|n| [f64::MAX, f64::MIN][n % 2]).collect()] {
        assert_eq!(by_coordinates(points, 2).iter().filter(|owner| **owner == 0).count(), 5);
    }
}

#[test]
fn every_part_has_its_share_within_two() {
    for (size, parts) in [(0, 3), (1, 1), (5, 8), (100, 7), (1000, 31), (17, 17), (3, 1 << 20)] {
        let owners = by_coordinates((0..2 * size).map(|n| f64::from(n * 37 % 101)).collect(), parts);
        let mut counts = vec![0; parts];
        owners.iter().for_each(|owner| counts[*owner as usize] += 1);
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        // Each halving rounds once.
        assert!(most - least <= 2, "{size} elements in {parts} parts: {least} to {most}");
        assert_eq!(owners.len(), size as usize);
    }
}

#[test]
fn figures_of_a_partition_are_those_counted_by_hand() {
    // Cells 0 1 2 3 in a row, with three edges between them.
    let mut mesh = RawMesh::new();
    mesh.add_set("cells", 4).add_set("edges", 3).add_set("none", 0);
    mesh.add_map("pecell", "edges", "cells", 2, vec![0, 1, 1, 2, 2, 3]);
    let partition = partition(&mesh, "cells", 2, partition::Method::Blocks).unwrap();
    assert_eq!(partition.owners("cells"), Some(&[0, 0, 1, 1][..]));
    assert_eq!(partition.owners("edges"), Some(&[0, 0, 1][..]), "the middle edge belongs to its first cell's owner");
    let quality = partition.quality(&mesh).unwrap();
    assert_eq!((quality.parts, quality.cut_edges, quality.edges), (2, 1, 3));
    let cells = quality.set("cells").unwrap();
    assert_eq!((cells.owned.as_slice(), cells.halo.as_slice(), cells.imbalance), (&[2, 2][..], &[1, 0][..], 1.0));
    let edges = quality.set("edges").unwrap();
    assert_eq!((edges.owned.as_slice(), edges.imbalance), (&[2, 1][..], 4.0 / 3.0));
    assert_eq!(quality.set("none").unwrap().imbalance, 1.0);
}

#[test]
fn the_majority_of_neighbours_decides_in_both_directions() {
    let mut mesh = RawMesh::new();
    mesh.add_set("cells", 4).add_set("nodes", 3).add_set("edges", 2).add_set("alone", 4);
    mesh.add_map("pcell", "cells", "nodes", 1, vec![0, 0, 0, 1]);
    mesh.add_map("pecell", "edges", "cells", 3, vec![0, 1, 2, 3, 0, 2]);
    let all = partition(&mesh, "cells", 2, partition::Method::Blocks).unwrap();
    assert_eq!(all.owners("cells"), Some(&[0, 0, 1, 1][..]));
    assert_eq!(all.owners("nodes"), Some(&[0, 1, 1][..]), "no cell leads to node 2, which is dealt out");
    assert_eq!(all.owners("edges"), Some(&[0, 1][..]));
    assert_eq!(all.owners("alone"), Some(&[0, 0, 1, 1][..]));
}

#[test]
fn an_element_with_very_many_neighbours_goes_to_the_majority_too() {
    let mut mesh = RawMesh::new();
    mesh.add_set("cells", 100_001).add_set("centre", 1).add_map("to", "cells", "centre", 1, vec![0; 100_001]);
    // The first part has one cell more than the second.
    let all = partition(&mesh, "cells", 2, partition::Method::Blocks).unwrap();
    let first = all.owners("cells").unwrap().iter().filter(|owner| **owner == 0).count();
    assert_eq!((first, all.owners("centre")), (50_001, Some(&[0][..])));
}

fn cuthill_mckee(mesh: &RawMesh) -> Vec<u32> {
    let renumbering = renumber(mesh, "n", renumber::Method::ReverseCuthillMckee).unwrap();
    renumbering.of("n").unwrap().order().to_vec()
}

#[test]
fn a_scrambled_path_is_straightened() {
    let scrambled = [3, 0, 5, 1, 4, 2, 6];
    let mut mesh = RawMesh::new();
    mesh.add_set("n", scrambled.len()).add_set("e", scrambled.len() - 1);
    mesh.add_map("m", "e", "n", 2, scrambled.windows(2).flatten().copied().collect());
    let mut ordered = cuthill_mckee(&mesh);
    if ordered[0] != 3 {
        ordered.reverse();
    }
    assert_eq!(ordered, scrambled);
}

#[test]
fn every_element_of_every_component_is_placed_once() {
    let mut mesh = RawMesh::new();
    mesh.add_set("n", 10).add_set("e", 4).add_map("m", "e", "n", 2, vec![0, 9, 9, 5, 2, 3, 7, 7]);
    let mut all = cuthill_mckee(&mesh);
    all.sort_unstable();
    assert_eq!(all, (0..10).collect::<Vec<_>>());
    mesh.sets[0].size = 0;
    mesh.maps.clear();
    assert_eq!(cuthill_mckee(&mesh), [0; 0]);
}

#[test]
fn equal_and_extreme_places_are_ordered_along_the_curve() {
    let order = |dim: usize, values: Vec<f64>| {
        let mut mesh = RawMesh::new();
        mesh.add_set("n", values.len() / dim).add_dat("x", "n", dim, Values::F64(values));
        renumber(&mesh, "n", renumber::Method::Hilbert).unwrap().of("n").unwrap().order().to_vec()
    };
    assert_eq!(order(2, vec![7.0; 8]), [0, 1, 2, 3]);
    assert_eq!(order(3, vec![f64::MAX, f64::MIN, 0.0, 1.0, f64::MIN, 0.0]).len(), 2);
    assert_eq!(order(2, vec![]), [0; 0]);
}

#[test]
fn only_permutations_are_accepted() {
    assert_eq!(Permutation::new(vec![2, 0, 1]).unwrap().place(), [1, 2, 0]);
    let twice = Permutation::new(vec![0, 1, 0]).unwrap_err();
    assert_eq!(twice.to_string(), "this is no order of 3 elements: at place 2 is 0, which has a place already");
    assert!(Permutation::new(vec![3, 1, 0]).is_err());
}

#[test]
fn elements_move_with_their_targets_and_values() {
    let mut mesh = RawMesh::new();
    mesh.add_set("a", 2).add_set("b", 3).add_map("m", "a", "b", 2, vec![0, 1, 1, 2]);
    mesh.add_dat("d", "b", 1, Values::I32(vec![10, 11, 12]));
    let order = |order: &[u32]| Permutation::new(order.to_vec()).unwrap();
    let renumbering = Renumbering::new(vec![("a".into(), order(&[1, 0])), ("b".into(), order(&[2, 0, 1]))]);
    let moved = renumbering.apply(&mesh).unwrap();
    assert_eq!(moved.maps[0].table, [2, 0, 1, 2]);
    assert_eq!(moved.dats[0].values, Values::I32(vec![12, 10, 11]));
    assert_eq!(renumbering.undo(&moved).unwrap(), mesh);
    assert_eq!(renumbering.undo_values("b", 1, &moved.dats[0].values).unwrap(), mesh.dats[0].values);
}

#[test]
fn a_renumbering_of_another_mesh_is_refused() {
    let mut mesh = RawMesh::new();
    mesh.add_set("a", 2);
    let other = Renumbering::new(vec![("a".into(), Permutation::identity(3))]);
    assert_eq!(other.apply(&mesh).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(Renumbering::new(vec![]).apply(&mesh).unwrap_err().kind(), ErrorKind::Mismatch);
    assert_eq!(other.undo_values("a", 2, &Values::I32(vec![0; 4])).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn figures_of_an_order_are_those_counted_by_hand() {
    let mut mesh = RawMesh::new();
    mesh.add_set("e", 3).add_set("n", 9).add_set("none", 0);
    mesh.add_map("m", "e", "n", 2, vec![0, 1, 1, 2, 8, 2]).add_map("empty", "none", "n", 2, vec![]);
    let figures = quality(&mesh);
    assert_eq!((figures[0].bandwidth, figures[0].mean_distance, figures[0].reuse), (6, 8.0 / 3.0, 6.0 / 4.0));
    assert_eq!((figures[1].bandwidth, figures[1].mean_distance, figures[1].reuse), (0, 0.0, 0.0));
}
