//! The statements of a program.

use std::any::TypeId;
use std::panic::Location;
use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::kernel::args::Folding;
use crate::kernel::body::LoopBody;
use crate::kernel::place::Place;
use crate::kernel::site::ArgDecl;

/// A loop over a set.
pub(crate) struct LoopDecl {
    /// What the user called it.
    pub(crate) name: String,
    /// Its name among all loops of the program: the same, or with a number where several have that name.
    pub(crate) invocation: String,
    pub(crate) location: &'static Location<'static>,
    pub(crate) set: u32,
    pub(crate) args: Vec<ArgDecl>,
    pub(crate) body: Box<dyn LoopBody>,
    /// How contributions to each argument are folded, where it has any.
    pub(crate) foldings: Vec<Option<Folding>>,
}

impl LoopDecl {
    /// What went wrong in it, with its name and its place in the user's program.
    pub(crate) fn failed(&self, said: &str) -> Error {
        failed("loop", &self.name, self.location, said)
    }
}

/// The body of scalar code. The places are those of its globals, in order.
pub(crate) type ScalarBody = Box<dyn Fn(&[Place]) -> Result<(), String> + Send + Sync>;

/// Scalar code on globals.
pub(crate) struct ScalarDecl {
    pub(crate) name: String,
    pub(crate) location: &'static Location<'static>,
    pub(crate) args: Vec<ArgDecl>,
    pub(crate) body: ScalarBody,
    /// The type of the code: scalar code with the same one runs the same function.
    pub(crate) code: TypeId,
}

impl ScalarDecl {
    /// What went wrong in it, with its name and its place in the user's program.
    pub(crate) fn failed(&self, said: &str) -> Error {
        failed("scalar code", &self.name, self.location, said)
    }
}

fn failed(what: &str, name: &str, location: &Location<'_>, said: &str) -> Error {
    Error::new(ErrorKind::Failed, format!("{what} `{name}` at {location} failed: {said}"))
}

/// What decides a branch: a global, and whether its value counts as true.
#[derive(Clone, Copy)]
pub(crate) struct Condition {
    pub(crate) global: u32,
    pub(crate) test: fn(&dyn std::any::Any) -> bool,
}

/// One statement.
#[derive(Clone)]
pub(crate) enum Statement {
    Loop(Arc<LoopDecl>),
    Scalar(Arc<ScalarDecl>),
    /// Runs the body a number of times; the counter, if any, is the number of the run, from zero, and the number of runs
    /// afterwards.
    Repeat {
        name: Arc<str>,
        count: u64,
        counter: Option<u32>,
        body: Arc<[Statement]>,
    },
    While {
        condition: Condition,
        body: Arc<[Statement]>,
    },
    If {
        condition: Condition,
        then: Arc<[Statement]>,
        otherwise: Arc<[Statement]>,
    },
    /// Stops with an error when a global is not a finite number.
    RequireFinite {
        global: u32,
    },
}
