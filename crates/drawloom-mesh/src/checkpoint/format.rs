//! The bytes of a checkpoint.
//!
//! A mark, a version, the number of bytes that follow, those bytes, and a checksum (CRC-32) of everything before it.
//! Inside are counts and texts with their lengths, all integers with the lowest byte first. Lengths are believed only as
//! far as there are bytes.

use drawloom_runtime::Element;

use super::Checkpoint;
use crate::error::{Error, ErrorKind};
use crate::raw::{RawConstant, RawDat, RawSet, Values};

const MARK: &[u8; 8] = b"DRAWLMCP";
const VERSION: u32 = 1;

/// Mark, version and length.
const HEADER: usize = 8 + 4 + 8;

/// The checksum.
const TRAILER: usize = 4;

pub(super) fn encode(checkpoint: &Checkpoint) -> Vec<u8> {
    // The length is put in when it is known.
    let mut bytes = Vec::from(MARK);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(checkpoint.fingerprint.to_le_bytes());
    put_count(&mut bytes, checkpoint.state.sets.len());
    for set in &checkpoint.state.sets {
        put_bytes(&mut bytes, set.name.as_bytes());
        put_count(&mut bytes, set.size);
    }
    put_count(&mut bytes, checkpoint.state.dats.len());
    for dat in &checkpoint.state.dats {
        put_bytes(&mut bytes, dat.name.as_bytes());
        put_bytes(&mut bytes, dat.set.as_bytes());
        put_count(&mut bytes, dat.dim);
        put_values(&mut bytes, &dat.values);
    }
    put_count(&mut bytes, checkpoint.state.constants.len());
    for global in &checkpoint.state.constants {
        put_bytes(&mut bytes, global.name.as_bytes());
        put_values(&mut bytes, &global.values);
    }
    put_bytes(&mut bytes, &checkpoint.position);

    let length = (bytes.len() - HEADER) as u64;
    bytes[HEADER - 8..HEADER].copy_from_slice(&length.to_le_bytes());
    bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
    bytes
}

pub(super) fn decode(bytes: &[u8]) -> Result<Checkpoint, Error> {
    let cut =
        || Error::new(ErrorKind::Truncated, format!("the checkpoint ends after {} bytes, in the middle", bytes.len()));
    let mark = &bytes[..bytes.len().min(MARK.len())];
    if !MARK.starts_with(mark) {
        return Err(Error::new(ErrorKind::Malformed, "this is not a checkpoint"));
    }
    let header = bytes.get(..HEADER).ok_or_else(cut)?;
    let mut reader = Reader { rest: &header[MARK.len()..] };
    let version = reader.number::<4>().map(u32::from_le_bytes)?;
    if version != VERSION {
        let message = format!("the checkpoint has version {version} of the format, and this is for version {VERSION}");
        return Err(Error::new(ErrorKind::Version, message));
    }
    let length = reader.number::<8>().map(u64::from_le_bytes)?;
    let whole =
        length.checked_add((HEADER + TRAILER) as u64).filter(|whole| *whole <= bytes.len() as u64).ok_or_else(cut)?;
    let (checked, sum) = bytes.split_at(whole as usize - TRAILER);
    if sum != crc32fast::hash(checked).to_le_bytes() {
        let message = "the checkpoint is damaged: its checksum is wrong, so it was changed after it was written";
        return Err(Error::new(ErrorKind::Damaged, message));
    }
    let mut reader = Reader { rest: &checked[HEADER..] };
    let checkpoint = reader.checkpoint()?;
    if reader.rest.is_empty() { Ok(checkpoint) } else { Err(odd()) }
}

/// What cannot happen by accident: the checksum is right, and what it covers is not.
fn odd() -> Error {
    Error::new(ErrorKind::Damaged, "the checkpoint is not what its format says, though its checksum is right")
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend((count as u64).to_le_bytes());
}

fn put_bytes(bytes: &mut Vec<u8>, text: &[u8]) {
    put_count(bytes, text.len());
    bytes.extend_from_slice(text);
}

fn put_values(bytes: &mut Vec<u8>, values: &Values) {
    put_bytes(bytes, values.type_name().as_bytes());
    put_count(bytes, values.len());
    bytes.reserve(values.len() * values.bytes_each());
    match values {
        Values::F32(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Values::F64(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Values::I32(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Values::U32(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Values::I64(values) => bytes.extend(values.iter().flat_map(|v| v.to_le_bytes())),
        Values::Bool(values) => bytes.extend(values.iter().map(|v| u8::from(*v))),
    }
}

/// A truth value from its byte.
fn truth(byte: u8, name: &str) -> Result<bool, Error> {
    let message = || format!("`{name}` in the checkpoint holds a bool of {byte}, and a bool is 0 or 1");
    <bool as Element>::is_valid(&[byte]).then_some(byte == 1).ok_or_else(|| Error::new(ErrorKind::Damaged, message()))
}

/// What was not read yet.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn checkpoint(&mut self) -> Result<Checkpoint, Error> {
        let mut checkpoint =
            Checkpoint { fingerprint: self.number().map(u64::from_le_bytes)?, ..Checkpoint::default() };
        for _ in 0..self.count()? {
            let (name, size) = (self.text()?, self.count()?);
            checkpoint.state.sets.push(RawSet { name, size: usize::try_from(size).map_err(|_| odd())? });
        }
        for _ in 0..self.count()? {
            let (name, set) = (self.text()?, self.text()?);
            let dim = usize::try_from(self.count()?).map_err(|_| odd())?;
            checkpoint.state.dats.push(RawDat { name: name.clone(), set, dim, values: self.values(&name)? });
        }
        for _ in 0..self.count()? {
            let name = self.text()?;
            checkpoint.state.constants.push(RawConstant { name: name.clone(), values: self.values(&name)? });
        }
        checkpoint.position = self.bytes()?.to_vec();
        Ok(checkpoint)
    }

    fn values(&mut self, name: &str) -> Result<Values, Error> {
        let kind = self.text()?;
        let count = self.count()?;
        Ok(match kind.as_str() {
            "f32" => Values::F32(self.numbers(count)?.iter().map(|v| f32::from_le_bytes(*v)).collect()),
            "f64" => Values::F64(self.numbers(count)?.iter().map(|v| f64::from_le_bytes(*v)).collect()),
            "i32" => Values::I32(self.numbers(count)?.iter().map(|v| i32::from_le_bytes(*v)).collect()),
            "u32" => Values::U32(self.numbers(count)?.iter().map(|v| u32::from_le_bytes(*v)).collect()),
            "i64" => Values::I64(self.numbers(count)?.iter().map(|v| i64::from_le_bytes(*v)).collect()),
            "bool" => Values::Bool(
                self.numbers::<1>(count)?.iter().map(|[byte]| truth(*byte, name)).collect::<Result<_, _>>()?,
            ),
            _ => return Err(odd()),
        })
    }

    fn numbers<const N: usize>(&mut self, count: u64) -> Result<&'a [[u8; N]], Error> {
        let length = count.checked_mul(N as u64).ok_or_else(odd)?;
        Ok(self.take(length)?.as_chunks().0)
    }

    fn text(&mut self) -> Result<String, Error> {
        std::str::from_utf8(self.bytes()?).map(str::to_owned).map_err(|_| odd())
    }

    fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = self.count()?;
        self.take(length)
    }

    fn count(&mut self) -> Result<u64, Error> {
        self.number().map(u64::from_le_bytes)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (number, rest) = self.rest.split_first_chunk().ok_or_else(odd)?;
        self.rest = rest;
        Ok(*number)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Error> {
        let length = usize::try_from(length).map_err(|_| odd())?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(odd)?;
        self.rest = rest;
        Ok(taken)
    }
}
