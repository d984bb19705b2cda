//! Running a program as messages.

use std::sync::Arc;

use drawloom_event::{Executor, Machine as EventMachine, Settings};

use super::connect::{Connected, connect};
use super::controller::steps;
use super::declare::{Declared, declare, of_events};
use super::involved::Invocation;
use super::names::{Names, invocations};
use crate::checkpoint::{Keeper, Position};
use crate::error::Error;
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::{LoopDecl, Statement};
use crate::run::{LoopStats, Machine, MessageCounts, Trouble, for_each_loop};

/// How a program runs as messages.
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Events {
    pub(crate) executor: Executor,
}

impl Events {
    /// With messages delivered in the order in which they were sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another order of messages, or on several workers.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }
}

/// A program as messages.
pub(crate) struct OnEvents {
    mesh: Arc<Mesh>,
    declared: Declared,
    connected: Connected,
    machine: EventMachine,
    executor: Executor,
    trouble: Arc<Trouble>,
    counts: MessageCounts,
}

impl OnEvents {
    pub(crate) fn new(mesh: Arc<Mesh>, statements: &[Statement], events: Events) -> Result<Self, Error> {
        let mut loops: Vec<Arc<LoopDecl>> = Vec::new();
        for_each_loop(statements, &mut |decl| loops.push(Arc::clone(decl)));
        let names = invocations(loops.iter().map(|decl| &decl.invocation));
        let of = |(name, decl): (String, &Arc<LoopDecl>)| Invocation::new(&mesh, name, Arc::clone(decl));
        let list = names.into_iter().zip(&loops).map(of).collect();
        let (steps, runs) = steps(statements, &loops);
        let trouble = Arc::new(Trouble::default());
        let declared = declare(&mesh, Names::new(&mesh), list, steps, runs, &trouble)?;
        let connected = connect(&mesh, &declared)?;
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
        self.machine.state_mut(self.connected.global)[at..at + 4].fill(0);
        let report = self.machine.run(&Settings::new(self.executor));
        let report = report.map_err(|error| self.trouble.take().unwrap_or_else(|| of_events(error)))?;
        self.counts.sends += report.counts.sends;
        self.counts.deliveries += report.counts.deliveries;
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
