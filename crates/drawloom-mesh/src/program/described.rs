//! A loop or scalar code while it is being described: its name, and its arguments so far.

use std::panic::Location;

use super::build::Program;
use crate::error::{Error, ErrorKind};
use crate::kernel::site::{ArgDecl, Declared};

/// What loops and scalar code have in common.
pub(super) struct Described<'p> {
    pub(super) program: &'p mut Program,
    /// What it is called in messages.
    what: &'static str,
    pub(super) name: String,
    pub(super) location: &'static Location<'static>,
    pub(super) args: Vec<ArgDecl>,
    pub(super) refused: Option<Error>,
}

impl<'p> Described<'p> {
    pub(super) fn new(
        program: &'p mut Program,
        what: &'static str,
        name: String,
        location: &'static Location<'static>,
    ) -> Self {
        Self { program, what, name, location, args: Vec::new(), refused: None }
    }

    pub(super) fn refuse(&mut self, message: impl std::fmt::Display) {
        let message = format!("{} `{}` at {}: {message}", self.what, self.name, self.location);
        self.refused.get_or_insert(Error::new(ErrorKind::Refused, message));
    }

    /// Adds an argument. One of another mesh, or through a column that a map does not have, is refused.
    pub(super) fn add(mut self, declared: Declared) -> Self {
        let mesh = self.program.mesh();
        let foreign = mesh.own(declared.arg.what(), declared.mesh).err();
        let foreign = foreign.or_else(|| {
            let what = if let ArgDecl::Global { .. } = declared.arg { "global" } else { "map" };
            declared.map_mesh.and_then(|with| mesh.own(what, with).err())
        });
        let map = declared.arg.map().filter(|_| foreign.is_none()).map(|map| mesh.maps[map as usize].name.clone());
        let number = self.args.len();
        if let Some(error) = foreign {
            self.refuse(format_args!("argument {number}: {error}"));
        }
        if let (Some((column, arity)), Some(map)) = (declared.column, map)
            && column >= arity
        {
            self.refuse(format_args!("argument {number}: column {column} of map `{map}`, which has {arity}"));
        }
        self.args.push(declared.arg);
        self
    }
}
