//! The section of elements.

use super::element::element_type;
use super::nodes::entity;
use super::sections::{Block, Sections};
use super::source::{Encoding, Source, Version};
use crate::error::{Error, ErrorKind};
use crate::raw::Shape;

/// The number of an element.
const NUMBER: &str = "the number of an element";

/// The number of a node of an element.
const NODE: &str = "a node of an element";

pub(super) fn elements(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    if source.version == Version::Two {
        return listed(source, sections);
    }
    let (blocks, promised) =
        (source.count("the number of blocks of elements")?, source.count("the number of elements")?);
    if source.version == Version::FourOne {
        source.count("the least number of an element")?;
        source.count("the greatest number of an element")?;
    }
    let mut found = 0;
    for _ in 0..blocks {
        let entity = entity(source)?;
        let (shape, arity) = known_type(source)?;
        let count = source.count("the number of elements of a block")?;
        let mut block = Block { entity, shape, arity, groups: vec![], elements: vec![], nodes: vec![] };
        for _ in 0..count {
            block.elements.push(source.number(NUMBER)?);
            for _ in 0..arity {
                block.nodes.push(source.number(NODE)?);
            }
        }
        found += block.elements.len() as u64;
        sections.blocks.push(block);
    }
    if found == promised {
        Ok(())
    } else {
        Err(source.wrong(format!("there are {found} elements instead of {promised}")))
    }
}

/// The shape and the number of nodes of elements whose type comes next.
fn known_type(source: &mut Source<'_>) -> Result<(Shape, usize), Error> {
    let number = source.integer("the type of elements")?;
    element_type(number).ok_or_else(|| {
        let message = format!("{}: elements of type {number} are not supported", source.place());
        Error::new(ErrorKind::Unsupported, message)
    })
}

/// An element of version 2.
#[derive(Default)]
struct Element {
    number: u64,
    entity: (i64, i64),
    groups: Vec<i32>,
    nodes: Vec<u64>,
}

/// The elements of version 2, in which an element is listed once for each of its groups.
fn listed(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    let promised = source.line_count("the number of elements")?;
    let (mut found, mut repeated) = (0, 0);
    // The element that was read before, which more groups may follow for.
    let mut last: Option<(Shape, Element)> = None;
    let mut element = Element::default();
    while found < promised {
        // Binary files have the type, how many elements of it follow, and how many tags each has, before them.
        let text = source.encoding == Encoding::Text;
        let first = if text { source.number(NUMBER)? } else { 0 };
        let (shape, arity) = known_type(source)?;
        let count = if text { 1 } else { source.number("the number of elements of a type")? };
        let tags = source.number("the number of tags of an element")?;
        if count > promised - found {
            return Err(source.wrong(format!("there are more than {promised} elements")));
        }
        for _ in 0..count {
            element.number = if text { first } else { source.number(NUMBER)? };
            read_tags(source, tags, shape, &mut element)?;
            element.nodes.clear();
            for _ in 0..arity {
                element.nodes.push(source.number(NODE)?);
            }
            match &mut last {
                Some((other, last))
                    if *other == shape
                        && last.entity == element.entity
                        && last.nodes == element.nodes
                        && element.groups.iter().any(|group| !last.groups.contains(group)) =>
                {
                    last.groups.append(&mut element.groups);
                    repeated += 1;
                }
                Some((other, last)) => {
                    push(sections, *other, last);
                    *other = shape;
                    std::mem::swap(last, &mut element);
                }
                None => last = Some((shape, std::mem::take(&mut element))),
            }
        }
        found += count;
        // A count of none would never come to an end.
        if count == 0 {
            return Err(source.wrong("expected elements, found a list of none".to_owned()));
        }
    }
    if let Some((shape, last)) = last {
        push(sections, shape, &last);
    }
    if repeated > 0 {
        sections.notes.push(format!("{repeated} elements that are listed once more for another group are one element"));
    }
    Ok(())
}

/// The tags of an element: the group (0 is none) and the entity; partitions after them are passed over.
fn read_tags(source: &mut Source<'_>, tags: u64, shape: Shape, element: &mut Element) -> Result<(), Error> {
    element.groups.clear();
    element.entity = (shape.dimension().into(), 0);
    for index in 0..tags {
        let tag = source.integer("a tag of an element")?;
        match index {
            0 if tag != 0 => element.groups.push(i32::try_from(tag.unsigned_abs()).unwrap_or(i32::MAX)),
            1 => element.entity.1 = tag,
            _ => {}
        }
    }
    Ok(())
}

/// Adds an element to the last block, or to a new one if it differs.
fn push(sections: &mut Sections, shape: Shape, element: &Element) {
    let fits = |block: &&mut Block| {
        block.shape == shape
            && block.entity == element.entity
            && block.groups == element.groups
            && block.arity == element.nodes.len()
    };
    let block = match sections.blocks.last_mut().filter(fits) {
        Some(block) => block,
        None => {
            let (entity, groups, arity) = (element.entity, element.groups.clone(), element.nodes.len());
            sections.blocks.push(Block { entity, shape, arity, groups, elements: vec![], nodes: vec![] });
            sections.blocks.last_mut().expect("a block was added")
        }
    };
    block.elements.push(element.number);
    block.nodes.extend_from_slice(&element.nodes);
}
