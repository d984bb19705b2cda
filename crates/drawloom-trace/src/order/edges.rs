//! The required orders of one scope as edges between tasks.
//!
//! Accesses to an index come in turns: many readers, one writer, many that commute. Everything of one turn must follow
//! everything of the turn before, and nothing more has to be drawn. A region falls into pieces with the same turns.
//! Turns of many tasks after turns of many tasks make many edges, so there is a budget: a drawing with a million edges
//! serves nobody.

use std::collections::BTreeMap;

use super::family::Family;
use super::history::Class;

/// An order: from task, to task, because of a region. Tasks are given by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) region: u32,
}

/// Indices that had the same accesses so far.
#[derive(Clone)]
struct Piece {
    end: u64,
    class: Class,
    turn: Vec<u32>,
    before: Vec<u32>,
}

/// The edges of a scope, sorted, until the budget is used up. Returns how many tasks at the end of the scope have none
/// because of that.
pub(crate) fn edges(family: &Family, tasks: &[u32], budget: &mut usize, found: &mut Vec<Edge>) -> usize {
    let mut regions: BTreeMap<u32, BTreeMap<u64, Piece>> = BTreeMap::new();
    let first = found.len();
    let mut drawn = tasks.len();
    'tasks: for (place, &task) in tasks.iter().enumerate() {
        for touch in &family.touches[task as usize] {
            let pieces = regions.entry(touch.region).or_default();
            for &run in &touch.runs {
                let used = access(pieces, run, touch.class, task, |from| {
                    found.push(Edge { from, to: task, region: touch.region });
                });
                *budget = budget.saturating_sub(used);
                if *budget == 0 {
                    drawn = place + 1;
                    break 'tasks;
                }
            }
        }
    }
    found[first..].sort_unstable();
    let mut unique = found.split_off(first);
    unique.dedup();
    found.append(&mut unique);
    tasks.len() - drawn
}

/// Takes an access into the pieces of a region. Returns how much work it was.
fn access(
    pieces: &mut BTreeMap<u64, Piece>,
    (start, end): (u64, u64),
    class: Class,
    task: u32,
    mut edge: impl FnMut(u32),
) -> usize {
    let mut work = 1 + split(pieces, start) + split(pieces, end);
    let mut gaps = Vec::new();
    let mut free = start;
    for (&from, piece) in pieces.range_mut(start..end) {
        if free < from {
            gaps.push((free, from));
        }
        free = piece.end;
        if piece.turn.last() == Some(&task) {
            // The task touches the piece in a second way. It leaves the turn that it shared, and is one of its own.
            if piece.class != class {
                piece.turn.pop();
                if !piece.turn.is_empty() {
                    piece.before = std::mem::take(&mut piece.turn);
                    piece.before.iter().for_each(|&from| edge(from));
                    work += piece.before.len();
                }
                piece.turn.push(task);
                piece.class = Class::Write;
            }
            continue;
        }
        if piece.class.conflicts(class) {
            piece.before = std::mem::take(&mut piece.turn);
            piece.class = class;
        }
        piece.turn.push(task);
        piece.before.iter().for_each(|&from| edge(from));
        work += 1 + piece.before.len();
    }
    if free < end {
        gaps.push((free, end));
    }
    work += gaps.len();
    pieces
        .extend(gaps.into_iter().map(|(from, end)| (from, Piece { end, class, turn: vec![task], before: Vec::new() })));
    work
}

/// Splits the piece that has this index in its inside.
fn split(pieces: &mut BTreeMap<u64, Piece>, at: u64) -> usize {
    let Some((_, piece)) = pieces.range_mut(..at).next_back().filter(|(_, piece)| piece.end > at) else { return 0 };
    let rest = piece.clone();
    piece.end = at;
    let work = rest.turn.len() + rest.before.len();
    pieces.insert(at, rest);
    work
}

#[cfg(test)]
mod tests {
    use super::edges;
    use crate::order::family::{Family, Touch};
    use crate::record::{AccessMode, AccessRecord, RegionRecord, TaskRecord, Trace};

    fn random_trace(random: &mut fastrand::Rng) -> Trace {
        let modes = [AccessMode::Read, AccessMode::Write, AccessMode::Commute, AccessMode::Reduce("sum".into())];
        let tasks = (0..random.u64(1..15)).map(|number| {
            let accesses = (0..random.u32(0..4)).map(|_| {
                let start = random.u64(0..9);
                let (mode, region) = (modes[random.usize(0..4)].clone(), random.u32(0..2));
                AccessRecord { region, mode, runs: vec![(start, random.u64(start + 1..=10))] }
            });
            TaskRecord { accesses: accesses.collect(), ..TaskRecord::new(number, "t") }
        });
        let regions = ["u", "v"].map(|name| RegionRecord { name: name.into(), len: 10 });
        Trace { tasks: tasks.collect(), regions: regions.to_vec(), ..Trace::default() }
    }

    fn conflict(one: &[Touch], two: &[Touch]) -> bool {
        one.iter().any(|one| {
            two.iter()
                .filter(|two| one.region == two.region && one.class.conflicts(two.class))
                .any(|two| one.runs.iter().any(|one| two.runs.iter().any(|two| one.0 < two.1 && two.0 < one.1)))
        })
    }

    /// Which tasks must come before which, directly or not.
    fn closure(count: usize, direct: impl Fn(usize, usize) -> bool) -> Vec<Vec<bool>> {
        let mut before = vec![vec![false; count]; count];
        for to in 0..count {
            for from in (0..to).rev() {
                if direct(from, to) {
                    before[to][from] = true;
                    let earlier = before[from].clone();
                    before[to].iter_mut().zip(earlier).for_each(|(before, earlier)| *before |= earlier);
                }
            }
        }
        before
    }

    #[test]
    fn edges_imply_every_conflict_and_each_edge_is_one() {
        let mut random = fastrand::Rng::with_seed(21);
        for _ in 0..500 {
            let trace = random_trace(&mut random);
            let family = Family::new(&trace);
            let count = trace.tasks.len();
            let mut found = Vec::new();
            assert_eq!(edges(&family, &family.scopes[count], &mut 100_000, &mut found), 0);
            let conflicts = |from: usize, to: usize| conflict(&family.touches[from], &family.touches[to]);
            assert!(found.iter().all(|edge| conflicts(edge.from as usize, edge.to as usize)));
            let drawn = |from, to| found.iter().any(|edge| (edge.from as usize, edge.to as usize) == (from, to));
            assert_eq!(closure(count, drawn), closure(count, conflicts));
        }
    }

    #[test]
    fn a_used_up_budget_is_reported_as_tasks_left_out() {
        let mut random = fastrand::Rng::with_seed(22);
        let trace = std::iter::repeat_with(|| random_trace(&mut random)).find(|trace| trace.tasks.len() == 14).unwrap();
        let family = Family::new(&trace);
        let mut found = Vec::new();
        let left_out = edges(&family, &family.scopes[14], &mut 8, &mut found);
        assert!(left_out > 0 && left_out < 14, "{left_out}");
    }
}
