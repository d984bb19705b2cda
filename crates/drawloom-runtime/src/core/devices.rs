//! Tasks on devices: who gets them, and what becomes of them there.

use drawloom_trace::{EventKind, IdleReason};

use super::execute::heal_overwritten;
use super::{Core, Local, Owned, SharedLocal};
use crate::access::{Arg, Mode};
use crate::device::queue::{Place, Ticket};
use crate::device::{Device, Launch, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::acquisition::Acquisition;
use crate::panic;
use crate::policy::{Ready, WorkerId};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::extras::Extras;
use crate::task::record::{TaskId, flag};
use crate::task::spec::Spec;

/// A task that a device has claimed.
pub(crate) struct OnDevice<'c> {
    task: Owned<'c>,
    place: &'c Place,
    stage: Stage<'c>,
    /// Whether its device was seen to wait for its data.
    waits: bool,
}

/// How far a task on a device has come.
enum Stage<'c> {
    /// Its data is on the way.
    Arriving(Acquisition),
    /// Everything is in the device's memory.
    Arrived(Acquisition),
    Runs(Launch<'c>),
}

impl OnDevice<'_> {
    /// Whether all data of the task has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        !matches!(self.stage, Stage::Arriving(_))
    }
}

impl Core {
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

    /// A task that devices may run is being submitted. One that they cannot run after all is left to the processors, or
    /// refused if it names a device.
    #[cold]
    pub(super) fn check_devices(&self, task: &mut Owned<'_>, spec: &mut Spec) {
        let args = task.args().to_vec();
        if task.extras_mut().is_some_and(|extras| !Self::leave_to_processors(&args, extras, spec)) {
            // A task that is refused is completed by a worker, too.
            task.record.flags.fetch_and(!flag::DEVICE, Ordering::Relaxed);
        }
    }

    /// Takes devices from a description that they cannot meet. False when they cannot.
    pub(crate) fn leave_to_processors(args: &[Arg], extras: &mut Extras, spec: &mut Spec) -> bool {
        let host_only = |arg: &&Arg| !arg.piece().tree().element.portable;
        let why = if let Some(arg) = args.iter().find(host_only) {
            format!("the elements of region `{}` cannot leave this process", arg.piece().name())
        } else if let Some(arg) = args.iter().find(|arg| arg.mode() == Mode::Reduce) {
            format!("it reduces into region `{}`, and contributions are made by processors", arg.piece().name())
        } else if extras.team.is_some() {
            "it needs a team, and teams have processors as members".to_owned()
        } else if extras.retries > 0 {
            "it is tried again when it fails, which processors do".to_owned()
        } else {
            return true;
        };
        if extras.device.is_some() {
            spec.refuse(ErrorKind::Setting, format!("cannot run on a device: {why}"));
        } else {
            extras.implementations.clear();
        }
        false
    }

    /// Offers a task to the devices that may run it, and to processors, unless only a device may.
    #[cold]
    pub(super) fn offer_to_devices(&self, task: Owned<'_>, ready: &mut Vec<(u32, Ready)>) {
        let (id, extras) = (task.id, task.extras().expect("a task for devices says for which"));
        let is_gone = |task: TaskId| self.slab.get(task.index()).was_claimed(task.generation());
        if let Some(kind) = extras.device {
            self.devices.push(kind, Ticket { task: id, only: true }, is_gone);
            // SeqCst: in one order with `stopped`. Either this sees that the devices are gone, or that sees the ticket.
            if self.stopped.load(Ordering::SeqCst) {
                self.take_back_from_devices(ready);
            }
            return;
        }
        // From the first offer on, someone may run the task, and complete it.
        let kinds: Vec<u32> = extras.implementations.iter().map(|(kind, _)| *kind).collect();
        self.offer_to_workers(task, ready);
        for kind in kinds {
            self.devices.push(kind, Ticket { task: id, only: false }, is_gone);
        }
    }

    /// There are no devices any more: tasks that wait for them are cancelled, and completed like all others.
    #[cold]
    pub(super) fn take_back_from_devices(&self, ready: &mut Vec<(u32, Ready)>) {
        for Ticket { task, .. } in self.devices.drain().into_iter().filter(|ticket| ticket.only) {
            let record = self.slab.get(task.index());
            // SAFETY: the ticket was the only one, so this thread has the task.
            let owned = unsafe { Owned::new(task, record) };
            if record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed) & flag::CANCELLED == 0 {
                let message = "was not run: the runtime ended before a device was free";
                self.failures.refuse(task, Error::of_task(ErrorKind::Cancelled, self.origin(record), message));
            }
            self.offer_to_workers(owned, ready);
        }
    }

    /// A device takes a task. None when someone else has it, or it must not run; then it is complete.
    pub(crate) fn take_for_device<'c>(
        &'c self,
        local: &mut Local,
        place: &'c Place,
        lane: WorkerId,
        ticket: Ticket,
        broken: Option<&Error>,
    ) -> Option<OnDevice<'c>> {
        // A device that cannot be used leaves to others what others may run.
        if broken.is_some() && !ticket.only {
            return None;
        }
        // SAFETY: the task is ready.
        let mut task = unsafe { self.claim(ticket.task) }?;
        if let Some(error) = self.reason_to_cancel(&task) {
            self.tracer.of_task(EventKind::Cancelled, task.id, Some(lane));
            self.fail(&mut task, error);
            self.drop_body(&task);
            self.end(local, task);
            return None;
        }
        if let Some(error) = broken {
            self.fail_before_start(local, task, Some(lane), error);
            return None;
        }
        let mut input = Acquisition::new(task.args(), place.node, Some(Arc::clone(&place.memory)));
        // What cannot be brought is told when transfers progress.
        let _ = input.advance(&self.tracer.transfers(Some(lane)));
        Some(OnDevice { task, place, stage: Stage::Arriving(input), waits: false })
    }

    /// Makes the transfers of a task on a device progress. None when the task is complete: it failed.
    pub(crate) fn advance_on_device<'c>(
        &self,
        local: &mut Local,
        lane: WorkerId,
        mut on: OnDevice<'c>,
    ) -> Option<OnDevice<'c>> {
        let Stage::Arriving(mut input) = on.stage else { return Some(on) };
        let advanced = input.advance(&self.tracer.transfers(Some(lane)));
        if let Ok(false) = advanced {
            if !std::mem::replace(&mut on.waits, true) {
                self.tracer.idle(Some(lane), IdleReason::WaitingForData);
            }
            on.stage = Stage::Arriving(input);
            return Some(on);
        }
        if on.waits {
            self.tracer.busy(Some(lane));
        }
        if let Err(error) = advanced {
            self.fail_before_start(local, on.task, Some(lane), &error);
            return None;
        }
        on.stage = Stage::Arrived(input);
        Some(on)
    }

    /// Starts a task on a device, or asks whether it is done. None when it is complete.
    pub(crate) fn execute_on_device<'c>(
        &'c self,
        local: &mut Local,
        lane: WorkerId,
        mut on: OnDevice<'c>,
        device: &mut dyn Device,
    ) -> Option<OnDevice<'c>> {
        let (starts, mut launch) = match on.stage {
            Stage::Arriving(_) => return Some(on),
            Stage::Runs(launch) => (false, launch),
            Stage::Arrived(input) => {
                heal_overwritten(on.task.args());
                self.tracer.of_task(EventKind::Start, on.task.id, Some(lane));
                (true, self.launch(&on.task, on.place, input.addresses()))
            }
        };
        // A device that panics fails its task, and goes on.
        let asked = self.as_running(SharedLocal::new(local), on.task.id, on.task.record, None, |running| {
            let asked = panic::catch(|| if starts { device.start(&mut launch) } else { device.poll(&mut launch) });
            if !matches!(asked, Ok(Progress::Pending)) {
                self.settle_children(running);
            }
            asked
        });
        let result = match asked {
            Ok(Progress::Pending) => {
                on.stage = Stage::Runs(launch);
                return Some(on);
            }
            Ok(Progress::Done(result)) => self.outcome(on.task.record, Ok(result)),
            Err(said) => self.outcome(on.task.record, Err(said)),
        };
        let (is_used_up, mut task) = (launch.is_used_up(), on.task);
        drop(launch);
        if !is_used_up {
            self.drop_body(&task);
        }
        self.tracer.of_task(if result.is_err() { EventKind::Failed } else { EventKind::End }, task.id, Some(lane));
        if let Err(error) = result {
            self.fail(&mut task, error);
        }
        self.end(local, task);
        None
    }

    /// What a device is told about a task.
    fn launch<'c>(&self, task: &Owned<'c>, place: &'c Place, addresses: Vec<crate::memory::Address>) -> Launch<'c> {
        // SAFETY: the launch is dropped before the task is complete. Until then the device has the task, and of its rare parts
        // only `inside` is changed, of which nothing here is a part.
        let (name, args, extras) =
            unsafe { (task.record.title.words().whole().0, task.record.args(), task.record.extras()) };
        let (parameters, scratch, implementation) = extras.map_or((&[][..], &[][..], None), |extras| {
            (&*extras.parameters, &*extras.scratch, extras.implementation_for(place.kind).map(|known| &**known))
        });
        let (memory, body) = (&place.memory, task.body());
        Launch { name, args, addresses, memory, parameters, scratch, implementation, body, called: false }
    }
}
