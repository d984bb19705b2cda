//! The settings of a runtime, and how it begins.

use std::io::Write;
use std::time::Duration;

use super::{Loom, Owner};
use crate::context::ContextState;
use crate::core::Core;
use crate::device::{self, Device, queue::Devices};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::choice::Choice;
use crate::policy::{Policy, WorkersView};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, MODELLED, Mutex, lock, thread};
use crate::topology::Topology;
use crate::trace::output::Output;
use crate::worker::{Workers, cycle};

/// Numbers of workers are small integers, and threads are not free.
const MOST_WORKERS: usize = (1 << 16) - 1;

/// How a runtime is made. See [`Loom::builder`].
pub struct LoomBuilder {
    devices: Vec<Box<dyn Device>>,
    workers: Option<usize>,
    serial: bool,
    policy: Choice,
    in_flight: u32,
    patience: Duration,
    trace: bool,
    undriven: Vec<usize>,
    unbound: bool,
}

impl LoomBuilder {
    pub(super) fn new() -> Self {
        Self {
            devices: Vec::new(),
            workers: None,
            serial: false,
            policy: Choice::default(),
            in_flight: 16_384,
            patience: Duration::from_secs(2),
            trace: false,
            undriven: Vec::new(),
            unbound: false,
        }
    }

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
    /// Perfetto, and `csv:FILE` writes a table of tasks and, beside it, one of events. Where a process makes several runtimes,
    /// `FILE` is that of the first one to end, and the others' have a number before their extension.
    #[must_use]
    pub fn trace(mut self, on: bool) -> Self {
        self.trace = on;
        self
    }

    /// Makes the runtime.
    ///
    /// # Errors
    /// When no workers were asked for, the policy does not exist, or threads cannot be started.
    pub fn build(self) -> Result<Loom> {
        // Threads of a model checker are no threads of the machine.
        let topology = (!self.serial && !MODELLED).then(Topology::detect);
        // The processors that the process may use, and no more than the quota of its control group feeds.
        let available = || std::thread::available_parallelism().map_or(1, |count| count.get());
        let count = if self.serial { 0 } else { self.workers.unwrap_or_else(available) };
        if count == 0 && !self.serial {
            return Err(Error::new(ErrorKind::Setting, "a runtime needs at least one worker"));
        }
        if count > MOST_WORKERS {
            let message = format!("a runtime has at most {MOST_WORKERS} workers, and {count} were asked for");
            return Err(Error::new(ErrorKind::Setting, message));
        }
        if let Some(number) = self.undriven.iter().find(|&&number| number >= count) {
            let message = format!("worker {number} cannot be left undriven: there are {count} workers");
            return Err(Error::new(ErrorKind::Setting, message));
        }
        let mut devices = Devices::default();
        self.devices.iter().try_for_each(|device| devices.add(&**device))?;
        let output = match Output::from_environment() {
            // The serial runtime is always made.
            Err(error) if self.serial => {
                // If this cannot be written there is nobody left to tell.
                let _ = writeln!(std::io::stderr(), "drawloom: {error}; nothing is recorded");
                None
            }
            output => output?,
        };
        // Binding more workers than there are processors would keep some of them from ever moving to a free one.
        let fits = topology.as_ref().is_some_and(|t| t.is_bindable() && count <= t.cpus().len());
        let workers = Workers::placed(count, topology, fits && !self.unbound);
        let policy = self.policy.make(&WorkersView::new(&workers))?;
        let core = Arc::new(Core::new(self.in_flight.max(1), workers, devices, self.serial, self.patience));
        core.contexts.push(ContextState::new("main".to_owned(), policy, count));
        core.found_main_context();
        if self.trace || output.is_some() {
            core.tracer.begin();
        }
        let owner = Owner { core: Arc::clone(&core), threads: Mutex::default(), output };
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
                .spawn(move || core.inside(|| device::cycle::run(&core, number, device)))
                .map_err(|e| Error::new(ErrorKind::System, format!("cannot start the worker of a device: {e}")))?;
            lock(&owner.threads).push(thread);
        }
        Ok(Loom { owner: Arc::new(owner) })
    }
}
