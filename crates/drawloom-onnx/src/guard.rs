//! A look at the bytes of a file before it is parsed: what nests too deep, or claims to be longer than the file, is refused
//! here, so that the parser can neither run out of stack nor allocate more than the file justifies.

use drawloom_tensor::{Error, ErrorKind};

/// How deep messages may be inside of each other. Every graph inside of a node takes three levels.
const MOST_LEVELS: usize = 96;

/// How many messages a file may hold. A model of a gigabyte of weights has some ten thousand.
const MOST_MESSAGES: usize = 1 << 20;

/// The messages that hold others.
#[derive(Clone, Copy)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Value,
    Type,
    Sequence,
    TensorType,
    Shape,
    Leaf,
}

impl Message {
    /// The message in a field, or nothing when the field is no message.
    fn inside(self, field: u64) -> Option<Self> {
        Some(match (self, field) {
            (Self::Model, 7) => Self::Graph,
            (Self::Model, 8 | 14) => Self::Leaf,
            (Self::Graph, 1) => Self::Node,
            (Self::Graph, 5) => Self::Leaf,
            (Self::Graph, 11..=13) => Self::Value,
            (Self::Node, 5) => Self::Attribute,
            (Self::Attribute, 5) => Self::Leaf,
            (Self::Attribute, 6) => Self::Graph,
            (Self::Value, 2) | (Self::Sequence, 1) => Self::Type,
            (Self::Type, 1) => Self::TensorType,
            (Self::Type, 4) => Self::Sequence,
            (Self::TensorType, 2) => Self::Shape,
            (Self::Shape, 1) => Self::Leaf,
            _ => return None,
        })
    }
}

/// Checks a model.
pub(super) fn model(bytes: &[u8]) -> Result<(), Error> {
    walk(bytes, Message::Model)
}

/// Checks a tensor.
pub(super) fn tensor(bytes: &[u8]) -> Result<(), Error> {
    walk(bytes, Message::Leaf)
}

fn walk(bytes: &[u8], outermost: Message) -> Result<(), Error> {
    let mut open = vec![(outermost, bytes.len())];
    let mut messages = 0;
    let mut at = 0;
    while let Some((message, end)) = open.last().copied() {
        if at == end {
            open.pop();
            continue;
        }
        let key = varint(bytes, &mut at, end)?;
        let length = match key & 7 {
            0 => {
                varint(bytes, &mut at, end)?;
                continue;
            }
            1 => 8,
            2 => varint(bytes, &mut at, end)?,
            5 => 4,
            other => return Err(wrong(at, &format!("a field has the unknown kind {other}"))),
        };
        let Some(behind) =
            usize::try_from(length).ok().and_then(|length| at.checked_add(length)).filter(|behind| *behind <= end)
        else {
            return Err(wrong(at, &format!("a field claims {length} bytes, and {} are left", end - at)));
        };
        match message.inside(key >> 3) {
            Some(inside) if key & 7 == 2 => {
                messages += 1;
                if messages > MOST_MESSAGES {
                    return Err(wrong(at, &format!("there are more than {MOST_MESSAGES} messages")));
                }
                if open.len() == MOST_LEVELS {
                    return Err(wrong(at, &format!("messages are nested more than {MOST_LEVELS} deep")));
                }
                open.push((inside, behind));
            }
            _ => at = behind,
        }
    }
    Ok(())
}

fn varint(bytes: &[u8], at: &mut usize, end: usize) -> Result<u64, Error> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        if *at >= end {
            return Err(wrong(*at, "it ends in the middle of a number"));
        }
        let byte = bytes[*at];
        *at += 1;
        if shift < 64 {
            value |= u64::from(byte & 127) << shift;
        }
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
    Err(wrong(*at, "a number has too many digits"))
}

fn wrong(at: usize, message: &str) -> Error {
    Error::new(ErrorKind::Import, format!("this is not an ONNX file, or it is damaged: at byte {at}, {message}"))
}
