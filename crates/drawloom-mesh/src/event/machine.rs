//! Running a program as messages.

use std::sync::Arc;

use drawloom_event::{Executor, Machine as EventMachine, Settings};

use super::connect::{Connected, connect};
use super::declare::{Declared, of_events};
use super::graph::compiled;
use super::options::Events;
use super::parts::parts;
use crate::checkpoint::{Keeper, Position};
use crate::error::{Error, ErrorKind};
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::Statement;
use crate::run::{LoopStats, Machine, MessageCounts, Trouble};

/// A program as messages.
pub(crate) struct OnEvents {
    mesh: Arc<Mesh>,
    pub(super) declared: Declared,
    pub(super) connected: Connected,
    machine: EventMachine,
    executor: Executor,
    trouble: Arc<Trouble>,
    counts: MessageCounts,
}

impl OnEvents {
    pub(crate) fn new(mesh: Arc<Mesh>, statements: &[Statement], events: Events) -> Result<Self, Error> {
        Self::altered(mesh, statements, events, |_| ())
    }

    /// The same, after something was done to what is declared.
    pub(super) fn altered(
        mesh: Arc<Mesh>,
        statements: &[Statement],
        events: Events,
        alter: impl FnOnce(&mut Declared),
    ) -> Result<Self, Error> {
        let trouble = Arc::new(Trouble::default());
        let mut declared = compiled(&mesh, statements, &events, ("drawloom_mesh", None), &trouble)?;
        alter(&mut declared);
        let parts = match events.executor {
            Executor::Parallel { workers: workers @ 2.. } => {
                Some(parts(&mesh, &declared.invocations, workers, events.control))
            }
            _ => None,
        };
        let connected = connect(&mesh, &events, &declared, parts)?;
        if let Some(watch) = &declared.watch {
            watch.look_at(&connected.instance);
        }
        let machine = EventMachine::new(&connected.instance);
        let counts = MessageCounts { devices: connected.instance.devices(), sends: 0, deliveries: 0 };
        Ok(Self { mesh, declared, connected, machine, executor: events.executor, trouble, counts })
    }

    /// Copies a member of devices together, so that it can be read by its type.
    fn fetch(&self, values: &dyn Store, at: usize, devices: &[drawloom_event::DeviceId]) -> Box<dyn Store> {
        let size = values.bytes_each();
        // Aligned for every type.
        let mut words = vec![0_u128; (size * devices.len()).div_ceil(16)];
        let bytes = words.as_mut_ptr().cast::<u8>();
        for (number, device) in devices.iter().enumerate() {
            let value = &self.machine.state(*device)[at..at + size];
            // SAFETY: there is room for as many values as devices.
            unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), bytes.add(number * size), size) };
        }
        // SAFETY: there are as many values as the store has, of its type.
        unsafe { values.read_at(bytes) }
    }
}

impl Machine for OnEvents {
    fn can_stop(&self) -> bool {
        false
    }

    fn run(&mut self, _: Option<Position>, _: Option<&mut Keeper>) -> Result<(), Error> {
        let at = self.declared.controller.offset_of("pc").map_err(of_events)?;
        let pc = at..at + 4;
        self.machine.state_mut(self.connected.global)[pc.clone()].fill(0);
        let mut settings = Settings::new(self.executor);
        if let Some(parts) = &self.connected.parts {
            settings = settings.partition(Arc::clone(parts));
        }
        let report = self.machine.run(&settings);
        let report = report.map_err(|error| self.trouble.take().unwrap_or_else(|| of_events(error)))?;
        self.counts.sends += report.counts.sends;
        self.counts.deliveries += report.counts.deliveries;
        let step = &self.machine.state(self.connected.global)[pc];
        if step != self.declared.last_step.to_ne_bytes() {
            let message = "all devices are quiet, but the program is not at its end; this is a mistake in Drawloom";
            return Err(Error::new(ErrorKind::Failed, message));
        }
        Ok(())
    }

    fn dat(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        let dat = &self.mesh.dats[number as usize];
        let layout = &self.declared.elements[dat.set as usize].state;
        let at = layout.offset_of(&self.declared.names.dat(number)).map_err(of_events)?;
        Ok(self.fetch(&*dat.values, at, &self.connected.elements[dat.set as usize]))
    }

    fn global(&self, number: u32) -> Result<Box<dyn Store>, Error> {
        let global = &self.mesh.globals[number as usize];
        if global.constant {
            return Ok(global.values.duplicate());
        }
        let at = self.declared.controller.offset_of(&self.declared.names.global(number)).map_err(of_events)?;
        Ok(self.fetch(&*global.values, at, &[self.connected.global]))
    }

    fn stats(&self) -> Vec<LoopStats> {
        Vec::new()
    }

    fn messages(&self) -> Option<MessageCounts> {
        Some(self.counts)
    }
}
