//! Data of nodes and elements.

use super::source::Source;
use crate::error::Error;

/// The components that Gmsh's data have at most: a tensor.
const MOST_COMPONENTS: u64 = 9;

/// Numbers for some of the nodes or elements.
pub(super) struct Field {
    pub(super) name: String,
    pub(super) on_nodes: bool,
    pub(super) components: usize,
    /// The numbers of the nodes or elements that have values.
    pub(super) numbers: Vec<u64>,
    /// Their values, `components` for each.
    pub(super) values: Vec<f64>,
}

/// The section `$NodeData` or `$ElementData`, whose head is text in binary files too.
pub(super) fn field(source: &mut Source<'_>, on_nodes: bool) -> Result<Field, Error> {
    let mut name = String::new();
    for index in 0..source.line_count("the number of names of the data")? {
        let line = source.scanner.line();
        if line.is_empty() && source.scanner.rest() == 0 {
            return Err(source.scanner.expected("a name of the data", || "the head of the data".to_owned()));
        }
        if index == 0 {
            name = String::from_utf8_lossy(line.trim_ascii()).trim_matches('"').to_owned();
        }
    }
    for _ in 0..source.line_count("the number of times of the data")? {
        source.scanner.any_float::<f64>(|| "the time of the data".to_owned())?;
        source.scanner.line();
    }
    // The time step, the number of components, the number of nodes or elements, and perhaps the partition.
    let mut integers = [0; 3];
    for index in 0..source.line_count("the number of integers of the data")? {
        let integer = source.line_count("the step, components, or number of values of the data")?;
        if let Some(place) = integers.get_mut(index as usize) {
            *place = integer;
        }
    }
    let [_, components, count] = integers;
    if !(1..=MOST_COMPONENTS).contains(&components) {
        return Err(
            source.wrong(format!("`{name}` has {components} components, and there can be 1 to {MOST_COMPONENTS}"))
        );
    }
    let mut field = Field { name, on_nodes, components: components as usize, numbers: vec![], values: vec![] };
    for _ in 0..count {
        // An `int` in all versions.
        let number = source.integer("the node or element that has a value")?;
        field.numbers.push(u64::try_from(number).unwrap_or(u64::MAX));
        for _ in 0..components {
            field.values.push(source.any_float("a value of the data")?);
        }
    }
    Ok(field)
}
