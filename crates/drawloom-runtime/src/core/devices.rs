//! Tasks on devices, and data that comes back from them.

use drawloom_trace::EventKind;

use super::{Core, Local, quietly};
use crate::access::Arg;
use crate::device::{Launch, cycle};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{Memory, MemoryId};
use crate::sync::Arc;
use crate::task::body::BodyError;
use crate::task::extras::Extras;
use crate::task::record::TaskId;

impl Core {
    /// Makes arguments proper in the memory of this process.
    #[inline]
    pub(crate) fn make_proper_here(&self, args: &[Arg]) -> Result<()> {
        if self.devices.is_empty() {
            return Ok(());
        }
        cycle::acquire(args, MemoryId::HOST, None).map(drop)
    }

    /// The number of a kind of device; none in the serial engine, which has no devices and needs none.
    pub(crate) fn device_kind(&self, kind: &str) -> Result<Option<u32>> {
        if self.is_serial() {
            return Ok(None);
        }
        self.devices.find(kind).map(Some).ok_or_else(|| {
            let known = self.devices.names().join("`, `");
            let known = if known.is_empty() { "there are none".to_owned() } else { format!("there is `{known}`") };
            Error::new(ErrorKind::Setting, format!("cannot run on a device of kind `{kind}`: {known}"))
        })
    }

    /// Why arguments cannot be used by a device.
    pub(crate) fn refuse_host_only(args: &[Arg]) -> Option<String> {
        let stays = args.iter().find(|arg| !arg.piece().tree().element.portable)?;
        Some(format!(
            "cannot run on a device: the elements of region `{}` cannot leave this process",
            stays.piece().name()
        ))
    }

    /// Runs a task by means of a device, and completes it.
    pub(crate) fn execute_on_device(
        &self,
        local: &mut Local,
        id: TaskId,
        memory: &Arc<dyn Memory>,
        run: impl FnOnce(&mut Launch<'_>) -> std::result::Result<(), BodyError>,
    ) {
        let record = self.slab.get(id.index());
        if !record.claim(id.generation()) {
            return;
        }
        let (args, extras) = self.parts(record);
        let cancelled = self.reason_to_cancel(id, record, args);
        if cancelled.is_some() {
            self.tracer.of_task(EventKind::Cancelled, id, local.worker);
            self.drop_body(record);
        }
        let started = cancelled.is_none();
        let failed = cancelled.or_else(|| {
            self.tracer.of_task(EventKind::Start, id, local.worker);
            // SAFETY: only this thread has the task.
            let (name, table, payload) = unsafe {
                let description = (*record.description.get()).assume_init_mut();
                (description.name, description.table, &raw mut description.payload)
            };
            let none = Extras::default();
            let mut launch = Launch {
                name: name.as_str(),
                args,
                addresses: Vec::new(),
                memory,
                extras: extras.as_deref().unwrap_or(&none),
                table,
                payload,
                called: false,
            };
            // A driver that panics fails its task, and goes on.
            let result = quietly(|| run(&mut launch));
            if !launch.called || table.again {
                self.drop_body(record);
            }
            match result {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(self.error_of(record, error)),
                Err(said) => Some(Error::of_task(ErrorKind::Panicked, self.origin(record), said)),
            }
        });
        if started {
            let kind = if failed.is_some() { EventKind::Failed } else { EventKind::End };
            self.tracer.of_task(kind, id, local.worker);
        }
        match failed {
            None => {
                for arg in args.iter().filter(|a| a.mode().mutates()) {
                    arg.piece().tree().heal(&arg.piece().indices);
                }
            }
            Some(error) => self.fail(id, record, args, error),
        }
        self.end(local, id.index(), record);
    }
}
