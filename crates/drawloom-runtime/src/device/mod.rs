//! Workers that compute in a memory of their own.
//!
//! A device is driven by one thread, its worker. A task that names the kind of a device, or has an implementation for it, can
//! be run by it: its arguments are acquired in the device's memory, then the device is asked to start the task, then again
//! and again whether it is done. Nothing in this assumes that the device computes while it is asked, so a device may
//! complete a task at any later time.
//!
//! Whatever a device or its memory does wrong is the failure of the task at hand: an error, or a panic.
//!
//! | file | concept |
//! |---|---|
//! | [`launch`] | one task on its way through a device |
//! | [`queue`] | tasks that wait for a kind of device |
//! | [`cycle`] | what the worker of a device does, again and again |

#![allow(unsafe_code)]

pub(crate) mod cycle;
pub(crate) mod launch;
pub(crate) mod queue;

pub use launch::{Launch, LaunchArgument, Progress};

use crate::error::Result;
use crate::memory::Memory;
use crate::sync::Arc;

/// A unit that computes in a memory of its own: hardware-dependent routines behind a worker.
pub trait Device: Send {
    /// The kind of device, which tasks name. Several devices may be of one kind.
    fn kind(&self) -> &str;

    /// The memory that it computes in.
    fn memory(&self) -> Arc<dyn Memory>;

    /// Called once by the worker, before anything else.
    ///
    /// # Errors
    /// When the device cannot be used: see [`Error::device`](crate::Error::device). Its tasks then go to others of its kind,
    /// or to processors if they can; if nobody is left for them, they fail with this error.
    fn init(&mut self) -> Result<()> {
        Ok(())
    }

    /// Starts a task whose arguments are in the device's memory.
    fn start(&mut self, launch: &mut Launch<'_>) -> Progress;

    /// Asked again and again after `start`, until the task is done.
    fn poll(&mut self, launch: &mut Launch<'_>) -> Progress;

    /// Called once by the worker, after everything else.
    fn deinit(&mut self) {}
}
