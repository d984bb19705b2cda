//! What can go wrong, as values with the user's names in them.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A failure of the engine, or of a task that ran on it.
///
/// Cheap to clone: the same failure reaches everyone who asked for it.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    task: Option<TaskOrigin>,
    because: Option<Error>,
    cancelled: Vec<TaskOrigin>,
}

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
    /// A region, task or context belongs to another runtime.
    Foreign,
    /// A child task touches what its parent did not lend. Declare it with `lend` in the parent.
    NotLent,
    /// A wait inside of a task for something other than its own children. Return first, or make it a child.
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
    /// A captured program that cannot be made into a plan. The message holds the diagnostics.
    Plan,
    /// The operating system refused.
    System,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::build(kind, message.into(), None, None, Vec::new())
    }

    pub(crate) fn of_task(kind: ErrorKind, task: TaskOrigin, message: impl Into<String>) -> Self {
        Self::build(kind, message.into(), Some(task), None, Vec::new())
    }

    pub(crate) fn cancelled(task: TaskOrigin, because: Error) -> Self {
        Self::build(ErrorKind::Cancelled, "did not run".into(), Some(task), Some(because), Vec::new())
    }

    pub(crate) fn with_cancelled(&self, more: Vec<TaskOrigin>) -> Self {
        let Inner { kind, message, task, because, cancelled } = &*self.0;
        let cancelled = cancelled.iter().cloned().chain(more).collect();
        Self::build(*kind, message.clone(), task.clone(), because.clone(), cancelled)
    }

    fn build(
        kind: ErrorKind,
        message: String,
        task: Option<TaskOrigin>,
        because: Option<Error>,
        cancelled: Vec<TaskOrigin>,
    ) -> Self {
        Self(Arc::new(Inner { kind, message, task, because, cancelled }))
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

    /// For a cancelled task, the failure it was cancelled for.
    pub fn because(&self) -> Option<&Error> {
        self.0.because.as_ref()
    }

    /// The tasks that did not run because of this failure, in the order in which they were given up.
    pub fn cancelled_tasks(&self) -> &[TaskOrigin] {
        &self.0.cancelled
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
            write!(f, ", because {because}")?;
        }
        if !self.0.cancelled.is_empty() {
            write!(f, "; cancelled for it: ")?;
            for (i, task) in self.0.cancelled.iter().take(8).enumerate() {
                write!(f, "{}{task}", if i == 0 { "" } else { ", " })?;
            }
            if self.0.cancelled.len() > 8 {
                write!(f, " and {} more", self.0.cancelled.len() - 8)?;
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
