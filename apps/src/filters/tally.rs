//! What a sink counts and adds up.

use std::sync::{Arc, Mutex, PoisonError};

use drawloom_stream::{IntoInputs, Sink, Stream, sink};

/// How many items came to a sink, and their sum.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<(u64, u128)>>);

impl Tally {
    /// Adds a sink whose items have a value.
    pub(super) fn add<T: 'static>(
        stream: &mut Stream,
        name: &str,
        from: impl IntoInputs<T>,
        value: impl Fn(&T) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let tally = Self::default();
        stream.sink(name, from, tally.sink(value));
        tally
    }

    /// A sink whose items have a value.
    pub(super) fn sink<T: 'static>(&self, value: impl Fn(&T) -> u64 + Send + Sync + 'static) -> Sink<T> {
        let theirs = self.clone();
        let fold = move |all: &mut (u64, u128), items: &[T]| {
            all.0 += items.len() as u64;
            // Two sums of halves: each fits, and can be made with wide instructions.
            let (low, high) = items
                .iter()
                .map(&value)
                .fold((0, 0), |(low, high), value| (low + (value & u64::from(u32::MAX)), high + (value >> 32)));
            all.1 += u128::from(low) + (u128::from(high) << 32);
        };
        let done = move |(outputs, sum): (u64, u128)| {
            let mut all = theirs.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.0 += outputs;
            all.1 += sum;
        };
        sink::fold(|| (0, 0), fold, done)
    }

    /// How many items came.
    pub fn outputs(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// The sum of their values.
    pub fn sum(&self) -> u128 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1
    }
}
