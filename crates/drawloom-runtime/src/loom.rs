//! The runtime as its users see it.

mod builder;
mod regions;

pub use builder::LoomBuilder;

use std::panic::Location;

use drawloom_trace::Trace;

use crate::context::{Context, ContextBuilder};
use crate::core::{Core, Whose};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::Capture;
use crate::policy::WorkerId;
use crate::stats::Stats;
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock, thread};
use crate::task::builder::{Submit, Task};
use crate::task::name::{Label, Name};
use crate::task::spec::Spec;
use crate::trace::output::Output;
use crate::worker::driver::Driver;

/// A runtime: workers, the regions they share, and the tasks that run on them.
///
/// Cloning gives another handle to the same runtime. When the last handle is gone, the tasks that were submitted are
/// finished, and the workers end.
#[derive(Clone)]
pub struct Loom {
    owner: Arc<Owner>,
}

impl std::fmt::Debug for Loom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Loom({} workers)", self.workers())
    }
}

/// Ends the runtime when the last handle is gone.
struct Owner {
    core: Arc<Core>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// What becomes of the trace.
    output: Option<Output>,
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
        LoomBuilder::new()
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.owner.core
    }

    /// Describes a task. The name is for messages, traces and drawings.
    #[track_caller]
    #[inline]
    pub fn task(&self, name: impl Into<Label>) -> Task<'_> {
        let core = self.core();
        Task::new(core, Spec::new(Name::intern(name.into()), Location::caller(), 0), Submit)
    }

    /// Records tasks instead of running them, to make a plan that can be run many times.
    #[track_caller]
    pub fn capture(&self, name: impl Into<Label>) -> Capture {
        let core = self.core();
        Capture::new(Arc::clone(core), Name::intern(name.into()), Location::caller())
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
        core.refuse_wait_in_task(|whose| match whose {
            Whose::Own => "shuts its own runtime down".to_owned(),
            Whose::Nobodys => "shuts the runtime of that worker down".to_owned(),
            Whose::Other => "shuts another runtime down, and would wait for its tasks".to_owned(),
        })?;
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
        self.core().running_worker()
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
    /// When the worker is driven already, by the runtime or by another driver, and when it belongs to another runtime.
    pub fn driver(&self, worker: WorkerId) -> Result<Driver> {
        self.core().check_worker(worker)?;
        Driver::take(self.core(), worker)
    }

    /// Whether a worker is blocked in a team. Once asked, the worker joins and leaves no team until it has completed a
    /// whole scheduling operation without being asked again; so asking all the time keeps it from doing so.
    ///
    /// # Errors
    /// When the worker belongs to another runtime.
    pub fn is_blocked_in_team(&self, worker: WorkerId) -> Result<bool> {
        self.core().check_worker(worker)?;
        Ok(self.core().workers.seat(worker).state.observe())
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
        let output = self.output.take();
        let finish = move || {
            core.drain();
            end(&core, threads);
            if let Some(output) = output {
                output.write(&core.tracer.end(|context| core.context_name(context)));
            }
        };
        if !self.core.is_inside() {
            finish();
        } else if self.core.workers.count > 0 {
            // The last handle was dropped by a task, or by a worker with a plan, which cannot wait for itself. If no thread
            // can be had, the closure is dropped: the workers stay, and finish what there is.
            self.core.closed.store(true, Ordering::SeqCst);
            let _ = thread::Builder::new().name("drawloom-end".to_owned()).spawn(finish);
        }
    }
}
