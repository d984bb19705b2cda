//! By how much the numbers of two records differ.

use crate::data::layout::{measure, placed};
use crate::data::{Layout, Scalar, Type};

/// Numbers of single precision are so coarse that they may differ by this part, where any may differ at all.
const SINGLE: f64 = 1e-4;

/// The numbers of records of one layout, and how large each of them becomes.
pub(super) struct Numbers {
    leaves: Vec<Leaf>,
}

struct Leaf {
    /// The way to it, from the record.
    path: String,
    at: usize,
    scalar: Scalar,
    /// The largest absolute value in any of the records.
    largest: f64,
}

/// Two numbers that are not the same.
pub(super) struct Pair {
    /// The difference, as a part of the largest number at that place.
    pub(super) difference: f64,
    /// Where, and which numbers.
    pub(super) words: String,
    pub(super) is_real: bool,
    pub(super) is_close: bool,
}

impl Numbers {
    pub(super) fn new(layout: &Layout) -> Self {
        let mut leaves = Vec::new();
        for (at, member) in placed(layout.tuple()) {
            add(&mut leaves, member.name.clone(), at, &member.ty);
        }
        Self { leaves }
    }

    /// Takes the sizes of a record's numbers into account.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        for leaf in &mut self.leaves {
            if let Some(value) = leaf.real(bytes).filter(|value| value.is_finite()) {
                leaf.largest = leaf.largest.max(value.abs());
            }
        }
    }

    /// The numbers of a record, to be sorted by.
    pub(super) fn list(&self, bytes: &[u8]) -> Vec<f64> {
        self.leaves.iter().filter_map(|leaf| leaf.real(bytes)).collect()
    }

    /// The two numbers of two records that differ most. Those that are no real numbers are the same or they are not.
    pub(super) fn furthest(&self, a: &[u8], b: &[u8], tolerance: f64) -> Option<Pair> {
        let pairs = self.leaves.iter().filter_map(|leaf| leaf.compare(a, b, tolerance));
        pairs.max_by(|a, b| (!a.is_close).cmp(&!b.is_close).then(a.difference.total_cmp(&b.difference)))
    }
}

impl Leaf {
    fn bytes<'b>(&self, record: &'b [u8]) -> &'b [u8] {
        &record[self.at..self.at + self.scalar.size()]
    }

    /// The value of a real number.
    fn real(&self, record: &[u8]) -> Option<f64> {
        let bytes = self.bytes(record);
        match self.scalar {
            Scalar::F32 => bytes.try_into().ok().map(|bytes| f64::from(f32::from_ne_bytes(bytes))),
            Scalar::F64 => bytes.try_into().ok().map(f64::from_ne_bytes),
            _ => None,
        }
    }

    fn compare(&self, a: &[u8], b: &[u8], tolerance: f64) -> Option<Pair> {
        if self.bytes(a) == self.bytes(b) {
            return None;
        }
        let (Some(x), Some(y)) = (self.real(a), self.real(b)) else {
            let words = format!("{:?} is not the same", self.path);
            return Some(Pair { difference: f64::INFINITY, words, is_real: false, is_close: false });
        };
        let apart = (x - y).abs();
        // Also for two zeros with other signs, and for what is not a number in both.
        let same = x == y || x.is_nan() && y.is_nan();
        let difference = if same { 0.0 } else { apart / self.largest.max(f64::MIN_POSITIVE) };
        let difference = if difference.is_nan() { f64::INFINITY } else { difference };
        let is_coarse = self.scalar == Scalar::F32 && tolerance > 0.0;
        let tolerance = if is_coarse { tolerance.max(SINGLE) } else { tolerance };
        let words = format!("{:?} is {x:e} in one run and {y:e} in the other", self.path);
        Some(Pair { difference, words, is_real: true, is_close: difference <= tolerance })
    }
}

/// Adds the numbers of a value.
fn add(leaves: &mut Vec<Leaf>, path: String, at: usize, ty: &Type) {
    match ty {
        Type::Scalar(scalar) => leaves.push(Leaf { path, at, scalar: *scalar, largest: 0.0 }),
        Type::Array(element, length) => {
            // It was measured before.
            let size = measure(element, 0).map_or(0, |(size, _)| size);
            (0..*length).for_each(|n| add(leaves, format!("{path}[{n}]"), at + n * size, element));
        }
        Type::Tuple(tuple) => {
            for (offset, member) in placed(tuple) {
                add(leaves, format!("{path}.{}", member.name), at + offset, &member.ty);
            }
        }
    }
}
