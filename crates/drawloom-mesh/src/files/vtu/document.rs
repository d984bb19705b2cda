//! The arrays of a file, found in its XML.

use std::cell::Cell;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::super::bytes::ByteOrder;
use super::super::mesh_file::Form;
use super::compression::Compression;
use crate::error::{Error, ErrorKind};

/// The start of the element after which there is no XML any more, but data.
const APPENDED: &[u8] = b"<AppendedData";

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
    pub(super) text: &'a str,
    /// The number of bytes before its data, or before its tag if the data are appended.
    pub(super) place: usize,
}

/// A part of the grid.
#[derive(Default)]
pub(super) struct Piece<'a> {
    pub(super) points: usize,
    pub(super) cells: usize,
    pub(super) arrays: Vec<Array<'a>>,
}

/// What a file says about itself.
pub(super) struct Document<'a> {
    pub(super) file: &'a [u8],
    pub(super) version: String,
    pub(super) order: ByteOrder,
    /// How many bytes each number of a header in front of binary data takes: 4 or 8.
    pub(super) header: usize,
    pub(super) compression: Option<Compression>,
    pub(super) pieces: Vec<Piece<'a>>,
    /// The arrays that belong to no piece.
    pub(super) constants: Vec<Array<'a>>,
    /// How many bytes there are before the appended data, if there are any, and whether they are encoded as text.
    pub(super) appended: Option<usize>,
    pub(super) appended_text: bool,
    /// The offsets of all appended arrays, by growing offset.
    pub(super) offsets: Vec<usize>,
    /// How many bytes all arrays had that were decoded.
    pub(super) spent: Cell<u64>,
}

impl<'a> Document<'a> {
    pub(super) fn read(file: &'a [u8]) -> Result<Self, Error> {
        let appended = file.windows(APPENDED.len()).position(|bytes| bytes == APPENDED);
        let end = appended.map_or(file.len(), |start| {
            start + file[start..].iter().position(|byte| *byte == b'>').map_or(APPENDED.len(), |end| end + 1)
        });
        let xml = std::str::from_utf8(&file[..end])
            .map_err(|error| wrong(file, error.valid_up_to(), "expected XML, found bytes that are no UTF-8 text"))?;
        let mut document = Self {
            file,
            version: String::new(),
            order: ByteOrder::Little,
            header: 4,
            compression: None,
            pieces: vec![],
            constants: vec![],
            appended: None,
            appended_text: false,
            offsets: vec![],
            spent: Cell::new(0),
        };
        document.elements(xml)?;
        for array in document.arrays().filter(|array| array.format == "appended") {
            if document.appended.is_none() {
                let message = format!("the file ends before the appended data of array `{}`", array.name);
                return Err(truncated(file, file.len(), message));
            }
        }
        let mut offsets: Vec<usize> = document.arrays().map(|array| array.offset).collect();
        offsets.sort_unstable();
        document.offsets = offsets;
        if document.pieces.is_empty() {
            return Err(truncated(file, file.len(), "the file ends before the element Piece"));
        }
        Ok(document)
    }

    /// All arrays, in all pieces and in none.
    pub(super) fn arrays(&self) -> impl Iterator<Item = &Array<'a>> {
        self.constants.iter().chain(self.pieces.iter().flat_map(|piece| &piece.arrays))
    }

    /// The form of the file.
    pub(super) fn form(&self) -> Form {
        let mut encodings: Vec<&str> = Vec::new();
        for array in self.arrays() {
            let encoding = match array.format.as_str() {
                "ascii" => "text",
                "binary" => "base64",
                _ if self.appended_text => "appended base64",
                _ => "appended raw",
            };
            if !encodings.contains(&encoding) {
                encodings.push(encoding);
            }
        }
        let mut encoding = encodings.join(" and ");
        let is_text = encoding == "text";
        if !is_text {
            encoding = format!("{encoding}, {}, {}-bit headers", self.order.name(), 8 * self.header);
        }
        let compression = self.compression.map(Compression::name).filter(|_| !is_text);
        Form { format: "VTK", version: Some(self.version.clone()), encoding, compression }
    }

    /// Goes through all elements.
    fn elements(&mut self, xml: &'a str) -> Result<(), Error> {
        let mut reader = Reader::from_str(xml);
        reader.config_mut().expand_empty_elements = true;
        let mut open: Vec<String> = Vec::new();
        loop {
            let event = reader.read_event();
            let place = reader.buffer_position() as usize;
            let event = event.map_err(|error| {
                let at = reader.error_position() as usize;
                let message = format!("expected XML: {error}");
                if at + 1 >= xml.len() { truncated(self.file, at, message) } else { wrong(self.file, at, message) }
            })?;
            match event {
                Event::Start(start) => {
                    let tag = Tag { file: self.file, place, start };
                    let name = tag.start.name().as_ref().to_owned();
                    if open.is_empty() && name != "VTKFile" {
                        return Err(wrong(self.file, place, format!("expected the element VTKFile, found `{name}`")));
                    }
                    self.element(&tag, &name, open.last().map_or("", String::as_str))?;
                    open.push(name);
                }
                Event::End(_) => drop(open.pop()),
                Event::Text(text) if open.last().is_some_and(|name| name == "DataArray") => {
                    let start = place - text.len();
                    let found = &xml[start..place];
                    // Between the keys of an array there is space.
                    if let Some(array) = self.last_array().filter(|array| array.text.is_empty())
                        && !found.trim_ascii().is_empty()
                    {
                        (array.text, array.place) = (found, start);
                    }
                }
                Event::Eof => {
                    // Behind the start of appended data there is no more XML.
                    return match open.last() {
                        Some(name) if self.appended.is_none() => {
                            Err(truncated(self.file, xml.len(), format!("expected the end of the element {name}")))
                        }
                        None if self.version.is_empty() => Err(wrong(self.file, 0, "expected the element VTKFile")),
                        _ => Ok(()),
                    };
                }
                _ => {}
            }
        }
    }

    fn element(&mut self, tag: &Tag<'_>, name: &str, parent: &str) -> Result<(), Error> {
        match name {
            "VTKFile" => self.root(tag)?,
            "Piece" => {
                let (points, cells) = (tag.number("NumberOfPoints")?, tag.number("NumberOfCells")?);
                self.pieces.push(Piece { points: points.unwrap_or(0), cells: cells.unwrap_or(0), arrays: vec![] });
            }
            "DataArray" | "Array" => {
                let array = Array {
                    part: parent.to_owned(),
                    name: tag.attribute("Name")?.unwrap_or_default(),
                    kind: tag.attribute("type")?.unwrap_or_default(),
                    components: tag.number("NumberOfComponents")?.unwrap_or(1).max(1),
                    format: tag.attribute("format")?.unwrap_or_else(|| "ascii".to_owned()),
                    offset: tag.number("offset")?.unwrap_or(0),
                    text: "",
                    place: tag.place,
                };
                match self.pieces.last_mut() {
                    _ if parent == "FieldData" => self.constants.push(array),
                    Some(piece) => piece.arrays.push(array),
                    None => {
                        let message = format!("expected the array `{}` in a Piece", array.name);
                        return Err(wrong(self.file, tag.place, message));
                    }
                }
            }
            "AppendedData" => {
                self.appended_text = tag.attribute("encoding")?.as_deref() == Some("base64");
                let start = self.file[tag.place..].iter().position(|byte| *byte == b'_');
                let start =
                    start.ok_or_else(|| truncated(self.file, tag.place, "expected `_` before appended data"))?;
                self.appended = Some(tag.place + start + 1);
            }
            _ => {}
        }
        Ok(())
    }

    fn root(&mut self, tag: &Tag<'_>) -> Result<(), Error> {
        let kind = tag.attribute("type")?.unwrap_or_default();
        if kind != "UnstructuredGrid" {
            let message = format!("this is a VTK file of type `{kind}`, and only UnstructuredGrid is read");
            return Err(unsupported(self.file, tag.place, message));
        }
        if let Some(compressor) = tag.attribute("compressor")?.filter(|name| !name.is_empty()) {
            self.compression = Some(Compression::of(&compressor).ok_or_else(|| {
                let message = format!("the data are compressed by `{compressor}`; {} are read", Compression::known());
                unsupported(self.file, tag.place, message)
            })?);
        }
        self.version = tag.attribute("version")?.unwrap_or_else(|| "0.1".to_owned());
        self.order = match tag.attribute("byte_order")?.as_deref() {
            Some("BigEndian") => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        self.header = if tag.attribute("header_type")?.as_deref() == Some("UInt64") { 8 } else { 4 };
        Ok(())
    }

    fn last_array(&mut self) -> Option<&mut Array<'a>> {
        let in_piece = self.pieces.last_mut().and_then(|piece| piece.arrays.last_mut());
        let constant = self.constants.last_mut();
        // The one that was added last is further behind in the file.
        [in_piece, constant].into_iter().flatten().max_by_key(|array| array.place)
    }
}

/// The start of an element.
struct Tag<'a> {
    file: &'a [u8],
    /// The number of bytes before its end.
    place: usize,
    start: BytesStart<'a>,
}

impl Tag<'_> {
    fn attribute(&self, name: &str) -> Result<Option<String>, Error> {
        let value = self.start.try_get_attribute(name).map_err(quick_xml::Error::from);
        let value =
            value.and_then(|value| value.map(|value| value.normalized_value(XmlVersion::Implicit1_0)).transpose());
        match value {
            Ok(value) => Ok(value.map(|value| value.into_owned())),
            Err(error) => Err(wrong(self.file, self.place, format!("expected the attribute {name}: {error}"))),
        }
    }

    /// A number, if there is anything at all.
    fn number(&self, name: &str) -> Result<Option<usize>, Error> {
        let Some(text) = self.attribute(name)?.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| {
            let tag = self.start.name();
            wrong(self.file, self.place, format!("{}: {name} is `{text}`, not a number", tag.as_ref()))
        })
    }
}

/// The error at a place of a file, with its line and the number of bytes before it.
pub(super) fn error_at(kind: ErrorKind, file: &[u8], place: usize, message: impl AsRef<str>) -> Error {
    let place = place.min(file.len());
    let line = file[..place].iter().filter(|byte| **byte == b'\n').count() + 1;
    Error::new(kind, format!("line {line}, byte {place}: {}", message.as_ref()))
}

/// The error for something else than what was expected at a place.
pub(super) fn wrong(file: &[u8], place: usize, message: impl AsRef<str>) -> Error {
    error_at(ErrorKind::Malformed, file, place, message)
}

/// The error for the end of a file where more was expected.
pub(super) fn truncated(file: &[u8], place: usize, message: impl AsRef<str>) -> Error {
    error_at(ErrorKind::Truncated, file, place, message)
}

/// The error for something that is known and not read.
pub(super) fn unsupported(file: &[u8], place: usize, message: impl AsRef<str>) -> Error {
    error_at(ErrorKind::Unsupported, file, place, message)
}
