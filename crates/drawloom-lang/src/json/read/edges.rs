//! The list of edges.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::graph::{Draft, Reader};
use crate::json::error::JsonErrorKind;
use crate::json::ids::{Id, Text};
use drawloom_graph::graph::{Edge, Label};

/// The largest argument position: one less than 2^32 - 1, which stands for "none".
const LARGEST_PORT: u64 = u32::MAX as u64 - 1;

pub(super) struct EdgesSeed<'r, 'de> {
    pub(super) reader: &'r mut Reader<'de>,
    pub(super) draft: &'r mut Draft<'de>,
}

impl<'de> DeserializeSeed<'de> for EdgesSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EdgesSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of edges")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(EdgeSeed { reader: &mut *self.reader, draft: &mut *self.draft })?.is_some() {}
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum EdgeKey {
    From,
    To,
    Label,
    Op,
    Port,
    Reorderable,
    #[serde(other)]
    Other,
}

struct EdgeSeed<'r, 'de> {
    reader: &'r mut Reader<'de>,
    draft: &'r mut Draft<'de>,
}

impl<'de> DeserializeSeed<'de> for EdgeSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for EdgeSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an edge: an object with from, to and label")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let EdgeSeed { reader, draft } = self;
        let (mut from, mut to): (Option<Id<'de>>, Option<Id<'de>>) = (None, None);
        let mut label: Option<Label> = None;
        let mut operator: Option<Text<'de>> = None;
        let mut port: Option<Port> = None;
        let mut reorderable: Option<bool> = None;
        while let Some(key) = map.next_key()? {
            match key {
                EdgeKey::From => from = Some(map.next_value()?),
                EdgeKey::To => to = Some(map.next_value()?),
                EdgeKey::Label => label = Some(map.next_value_seed(EdgeLabelSeed(&mut *reader))?),
                EdgeKey::Op => operator = map.next_value()?,
                EdgeKey::Port => port = map.next_value()?,
                EdgeKey::Reorderable => reorderable = map.next_value()?,
                EdgeKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let (Some(from), Some(to)) = (from, to) else {
            return Err(A::Error::custom("an edge has no from or no to"));
        };
        let Some(label) = label else {
            return Err(A::Error::custom(format_args!("the edge from {from} to {to} has no label")));
        };
        if [&from, &to].iter().any(|id| matches!(id, Id::Text(text) if text.is_empty())) {
            return Err(A::Error::custom("an edge ends at a node with an empty id"));
        }
        let mut edge = Edge::new(draft.endpoint(from), draft.endpoint(to), label);
        if let Some(Port(port)) = port {
            edge = edge.at_port(port);
        }
        if let (Label::Reduce, Some(Text(name))) = (label, operator) {
            let operator = draft.operator(name).ok_or_else(|| {
                reader.fail(JsonErrorKind::TooLarge, "more than 65535 different reduction operators in one graph")
            })?;
            edge = edge.with_operator(operator);
        }
        if label == Label::Write && reorderable == Some(true) {
            edge = edge.reorderable();
        }
        draft.graph.add_edge(edge);
        Ok(())
    }
}

/// An argument position.
struct Port(u32);

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PortVisitor;
        impl Visitor<'_> for PortVisitor {
            type Value = Port;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a port: an integer from 0 to {LARGEST_PORT}")
            }

            fn visit_u64<E: Error>(self, port: u64) -> Result<Port, E> {
                match port <= LARGEST_PORT {
                    true => Ok(Port(port as u32)),
                    false => Err(E::invalid_value(serde::de::Unexpected::Unsigned(port), &self)),
                }
            }
        }
        deserializer.deserialize_u64(PortVisitor)
    }
}

struct EdgeLabelSeed<'r, 'de>(&'r mut Reader<'de>);

impl<'de> DeserializeSeed<'de> for EdgeLabelSeed<'_, 'de> {
    type Value = Label;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Label, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for EdgeLabelSeed<'_, '_> {
    type Value = Label;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an edge label: Read, Discard, Write, Reduce, HappensBefore or Use")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Label, E> {
        Label::ALL.into_iter().find(|label| label.name() == name).ok_or_else(|| {
            let message = format_args!(
                "unknown edge label {name:?}; labels are Read, Discard, Write, Reduce, HappensBefore and Use"
            );
            self.0.fail(JsonErrorKind::Label, message)
        })
    }
}
