//! The latest access to every index of one region.
//!
//! A history answers: of all accesses recorded so far that conflict with this one, which has the greatest mark? Marks only
//! grow, so a segment tree over the end points of all runs does both in logarithmic time, and unlike a map of disjoint
//! pieces it does not slow down when large and small pieces alternate. Each node keeps, for every class of access, the
//! greatest mark that covers the whole node (`cover`) and the greatest anywhere below it (`best`).

/// What an access is, as far as conflicts are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    Read,
    /// Write and update.
    Write,
    Commute,
    /// Reduce with the operator of this number.
    Reduce(u32),
    /// An update by a task that folds contributions: those to other pieces are private, and none of its business.
    Fold,
}

impl Class {
    /// Whether two accesses of these classes to one index must happen in order.
    pub(crate) fn conflicts(self, other: Self) -> bool {
        match (self, other) {
            (Self::Read, Self::Read) | (Self::Commute, Self::Commute) => false,
            (Self::Reduce(one), Self::Reduce(two)) => one != two,
            (Self::Reduce(_), Self::Fold) | (Self::Fold, Self::Reduce(_)) => false,
            _ => true,
        }
    }
}

/// A time or a length that an access carries, and the task that carries it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) value: u64,
    /// The place of the task, or [`Mark::NOBODY`].
    pub(crate) task: u32,
}

impl Mark {
    pub(crate) const NOBODY: u32 = u32::MAX;
    pub(crate) const NONE: Self = Self { value: 0, task: Self::NOBODY };

    /// The greater one; the earlier task of two that are equal, so that the answer does not depend on the tree.
    pub(crate) fn max(self, other: Self) -> Self {
        match self.value.cmp(&other.value) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => {
                if other.task < self.task {
                    other
                } else {
                    self
                }
            }
        }
    }
}

/// The greatest marks of each class. Of reductions, the greatest and the greatest with another operator are enough.
#[derive(Clone, Copy)]
struct Cell {
    read: Mark,
    write: Mark,
    commute: Mark,
    reduce: [(u32, Mark); 2],
}

impl Cell {
    const EMPTY: Self =
        Self { read: Mark::NONE, write: Mark::NONE, commute: Mark::NONE, reduce: [(u32::MAX, Mark::NONE); 2] };

    fn raise(&mut self, class: Class, mark: Mark) {
        match class {
            Class::Read => self.read = self.read.max(mark),
            Class::Write | Class::Fold => self.write = self.write.max(mark),
            Class::Commute => self.commute = self.commute.max(mark),
            Class::Reduce(operator) => self.raise_reduce(operator, mark),
        }
    }

    fn raise_reduce(&mut self, operator: u32, mark: Mark) {
        let [first, second] = &mut self.reduce;
        if first.0 == operator {
            first.1 = first.1.max(mark);
        } else if first.1.max(mark) == mark {
            *second = *first;
            *first = (operator, mark);
        } else if second.0 == operator || second.1.max(mark) == mark {
            *second = (operator, second.1.max(mark));
        }
    }

    /// The greatest mark here that conflicts with an access of this class.
    fn conflicting(&self, class: Class) -> Mark {
        let [first, second] = self.reduce;
        match class {
            Class::Read => self.write.max(self.commute).max(first.1),
            Class::Write => self.read.max(self.write).max(self.commute).max(first.1),
            Class::Commute => self.read.max(self.write).max(first.1),
            Class::Fold => self.read.max(self.write).max(self.commute),
            Class::Reduce(operator) => {
                let other = if first.0 == operator { second.1 } else { first.1 };
                self.read.max(self.write).max(self.commute).max(other)
            }
        }
    }
}

/// The accesses to one region so far.
pub(crate) struct History {
    /// The end points of all runs that will be asked for, ascending; piece `i` reaches from cut `i` to cut `i + 1`.
    cuts: Vec<u64>,
    /// The node of piece `i` is `leaves + i`, its parent half of that, and so on up to 1.
    leaves: usize,
    cover: Vec<Cell>,
    best: Vec<Cell>,
}

impl History {
    /// An empty history for runs that begin and end at these points only. They may come in any order, and repeat.
    pub(crate) fn new(mut cuts: Vec<u64>) -> Self {
        cuts.sort_unstable();
        cuts.dedup();
        let leaves = cuts.len().saturating_sub(1).next_power_of_two();
        Self { cuts, leaves, cover: vec![Cell::EMPTY; 2 * leaves], best: vec![Cell::EMPTY; 2 * leaves] }
    }

    /// The nodes of the first and the last piece of a run.
    fn ends(&self, (start, end): (u64, u64)) -> (usize, usize) {
        let place = |cut: u64| self.cuts.binary_search(&cut).expect("runs end at the cuts that were given");
        (self.leaves + place(start), self.leaves + place(end) - 1)
    }

    /// The greatest mark among recorded accesses to these indices that conflict with an access of this class.
    pub(crate) fn latest(&self, run: (u64, u64), class: Class) -> Mark {
        let (first, last) = self.ends(run);
        let mut found = Mark::NONE;
        for_cover(first, last, |node| found = found.max(self.best[node].conflicting(class)));
        // Whatever covers more than the run covers its first or its last piece too.
        for_path(first, |node| found = found.max(self.cover[node].conflicting(class)));
        for_path(last, |node| found = found.max(self.cover[node].conflicting(class)));
        found
    }

    /// Records an access to these indices.
    pub(crate) fn record(&mut self, run: (u64, u64), class: Class, mark: Mark) {
        let (first, last) = self.ends(run);
        for_cover(first, last, |node| {
            self.cover[node].raise(class, mark);
            self.best[node].raise(class, mark);
        });
        for_path(first, |node| self.best[node].raise(class, mark));
        for_path(last, |node| self.best[node].raise(class, mark));
    }
}

/// The fewest nodes that together are exactly the pieces from `first` to `last`.
fn for_cover(first: usize, last: usize, mut visit: impl FnMut(usize)) {
    let (mut left, mut right) = (first, last + 1);
    while left < right {
        if left & 1 == 1 {
            visit(left);
            left += 1;
        }
        if right & 1 == 1 {
            right -= 1;
            visit(right);
        }
        left /= 2;
        right /= 2;
    }
}

/// A node and everything above it.
fn for_path(mut node: usize, mut visit: impl FnMut(usize)) {
    while node > 0 {
        visit(node);
        node /= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, History, Mark};

    #[test]
    fn the_latest_conflict_is_that_of_a_plain_list() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..300 {
            let classes =
                [Class::Read, Class::Write, Class::Commute, Class::Reduce(0), Class::Reduce(1), Class::Reduce(2)];
            let mut accesses: Vec<((u64, u64), Class, Mark)> = Vec::new();
            for task in 0..random.u32(1..40) {
                let start = random.u64(0..20);
                let run = (start, random.u64(start + 1..=20));
                accesses.push((run, classes[random.usize(0..6)], Mark { value: random.u64(1..30), task }));
            }
            let mut history = History::new(accesses.iter().flat_map(|&((start, end), ..)| [start, end]).collect());
            for (count, &(run, class, mark)) in accesses.iter().enumerate() {
                let expected = accesses[..count]
                    .iter()
                    .filter(|(other, with, _)| other.0 < run.1 && run.0 < other.1 && with.conflicts(class))
                    .fold(Mark::NONE, |latest, &(.., mark)| latest.max(mark));
                assert_eq!(history.latest(run, class).value, expected.value);
                history.record(run, class, mark);
            }
        }
    }
}
