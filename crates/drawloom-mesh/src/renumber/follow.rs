//! The orders of the sets that were not ordered themselves: they follow the one that was, through the maps.

use super::permutation::{Permutation, Renumbering};
use crate::raw::RawMesh;

/// The orders of all sets, given that of one. A set that leads to an ordered one is ordered by its lowest target, then by
/// its middle one, so that a walk through it walks through its targets. A set that an ordered one leads to is ordered by
/// who comes to it first. Sets that no map connects stay as they are.
pub(super) fn follow(mesh: &RawMesh, set: &str, order: Permutation) -> Renumbering {
    let mut orders: Vec<Option<Permutation>> = mesh.sets.iter().map(|_| None).collect();
    let number = |name: &str| mesh.sets.iter().position(|set| set.name == name);
    if let Some(number) = number(set) {
        orders[number] = Some(order);
    }
    loop {
        let mut next = None;
        for map in &mesh.maps {
            let (Some(from), Some(to)) = (number(&map.from), number(&map.to)) else { continue };
            match (&orders[from], &orders[to]) {
                (None, Some(targets)) => next = Some((from, by_targets(map, targets))),
                (Some(sources), None) => next = Some((to, by_first_visit(map, sources, mesh.sets[to].size))),
                _ => continue,
            }
            break;
        }
        let Some((number, order)) = next else { break };
        orders[number] = Some(order);
    }
    let sets = mesh.sets.iter().zip(orders);
    let order = |order: Option<Permutation>, size| order.unwrap_or_else(|| Permutation::identity(size));
    Renumbering::new(sets.map(|(set, found)| (set.name.clone(), order(found, set.size))).collect())
}

fn by_targets(map: &crate::raw::RawMap, targets: &Permutation) -> Permutation {
    let place = targets.place();
    let mut keyed: Vec<(u32, u64, u32)> = Vec::with_capacity(map.table.len() / map.arity.max(1));
    for (element, row) in map.rows().enumerate() {
        let places = row.iter().map(|target| place[*target as usize]);
        let lowest = places.clone().min().unwrap_or(0);
        // The sum orders as the mean does.
        keyed.push((lowest, places.map(u64::from).sum(), element as u32));
    }
    keyed.sort_unstable();
    Permutation::of_order(keyed.into_iter().map(|(_, _, element)| element).collect())
}

fn by_first_visit(map: &crate::raw::RawMap, sources: &Permutation, size: usize) -> Permutation {
    let mut visited = vec![false; size];
    let mut order = Vec::with_capacity(size);
    for source in sources.order() {
        for target in map.targets(*source as usize) {
            if !std::mem::replace(&mut visited[*target as usize], true) {
                order.push(*target);
            }
        }
    }
    order.extend((0..size as u32).filter(|element| !visited[*element as usize]));
    Permutation::of_order(order)
}

#[cfg(test)]
mod tests {
    use super::follow;
    use crate::raw::RawMesh;
    use crate::renumber::Permutation;

    #[test]
    fn sets_follow_in_both_directions_and_the_rest_stays() {
        let mut mesh = RawMesh::new();
        mesh.add_set("cells", 3).add_set("edges", 2).add_set("nodes", 4).add_set("alone", 2);
        mesh.add_map("pecell", "edges", "cells", 2, vec![1, 2, 0, 1]);
        mesh.add_map("pcell", "cells", "nodes", 2, vec![0, 1, 1, 2, 2, 0]);
        let reversed = Permutation::new(vec![2, 1, 0]).expect("a permutation");
        let all = follow(&mesh, "cells", reversed);
        let order = |set| all.of(set).expect("a set").order();
        assert_eq!(order("cells"), [2, 1, 0]);
        assert_eq!(order("edges"), [0, 1], "edge 0 leads to cells at places 1 and 0, edge 1 to those at 2 and 1");
        assert_eq!(order("nodes"), [2, 0, 1, 3], "cell 2 comes first and leads to 2 and 0; nobody leads to 3");
        assert_eq!(order("alone"), [0, 1]);
    }
}
