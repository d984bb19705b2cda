//! The runtime as its users see it.

use std::panic::Location;

use crate::context::ContextState;
use crate::core::Core;
use crate::data::array::{Array, array_shape};
use crate::data::csr::{Csr, Pattern, csr_shape};
use crate::data::element::Portable;
use crate::data::matrix::{Matrix, matrix_shape};
use crate::data::piece::Shape;
use crate::data::region::{Handle, Region};
use crate::data::tree::{Buffer, ElementType};
use crate::data::value::Value;
use crate::data::vector::Vector;
use crate::error::{Error, ErrorKind, Result};
use crate::policy::central::{Eager, Prio};
use crate::policy::stealing::Stealing;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock, thread};
use crate::task::builder::{Submit, Task};
use crate::task::name::Label;
use crate::task::spec::Spec;
use crate::worker::{Workers, cycle};

/// A runtime: workers, the regions they share, and the tasks that run on them.
///
/// Cloning gives another handle to the same runtime. When the last handle is gone, the tasks that were submitted are
/// finished, and the workers end.
#[derive(Clone)]
pub struct Loom {
    owner: Arc<Owner>,
}

/// Ends the runtime when the last handle is gone.
struct Owner {
    core: Arc<Core>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
}

/// How a runtime is made. See [`Loom::builder`].
#[derive(Clone, Debug)]
pub struct LoomBuilder {
    workers: Option<usize>,
    serial: bool,
    policy: String,
    in_flight: u32,
}

impl Loom {
    /// A runtime with a worker on every processor that this process may use.
    ///
    /// # Errors
    /// When threads cannot be started.
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// A runtime that runs every task on the thread that submits it, in program order: the one all others are compared
    /// with.
    pub fn serial() -> Self {
        Self::builder().make_serial().build().expect("a runtime without threads can always be made")
    }

    /// A runtime with settings.
    pub fn builder() -> LoomBuilder {
        LoomBuilder { workers: None, serial: false, policy: "lws".to_owned(), in_flight: 16_384 }
    }

    fn core(&self) -> &Arc<Core> {
        &self.owner.core
    }

    /// Describes a task. The name is for messages, traces and drawings.
    #[track_caller]
    #[inline]
    pub fn task(&self, name: impl Into<Label>) -> Task<'_> {
        let core = self.core();
        Task::new(core, Spec::new(core.names.intern(name.into()), Location::caller(), 0), Submit)
    }

    /// Waits until every task that was submitted is complete.
    ///
    /// # Errors
    /// The first failure that no other wait has returned; inside of a task; and when tasks wait that can never run.
    pub fn wait_all(&self) -> Result<()> {
        self.core().wait_all()
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.core().workers.count
    }

    fn region<R: Region, T: 'static>(
        &self,
        name: impl Into<String>,
        data: Vec<T>,
        shape: Shape,
        portable: bool,
        initialised: bool,
    ) -> R {
        let element = ElementType::of::<T>(portable);
        let root = self.core().make_tree(name.into(), element, Buffer::new(data), shape, initialised);
        R::from_handle(Handle::whole(root))
    }

    /// Stores a vector of plain elements.
    pub fn vector<T: Portable>(&self, name: impl Into<String>, data: Vec<T>) -> Vector<T> {
        let shape = Shape::Line { first: 0, len: data.len() };
        self.region(name, data, shape, true, true)
    }

    /// A vector of plain elements without contents. Reading an element before it is written is an error.
    pub fn vector_without_contents<T: Portable>(&self, name: impl Into<String>, len: usize) -> Vector<T> {
        self.region(name, zeros::<T>(len), Shape::Line { first: 0, len }, true, false)
    }

    /// Stores a vector of elements of any type, which only workers of this process can use.
    pub fn host_vector<T: Send + Sync + 'static>(&self, name: impl Into<String>, data: Vec<T>) -> Vector<T> {
        let shape = Shape::Line { first: 0, len: data.len() };
        self.region(name, data, shape, false, true)
    }

    /// Stores one plain value.
    pub fn value<T: Portable>(&self, name: impl Into<String>, value: T) -> Value<T> {
        self.region(name, vec![value], Shape::Line { first: 0, len: 1 }, true, true)
    }

    /// Stores one value of any type, which only workers of this process can use.
    pub fn host_value<T: Send + Sync + 'static>(&self, name: impl Into<String>, value: T) -> Value<T> {
        self.region(name, vec![value], Shape::Line { first: 0, len: 1 }, false, true)
    }

    /// Stores a matrix by columns, without gaps between them.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn matrix<T: Portable>(
        &self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        data: Vec<T>,
    ) -> Result<Matrix<T>> {
        self.matrix_with_leading(name, rows, columns, rows, data)
    }

    /// Stores a matrix by columns, each of which takes `leading` elements, of which the first `rows` are used.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn matrix_with_leading<T: Portable>(
        &self,
        name: impl Into<String>,
        rows: usize,
        columns: usize,
        leading: usize,
        data: Vec<T>,
    ) -> Result<Matrix<T>> {
        let name = name.into();
        let shape = matrix_shape(&name, rows, columns, leading, data.len())?;
        Ok(self.region(name, data, shape, true, true))
    }

    /// Stores an array of any number of dimensions, the last one fastest.
    ///
    /// # Errors
    /// When the data does not fit.
    pub fn array<T: Portable, const N: usize>(
        &self,
        name: impl Into<String>,
        extents: [usize; N],
        data: Vec<T>,
    ) -> Result<Array<T, N>> {
        let name = name.into();
        let shape = array_shape(&name, extents, data.len())?;
        Ok(self.region(name, data, shape, true, true))
    }

    /// Stores a sparse matrix: a pattern, and a value for each element of it.
    ///
    /// # Errors
    /// When the number of values is not that of the pattern.
    pub fn csr<T: Portable>(&self, name: impl Into<String>, pattern: Pattern, values: Vec<T>) -> Result<Csr<T>> {
        let name = name.into();
        let shape = csr_shape(&name, pattern, values.len())?;
        Ok(self.region(name, values, shape, true, true))
    }
}

/// Elements that are all zero.
fn zeros<T: Portable>(len: usize) -> Vec<T> {
    // SAFETY: a value of zero bytes is valid for portable types.
    vec![unsafe { std::mem::zeroed() }; len]
}

impl LoomBuilder {
    /// The number of workers. More than there are processors is allowed.
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = Some(count);
        self
    }

    /// Runs every task on the thread that submits it.
    #[must_use]
    pub fn make_serial(mut self) -> Self {
        self.serial = true;
        self
    }

    /// The policy of the main context: `lws`, `ws`, `eager` or `prio`.
    #[must_use]
    pub fn policy(mut self, name: impl Into<String>) -> Self {
        self.policy = name.into();
        self
    }

    /// How many tasks may be in flight before a thread that submits waits.
    #[must_use]
    pub fn in_flight(mut self, tasks: u32) -> Self {
        self.in_flight = tasks;
        self
    }

    /// Makes the runtime.
    ///
    /// # Errors
    /// When no workers were asked for, the policy does not exist, or threads cannot be started.
    pub fn build(self) -> Result<Loom> {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let count = if self.serial { 0 } else { self.workers.unwrap_or(available) };
        if count == 0 && !self.serial {
            return Err(Error::new(ErrorKind::Setting, "a runtime needs at least one worker"));
        }
        let core = Arc::new(Core::new(self.in_flight.max(1), Workers::new(count), self.serial));
        let policy: Box<dyn crate::policy::Policy> = match self.policy.as_str() {
            "lws" | "ws" => Box::new(Stealing::round_robin(count)),
            "eager" => Box::new(Eager::default()),
            "prio" => Box::new(Prio::default()),
            other => {
                return Err(Error::new(ErrorKind::Setting, format!("there is no policy `{other}`")));
            }
        };
        core.contexts.push(|_| ContextState::new("main".to_owned(), policy, count));
        let owner = Owner { core: Arc::clone(&core), threads: Mutex::new(Vec::new()) };
        for id in core.workers.ids() {
            let core = Arc::clone(&core);
            let thread = thread::Builder::new()
                .name(format!("drawloom-{}", id.index()))
                .spawn(move || cycle::run(&core, id))
                .map_err(|e| Error::new(ErrorKind::System, format!("cannot start a worker: {e}")))?;
            lock(&owner.threads).push(thread);
        }
        Ok(Loom { owner: Arc::new(owner) })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let core = &self.core;
        core.closed.store(true, Ordering::SeqCst);
        if core.running().is_none() {
            let _ = core.wait_all();
        }
        core.workers.stop();
        let this = thread::current().id();
        for thread in lock(&self.threads).drain(..) {
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}
