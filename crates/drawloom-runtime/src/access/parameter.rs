//! What parameters of a body need beyond the task's arguments, in the order of declaration.
//!
//! A value is a copy of plain bytes. A body could capture it as well. But a closure is the implementation for processors
//! only: what a device, or another process, runs in its place finds the values here.

use std::any::Any;

use crate::data::element::Element;
use crate::sync::Arc;

/// What one parameter of a body needs beyond the task's arguments.
#[derive(Clone)]
pub(crate) enum Parameter {
    /// Of `read_all` and `update_all`: how many arguments it has.
    Count(usize),
    /// A value. Shared, as each run of a recorded task passes it on.
    Value(Arc<dyn Any + Send + Sync>),
}

impl Parameter {
    pub(crate) fn value<T: Element>(value: T) -> Self {
        Self::Value(Arc::new(value))
    }

    /// The value, if it is one of this type.
    pub(crate) fn as_value<T: Element>(&self) -> Option<T> {
        match self {
            Parameter::Count(_) => None,
            Parameter::Value(value) => value.downcast_ref().copied(),
        }
    }
}

/// The value with a number, counted from zero, if it is of this type.
pub(crate) fn value_at<T: Element>(parameters: &[Parameter], number: usize) -> Option<T> {
    let mut values = parameters.iter().filter(|parameter| matches!(parameter, Parameter::Value(_)));
    values.nth(number)?.as_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_number_and_type() {
        let parameters = [
            Parameter::Count(3),
            Parameter::value(2.5_f64),
            Parameter::Count(0),
            Parameter::value([1_u8, 2, 3]),
            Parameter::value(true),
        ];
        assert_eq!(value_at(&parameters, 0), Some(2.5_f64));
        assert_eq!(value_at(&parameters, 1), Some([1_u8, 2, 3]));
        assert_eq!(value_at(&parameters, 2), Some(true));
        assert_eq!(value_at::<bool>(&parameters, 3), None);
        assert_eq!((value_at::<u64>(&parameters, 0), value_at::<[u8; 4]>(&parameters, 1)), (None, None));
    }
}
