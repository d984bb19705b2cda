//! Tasks on devices: who gets them, and what becomes of them there.

use drawloom_trace::{EventKind, IdleReason};

use super::retry::Saved;
use super::{Core, Local, RUNNING, Running};
use crate::access::{Arg, Mode};
use crate::device::queue::{Place, Ticket};
use crate::device::{Device, Launch, Progress};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::MemoryId;
use crate::memory::acquisition::Acquisition;
use crate::panic;
use crate::policy::{Ready, WorkerId};
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::extras::Extras;
use crate::task::record::{Record, TaskId, flag};
use crate::task::spec::Spec;

/// A task that a device has claimed.
pub(crate) struct OnDevice<'c> {
    task: TaskId,
    record: &'c Record,
    place: &'c Place,
    stage: Stage<'c>,
    /// What the task may overwrite, if it can be tried again.
    saved: Option<Saved>,
    /// How often it may still be tried again.
    left: u32,
    /// Whether its device was seen to wait for its data, and to start it.
    waits: bool,
    started: bool,
    /// Whether its body was used up.
    used_up: bool,
}

/// How far a task on a device has come.
enum Stage<'c> {
    /// Its data is on the way: to this process first, if it must be saved.
    Arriving(Acquisition),
    /// Everything is in the device's memory.
    Arrived(Acquisition),
    Runs(Launch<'c>),
    /// It failed, and is tried again when the children of the failed attempt are complete: these may not be.
    Rests(Vec<TaskId>),
}

impl OnDevice<'_> {
    /// Whether all data of the task has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        !matches!(self.stage, Stage::Arriving(_))
    }

    /// Whether the task waits for children of a failed attempt. Its device has time for others meanwhile, which those
    /// children may depend on.
    pub(crate) fn rests(&self) -> bool {
        matches!(self.stage, Stage::Rests(_))
    }

    pub(crate) fn task(&self) -> TaskId {
        self.task
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
    pub(super) fn check_devices(&self, record: &Record, spec: &mut Spec) {
        let (args, Some(extras)) = self.parts(record) else { return };
        if !Self::leave_to_processors(args, extras, spec) {
            // A task that is refused is completed by a worker, too.
            record.flags.fetch_and(!flag::DEVICE, Ordering::Relaxed);
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
    pub(super) fn offer_to_devices(&self, task: TaskId, record: &Record, ready: &mut Vec<(u32, Ready)>) {
        let extras = self.parts(record).1.expect("a task for devices says for which");
        let is_gone = |task: TaskId| self.slab.get(task.index()).was_claimed(task.generation());
        if let Some(kind) = extras.device {
            self.devices.push(kind, Ticket { task, only: true }, is_gone);
            // SeqCst: in one order with `stopped`. Either this sees that the devices are gone, or that sees the ticket.
            if self.stopped.load(Ordering::SeqCst) {
                self.take_back_from_devices(ready);
            }
            return;
        }
        // From the first offer on, someone may run the task, and complete it.
        let kinds: Vec<u32> = extras.implementations.iter().map(|(kind, _)| *kind).collect();
        self.offer_to_workers(task, record, ready);
        for kind in kinds {
            self.devices.push(kind, Ticket { task, only: false }, is_gone);
        }
    }

    /// There are no devices any more: tasks that wait for them are cancelled, and completed like all others.
    #[cold]
    pub(super) fn take_back_from_devices(&self, ready: &mut Vec<(u32, Ready)>) {
        for Ticket { task, .. } in self.devices.drain().into_iter().filter(|ticket| ticket.only) {
            let record = self.slab.get(task.index());
            // The ticket was the only one, so this thread has the task.
            if record.flags.fetch_or(flag::CANCELLED, Ordering::Relaxed) & flag::CANCELLED == 0 {
                let message = "was not run: the runtime ended before a device was free";
                self.failures.refuse(task, Error::of_task(ErrorKind::Cancelled, self.origin(record), message));
            }
            self.offer_to_workers(task, record, ready);
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
        let task = ticket.task;
        // A device that cannot be used leaves to others what others may run.
        if broken.is_some() && !ticket.only {
            return None;
        }
        let record = self.slab.get(task.index());
        if !record.claim(task.generation()) {
            return None;
        }
        let (args, extras) = self.parts(record);
        if let Some(error) = self.reason_to_cancel(task, record, args) {
            self.tracer.of_task(EventKind::Cancelled, task, Some(lane));
            self.fail(task, record, args, error);
            self.drop_body(record);
            self.end(local, task.index(), record);
            return None;
        }
        if let Some(error) = broken {
            self.fail_before_start(local, task, Some(lane), error);
            return None;
        }
        let left = extras.map_or(0, |extras| extras.retries);
        let mut input = if left > 0 {
            Acquisition::new(&changed(args, Mode::Read), MemoryId::HOST, None)
        } else {
            Acquisition::new(args, place.node, Some(Arc::clone(&place.memory)))
        };
        // What cannot be brought is told when transfers progress.
        let _ = input.advance(&self.tracer.transfers(Some(lane)));
        let stage = Stage::Arriving(input);
        let (waits, started, used_up) = (false, false, false);
        Some(OnDevice { task, record, place, stage, saved: None, left, waits, started, used_up })
    }

    /// Makes the transfers of a task on a device progress. False when the task is complete: it failed.
    pub(crate) fn advance_on_device(&self, local: &mut Local, lane: WorkerId, on: &mut OnDevice<'_>) -> bool {
        let log = self.tracer.transfers(Some(lane));
        while let Stage::Arriving(input) = &mut on.stage {
            match input.advance(&log) {
                Ok(false) => {
                    if !std::mem::replace(&mut on.waits, true) {
                        self.tracer.idle(Some(lane), IdleReason::WaitingForData);
                    }
                    return true;
                }
                Ok(true) if on.left > 0 && on.saved.is_none() => {
                    let args = self.parts(on.record).0;
                    on.saved = Some(Saved::save(args));
                    let memory = Some(Arc::clone(&on.place.memory));
                    on.stage = Stage::Arriving(Acquisition::new(args, on.place.node, memory));
                }
                Ok(true) => {
                    let none = Acquisition::new(&[], on.place.node, None);
                    on.stage = Stage::Arrived(std::mem::replace(input, none));
                }
                Err(error) => {
                    self.stop_waiting(lane, on);
                    self.fail_before_start(local, on.task, Some(lane), &error);
                    return false;
                }
            }
        }
        self.stop_waiting(lane, on);
        true
    }

    fn stop_waiting(&self, lane: WorkerId, on: &mut OnDevice<'_>) {
        if std::mem::replace(&mut on.waits, false) {
            self.tracer.busy(Some(lane));
        }
    }

    /// Starts a task on a device, or asks whether it is done. False when it is complete.
    pub(crate) fn execute_on_device<'c>(
        &'c self,
        local: &mut Local,
        lane: WorkerId,
        on: &mut OnDevice<'c>,
        device: &mut dyn Device,
    ) -> bool {
        let (task, record) = (on.task, on.record);
        let starts = match &on.stage {
            Stage::Arriving(_) | Stage::Rests(_) => return true,
            Stage::Runs(_) => false,
            Stage::Arrived(input) => {
                if !std::mem::replace(&mut on.started, true) {
                    // What is overwritten counts as proper from here on: the body's children may spoil it again.
                    for arg in self.parts(record).0.iter().filter(|a| a.mode().replaces()) {
                        arg.piece().tree().heal(&arg.piece().indices);
                    }
                    self.tracer.of_task(EventKind::Start, task, Some(lane));
                }
                on.stage = Stage::Runs(self.launch(record, on.place, input.addresses()));
                true
            }
        };
        let Stage::Runs(launch) = &mut on.stage else { return true };
        let running = Running { core: self, id: task, record, local, node: None, outer: RUNNING.get() };
        let before = RUNNING.replace((&raw const running).cast());
        // A device that panics fails its task, and goes on.
        let asked = panic::catch(|| if starts { device.start(launch) } else { device.poll(launch) });
        let result = match asked {
            Ok(Progress::Pending) => {
                RUNNING.set(before);
                return true;
            }
            Ok(Progress::Done(Ok(()))) => Ok(()),
            Ok(Progress::Done(Err(error))) => Err(self.error_of(record, error)),
            Err(said) => Err(Error::of_task(ErrorKind::Panicked, self.origin(record), said)),
        };
        self.settle_children(&running);
        RUNNING.set(before);
        on.used_up |= launch.is_used_up();
        match result {
            Err(_) if self.try_again(on) => true,
            result => {
                self.finish_on_device(local, lane, on, result.err());
                false
            }
        }
    }

    /// What a device is told about a task.
    fn launch<'c>(&self, record: &'c Record, place: &'c Place, addresses: Vec<crate::memory::Address>) -> Launch<'c> {
        let (args, extras) = self.parts(record);
        // SAFETY: only this thread has the task.
        let (name, table, payload) = unsafe {
            let description = (*record.description.get()).assume_init_mut();
            (description.name, description.table, &raw mut description.payload)
        };
        let extras: Option<&'c _> = extras.map(|extras| &*extras);
        // SAFETY: the rare parts of the task that runs are not freed before it is complete, nor changed, except for
        // `inside`, which these borrows do not touch.
        let (parameters, scratch, implementation) = extras.map_or((&[][..], &[][..], None), |extras| unsafe {
            let implementation = extras.implementation_for(place.kind).map(|i| &*Arc::as_ptr(i));
            (&*std::ptr::from_ref(&*extras.parameters), &*std::ptr::from_ref(&*extras.scratch), implementation)
        });
        let (memory, body) = (&place.memory, (table, payload));
        Launch { name, args, addresses, memory, parameters, scratch, implementation, body, called: false }
    }

    /// After a failure: restores what the task had overwritten, if it may be tried again.
    fn try_again(&self, on: &mut OnDevice<'_>) -> bool {
        let Some(saved) = &on.saved else { return false };
        let args = self.parts(on.record).0;
        // As if this process had written it: what is in the device's memory counts no more.
        let here = self.make_proper_here(&changed(args, Mode::Write));
        saved.restore(args);
        if here.is_err() || on.left == 0 || on.record.flags.load(Ordering::Relaxed) & flag::CANCELLED != 0 {
            return false;
        }
        on.left -= 1;
        on.stage = Stage::Rests(Vec::new());
        self.wake_on_device(on);
        true
    }

    /// Begins the next attempt of a task that rests, if it can. False when it still rests.
    pub(crate) fn wake_on_device(&self, on: &mut OnDevice<'_>) -> bool {
        if let Stage::Rests(children) = &mut on.stage {
            if !self.has_attempt_ended(on.task, on.record, children) {
                return false;
            }
            let (args, memory) = (self.parts(on.record).0, Some(Arc::clone(&on.place.memory)));
            on.stage = Stage::Arriving(Acquisition::new(args, on.place.node, memory));
        }
        true
    }

    fn finish_on_device(&self, local: &mut Local, lane: WorkerId, on: &mut OnDevice<'_>, failed: Option<Error>) {
        let (task, record) = (on.task, on.record);
        // SAFETY: only this thread has the task.
        let again = unsafe { (*record.description.get()).assume_init_ref() }.table.again;
        if again || !on.used_up {
            self.drop_body(record);
        }
        self.tracer.of_task(if failed.is_some() { EventKind::Failed } else { EventKind::End }, task, Some(lane));
        if let Some(error) = failed {
            self.fail(task, record, self.parts(record).0, error);
        }
        self.end(local, task.index(), record);
    }
}

/// What a task changes, to be used in a way.
fn changed(args: &[Arg], mode: Mode) -> Vec<Arg> {
    let changed = args.iter().filter(|a| a.mode().mutates() && a.mode() != Mode::Reduce);
    changed.map(|arg| Arg::new(arg.piece(), mode)).collect()
}
