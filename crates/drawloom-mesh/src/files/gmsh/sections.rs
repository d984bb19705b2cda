//! The sections of a file.
//!
//! Nothing is allocated because of a count: every item that is stored was read first, so a file cannot ask for more
//! memory than it has bytes for.

use std::collections::BTreeMap;

use super::super::scan::Scanner;
use super::MARK;
use super::element::element_type;
use super::source::{Form, Source};
use crate::error::{Error, ErrorKind};

/// What was found in a file.
#[derive(Default)]
pub(super) struct Sections {
    /// Dimension and number of physical groups, by name.
    pub(super) names: Vec<(String, i32, i32)>,
    /// The first physical group of each entity, by the entity's dimension and number.
    pub(super) groups: BTreeMap<(i64, i64), i32>,
    /// Number and place of each node.
    pub(super) nodes: Vec<(u64, [f64; 3])>,
    /// Elements of the same type and entity.
    pub(super) blocks: Vec<Block>,
}

/// Elements of the same type and entity.
pub(super) struct Block {
    pub(super) entity: (i64, i64),
    pub(super) set: &'static str,
    pub(super) arity: usize,
    /// The numbers of the elements.
    pub(super) elements: Vec<u64>,
    /// The numbers of their nodes, element after element.
    pub(super) nodes: Vec<u64>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Sections, Error> {
    let mut source = format(bytes)?;
    let mut sections = Sections::default();
    let mut seen = Vec::new();
    loop {
        let line = source.scanner.line().trim_ascii();
        if line.is_empty() {
            if source.scanner.rest() == 0 {
                break;
            }
            continue;
        }
        let name = match line.strip_prefix(b"$") {
            Some(name) if !name.is_empty() && !name.starts_with(b"End") => name,
            _ => {
                let found = String::from_utf8_lossy(&line[..line.len().min(40)]).escape_debug().to_string();
                return Err(source.wrong(format!("expected the start of a section before this line, found `{found}`")));
            }
        };
        let known = matches!(name, b"PhysicalNames" | b"Entities" | b"Nodes" | b"Elements");
        if known && seen.contains(&name) {
            return Err(source.wrong(format!("the section ${} is there twice", String::from_utf8_lossy(name))));
        }
        seen.push(name);
        match name {
            b"PhysicalNames" => physical_names(&mut source, &mut sections)?,
            b"Entities" => entities(&mut source, &mut sections)?,
            b"Nodes" => nodes(&mut source, &mut sections)?,
            b"Elements" => elements(&mut source, &mut sections)?,
            _ => {
                source.scanner.skip_past(&[b"$End", name].concat())?;
                continue;
            }
        }
        end(&mut source, name)?;
    }
    for section in [&b"Nodes"[..], b"Elements"] {
        if !seen.contains(&section) {
            let message = format!("the file ends without a section ${}", String::from_utf8_lossy(section));
            return Err(Error::new(ErrorKind::Truncated, message));
        }
    }
    Ok(sections)
}

/// The version of the file and how its numbers are written.
fn format(bytes: &[u8]) -> Result<Source<'_>, Error> {
    let mut source = Source { scanner: Scanner::new(bytes), form: Form::Text, older: false };
    if source.scanner.line().trim_ascii() != MARK {
        return Err(Error::new(ErrorKind::Malformed, "line 1: expected $MeshFormat"));
    }
    let version = source.scanner.float(|| "the version of the format".to_owned())?;
    let (binary, size) = (source.integer("whether the file is binary")?, source.integer("the size of a number")?);
    if version != 4.0 && version != 4.1 {
        let message = format!("this is version {version} of Gmsh's format; save it as version 4.1 or 4.0");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    source.older = version == 4.0;
    if binary != 0 {
        if source.older || size != 8 {
            let message =
                format!("binary files are read in version 4.1 with numbers of 8 bytes, not {version} with {size}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        source.scanner.line();
        source.form = Form::Little;
        source.form = match source.integer("the number 1")?.to_le() as i32 {
            1 => Form::Little,
            0x0100_0000 => Form::Big,
            other => return Err(source.wrong(format!("expected the number 1, found {other}"))),
        };
    }
    end(&mut source, b"MeshFormat")?;
    Ok(source)
}

/// The end of a section.
fn end(source: &mut Source<'_>, name: &[u8]) -> Result<(), Error> {
    let expected = [b"$End", name].concat();
    let mut after = source.scanner.clone();
    if after.word() == Some(&expected) {
        source.scanner = after;
        return Ok(());
    }
    let expected = String::from_utf8_lossy(&expected).into_owned();
    Err(source.scanner.expected(&expected, || "the section has as many items as it says".to_owned()))
}

fn physical_names(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    // Names are text in binary files too.
    let form = std::mem::replace(&mut source.form, Form::Text);
    for _ in 0..source.count("the number of physical names")? {
        let dimension = source.integer("the dimension of a physical group")?;
        let number = source.integer("the number of a physical group")?;
        let line = String::from_utf8_lossy(source.scanner.line().trim_ascii()).into_owned();
        let Some(name) = line.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else {
            return Err(
                source.wrong(format!("expected a name in quotes before this line, found `{}`", line.escape_debug()))
            );
        };
        let small = |value: i64| i32::try_from(value).map_err(|_| source.wrong(format!("{value} is too large")));
        sections.names.push((name.to_owned(), small(dimension)?, small(number)?));
    }
    source.form = form;
    Ok(())
}

fn entities(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = source.count("the number of entities")?;
    }
    for (dimension, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let number = source.integer("the number of an entity")?;
            // Points have a place since 4.1, and everything else has a box.
            for _ in 0..if dimension == 0 && !source.older { 3 } else { 6 } {
                source.float("the extent of an entity")?;
            }
            for index in 0..source.count("the number of physical groups of an entity")? {
                let group = source.integer("a physical group of an entity")?;
                let group = i32::try_from(group.unsigned_abs()).unwrap_or(i32::MAX);
                if index == 0 {
                    sections.groups.insert((dimension as i64, number), group);
                }
            }
            if dimension > 0 {
                for _ in 0..source.count("the number of entities that bound an entity")? {
                    source.integer("an entity that bounds an entity")?;
                }
            }
        }
    }
    Ok(())
}

/// Dimension and number of the entity of a block.
fn entity(source: &mut Source<'_>) -> Result<(i64, i64), Error> {
    let first = source.integer("the entity of a block")?;
    let second = source.integer("the entity of a block")?;
    Ok(if source.older { (second, first) } else { (first, second) })
}

fn nodes(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    let (blocks, promised) = (source.count("the number of blocks of nodes")?, source.count("the number of nodes")?);
    if !source.older {
        source.count("the least number of a node")?;
        source.count("the greatest number of a node")?;
    }
    for _ in 0..blocks {
        let (dimension, _) = entity(source)?;
        let parametric = source.integer("whether nodes have parameters")?;
        let parameters = if parametric == 0 { 0 } else { dimension.clamp(0, 3) };
        let count = source.count("the number of nodes of a block")?;
        let start = sections.nodes.len();
        if !source.older {
            // First all numbers, then all places.
            for _ in 0..count {
                sections.nodes.push((source.count("the number of a node")?, [0.0; 3]));
            }
        }
        for index in 0..count {
            let number = if source.older { source.count("the number of a node")? } else { 0 };
            let mut place = [0.0; 3];
            for coordinate in &mut place {
                *coordinate = source.float("a coordinate of a node")?;
            }
            for _ in 0..parameters {
                source.float("a parameter of a node")?;
            }
            if source.older {
                sections.nodes.push((number, place));
            } else {
                sections.nodes[start + index as usize].1 = place;
            }
        }
    }
    let found = sections.nodes.len() as u64;
    if found == promised { Ok(()) } else { Err(source.wrong(format!("there are {found} nodes instead of {promised}"))) }
}

fn elements(source: &mut Source<'_>, sections: &mut Sections) -> Result<(), Error> {
    let (blocks, promised) =
        (source.count("the number of blocks of elements")?, source.count("the number of elements")?);
    if !source.older {
        source.count("the least number of an element")?;
        source.count("the greatest number of an element")?;
    }
    let mut found = 0;
    for _ in 0..blocks {
        let entity = entity(source)?;
        let number = source.integer("the type of the elements of a block")?;
        let Some((set, arity)) = element_type(number) else {
            let message = format!("elements of type {number} are not supported");
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let count = source.count("the number of elements of a block")?;
        let mut block = Block { entity, set, arity, elements: Vec::new(), nodes: Vec::new() };
        for _ in 0..count {
            block.elements.push(source.count("the number of an element")?);
            for _ in 0..arity {
                block.nodes.push(source.count("a node of an element")?);
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
