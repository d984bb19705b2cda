//! Permutations of sets, and applying them to meshes.

use crate::error::{Error, ErrorKind};
use crate::raw::{RawDat, RawMap, RawMesh, Values};

/// A new order of the elements of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    order: Vec<u32>,
    place: Vec<u32>,
}

impl Permutation {
    /// The permutation that changes nothing.
    ///
    /// # Panics
    ///
    /// If there are more elements than a set can have.
    pub fn identity(size: usize) -> Self {
        let order: Vec<u32> = (0..u32::try_from(size).expect("a set has at most u32::MAX elements")).collect();
        Self { place: order.clone(), order }
    }

    /// The permutation that puts element `order[i]` at place `i`. Refuses what is not a permutation.
    pub fn new(order: Vec<u32>) -> Result<Self, Error> {
        let mut seen = vec![false; order.len()];
        for (place, element) in order.iter().enumerate() {
            let problem = match seen.get_mut(*element as usize) {
                None => "which does not exist",
                Some(true) => "which has a place already",
                Some(new) => {
                    *new = true;
                    continue;
                }
            };
            let message =
                format!("this is no order of {} elements: at place {place} is {element}, {problem}", order.len());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        Ok(Self::of_order(order))
    }

    /// The permutation of an order that is known to be one.
    pub(super) fn of_order(order: Vec<u32>) -> Self {
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old as usize] = new as u32;
        }
        Self { order, place }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// For each new place, the element that is put there.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// For each element, its new place.
    pub fn place(&self) -> &[u32] {
        &self.place
    }

    /// The permutation that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { order: self.place.clone(), place: self.order.clone() }
    }
}

/// A permutation for each set of a mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering {
    sets: Vec<(String, Permutation)>,
}

impl Renumbering {
    /// The permutations of all sets of a mesh, by name.
    pub fn new(sets: Vec<(String, Permutation)>) -> Self {
        Self { sets }
    }

    /// The permutation of a set.
    pub fn of(&self, set: &str) -> Option<&Permutation> {
        self.sets.iter().find(|(name, _)| name == set).map(|(_, permutation)| permutation)
    }

    /// The sets and their permutations.
    pub fn sets(&self) -> impl Iterator<Item = (&str, &Permutation)> {
        self.sets.iter().map(|(name, permutation)| (name.as_str(), permutation))
    }

    /// The renumbering that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Self {
        Self { sets: self.sets.iter().map(|(name, permutation)| (name.clone(), permutation.inverse())).collect() }
    }

    /// The same mesh in the new order.
    pub fn apply(&self, mesh: &RawMesh) -> Result<RawMesh, Error> {
        mesh.check()?;
        for set in &mesh.sets {
            let known = self.of(&set.name).map(Permutation::len);
            if known != Some(set.size) {
                let (name, size) = (&set.name, set.size);
                let known = known.map_or("no such set".to_owned(), |size| format!("{size}"));
                let message =
                    format!("the renumbering is of another mesh: `{name}` has {size} elements here and {known} there");
                return Err(Error::new(ErrorKind::Mismatch, message));
            }
        }
        // Every set was found above, and every map and dat has sets of the mesh.
        let of = |set: &str| self.of(set).expect("the sets were compared");
        let map = |map: &RawMap| {
            let (from, to) = (of(&map.from), of(&map.to).place());
            let rows = from.order().iter().flat_map(|element| map.targets(*element as usize));
            RawMap { table: rows.map(|target| to[*target as usize]).collect(), ..copy_without_table(map) }
        };
        let dat = |dat: &RawDat| RawDat {
            name: dat.name.clone(),
            set: dat.set.clone(),
            dim: dat.dim,
            values: dat.values.gathered(dat.dim, of(&dat.set).order()),
        };
        Ok(RawMesh {
            sets: mesh.sets.clone(),
            maps: mesh.maps.iter().map(map).collect(),
            dats: mesh.dats.iter().map(dat).collect(),
            constants: mesh.constants.clone(),
        })
    }

    /// A mesh in the new order, in its old order again.
    pub fn undo(&self, mesh: &RawMesh) -> Result<RawMesh, Error> {
        self.inverse().apply(mesh)
    }

    /// Values on a set in the new order, such as a result, in the old order again.
    pub fn undo_values(&self, set: &str, dim: usize, values: &Values) -> Result<Values, Error> {
        let Some(permutation) = self.of(set) else {
            return Err(Error::new(ErrorKind::Unknown, format!("the renumbering knows no set `{set}`")));
        };
        if permutation.len().checked_mul(dim) != Some(values.len()) {
            let (found, size) = (values.len(), permutation.len());
            let message = format!("there are {found} values for {size} elements of `{set}` with {dim} each");
            return Err(Error::new(ErrorKind::Mismatch, message));
        }
        Ok(values.gathered(dim, permutation.place()))
    }
}

fn copy_without_table(map: &RawMap) -> RawMap {
    RawMap { name: map.name.clone(), from: map.from.clone(), to: map.to.clone(), arity: map.arity, table: Vec::new() }
}
