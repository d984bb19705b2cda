//! One task on its way through a device.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::access::{Arg, Frame, Scratchpad};
use crate::core::panic_text;
use crate::memory::{Address, Memory};
use crate::sync::Arc;
use crate::task::body::{BodyError, BodyTable, Payload};
use crate::task::extras::Extras;

/// How far a task on a device has come.
pub enum Progress {
    /// It is not done. Ask again.
    Pending,
    /// It is done, or has failed.
    Done(Result<(), BodyError>),
}

/// One argument of a task on a device.
#[derive(Clone, Copy, Debug)]
pub struct LaunchArgument {
    /// The start of the region in the device's memory.
    pub region: Address,
    /// How many bytes one element has.
    pub element_bytes: usize,
    /// How many elements of the region belong to the argument.
    pub elements: usize,
    /// The number of the first of them in the region.
    pub first: usize,
    /// Whether the task changes them.
    pub changes: bool,
}

/// A task that a device runs.
pub struct Launch<'a> {
    pub(crate) name: &'a str,
    pub(crate) args: &'a [Arg],
    pub(crate) addresses: Vec<Address>,
    pub(crate) memory: &'a Arc<dyn Memory>,
    pub(crate) extras: &'a Extras,
    pub(crate) table: &'static BodyTable,
    pub(crate) payload: *mut Payload,
    pub(crate) called: bool,
}

impl Launch<'_> {
    /// The name of the task.
    pub fn name(&self) -> &str {
        self.name
    }

    /// The arguments, in the order in which they were declared.
    pub fn arguments(&self) -> impl ExactSizeIterator<Item = LaunchArgument> {
        self.args.iter().zip(&self.addresses).map(|(arg, &region)| {
            let piece = arg.piece();
            LaunchArgument {
                region,
                element_bytes: piece.tree().element.size,
                elements: piece.shape.len(),
                first: piece.indices.first().unwrap_or(0) as usize,
                changes: arg.mode().mutates(),
            }
        })
    }

    /// What was attached to the task for this kind of device: a compiled kernel, for example.
    pub fn implementation(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.extras.implementation.as_deref()
    }

    /// Runs the task's own body on the arguments where they are. For devices whose memory this process can address.
    ///
    /// # Errors
    /// What the body returns; when it panics; when it ran already; and when the memory cannot be addressed.
    pub fn run_body(&mut self) -> Result<(), BodyError> {
        if std::mem::replace(&mut self.called, true) {
            return Err("the body of a task runs once".into());
        }
        let mut bases = Vec::with_capacity(self.addresses.len());
        for &address in &self.addresses {
            match self.memory.host_pointer(address) {
                Some(base) => bases.push(base),
                None => return Err(format!("memory `{}` cannot be addressed from here", self.memory.name()).into()),
            }
        }
        let mut scratch = Scratchpad::default();
        let mut frame = Frame::new(self.args, &self.extras.counts, &[], &mut scratch, &self.extras.scratch);
        frame.bases = Some(&bases);
        let (call, payload) = (self.table.call, self.payload);
        // SAFETY: the payload belongs to the table, and `called` lets it be used once. The arguments were granted to the
        // task, and made proper where the bases point to.
        match catch_unwind(AssertUnwindSafe(|| unsafe { call(payload, &mut frame) })) {
            Ok(result) => result,
            Err(panic) => Err(format!("panicked: {}", panic_text(&*panic)).into()),
        }
    }
}
