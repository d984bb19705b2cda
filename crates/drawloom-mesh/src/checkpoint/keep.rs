//! Saving the state of a run while it runs, and going on from there.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::identity::{Identity, changed_dats};
use super::position::{self, Position};
use super::state::{Checkpoint, fingerprint};
use crate::error::{Error, ErrorKind};
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::statement::Statement;
use crate::raw::{RawMesh, Values};
use crate::run::Machine;

/// When the state of a run is saved, and where: see [`Run::checkpoint`](crate::Run::checkpoint).
#[must_use]
pub struct Checkpoints {
    path: PathBuf,
    every: u64,
    notes: Option<Box<dyn Fn() -> Vec<u8> + Send>>,
}

impl Checkpoints {
    /// In a file, after every 100 runs of an outermost repetition.
    pub fn to(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), every: 100, notes: None }
    }

    /// After another number of runs.
    pub fn every(mut self, runs: u64) -> Self {
        self.every = runs;
        self
    }

    /// With notes, which the program gets back by [`Checkpoint::notes`]: what it has reported so far, for example. They are
    /// asked for when everything before the checkpoint is complete.
    pub fn with_notes(mut self, notes: impl Fn() -> Vec<u8> + Send + 'static) -> Self {
        self.notes = Some(Box::new(notes));
        self
    }
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").field("path", &self.path).field("every", &self.every).finish_non_exhaustive()
    }
}

/// What was saved during the runs of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// How many checkpoints were written.
    pub count: u64,
    /// How long the program stood still for it.
    pub time: Duration,
}

/// Saves states of one program.
pub(crate) struct Keeper {
    checkpoints: Checkpoints,
    identity: Identity,
    /// A checkpoint without values.
    empty: Checkpoint,
    changed: Vec<bool>,
    saved: Saved,
}

impl Keeper {
    pub(crate) fn new(mesh: &Mesh, statements: &[Statement], checkpoints: Checkpoints) -> Result<Self, Error> {
        if checkpoints.every == 0 {
            return Err(Error::new(ErrorKind::Argument, "a checkpoint after every 0 runs makes no sense"));
        }
        let changed = changed_dats(mesh, statements);
        let dats = mesh.dats.iter().zip(&changed).filter(|(_, changed)| **changed);
        let dats = dats.map(|(dat, _)| ("dat", &dat.name, &dat.values));
        let globals = mesh.globals.iter().filter(|global| !global.constant);
        let globals = globals.map(|global| ("global", &global.name, &global.values));
        if let Some((what, name, values)) = dats.chain(globals).find(|(_, _, values)| !values.kind().is_in_files()) {
            let message = format!("{what} `{name}` holds {}, which checkpoints cannot", values.kind());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let identity = Identity::of(mesh, statements);
        Ok(Self { checkpoints, identity, empty: empty(mesh), changed, saved: Saved::default() })
    }

    /// Whether a state is to be saved at a position.
    pub(crate) fn is_due(&self, position: Position) -> bool {
        position.runs.is_multiple_of(self.checkpoints.every)
    }

    /// Saves the state of a machine that stands still.
    pub(crate) fn save(&mut self, mesh: &Mesh, position: Position, machine: &dyn Machine) -> Result<(), Error> {
        let since = Instant::now();
        let mut checkpoint = self.empty.clone();
        for (number, dat) in mesh.dats.iter().enumerate().filter(|(number, _)| self.changed[*number]) {
            let values = plain(&*machine.dat(number as u32)?, &dat.name)?;
            checkpoint.add_dat(&dat.name, &mesh.sets[dat.set as usize].name, dat.values.dim(), values);
        }
        for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| !global.constant) {
            checkpoint.add_global(&global.name, plain(&*machine.global(number as u32)?, &global.name)?);
        }
        let notes = self.checkpoints.notes.as_ref().map(|notes| notes()).unwrap_or_default();
        checkpoint.set_position(position::encode(self.identity, position, &notes));
        checkpoint.save(&self.checkpoints.path)?;
        self.saved.count += 1;
        self.saved.time += since.elapsed();
        Ok(())
    }

    pub(crate) fn saved(&self) -> Saved {
        self.saved
    }
}

/// The mesh of a program with the values of a checkpoint, and where to go on.
pub(crate) fn restore(
    mesh: &Mesh,
    statements: &[Statement],
    checkpoint: &Checkpoint,
) -> Result<(Mesh, Position), Error> {
    let other = |message: String| Error::new(ErrorKind::Mismatch, message);
    checkpoint.check_sets(&as_raw(mesh), fingerprint_of(mesh))?;
    let Some((there, position)) = position::decode(checkpoint.position()) else {
        return Err(other("the checkpoint does not say where in a program it was written".to_owned()));
    };
    let here = Identity::of(mesh, statements);
    if there.program != here.program {
        let message = "the checkpoint is of another program: its loops, their arguments or the scalar code between them \
                       are not the same";
        return Err(other(message.to_owned()));
    }
    if there.fixed != here.fixed {
        let message = "the checkpoint is of the same program with other constants, or with other values in dats that it \
                       only reads";
        return Err(other(message.to_owned()));
    }
    match statements.get(position.statement) {
        Some(Statement::Repeat { count, .. }) if position.runs <= *count => {}
        Some(Statement::Repeat { name, count, .. }) => {
            let done = position.runs;
            return Err(other(format!(
                "the checkpoint was written after run {done} of `{name}`, which is to run {count} times here"
            )));
        }
        _ => return Err(other("the checkpoint was written in a repetition that is not there".to_owned())),
    }
    let mut restored = mesh.duplicate();
    let changed = changed_dats(mesh, statements);
    for dat in restored.dats.iter_mut().zip(changed).filter(|(_, changed)| *changed).map(|(dat, _)| dat) {
        let kept = checkpoint.dat(&dat.name)?;
        dat.values = typed(&*dat.values, &kept.values, "dat", &dat.name)?;
    }
    for global in restored.globals.iter_mut().filter(|global| !global.constant) {
        let kept = checkpoint.global(&global.name)?;
        global.values = typed(&*global.values, &kept.values, "global", &global.name)?;
    }
    Ok((restored, position))
}

fn plain(values: &dyn Store, name: &str) -> Result<Values, Error> {
    let unsupported = || Error::new(ErrorKind::Unsupported, format!("`{name}` holds what checkpoints cannot"));
    values.values().ok_or_else(unsupported)
}

fn typed(like: &dyn Store, kept: &Values, what: &str, name: &str) -> Result<Box<dyn Store>, Error> {
    like.like(kept).ok_or_else(|| {
        let (kind, count) = (like.kind(), like.len() * like.dim());
        let message = format!(
            "{what} `{name}` has {count} of {kind} here, and {} of {} in the checkpoint",
            kept.len(),
            kept.type_name()
        );
        Error::new(ErrorKind::Mismatch, message)
    })
}

/// The sets of a mesh, without anything else.
fn as_raw(mesh: &Mesh) -> RawMesh {
    let mut raw = RawMesh::new();
    for set in &mesh.sets {
        raw.add_set(&set.name, set.size);
    }
    raw
}

fn empty(mesh: &Mesh) -> Checkpoint {
    Checkpoint { fingerprint: fingerprint_of(mesh), state: as_raw(mesh), position: Vec::new() }
}

fn fingerprint_of(mesh: &Mesh) -> u64 {
    let sets = mesh.sets.iter().map(|set| (set.name.as_str(), set.size));
    let maps = mesh.maps.iter().map(|map| {
        let name = |set: u32| mesh.sets[set as usize].name.as_str();
        (map.name.as_str(), name(map.from), name(map.to), map.arity, &map.table[..])
    });
    fingerprint(sets, maps)
}
