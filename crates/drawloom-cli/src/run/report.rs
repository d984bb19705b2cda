//! What programs report after each iteration, as numbers that a checkpoint can keep.

use std::sync::Arc;

use drawloom_apps::aero::Outer;
use drawloom_apps::dots::Sums;
use drawloom_apps::jacobi::Sweep;
use drawloom_apps::reduction::Counts;
use parking_lot::Mutex;

/// What a program reports after an iteration.
pub(super) trait Report: Copy + Send + 'static {
    /// As how many numbers.
    const NUMBERS: usize;
    /// The numbers, at the end of a list.
    fn put(&self, numbers: &mut Vec<u64>);
    /// From as many numbers.
    fn from(numbers: &[u64]) -> Self;
}

impl Report for f64 {
    const NUMBERS: usize = 1;

    fn put(&self, numbers: &mut Vec<u64>) {
        numbers.push(self.to_bits());
    }

    fn from(numbers: &[u64]) -> Self {
        f64::from_bits(numbers[0])
    }
}

impl Report for Outer {
    const NUMBERS: usize = 2;

    fn put(&self, numbers: &mut Vec<u64>) {
        numbers.extend([self.inner as u64, self.residual.to_bits()]);
    }

    fn from(numbers: &[u64]) -> Self {
        Outer { inner: numbers[0] as i64, residual: f64::from_bits(numbers[1]) }
    }
}

impl Report for Sweep {
    const NUMBERS: usize = 2;

    fn put(&self, numbers: &mut Vec<u64>) {
        numbers.extend([self.max.to_bits(), self.rms.to_bits()]);
    }

    fn from(numbers: &[u64]) -> Self {
        Sweep { max: f64::from_bits(numbers[0]), rms: f64::from_bits(numbers[1]) }
    }
}

impl Report for Counts {
    const NUMBERS: usize = 2;

    fn put(&self, numbers: &mut Vec<u64>) {
        numbers.extend([self.edges as u64, self.cells as u64]);
    }

    fn from(numbers: &[u64]) -> Self {
        Counts { edges: numbers[0] as i32, cells: numbers[1] as i32 }
    }
}

impl Report for Sums {
    const NUMBERS: usize = 4;

    fn put(&self, numbers: &mut Vec<u64>) {
        numbers.extend([self.indices as u64, self.squares.to_bits(), self.even.to_bits(), self.odd.to_bits()]);
    }

    fn from(numbers: &[u64]) -> Self {
        let [squares, even, odd] = [1, 2, 3].map(|n| f64::from_bits(numbers[n]));
        Sums { indices: numbers[0] as i64, squares, even, odd }
    }
}

/// All reports of a program, which it adds to while it runs.
pub(super) type History<R> = Arc<Mutex<Vec<R>>>;

/// A copy of all reports so far.
pub(super) fn all<R: Report>(history: &History<R>) -> Vec<R> {
    history.lock().clone()
}

/// All reports so far, as bytes.
pub(super) fn to_bytes<R: Report>(history: &History<R>) -> Vec<u8> {
    let mut numbers = Vec::new();
    history.lock().iter().for_each(|report| report.put(&mut numbers));
    numbers.into_iter().flat_map(u64::to_le_bytes).collect()
}

/// Puts reports back that were made into bytes. None when there is another number of them.
pub(super) fn recall<R: Report>(history: &History<R>, bytes: &[u8], count: u64) -> Option<()> {
    let (words, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let reports: Vec<R> = numbers.chunks_exact(R::NUMBERS).map(R::from).collect();
    let whole = rest.is_empty() && numbers.len().is_multiple_of(R::NUMBERS);
    if !whole || reports.len() as u64 != count {
        return None;
    }
    *history.lock() = reports;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_come_back_as_they_were() {
        fn there_and_back<R: Report + PartialEq + std::fmt::Debug>(reports: &[R]) {
            let history = Arc::new(Mutex::new(reports.to_vec()));
            let (bytes, other) = (to_bytes(&history), History::<R>::default());
            recall(&other, &bytes, reports.len() as u64).expect("as many as there were");
            assert_eq!(all(&other), reports);
            assert!(recall(&other, &bytes, reports.len() as u64 + 1).is_none());
            assert!(recall(&other, &bytes[1..], reports.len() as u64).is_none());
        }
        there_and_back(&[1.5, -0.0, f64::MIN_POSITIVE]);
        there_and_back(&[Outer { inner: -1, residual: 0.1 }, Outer { inner: i64::MAX, residual: 1e300 }]);
        there_and_back(&[Sweep { max: 2.0, rms: 0.3 }]);
        there_and_back(&[Counts { edges: -5, cells: i32::MAX }]);
        there_and_back(&[Sums { indices: i64::MIN, squares: 1.0, even: 2.0, odd: 3.0 }; 3]);
    }
}
