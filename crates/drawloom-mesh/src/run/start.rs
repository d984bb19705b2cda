//! A program with its data, on a backend.

use std::sync::Arc;

use drawloom_runtime::Portable;

use super::serial::Serial;
use super::stats::LoopStats;
use super::threads::{OnThreads, Threads};
use crate::error::{Error, ErrorKind};
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
}

/// What runs the statements of a program.
pub(crate) trait Machine: Send {
    fn run(&mut self) -> Result<(), Error>;
    fn dat(&self, number: u32) -> Result<Box<dyn Store>, Error>;
    fn global(&self, number: u32) -> Result<Box<dyn Store>, Error>;
    fn stats(&self) -> Vec<LoopStats>;
}

/// A program that has its own copy of the mesh's data and can run.
pub struct Run {
    mesh: Arc<Mesh>,
    machine: Box<dyn Machine>,
}

impl Program {
    /// Prepares the program for a backend: data is laid out, and loops are cut into tasks.
    ///
    /// # Errors
    /// When a statement of the program was refused, and when the backend has no workers.
    pub fn start(&self, backend: Backend) -> Result<Run, Error> {
        let statements: Arc<[Statement]> = self.statements()?.into();
        let mesh = Arc::clone(self.mesh());
        let machine: Box<dyn Machine> = match backend {
            Backend::Serial => Box::new(Serial::new(Arc::clone(&mesh), statements, None)),
            Backend::Debug { seed } => Box::new(Serial::new(Arc::clone(&mesh), statements, Some(seed))),
            Backend::Threads(threads) => Box::new(OnThreads::new(Arc::clone(&mesh), statements, &threads)?),
        };
        Ok(Run { mesh, machine })
    }
}

impl Run {
    /// Runs the program from its beginning to its end, on the data as it is.
    ///
    /// # Errors
    /// When a kernel panics or does not write what it must, when scalar code returns an error, and when a number that must
    /// be finite is not.
    pub fn run(&mut self) -> Result<(), Error> {
        self.machine.run().map_err(|error| match error.kind() {
            ErrorKind::NotFinite => self.with_place(&error),
            _ => error,
        })
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
    pub fn dat<T: Portable, const N: usize>(&self, dat: Dat<T, N>) -> Result<Vec<[T; N]>, Error> {
        self.mesh.own("dat", dat.mesh)?;
        let values = self.machine.dat(dat.number)?;
        Ok(values.as_any().downcast_ref::<Typed<T, N>>().expect("a handle has the type of its values").0.clone())
    }

    /// The value of a global.
    ///
    /// # Errors
    /// When the global is another mesh's, or a loop that should have changed it failed.
    pub fn global<T: Portable, const N: usize>(&self, global: Global<T, N>) -> Result<[T; N], Error> {
        self.mesh.own("global", global.mesh)?;
        let values = self.machine.global(global.number)?;
        Ok(values.as_any().downcast_ref::<Typed<T, N>>().expect("a handle has the type of its values").0[0])
    }

    /// What is known about the loops, in the order of the program.
    pub fn stats(&self) -> Vec<LoopStats> {
        self.machine.stats()
    }
}
