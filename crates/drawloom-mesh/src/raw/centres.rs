//! Where the elements of a set are: at their own coordinates, or in the middle of what they lead to.

use super::RawMesh;
use crate::error::{Error, ErrorKind};

/// The place of each element.
pub(crate) struct Centres {
    /// 2 or 3.
    pub(crate) dim: usize,
    /// The coordinates, element after element; none of them is infinite or not a number.
    pub(crate) values: Vec<f64>,
}

/// The places of the elements of a set of a mesh that was checked: the coordinates of the set, or else, by the first map
/// that leads to a set with coordinates, the mean of those of the targets.
pub(crate) fn centres(mesh: &RawMesh, set: &str) -> Result<Centres, Error> {
    mesh.set(set)?;
    if let Some(dat) = mesh.coordinates(set) {
        return finite(&dat.name, dat.dim, dat.values.numbers());
    }
    let with_coordinates = |map: &&super::RawMap| map.from == set && mesh.coordinates(&map.to).is_some();
    let found = mesh.maps.iter().find(with_coordinates).and_then(|map| Some((map, mesh.coordinates(&map.to)?)));
    let Some((map, dat)) = found else {
        let message = format!(
            "`{set}` has no coordinates: there is no dat of 2 or 3 floating-point values on it, nor on a set that it leads to"
        );
        return Err(Error::new(ErrorKind::Inconsistent, message));
    };
    let (dim, values) = (dat.dim, dat.values.numbers());
    let mut means = Vec::with_capacity(map.table.len() / map.arity.max(1) * dim);
    for row in map.rows() {
        for axis in 0..dim {
            let sum: f64 = row.iter().map(|target| values[*target as usize * dim + axis]).sum();
            means.push(sum / row.len() as f64);
        }
    }
    finite(&dat.name, dim, means)
}

fn finite(name: &str, dim: usize, values: Vec<f64>) -> Result<Centres, Error> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(Centres { dim, values }),
        Some(index) => {
            let (element, value) = (index / dim, values[index]);
            let message = format!("dat `{name}`: a coordinate of element {element} is {value}");
            Err(Error::new(ErrorKind::Inconsistent, message))
        }
    }
}
