//! Tensors as they are stored in files.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

use rten_onnx::onnx::{DataLocation, DataType, TensorProto};
use rten_onnx::protobuf::{DecodeMessage, ValueReader};

use crate::guard;
use crate::operators::shape::onnx_type;
use drawloom_tensor::files::regular;
use drawloom_tensor::operator::count;
use drawloom_tensor::{ElementType, Error, ErrorKind, Fault, Tensor};

/// Reads a tensor from the bytes of a file that holds nothing else.
pub fn read_tensor(bytes: &[u8]) -> Result<Tensor, Error> {
    guard::tensor(bytes)?;
    let message = TensorProto::decode(ValueReader::from_buf(bytes))
        .map_err(|error| Error::new(ErrorKind::Import, format!("this is not a tensor, or it is damaged: {error}")))?;
    Ok(tensor(&message, None)?)
}

/// The type of a tensor.
pub(super) fn element(data_type: Option<DataType>) -> Result<ElementType, Fault> {
    onnx_type(data_type.map_or(0, |data_type| i64::from(data_type.0)))
}

/// The tensor of a message. Values outside of the file are looked for in a folder, if there is one.
pub(super) fn tensor(message: &TensorProto, folder: Option<&Path>) -> Result<Tensor, Fault> {
    let element = element(message.data_type)?;
    let import = |text: String| Fault::of(ErrorKind::Import, text);
    let shape = message
        .dims
        .iter()
        .map(|length| {
            usize::try_from(*length).map_err(|_| import(format!("its shape {:?} has a negative length", message.dims)))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let count = count(&shape)?;
    if message.data_location == Some(DataLocation::EXTERNAL) {
        let bytes = external(message, folder, count.saturating_mul(element.size()))?;
        return from_bytes(element, &shape, count, &bytes);
    }
    if let Some(raw) = &message.raw_data {
        return from_bytes(element, &shape, count, &raw.borrow());
    }
    let wrong = |found: usize| import(format!("its shape {shape:?} needs {count} elements, and {found} are stored"));
    macro_rules! stored {
        ($list:expr, $convert:expr) => {{
            if $list.len() != count {
                return Err(wrong($list.len()));
            }
            Tensor::new(&shape, $list.iter().map($convert).collect::<Vec<_>>())
        }};
    }
    match element {
        ElementType::F32 => stored!(message.float_data, |value| *value),
        ElementType::F64 => stored!(message.double_data, |value| *value),
        ElementType::I64 => stored!(message.int64_data, |value| *value),
        ElementType::I32 => stored!(message.int32_data, |value| *value),
        ElementType::U8 => stored!(message.int32_data, |value| *value as u8),
        ElementType::I8 => stored!(message.int32_data, |value| *value as i8),
        ElementType::Bool => stored!(message.int32_data, |value| *value != 0),
    }
}

fn from_bytes(element: ElementType, shape: &[usize], count: usize, bytes: &[u8]) -> Result<Tensor, Fault> {
    if bytes.len() != count.saturating_mul(element.size()) {
        let message = format!(
            "its shape {shape:?} needs {count} elements of {} bytes, and {} bytes are stored",
            element.size(),
            bytes.len()
        );
        return Err(Fault::of(ErrorKind::Import, message));
    }
    macro_rules! numbers {
        ($type:ty) => {
            Tensor::new(shape, bytes.as_chunks().0.iter().map(|bytes| <$type>::from_le_bytes(*bytes)).collect())
        };
    }
    match element {
        ElementType::F32 => numbers!(f32),
        ElementType::F64 => numbers!(f64),
        ElementType::I64 => numbers!(i64),
        ElementType::I32 => numbers!(i32),
        ElementType::U8 => numbers!(u8),
        ElementType::I8 => numbers!(i8),
        ElementType::Bool => Tensor::new(shape, bytes.iter().map(|byte| *byte != 0).collect()),
    }
}

/// Values in another file, which must be inside of the folder of the model.
fn external(message: &TensorProto, folder: Option<&Path>, needed: usize) -> Result<Vec<u8>, Fault> {
    let import = |text: String| Fault::of(ErrorKind::Import, text);
    let entry = |key: &str| {
        message
            .external_data
            .iter()
            .find(|entry| entry.key.as_deref() == Some(key))
            .and_then(|entry| entry.value.as_deref())
    };
    let location =
        entry("location").ok_or_else(|| import("its values are in another file that is not named".to_owned()))?;
    let folder = folder
        .ok_or_else(|| import(format!("its values are in the file `{location}`, and there is no folder to look in")))?;
    let path = Path::new(location);
    if location.is_empty() || !path.components().all(|component| matches!(component, Component::Normal(_))) {
        return Err(import(format!("its values are in `{location}`, which is not inside of the folder of the model")));
    }
    let number = |key: &str| match entry(key) {
        None => Ok(None),
        Some(text) => text.parse::<u64>().map(Some).map_err(|_| import(format!("`{key}` of its values is `{text}`"))),
    };
    let offset = number("offset")?.unwrap_or(0);
    if number("length")?.is_some_and(|length| length != needed as u64) {
        return Err(import(format!("its shape needs {needed} bytes, and another number is stored in `{location}`")));
    }
    // Links are followed before the place of the file is looked at.
    let read_error = |error: std::io::Error| import(format!("its values cannot be read from `{location}`: {error}"));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = folder.canonicalize().map_err(read_error)?;
    let whole = folder.join(path).canonicalize().map_err(read_error)?;
    if !whole.starts_with(&folder) {
        let message = format!(
            "its values are in `{location}`, a link to {}, which is not inside of the folder of the model",
            whole.display()
        );
        return Err(import(message));
    }
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        regular(&whole)?;
        let mut file = std::fs::File::open(&whole)?;
        // The length is compared before there is memory for the values.
        if file.metadata()?.len().checked_sub(offset).is_none_or(|left| left < needed as u64) {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::with_capacity(needed);
        file.take(needed as u64).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    match read() {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(import(format!("the file `{location}` is shorter than its values"))),
        Err(error) => Err(read_error(error)),
    }
}
