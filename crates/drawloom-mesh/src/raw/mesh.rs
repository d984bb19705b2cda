//! The parts of a mesh, by name.

use super::Values;
use crate::error::{Error, ErrorKind};

/// A mesh as plain data.
///
/// ```
/// use drawloom_mesh::raw::{RawMesh, Values};
///
/// let mut mesh = RawMesh::new();
/// mesh.add_set("nodes", 3).add_set("edges", 2);
/// mesh.add_map("pedge", "edges", "nodes", 2, vec![0, 1, 1, 2]);
/// mesh.add_dat("p_x", "nodes", 1, Values::F64(vec![0.0, 0.5, 1.0]));
/// mesh.check()?;
/// assert_eq!(mesh.map("pedge")?.targets(1), [1, 2]);
/// # Ok::<(), drawloom_mesh::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawMesh {
    /// The sets, in the order in which they were declared.
    pub sets: Vec<RawSet>,
    /// The maps between sets.
    pub maps: Vec<RawMap>,
    /// The data on sets.
    pub dats: Vec<RawDat>,
    /// Values that belong to no set.
    pub constants: Vec<RawConstant>,
}

/// A set of elements, numbered from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSet {
    /// Its name.
    pub name: String,
    /// How many elements it has.
    pub size: usize,
}

/// A map: for each element of one set, `arity` elements of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawMap {
    /// Its name.
    pub name: String,
    /// The name of the set that it leads from.
    pub from: String,
    /// The name of the set that it leads to.
    pub to: String,
    /// How many targets each element has.
    pub arity: usize,
    /// The targets, element after element.
    pub table: Vec<u32>,
}

/// Data on a set: `dim` values for each element.
#[derive(Clone, Debug, PartialEq)]
pub struct RawDat {
    /// Its name.
    pub name: String,
    /// The name of its set.
    pub set: String,
    /// How many values each element has.
    pub dim: usize,
    /// The values, element after element.
    pub values: Values,
}

/// Values that belong to no set.
#[derive(Clone, Debug, PartialEq)]
pub struct RawConstant {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

impl RawMesh {
    /// A mesh with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a set.
    pub fn add_set(&mut self, name: &str, size: usize) -> &mut Self {
        self.sets.push(RawSet { name: name.to_owned(), size });
        self
    }

    /// Adds a map.
    pub fn add_map(&mut self, name: &str, from: &str, to: &str, arity: usize, table: Vec<u32>) -> &mut Self {
        self.maps.push(RawMap { name: name.to_owned(), from: from.to_owned(), to: to.to_owned(), arity, table });
        self
    }

    /// Adds a dat.
    pub fn add_dat(&mut self, name: &str, set: &str, dim: usize, values: Values) -> &mut Self {
        self.dats.push(RawDat { name: name.to_owned(), set: set.to_owned(), dim, values });
        self
    }

    /// Adds a constant.
    pub fn add_constant(&mut self, name: &str, values: Values) -> &mut Self {
        self.constants.push(RawConstant { name: name.to_owned(), values });
        self
    }

    /// The set of that name.
    pub fn set(&self, name: &str) -> Result<&RawSet, Error> {
        find("set", name, &self.sets, |set| &set.name)
    }

    /// How many elements the set of that name has.
    pub fn size(&self, set: &str) -> Result<usize, Error> {
        self.set(set).map(|set| set.size)
    }

    /// The map of that name.
    pub fn map(&self, name: &str) -> Result<&RawMap, Error> {
        find("map", name, &self.maps, |map| &map.name)
    }

    /// The dat of that name.
    pub fn dat(&self, name: &str) -> Result<&RawDat, Error> {
        find("dat", name, &self.dats, |dat| &dat.name)
    }

    /// The constant of that name.
    pub fn constant(&self, name: &str) -> Result<&RawConstant, Error> {
        find("constant", name, &self.constants, |constant| &constant.name)
    }

    /// The dat that says where the elements of a set are: the one called `p_x`, `x` or `coordinates`, or else the only
    /// one of two or three floating-point values.
    pub fn coordinates(&self, set: &str) -> Option<&RawDat> {
        let fits = |dat: &&RawDat| {
            dat.set == set && matches!(dat.dim, 2 | 3) && matches!(dat.values, Values::F32(_) | Values::F64(_))
        };
        let named = ["p_x", "x", "coordinates", "coords"];
        let by_name = named.iter().find_map(|name| self.dats.iter().filter(fits).find(|dat| dat.name == *name));
        by_name.or_else(|| {
            let mut all = self.dats.iter().filter(fits);
            all.next().filter(|_| all.next().is_none())
        })
    }
}

impl RawMap {
    /// The targets of an element. Empty if there is no such element.
    pub fn targets(&self, element: usize) -> &[u32] {
        let start = element.saturating_mul(self.arity);
        self.table.get(start..start.saturating_add(self.arity)).unwrap_or(&[])
    }

    /// The targets of all elements, element after element.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, u32> {
        self.table.chunks_exact(self.arity.max(1))
    }
}

fn find<'a, T>(what: &str, name: &str, all: &'a [T], name_of: impl Fn(&T) -> &String) -> Result<&'a T, Error> {
    all.iter().find(|thing| name_of(thing) == name).ok_or_else(|| {
        let there: Vec<&str> = all.iter().map(|thing| name_of(thing).as_str()).collect();
        let there =
            if there.is_empty() { format!("there are no {what}s") } else { format!("there are {}", there.join(", ")) };
        Error::new(ErrorKind::Unknown, format!("there is no {what} `{name}`; {there}"))
    })
}

#[cfg(test)]
mod tests {
    use super::RawMesh;
    use crate::raw::Values;

    #[test]
    fn an_unknown_name_is_answered_with_those_that_there_are() {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 3).add_set("cells", 1);
        let error = mesh.set("edges").expect_err("there is none");
        assert_eq!(error.to_string(), "there is no set `edges`; there are nodes, cells");
        assert_eq!(mesh.map("pcell").expect_err("none").to_string(), "there is no map `pcell`; there are no maps");
    }

    #[test]
    fn coordinates_are_found_by_name_or_by_being_the_only_ones() {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 1).add_dat("where", "nodes", 2, Values::F64(vec![0.0; 2]));
        assert_eq!(mesh.coordinates("nodes").expect("one fits").name, "where");
        mesh.add_dat("speed", "nodes", 2, Values::F64(vec![0.0; 2]));
        assert!(mesh.coordinates("nodes").is_none());
        mesh.add_dat("p_x", "nodes", 3, Values::F32(vec![0.0; 3]));
        assert_eq!(mesh.coordinates("nodes").expect("it has the name").name, "p_x");
    }
}
