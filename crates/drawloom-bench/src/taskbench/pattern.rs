//! The graphs of Task Bench: which points of the step before a point depends on.
//!
//! As in Task Bench's `core`, with its defaults: radix 3, a period of 3 steps for the patterns that change from step to
//! step, and a quarter of the neighbours in the random one. Two things differ. A dependency that Task Bench would list
//! twice is listed once, which lets `spread` run at widths below 9. And the random pattern's choice comes from a hash
//! of our own, so its graphs have the same distribution but not the same edges.

use std::fmt;
use std::str::FromStr;

/// Dependencies of a task at most, where the pattern has a free choice.
pub const RADIX: usize = 3;
/// Steps after which a pattern that changes repeats.
const PERIOD: usize = 3;

/// The shape of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Pattern {
    /// No dependencies.
    Trivial,
    /// Each point on itself: independent chains.
    NoComm,
    /// Each point on itself and its two neighbours.
    Stencil1d,
    /// Butterflies: itself and the points at a distance that doubles from step to step.
    Fft,
    /// A binary tree that fans out from one point to the whole width: each point on its parent, at half its number.
    Tree,
    /// The nearest points, as many as the radix.
    Nearest,
    /// As many points as the radix, spread over the whole width, shifting from step to step.
    Spread,
    /// Itself, and each of the nearest points with a chance of one quarter.
    RandomNearest,
}

impl Pattern {
    /// Every pattern.
    pub const ALL: [Pattern; 8] = [
        Pattern::Trivial,
        Pattern::NoComm,
        Pattern::Stencil1d,
        Pattern::Fft,
        Pattern::Tree,
        Pattern::Nearest,
        Pattern::Spread,
        Pattern::RandomNearest,
    ];

    /// The name, as Task Bench spells it.
    pub fn name(self) -> &'static str {
        match self {
            Pattern::Trivial => "trivial",
            Pattern::NoComm => "no_comm",
            Pattern::Stencil1d => "stencil_1d",
            Pattern::Fft => "fft",
            Pattern::Tree => "tree",
            Pattern::Nearest => "nearest",
            Pattern::Spread => "spread",
            Pattern::RandomNearest => "random_nearest",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pattern {
    type Err = GraphError;

    fn from_str(name: &str) -> Result<Pattern, GraphError> {
        let named = Pattern::ALL.into_iter().find(|pattern| pattern.name() == name);
        named.ok_or_else(|| GraphError::UnknownPattern { name: name.to_owned() })
    }
}

/// Why there is no such graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphError {
    /// No pattern has this name.
    UnknownPattern {
        /// The name.
        name: String,
    },
    /// The graph has no tasks.
    Empty {
        /// The width asked for.
        width: usize,
        /// The steps asked for.
        steps: usize,
    },
    /// More tasks, or more points, than can be counted or stamped.
    TooLarge {
        /// The width asked for.
        width: usize,
        /// The steps asked for.
        steps: usize,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::UnknownPattern { name } => {
                write!(f, "no pattern is named \"{name}\"; there are")?;
                for (at, pattern) in Pattern::ALL.into_iter().enumerate() {
                    write!(f, "{} {pattern}", if at == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            GraphError::Empty { width, steps } => {
                write!(f, "a graph of width {width} with {steps} steps has no tasks; both must be at least 1")
            }
            GraphError::TooLarge { width, steps } => {
                write!(f, "a graph of width {width} with {steps} steps is too large; each may be {} at most", u32::MAX)
            }
        }
    }
}

impl std::error::Error for GraphError {}

/// A graph: a pattern, a width and a number of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Graph {
    pattern: Pattern,
    width: usize,
    steps: usize,
}

impl Graph {
    /// A graph.
    ///
    /// # Errors
    /// When width or steps is zero, or more than 2^32 - 1.
    pub fn new(pattern: Pattern, width: usize, steps: usize) -> Result<Graph, GraphError> {
        if width == 0 || steps == 0 {
            return Err(GraphError::Empty { width, steps });
        }
        if u32::try_from(width).is_err() || u32::try_from(steps).is_err() {
            return Err(GraphError::TooLarge { width, steps });
        }
        Ok(Graph { pattern, width, steps })
    }

    /// The pattern.
    pub fn pattern(self) -> Pattern {
        self.pattern
    }

    /// Points of the widest step.
    pub fn width(self) -> usize {
        self.width
    }

    /// The number of steps.
    pub fn steps(self) -> usize {
        self.steps
    }

    /// Points of a step: `width`, but for the first steps of a tree.
    pub fn width_at(self, step: usize) -> usize {
        match self.pattern {
            // A width fits into 32 bits, so a step beyond them is as wide as the graph.
            Pattern::Tree => self.width.min(1 << step.min(32)),
            _ => self.width,
        }
    }

    /// Tasks of the whole graph.
    pub fn tasks(self) -> u64 {
        // After 32 steps every pattern has its full width.
        let narrow = self.steps.min(32);
        let first: u64 = (0..narrow).map(|step| self.width_at(step) as u64).sum();
        first + (self.steps - narrow) as u64 * self.width as u64
    }

    /// The points of step `step - 1` on which a point of `step` depends, in ascending order. The first step has none.
    pub fn dependencies(self, step: usize, point: usize) -> Dependencies {
        let mut found = Dependencies::default();
        if step == 0 || point >= self.width_at(step) {
            return found;
        }
        let last_width = self.width_at(step - 1);
        let mut add = |point: usize| {
            if point < last_width {
                found.add(point);
            }
        };
        match self.pattern {
            Pattern::Trivial => {}
            Pattern::NoComm => add(point),
            Pattern::Stencil1d => (point.saturating_sub(1)..=point + 1).for_each(add),
            Pattern::Fft => {
                let distance = self.butterfly(step);
                if let Some(before) = point.checked_sub(distance) {
                    add(before);
                }
                add(point);
                add(point + distance);
            }
            Pattern::Tree => add(point / 2),
            Pattern::Nearest => nearest(point).for_each(add),
            Pattern::Spread => {
                let period = PERIOD.min(self.width.div_ceil(RADIX));
                for i in 0..RADIX {
                    let shift = if i > 0 { step % period } else { 0 };
                    add((point + i * self.width / RADIX + shift) % self.width);
                }
            }
            Pattern::RandomNearest => {
                nearest(point).filter(|&from| from == point || chosen(step % PERIOD, from, point)).for_each(add);
            }
        }
        found
    }

    /// The distance of a butterfly's partner: 1, 2, 4 and so on below the width, then from the start.
    fn butterfly(self, step: usize) -> usize {
        // A width of one has no partner, and any distance says so.
        let distances = self.width.next_power_of_two().ilog2().max(1) as usize;
        1 << ((step + distances - 1) % distances)
    }
}

/// Points at a distance that the radix covers; those beyond the width are left out by the caller.
fn nearest(point: usize) -> impl Iterator<Item = usize> {
    point.saturating_sub(RADIX / 2)..=point + (RADIX - 1) / 2
}

/// Whether the random pattern has an edge: a quarter of them, by a hash (the finaliser of SplitMix64).
fn chosen(set: usize, from: usize, to: usize) -> bool {
    let mix = |value: u64| {
        let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    let hash = [set, from, to].into_iter().fold(0x9e37_79b9_7f4a_7c15, |hash, part| mix(hash ^ part as u64));
    hash % 4 == 0
}

/// The dependencies of one task: a sorted list without repetition, held in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dependencies {
    points: [usize; RADIX],
    len: usize,
}

impl Dependencies {
    /// The points.
    pub fn as_slice(&self) -> &[usize] {
        &self.points[..self.len]
    }

    fn add(&mut self, point: usize) {
        if let Err(at) = self.as_slice().binary_search(&point) {
            self.points.copy_within(at..self.len, at + 1);
            self.points[at] = point;
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(pattern: Pattern, width: usize) -> Graph {
        Graph::new(pattern, width, 1000).unwrap()
    }

    fn of(pattern: Pattern, width: usize, step: usize, point: usize) -> Vec<usize> {
        graph(pattern, width).dependencies(step, point).as_slice().to_vec()
    }

    #[test]
    fn patterns_are_those_of_the_paper() {
        assert_eq!(of(Pattern::Trivial, 8, 3, 4), [0_usize; 0]);
        assert_eq!(of(Pattern::NoComm, 8, 3, 4), [4]);
        assert_eq!(of(Pattern::Stencil1d, 8, 3, 4), [3, 4, 5]);
        assert_eq!(of(Pattern::Stencil1d, 8, 3, 0), [0, 1]);
        assert_eq!(of(Pattern::Stencil1d, 8, 3, 7), [6, 7]);
        assert_eq!(of(Pattern::Nearest, 8, 3, 4), [3, 4, 5]);
        assert_eq!(of(Pattern::Nearest, 8, 3, 7), [6, 7]);
    }

    #[test]
    fn butterflies_double_their_reach_and_start_again() {
        assert_eq!(of(Pattern::Fft, 8, 1, 4), [3, 4, 5]);
        assert_eq!(of(Pattern::Fft, 8, 2, 4), [2, 4, 6]);
        assert_eq!(of(Pattern::Fft, 8, 3, 4), [0, 4]);
        assert_eq!(of(Pattern::Fft, 8, 4, 4), [3, 4, 5]);
        assert_eq!(of(Pattern::Fft, 1, 4, 0), [0]);
        assert_eq!(of(Pattern::Fft, 2, 9, 0), [0, 1]);
    }

    #[test]
    fn spread_reaches_over_the_whole_width_and_shifts() {
        assert_eq!(of(Pattern::Spread, 16, 3, 0), [0, 5, 10]);
        assert_eq!(of(Pattern::Spread, 16, 4, 0), [0, 6, 11]);
        assert_eq!(of(Pattern::Spread, 16, 5, 0), [0, 7, 12]);
        assert_eq!(of(Pattern::Spread, 16, 6, 0), [0, 5, 10]);
        assert_eq!(of(Pattern::Spread, 16, 6, 15), [4, 9, 15]);
        assert_eq!(of(Pattern::Spread, 2, 1, 0), [0, 1]);
        assert_eq!(of(Pattern::Spread, 1, 1, 0), [0]);
    }

    #[test]
    fn a_tree_fans_out_and_then_keeps_its_width() {
        let tree = graph(Pattern::Tree, 6);
        assert_eq!((0..5).map(|step| tree.width_at(step)).collect::<Vec<_>>(), [1, 2, 4, 6, 6]);
        assert_eq!(of(Pattern::Tree, 6, 1, 1), [0]);
        assert_eq!(of(Pattern::Tree, 6, 2, 3), [1]);
        assert_eq!(of(Pattern::Tree, 6, 3, 5), [2]);
        assert_eq!(of(Pattern::Tree, 6, 9, 5), [2]);
        assert_eq!(tree.tasks(), 1 + 2 + 4 + 6 * 997);
        assert_eq!(tree.width_at(usize::MAX), 6);
    }

    #[test]
    fn random_neighbours_are_a_quarter_and_always_the_point_itself() {
        let (mut edges, mut own) = (0, 0);
        for step in 1..=PERIOD {
            for point in 0..10_000 {
                let found = of(Pattern::RandomNearest, 10_000, step, point);
                assert_eq!(found, of(Pattern::RandomNearest, 10_000, step + PERIOD, point));
                assert!(found.iter().all(|from| from.abs_diff(point) <= 1));
                edges += found.len();
                own += usize::from(found.contains(&point));
            }
        }
        assert_eq!(own, 30_000);
        let share = (edges - own) as f64 / 60_000.0;
        assert!((0.23..0.27).contains(&share), "{share} of the neighbours");
    }

    #[test]
    fn every_dependency_is_a_task_of_the_step_before_and_the_first_step_has_none() {
        for pattern in Pattern::ALL {
            for width in 1..40 {
                let graph = graph(pattern, width);
                for step in 0..12 {
                    for point in 0..graph.width_at(step) {
                        let found = graph.dependencies(step, point);
                        assert!(found.as_slice().is_sorted_by(|a, b| a < b));
                        let all_exist = found.as_slice().iter().all(|&p| step > 0 && p < graph.width_at(step - 1));
                        assert!(all_exist, "{pattern} of width {width}: ({step}, {point}) on {found:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn names_lead_back_to_patterns() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse(), Ok(pattern));
        }
        let error = "stencil".parse::<Pattern>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no pattern is named \"stencil\"; there are trivial, no_comm, stencil_1d, fft, tree, nearest, spread, \
             random_nearest"
        );
    }

    #[test]
    fn graphs_without_tasks_or_with_too_many_are_refused() {
        assert_eq!(Graph::new(Pattern::Fft, 0, 1), Err(GraphError::Empty { width: 0, steps: 1 }));
        assert_eq!(Graph::new(Pattern::Fft, 1, 0), Err(GraphError::Empty { width: 1, steps: 0 }));
        let width = u32::MAX as usize + 1;
        assert_eq!(Graph::new(Pattern::Fft, width, 1), Err(GraphError::TooLarge { width, steps: 1 }));
    }
}
