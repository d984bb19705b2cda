//! The runtime as its users see it.

use std::panic::Location;
use std::time::Duration;

use drawloom_trace::Trace;

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
use crate::device::{self, Device, queue::Devices};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Capture;
use crate::policy::choice::Choice;
use crate::policy::{Policy, WorkerId, WorkersView};
use crate::progress::{Callback, Reporter};
use crate::stats::Stats;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, MODELLED, Mutex, lock, thread};
use crate::task::builder::{Submit, Task};
use crate::task::name::Label;
use crate::task::spec::Spec;
use crate::topology::Topology;
use crate::trace::output::Output;
use crate::worker::driver::Driver;
use crate::worker::{PhaseHook, Workers, cycle};
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
    reporter: Mutex<Option<Reporter>>,
    /// What becomes of the trace.
    output: Option<Output>,
}

/// How a runtime is made. See [`Loom::builder`].
pub struct LoomBuilder {
    devices: Vec<Box<dyn Device>>,
    workers: Option<usize>,
    serial: bool,
    policy: Choice,
    in_flight: u32,
    patience: Duration,
    trace: bool,
    progress: Option<(Duration, Callback)>,
    undriven: Vec<usize>,
    unbound: bool,
    phases: Option<PhaseHook>,
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
            devices: Vec::new(),
            workers: None,
            serial: false,
            policy: Choice::default(),
            in_flight: 16_384,
            patience: Duration::from_secs(2),
            trace: false,
            progress: None,
            undriven: Vec::new(),
            unbound: false,
            phases: None,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.owner.core
    }

    /// Describes a task. The name is for messages, traces and drawings.
    #[track_caller]
    #[inline]
    pub fn task(&self, name: impl Into<Label>) -> Task<'_> {
        let core = self.core();
        Task::new(core, Spec::new(core.names.intern(name.into()), Location::caller(), 0), Submit)
    }

    /// Records tasks instead of running them, to make a plan that can be run many times.
    #[track_caller]
    pub fn capture(&self, name: impl Into<Label>) -> Capture {
        let core = self.core();
        Capture::new(Arc::clone(core), core.names.intern(name.into()), Location::caller())
    }

    /// Waits until every task that was submitted is complete.
    ///
    /// # Errors
    /// The first failure that no other wait has returned; inside of a task; and when tasks wait that can never run.
    pub fn wait_all(&self) -> Result<()> {
        self.core().wait_all()
    }

    /// Gives up every task that has not started. Those that run are finished.
    ///
    /// Tasks that did not run count as cancelled: their futures, and the next wait for everything, say so. What they
    /// should have written is unusable until it is written again. The runtime can be used as before.
    #[track_caller]
    pub fn cancel(&self) {
        let place = Location::caller();
        let message = format!("all tasks were cancelled ({}:{})", place.file(), place.line());
        self.core().cancel(None, Error::new(ErrorKind::Cancelled, message));
    }

    /// Runs everything that was submitted, and ends the workers. Whatever is submitted afterwards fails.
    ///
    /// # Errors
    /// As [`Loom::wait_all`]. When tasks can never run, the workers go on, and it can be tried again.
    pub fn shutdown(&self) -> Result<()> {
        let core = self.core();
        core.refuse_wait_in_task("shuts its own runtime down")?;
        core.closed.store(true, Ordering::SeqCst);
        let result = core.wait_all();
        if !matches!(&result, Err(e) if e.kind() == ErrorKind::Stalled) {
            self.owner.stop();
        }
        result
    }

    /// Begins to record what happens, for [`Loom::trace_stop`]. What an earlier recording holds is forgotten.
    ///
    /// Tasks that are in flight already are left out.
    pub fn trace_start(&self) {
        self.core().tracer.begin();
    }

    /// Ends the recording, and returns it. For a complete picture, wait for all tasks first.
    pub fn trace_stop(&self) -> Trace {
        let core = self.core();
        core.tracer.end(|context| core.context_name(context))
    }

    /// What was submitted since the recording began, as a drawing for Graphviz.
    ///
    /// # Errors
    /// When nothing is being recorded: see [`Loom::trace_start`].
    pub fn submitted_dot(&self) -> Result<String> {
        let core = self.core();
        if !core.tracer.is_on() {
            return Err(Error::new(
                ErrorKind::Setting,
                "nothing can be drawn, as nothing is being recorded: see `trace_start`",
            ));
        }
        let trace = core.tracer.collect(|context| core.context_name(context));
        drawloom_trace::dot::text(&trace).map_err(|e| Error::new(ErrorKind::System, format!("cannot be drawn: {e}")))
    }

    /// Figures about the runtime at this moment.
    pub fn stats(&self) -> Stats {
        self.core().stats()
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
        // SAFETY: callers, all of them below, ask for the kind that goes with the shape and the elements they give.
        unsafe { R::from_handle(Handle::whole(root)) }
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
        self.phases = Some(Box::new(f));
        self
    }

    /// Adds a device, with a worker of its own that drives it.
    #[must_use]
    pub fn device(mut self, device: impl Device + 'static) -> Self {
        self.devices.push(Box::new(device));
        self
    }

    /// How many tasks may be in flight before a thread that submits waits.
    ///
    /// A thread that waits for ever otherwise, because it holds the guard that the tasks wait for, goes beyond the limit. A
    /// task that submits never waits.
    #[must_use]
    pub fn in_flight(mut self, tasks: u32) -> Self {
        self.in_flight = tasks;
        self
    }

    /// How long a wait that may never end goes on without anything changing, before it returns an error. The default is two
    /// seconds.
    ///
    /// A wait that certainly can never end returns at once. One that another thread could still end, by dropping a guard
    /// or by driving a worker, is given this long.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Records from the beginning; see [`Loom::trace_stop`].
    ///
    /// Without a change to the program, the environment variable `DRAWLOOM_TRACE` records too, and says what becomes of it
    /// when the runtime ends: `summary` prints a page on the standard error output, `chrome:FILE` writes a file for
    /// Perfetto, and `csv:FILE` writes a table of tasks and, beside it, one of events.
    #[must_use]
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Calls back with the figures of [`Loom::stats`] again and again, from a thread of its own, while the runtime lives.
    ///
    /// The callback must not hold a handle of the runtime, which would never end then.
    #[must_use]
    pub fn progress(mut self, interval: Duration, callback: impl Fn(&Stats) + Send + Sync + 'static) -> Self {
        self.progress = Some((interval, Callback::new(callback)));
        self
    }

    /// Makes the runtime.
    ///
    /// # Errors
    /// When no workers were asked for, the policy does not exist, or threads cannot be started.
    pub fn build(self) -> Result<Loom> {
        // Threads of a model checker are no threads of the machine.
        let topology = (!self.serial && !MODELLED).then(Topology::detect);
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
        let mut devices = Devices::default();
        self.devices.iter().try_for_each(|device| devices.add(&**device))?;
        let output = Output::from_environment()?;
        // Binding more workers than there are processors would keep some of them from ever moving to a free one.
        let fits = topology.as_ref().is_some_and(|t| t.is_bindable() && count <= t.cpus().len());
        let workers = Workers::placed(count, topology, fits && !self.unbound);
        let policy = self.policy.make(&WorkersView::new(&workers))?;
        if let Some(hook) = self.phases {
            workers.watch_phases(hook);
        }
        let core = Arc::new(Core::new(self.in_flight.max(1), workers, devices, self.serial, self.patience));
        core.contexts.push(|_| ContextState::new("main".to_owned(), policy, count));
        core.found_main_context();
        if self.trace || output.is_some() {
            core.tracer.begin();
        }
        let reporter = match self.progress {
            Some((interval, callback)) => Some(Reporter::start(&core, interval, callback)?),
            None => None,
        };
        let owner =
            Owner { core: Arc::clone(&core), threads: Mutex::default(), reporter: Mutex::new(reporter), output };
        for id in core.workers.ids().filter(|id| !self.undriven.contains(&id.index())) {
            core.workers.seat(id).taken.store(true, Ordering::Relaxed);
            core.workers.begin_driving(id);
            let core = Arc::clone(&core);
            let thread = thread::Builder::new()
                .name(format!("drawloom-{}", id.index()))
                .spawn(move || cycle::run(&core, id))
                .map_err(|e| Error::new(ErrorKind::System, format!("cannot start a worker: {e}")))?;
            lock(&owner.threads).push(thread);
        }
        for (device, number) in self.devices.into_iter().zip(0..) {
            let core = Arc::clone(&core);
            let thread = thread::Builder::new()
                .name(format!("drawloom-{}-{number}", core.devices.places()[number].name.replace('\0', "?")))
                .spawn(move || device::cycle::run(&core, number, device))
                .map_err(|e| Error::new(ErrorKind::System, format!("cannot start the worker of a device: {e}")))?;
            lock(&owner.threads).push(thread);
        }
        Ok(Loom { owner: Arc::new(owner) })
    }
}

impl Owner {
    /// Ends the workers. Nothing is in flight, or it was cancelled.
    fn stop(&self) {
        let threads = std::mem::take(&mut *lock(&self.threads));
        end(&self.core, threads);
    }
}

/// Ends the workers of a runtime.
fn end(core: &Core, threads: Vec<thread::JoinHandle<()>>) {
    core.workers.stop();
    core.teams.wake();
    core.devices.wake();
    for thread in threads {
        // A worker does not panic: whatever the user's code does is caught.
        let _ = thread.join();
    }
    core.stopped();
}

impl Drop for Owner {
    fn drop(&mut self) {
        let core = Arc::clone(&self.core);
        let threads = std::mem::take(&mut *lock(&self.threads));
        let (reporter, output) = (lock(&self.reporter).take(), self.output.take());
        let finish = move || {
            core.drain();
            end(&core, threads);
            drop(reporter);
            if let Some(output) = output {
                output.write(&core.tracer.end(|context| core.context_name(context)));
            }
        };
        if self.core.running().is_none() && self.core.workers.current().is_none() {
            finish();
        } else if self.core.workers.count > 0 {
            // The last handle was dropped by a task, or by a worker with a plan, which cannot wait for itself. If no thread can be had, the closure is
            // dropped: the workers stay, and finish what there is.
            self.core.closed.store(true, Ordering::SeqCst);
            let _ = thread::Builder::new().name("drawloom-end".to_owned()).spawn(finish);
        }
    }
}
