//! Running a program as messages.

use std::sync::Arc;

use drawloom_messages::{DeviceId, Executor, Machine as EventMachine, Settings};

use super::connect::{Connected, connect};
use super::controller::{BETWEEN, NEVER_PAUSES, PAUSED, PAUSES};
use super::declare::{Declared, of_events};
use super::element::{number, set_number};
use super::graph::compiled;
use super::options::Events;
use super::parts::parts;
use crate::checkpoint::{Keeper, Position};
use crate::error::{Error, ErrorKind};
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::Statement;
use crate::program::steps::Outermost;
use crate::run::{LoopStats, Machine, MessageCounts, Trouble};

/// A program as messages.
pub(crate) struct OnEvents {
    mesh: Arc<Mesh>,
    declared: Declared,
    connected: Connected,
    machine: EventMachine,
    executor: Executor,
    trouble: Arc<Trouble>,
    counts: MessageCounts,
    /// Why the devices are in no state from which a run could begin, if so.
    broken: Option<String>,
}

impl OnEvents {
    pub(crate) fn new(mesh: Arc<Mesh>, statements: &[Statement], events: Events) -> Result<Self, Error> {
        let trouble = Arc::new(Trouble::default());
        let declared = compiled(&mesh, statements, &events, ("drawloom_mesh", None, true), &trouble)?;
        let parts = match events.executor {
            Executor::Parallel { workers: workers @ 2.. } => {
                Some(parts(&mesh, &declared.invocations, workers, events.control))
            }
            _ => None,
        };
        let connected = connect(&mesh, &events, &declared, parts)?;
        let machine = EventMachine::new(&connected.instance);
        let counts = MessageCounts { devices: connected.instance.devices(), sends: 0, deliveries: 0 };
        Ok(Self { mesh, declared, connected, machine, executor: events.executor, trouble, counts, broken: None })
    }

    /// Runs until the program is at its end, or pauses.
    fn run_until_quiet(&mut self, settings: &Settings) -> Result<(), Error> {
        match self.machine.run(settings) {
            Ok(report) => {
                self.counts.sends += report.counts.sends;
                self.counts.deliveries += report.counts.deliveries;
                Ok(())
            }
            Err(error) => {
                let error = self.trouble.take().unwrap_or_else(|| of_events(error));
                if !self.is_between_loops()? {
                    self.broken = Some(error.to_string());
                }
                Err(error)
            }
        }
    }

    /// Where a member is in the state of the device with the control flow.
    fn at(&self, member: &str) -> Result<usize, Error> {
        self.declared.controller.offset_of(member).map_err(of_events)
    }

    fn set(&mut self, member: &str, value: u32) -> Result<(), Error> {
        let at = self.at(member)?;
        set_number(self.machine.state_mut(self.connected.global), at, value);
        Ok(())
    }

    /// How far a repetition is, by its number among the statements of the program.
    fn position(&self, statement: usize) -> Result<Position, Error> {
        let at = self.at("runs")? + 8 * self.outermost(statement)?.repeat;
        let runs = &self.machine.state(self.connected.global)[at..at + 8];
        Ok(Position { statement, runs: u64::from_ne_bytes(runs.try_into().expect("eight bytes")) })
    }

    /// The program goes on at a position.
    fn go_to(&mut self, from: Position) -> Result<(), Error> {
        let &Outermost { step, repeat, .. } = self.outermost(from.statement)?;
        let at = self.at("runs")? + 8 * repeat;
        self.set("pc", step as u32)?;
        let state = self.machine.state_mut(self.connected.global);
        state[at..at + 8].copy_from_slice(&from.runs.to_ne_bytes());
        Ok(())
    }

    fn outermost(&self, statement: usize) -> Result<&Outermost, Error> {
        self.declared.outermost.iter().find(|outermost| outermost.statement == statement).ok_or_else(|| {
            let message = format!("statement {statement} is no repetition; this is a mistake in Drawloom");
            Error::new(ErrorKind::Failed, message)
        })
    }

    /// Whether no loop is under way, so that every device is ready for the next one.
    fn is_between_loops(&self) -> Result<bool, Error> {
        let state = self.machine.state(self.connected.global);
        Ok(number(state, self.at("phase")?) == BETWEEN)
    }

    /// Copies a member of devices together, so that it can be read by its type.
    fn fetch(&self, values: &dyn Store, at: usize, devices: &[DeviceId]) -> Box<dyn Store> {
        let value = |device: &DeviceId| &self.machine.state(*device)[at..at + values.bytes_each()];
        let bytes: Vec<u8> = devices.iter().flat_map(value).copied().collect();
        values.like_bytes(&bytes).expect("kernels and scalar code leave values of the declared types")
    }
}

impl Machine for OnEvents {
    fn run(&mut self, from: Option<Position>, mut keeper: Option<&mut Keeper>) -> Result<(), Error> {
        if let Some(why) = &self.broken {
            let message = format!(
                "the program cannot run again as messages: it failed before in the middle of a loop, whose messages are \
                 lost ({why}); start it anew"
            );
            return Err(Error::new(ErrorKind::Failed, message));
        }
        let pause = self.at("pause")?;
        let goes_on = if keeper.is_some() { PAUSES } else { NEVER_PAUSES };
        self.set("pause", goes_on)?;
        self.set("pc", 0)?;
        if let Some(from) = from {
            self.go_to(from)?;
        }
        let mut settings = Settings::new(self.executor);
        if let Some(parts) = &self.connected.parts {
            settings = settings.partition(Arc::clone(parts));
        }
        loop {
            self.run_until_quiet(&settings)?;
            let paused = number(self.machine.state(self.connected.global), pause);
            let Some(statement) = paused.checked_sub(PAUSED) else { break };
            let position = self.position(statement as usize)?;
            if let Some(keeper) = keeper.as_mut().filter(|keeper| keeper.is_due(position)) {
                let mesh = Arc::clone(&self.mesh);
                keeper.save(&mesh, position, self)?;
            }
            self.set("pause", goes_on)?;
            self.go_to(position)?;
        }
        if number(self.machine.state(self.connected.global), self.at("pc")?) != self.declared.last_step {
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
