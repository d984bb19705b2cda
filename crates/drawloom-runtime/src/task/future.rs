//! The result of a task, and waiting for it.

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Poll, Waker};

use super::record::TaskId;
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Mutex, lock};

/// Something that completes: what `after` and `ends_with` take.
#[diagnostic::on_unimplemented(message = "`{Self}` is no task", label = "the future of a task is needed here")]
pub trait Pending: sealed::Sealed {
    /// The task.
    #[doc(hidden)]
    fn id(&self) -> TaskId;
    #[doc(hidden)]
    fn belongs_to(&self, core: &Arc<Core>) -> bool;
    /// What it is called, in words.
    #[doc(hidden)]
    fn describe(&self) -> String;
}

mod sealed {
    /// Keeps what can be waited for to this crate: a task's name is looked up without a check.
    pub trait Sealed {}
    impl<T> Sealed for super::Future<T> {}
}

/// The result of a task that may not have run yet. Dropping it does not stop the task.
pub struct Future<T> {
    core: Arc<Core>,
    id: TaskId,
    /// Where the value will be; tasks without one need no place for it.
    cell: Option<Arc<Cell<T>>>,
}

/// Where a task puts its value.
pub(crate) struct Cell<T>(Mutex<Option<T>>);

/// The task's end of a future.
pub(crate) struct Promise<T>(Arc<Cell<T>>);

impl<T> Promise<T> {
    pub(crate) fn set(&self, value: T) {
        *lock(&self.0.0) = Some(value);
    }
}

impl Future<()> {
    #[inline]
    pub(crate) fn without_value(core: Arc<Core>, id: TaskId) -> Self {
        Self { core, id, cell: None }
    }
}

impl<T: 'static> Future<T> {
    pub(crate) fn new(core: Arc<Core>) -> (Self, Promise<T>) {
        // Allocates: a value needs a place that outlives both the task and the caller.
        let cell = Arc::new(Cell(Mutex::new(None)));
        (Self { core, id: TaskId::NONE, cell: Some(Arc::clone(&cell)) }, Promise(cell))
    }

    pub(crate) fn of_task(mut self, id: TaskId) -> Self {
        self.id = id;
        self
    }

    /// Waits until the task is complete, and returns its value.
    ///
    /// Inside of a task this works for the task's own children, and runs only those while it waits. Tasks of another runtime
    /// are nobody's children here: they can be waited for only when they are complete already.
    ///
    /// # Errors
    /// When the task failed or was cancelled, inside of another task than its parent, of whatever runtime, and when it could
    /// never complete.
    pub fn wait(self) -> Result<T> {
        self.core.wait_for(self.id)?;
        self.take()
    }

    /// Whether the task is complete. Then [`Future::wait`] does not wait.
    pub fn is_complete(&self) -> bool {
        self.core.is_complete(self.id)
    }

    fn take(self) -> Result<T> {
        // First of all: a body that returned a value has failed all the same when a child of it did.
        if let Some(error) = self.core.failure_of(self.id) {
            return Err(error);
        }
        let Some(cell) = &self.cell else {
            // SAFETY-free conversion: futures without a cell are `Future<()>` only.
            let unit: Box<dyn std::any::Any> = Box::new(());
            return Ok(*unit.downcast::<T>().expect("a future without a place for its value has none"));
        };
        let value = lock(&cell.0).take();
        value.ok_or_else(|| Error::new(ErrorKind::ShutDown, "the task has no value, as its body did not run"))
    }
}

impl<T> Drop for Future<T> {
    #[inline]
    fn drop(&mut self) {
        if self.core.failures.any() {
            self.core.forget(self.id);
        }
    }
}

impl<T> Pending for Future<T> {
    fn id(&self) -> TaskId {
        self.id
    }

    fn belongs_to(&self, core: &Arc<Core>) -> bool {
        Arc::ptr_eq(&self.core, core)
    }

    fn describe(&self) -> String {
        self.core.peek_origin(self.id).map_or_else(|| "a task that is complete".to_owned(), |origin| origin.to_string())
    }
}

impl<T> std::fmt::Debug for Future<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Future({:?})", self.id)
    }
}

impl<T: 'static> IntoFuture for Future<T> {
    type Output = Result<T>;
    type IntoFuture = Awaited<T>;

    fn into_future(self) -> Awaited<T> {
        Awaited(Some(self))
    }
}

/// A [`Future`] as one of the language, for `.await` on any executor.
///
/// Inside of a task, polling it is what [`Future::wait`] is: it runs the task's children until that one is complete, and is an
/// error for anything else. An executor that went to sleep there instead would take a worker away that nobody knows of.
pub struct Awaited<T>(Option<Future<T>>);

impl<T: 'static> std::future::Future for Awaited<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Result<T>> {
        const OVER: &str = "a future is not polled after it is complete";
        if Core::is_in_task() {
            return Poll::Ready(self.0.take().expect(OVER).wait());
        }
        let future = self.0.as_ref().expect(OVER);
        let waker: &Waker = context.waker();
        if future.core.register_waker(future.id, waker) {
            return Poll::Pending;
        }
        Poll::Ready(self.0.take().expect("it was there above").take())
    }
}

impl<T> Unpin for Awaited<T> {}
