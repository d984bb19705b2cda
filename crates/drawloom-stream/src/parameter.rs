//! Values that nodes read, and that each run may set without the stream being described anew.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use parking_lot::Mutex;

/// A value of a stream that each run may set: see [`Stream::parameter`](crate::Stream::parameter).
pub struct Parameter<T> {
    pub(crate) stream: u64,
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    values: PhantomData<fn(T) -> T>,
}

impl<T> Parameter<T> {
    pub(crate) fn new(stream: u64, number: u32, name: &str) -> Self {
        Self { stream, number, name: known(name), values: PhantomData }
    }
}

/// The same name, for as long as the program runs: a parameter is copied into every function that reads it. Each name is kept once,
/// however many streams have a parameter of that name.
fn known(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    // The set is whole whenever a panic could happen.
    let mut names = NAMES.lock();
    if let Some(known) = names.get(name) {
        return known;
    }
    let known: &'static str = Box::leak(name.into());
    names.insert(known);
    known
}

impl<T> Clone for Parameter<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Parameter<T> {}

impl<T> fmt::Debug for Parameter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Parameter({})", self.name)
    }
}

/// The values of a stream's parameters in one run. They do not change while it runs.
#[derive(Clone)]
pub(crate) struct Parameters {
    pub(crate) stream: u64,
    values: Arc<[Arc<dyn Any + Send + Sync>]>,
}

impl Parameters {
    pub(crate) fn new(stream: u64, values: Arc<[Arc<dyn Any + Send + Sync>]>) -> Self {
        Self { stream, values }
    }

    /// The value of a parameter.
    ///
    /// # Panics
    /// When the parameter is of another stream. The run of this one fails then, with the name of the node.
    pub(crate) fn get<T: 'static>(&self, parameter: Parameter<T>) -> &T {
        let own = (parameter.stream == self.stream).then(|| self.values.get(parameter.number as usize)).flatten();
        let value = own.and_then(|value| value.downcast_ref());
        value.unwrap_or_else(|| {
            let name = parameter.name;
            panic!("parameter `{name}` is of another stream: a node can read those of its own stream, and no others")
        })
    }
}
