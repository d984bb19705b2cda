//! What the worker of a device does, again and again: schedule, acquire inputs, advance copies, execute.

use std::time::Duration;

use super::{Device, Progress};
use crate::access::{Arg, Mode};
use crate::core::{Core, Local};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::replicate::{Acquiring, Attempt};
use crate::memory::{Address, Memory, MemoryId};
use crate::sync::{Arc, thread};
use crate::task::record::TaskId;

/// The thread function of a device's worker.
pub(crate) fn run(core: &Core, node: MemoryId, mut device: Box<dyn Device>) {
    // Tasks that become ready here are for other workers, as if they came from outside.
    let mut local = Local::new(None);
    let kind = core.devices.find(device.kind()).expect("the device was added");
    let memory = device.memory();
    let broken = device.init().err();
    while !core.workers.is_stopping() {
        match core.devices.pop(kind) {
            Some(task) => {
                run_task(core, &mut local, &mut *device, &memory, node, broken.as_ref(), task);
                core.hand_out(&mut local);
                core.devices.finished(kind);
                core.flush(&mut local);
                core.waiters.note_quiet();
            }
            None => core.devices.sleep(kind, Duration::from_millis(100)),
        }
    }
    device.deinit();
}

fn run_task(
    core: &Core,
    local: &mut Local,
    device: &mut dyn Device,
    memory: &Arc<dyn Memory>,
    node: MemoryId,
    broken: Option<&Error>,
    task: TaskId,
) {
    core.execute_on_device(local, task, memory, |launch| {
        if let Some(error) = broken {
            return Err(error.to_string().into());
        }
        launch.addresses = acquire(launch.args, node, Some(memory))?;
        let mut progress = device.start(launch);
        loop {
            match progress {
                Progress::Done(result) => return result,
                Progress::Pending => {
                    thread::yield_now();
                    progress = device.poll(launch);
                }
            }
        }
    });
}

/// Makes arguments proper in a memory, and waits for it. Copies for all of them are under way at the same time.
pub(crate) fn acquire(args: &[Arg], node: MemoryId, memory: Option<&Arc<dyn Memory>>) -> Result<Vec<Address>> {
    enum Stage {
        Fresh,
        Waits(Acquiring),
        Done(Address),
    }
    let mut stages: Vec<Stage> = args.iter().map(|_| Stage::Fresh).collect();
    loop {
        let mut all_done = true;
        for (stage, arg) in stages.iter_mut().zip(args) {
            let replicates = &arg.piece().tree().replicates;
            let attempt = match std::mem::replace(stage, Stage::Fresh) {
                // Contributions are private; what they are folded into may be anywhere until then.
                Stage::Fresh if arg.mode() == Mode::Reduce => Attempt::Done(Address(0)),
                Stage::Fresh => replicates.acquire(*arg, node, memory)?,
                Stage::Waits(acquiring) => replicates.advance(acquiring),
                Stage::Done(address) => Attempt::Done(address),
            };
            *stage = match attempt {
                Attempt::Done(address) => Stage::Done(address),
                Attempt::Wait(acquiring) => Stage::Waits(acquiring),
                Attempt::Busy => Stage::Fresh,
            };
            all_done &= matches!(stage, Stage::Done(_));
        }
        if all_done {
            break;
        }
        thread::yield_now();
    }
    let addresses = stages.into_iter().map(|stage| match stage {
        Stage::Done(address) => Ok(address),
        _ => Err(Error::new(ErrorKind::System, "an argument was not acquired")),
    });
    addresses.collect()
}
