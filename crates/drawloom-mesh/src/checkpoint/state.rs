//! What is in a checkpoint.

use std::path::Path;

use super::{format, position};
use crate::error::{Error, ErrorKind};
use crate::files::{self, save};
use crate::raw::{RawConstant, RawDat, RawMesh, RawSet, Values};

/// The state of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    pub(super) fingerprint: u64,
    pub(super) state: RawMesh,
    pub(super) position: Vec<u8>,
}

impl Checkpoint {
    /// An empty state of a program on a mesh.
    pub fn of(mesh: &RawMesh) -> Self {
        let state = RawMesh { sets: mesh.sets.clone(), ..RawMesh::default() };
        Self { fingerprint: fingerprint_of(mesh), state, position: Vec::new() }
    }

    /// Adds the values of a dat.
    pub fn add_dat(&mut self, name: &str, set: &str, dim: usize, values: Values) -> &mut Self {
        self.state.add_dat(name, set, dim, values);
        self
    }

    /// Adds the values of a global.
    pub fn add_global(&mut self, name: &str, values: Values) -> &mut Self {
        self.state.add_constant(name, values);
        self
    }

    /// Says where in the program this is.
    pub fn set_position(&mut self, position: Vec<u8>) -> &mut Self {
        self.position = position;
        self
    }

    /// The sets of the mesh.
    pub fn sets(&self) -> &[RawSet] {
        &self.state.sets
    }

    /// All dats.
    pub fn dats(&self) -> &[RawDat] {
        &self.state.dats
    }

    /// The dat of that name.
    pub fn dat(&self, name: &str) -> Result<&RawDat, Error> {
        self.state.dat(name)
    }

    /// All globals.
    pub fn globals(&self) -> &[RawConstant] {
        &self.state.constants
    }

    /// The global of that name.
    pub fn global(&self, name: &str) -> Result<&RawConstant, Error> {
        self.state.constant(name)
    }

    /// Where in the program this is.
    pub fn position(&self) -> &[u8] {
        &self.position
    }

    /// Of a checkpoint that a run wrote, how many runs of the repetition that it was in were complete.
    pub fn runs(&self) -> Option<u64> {
        position::decode(&self.position).map(|(_, position)| position.runs)
    }

    /// Of a checkpoint that a run wrote, the notes that came with it.
    pub fn notes(&self) -> &[u8] {
        self.position.get(position::LENGTH..).unwrap_or_default()
    }

    /// Refuses a mesh that is not the one of this state: another size of a set, or another map.
    pub fn check_mesh(&self, mesh: &RawMesh) -> Result<(), Error> {
        self.check_sets(mesh, fingerprint_of(mesh))
    }

    /// Refuses a mesh with other sets, or with another fingerprint.
    pub(super) fn check_sets(&self, mesh: &RawMesh, fingerprint: u64) -> Result<(), Error> {
        let wrong = |message: String| {
            Err(Error::new(ErrorKind::Mismatch, format!("the checkpoint is of another mesh: {message}")))
        };
        for set in &mesh.sets {
            match self.state.sets.iter().find(|there| there.name == set.name) {
                None => return wrong(format!("it knows no set `{}`", set.name)),
                Some(there) if there.size != set.size => {
                    return wrong(format!("`{}` has {} elements there and {} here", set.name, there.size, set.size));
                }
                Some(_) => {}
            }
        }
        if self.state.sets.len() != mesh.sets.len() {
            return wrong(format!("it has {} sets, and there are {} here", self.state.sets.len(), mesh.sets.len()));
        }
        if self.fingerprint != fingerprint {
            return wrong("the sets have the same sizes, and the maps are others".to_owned());
        }
        Ok(())
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        format::encode(self)
    }

    /// The state in the bytes of a file. It is checked.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let checkpoint = format::decode(bytes)?;
        checkpoint.state.check()?;
        Ok(checkpoint)
    }

    /// Writes a file. If that fails, on a full disk for example, a file that was there before is still there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.state.check()?;
        save::replace_by(path.as_ref(), &self.to_bytes())
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        Self::from_bytes(&files::load(path)?).map_err(|error| error.in_file(path))
    }
}

fn fingerprint_of(mesh: &RawMesh) -> u64 {
    let sets = mesh.sets.iter().map(|set| (set.name.as_str(), set.size));
    let maps = mesh.maps.iter().map(|map| (&*map.name, &*map.from, &*map.to, map.arity, &map.table[..]));
    fingerprint(sets, maps)
}

/// A number that differs, almost certainly, for meshes of different sets or maps. Dats do not count: they are the state.
pub(super) fn fingerprint<'a>(
    sets: impl Iterator<Item = (&'a str, usize)>,
    maps: impl Iterator<Item = (&'a str, &'a str, &'a str, usize, &'a [u32])>,
) -> u64 {
    let (mut names, mut tables) = (crc32fast::Hasher::new(), crc32fast::Hasher::new());
    for (name, size) in sets {
        names.update(format!("set {name} {size};").as_bytes());
    }
    for (name, from, to, arity, table) in maps {
        names.update(format!("map {name} {from} {to} {arity};").as_bytes());
        let mut bytes = Vec::with_capacity(1 << 16);
        for part in table.chunks(1 << 14) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|target| target.to_le_bytes()));
            tables.update(&bytes);
        }
    }
    u64::from(names.finalize()) << 32 | u64::from(tables.finalize())
}
