//! Rows that go into a file in any order: what files of NumPy and files without a header have in common.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, ErrorKind, Fault};
use crate::files::array::LittleEndian;
use crate::slice::RowSink;
use crate::tensor::View;
use crate::tensor::element::ElementType;
use crate::with_type;

/// So many elements are written at once. They are there twice, which no plan counts, so these are few.
const CHUNK: usize = 1 << 10;

/// A file whose rows come in any order.
#[derive(Debug)]
pub(super) struct RowFile {
    path: PathBuf,
    /// The file, when it was begun.
    state: Mutex<Option<State>>,
}

#[derive(Debug)]
struct State {
    file: File,
    /// What all rows are together.
    element: ElementType,
    shape: Vec<usize>,
    /// Where the elements begin, and how many bytes a row has.
    start: u64,
    row: u64,
}

impl RowFile {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), state: Mutex::default() }
    }

    /// Makes the file as long as it will be, with something before its elements.
    pub(super) fn begin(&self, before: &[u8], element: ElementType, shape: &[usize]) -> Result<(), Fault> {
        let start = before.len() as u64;
        let inner = shape.get(1..).unwrap_or(&[]);
        let row = inner.iter().try_fold(element.size() as u64, |product, length| product.checked_mul(*length as u64));
        let end = row.and_then(|row| row.checked_mul(shape.first().map_or(1, |rows| *rows as u64)));
        // Files are measured in signed numbers.
        let end = end.and_then(|end| end.checked_add(start)).filter(|end| i64::try_from(*end).is_ok());
        let (Some(row), Some(end)) = (row, end) else {
            return Err(self.wrong(&format!("{element}{shape:?} takes more bytes than a file can have")));
        };
        let mut file = File::create(&self.path).map_err(|error| self.cannot(&error))?;
        file.write_all(before).map_err(|error| self.cannot(&error))?;
        // A file that cannot become so large says so now, and not after hours.
        file.set_len(end).map_err(|error| self.cannot(&error))?;
        *self.state() = Some(State { file, element, shape: shape.to_vec(), start, row });
        Ok(())
    }

    /// Writes some rows, which must be of the type and shape that the file was begun with.
    pub(super) fn write(&self, first: usize, rows: View<'_>) -> Result<(), Fault> {
        let mut state = self.state();
        let state = state.as_mut().ok_or_else(|| self.wrong("it was not begun"))?;
        if let Some(why) = state.misfit(first, rows) {
            return Err(self.wrong(&why));
        }
        let offset = state.start + state.row * first as u64;
        state.file.seek(SeekFrom::Start(offset)).map_err(|error| self.cannot(&error))?;
        let mut bytes = Vec::with_capacity(CHUNK.min(rows.len()) * rows.element().size());
        with_type!(all, rows.element(), T => {
            for part in rows.values::<T>()?.chunks(CHUNK) {
                bytes.clear();
                T::encode(part, &mut bytes);
                state.file.write_all(&bytes).map_err(|error| self.cannot(&error))?;
            }
            Ok(())
        })
    }

    /// What all rows are together, when that was said.
    pub(super) fn contents(&self) -> Option<(ElementType, Vec<usize>)> {
        self.state().as_ref().map(|state| (state.element, state.shape.clone()))
    }

    fn state(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock()
    }

    fn cannot(&self, error: &std::io::Error) -> Fault {
        self.wrong(&format!("it cannot be written: {error}"))
    }

    fn wrong(&self, what: &str) -> Fault {
        Fault::of(ErrorKind::Output, format!("{}: {what}", self.path.display()))
    }
}

impl State {
    /// Why rows do not fit into the file.
    fn misfit(&self, first: usize, rows: View<'_>) -> Option<String> {
        let (element, shape) = (self.element, &self.shape);
        let same = rows.element() == element && rows.shape().len() == shape.len();
        let fits = match (shape.split_first(), rows.shape().split_first()) {
            (Some((total, row)), Some((count, others))) => {
                row == others && first.checked_add(*count).is_some_and(|end| end <= *total)
            }
            // A value without axes is one row.
            _ => first == 0,
        };
        (!(same && fits)).then(|| {
            let (given, lengths) = (rows.element(), rows.shape());
            format!("rows {given}{lengths:?} from row {first} do not fit into {element}{shape:?}")
        })
    }
}

/// Elements without a header, little endian, whose rows come in any order. What [`ArrayFile::raw`](crate::files::ArrayFile::raw)
/// reads.
#[derive(Debug)]
pub struct RawWriter(RowFile);

impl RawWriter {
    /// A file that is made when the first rows come.
    pub fn new(path: &Path) -> Self {
        Self(RowFile::new(path))
    }

    /// The type and shape of all rows together, once they are known.
    pub fn contents(&self) -> Option<(ElementType, Vec<usize>)> {
        self.0.contents()
    }
}

impl RowSink for RawWriter {
    fn begin(&self, element: ElementType, shape: &[usize]) -> Result<(), Fault> {
        self.0.begin(&[], element, shape)
    }

    fn write(&self, first: usize, rows: View<'_>) -> Result<(), Fault> {
        self.0.write(first, rows)
    }
}

/// Writes the elements of a tensor without a header.
pub fn write_raw(path: &Path, tensor: View<'_>) -> Result<(), Error> {
    all_of(&RawWriter::new(path), tensor)
}

/// Gives all rows of a tensor away.
pub(super) fn all_of(sink: &dyn RowSink, tensor: View<'_>) -> Result<(), Error> {
    sink.begin(tensor.element(), tensor.shape())?;
    Ok(sink.write(0, tensor)?)
}
