//! The files of NumPy: a short text about the array, and then its elements.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::error::{Error, ErrorKind, Fault};
use crate::files::writer::{RowFile, all_of};
use crate::slice::RowSink;
use crate::tensor::View;
use crate::tensor::element::ElementType;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Longer texts than this are not about arrays.
const MOST_TEXT: usize = 1 << 16;

/// What the text says, and where the elements begin.
pub(super) struct Header {
    pub(super) element: ElementType,
    pub(super) shape: Vec<usize>,
    pub(super) start: u64,
}

fn wrong(message: impl Into<String>) -> Fault {
    Fault::of(ErrorKind::Input, message)
}

/// Reads what is before the elements.
pub(super) fn read_header(file: &mut File) -> Result<Header, Fault> {
    let short = |_| wrong("this is not a file of NumPy, or it is cut off");
    let mut begin = [0; 8];
    file.read_exact(&mut begin).map_err(short)?;
    if &begin[..6] != MAGIC {
        return Err(wrong("this is not a file of NumPy: it does not begin with \\x93NUMPY"));
    }
    let (length, before) = match begin[6] {
        1 => {
            let mut length = [0; 2];
            file.read_exact(&mut length).map_err(short)?;
            (usize::from(u16::from_le_bytes(length)), 10)
        }
        2 | 3 => {
            let mut length = [0; 4];
            file.read_exact(&mut length).map_err(short)?;
            (u32::from_le_bytes(length) as usize, 12)
        }
        version => return Err(wrong(format!("version {version} of NumPy's format is not known"))),
    };
    if length > MOST_TEXT {
        return Err(wrong(format!("its header has {length} bytes")));
    }
    let mut text = vec![0; length];
    file.read_exact(&mut text).map_err(short)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let (element, shape) = parse(&text)?;
    Ok(Header { element, shape, start: before + length as u64 })
}

/// Reads a text such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(text: &str) -> Result<(ElementType, Vec<usize>), Fault> {
    let after = |key: &str| {
        let at = text.find(&format!("'{key}'")).ok_or_else(|| wrong(format!("its header has no `{key}`: {text:?}")))?;
        let rest = text[at + key.len() + 2..].trim_start();
        rest.strip_prefix(':').map(str::trim_start).ok_or_else(|| wrong(format!("its header is damaged: {text:?}")))
    };
    let description = after("descr")?;
    let description = description
        .strip_prefix('\'')
        .and_then(|rest| rest.split('\'').next())
        .ok_or_else(|| wrong("its elements are records; an array of numbers is needed".to_owned()))?;
    let element = match description {
        "<f4" => ElementType::F32,
        "<f8" => ElementType::F64,
        "<i8" => ElementType::I64,
        "<i4" => ElementType::I32,
        "|u1" | "<u1" => ElementType::U8,
        "|i1" | "<i1" => ElementType::I8,
        "|b1" | "<b1" => ElementType::Bool,
        other => {
            let message = format!(
                "elements of type `{other}` are not supported: use astype with float32, float64, int64, int32, uint8, int8 \
                 or bool"
            );
            return Err(Fault::of(ErrorKind::Type, message));
        }
    };
    if !after("fortran_order")?.starts_with("False") {
        return Err(wrong("its first axis is the fastest: write it with numpy.ascontiguousarray"));
    }
    let shape = after("shape")?;
    let inside = shape.strip_prefix('(').and_then(|rest| rest.split(')').next());
    let inside = inside.ok_or_else(|| wrong(format!("its shape is damaged: {text:?}")))?;
    let lengths = inside.split(',').map(str::trim).filter(|length| !length.is_empty());
    let length =
        |text: &str| text.parse::<usize>().map_err(|_| wrong(format!("`{text}` is not the length of an axis")));
    Ok((element, lengths.map(length).collect::<Result<_, _>>()?))
}

/// What is before the elements of an array.
fn header(element: ElementType, shape: &[usize]) -> Vec<u8> {
    let description = match element {
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        ElementType::I64 => "<i8",
        ElementType::I32 => "<i4",
        ElementType::U8 => "|u1",
        ElementType::I8 => "|i1",
        ElementType::Bool => "|b1",
    };
    let lengths: String = shape.iter().map(|length| format!("{length}, ")).collect();
    // A shape of one axis keeps its comma, and others lose the last one.
    let lengths = if shape.len() == 1 { lengths.trim_end() } else { lengths.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({lengths}), }}");
    // The elements begin at a multiple of 64, after a line break.
    let whole = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', whole - 10 - text.len() - 1));
    text.push('\n');
    let mut bytes = Vec::with_capacity(whole);
    bytes.extend(MAGIC);
    bytes.extend([1, 0]);
    // A shape has few axes, so the text is short.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// Writes a tensor as NumPy does.
pub fn write_npy(path: &Path, tensor: View<'_>) -> Result<(), Error> {
    all_of(&NpyWriter::new(path), tensor)
}

/// A file of NumPy whose rows come in any order. They must be of the type and shape that it was begun with.
#[derive(Debug)]
pub struct NpyWriter(RowFile);

impl NpyWriter {
    /// A file that is made when the first rows come.
    pub fn new(path: &Path) -> Self {
        Self(RowFile::new(path))
    }

    /// The type and shape of all rows together, once they are known.
    pub fn contents(&self) -> Option<(ElementType, Vec<usize>)> {
        self.0.contents()
    }
}

impl RowSink for NpyWriter {
    fn begin(&self, element: ElementType, shape: &[usize]) -> Result<(), Fault> {
        self.0.begin(&header(element, shape), element, shape)
    }

    fn write(&self, first: usize, rows: View<'_>) -> Result<(), Fault> {
        self.0.write(first, rows)
    }
}
