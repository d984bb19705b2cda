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

/// A scalar of a record.
pub(crate) enum Number {
    Whole(i128),
    Float(f64),
    Single(f32),
}

/// The scalar in some bytes.
pub(crate) fn take_scalar(scalar: Scalar, bytes: &[u8]) -> Number {
    macro_rules! integer {
        ($rust:ty) => {
            Number::Whole(i128::from(bytemuck::pod_read_unaligned::<$rust>(bytes)))
        };
    }
    match scalar {
        Scalar::U8 | Scalar::Char => integer!(u8),
        Scalar::Bool => Number::Whole(i128::from(bytes[0] != 0)),
        Scalar::U16 => integer!(u16),
        Scalar::U32 => integer!(u32),
        Scalar::U64 => integer!(u64),
        Scalar::I8 => integer!(i8),
        Scalar::I16 => integer!(i16),
        Scalar::I32 => integer!(i32),
        Scalar::I64 => integer!(i64),
        Scalar::F32 => Number::Single(bytemuck::pod_read_unaligned(bytes)),
        Scalar::F64 => Number::Float(bytemuck::pod_read_unaligned(bytes)),
    }
}

/// The value of a record, as a compact object.
pub(crate) fn to_string(tuple: &Tuple, bytes: &[u8]) -> String {
    let mut text = String::from("{");
    write_members(tuple, bytes, &mut text);
    text.push('}');
    text
}

/// A value inside of a record.
pub(crate) fn value_to_string(ty: &Type, bytes: &[u8]) -> String {
    let mut text = String::new();
    write_value(ty, bytes, &mut text);
    text
}

/// The members of an object, without its braces.
pub(crate) fn write_members(tuple: &Tuple, bytes: &[u8], text: &mut String) {
    for (number, (offset, member)) in placed(tuple).enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\"{}\":", member.name);
        write_value(&member.ty, &bytes[offset..], text);
    }
}

fn write_value(ty: &Type, bytes: &[u8], text: &mut String) {
    match ty {
        Type::Scalar(Scalar::Bool) => text.push_str(if bytes[0] != 0 { "true" } else { "false" }),
        Type::Scalar(scalar) => match take_scalar(*scalar, &bytes[..scalar.size()]) {
            Number::Whole(n) => drop(write!(text, "{n}")),
            Number::Single(x) if x.is_finite() => drop(write!(text, "{x:?}")),
            Number::Float(x) if x.is_finite() => drop(write!(text, "{x:?}")),
            Number::Single(x) => write_infinite(f64::from(x), text),
            Number::Float(x) => write_infinite(x, text),
        },
        Type::Tuple(tuple) => {
            text.push('{');
            write_members(tuple, bytes, text);
            text.push('}');
        }
        Type::Array(element, length) => {
            let size = measure(element, 0).map_or(0, |(size, _)| size);
            text.push('[');
            for number in 0..*length {
                if number > 0 {
                    text.push(',');
                }
                write_value(element, &bytes[number * size..], text);
            }
            text.push(']');
        }
    }
}

fn write_infinite(x: f64, text: &mut String) {
    text.push_str(if x.is_nan() {
        "\"nan\""
    } else if x > 0.0 {
        "\"inf\""
    } else {
        "\"-inf\""
    });
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

#[cfg(test)]
mod tests {
    use crate::data::{Layout, Record, Scalar, Tuple, Type};

    fn layout() -> Layout {
        let point = Tuple::new().with("x", Scalar::F64).with_default("y", Scalar::F32, 0.5);
        let tuple = Tuple::new()
            .with("n", Scalar::U64)
            .with_default("flag", Scalar::Bool, true)
            .with("points", Type::array(point, 2))
            .with_default("name", Type::array(Scalar::Char, 4), "ab");
        Layout::new(tuple).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_with_the_same_bits() {
        let text = r#"{"n":18446744073709551615,"flag":false,"points":[{"x":0.1,"y":0.2},{"x":"-inf","y":3}]}"#;
        let record = Record::from_json(&layout(), text).unwrap();
        let written = record.to_json();
        assert!(written.starts_with(
            r#"{"n":18446744073709551615,"flag":false,"points":[{"x":0.1,"y":0.2},{"x":"-inf","y":3.0}]"#
        ));
        assert_eq!(Record::from_json(&layout(), &written).unwrap(), record);
    }

    #[test]
    fn defaults_stand_for_what_is_left_out_and_nothing_else_may_be() {
        let record = Record::from_json(&layout(), r#"{"n":1,"points":{"0":{"x":1}, "1":{"x":2,"y":9}}}"#).unwrap();
        assert_eq!(
            record.to_json(),
            r#"{"n":1,"flag":true,"points":[{"x":1.0,"y":0.5},{"x":2.0,"y":9.0}],"name":[97,98,0,0]}"#
        );
        let refused = Record::from_json(&layout(), r#"{"points":[{"x":1},{"x":1}]}"#).unwrap_err();
        assert_eq!(refused.to_string(), "the member \"n\" is missing, and has no default");
    }

    #[test]
    fn values_of_another_type_are_refused_by_name() {
        for (text, words) in [
            (r#"{"n":-1}"#, "member \"n\": -1 is no uint64_t"),
            (r#"{"n":1.5}"#, "member \"n\": 1.5 is no uint64_t"),
            (r#"{"n":1,"flag":2}"#, "member \"flag\": 2 is no bool"),
            (r#"{"n":1,"points":[{"x":1}]}"#, "member \"points\": an array of 2 was given 1 values"),
            (r#"{"n":1,"points":{"7":{}}}"#, "member \"points\": \"7\" is no index below 2"),
            (r#"{"m":1}"#, "there is no member \"m\""),
            (r#"[1]"#, "[1] is no object"),
            (r#"{"n":"#, "not JSON"),
        ] {
            let message = Record::from_json(&layout(), text).unwrap_err().to_string();
            assert!(message.starts_with(words), "{message}");
        }
    }
}
