//! What a sink counts and adds up.

use std::sync::{Arc, Mutex, PoisonError};

use drawloom_stream::{IntoInputs, Sink, Stream, sink};

/// How many items came to a sink, how many elements they stand for, and their sum.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<Totals>>);

#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    outputs: u64,
    elements: u64,
    sum: u128,
}

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

    /// Adds a sink whose items stand for a number of elements each, and have a value.
    pub(super) fn add_all<T: 'static>(
        stream: &mut Stream,
        name: &str,
        from: impl IntoInputs<T>,
        both: impl Fn(&T) -> (u64, u64) + Send + Sync + 'static,
    ) -> Self {
        let tally = Self::default();
        stream.sink(name, from, tally.sink_of(both));
        tally
    }

    /// A sink whose items have a value.
    pub(super) fn sink<T: 'static>(&self, value: impl Fn(&T) -> u64 + Send + Sync + 'static) -> Sink<T> {
        self.sink_of(move |item| (1, value(item)))
    }

    /// A sink whose items stand for a number of elements each, and have a value.
    fn sink_of<T: 'static>(&self, both: impl Fn(&T) -> (u64, u64) + Send + Sync + 'static) -> Sink<T> {
        let theirs = self.clone();
        let fold = move |all: &mut Totals, items: &[T]| {
            // Two sums of halves: each fits, and can be made with wide instructions.
            let (elements, low, high) =
                items.iter().map(&both).fold((0, 0, 0), |(all, low, high), (elements, value)| {
                    (all + elements, low + (value & u64::from(u32::MAX)), high + (value >> 32))
                });
            all.outputs += items.len() as u64;
            all.elements += elements;
            all.sum += u128::from(low) + (u128::from(high) << 32);
        };
        let done = move |more: Totals| {
            let mut all = theirs.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.outputs += more.outputs;
            all.elements += more.elements;
            all.sum += more.sum;
        };
        sink::fold(Totals::default, fold, done)
    }

    fn totals(&self) -> Totals {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many items came.
    pub fn outputs(&self) -> u64 {
        self.totals().outputs
    }

    /// How many elements they stand for: one each, unless they say something else.
    pub fn elements(&self) -> u64 {
        self.totals().elements
    }

    /// The sum of their values.
    pub fn sum(&self) -> u128 {
        self.totals().sum
    }
}
