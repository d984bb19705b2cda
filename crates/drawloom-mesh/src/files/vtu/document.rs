//! The arrays of a file, found in its XML.
//!
//! This is no general XML parser: it knows tags and attributes, which is all that these files have.

use crate::error::{Error, ErrorKind};

/// An array, not decoded yet.
pub(super) struct Array<'a> {
    /// The element that it lies in: `Points`, `Cells`, `PointData`, `CellData` or `FieldData`.
    pub(super) part: String,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) components: usize,
    pub(super) format: String,
    pub(super) offset: usize,
    /// The text between its tags.
    pub(super) text: &'a [u8],
}

/// What a file says about itself.
pub(super) struct Document<'a> {
    pub(super) big: bool,
    /// Whether lengths in front of binary data take 8 bytes instead of 4.
    pub(super) wide: bool,
    pub(super) points: usize,
    pub(super) cells: usize,
    pub(super) arrays: Vec<Array<'a>>,
    /// What is appended after the XML, and whether it is encoded as text.
    pub(super) appended: &'a [u8],
    pub(super) appended_text: bool,
}

impl<'a> Document<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut document = Document {
            big: false,
            wide: false,
            points: 0,
            cells: 0,
            arrays: vec![],
            appended: &[],
            appended_text: false,
        };
        let (mut rest, mut part, mut pieces, mut root) = (bytes, String::new(), 0, false);
        while let Some((tag, after)) = next_tag(rest)? {
            rest = after;
            match tag.name {
                "VTKFile" => {
                    root = true;
                    document.root(&tag)?;
                }
                "Piece" => {
                    pieces += 1;
                    document.points = tag.number("NumberOfPoints")?.unwrap_or(0);
                    document.cells = tag.number("NumberOfCells")?.unwrap_or(0);
                }
                "Points" | "Cells" | "PointData" | "CellData" | "FieldData" => part = tag.name.to_owned(),
                "DataArray" | "Array" => {
                    let text =
                        if tag.closed { &[][..] } else { rest.split(|byte| *byte == b'<').next().unwrap_or(&[]) };
                    document.arrays.push(Array::new(&tag, &part, text)?);
                }
                "AppendedData" => {
                    document.appended_text = tag.attribute("encoding").as_deref() == Some("base64");
                    let start = rest.iter().position(|byte| *byte == b'_').ok_or_else(|| cut("the appended data"))?;
                    document.appended = &rest[start + 1..];
                    break;
                }
                _ => {}
            }
        }
        match (root, pieces) {
            (false, _) => Err(Error::new(ErrorKind::Malformed, "there is no element VTKFile")),
            (true, 1) => Ok(document),
            (true, 0) => Err(cut("the element Piece")),
            _ => Err(unsupported(format!("the grid is in {pieces} pieces, and only one is read"))),
        }
    }

    fn root(&mut self, tag: &Tag<'_>) -> Result<(), Error> {
        let kind = tag.attribute("type").unwrap_or_default();
        if kind != "UnstructuredGrid" {
            return Err(unsupported(format!("this is a VTK file of type `{kind}`, and only UnstructuredGrid is read")));
        }
        if let Some(compressor) = tag.attribute("compressor") {
            return Err(unsupported(format!(
                "the data are compressed by `{compressor}`; save them without compression"
            )));
        }
        self.big = tag.attribute("byte_order").as_deref() == Some("BigEndian");
        self.wide = tag.attribute("header_type").as_deref() == Some("UInt64");
        Ok(())
    }
}

impl<'a> Array<'a> {
    fn new(tag: &Tag<'_>, part: &str, text: &'a [u8]) -> Result<Self, Error> {
        Ok(Self {
            part: part.to_owned(),
            name: tag.attribute("Name").unwrap_or_default(),
            kind: tag.attribute("type").unwrap_or_default(),
            components: tag.number("NumberOfComponents")?.unwrap_or(1).max(1),
            format: tag.attribute("format").unwrap_or_else(|| "ascii".to_owned()),
            offset: tag.number("offset")?.unwrap_or(0),
            text,
        })
    }
}

/// The start of an element.
struct Tag<'a> {
    name: &'a str,
    /// Everything between the name and the closing bracket.
    attributes: &'a str,
    /// Whether the element ends at once.
    closed: bool,
}

impl Tag<'_> {
    fn attribute(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            let (value, after) = after[1..].split_once(quote)?;
            if key.trim() == name {
                return Some(unescaped(value));
            }
            rest = after;
        }
    }

    fn number(&self, name: &str) -> Result<Option<usize>, Error> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let wrong = || Error::new(ErrorKind::Malformed, format!("{}: {name} is `{}`, not a number", self.name, text));
        text.trim().parse().map(Some).map_err(|_| wrong())
    }
}

/// The next start of an element and what comes after it. Ends of elements, comments and declarations are passed over.
fn next_tag(mut rest: &[u8]) -> Result<Option<(Tag<'_>, &[u8])>, Error> {
    loop {
        let Some(start) = rest.iter().position(|byte| *byte == b'<') else { return Ok(None) };
        rest = &rest[start + 1..];
        if rest.starts_with(b"!--") {
            let end = rest.windows(3).position(|three| three == b"-->").ok_or_else(|| cut("the end of a comment"))?;
            rest = &rest[end + 3..];
            continue;
        }
        let end = rest.iter().position(|byte| *byte == b'>').ok_or_else(|| cut("the end of a tag"))?;
        let (inside, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if matches!(inside.first(), Some(b'/' | b'?' | b'!') | None) {
            continue;
        }
        let inside = std::str::from_utf8(inside).map_err(|_| Error::new(ErrorKind::Malformed, "a tag is not text"))?;
        let (inside, closed) = inside.strip_suffix('/').map_or((inside, false), |inside| (inside, true));
        let (name, attributes) = inside.split_once(char::is_whitespace).unwrap_or((inside, ""));
        return Ok(Some((Tag { name, attributes, closed }, after)));
    }
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'");
    text.replace("&amp;", "&")
}

pub(super) fn cut(before: &str) -> Error {
    Error::new(ErrorKind::Truncated, format!("the file ends before {before}"))
}

pub(super) fn unsupported(message: String) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
