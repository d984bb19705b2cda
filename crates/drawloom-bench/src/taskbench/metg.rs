//! Minimum effective task granularity, from measured points.
//!
//! A point is a run with tasks of one size. Its *granularity* is the time a worker has for a task, `wall * workers /
//! tasks`; its *efficiency* is the rate it reached as a share of the reference, the serial loop's best rate times the
//! number of workers. METG(50%) is the granularity at which the efficiency falls to one half. One reference is shared
//! by all systems, so that a slow one does not look better for it.

use super::compute::flops;
use std::time::Duration;

/// One measured run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Iterations of the kernel in each task.
    pub iterations: u64,
    /// Time of the whole run.
    pub wall: Duration,
    /// Tasks that ran.
    pub tasks: u64,
    /// Workers that ran them.
    pub workers: usize,
}

impl Point {
    /// Seconds a worker has for a task.
    pub fn granularity(&self) -> f64 {
        self.wall.as_secs_f64() * self.workers as f64 / self.tasks.max(1) as f64
    }

    /// The rate reached, as a share of what the workers could do; `reference` is one worker's operations per second.
    pub fn efficiency(&self, reference: f64) -> f64 {
        flops(self.iterations) / (self.granularity() * reference)
    }
}

/// What a curve says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metg {
    /// The granularity, in seconds, at which the efficiency falls to the target.
    Exact(f64),
    /// Even the smallest tasks measured, of this granularity in seconds, were above the target.
    AtMost(f64),
    /// Even the largest tasks were below the target, or nothing was measured.
    NotReached,
}

impl Metg {
    /// The granularity in seconds, an upper bound included.
    pub fn seconds(self) -> Option<f64> {
        match self {
            Metg::Exact(seconds) | Metg::AtMost(seconds) => Some(seconds),
            Metg::NotReached => None,
        }
    }
}

/// METG of a curve for a target efficiency, 0.5 for METG(50%); `reference` is one worker's operations per second.
///
/// The curve is followed from the largest tasks to smaller ones until it first falls below the target; between the two
/// points the crossing is interpolated on logarithmic scales. Of several points with the same number of iterations the
/// fastest counts. The order of the points does not matter.
pub fn metg(points: &[Point], reference: f64, target: f64) -> Metg {
    let mut above: Option<(f64, f64)> = None;
    for point in best_first(points) {
        let (granularity, efficiency) = (point.granularity(), point.efficiency(reference));
        // A run too short for the clock has no granularity and says nothing; nor does a reference that is no rate.
        if !(granularity > 0.0 && efficiency > 0.0 && efficiency.is_finite()) {
            continue;
        }
        if efficiency >= target {
            above = Some((granularity, efficiency));
            continue;
        }
        return match above {
            None => Metg::NotReached,
            Some((from, high)) => {
                let share = (high / target).ln() / (high / efficiency).ln();
                Metg::Exact((from.ln() + share * (granularity / from).ln()).exp())
            }
        };
    }
    above.map_or(Metg::NotReached, |(granularity, _)| Metg::AtMost(granularity))
}

/// The smallest granularity on a curve, in seconds: what a task costs when there is next to nothing in it.
pub fn floor(points: &[Point]) -> Option<f64> {
    points.iter().map(Point::granularity).filter(|granularity| *granularity > 0.0).min_by(f64::total_cmp)
}

/// Iterations to measure, from the largest down to one, by factors of about the square root of two.
pub fn sweep(largest: u64) -> Vec<u64> {
    let mut iterations = Vec::new();
    let mut power = largest.max(1);
    while power > 0 {
        iterations.push(power);
        // In 128 bits nothing overflows; 5/7 is within one percent of the square root of one half.
        let between = (power as u128 * 5 / 7) as u64;
        if between > power / 2 {
            iterations.push(between);
        }
        power /= 2;
    }
    iterations
}

/// The fastest point of each number of iterations, largest first.
fn best_first(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| b.iterations.cmp(&a.iterations).then_with(|| a.granularity().total_cmp(&b.granularity())));
    sorted.dedup_by_key(|point| point.iterations);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: f64 = 1e10;

    /// A runtime that adds `overhead` seconds to each task of each worker.
    fn curve(overhead: f64, workers: usize, iterations: impl IntoIterator<Item = u64>) -> Vec<Point> {
        let tasks = 1_000_000;
        let point = |iterations| Point {
            iterations,
            wall: Duration::from_secs_f64((overhead + flops(iterations) / REFERENCE) * tasks as f64 / workers as f64),
            tasks,
            workers,
        };
        iterations.into_iter().map(point).collect()
    }

    #[test]
    fn an_overhead_equal_to_the_work_is_half_the_efficiency() {
        for workers in [1, 2, 16] {
            for overhead in [1e-7, 1e-6, 3e-5] {
                let points = curve(overhead, workers, sweep(1 << 16));
                let Metg::Exact(found) = metg(&points, REFERENCE, 0.5) else { panic!("no crossing for {overhead}") };
                let ratio = found / (2.0 * overhead);
                assert!((ratio - 1.0).abs() < 0.02, "overhead {overhead}, {workers} workers: {ratio} of what it is");
            }
        }
    }

    #[test]
    fn a_crossing_on_a_straight_line_of_logarithms_is_found_exactly() {
        // Granularity 4 us at efficiency 1, 1 us at 1/4: the half lies at their geometric middle, 2 us.
        let at = |iterations: u64, granularity: f64, efficiency: f64| {
            let point = Point { iterations, wall: Duration::from_secs_f64(granularity), tasks: 1, workers: 1 };
            assert!((point.efficiency(REFERENCE) - efficiency).abs() < 1e-2);
            point
        };
        let points = [at(312, 4e-6, 1.0), at(19, 1e-6, 0.25)];
        let Metg::Exact(found) = metg(&points, REFERENCE, 0.5) else { panic!("no crossing") };
        assert!((found / 2e-6 - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn the_order_of_the_points_and_slower_repetitions_do_not_matter() {
        let points = curve(1e-6, 2, sweep(1 << 12));
        let expected = metg(&points, REFERENCE, 0.5);
        let mut shuffled: Vec<Point> = points.iter().rev().copied().collect();
        shuffled.extend(points.iter().map(|point| Point { wall: point.wall * 3, ..*point }));
        assert_eq!(metg(&shuffled, REFERENCE, 0.5), expected);
    }

    #[test]
    fn a_curve_that_never_falls_gives_a_bound() {
        let points = curve(1e-12, 2, [1 << 12, 1 << 10]);
        let Metg::AtMost(found) = metg(&points, REFERENCE, 0.5) else { panic!("no bound") };
        assert!((found / (flops(1 << 10) / REFERENCE) - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_curve_that_starts_too_low_is_not_reached() {
        let points = curve(1.0, 2, [1 << 12, 1 << 10]);
        assert_eq!(metg(&points, REFERENCE, 0.5), Metg::NotReached);
        assert_eq!(metg(&points, REFERENCE, 0.5).seconds(), None);
        assert_eq!(metg(&[], REFERENCE, 0.5), Metg::NotReached);
    }

    #[test]
    fn a_dip_among_the_large_tasks_counts() {
        let mut points = curve(1e-6, 1, [1 << 14, 1 << 12, 1 << 10]);
        points[1].wall *= 4;
        let Metg::Exact(found) = metg(&points, REFERENCE, 0.5) else { panic!("no crossing") };
        assert!(found > points[2].granularity(), "the smaller tasks that recovered are not looked at");
    }

    #[test]
    fn points_without_time_tasks_or_reference_are_left_out() {
        let empty = Point { iterations: 1, wall: Duration::ZERO, tasks: 0, workers: 0 };
        assert_eq!(metg(&[empty], REFERENCE, 0.5), Metg::NotReached);
        assert_eq!(metg(&curve(1e-6, 1, [100]), 0.0, 0.5), Metg::NotReached);
        assert_eq!(metg(&curve(1e-6, 1, [100]), f64::NAN, 0.5), Metg::NotReached);
        assert_eq!(floor(&[empty]), None);
    }

    #[test]
    fn the_floor_is_the_smallest_granularity() {
        let points = curve(1e-6, 2, sweep(64));
        assert!((floor(&points).unwrap() / (1e-6 + flops(1) / REFERENCE) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_sweep_goes_down_to_one() {
        assert_eq!(sweep(16), [16, 11, 8, 5, 4, 2, 1]);
        assert_eq!(sweep(0), [1]);
        let widest = sweep(u64::MAX);
        assert!(widest.is_sorted_by(|a, b| a > b) && widest.last() == Some(&1));
    }
}
