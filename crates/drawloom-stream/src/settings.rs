//! How a stream is run: by whom, and with which values.

use std::any::Any;
use std::sync::Arc;

use drawloom_runtime::Context;

use crate::error::{Error, ErrorKind, Result};
use crate::parameter::{Parameter, Parameters};
use crate::plan::Description;

/// How a stream is run.
#[derive(Clone, Default)]
pub struct Settings {
    pub(crate) workers: Option<usize>,
    pub(crate) context: Option<Context>,
    pub(crate) timed: bool,
    pub(crate) traced: usize,
    set: Vec<Set>,
}

/// A value of a parameter, by the number of its stream and its own.
#[derive(Clone)]
struct Set {
    stream: u64,
    number: u32,
    name: &'static str,
    value: Arc<dyn Any + Send + Sync>,
}

impl Settings {
    /// All workers of the engine, in its main context.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many workers; without this, all of the context, or of the engine.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// The workers of a context: all that it has when the run begins, unless it is said how many.
    #[must_use]
    pub fn in_context(mut self, context: &Context) -> Self {
        self.context = Some(context.clone());
        self
    }

    /// Sets a parameter of the stream, for this run only. The last value counts.
    #[must_use]
    pub fn set<T: Send + Sync + 'static>(mut self, parameter: Parameter<T>, value: T) -> Self {
        let Parameter { stream, number, name, .. } = parameter;
        self.set.push(Set { stream, number, name, value: Arc::new(value) });
        self
    }

    /// Measures the time that nodes take, and how long full queues keep them waiting. Each run of a node costs some looks at the
    /// clock then.
    #[must_use]
    pub fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    /// Keeps up to so many firings of each copy, with their times, for [`Report::trace`](crate::Report::trace). Time is measured
    /// then.
    #[must_use]
    pub fn traced(mut self, most: usize) -> Self {
        (self.timed, self.traced) = (true, most);
        self
    }

    /// The values of all parameters of a stream.
    pub(crate) fn parameters(&self, name: &str, id: u64, of: &Description) -> Result<Parameters> {
        let mut values = of.parameters.clone();
        for set in &self.set {
            if set.stream != id {
                let message = format!("parameter `{}` is set for stream `{name}`, but is of another stream", set.name);
                return Err(Error::new(ErrorKind::Setting, message));
            }
            values[set.number as usize] = Arc::clone(&set.value);
        }
        Ok(Parameters::new(id, values.into()))
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Settings");
        debug.field("workers", &self.workers).field("timed", &self.timed).field("set", &self.set.len());
        debug.finish_non_exhaustive()
    }
}
