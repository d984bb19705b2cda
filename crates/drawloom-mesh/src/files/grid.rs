//! What the two text formats have in common: a header of counts, coordinates, and tables of targets.

use super::decimal::push_six_decimals;
use super::scan::Scanner;
use crate::error::{Error, ErrorKind};
use crate::raw::RawMesh;

/// Reads a text format.
pub(super) struct Grid<'a> {
    scanner: Scanner<'a>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { scanner: Scanner::new(text) }
    }

    /// The counts at the start.
    pub(super) fn header<const N: usize>(&mut self, what: [&str; N]) -> Result<[usize; N], Error> {
        let mut counts = [0; N];
        for (count, what) in counts.iter_mut().zip(what) {
            *count = self.scanner.index(u64::from(u32::MAX), || format!("the number of {what}"))? as usize;
        }
        Ok(counts)
    }

    /// Refuses counts that promise more numbers than the text has room for, before anything is allocated for them.
    pub(super) fn expect_numbers<const N: usize>(&self, counts: [(usize, u64); N]) -> Result<(), Error> {
        let promised: u64 = counts.iter().map(|(count, each)| *count as u64 * each).sum();
        let room = self.scanner.room();
        if promised <= room {
            return Ok(());
        }
        let message = format!("the counts at the start need {promised} numbers, and there is room for {room} at most");
        Err(Error::new(ErrorKind::Truncated, message))
    }

    /// Two coordinates for each node.
    pub(super) fn coordinates(&mut self, nodes: usize) -> Result<Vec<f64>, Error> {
        let mut coordinates = Vec::with_capacity(2 * nodes);
        for node in 0..nodes {
            coordinates.push(self.scanner.float(|| format!("x of node {node}"))?);
            coordinates.push(self.scanner.float(|| format!("y of node {node}"))?);
        }
        Ok(coordinates)
    }

    /// A whole table of targets.
    pub(super) fn table(
        &mut self,
        count: usize,
        of: &str,
        what: &str,
        arity: usize,
        end: usize,
    ) -> Result<Vec<u32>, Error> {
        let mut table = Vec::with_capacity(count * arity);
        for element in 0..count {
            for _ in 0..arity {
                table.push(self.target(of, element, what, end)?);
            }
        }
        Ok(table)
    }

    /// One target.
    pub(super) fn target(&mut self, of: &str, element: usize, what: &str, end: usize) -> Result<u32, Error> {
        self.scanner.index(end as u64, || format!("a {what} of {of} {element}")).map(|target| target as u32)
    }

    /// Refuses anything after the last table.
    pub(super) fn end(&mut self, last: &str) -> Result<(), Error> {
        self.scanner.end(|| format!("the last {last} that the counts promise was read"))
    }
}

/// The coordinates of a mesh that is to be written: two finite numbers for each node.
pub(super) fn coordinates(mesh: &RawMesh) -> Result<&[f64], Error> {
    let dat = mesh.dat("p_x")?;
    let Some(values) = dat.values.as_f64().filter(|_| dat.dim == 2 && dat.set == "nodes") else {
        return Err(Error::new(ErrorKind::Inconsistent, "dat `p_x` must be two f64 for each element of `nodes`"));
    };
    if let Some(index) = values.iter().position(|value| !value.is_finite()) {
        let (node, value) = (index / 2, values[index]);
        return Err(Error::new(ErrorKind::Inconsistent, format!("dat `p_x`: a coordinate of node {node} is {value}")));
    }
    Ok(values)
}

/// The table of a map that is to be written.
pub(super) fn table<'a>(mesh: &'a RawMesh, name: &str, arity: usize) -> Result<&'a [u32], Error> {
    let map = mesh.map(name)?;
    if map.arity != arity {
        let message = format!("map `{name}` has arity {}; this format needs {arity}", map.arity);
        return Err(Error::new(ErrorKind::Inconsistent, message));
    }
    Ok(&map.table)
}

/// Appends the lines of coordinates.
pub(super) fn push_coordinates(text: &mut Vec<u8>, coordinates: &[f64]) {
    for [x, y] in coordinates.as_chunks::<2>().0 {
        text.push(b' ');
        push_six_decimals(text, *x);
        text.push(b' ');
        push_six_decimals(text, *y);
        text.extend_from_slice(b" \n");
    }
}
