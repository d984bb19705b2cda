//! Ids and names as they stand in a file: texts or integers.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use drawloom_graph::graph::{Graph, NodeId};

/// An id or a name. Texts are borrowed from the file unless they hold escapes; integers are those of `i64` and `u64`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Id<'a> {
    Text(Cow<'a, str>),
    Integer(i128),
}

impl<'a> Id<'a> {
    /// A node's name as it is to be written. A name that was marked as an integer and is none stays a text.
    pub(crate) fn of(graph: &'a Graph, node: NodeId) -> Self {
        let name = graph.name(node);
        let integer = if graph.has_integer_name(node) { name.parse().ok() } else { None };
        let range = i128::from(i64::MIN)..=i128::from(u64::MAX);
        let id = integer.filter(|integer| range.contains(integer)).map(Id::Integer);
        id.filter(|id| id.text() == name).unwrap_or(Id::Text(name))
    }

    /// The id as a text, in which `1` and `"1"` are the same.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Id::Text(text) => Cow::Borrowed(text),
            Id::Integer(integer) => Cow::Owned(integer.to_string()),
        }
    }

    /// The id as a text that outlives it.
    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self {
            Id::Text(text) => text,
            Id::Integer(integer) => Cow::Owned(integer.to_string()),
        }
    }

    pub(super) fn is_integer(&self) -> bool {
        !matches!(self, Id::Text(_))
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Text(text) => write!(f, "{text:?}"),
            Id::Integer(integer) => write!(f, "{integer}"),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl<'de> Visitor<'de> for IdVisitor {
    type Value = Id<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name: a text or an integer")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Id<'de>, E> {
        Ok(Id::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Id<'de>, E> {
        Ok(Id::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Id<'de>, E> {
        Ok(Id::Integer(integer.into()))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Id<'de>, E> {
        Ok(Id::Integer(integer.into()))
    }
}

/// A text that is borrowed from the file unless it holds escapes. (`Cow` itself would always copy.)
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}
