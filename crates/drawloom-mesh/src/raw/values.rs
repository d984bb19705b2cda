//! Arrays of one of the element types.

/// The values of a dat or a constant.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Values {
    /// Floating-point numbers of 32 bits.
    F32(Vec<f32>),
    /// Floating-point numbers of 64 bits.
    F64(Vec<f64>),
    /// Integers of 32 bits.
    I32(Vec<i32>),
    /// Non-negative integers of 32 bits.
    U32(Vec<u32>),
    /// Integers of 64 bits.
    I64(Vec<i64>),
    /// Truth values.
    Bool(Vec<bool>),
}

/// Does the same to the vector in each variant.
macro_rules! each {
    ($values:expr, $vector:ident => $what:expr) => {
        match $values {
            Values::F32($vector) => $what,
            Values::F64($vector) => $what,
            Values::I32($vector) => $what,
            Values::U32($vector) => $what,
            Values::I64($vector) => $what,
            Values::Bool($vector) => $what,
        }
    };
}

impl Values {
    /// How many values there are.
    pub fn len(&self) -> usize {
        each!(self, values => values.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the element type, as in Rust.
    pub fn type_name(&self) -> &'static str {
        match self {
            Values::F32(_) => "f32",
            Values::F64(_) => "f64",
            Values::I32(_) => "i32",
            Values::U32(_) => "u32",
            Values::I64(_) => "i64",
            Values::Bool(_) => "bool",
        }
    }

    /// How many bytes one value takes.
    pub fn bytes_each(&self) -> usize {
        match self {
            Values::F64(_) | Values::I64(_) => 8,
            Values::F32(_) | Values::I32(_) | Values::U32(_) => 4,
            Values::Bool(_) => 1,
        }
    }

    /// The values, if they are floating-point numbers of 64 bits.
    pub fn as_f64(&self) -> Option<&[f64]> {
        if let Values::F64(values) = self { Some(values) } else { None }
    }

    /// The values, if they are integers of 32 bits.
    pub fn as_i32(&self) -> Option<&[i32]> {
        if let Values::I32(values) = self { Some(values) } else { None }
    }

    /// One value as a floating-point number: truth is 1, and integers beyond 2^53 are rounded.
    pub fn number(&self, index: usize) -> Option<f64> {
        match self {
            Values::F32(values) => values.get(index).map(|v| f64::from(*v)),
            Values::F64(values) => values.get(index).copied(),
            Values::I32(values) => values.get(index).map(|v| f64::from(*v)),
            Values::U32(values) => values.get(index).map(|v| f64::from(*v)),
            Values::I64(values) => values.get(index).map(|v| *v as f64),
            Values::Bool(values) => values.get(index).map(|v| f64::from(u8::from(*v))),
        }
    }

    /// All values as floating-point numbers, as [`Values::number`] gives them.
    pub fn numbers(&self) -> Vec<f64> {
        match self {
            Values::F64(values) => values.clone(),
            Values::F32(values) => values.iter().map(|v| f64::from(*v)).collect(),
            Values::I32(values) => values.iter().map(|v| f64::from(*v)).collect(),
            Values::U32(values) => values.iter().map(|v| f64::from(*v)).collect(),
            Values::I64(values) => values.iter().map(|v| *v as f64).collect(),
            Values::Bool(values) => values.iter().map(|v| f64::from(u8::from(*v))).collect(),
        }
    }

    /// Moves the values of another array of the same type to the end of these. Values of another type stay where they are.
    pub(crate) fn append(&mut self, other: &mut Values) {
        match (self, other) {
            (Values::F32(values), Values::F32(other)) => values.append(other),
            (Values::F64(values), Values::F64(other)) => values.append(other),
            (Values::I32(values), Values::I32(other)) => values.append(other),
            (Values::U32(values), Values::U32(other)) => values.append(other),
            (Values::I64(values), Values::I64(other)) => values.append(other),
            (Values::Bool(values), Values::Bool(other)) => values.append(other),
            _ => {}
        }
    }

    /// The same values with the elements, of `dim` values each, in another order: element `i` of the result is element
    /// `order[i]` of these.
    ///
    /// # Panics
    ///
    /// If `order` names an element that is not there.
    #[must_use]
    pub fn gathered(&self, dim: usize, order: &[u32]) -> Values {
        fn gather<T: Copy>(values: &[T], dim: usize, order: &[u32]) -> Vec<T> {
            let mut gathered = Vec::with_capacity(order.len().saturating_mul(dim));
            for element in order {
                let start = *element as usize * dim;
                gathered.extend_from_slice(&values[start..start + dim]);
            }
            gathered
        }
        match self {
            Values::F32(values) => Values::F32(gather(values, dim, order)),
            Values::F64(values) => Values::F64(gather(values, dim, order)),
            Values::I32(values) => Values::I32(gather(values, dim, order)),
            Values::U32(values) => Values::U32(gather(values, dim, order)),
            Values::I64(values) => Values::I64(gather(values, dim, order)),
            Values::Bool(values) => Values::Bool(gather(values, dim, order)),
        }
    }
}

/// A vector of each of the element types is an array of values.
macro_rules! from_vector {
    ($($variant:ident: $element:ty),*) => {
        $(impl From<Vec<$element>> for Values {
            fn from(values: Vec<$element>) -> Self {
                Values::$variant(values)
            }
        })*
    };
}

from_vector!(F32: f32, F64: f64, I32: i32, U32: u32, I64: i64, Bool: bool);

#[cfg(test)]
mod tests {
    use super::Values;

    #[test]
    fn vectors_become_values_of_their_type() {
        assert_eq!(Values::from(vec![1.5f32]).type_name(), "f32");
        assert_eq!(Values::from(vec![true]), Values::Bool(vec![true]));
    }

    #[test]
    fn elements_are_gathered_whole() {
        let values = Values::I32(vec![1, 2, 3, 4, 5, 6]);
        assert_eq!(values.gathered(2, &[2, 0]), Values::I32(vec![5, 6, 1, 2]));
        assert_eq!(values.gathered(2, &[]), Values::I32(vec![]));
    }

    #[test]
    fn every_type_is_shown_as_numbers() {
        assert_eq!(Values::Bool(vec![true, false]).numbers(), [1.0, 0.0]);
        assert_eq!(Values::I64(vec![-3]).number(0), Some(-3.0));
        assert_eq!(Values::U32(vec![]).number(0), None);
    }
}
