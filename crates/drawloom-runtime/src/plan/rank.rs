//! Which nodes are more urgent than others.
//!
//! Where the user says nothing, the longer what follows a node, the sooner it starts: the tasks on a critical path come
//! first. Priorities that the user gives come before that, and critical paths decide among tasks of equal priority. Both
//! are folded into one number for each node here, once, so that a policy compares only that.
//!
//! A task that was given no priority has its distance from the end as its number. Those with positive priorities have
//! larger numbers than all of these, at least as large as what was given; those with negative priorities have negative
//! numbers.

/// The number of nodes on the longest path from each node to the end.
pub(super) fn distances(later: &[Vec<u32>]) -> Vec<i32> {
    let mut distances = vec![0; later.len()];
    for node in (0..later.len()).rev() {
        let most = later[node].iter().map(|&n| distances[n as usize] + 1).max();
        distances[node] = most.unwrap_or(0);
    }
    distances
}

/// The priority of each node, from what the user gave: none for nodes that the runtime made, which are as urgent as what they
/// hold up.
pub(super) fn priorities(given: &[Option<i32>], later: &[Vec<u32>], distances: &[i32]) -> Vec<i32> {
    let mut own: Vec<i32> = vec![0; given.len()];
    // Nodes come after those they wait for.
    for node in (0..given.len()).rev() {
        let inherited = || later[node].iter().map(|&n| own[n as usize]).max().unwrap_or(0);
        own[node] = given[node].unwrap_or_else(inherited);
    }
    let step = 1 + i64::from(distances.iter().copied().max().unwrap_or(0));
    let mut levels = own.clone();
    levels.sort_unstable();
    levels.dedup();
    // The number of the least urgent node of each level that was given.
    let mut bases: Vec<(i32, i64)> = vec![(0, 0)];
    let mut base = 0;
    for &level in levels.iter().filter(|level| **level > 0) {
        base = i64::from(level).max(base + step);
        bases.push((level, base));
    }
    base = 0;
    for &level in levels.iter().rev().filter(|level| **level < 0) {
        base = i64::from(level).min(base - step);
        bases.push((level, base));
    }
    bases.sort_unstable();
    let number = |(own, distance): (&i32, &i32)| {
        let at = bases.binary_search_by_key(own, |(level, _)| *level).unwrap_or(0);
        (bases[at].1 + i64::from(*distance)).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    };
    own.iter().zip(distances).map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn critical_paths_decide_among_equal_priorities() {
        // Two chains, of three nodes and of two, and one node alone.
        let later = [vec![1], vec![2], vec![], vec![4], vec![], vec![]];
        let distances = distances(&later);
        assert_eq!(distances, [2, 1, 0, 1, 0, 0]);
        let plain = priorities(&[Some(0); 6], &later, &distances);
        assert_eq!(plain, distances);
        let given = [0, 0, 0, 7, 7, -5].map(Some);
        let mixed = priorities(&given, &later, &distances);
        assert_eq!(&mixed[..3], &distances[..3]);
        assert!(mixed[3] > mixed[4] && mixed[4] >= 7 && mixed[4] > mixed[0], "{mixed:?}");
        assert!(mixed[5] < 0, "{mixed:?}");
    }

    #[test]
    fn nodes_of_the_runtime_are_as_urgent_as_what_they_hold_up() {
        let later = [vec![1], vec![2, 3], vec![], vec![]];
        let mixed = priorities(&[Some(0), None, Some(-1), Some(5)], &later, &distances(&later));
        assert!(mixed[1] > mixed[3] && mixed[3] > mixed[0], "{mixed:?}");
    }

    #[test]
    fn the_largest_priorities_do_not_overflow() {
        let later = [vec![1], vec![]];
        let mixed = priorities(&[Some(i32::MAX), Some(i32::MIN)], &later, &distances(&later));
        assert_eq!(mixed, [i32::MAX, i32::MIN]);
    }
}
