//! What the worker of a device does, again and again.
//!
//! One turn has the same phases as that of a processor's worker, in the same order: choosing a task, building up a team (a
//! device is in none), preparing the task's input, making transfers progress, and execution, which means starting the task
//! or asking whether it is done. So a turn never waits for anything.

use drawloom_trace::{IdleReason, Phase};

use super::Device;
use super::queue::Place;
use crate::core::{Core, Local, OnDevice};
use crate::error::{Error, ErrorKind};
use crate::panic;
use crate::policy::WorkerId;
use crate::sync::thread;
use crate::worker::phases::Phases;

/// How often a device looks for a task before it sleeps.
const LOOKS: usize = 20;

/// The worker of a device.
struct DeviceWorker<'c> {
    core: &'c Core,
    place: &'c Place,
    /// Its number in recordings, after those of processors.
    lane: WorkerId,
    device: Box<dyn Device>,
    local: Local,
    /// Why the device cannot be used.
    broken: Option<Error>,
    /// Whether it leaves the tasks of its kind to others that can be used. Otherwise they fail here.
    retired: bool,
    /// The task that the device has.
    current: Option<OnDevice<'c>>,
}

/// The thread function of a device's worker.
pub(crate) fn run(core: &Core, number: usize, device: Box<dyn Device>) {
    let lane = core.workers.runtime.worker((core.workers.count + number) as u32);
    // Tasks that become ready here are for other workers, as if they came from outside.
    let mut local = Local::new(None);
    local.device = true;
    let place = &core.devices.places()[number];
    let (broken, retired, current) = (None, false, None);
    let mut worker = DeviceWorker { core, place, lane, device, local, broken, retired, current };
    core.inside(|| {
        worker.init();
        while worker.is_running() {
            if !worker.run_once() {
                worker.rest();
            }
        }
        worker.deinit();
    });
}

impl DeviceWorker<'_> {
    fn init(&mut self) {
        let begun = panic::catch(|| self.device.init());
        self.broken = begun.unwrap_or_else(|said| Err(Error::new(ErrorKind::Panicked, said))).err().map(|error| {
            let message = format!("device `{}` cannot be used: {}", self.place.name, error.message());
            Error::new(error.kind(), message)
        });
        self.retired = self.broken.is_some() && self.core.devices.give_up(self.place.kind);
    }

    fn is_running(&self) -> bool {
        !self.core.workers.is_stopping() || self.current.is_some()
    }

    /// One turn. False when there was nothing to do.
    fn run_once(&mut self) -> bool {
        let core = self.core;
        let mut phases = Phases::new(core, self.lane);
        phases.enter(Phase::Schedule);
        let is_free = self.current.is_none() && !self.retired;
        let ticket = if is_free { core.devices.pop(self.place.kind) } else { None };
        phases.enter(Phase::Team);
        phases.enter(Phase::Input);
        if let Some(ticket) = ticket {
            let (local, broken) = (&mut self.local, self.broken.as_ref());
            self.current = core.take_for_device(local, self.place, self.lane, ticket, broken);
            self.settle();
        }
        phases.enter(Phase::Transfers);
        if let Some(on) = self.current.take() {
            self.current = core.advance_on_device(&mut self.local, self.lane, on);
            self.settle();
        }
        if let Some(on) = self.current.take_if(|on| on.has_arrived()) {
            phases.enter(Phase::Execute);
            self.current = core.execute_on_device(&mut self.local, self.lane, on, &mut *self.device);
            self.settle();
        } else {
            phases.end();
        }
        if self.current.is_some() {
            thread::yield_now();
        }
        ticket.is_some() || self.current.is_some()
    }

    /// Hands out what became ready, if a task is complete.
    fn settle(&mut self) {
        if self.current.is_none() {
            self.core.hand_out(&mut self.local);
            self.core.devices.finished();
            self.core.flush(&mut self.local);
            self.core.waiters.note_quiet();
        }
    }

    /// Sleeps until there is something to do.
    fn rest(&mut self) {
        let core = self.core;
        core.tracer.idle(Some(self.lane), IdleReason::NoWork);
        for _ in 0..LOOKS {
            if !self.retired && core.devices.has_tickets(self.place.kind) {
                return core.tracer.busy(Some(self.lane));
            }
            thread::yield_now();
        }
        core.tracer.idle(Some(self.lane), IdleReason::Parked);
        core.devices.sleep(self.place.kind, self.retired, || core.workers.is_stopping());
        core.tracer.busy(Some(self.lane));
    }

    fn deinit(self) {
        let Self { core, place, mut device, .. } = self;
        // Whatever the user's code does, the runtime ends.
        for end in [panic::catch(|| device.deinit()), panic::catch(move || drop(device))] {
            if let Err(said) = end {
                let message = format!("device `{}` panicked at its end: {said}", place.name);
                core.failures.note_other(Error::new(ErrorKind::Panicked, message));
            }
        }
    }
}
