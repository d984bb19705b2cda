//! METIS's multilevel method.

use crate::error::{Error, ErrorKind};
use crate::raw::Adjacency;

/// Divides a set by its graph.
pub(super) fn divide(adjacency: &Adjacency, parts: usize) -> Result<Vec<u32>, Error> {
    let size = adjacency.len();
    // METIS wants at least one element for each part, and has nothing to do for one part.
    if size == 0 || parts == 1 {
        return Ok(vec![0; size]);
    }
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(ErrorKind::Unsupported, format!("METIS cannot divide this: {error}"))
    };
    let (starts, neighbours) = adjacency.lists();
    let index = |value: u64| metis::Idx::try_from(value).map_err(|error| failed(&error));
    let starts = starts.iter().map(|start| index(*start as u64)).collect::<Result<Vec<_>, _>>()?;
    let neighbours = neighbours.iter().map(|element| index(u64::from(*element))).collect::<Result<Vec<_>, _>>()?;
    let parts = index(parts.min(size) as u64)?;
    let mut owners = vec![0; size];
    let graph = metis::Graph::new(1, parts, &starts, &neighbours).map_err(|error| failed(&error))?;
    // The method of repeated halving is the better one for few parts, and the other one is faster for many.
    let divided = if parts <= 8 { graph.part_recursive(&mut owners) } else { graph.part_kway(&mut owners) };
    divided.map_err(|error| failed(&error))?;
    Ok(owners.into_iter().map(|owner| owner as u32).collect())
}
