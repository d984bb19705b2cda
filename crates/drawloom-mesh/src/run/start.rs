//! A program with its data, on a backend.

use std::sync::Arc;

use drawloom_runtime::Element;

use super::serial::Serial;
use super::stats::LoopStats;
use super::threads::{OnThreads, Threads};
use crate::checkpoint::{Checkpoint, Checkpoints, Keeper, Position, Saved, restore};
use crate::error::{Error, ErrorKind};
#[cfg(feature = "messages")]
use crate::event::{Events, OnEvents};
use crate::mesh::store::{Store, Typed};
use crate::mesh::{Dat, Global, Mesh};
use crate::program::Program;
use crate::program::statement::Statement;

/// What a program runs on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// One iteration after the other: the reference that all others are compared with.
    Serial,
    /// One iteration after the other in an order that is shuffled with the given seed, on copies: a program whose result
    /// depends on the order of iterations is likely to show it.
    Debug {
        /// Decides the order.
        seed: u64,
    },
    /// Blocks of iterations as tasks of the engine, on several workers.
    Threads(Threads),
    /// A device for each element, and messages between them.
    #[cfg(feature = "messages")]
    Events(Events),
}

/// What runs the statements of a program.
pub(crate) trait Machine: Send {
    /// Runs the program, from a position on if there is one. The keeper saves states where they are due.
    fn run(&mut self, from: Option<Position>, keeper: Option<&mut Keeper>) -> Result<(), Error>;
    fn dat(&self, number: u32) -> Result<Box<dyn Store>, Error>;
    fn global(&self, number: u32) -> Result<Box<dyn Store>, Error>;
    fn stats(&self) -> Vec<LoopStats>;
    fn messages(&self) -> Option<MessageCounts> {
        None
    }
}

/// What a program that runs as messages amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageCounts {
    /// How many devices there are.
    pub devices: usize,
    /// How often a device sent something, so far.
    pub sends: u64,
    /// How many messages arrived, so far.
    pub deliveries: u64,
}

/// A program that has its own copy of the mesh's data and can run.
pub struct Run {
    mesh: Arc<Mesh>,
    statements: Arc<[Statement]>,
    machine: Box<dyn Machine>,
    keeper: Option<Keeper>,
    /// Where the next run begins, if not at the beginning.
    from: Option<Position>,
}

impl Program {
    /// Prepares the program for a backend: data is laid out, and loops are cut into tasks.
    ///
    /// # Errors
    /// When a statement of the program was refused, and when the backend has no workers.
    pub fn start(&self, backend: Backend) -> Result<Run, Error> {
        self.prepare(Arc::clone(self.mesh()), backend)
    }

    /// Prepares the program for a backend, with the state of a checkpoint that was saved while it ran, on this or another
    /// backend, by [`Run::checkpoint`]. The next [`Run::run`] goes on from there. It may be for more runs of an outermost
    /// repetition than were planned. That kernels compute the same as those that were stopped cannot be seen.
    ///
    /// # Errors
    /// As [`Program::start`]; and when the checkpoint is of another mesh, of another program, or of the same with other
    /// constants.
    pub fn resume(&self, backend: Backend, checkpoint: &Checkpoint) -> Result<Run, Error> {
        let (mesh, position) = restore(self.mesh(), self.statements()?, checkpoint)?;
        let mut run = self.prepare(Arc::new(mesh), backend)?;
        run.from = Some(position);
        Ok(run)
    }

    fn prepare(&self, mesh: Arc<Mesh>, backend: Backend) -> Result<Run, Error> {
        let statements: Arc<[Statement]> = self.statements()?.into();
        let machine: Box<dyn Machine> = match backend {
            Backend::Serial => Box::new(Serial::new(Arc::clone(&mesh), &statements, None)),
            Backend::Debug { seed } => Box::new(Serial::new(Arc::clone(&mesh), &statements, Some(seed))),
            #[cfg(feature = "messages")]
            Backend::Events(events) => Box::new(OnEvents::new(Arc::clone(&mesh), &statements, events)?),
            Backend::Threads(threads) => Box::new(OnThreads::new(Arc::clone(&mesh), &statements, &threads)?),
        };
        Ok(Run { mesh, statements, machine, keeper: None, from: None })
    }
}

impl Run {
    /// Runs the program from its beginning to its end, on the data as it is; or once, from where a checkpoint was saved, if
    /// the run was prepared by [`Program::resume`].
    ///
    /// # Errors
    /// When a kernel panics or does not write what it must, when scalar code returns an error, when a number that must be
    /// finite is not, and when a checkpoint cannot be saved. The program stops there; an older checkpoint is still whole.
    /// As messages, a program that failed in the middle of a loop does not run again: start it anew.
    pub fn run(&mut self) -> Result<(), Error> {
        let from = self.from.take();
        self.machine.run(from, self.keeper.as_mut()).map_err(|error| match error.kind() {
            ErrorKind::NotFinite => self.with_place(&error),
            _ => error,
        })
    }

    /// Saves the state of the program to a file again and again while it runs: after some of the runs of every repetition
    /// that is in no other. The file is replaced as a whole or not at all. If that fails the program stops.
    ///
    /// Saved are the dats that loops change, and the globals. Nothing depends on the backend or on its workers.
    ///
    /// # Errors
    /// When a dat that is to be saved holds structs, and when there would be a checkpoint after every 0 runs.
    pub fn checkpoint(&mut self, checkpoints: Checkpoints) -> Result<(), Error> {
        self.keeper = Some(Keeper::new(&self.mesh, &self.statements, checkpoints)?);
        Ok(())
    }

    /// What was saved so far.
    pub fn saved(&self) -> Saved {
        self.keeper.as_ref().map(Keeper::saved).unwrap_or_default()
    }

    /// The error with where the first number that is not finite is among the dats.
    fn with_place(&self, error: &Error) -> Error {
        let places: Vec<String> = (0..self.mesh.dats.len())
            .filter_map(|number| {
                let dat = &self.mesh.dats[number];
                let (element, component) = self.machine.dat(number as u32).ok()?.first_not_finite()?;
                let set = &self.mesh.sets[dat.set as usize].name;
                Some(format!("dat `{}` at element {element} of `{set}`, component {component}", dat.name))
            })
            .collect();
        let places = if places.is_empty() { "no dat holds such a number".to_owned() } else { places.join("; ") };
        Error::new(ErrorKind::NotFinite, format!("{error}; first in {places}"))
    }

    /// The values of a dat, in the order of its elements.
    ///
    /// # Errors
    /// When the dat is another mesh's, or a loop that should have changed it failed.
    pub fn dat<T: Element, const N: usize>(&self, dat: Dat<T, N>) -> Result<Vec<[T; N]>, Error> {
        self.mesh.own("dat", dat.mesh)?;
        let values = self.machine.dat(dat.number)?;
        Ok(values.as_any().downcast_ref::<Typed<T, N>>().expect("a handle has the type of its values").0.clone())
    }

    /// The value of a global.
    ///
    /// # Errors
    /// When the global is another mesh's, or a loop that should have changed it failed.
    pub fn global<T: Element, const N: usize>(&self, global: Global<T, N>) -> Result<[T; N], Error> {
        self.mesh.own("global", global.mesh)?;
        let values = self.machine.global(global.number)?;
        Ok(values.as_any().downcast_ref::<Typed<T, N>>().expect("a handle has the type of its values").0[0])
    }

    /// How many messages there were, if the program runs as messages.
    pub fn messages(&self) -> Option<MessageCounts> {
        self.machine.messages()
    }

    /// What is known about the loops, in the order of the program.
    pub fn stats(&self) -> Vec<LoopStats> {
        self.machine.stats()
    }
}
