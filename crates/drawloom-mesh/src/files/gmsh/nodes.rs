//! The section of nodes.

use super::sections::Sections;
use super::source::{Source, Version};
use crate::error::Error;

/// The number of a node.
const NUMBER: &str = "the number of a node";

pub(super) fn nodes(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    if source.version == Version::Two {
        for _ in 0..source.line_count("the number of nodes")? {
            let number = source.number(NUMBER)?;
            sections.nodes.push((number, place(source)?));
        }
        return Ok(());
    }
    let (blocks, promised) = (source.count("the number of blocks of nodes")?, source.count("the number of nodes")?);
    if source.version == Version::FourOne {
        source.count("the least number of a node")?;
        source.count("the greatest number of a node")?;
    }
    for _ in 0..blocks {
        let (dimension, _) = entity(source)?;
        let parametric = source.integer("whether nodes have parameters")?;
        let parameters = if parametric == 0 { 0 } else { dimension.clamp(0, 3) };
        let count = source.count("the number of nodes of a block")?;
        let start = sections.nodes.len();
        if source.version == Version::FourOne {
            // First all numbers, then all places.
            for _ in 0..count {
                sections.nodes.push((source.number(NUMBER)?, [0.0; 3]));
            }
        }
        for index in 0..count {
            let number = if source.version == Version::Four { source.number(NUMBER)? } else { 0 };
            let place = place(source)?;
            for _ in 0..parameters {
                source.any_float("a parameter of a node")?;
            }
            if source.version == Version::Four {
                sections.nodes.push((number, place));
            } else {
                sections.nodes[start + index as usize].1 = place;
            }
        }
    }
    let found = sections.nodes.len() as u64;
    if found == promised { Ok(()) } else { Err(source.wrong(format!("there are {found} nodes instead of {promised}"))) }
}

/// The dimension and the number of the entity of a block.
pub(super) fn entity(source: &mut Source<'_>) -> Result<(i64, i64), Error> {
    let first = source.integer("the entity of a block")?;
    let second = source.integer("the entity of a block")?;
    Ok(if source.version == Version::Four { (second, first) } else { (first, second) })
}

fn place(source: &mut Source<'_>) -> Result<[f64; 3], Error> {
    let mut place = [0.0; 3];
    for coordinate in &mut place {
        *coordinate = source.float("a coordinate of a node")?;
    }
    Ok(place)
}
