//! The numbers of an array.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::document::{Array, Document, truncated, unsupported, wrong};
use crate::error::Error;
use crate::files::scan::Scanner;
use crate::raw::Values;

/// Data that are not compressed may be used by several arrays; so many times the size of the file is the limit.
const GREATEST_RATIO: u64 = 16;

/// Some writers leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Document<'_> {
    /// The numbers of an array.
    pub(super) fn values(&self, array: &Array<'_>) -> Result<Values, Error> {
        if array.format == "ascii" {
            return self.text(array);
        }
        let bytes = self.bytes(array)?;
        let order = self.order;
        let each = width(&array.kind).ok_or_else(|| self.unknown_type(array))?;
        if bytes.len() % each != 0 {
            let message =
                format!("expected array `{}` in numbers of {each} bytes, found {} bytes", array.name, bytes.len());
            return Err(wrong(self.file, self.start(array), message));
        }
        Ok(match array.kind.as_str() {
            "Float32" => Values::F32(order.numbers(&bytes, f32::from_le_bytes)),
            "Float64" => Values::F64(order.numbers(&bytes, f64::from_le_bytes)),
            "Int8" => Values::I32(order.numbers(&bytes, |bytes| i8::from_le_bytes(bytes).into())),
            "Int16" => Values::I32(order.numbers(&bytes, |bytes| i16::from_le_bytes(bytes).into())),
            "Int32" => Values::I32(order.numbers(&bytes, i32::from_le_bytes)),
            "Int64" => Values::I64(order.numbers(&bytes, i64::from_le_bytes)),
            "UInt8" => Values::U32(order.numbers(&bytes, |bytes| u8::from_le_bytes(bytes).into())),
            "UInt16" => Values::U32(order.numbers(&bytes, |bytes| u16::from_le_bytes(bytes).into())),
            "UInt32" => Values::U32(order.numbers(&bytes, u32::from_le_bytes)),
            // The highest bit first. The last byte may have some that are none of the array.
            "Bit" => {
                Values::Bool(bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte << bit & 128 != 0)).collect())
            }
            _ => {
                let numbers = order.numbers(&bytes, u64::from_le_bytes);
                Values::I64(numbers.into_iter().map(|number| self.signed(array, number)).collect::<Result<_, _>>()?)
            }
        })
    }

    /// Where the data of an array begin.
    fn start(&self, array: &Array<'_>) -> usize {
        match self.appended {
            Some(appended) if array.format == "appended" => appended.saturating_add(array.offset),
            _ => array.place,
        }
    }

    fn unknown_type(&self, array: &Array<'_>) -> Error {
        unsupported(self.file, array.place, format!("array `{}` has values of type `{}`", array.name, array.kind))
    }

    fn signed(&self, array: &Array<'_>, number: u64) -> Result<i64, Error> {
        i64::try_from(number).map_err(|_| {
            let message = format!("array `{}` has the number {number}, and can have up to {}", array.name, i64::MAX);
            unsupported(self.file, self.start(array), message)
        })
    }

    /// The bytes of an array, without the header in front of them.
    fn bytes(&self, array: &Array<'_>) -> Result<Cow<'_, [u8]>, Error> {
        let start = self.start(array);
        let cut = || truncated(self.file, start, format!("the data of array `{}` end too early", array.name));
        let with_header = match array.format.as_str() {
            "binary" => self.decoded(array, self.file.get(start..start + array.text.len()).unwrap_or(&[]))?,
            "appended" => {
                let rest = self.file.get(start..).ok_or_else(cut)?;
                if self.appended_text {
                    let next = self.offsets.partition_point(|offset| *offset <= array.offset);
                    let length = self.offsets.get(next).map_or(rest.len(), |next| next - array.offset);
                    let text = &rest[..length.min(rest.len())];
                    let end = text.iter().position(|byte| *byte == b'<').unwrap_or(text.len());
                    self.decoded(array, &text[..end])?
                } else {
                    Cow::Borrowed(rest)
                }
            }
            format => {
                let message = format!("array `{}` is written as `{format}`", array.name);
                return Err(unsupported(self.file, array.place, message));
            }
        };
        // An array without values may have no header either.
        if with_header.is_empty() && array.format == "binary" {
            return Ok(with_header);
        }
        let length = usize::try_from(self.number(&with_header, 0).ok_or_else(cut)?).map_err(|_| cut())?;
        if self.compression.is_some() {
            return self.uncompressed(array, &with_header, length).map(Cow::Owned);
        }
        let end = length.checked_add(self.header).filter(|end| *end <= with_header.len()).ok_or_else(cut)?;
        self.spend(array, length as u64, GREATEST_RATIO)?;
        Ok(match with_header {
            Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[self.header..end]),
            Cow::Owned(mut bytes) => {
                bytes.truncate(end);
                bytes.drain(..self.header);
                Cow::Owned(bytes)
            }
        })
    }

    /// The bytes of an array that is compressed in so many blocks.
    fn uncompressed(&self, array: &Array<'_>, bytes: &[u8], blocks: usize) -> Result<Vec<u8>, Error> {
        let (Some(compression), false) = (self.compression, blocks == 0) else { return Ok(Vec::new()) };
        let start = self.start(array);
        let cut =
            || truncated(self.file, start, format!("the compressed data of array `{}` end too early", array.name));
        let size = |index: usize| {
            let number = self.number(bytes, index).and_then(|number| usize::try_from(number).ok());
            number.ok_or_else(cut)
        };
        // The sizes of blocks and of the last one, and for each block its compressed size.
        let (whole, last) = (size(1)?, size(2)?);
        let mut place = blocks.checked_add(3).and_then(|count| count.checked_mul(self.header)).ok_or_else(cut)?;
        if place > bytes.len() {
            return Err(cut());
        }
        let mut found = Vec::new();
        for index in 0..blocks {
            let end = place.checked_add(size(3 + index)?).ok_or_else(cut)?;
            let block = bytes.get(place..end).ok_or_else(cut)?;
            let length = if index + 1 == blocks && last > 0 { last } else { whole };
            if length as u64 / compression.greatest_ratio() > block.len() as u64 {
                let message = format!("array `{}`: {} bytes cannot hold a block of {length}", array.name, block.len());
                return Err(wrong(self.file, start, message));
            }
            self.spend(array, length as u64, compression.greatest_ratio())?;
            let wrong = |message| wrong(self.file, start, format!("array `{}`: {message}", array.name));
            compression.append(block, length, &mut found).map_err(wrong)?;
            place = end;
        }
        Ok(found)
    }

    /// Counts bytes that take memory, which all arrays of a file together may take up to a multiple of its length.
    fn spend(&self, array: &Array<'_>, bytes: u64, ratio: u64) -> Result<(), Error> {
        let spent = self.spent.get().saturating_add(bytes);
        self.spent.set(spent);
        let length = self.file.len() as u64;
        if spent / ratio <= length {
            return Ok(());
        }
        let message = format!("the arrays up to `{}` are {spent} bytes, and the whole file {length}", array.name);
        Err(wrong(self.file, self.start(array), message))
    }

    /// A number of the header in front of binary data.
    fn number(&self, bytes: &[u8], index: usize) -> Option<u64> {
        let start = index.checked_mul(self.header)?;
        let bytes = bytes.get(start..start.checked_add(self.header)?)?;
        let number = match self.header {
            4 => u32::from_le_bytes(self.order.little(bytes.try_into().ok()?)).into(),
            _ => u64::from_le_bytes(self.order.little(bytes.try_into().ok()?)),
        };
        Some(number)
    }

    /// The bytes of a text in base64. A header may be encoded for itself, with padding at its end.
    fn decoded(&self, array: &Array<'_>, text: &[u8]) -> Result<Cow<'static, [u8]>, Error> {
        let mut text = Cow::Borrowed(text.trim_ascii());
        if text.iter().any(u8::is_ascii_whitespace) {
            text.to_mut().retain(|byte| !byte.is_ascii_whitespace());
        }
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
        let mut rest = &text[..];
        while !rest.is_empty() {
            let padding = rest.iter().position(|byte| *byte == b'=').unwrap_or(rest.len());
            let end = padding + rest[padding..].iter().take_while(|byte| **byte == b'=').count();
            BASE64.decode_vec(&rest[..end], &mut bytes).map_err(|error| {
                let message = format!("expected array `{}` in base64: {error}", array.name);
                wrong(self.file, self.start(array), message)
            })?;
            rest = &rest[end..];
        }
        Ok(Cow::Owned(bytes))
    }

    /// The numbers of an array that is written as text.
    fn text(&self, array: &Array<'_>) -> Result<Values, Error> {
        let end = (array.place + array.text.len()).min(self.file.len());
        let mut scanner = Scanner::at(&self.file[..end], array.place);
        let what = || format!("array `{}`", array.name);
        let large = |value: i64| wrong(self.file, array.place, format!("array `{}`: {value} is too large", array.name));
        let signed = |scanner: &mut Scanner<'_>| {
            let value = scanner.integer(what)?;
            i32::try_from(value).map_err(|_| large(value))
        };
        let unsigned = |scanner: &mut Scanner<'_>| {
            let value = scanner.integer(what)?;
            u32::try_from(value).map_err(|_| large(value))
        };
        Ok(match array.kind.as_str() {
            "Int8" | "Int16" | "Int32" => Values::I32(all(&mut scanner, signed)?),
            "UInt8" | "UInt16" | "UInt32" => Values::U32(all(&mut scanner, unsigned)?),
            "Int64" => Values::I64(all(&mut scanner, |scanner| scanner.integer(what))?),
            "UInt64" => Values::I64(all(&mut scanner, |scanner| self.signed(array, scanner.unsigned(what)?))?),
            "Bit" => Values::Bool(all(&mut scanner, |scanner| Ok(scanner.index(2, what)? == 1))?),
            "Float32" => Values::F32(all(&mut scanner, |scanner| scanner.any_float(what))?),
            "Float64" => Values::F64(all(&mut scanner, |scanner| scanner.any_float(what))?),
            _ => return Err(self.unknown_type(array)),
        })
    }
}

/// All numbers of a text.
fn all<T>(scanner: &mut Scanner<'_>, next: impl Fn(&mut Scanner<'_>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    let mut values = Vec::new();
    while !scanner.at_end() {
        values.push(next(scanner)?);
    }
    Ok(values)
}

/// How many bytes a number of a type takes. `None` if the type is not known.
fn width(kind: &str) -> Option<usize> {
    Some(match kind {
        "Int8" | "UInt8" | "Bit" => 1,
        "Int16" | "UInt16" => 2,
        "Float32" | "Int32" | "UInt32" => 4,
        "Float64" | "Int64" | "UInt64" => 8,
        _ => return None,
    })
}
