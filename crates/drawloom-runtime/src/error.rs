//! What can go wrong, as values with the user's names in them.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A failure of the engine, or of a task that ran on it.
///
/// Cheap to clone: the same failure reaches everyone who asked for it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    task: Option<TaskOrigin>,
    because: Option<Error>,
    /// How many errors are behind this one, and how many between it and `because` were left out.
    depth: usize,
    left_out: u64,
    /// Which failure of its runtime this is, so that it is reported once; zero for errors that are not failures of tasks.
    number: u64,
    cancelled: Vec<TaskOrigin>,
    cancelled_count: u64,
    others: Vec<Error>,
    others_count: u64,
}

/// How many tasks, or other failures, an error lists by name. The rest is counted.
pub(crate) const LISTED: usize = 32;
/// How many of them its text names.
const NAMED: usize = 8;

/// The name of a task, and the place in the program that submitted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOrigin {
    /// The name given to `task`.
    pub name: String,
    /// Where `task` was called.
    pub location: &'static Location<'static>,
}

impl fmt::Display for TaskOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task `{}` ({}:{})", self.name, self.location.file(), self.location.line())
    }
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A task panicked. The message holds what it said.
    Panicked,
    /// A task returned an error. The message holds its text.
    Failed,
    /// A task did not run, because something that it depends on failed; see [`Error::because`].
    Cancelled,
    /// Two arguments of a task overlap, and one of them is not only read. Split the task, or pass disjoint pieces.
    Overlap,
    /// A region is read before anything was written into it. Write it first, or create it with contents.
    Uninitialised,
    /// A region, task, context or worker belongs to another runtime.
    Foreign,
    /// A child task touches what its parent did not lend. Declare it with `lend` in the parent.
    NotLent,
    /// A wait inside of a task for something other than its own children, also for something of another runtime. Return
    /// first, or make it a child.
    WaitInTask,
    /// Nothing can run, and something waits. The message lists what waits, and for what.
    Stalled,
    /// The runtime was shut down.
    ShutDown,
    /// A partition that cannot be made: no pieces, pieces outside of the region, or indices that are missed.
    Partition,
    /// The shape does not fit the data.
    Shape,
    /// A wrong setting: no workers, an unknown policy, a processor that this process may not use.
    Setting,
    /// A context that was deleted, or has no worker that could run the task.
    Context,
    /// A team that is larger than any context, or has no size at all.
    Team,
    /// A task that cannot be retried, because what it changes cannot be restored. Use plain elements, and lend nothing.
    Retry,
    /// A captured program that cannot be made into a plan. The message holds the diagnostics.
    Plan,
    /// A device, or its memory, cannot do what was asked of it. The message holds what it said.
    Device,
    /// The operating system refused.
    System,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::build(kind, message.into(), None, None)
    }

    pub(crate) fn of_task(kind: ErrorKind, task: TaskOrigin, message: impl Into<String>) -> Self {
        Self::build(kind, message.into(), Some(task), None)
    }

    pub(crate) fn cancelled(task: TaskOrigin, because: Error) -> Self {
        Self::build(ErrorKind::Cancelled, "did not run".into(), Some(task), Some(because))
    }

    /// Some of what a run of a plan consists of did not run.
    pub(crate) fn cut_short(run: TaskOrigin, because: Error) -> Self {
        Self::build(ErrorKind::Cancelled, "did not run to its end".into(), Some(run), Some(because))
    }

    /// The failure of a task on account of another error.
    pub(crate) fn caused(task: TaskOrigin, message: impl Into<String>, because: Error) -> Self {
        Self::build(ErrorKind::Failed, message.into(), Some(task), Some(because))
    }

    fn build(kind: ErrorKind, message: String, task: Option<TaskOrigin>, mut because: Option<Error>) -> Self {
        let mut left_out = 0;
        // Tasks can fail for each other without end. The last one and the first ones tell the story.
        if let Some(last) = because.take_if(|last| last.0.depth >= LISTED) {
            left_out = last.0.left_out + 1;
            because.clone_from(&last.0.because);
        }
        Self(Arc::new(Inner {
            depth: because.as_ref().map_or(0, |because| because.0.depth + 1),
            left_out,
            kind,
            message,
            task,
            because,
            number: 0,
            cancelled: Vec::new(),
            cancelled_count: 0,
            others: Vec::new(),
            others_count: 0,
        }))
    }

    /// The same error, as a failure with a number of its own.
    pub(crate) fn numbered(mut self, number: u64) -> Self {
        Arc::make_mut(&mut self.0).number = number;
        self
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// The failure behind an error: for a cancelled task the one that it was cancelled for.
    pub(crate) fn root(&self) -> &Error {
        match &self.0.because {
            Some(because) if self.0.kind == ErrorKind::Cancelled => because,
            _ => self,
        }
    }

    pub(crate) fn with_cancelled(mut self, cancelled: Vec<TaskOrigin>, count: u64) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.cancelled.extend(cancelled);
        inner.cancelled_count += count;
        self
    }

    pub(crate) fn with_others(mut self, others: Vec<Error>, count: u64) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        (inner.others, inner.others_count) = (others, count);
        self
    }

    /// What a device or its memory says when it cannot do what was asked of it.
    pub fn device(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Device, message)
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The task that failed, or that was refused.
    pub fn task(&self) -> Option<&TaskOrigin> {
        self.0.task.as_ref()
    }

    /// What it says, without the task's name and place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// For a cancelled task, the failure it was cancelled for; for a task that failed because of another one, that one's. In
    /// a very long chain, those in the middle are left out.
    pub fn because(&self) -> Option<&Error> {
        self.0.because.as_ref()
    }

    /// The tasks that did not run because of this failure, in the order in which they were given up: the first 32 of
    /// them. See [`Error::cancelled_count`].
    pub fn cancelled_tasks(&self) -> &[TaskOrigin] {
        &self.0.cancelled
    }

    /// How many tasks did not run because of this failure, as far as was known when the error was returned.
    pub fn cancelled_count(&self) -> u64 {
        self.0.cancelled_count
    }

    /// Other failures, independent of this one, that the same wait reports: the first 31 of them. See
    /// [`Error::others_count`].
    pub fn others(&self) -> &[Error] {
        &self.0.others
    }

    /// How many other failures the same wait reports.
    pub fn others_count(&self) -> u64 {
        self.0.others_count
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(task) = &self.0.task {
            write!(f, "{task} ")?;
        }
        match self.0.kind {
            ErrorKind::Panicked => write!(f, "panicked: {}", self.0.message)?,
            ErrorKind::Failed => write!(f, "failed: {}", self.0.message)?,
            _ => f.write_str(&self.0.message)?,
        }
        if let Some(because) = &self.0.because {
            match self.0.left_out {
                0 => write!(f, ", because {because}")?,
                count => {
                    write!(f, ", because of {count} more that failed for each other, the first because {because}")?
                }
            }
        }
        if !self.0.cancelled.is_empty() {
            write!(f, "; cancelled for it: ")?;
            for (i, task) in self.0.cancelled.iter().take(NAMED).enumerate() {
                write!(f, "{}{task}", if i == 0 { "" } else { ", " })?;
            }
            let named = self.0.cancelled.len().min(NAMED) as u64;
            if self.0.cancelled_count > named {
                write!(f, " and {} more", self.0.cancelled_count - named)?;
            }
        }
        if let Some(other) = self.0.others.first() {
            match self.0.others_count {
                0 | 1 => write!(f, "; another failure: {other}")?,
                count => write!(f, "; {count} other failures, the first of them: {other}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.because.as_ref().map(|e| e as _)
    }
}

/// A result of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;
