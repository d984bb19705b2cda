//! The sections of a file.
//!
//! Nothing is allocated because of a count: every item that is stored was read first, so a file cannot ask for more
//! memory than it has bytes for.

use std::collections::BTreeMap;

use super::super::bytes::ByteOrder;
use super::super::scan::Scanner;
use super::MARK;
use super::elements::elements;
use super::field::{Field, field};
use super::nodes::nodes;
use super::source::{Encoding, Source, Version};
use crate::error::{Error, ErrorKind};
use crate::raw::Shape;

/// What was found in a file.
#[derive(Default)]
pub(super) struct Sections {
    /// Dimension and number of physical groups, by name.
    pub(super) names: Vec<(String, i32, i32)>,
    /// The physical groups of each entity that has any, by the entity's dimension and number.
    pub(super) groups: BTreeMap<(i64, i64), Vec<i32>>,
    /// Number and place of each node.
    pub(super) nodes: Vec<(u64, [f64; 3])>,
    /// Elements of the same type and entity.
    pub(super) blocks: Vec<Block>,
    /// Data of nodes and elements.
    pub(super) fields: Vec<Field>,
    /// What is not in the mesh as it is in the file.
    pub(super) notes: Vec<String>,
}

/// Elements of the same type and entity.
pub(super) struct Block {
    /// The dimension and the number of the entity.
    pub(super) entity: (i64, i64),
    pub(super) shape: Shape,
    /// How many nodes each element has, of which the corners come first.
    pub(super) arity: usize,
    /// The physical groups of the elements, in version 2. Later versions have them at the entity.
    pub(super) groups: Vec<i32>,
    /// The numbers of the elements.
    pub(super) elements: Vec<u64>,
    /// The numbers of their nodes, element after element.
    pub(super) nodes: Vec<u64>,
}

/// The sections that are read at most once.
const ONCE: [&[u8]; 5] = [b"PhysicalNames", b"Entities", b"PartitionedEntities", b"Nodes", b"Elements"];

pub(super) fn read(source: &mut Source<'_>) -> Result<Sections, Error> {
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
        if ONCE.contains(&name) {
            if seen.contains(&name) {
                return Err(source.wrong(format!("the section ${} is there twice", String::from_utf8_lossy(name))));
            }
            seen.push(name);
        }
        match name {
            b"PhysicalNames" => physical_names(source, &mut sections)?,
            b"Entities" => entities(source, &mut sections, false)?,
            b"PartitionedEntities" => entities(source, &mut sections, true)?,
            b"Nodes" => nodes(source, &mut sections)?,
            b"Elements" => elements(source, &mut sections)?,
            b"NodeData" => sections.fields.push(field(source, true)?),
            b"ElementData" => sections.fields.push(field(source, false)?),
            _ => {
                source.scanner.skip_past(&[b"$End", name].concat())?;
                if name == b"ElementNodeData" {
                    sections.notes.push("data of the nodes of each element ($ElementNodeData) are left out".to_owned());
                }
                continue;
            }
        }
        end(source, name)?;
    }
    for section in [&b"Nodes"[..], b"Elements"] {
        if !seen.contains(&section) {
            let line = source.scanner.line_number();
            let message = format!("line {line}: the file ends without a section ${}", String::from_utf8_lossy(section));
            return Err(Error::new(ErrorKind::Truncated, message));
        }
    }
    Ok(sections)
}

/// The start of a file: its version as text, and a place behind it from which numbers are read as that version has them.
pub(super) fn format(bytes: &[u8]) -> Result<(Source<'_>, String), Error> {
    let scanner = Scanner::new(bytes);
    let mut source = Source { scanner, encoding: Encoding::Text, version: Version::FourOne, size_bytes: 8 };
    if source.scanner.line().trim_ascii() != MARK {
        return Err(Error::new(ErrorKind::Malformed, "line 1: expected $MeshFormat"));
    }
    let version = source.scanner.float(|| "the version of the format".to_owned())?;
    let (binary, size) = (source.integer("whether the file is binary")?, source.integer("the size of a number")?);
    source.version = match version {
        2.0..=2.2 => Version::Two,
        4.0 => Version::Four,
        4.1 => Version::FourOne,
        _ => {
            let message =
                format!("line 2: this is version {version} of Gmsh's format; versions 2.2, 4.0 and 4.1 are read");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    };
    if binary != 0 {
        if size != 8 && (size != 4 || source.version != Version::FourOne) {
            let message = format!("line 2: expected binary numbers of 8 bytes, found {size}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        source.size_bytes = size as usize;
        source.scanner.line();
        source.encoding = Encoding::Binary(ByteOrder::Little);
        let order = match source.integer("the number 1")? as i32 {
            1 => ByteOrder::Little,
            0x0100_0000 => ByteOrder::Big,
            other => return Err(source.wrong(format!("expected the number 1, found {other}"))),
        };
        source.encoding = Encoding::Binary(order);
    }
    end(&mut source, b"MeshFormat")?;
    let version = if version.fract() == 0.0 { format!("{version}.0") } else { version.to_string() };
    Ok((source, version))
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
    let encoding = std::mem::replace(&mut source.encoding, Encoding::Text);
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
    source.encoding = encoding;
    Ok(())
}

/// The physical groups of entities. Those of a partition have the groups of the entity that they are a part of.
fn entities(source: &mut Source<'_>, sections: &mut Sections, partitioned: bool) -> Result<(), Error> {
    if partitioned {
        source.count("the number of partitions")?;
        for _ in 0..source.count("the number of ghost entities")? {
            source.integer("a ghost entity")?;
            source.integer("the partition of a ghost entity")?;
        }
    }
    let mut counts = [0; 4];
    for count in &mut counts {
        *count = source.count("the number of entities")?;
    }
    for (dimension, count) in counts.into_iter().enumerate() {
        for _ in 0..count {
            let number = source.integer("the number of an entity")?;
            if partitioned {
                source.integer("the dimension of the parent of an entity")?;
                source.integer("the parent of an entity")?;
                for _ in 0..source.count("the number of partitions of an entity")? {
                    source.integer("a partition of an entity")?;
                }
            }
            // Points have a place since 4.1, and everything else has a box.
            for _ in 0..if dimension == 0 && source.version == Version::FourOne { 3 } else { 6 } {
                source.any_float("the extent of an entity")?;
            }
            let mut groups = Vec::new();
            for _ in 0..source.count("the number of physical groups of an entity")? {
                let group = source.integer("a physical group of an entity")?;
                groups.push(i32::try_from(group.unsigned_abs()).unwrap_or(i32::MAX));
            }
            if !groups.is_empty() {
                sections.groups.insert((dimension as i64, number), groups);
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
