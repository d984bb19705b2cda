//! The runtime as its users see it.

use std::panic::Location;

use crate::context::{Context, ContextBuilder, ContextState};
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
use crate::policy::choice::Choice;
use crate::policy::{Policy, WorkerId, WorkersView};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock, thread};
use crate::task::builder::{Submit, Task};
use crate::task::name::Label;
use crate::task::spec::Spec;
use crate::topology::Topology;
use crate::worker::driver::Driver;
use crate::worker::{Workers, cycle};
use drawloom_trace::Phase;

/// A runtime: workers, the regions they share, and the tasks that run on them.
///
/// Cloning gives another handle to the same runtime. When the last handle is gone, the tasks that were submitted are
/// finished, and the workers end.
#[derive(Clone)]
pub struct Loom {
    owner: Arc<Owner>,
}

/// Numbers of workers are small integers, and threads are not free.
const MOST_WORKERS: usize = 1 << 16;

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
    policy: Choice,
    in_flight: u32,
    undriven: Vec<usize>,
    unbound: bool,
    phases: Option<PhaseCallback>,
}

/// A function that is told about each phase of each worker.
#[derive(Clone)]
struct PhaseCallback(Arc<dyn Fn(WorkerId, Phase) + Send + Sync>);

impl std::fmt::Debug for PhaseCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a function")
    }
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
        LoomBuilder {
            workers: None,
            serial: false,
            policy: Choice::default(),
            in_flight: 16_384,
            undriven: Vec::new(),
            unbound: false,
            phases: None,
        }
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

    /// The worker with a number.
    ///
    /// # Errors
    /// When there are fewer workers.
    pub fn worker(&self, number: usize) -> Result<WorkerId> {
        self.core().workers.ids().nth(number).ok_or_else(|| {
            let count = self.workers();
            Error::new(ErrorKind::Setting, format!("there is no worker {number}; the runtime has {count} workers"))
        })
    }

    /// All workers.
    pub fn worker_ids(&self) -> Vec<WorkerId> {
        self.core().workers.ids().collect()
    }

    /// The worker that runs the calling thread's task, if any.
    pub fn current_worker(&self) -> Option<WorkerId> {
        self.core().workers.current()
    }

    /// The context that all workers belong to at first, and in which tasks run that name none.
    pub fn main_context(&self) -> Context {
        Context::new(self.core(), 0)
    }

    /// Describes a context inside of the main one. The name is for messages and traces.
    pub fn context(&self, name: impl Into<String>) -> ContextBuilder {
        ContextBuilder::new(self.core(), name.into(), 0)
    }

    /// Takes the place of a worker that the runtime does not drive itself; see [`LoomBuilder::undriven`].
    ///
    /// # Errors
    /// When the worker is driven already, by the runtime or by another driver.
    pub fn driver(&self, worker: WorkerId) -> Result<Driver> {
        self.core().check_workers(&[worker])?;
        Driver::take(self.core(), worker)
    }

    /// Whether a worker is blocked in a team. Once asked, the worker joins and leaves no team until it has completed a
    /// whole scheduling operation without being asked again; so asking all the time keeps it from doing so.
    ///
    /// # Errors
    /// When the worker does not exist.
    pub fn is_blocked_in_team(&self, worker: WorkerId) -> Result<bool> {
        self.core().check_workers(&[worker])?;
        Ok(self.core().workers.seat(worker).state.observe())
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

    /// The policy of the main context:
    ///
    /// | name | which task runs next |
    /// |---|---|
    /// | `lws` | a queue for each worker; who has nothing takes from the nearest worker that has (the default) |
    /// | `ws` | the same, taking from all others in turn |
    /// | `eager` | one queue for all workers, in the order in which tasks became ready |
    /// | `prio` | one queue for all workers, the highest priority first |
    /// | `random`, `random:SEED` | each task goes to a worker drawn at random |
    #[must_use]
    pub fn policy(mut self, name: impl Into<String>) -> Self {
        self.policy = Choice::Named(name.into());
        self
    }

    /// A policy of your own for the main context; see [`policy`](crate::policy).
    #[must_use]
    pub fn policy_with(mut self, make: impl Fn(&WorkersView) -> Box<dyn Policy> + Send + Sync + 'static) -> Self {
        self.policy = Choice::made(make);
        self
    }

    /// Workers, by number, for which the runtime starts no threads. The application drives them itself, with
    /// [`Loom::driver`].
    #[must_use]
    pub fn undriven(mut self, workers: impl IntoIterator<Item = usize>) -> Self {
        self.undriven = workers.into_iter().collect();
        self
    }

    /// Lets the operating system move the threads of the workers among the processors that this process may use. By
    /// default each of them is bound to one, as long as there are enough.
    #[must_use]
    pub fn unbound(mut self) -> Self {
        self.unbound = true;
        self
    }

    /// Calls a function with each phase that a worker begins. It is called often, by all workers, and should do little.
    #[must_use]
    pub fn on_phase(mut self, f: impl Fn(WorkerId, Phase) + Send + Sync + 'static) -> Self {
        self.phases = Some(PhaseCallback(Arc::new(f)));
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
        let topology = (!self.serial).then(Topology::detect);
        let available = topology.as_ref().map_or(1, Topology::suggested_workers).max(1);
        let count = if self.serial { 0 } else { self.workers.unwrap_or(available) };
        if count == 0 && !self.serial {
            return Err(Error::new(ErrorKind::Setting, "a runtime needs at least one worker"));
        }
        if count >= MOST_WORKERS {
            let message = format!("a runtime has at most {MOST_WORKERS} workers, and {count} were asked for");
            return Err(Error::new(ErrorKind::Setting, message));
        }
        if let Some(number) = self.undriven.iter().find(|&&number| number >= count) {
            let message = format!("worker {number} cannot be left undriven: there are {count} workers");
            return Err(Error::new(ErrorKind::Setting, message));
        }
        // Binding more workers than there are processors would keep some of them from ever moving to a free one.
        let fits = topology.as_ref().is_some_and(|t| t.is_bindable() && count <= t.cpus().len());
        let workers = Workers::placed(count, topology, fits && !self.unbound);
        let policy = self.policy.make(&WorkersView::new(&workers))?;
        if let Some(PhaseCallback(hook)) = self.phases {
            workers.watch_phases(Box::new(move |worker, phase| hook(worker, phase)));
        }
        let core = Arc::new(Core::new(self.in_flight.max(1), workers, self.serial));
        core.contexts.push(|_| ContextState::new("main".to_owned(), policy, count));
        core.found_main_context();
        let owner = Owner { core: Arc::clone(&core), threads: Mutex::new(Vec::new()) };
        for id in core.workers.ids().filter(|id| !self.undriven.contains(&id.index())) {
            core.workers.seat(id).taken.store(true, Ordering::Relaxed);
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
        core.teams.wake();
        let this = thread::current().id();
        for thread in lock(&self.threads).drain(..) {
            if thread.thread().id() != this {
                let _ = thread.join();
            }
        }
    }
}
