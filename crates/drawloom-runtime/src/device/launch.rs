//! One task on its way through a device.

use std::alloc::Layout;
use std::any::Any;

use crate::access::parameter::{Parameter, value_at};
use crate::access::{Arg, Frame, Mode, Scratchpad};
use crate::data::element::Element;
use crate::memory::validity::{clear_invalid, complaint, first_invalid};
use crate::memory::{Address, Memory};
use crate::panic;
use crate::sync::Arc;
use crate::task::body::{BodyError, BodyTable, Payload};
use crate::task::name::Name;

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
    /// The start of the region in the device's memory; zero for what is lent to children, which the task itself does not
    /// touch.
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
    pub(crate) name: Name,
    pub(crate) args: &'a [Arg],
    pub(crate) addresses: Vec<Address>,
    pub(crate) memory: &'a Arc<dyn Memory>,
    pub(crate) parameters: &'a [Parameter],
    pub(crate) scratch: &'a [Layout],
    pub(crate) implementation: Option<&'a (dyn Any + Send + Sync)>,
    pub(crate) body: (&'static BodyTable, *mut Payload),
    pub(crate) called: bool,
}

impl<'a> Launch<'a> {
    /// The name of the task.
    pub fn name(&self) -> &str {
        self.name.as_str()
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

    /// The value with a number that the task was given, counted from zero, if there is one of this type: see
    /// [`Task::value`](crate::Task::value).
    pub fn value<T: Element>(&self, number: usize) -> Option<T> {
        value_at(self.parameters, number)
    }

    /// What was attached to the task for this kind of device: a compiled kernel, for example.
    pub fn implementation(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.implementation
    }

    /// Whether the body ran, and cannot run again.
    pub(crate) fn is_used_up(&self) -> bool {
        self.called && !self.body.0.again
    }

    /// Runs the task's own body on the arguments where they are. For devices whose memory this process can address.
    ///
    /// # Errors
    /// What the body returns; when it panics; when it ran already; and when the memory cannot be addressed.
    pub fn run_body(&mut self) -> Result<(), BodyError> {
        if self.called {
            return Err("the body of a task runs once".into());
        }
        let mut bases = Vec::with_capacity(self.addresses.len());
        for (arg, &address) in self.args.iter().zip(&self.addresses) {
            if arg.mode().lends() || arg.mode() == Mode::Reduce {
                // The body has no view of it.
                bases.push(std::ptr::null_mut());
                continue;
            }
            match self.memory.host_pointer(address) {
                Some(base) => {
                    self.check(*arg, base)?;
                    bases.push(base);
                }
                None => return Err(format!("memory `{}` cannot be addressed from here", self.memory.name()).into()),
            }
        }
        self.called = true;
        let mut scratch = Scratchpad::default();
        let mut frame = Frame::new(self.args, self.parameters, &[], &mut scratch, self.scratch);
        frame.bases = Some(&bases);
        let (table, payload) = self.body;
        // SAFETY: the payload belongs to the table, and `called` lets it be used once, or it can be used again. The
        // arguments were granted to the task, and made proper where the bases point to.
        match panic::catch(|| unsafe { (table.call)(payload, &mut frame) }) {
            Ok(result) => result,
            Err(message) => Err(format!("panicked: {message}").into()),
        }
    }
    /// Fails when elements that the body would see are no values of their type.
    fn check(&self, arg: Arg, base: *mut u8) -> Result<(), BodyError> {
        let (piece, mode) = (arg.piece(), arg.mode());
        let (element, indices) = (&piece.tree().element, &piece.indices);
        // SAFETY: the region starts there, and the task was granted its argument; it alone, if it changes elements.
        let invalid = unsafe {
            if mode.mutates() { clear_invalid(element, base, indices) } else { first_invalid(element, base, indices) }
        };
        match invalid.filter(|_| mode.reads()) {
            Some(invalid) => Err(complaint(piece, &invalid, self.memory.name()).into()),
            None => Ok(()),
        }
    }
}
