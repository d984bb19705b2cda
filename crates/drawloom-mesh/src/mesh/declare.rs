//! Declaring a mesh.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use drawloom_runtime::Element;

use super::handles::{Constant, Dat, Global, Map, Set};
use super::store::{Store, Typed};
use crate::check::Reached;
use crate::element::Kind;
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

pub(crate) struct SetDecl {
    pub(crate) name: String,
    pub(crate) size: usize,
}

pub(crate) struct MapDecl {
    pub(crate) name: String,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) arity: usize,
    pub(crate) table: Arc<[u32]>,
}

pub(crate) struct DatDecl {
    pub(crate) name: String,
    pub(crate) set: u32,
    pub(crate) values: Box<dyn Store>,
}

pub(crate) struct GlobalDecl {
    pub(crate) name: String,
    pub(crate) constant: bool,
    pub(crate) values: Box<dyn Store>,
}

/// Sets, maps, dats and globals, declared by name.
///
/// ```
/// use drawloom_mesh::Mesh;
///
/// let mut mesh = Mesh::new();
/// let nodes = mesh.set("nodes", 3)?;
/// let edges = mesh.set("edges", 2)?;
/// let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2])?;
/// let x = mesh.dat("x", nodes, vec![[0.0], [0.5], [1.0]])?;
/// # Ok::<(), drawloom_mesh::Error>(())
/// ```
#[derive(Default)]
pub struct Mesh {
    pub(crate) number: u64,
    pub(crate) sets: Vec<SetDecl>,
    pub(crate) maps: Vec<MapDecl>,
    pub(crate) dats: Vec<DatDecl>,
    pub(crate) globals: Vec<GlobalDecl>,
    /// What checking loops found out about maps.
    pub(crate) reached: Reached,
    names: HashMap<String, &'static str>,
}

/// Tells the meshes of a process apart, so that a handle of one is not taken for that of another.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Mesh {
    /// A mesh with nothing in it.
    pub fn new() -> Self {
        Self { number: NEXT.fetch_add(1, Ordering::Relaxed), ..Self::default() }
    }

    /// A mesh with the sets, maps, dats and constants of plain mesh data, as read from a file. Handles are found by name.
    ///
    /// # Errors
    /// When the parts of the data do not fit together.
    pub fn from_raw(raw: &RawMesh) -> Result<Self, Error> {
        raw.check()?;
        let mut mesh = Self::new();
        for set in &raw.sets {
            mesh.set(&set.name, set.size)?;
        }
        for map in &raw.maps {
            let (from, to) = (mesh.find_set(&map.from)?, mesh.find_set(&map.to)?);
            mesh.add_map(&map.name, from, to, map.arity, map.table.clone())?;
        }
        for dat in &raw.dats {
            let set = mesh.find_set(&dat.set)?;
            let values = stored(&dat.values, dat.dim)
                .ok_or_else(|| Error::new(ErrorKind::Unsupported, too_wide("dat", &dat.name, dat.dim)))?;
            mesh.add_dat(&dat.name, set, values)?;
        }
        for constant in &raw.constants {
            let dim = constant.values.len();
            let values = stored(&constant.values, dim)
                .ok_or_else(|| Error::new(ErrorKind::Unsupported, too_wide("constant", &constant.name, dim)))?;
            mesh.add_global(&constant.name, true, values)?;
        }
        Ok(mesh)
    }

    /// The same mesh again, for which its handles are good too.
    pub(crate) fn duplicate(&self) -> Self {
        let set = |set: &SetDecl| SetDecl { name: set.name.clone(), size: set.size };
        let map = |map: &MapDecl| MapDecl { name: map.name.clone(), table: Arc::clone(&map.table), ..*map };
        let dat = |dat: &DatDecl| DatDecl { name: dat.name.clone(), values: dat.values.duplicate(), ..*dat };
        let global = |global: &GlobalDecl| GlobalDecl {
            name: global.name.clone(),
            constant: global.constant,
            values: global.values.duplicate(),
        };
        Self {
            number: self.number,
            sets: self.sets.iter().map(set).collect(),
            maps: self.maps.iter().map(map).collect(),
            dats: self.dats.iter().map(dat).collect(),
            globals: self.globals.iter().map(global).collect(),
            reached: Reached::default(),
            names: self.names.clone(),
        }
    }

    fn take_name(&mut self, name: &str, what: &'static str) -> Result<(), Error> {
        if let Some(before) = self.names.insert(name.to_owned(), what) {
            let message = format!("cannot declare a {what} `{name}`: there is a {before} of that name");
            self.names.insert(name.to_owned(), before);
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        Ok(())
    }

    /// Declares a set.
    ///
    /// # Errors
    /// When the name is in use, or the set has more than 2^32 - 1 elements.
    pub fn set(&mut self, name: &str, size: usize) -> Result<Set, Error> {
        if size >= u32::MAX as usize {
            let message = format!("set `{name}` has {size} elements; at most {} can be numbered", u32::MAX - 1);
            return Err(Error::new(ErrorKind::Argument, message));
        }
        self.take_name(name, "set")?;
        self.sets.push(SetDecl { name: name.to_owned(), size });
        Ok(Set { mesh: self.number, number: self.sets.len() as u32 - 1 })
    }

    /// Declares a map with the targets of one element after the other.
    ///
    /// # Errors
    /// When the table has the wrong length, or a target does not exist.
    pub fn map<const A: usize>(&mut self, name: &str, from: Set, to: Set, table: Vec<u32>) -> Result<Map<A>, Error> {
        let number = self.add_map(name, from, to, A, table)?;
        Ok(Map { mesh: self.number, number })
    }

    fn add_map(&mut self, name: &str, from: Set, to: Set, arity: usize, table: Vec<u32>) -> Result<u32, Error> {
        let (from_decl, to_decl) = (self.look_up(from)?, self.look_up(to)?);
        let refuse = |message| Err(Error::new(ErrorKind::Inconsistent, message));
        if arity == 0 {
            return refuse(format!("map `{name}` leads nowhere: it has no columns"));
        }
        let (from_name, size) = (&from_decl.name, from_decl.size);
        if size.checked_mul(arity) != Some(table.len()) {
            return refuse(format!(
                "map `{name}` has {} entries; {arity} for each of the {size} elements of `{from_name}` are needed",
                table.len()
            ));
        }
        if let Some(wrong) = table.iter().position(|&target| target as usize >= to_decl.size) {
            return refuse(format!(
                "map `{name}` leads from element {} of `{from_name}`, column {}, to element {} of `{}`, which has {}",
                wrong / arity,
                wrong % arity,
                table[wrong],
                to_decl.name,
                to_decl.size
            ));
        }
        self.take_name(name, "map")?;
        let decl = MapDecl { name: name.to_owned(), from: from.number, to: to.number, arity, table: table.into() };
        self.maps.push(decl);
        Ok(self.maps.len() as u32 - 1)
    }

    /// Declares a dat with the values of all elements.
    ///
    /// # Errors
    /// When there is not one array of values for each element.
    pub fn dat<T: Element, const N: usize>(
        &mut self,
        name: &str,
        set: Set,
        values: Vec<[T; N]>,
    ) -> Result<Dat<T, N>, Error> {
        let number = self.add_dat(name, set, Box::new(Typed(values)))?;
        Ok(Dat::new(self.number, number))
    }

    /// Declares a dat with the same values for all elements.
    ///
    /// # Errors
    /// When the name is in use, or the set is another mesh's.
    pub fn dat_of<T: Element, const N: usize>(
        &mut self,
        name: &str,
        set: Set,
        value: [T; N],
    ) -> Result<Dat<T, N>, Error> {
        let size = self.look_up(set)?.size;
        self.dat(name, set, vec![value; size])
    }

    fn add_dat(&mut self, name: &str, set: Set, values: Box<dyn Store>) -> Result<u32, Error> {
        let decl = self.look_up(set)?;
        if values.len() != decl.size {
            let message =
                format!("dat `{name}` has values for {} elements; `{}` has {}", values.len(), decl.name, decl.size);
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        if values.dim() == 0 {
            return Err(Error::new(ErrorKind::Inconsistent, format!("dat `{name}` has no components")));
        }
        self.take_name(name, "dat")?;
        let decl = DatDecl { name: name.to_owned(), set: set.number, values };
        self.dats.push(decl);
        Ok(self.dats.len() as u32 - 1)
    }

    /// Declares values that change while a program runs.
    ///
    /// # Errors
    /// When the name is in use.
    pub fn global<T: Element, const N: usize>(&mut self, name: &str, value: [T; N]) -> Result<Global<T, N>, Error> {
        let number = self.add_global(name, false, Box::new(Typed(vec![value])))?;
        Ok(Global::new(self.number, number))
    }

    /// Declares values that never change.
    ///
    /// # Errors
    /// When the name is in use.
    pub fn constant<T: Element, const N: usize>(&mut self, name: &str, value: [T; N]) -> Result<Constant<T, N>, Error> {
        let number = self.add_global(name, true, Box::new(Typed(vec![value])))?;
        Ok(Constant::new(self.number, number))
    }

    fn add_global(&mut self, name: &str, constant: bool, values: Box<dyn Store>) -> Result<u32, Error> {
        self.take_name(name, if constant { "constant" } else { "global" })?;
        self.globals.push(GlobalDecl { name: name.to_owned(), constant, values });
        Ok(self.globals.len() as u32 - 1)
    }

    /// The set of a name.
    ///
    /// # Errors
    /// When there is none.
    pub fn find_set(&self, name: &str) -> Result<Set, Error> {
        let number = find("set", name, self.sets.iter().map(|set| &set.name))?;
        Ok(Set { mesh: self.number, number })
    }

    /// The map of a name.
    ///
    /// # Errors
    /// When there is none, or it has another number of columns.
    pub fn find_map<const A: usize>(&self, name: &str) -> Result<Map<A>, Error> {
        let number = find("map", name, self.maps.iter().map(|map| &map.name))?;
        let arity = self.maps[number as usize].arity;
        if arity != A {
            let message = format!("map `{name}` has {arity} columns; {A} were asked for");
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        Ok(Map { mesh: self.number, number })
    }

    /// The dat of a name.
    ///
    /// # Errors
    /// When there is none, or it has another type or number of components.
    pub fn find_dat<T: Element, const N: usize>(&self, name: &str) -> Result<Dat<T, N>, Error> {
        let number = find("dat", name, self.dats.iter().map(|dat| &dat.name))?;
        agrees::<T, N>("dat", name, &*self.dats[number as usize].values)?;
        Ok(Dat::new(self.number, number))
    }

    /// The constant of a name.
    ///
    /// # Errors
    /// When there is none, or it has another type or number of components.
    pub fn find_constant<T: Element, const N: usize>(&self, name: &str) -> Result<Constant<T, N>, Error> {
        let number = find("constant", name, self.globals.iter().map(|global| &global.name))?;
        agrees::<T, N>("constant", name, &*self.globals[number as usize].values)?;
        Ok(Constant::new(self.number, number))
    }

    /// How many elements a set has.
    ///
    /// # Errors
    /// When the set is another mesh's.
    pub fn size(&self, set: Set) -> Result<usize, Error> {
        Ok(self.look_up(set)?.size)
    }

    pub(crate) fn look_up(&self, set: Set) -> Result<&SetDecl, Error> {
        self.own("set", set.mesh)?;
        Ok(&self.sets[set.number as usize])
    }

    /// Refuses what belongs to another mesh.
    pub(crate) fn own(&self, what: &str, mesh: u64) -> Result<(), Error> {
        if mesh == self.number {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Inconsistent, format!("a {what} of another mesh was given")))
    }
}

fn find<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a String> + Clone) -> Result<u32, Error> {
    match names.clone().position(|n| n == name) {
        Some(number) => Ok(number as u32),
        None => {
            let there: Vec<&str> = names.map(String::as_str).collect();
            let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
            Err(Error::new(ErrorKind::Unknown, format!("there is no {what} `{name}`; there are: {there}")))
        }
    }
}

/// Refuses values of another type or number of components.
fn agrees<T: Element, const N: usize>(what: &str, name: &str, values: &dyn Store) -> Result<(), Error> {
    if values.as_any().is::<Typed<T, N>>() {
        return Ok(());
    }
    let message = format!(
        "{what} `{name}` has {} of {} for each element; {N} of {} were asked for",
        values.dim(),
        values.kind(),
        Kind::of::<T>()
    );
    Err(Error::new(ErrorKind::Inconsistent, message))
}

fn too_wide(what: &str, name: &str, dim: usize) -> String {
    format!("{what} `{name}` has {dim} components; from a file 1 to 16, 24, 32 and 64 can be taken")
}

/// Plain values as typed ones. The number of components becomes part of the type.
fn stored(values: &Values, dim: usize) -> Option<Box<dyn Store>> {
    fn of<T: Element>(values: &[T], dim: usize) -> Option<Box<dyn Store>> {
        macro_rules! widths {
            ($($n:literal)*) => {
                match dim {
                    $($n => Some(Box::new(Typed::<T, $n>(values.as_chunks::<$n>().0.to_vec()))),)*
                    _ => None,
                }
            };
        }
        widths! { 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 32 64 }
    }
    match values {
        Values::F32(v) => of(v, dim),
        Values::F64(v) => of(v, dim),
        Values::I32(v) => of(v, dim),
        Values::U32(v) => of(v, dim),
        Values::I64(v) => of(v, dim),
        Values::Bool(v) => of(v, dim),
    }
}
