//! Values as JSON, both ways.
//!
//! A tuple is an object, an array a list, a truth value `true` or `false`. Numbers that are not finite have no number in
//! JSON; they are the strings `"nan"`, `"inf"` and `"-inf"`. When reading, an array may also be an object whose keys are
//! indices, which leaves out elements, and a string stands for an array of bytes.

use std::fmt::Write;

use serde_json::Value;

use super::layout::{measure, placed};
use super::types::{Scalar, Tuple, Type};
use crate::error::{Error, ErrorKind, Result};

/// What becomes of members that a value does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// They keep what the record holds: their defaults.
    Kept,
    /// They are refused, unless they have a default.
    Refused,
}

/// Puts the defaults of all members into a record of zeros.
pub(crate) fn fill_defaults(tuple: &Tuple, bytes: &mut [u8]) -> Result<()> {
    for (offset, member) in placed(tuple) {
        let (size, _) = measure(&member.ty, 0)?;
        let place = &mut bytes[offset..offset + size];
        fill_inside(&member.ty, place)?;
        if let Some(default) = &member.default {
            let refuse =
                |e: Error| Error::new(ErrorKind::Type, format!("the default of member {:?}: {e}", member.name));
            read_value(&member.ty, default, place, Missing::Kept).map_err(refuse)?;
        }
    }
    Ok(())
}

fn fill_inside(ty: &Type, bytes: &mut [u8]) -> Result<()> {
    match ty {
        Type::Scalar(_) => Ok(()),
        Type::Array(element, _) => {
            let (size, _) = measure(element, 0)?;
            if size == 0 || !has_defaults(element) {
                return Ok(());
            }
            bytes.chunks_exact_mut(size).try_for_each(|place| fill_inside(element, place))
        }
        Type::Tuple(tuple) => fill_defaults(tuple, bytes),
    }
}

fn has_defaults(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => false,
        Type::Array(element, _) => has_defaults(element),
        Type::Tuple(tuple) => tuple.members().iter().any(|m| m.default.is_some() || has_defaults(&m.ty)),
    }
}

/// Reads an object into the bytes of a record.
pub(crate) fn read(tuple: &Tuple, value: &Value, bytes: &mut [u8], missing: Missing) -> Result<()> {
    let Value::Object(object) = value else {
        return Err(refuse(format!("{} is no object", short(value))));
    };
    if let Some(name) = object.keys().find(|name| !tuple.members().iter().any(|m| m.name == **name)) {
        return Err(refuse(format!("there is no member {name:?}")));
    }
    for (offset, member) in placed(tuple) {
        let within = |e: Error| e.within(format_args!("member {:?}", member.name));
        match object.get(&member.name) {
            Some(value) => {
                let (size, _) = measure(&member.ty, 0)?;
                read_value(&member.ty, value, &mut bytes[offset..offset + size], missing).map_err(within)?;
            }
            None if missing == Missing::Refused && member.default.is_none() && !is_hollow(&member.ty) => {
                return Err(refuse(format!("the member {:?} is missing, and has no default", member.name)));
            }
            None => {}
        }
    }
    Ok(())
}

/// Whether nothing has to be said about a value: it has defaults for everything, or nothing inside.
fn is_hollow(ty: &Type) -> bool {
    match ty {
        Type::Scalar(_) => false,
        Type::Array(element, length) => *length == 0 || is_hollow(element),
        Type::Tuple(tuple) => tuple.members().iter().all(|m| m.default.is_some() || is_hollow(&m.ty)),
    }
}

fn read_value(ty: &Type, value: &Value, bytes: &mut [u8], missing: Missing) -> Result<()> {
    match ty {
        Type::Scalar(scalar) => read_scalar(*scalar, value, bytes),
        Type::Tuple(tuple) => read(tuple, value, bytes, missing),
        Type::Array(element, length) => {
            let (size, _) = measure(element, 0)?;
            match value {
                Value::Array(list) if list.len() == *length => {
                    for (number, value) in list.iter().enumerate() {
                        read_value(element, value, &mut bytes[number * size..][..size], missing)
                            .map_err(|e| e.within(format_args!("element {number}")))?;
                    }
                    Ok(())
                }
                Value::Array(list) => Err(refuse(format!("an array of {length} was given {} values", list.len()))),
                Value::Object(object) => object.iter().try_for_each(|(index, value)| {
                    let place = index.parse::<usize>().ok().filter(|index| index < length);
                    let number = place.ok_or_else(|| refuse(format!("{index:?} is no index below {length}")))?;
                    read_value(element, value, &mut bytes[number * size..][..size], missing)
                }),
                Value::String(text) if size == 1 && text.len() <= *length => {
                    bytes[..text.len()].copy_from_slice(text.as_bytes());
                    Ok(())
                }
                _ => Err(refuse(format!("{} is no array of {length}", short(value)))),
            }
        }
    }
}

fn read_scalar(scalar: Scalar, value: &Value, bytes: &mut [u8]) -> Result<()> {
    let wrong = || refuse(format!("{} is no {}", short(value), scalar.c_name()));
    // What others write for an integer may be written as `1.0`, and a truth value as a number.
    let whole = || -> Option<i128> {
        match value {
            Value::Bool(truth) => Some(i128::from(*truth)),
            Value::Number(number) => (number.as_i64().map(i128::from))
                .or(number.as_u64().map(i128::from))
                .or(number.as_f64().filter(|x| x.fract() == 0.0 && x.abs() < 9e15).map(|x| x as i128)),
            Value::String(text) if scalar == Scalar::Char && text.len() == 1 => Some(i128::from(text.as_bytes()[0])),
            _ => None,
        }
    };
    let float = || -> Option<f64> {
        match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    };
    put_scalar(scalar, whole, float, bytes).ok_or_else(wrong)
}

/// Writes a scalar from whichever form it needs; nothing when it is out of range.
pub(crate) fn put_scalar(
    scalar: Scalar,
    whole: impl Fn() -> Option<i128>,
    float: impl Fn() -> Option<f64>,
    bytes: &mut [u8],
) -> Option<()> {
    macro_rules! integer {
        ($rust:ty) => {
            bytes.copy_from_slice(&<$rust>::try_from(whole()?).ok()?.to_ne_bytes())
        };
    }
    match scalar {
        Scalar::U8 => integer!(u8),
        Scalar::U16 => integer!(u16),
        Scalar::U32 => integer!(u32),
        Scalar::U64 => integer!(u64),
        Scalar::I8 => integer!(i8),
        Scalar::I16 => integer!(i16),
        Scalar::I32 => integer!(i32),
        Scalar::I64 => integer!(i64),
        Scalar::F32 => bytes.copy_from_slice(&(float()? as f32).to_ne_bytes()),
        Scalar::F64 => bytes.copy_from_slice(&float()?.to_ne_bytes()),
        Scalar::Bool => bytes[0] = u8::from(whole().filter(|n| (0..=1).contains(n))? == 1),
        // A letter may be signed or not.
        Scalar::Char => bytes[0] = whole().filter(|n| (-128..256).contains(n))? as u8,
    }
    Some(())
}

/// How values are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notation {
    Json,
    /// As an initialiser, in which truth values and letters are bytes.
    C,
}

/// What a scalar is declared as.
pub(crate) fn in_bytes(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Bool => Scalar::U8,
        Scalar::Char => Scalar::I8,
        other => other,
    }
}

/// The value of a record, as a compact object.
pub(crate) fn to_string(tuple: &Tuple, bytes: &[u8]) -> String {
    let mut text = String::new();
    write_tuple(Notation::Json, tuple, bytes, &mut text);
    text
}

/// A value inside of a record.
pub(crate) fn value_to_string(ty: &Type, bytes: &[u8]) -> String {
    let mut text = String::new();
    write_value(Notation::Json, ty, bytes, &mut text);
    text
}

/// The value of a tuple: in JSON with the names of its members.
pub(crate) fn write_tuple(notation: Notation, tuple: &Tuple, bytes: &[u8], text: &mut String) {
    text.push('{');
    write_members(notation, tuple, bytes, text);
    text.push('}');
}

/// The members of a tuple, without its braces.
pub(crate) fn write_members(notation: Notation, tuple: &Tuple, bytes: &[u8], text: &mut String) {
    for (number, (offset, member)) in placed(tuple).enumerate() {
        if number > 0 {
            text.push(',');
        }
        if notation == Notation::Json {
            let _ = write!(text, "\"{}\":", member.name);
        }
        write_value(notation, &member.ty, &bytes[offset..], text);
    }
}

fn write_value(notation: Notation, ty: &Type, bytes: &[u8], text: &mut String) {
    match ty {
        Type::Scalar(scalar) => write_scalar(notation, *scalar, &bytes[..scalar.size()], text),
        Type::Tuple(tuple) => write_tuple(notation, tuple, bytes, text),
        Type::Array(element, length) => {
            let size = measure(element, 0).map_or(0, |(size, _)| size);
            let (open, close) = if notation == Notation::Json { ('[', ']') } else { ('{', '}') };
            text.push(open);
            for number in 0..*length {
                if number > 0 {
                    text.push(',');
                }
                write_value(notation, element, &bytes[number * size..], text);
            }
            text.push(close);
        }
    }
}

fn write_scalar(notation: Notation, scalar: Scalar, bytes: &[u8], text: &mut String) {
    macro_rules! whole {
        ($rust:ty) => {
            drop(write!(text, "{}", bytemuck::pod_read_unaligned::<$rust>(bytes)))
        };
    }
    macro_rules! real {
        ($rust:ty) => {{
            let x = bytemuck::pod_read_unaligned::<$rust>(bytes);
            let quote = if notation == Notation::Json { "\"" } else { "" };
            let _ = match x {
                x if x.is_nan() => write!(text, "{quote}nan{quote}"),
                x if x.is_infinite() => write!(text, "{quote}{x}{quote}"),
                x => write!(text, "{x:?}"),
            };
        }};
    }
    match if notation == Notation::Json { scalar } else { in_bytes(scalar) } {
        Scalar::Bool => text.push_str(if bytes[0] != 0 { "true" } else { "false" }),
        Scalar::U8 | Scalar::Char => whole!(u8),
        Scalar::U16 => whole!(u16),
        Scalar::U32 => whole!(u32),
        Scalar::U64 => whole!(u64),
        Scalar::I8 => whole!(i8),
        Scalar::I16 => whole!(i16),
        Scalar::I32 => whole!(i32),
        Scalar::I64 => whole!(i64),
        Scalar::F32 => real!(f32),
        Scalar::F64 => real!(f64),
    }
}

fn refuse(message: String) -> Error {
    Error::new(ErrorKind::Value, message)
}

/// A value for a message, not all of it when it is long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
