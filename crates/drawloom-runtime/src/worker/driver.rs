//! Workers that the application drives itself.
//!
//! The runtime launches a thread for each worker, except for those named with
//! [`LoomBuilder::undriven`](crate::LoomBuilder::undriven). For each of these the application may take a driver, on a
//! thread of its own choice: the one that owns a window, or one of another runtime.

use super::cycle::{self, Found};
use crate::core::{Core, Local};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::WorkerId;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;

/// Drives one worker from a thread of the application.
///
/// [`Driver::run`] is exactly [`Driver::init`], then [`Driver::run_once`] while the machine is running, then
/// [`Driver::deinit`], except that it sleeps while there is nothing to do. A worker that is driven step by step takes part
/// in no teams, as nobody could know when it comes; inside of `run` it does.
///
/// ```
/// use drawloom_runtime::Loom;
///
/// let loom = Loom::builder().workers(1).undriven([0]).build()?;
/// let answer = loom.task("answer").returns(|| 42);
/// let mut driver = loom.driver(loom.worker(0)?)?;
/// driver.init()?;
/// while driver.run_once()? {}
/// driver.deinit();
/// assert_eq!(answer.wait()?, 42);
/// # Ok::<(), drawloom_runtime::Error>(())
/// ```
pub struct Driver {
    core: Arc<Core>,
    worker: WorkerId,
    local: Option<Local>,
}

impl Driver {
    pub(crate) fn take(core: &Arc<Core>, worker: WorkerId) -> Result<Self> {
        let seat = core.workers.seat(worker);
        // AcqRel: pairs with the release in `drop`, which hands the place on.
        if seat.taken.swap(true, Ordering::AcqRel) {
            let message = format!("{worker} is driven already");
            return Err(Error::new(ErrorKind::Setting, message));
        }
        Ok(Self { core: Arc::clone(core), worker, local: None })
    }

    /// The worker.
    pub fn worker(&self) -> WorkerId {
        self.worker
    }

    /// Whether the runtime has not ended.
    pub fn is_running(&self) -> bool {
        !self.core.workers.is_stopping()
    }

    /// Begins to drive the worker on the calling thread, which is bound to the worker's processor if the runtime binds.
    ///
    /// # Errors
    /// When the worker was initialised before, here or on another thread, and not deinitialised; when the thread drives
    /// another worker of the runtime, or runs a task of it.
    pub fn init(&mut self) -> Result<()> {
        if self.local.is_some() {
            let message = format!("{} was initialised already; `deinit` comes first", self.worker);
            return Err(Error::new(ErrorKind::Setting, message));
        }
        if let Some(task) = self.core.running_origin() {
            let message = format!("cannot drive {} meanwhile", self.worker);
            return Err(Error::of_task(ErrorKind::Setting, task, message));
        }
        if let Some(other) = self.core.workers.current() {
            let message = format!("this thread drives {other} already, and cannot drive {} too", self.worker);
            return Err(Error::new(ErrorKind::Setting, message));
        }
        self.core.workers.sit_down(self.worker);
        self.local = Some(Local::of_worker(&self.core, self.worker));
        Ok(())
    }

    /// One turn of the worker's cycle: choosing a task, building up a team, preparing the input, making transfers progress,
    /// and running the task; see [`Phase`](drawloom_trace::Phase). A task whose data must come from another memory runs in
    /// a later turn, when it has arrived. False when there was nothing to do.
    ///
    /// # Errors
    /// Before `init`, on another thread than that of `init`, and inside of a task.
    pub fn run_once(&mut self) -> Result<bool> {
        let Some(local) = &mut self.local else {
            let message = format!("{} was not initialised; `init` comes first", self.worker);
            return Err(Error::new(ErrorKind::Setting, message));
        };
        if !self.core.workers.is_driven_here(self.worker) || self.core.is_running() {
            let message = format!("{} must be driven by the thread that called `init`, outside of tasks", self.worker);
            return Err(Error::new(ErrorKind::Setting, message));
        }
        self.core.workers.begin_step();
        let worked = self.core.inside(|| step(&self.core, local, self.worker));
        self.core.workers.end_step();
        // Whoever waits must see what was completed, as nobody knows when the next turn comes.
        self.core.flush(local);
        self.core.waiters.note_quiet();
        Ok(worked)
    }

    /// Ends driving the worker. A task whose data is on its way is finished first. This may be done by another thread than
    /// that of `init`, which then stays bound to the worker's processor, if the runtime binds.
    pub fn deinit(&mut self) {
        let Some(mut local) = self.local.take() else { return };
        while self.core.is_waiting_for_data(&local) {
            self.core.inside(|| step(&self.core, &mut local, self.worker));
        }
        self.core.flush(&mut local);
        self.core.workers.get_up(self.worker);
    }

    /// Drives the worker until the runtime ends.
    ///
    /// # Errors
    /// As [`Driver::init`].
    pub fn run(mut self) -> Result<()> {
        self.init()?;
        let core = Arc::clone(&self.core);
        if let Some(local) = &mut self.local {
            core.workers.begin_driving(self.worker);
            cycle::run_seated(&core, local, self.worker);
        }
        self.deinit();
        Ok(())
    }
}

/// One turn. What the worker would go on with is handed out: nobody knows when the next turn comes, and another worker may be
/// free.
fn step(core: &Core, local: &mut Local, worker: WorkerId) -> bool {
    let mut next = Found::Nothing;
    let worked = cycle::run_once(core, local, worker, &mut next);
    if let Found::Task(next) = next {
        local.ready.push((local.context, next));
        core.hand_out(local);
    }
    worked
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.deinit();
        self.core.workers.seat(self.worker).taken.store(false, Ordering::Release);
    }
}
