//! The numbers of an array.

use std::borrow::Cow;

use super::document::{Array, Document, cut, unsupported};
use crate::error::{Error, ErrorKind};
use crate::files::base64::decoded;
use crate::files::scan::Scanner;
use crate::raw::Values;

impl Document<'_> {
    /// The numbers of an array.
    pub(super) fn values(&self, array: &Array<'_>) -> Result<Values, Error> {
        if array.format == "ascii" {
            return as_text(array);
        }
        let bytes = self.bytes(array)?;
        let wrong = |kind: &str| unsupported(format!("array `{}` has numbers of type `{kind}`", array.name));
        let big = self.big;
        Ok(match array.kind.as_str() {
            "Float32" => Values::F32(numbers(&bytes, big, f32::from_le_bytes)),
            "Float64" => Values::F64(numbers(&bytes, big, f64::from_le_bytes)),
            "Int8" => Values::I32(numbers(&bytes, big, |bytes| i8::from_le_bytes(bytes).into())),
            "Int16" => Values::I32(numbers(&bytes, big, |bytes| i16::from_le_bytes(bytes).into())),
            "Int32" => Values::I32(numbers(&bytes, big, i32::from_le_bytes)),
            "Int64" => Values::I64(numbers(&bytes, big, i64::from_le_bytes)),
            "UInt8" => Values::U32(numbers(&bytes, big, |bytes| u8::from_le_bytes(bytes).into())),
            "UInt16" => Values::U32(numbers(&bytes, big, |bytes| u16::from_le_bytes(bytes).into())),
            "UInt32" => Values::U32(numbers(&bytes, big, u32::from_le_bytes)),
            // What does not fit is no number of an element anyway, and is refused where it is used as one.
            "UInt64" => Values::I64(numbers(&bytes, big, i64::from_le_bytes)),
            kind => return Err(wrong(kind)),
        })
    }

    /// The bytes of an array, without the length in front of them.
    fn bytes(&self, array: &Array<'_>) -> Result<Cow<'_, [u8]>, Error> {
        let what = || cut(&format!("the end of array `{}`", array.name));
        let wrong = || Error::new(ErrorKind::Malformed, format!("array `{}` is not encoded as base64", array.name));
        let with_length = match array.format.as_str() {
            "binary" => Cow::Owned(decoded(array.text).ok_or_else(wrong)?),
            "appended" => {
                let rest = self.appended.get(array.offset..).ok_or_else(what)?;
                if self.appended_text {
                    let end = rest.iter().position(|byte| matches!(byte, b'<' | b'=')).unwrap_or(rest.len());
                    Cow::Owned(decoded(&rest[..end]).ok_or_else(wrong)?)
                } else {
                    Cow::Borrowed(rest)
                }
            }
            format => return Err(unsupported(format!("array `{}` is written as `{format}`", array.name))),
        };
        let header = if self.wide { 8 } else { 4 };
        let length = with_length.get(..header).ok_or_else(what)?;
        let length = length.iter().enumerate().fold(0u64, |length, (place, byte)| {
            let place = if self.big { header - 1 - place } else { place };
            length | u64::from(*byte) << (8 * place)
        });
        let end = usize::try_from(length).ok().and_then(|length| length.checked_add(header)).ok_or_else(what)?;
        if end > with_length.len() {
            return Err(what());
        }
        Ok(match with_length {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[header..end]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(end);
                Cow::Owned(bytes.split_off(header))
            }
        })
    }
}

fn numbers<T, const N: usize>(bytes: &[u8], big: bool, number: impl Fn([u8; N]) -> T) -> Vec<T> {
    let turned = |mut bytes: [u8; N]| {
        if big {
            bytes.reverse();
        }
        bytes
    };
    bytes.as_chunks::<N>().0.iter().map(|bytes| number(turned(*bytes))).collect()
}

fn as_text(array: &Array<'_>) -> Result<Values, Error> {
    let mut scanner = Scanner::new(array.text);
    let what = || format!("array `{}`", array.name);
    let mut integers = || -> Result<Vec<i64>, Error> {
        let mut values = Vec::new();
        while !scanner.at_end() {
            values.push(scanner.integer(what)?);
        }
        Ok(values)
    };
    let large = |value: i64| Error::new(ErrorKind::Malformed, format!("array `{}`: {value} is too large", array.name));
    Ok(match array.kind.as_str() {
        "Int8" | "Int16" | "Int32" => {
            let small = |value: i64| i32::try_from(value).map_err(|_| large(value));
            Values::I32(integers()?.into_iter().map(small).collect::<Result<_, _>>()?)
        }
        "UInt8" | "UInt16" | "UInt32" => {
            let small = |value: i64| u32::try_from(value).map_err(|_| large(value));
            Values::U32(integers()?.into_iter().map(small).collect::<Result<_, _>>()?)
        }
        "Int64" | "UInt64" => Values::I64(integers()?),
        "Float32" => Values::F32(floats(array)?),
        "Float64" => Values::F64(floats(array)?),
        kind => return Err(unsupported(format!("array `{}` has numbers of type `{kind}`", array.name))),
    })
}

/// Floating-point numbers, among which may be infinite ones and those that are not a number.
fn floats<T: std::str::FromStr>(array: &Array<'_>) -> Result<Vec<T>, Error> {
    let words = array.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let number = |word: &[u8]| {
        let read = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
        let found = || String::from_utf8_lossy(&word[..word.len().min(40)]).escape_debug().to_string();
        let name = &array.name;
        read.ok_or_else(|| {
            Error::new(ErrorKind::Malformed, format!("array `{name}`: expected a number, found `{}`", found()))
        })
    };
    words.map(number).collect()
}
