//! Whether the parts of a mesh fit together.

use std::collections::BTreeMap;

use super::RawMesh;
use crate::error::{Error, ErrorKind};

impl RawMesh {
    /// Whether the parts fit together: every name is used once, every map and dat has the sets that it names and a value
    /// for each of their elements, and every target exists. The first thing that is wrong is described by its names and
    /// the number of the element.
    pub fn check(&self) -> Result<(), Error> {
        self.check_names()?;
        for set in &self.sets {
            if u32::try_from(set.size).is_err() {
                let most = u32::MAX;
                return Err(wrong(format!("set `{}` has {} elements; there can be {most}", set.name, set.size)));
            }
        }
        self.maps.iter().try_for_each(|map| self.check_map(map))?;
        for dat in &self.dats {
            let name = &dat.name;
            let size = self.size_for("dat", name, &dat.set)?;
            if dat.dim == 0 {
                return Err(wrong(format!("dat `{name}` has no values for each element of `{}`", dat.set)));
            }
            let (found, all) = (dat.values.len(), size.checked_mul(dat.dim));
            if all != Some(found) {
                let (set, dim) = (&dat.set, dat.dim);
                return Err(wrong(format!(
                    "dat `{name}` has {found} values; {size} elements of `{set}` with {dim} each need {}",
                    size as u128 * dim as u128
                )));
            }
        }
        Ok(())
    }

    fn check_names(&self) -> Result<(), Error> {
        let names = (self.sets.iter().map(|set| ("set", &set.name)))
            .chain(self.maps.iter().map(|map| ("map", &map.name)))
            .chain(self.dats.iter().map(|dat| ("dat", &dat.name)))
            .chain(self.constants.iter().map(|constant| ("constant", &constant.name)));
        let mut seen = BTreeMap::new();
        for (what, name) in names {
            if name.is_empty() {
                return Err(wrong(format!("a {what} has no name")));
            }
            if let Some(other) = seen.insert(name, what) {
                return Err(wrong(format!("the name `{name}` is used twice, for a {other} and for a {what}")));
            }
        }
        Ok(())
    }

    fn check_map(&self, map: &super::RawMap) -> Result<(), Error> {
        let name = &map.name;
        let from = self.size_for("map", name, &map.from)?;
        let to = self.size_for("map", name, &map.to)?;
        if map.arity == 0 {
            return Err(wrong(format!("map `{name}` has no targets for each element of `{}`", map.from)));
        }
        if from.checked_mul(map.arity) != Some(map.table.len()) {
            let (found, arity, set) = (map.table.len(), map.arity, &map.from);
            return Err(wrong(format!(
                "map `{name}` has {found} targets; {from} elements of `{set}` with {arity} each need {}",
                from as u128 * arity as u128
            )));
        }
        // The greatest target is found first, because looking for its place is slower and nearly never needed.
        if map.table.iter().max().is_some_and(|greatest| *greatest as usize >= to) {
            let index = map.table.iter().position(|target| *target as usize >= to).unwrap_or(0);
            let (element, column, target) = (index / map.arity, index % map.arity, map.table[index]);
            let (from, set) = (&map.from, &map.to);
            return Err(wrong(format!(
                "map `{name}`: target {column} of element {element} of `{from}` is {target}, and `{set}` has {to} elements"
            )));
        }
        Ok(())
    }

    fn size_for(&self, what: &str, name: &str, set: &str) -> Result<usize, Error> {
        self.size(set).map_err(|error| wrong(format!("{what} `{name}`: {error}")))
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Inconsistent, message)
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;
    use crate::raw::{RawMesh, Values};

    fn triangle() -> RawMesh {
        let mut mesh = RawMesh::new();
        mesh.add_set("nodes", 3).add_set("cells", 1).add_set("none", 0);
        mesh.add_map("pcell", "cells", "nodes", 3, vec![0, 1, 2]).add_map("empty", "none", "nodes", 2, vec![]);
        mesh.add_dat("p_x", "nodes", 2, Values::F64(vec![0.0; 6])).add_constant("gam", Values::F32(vec![1.4]));
        mesh
    }

    #[track_caller]
    fn refused(change: impl FnOnce(&mut RawMesh), message: &str) {
        let mut mesh = triangle();
        mesh.check().expect("it is right before the change");
        change(&mut mesh);
        let error = mesh.check().expect_err("the change is a mistake");
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Inconsistent, message));
    }

    #[test]
    fn a_target_that_is_not_there_is_named_with_its_element() {
        refused(
            |mesh| mesh.maps[0].table[1] = 3,
            "map `pcell`: target 1 of element 0 of `cells` is 3, and `nodes` has 3 elements",
        );
    }

    #[test]
    fn a_table_of_the_wrong_length_is_refused() {
        refused(
            |mesh| mesh.maps[0].table.truncate(2),
            "map `pcell` has 2 targets; 1 elements of `cells` with 3 each need 3",
        );
        refused(
            |mesh| mesh.dats[0].values = Values::F64(vec![0.0; 7]),
            "dat `p_x` has 7 values; 3 elements of `nodes` with 2 each need 6",
        );
        refused(
            |mesh| mesh.maps[0].arity = usize::MAX,
            &format!("map `pcell` has 3 targets; 1 elements of `cells` with {0} each need {0}", usize::MAX),
        );
    }

    #[test]
    fn arity_and_dimension_zero_are_refused() {
        refused(|mesh| mesh.maps[1].arity = 0, "map `empty` has no targets for each element of `none`");
        refused(|mesh| mesh.dats[0].dim = 0, "dat `p_x` has no values for each element of `nodes`");
    }

    #[test]
    fn names_are_used_once_and_are_not_empty() {
        refused(
            |mesh| mesh.constants[0].name = "pcell".into(),
            "the name `pcell` is used twice, for a map and for a constant",
        );
        refused(|mesh| mesh.sets[2].name.clear(), "a set has no name");
    }

    #[test]
    fn a_set_that_is_missing_is_named() {
        refused(
            |mesh| mesh.dats[0].set = "edges".into(),
            "dat `p_x`: there is no set `edges`; there are nodes, cells, none",
        );
    }
}
