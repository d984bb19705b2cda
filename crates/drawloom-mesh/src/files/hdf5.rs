//! OP2's HDF5 files.
//!
//! Everything lies at the top of the file under its name. A set is one integer. A map is a table of integers, a dat a table
//! of numbers, with a row for each element; a constant is a list of numbers. Those have the attributes `dim`, `size` and
//! `type` that OP2 wants. Which sets a map leads from and to, and which set a dat is on, is not in OP2's files, because
//! the program says it there. Here it comes from, in this order: a [`Layout`]; attributes `from`, `to` and `set`, which
//! [`write()`] adds; the names of OP2's own applications; and for what a table belongs to, the only set of its size.
//! Groups inside the file are passed over.

use std::fs;
use std::path::Path;

use hdf5_metno::types::{FixedAscii, FixedUnicode, FloatSize, IntSize, TypeDescriptor, VarLenAscii, VarLenUnicode};
use hdf5_metno::{Dataset, File, H5Type};

use drawloom_runtime::element::first_invalid;

use super::save;
use crate::error::{Error, ErrorKind};
use crate::raw::{RawMesh, Values};

/// What a file starts with.
pub(super) const MARK: &[u8] = b"\x89HDF\r\n\x1a\n";

/// A file of which less than a thousandth is there is refused: it would take more memory than it accounts for.
const GREATEST_RATIO: u64 = 1000;

/// The maps of OP2's own applications: name, from, to.
const KNOWN_MAPS: [(&str, &str, &str); 5] = [
    ("pcell", "cells", "nodes"),
    ("pedge", "edges", "nodes"),
    ("pecell", "edges", "cells"),
    ("pbedge", "bedges", "nodes"),
    ("pbecell", "bedges", "cells"),
];

/// The dats of OP2's own applications: name and set.
const KNOWN_DATS: [(&str, &str); 12] = [
    ("p_x", "nodes"),
    ("p_q", "cells"),
    ("p_qold", "cells"),
    ("p_res", "cells"),
    ("p_adt", "cells"),
    ("p_bound", "bedges"),
    ("p_phim", "nodes"),
    ("p_resm", "nodes"),
    ("p_V", "nodes"),
    ("p_P", "nodes"),
    ("p_U", "nodes"),
    ("p_K", "cells"),
];

/// What the maps and dats of a file belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    maps: Vec<(String, String, String)>,
    dats: Vec<(String, String)>,
}

impl Layout {
    /// A layout that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says that a table is a map, and which sets it leads from and to.
    #[must_use]
    pub fn map(mut self, name: &str, from: &str, to: &str) -> Self {
        self.maps.push((name.to_owned(), from.to_owned(), to.to_owned()));
        self
    }

    /// Says that a table is a dat, and which set it is on.
    #[must_use]
    pub fn dat(mut self, name: &str, set: &str) -> Self {
        self.dats.push((name.to_owned(), set.to_owned()));
        self
    }
}

/// Reads a file. The mesh is checked.
pub fn read(path: impl AsRef<Path>) -> Result<RawMesh, Error> {
    read_with(path, &Layout::new())
}

/// Reads a file whose maps and dats belong to what a layout says. The mesh is checked.
pub fn read_with(path: impl AsRef<Path>, layout: &Layout) -> Result<RawMesh, Error> {
    let path = path.as_ref();
    read_file(path, layout).map_err(|error| error.in_file(path))
}

fn read_file(path: &Path, layout: &Layout) -> Result<RawMesh, Error> {
    let length = fs::metadata(path).map_err(|source| Error::io("read", path, source))?.len();
    let file = File::open(path).map_err(library)?;
    let mut tables: Vec<Table> = Vec::new();
    for dataset in file.datasets().map_err(library)? {
        tables.push(Table::read(&dataset, length)?);
    }
    tables.sort_by(|a, b| a.name.cmp(&b.name));
    let mut mesh = RawMesh::new();
    tables.retain(|table| match table.as_set() {
        Some(size) => {
            mesh.add_set(&table.name, size);
            false
        }
        None => true,
    });
    for table in tables {
        table.add_to(&mut mesh, layout)?;
    }
    mesh.check()?;
    // As in all other formats.
    if let Ok(dat) = mesh.dat("p_x")
        && let Some(index) = dat.values.numbers().iter().position(|value| !value.is_finite())
    {
        let (element, set) = (index / dat.dim, &dat.set);
        let message = format!("dat `p_x`: a coordinate of element {element} of `{set}` is not finite");
        return Err(Error::new(ErrorKind::Inconsistent, message));
    }
    Ok(mesh)
}

/// One array of a file.
struct Table {
    name: String,
    shape: Vec<usize>,
    values: Values,
    /// The attributes `from`, `to`, `set` and `type`, where they are there.
    attributes: [Option<String>; 4],
}

impl Table {
    fn read(dataset: &Dataset, file_length: u64) -> Result<Self, Error> {
        let path = dataset.name();
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        let kind = dataset.dtype().and_then(|kind| kind.to_descriptor()).map_err(library)?;
        let bytes = (dataset.size() as u64).saturating_mul(kind.size() as u64);
        if bytes / GREATEST_RATIO > file_length {
            let message = format!("`{name}` is {bytes} bytes, and the whole file {file_length}");
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        let values = match kind {
            TypeDescriptor::Float(FloatSize::U4) => Values::F32(numbers(dataset)?),
            TypeDescriptor::Float(FloatSize::U8) => Values::F64(numbers(dataset)?),
            TypeDescriptor::Integer(IntSize::U2 | IntSize::U4) => Values::I32(numbers(dataset)?),
            TypeDescriptor::Unsigned(IntSize::U2 | IntSize::U4) => Values::U32(numbers(dataset)?),
            TypeDescriptor::Integer(IntSize::U8) => Values::I64(numbers(dataset)?),
            // Numbers that are read as `bool` by the library are not checked there.
            TypeDescriptor::Integer(IntSize::U1) | TypeDescriptor::Unsigned(IntSize::U1) | TypeDescriptor::Boolean => {
                let bytes = numbers::<u8>(dataset)?;
                if let Some(at) = first_invalid::<bool>(&bytes) {
                    let message = format!("value {at} of `{name}` is {}, and a bool is 0 or 1", bytes[at]);
                    return Err(Error::new(ErrorKind::Malformed, message));
                }
                Values::Bool(bytes.into_iter().map(|value| value == 1).collect())
            }
            other => {
                let message = format!("`{name}` has values of type {other}, which is not supported");
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        let attributes = ["from", "to", "set", "type"].map(|attribute| text(dataset, attribute));
        Ok(Self { name, shape: dataset.shape(), values, attributes })
    }

    /// The size, if this is a set.
    fn as_set(&self) -> Option<usize> {
        let [_, _, _, kind] = &self.attributes;
        match &self.values {
            Values::I32(size) if kind.is_none() && self.shape == [1] => usize::try_from(size[0]).ok(),
            Values::I64(size) if kind.is_none() && self.shape == [1] => usize::try_from(size[0]).ok(),
            _ => None,
        }
    }

    fn add_to(self, mesh: &mut RawMesh, layout: &Layout) -> Result<(), Error> {
        let name = self.name.as_str();
        let [rows, columns] = match self.shape[..] {
            [rows, columns] => [rows, columns],
            [_] | [] => {
                mesh.add_constant(name, self.values);
                return Ok(());
            }
            _ => {
                let message = format!("`{name}` has {} dimensions, and a table has 2", self.shape.len());
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        };
        let says_dat = layout.dats.iter().any(|(dat, _)| dat == name) || self.attributes[2].is_some();
        if !says_dat && let Some((from, to)) = self.leads(layout) {
            let table = self.targets()?;
            mesh.add_map(name, &from, &to, columns, table);
            return Ok(());
        }
        let set = self.set(mesh, layout, rows)?;
        mesh.add_dat(name, &set, columns, self.values);
        Ok(())
    }

    /// Which sets this leads from and to, if it is a map.
    fn leads(&self, layout: &Layout) -> Option<(String, String)> {
        let said = layout.maps.iter().find(|(name, _, _)| *name == self.name);
        let said = said.map(|(_, from, to)| (from.clone(), to.clone()));
        let [from, to, _, _] = &self.attributes;
        let known = || KNOWN_MAPS.iter().find(|(name, _, _)| *name == self.name);
        said.or_else(|| from.clone().zip(to.clone()))
            .or_else(|| known().map(|(_, from, to)| ((*from).to_owned(), (*to).to_owned())))
    }

    fn set(&self, mesh: &RawMesh, layout: &Layout, rows: usize) -> Result<String, Error> {
        let said = layout.dats.iter().find(|(name, _)| *name == self.name).map(|(_, set)| set.clone());
        let known = || KNOWN_DATS.iter().find(|(name, set)| *name == self.name && mesh.set(set).is_ok());
        let named = said.or_else(|| self.attributes[2].clone()).or_else(|| known().map(|(_, set)| (*set).to_owned()));
        let mut fitting = mesh.sets.iter().filter(|set| set.size == rows);
        let only = fitting.next().filter(|_| fitting.next().is_none()).map(|set| set.name.clone());
        named.or(only).ok_or_else(|| {
            let name = &self.name;
            let message =
                format!("`{name}` has {rows} rows, as no set or several sets; say with a layout what it belongs to");
            Error::new(ErrorKind::Inconsistent, message)
        })
    }

    /// The values as targets of a map.
    fn targets(&self) -> Result<Vec<u32>, Error> {
        let columns = self.shape[1].max(1);
        let wrong = |index: usize, found: &dyn std::fmt::Display| {
            let message = format!("map `{}`: a target of element {} is {found}", self.name, index / columns);
            Error::new(ErrorKind::Inconsistent, message)
        };
        let target = |(index, value): (usize, i64)| u32::try_from(value).map_err(|_| wrong(index, &value));
        match &self.values {
            Values::I32(values) => values.iter().map(|value| i64::from(*value)).enumerate().map(target).collect(),
            Values::I64(values) => values.iter().copied().enumerate().map(target).collect(),
            Values::U32(values) => Ok(values.clone()),
            other => Err(wrong(0, &format_args!("of type {}, not an integer", other.type_name()))),
        }
    }
}

fn numbers<T: H5Type>(dataset: &Dataset) -> Result<Vec<T>, Error> {
    dataset.read_raw().map_err(library)
}

/// A text attribute, in whichever of the ways that there are to store one.
fn text(dataset: &Dataset, name: &str) -> Option<String> {
    let attribute = dataset.attr(name).ok()?;
    let fixed = || attribute.read_scalar::<FixedAscii<64>>().ok().map(|text| text.to_string());
    let fixed_unicode = || attribute.read_scalar::<FixedUnicode<64>>().ok().map(|text| text.to_string());
    let unicode = || attribute.read_scalar::<VarLenUnicode>().ok().map(|text| text.to_string());
    let ascii = || attribute.read_scalar::<VarLenAscii>().ok().map(|text| text.to_string());
    fixed().or_else(fixed_unicode).or_else(unicode).or_else(ascii)
}

/// Writes a file. It is there as a whole afterwards, or as it was before if there is an error.
pub fn write(path: impl AsRef<Path>, mesh: &RawMesh) -> Result<(), Error> {
    mesh.check()?;
    let path = path.as_ref();
    // Targets are below the size of their set, so that sizes are all there is to check.
    if let Some(set) = mesh.sets.iter().find(|set| i32::try_from(set.size).is_err()) {
        let message = format!("`{}` has {} elements, more than OP2's files can hold", set.name, set.size);
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    save::replace_through(path, |temporary| write_file(temporary, mesh).map_err(|error| library(error).in_file(path)))
}

fn write_file(path: &Path, mesh: &RawMesh) -> hdf5_metno::Result<()> {
    let file = File::create(path)?;
    for set in &mesh.sets {
        put(&file, &set.name, &[1], &[set.size as i32])?;
    }
    for map in &mesh.maps {
        let table: Vec<i32> = map.table.iter().map(|target| *target as i32).collect();
        let rows = table.len() / map.arity;
        let dataset = put(&file, &map.name, &[rows, map.arity], &table)?;
        attributes(&dataset, map.arity, Some(rows), "int")?;
        put_text(&dataset, "from", &map.from)?;
        put_text(&dataset, "to", &map.to)?;
    }
    for dat in &mesh.dats {
        let dataset = put_values(&file, &dat.name, &[dat.values.len() / dat.dim, dat.dim], &dat.values)?;
        attributes(&dataset, dat.dim, Some(dat.dim * dat.values.bytes_each()), op2_type(&dat.values))?;
        put_text(&dataset, "set", &dat.set)?;
    }
    for constant in &mesh.constants {
        let dataset = put_values(&file, &constant.name, &[constant.values.len()], &constant.values)?;
        attributes(&dataset, constant.values.len(), None, op2_type(&constant.values))?;
    }
    file.close()
}

fn put<T: H5Type>(file: &File, name: &str, shape: &[usize], values: &[T]) -> hdf5_metno::Result<Dataset> {
    let dataset = file.new_dataset::<T>().shape(shape).create(name)?;
    dataset.write_raw(values)?;
    Ok(dataset)
}

fn put_values(file: &File, name: &str, shape: &[usize], values: &Values) -> hdf5_metno::Result<Dataset> {
    match values {
        Values::F32(values) => put(file, name, shape, values),
        Values::F64(values) => put(file, name, shape, values),
        Values::I32(values) => put(file, name, shape, values),
        Values::U32(values) => put(file, name, shape, values),
        Values::I64(values) => put(file, name, shape, values),
        Values::Bool(values) => {
            put(file, name, shape, &values.iter().map(|value| u8::from(*value)).collect::<Vec<_>>())
        }
    }
}

fn attributes(dataset: &Dataset, dim: usize, size: Option<usize>, kind: &str) -> hdf5_metno::Result<()> {
    dataset.new_attr::<i32>().create("dim")?.write_scalar(&i32::try_from(dim).unwrap_or(i32::MAX))?;
    if let Some(size) = size {
        dataset.new_attr::<i32>().create("size")?.write_scalar(&i32::try_from(size).unwrap_or(i32::MAX))?;
    }
    put_text(dataset, "type", kind)
}

fn put_text(dataset: &Dataset, name: &str, text: &str) -> hdf5_metno::Result<()> {
    // OP2 reads texts of a fixed length. Names that are longer, or not ASCII, are stored in the way that takes anything.
    if let Ok(fixed) = FixedAscii::<64>::from_ascii(text) {
        return dataset.new_attr::<FixedAscii<64>>().create(name)?.write_scalar(&fixed);
    }
    let unicode: VarLenUnicode = text.parse().map_err(|_| hdf5_metno::Error::from("a name has a zero in it"))?;
    dataset.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&unicode)
}

/// The name of a type in OP2.
fn op2_type(values: &Values) -> &'static str {
    match values {
        Values::F32(_) => "float",
        Values::F64(_) => "double",
        Values::I32(_) => "int",
        Values::U32(_) => "uint",
        Values::I64(_) => "ll",
        Values::Bool(_) => "bool",
    }
}

fn library(error: hdf5_metno::Error) -> Error {
    Error::new(ErrorKind::Malformed, format!("HDF5 says: {error}"))
}
