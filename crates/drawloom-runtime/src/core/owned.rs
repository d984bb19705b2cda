//! A task that the calling thread has.
//!
//! From submission to completion one thread at a time has a task; see the table in [`record`](crate::task::record). This is the
//! proof of it: who has one may look at all that belongs to the task, and change it.

use crate::access::Arg;
use crate::task::body::{BodyTable, Payload};
use crate::task::extras::Extras;
use crate::task::record::{Record, TaskId};

/// A task that the calling thread has.
pub(crate) struct Owned<'c> {
    pub(crate) id: TaskId,
    pub(crate) record: &'c Record,
}

impl<'c> Owned<'c> {
    /// # Safety
    /// The task is described, and the calling thread has it until it is complete or this is gone: it is submitting the task, has
    /// claimed it when it was ready, or completes it. No other `Owned` of it is used meanwhile, and of its rare parts a body that
    /// runs reaches only `inside`.
    #[inline]
    pub(super) unsafe fn new(id: TaskId, record: &'c Record) -> Self {
        Self { id, record }
    }

    /// The arguments.
    #[inline]
    pub(crate) fn args(&self) -> &[Arg] {
        // SAFETY: the task is described, and not complete before this is gone.
        unsafe { self.record.args() }
    }

    /// The rare parts.
    #[inline]
    pub(super) fn extras(&self) -> Option<&Extras> {
        // SAFETY: this thread has the task, and what changes them borrows this mutably.
        unsafe { self.record.extras() }
    }

    /// The rare parts, to be changed.
    #[inline]
    pub(super) fn extras_mut(&mut self) -> Option<&mut Extras> {
        // SAFETY: this thread has the task, and this is borrowed mutably.
        unsafe { self.record.extras_mut() }.as_deref_mut()
    }

    /// How to run and drop the body, and where it is.
    #[inline]
    pub(super) fn body(&self) -> (&'static BodyTable, *mut Payload) {
        // SAFETY: the task is described, and not complete before this is gone.
        (unsafe { self.record.table() }, self.record.payload())
    }
}
