//! The elements of one array in a file, read in pieces.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::error::{Error, ErrorKind, Fault};
use crate::files::{npy, regular};
use crate::slice::Rows;
use crate::tensor::around;
use crate::tensor::element::{Element, ElementType};
use crate::tensor::{Tensor, count};
use crate::with_type;

/// So many bytes are read at once. They are on the stack, so that reading takes no other memory.
const CHUNK: usize = 1 << 14;

/// An array in a file, the last axis fastest, in little-endian order.
#[derive(Debug)]
pub struct ArrayFile {
    path: PathBuf,
    file: Mutex<File>,
    element: ElementType,
    shape: Vec<usize>,
    /// Where the first element is.
    start: u64,
}

impl ArrayFile {
    /// An array that NumPy wrote.
    pub fn npy(path: &Path) -> Result<Self, Error> {
        let (mut file, length) = open(path)?;
        let header = npy::read_header(&mut file).map_err(|fault| named(path, fault.message()))?;
        Self::checked(path, file, length, header)
    }

    /// Elements without anything before them. Of the shape, one length may be left out: it follows from the length of the
    /// file.
    pub fn raw(path: &Path, element: ElementType, shape: &[Option<usize>]) -> Result<Self, Error> {
        let (file, length) = open(path)?;
        let open_axes = shape.iter().filter(|length| length.is_none()).count();
        if open_axes > 1 {
            return Err(named(path, "the lengths of more than one axis are not known"));
        }
        let known: Vec<usize> = shape.iter().map(|length| length.unwrap_or(1)).collect();
        let row = count(&known).map_err(|fault| named(path, fault.message()))? as u64 * element.size() as u64;
        let rows = length.checked_div(row).unwrap_or(0);
        if open_axes == 1 && rows * row != length {
            return Err(named(path, &format!("it has {length} bytes, which are not rows of {row}")));
        }
        let shape: Vec<usize> = shape.iter().map(|length| length.unwrap_or(rows as usize)).collect();
        Self::checked(path, file, length, npy::Header { element, shape, start: 0 })
    }

    fn checked(path: &Path, file: File, length: u64, header: npy::Header) -> Result<Self, Error> {
        let npy::Header { element, shape, start } = header;
        let elements = count(&shape).map_err(|fault| named(path, fault.message()))?;
        let needed = (elements as u64).saturating_mul(element.size() as u64);
        if length.saturating_sub(start) != needed {
            let found = length.saturating_sub(start);
            return Err(named(path, &format!("{element}{shape:?} takes {needed} bytes, and there are {found}")));
        }
        Ok(Self { path: path.to_owned(), file: Mutex::new(file), element, shape, start })
    }
}

fn open(path: &Path) -> Result<(File, u64), Error> {
    let cannot = |error: std::io::Error| named(path, &format!("it cannot be read: {error}"));
    regular(path).map_err(cannot)?;
    let file = File::open(path).map_err(cannot)?;
    let length = file.metadata().map_err(cannot)?.len();
    Ok((file, length))
}

fn named(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Input, format!("{}: {what}", path.display()))
}

impl Rows for ArrayFile {
    fn element(&self) -> ElementType {
        self.element
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn read(&self, axis: usize, first: usize, into: &mut Tensor) -> Result<(), Fault> {
        let whole = if self.shape.is_empty() { &[1][..] } else { &self.shape };
        if axis >= whole.len() {
            return Err(Fault::of(ErrorKind::Input, format!("there is no axis {axis} in the shape {whole:?}")));
        }
        let (outer, length, inner) = around(whole, axis);
        let rows = if self.shape.is_empty() { 1 } else { into.shape().get(axis).copied().unwrap_or(0) };
        if first.checked_add(rows).is_none_or(|end| end > length) || into.view().len() != outer * rows * inner {
            let message = format!("{rows} rows from {first} of {:?} do not have the shape {:?}", whole, into.shape());
            return Err(Fault::of(ErrorKind::Input, message));
        }
        let size = self.element.size();
        with_type!(all, self.element, T => {
            let values = into.values_mut::<T>()?;
            for block in 0..outer {
                let offset = self.start + ((block * length + first) * inner * size) as u64;
                self.fill::<T>(offset, &mut values[block * rows * inner..][..rows * inner])?;
            }
            Ok(())
        })
    }
}

impl ArrayFile {
    fn fill<T: LittleEndian>(&self, offset: u64, into: &mut [T]) -> Result<(), Fault> {
        let cannot = |error: std::io::Error| Fault::of(ErrorKind::Input, format!("{}: {error}", self.path.display()));
        // Between the move and the last byte, nobody else may move in the file.
        let mut file = self.file.lock();
        file.seek(SeekFrom::Start(offset)).map_err(cannot)?;
        let mut buffer = [0; CHUNK];
        for part in into.chunks_mut(CHUNK / size_of::<T>()) {
            let bytes = &mut buffer[..size_of_val(part)];
            file.read_exact(bytes).map_err(cannot)?;
            T::decode(bytes, part);
        }
        Ok(())
    }
}

/// Elements as bytes in a file.
pub(super) trait LittleEndian: Element {
    fn decode(bytes: &[u8], into: &mut [Self]);
    fn encode(values: &[Self], into: &mut Vec<u8>);
}

macro_rules! little_endian {
    ($($type:ty),*) => {
        $(impl LittleEndian for $type {
            fn decode(bytes: &[u8], into: &mut [Self]) {
                for (value, bytes) in into.iter_mut().zip(bytes.as_chunks().0) {
                    *value = <$type>::from_le_bytes(*bytes);
                }
            }

            fn encode(values: &[Self], into: &mut Vec<u8>) {
                into.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            }
        })*
    };
}

little_endian!(f32, f64, i64, i32, u8, i8);

impl LittleEndian for bool {
    fn decode(bytes: &[u8], into: &mut [Self]) {
        into.iter_mut().zip(bytes).for_each(|(value, byte)| *value = *byte != 0);
    }

    fn encode(values: &[Self], into: &mut Vec<u8>) {
        into.extend(values.iter().map(|value| u8::from(*value)));
    }
}
