//! The list of nodes.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::graph::{Draft, Reader, first};
use crate::json::error::JsonErrorKind;
use crate::json::ids::Id;
use drawloom_graph::graph::NodeKind;

pub(super) struct NodesSeed<'r, 'de> {
    pub(super) reader: &'r mut Reader<'de>,
    pub(super) draft: &'r mut Draft<'de>,
}

impl<'de> DeserializeSeed<'de> for NodesSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NodesSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of nodes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(NodeSeed { reader: &mut *self.reader, draft: &mut *self.draft })?.is_some() {}
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "lowercase")]
enum NodeKey {
    Id,
    Label,
    Region,
    Cost,
    Body,
    Control,
    Else,
    #[serde(other)]
    Other,
}

/// What is known of a node before its end.
#[derive(Default)]
pub(super) struct NodeParts<'de> {
    id: Option<Id<'de>>,
    kind: Option<NodeKind>,
    region: Option<Id<'de>>,
    cost: Option<Cost>,
    pub(super) body: Option<&'de str>,
    pub(super) control: Option<&'de str>,
    pub(super) otherwise: Option<&'de str>,
}

struct NodeSeed<'r, 'de> {
    reader: &'r mut Reader<'de>,
    draft: &'r mut Draft<'de>,
}

impl<'de> DeserializeSeed<'de> for NodeSeed<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for NodeSeed<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node: an object with id and label")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let NodeSeed { reader, draft } = self;
        let mut parts = NodeParts::default();
        let mut has_id = false;
        while let Some(key) = map.next_key()? {
            match key {
                NodeKey::Id => {
                    first(&mut has_id, "id")?;
                    parts.id = Some(map.next_value_seed(NewIdSeed { reader: &mut *reader, draft: &mut *draft })?);
                }
                NodeKey::Label => parts.kind = Some(map.next_value_seed(NodeLabelSeed(&mut *reader))?),
                NodeKey::Region => parts.region = map.next_value()?,
                NodeKey::Cost => parts.cost = map.next_value()?,
                NodeKey::Body => parts.body = raw(&mut map)?,
                NodeKey::Control => parts.control = raw(&mut map)?,
                NodeKey::Else => parts.otherwise = raw(&mut map)?,
                NodeKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let id = parts.id.take().ok_or_else(|| A::Error::custom("a node has no id"))?;
        let kind = parts.kind.ok_or_else(|| A::Error::custom(format_args!("node {id} has no label")))?;
        let region = match kind {
            NodeKind::Data => parts.region.as_ref().map(|name| reader.region(name)),
            _ => None,
        };
        let node = id.with_text(|name| draft.graph.add_raw(name, kind, region));
        if id.is_integer() {
            draft.graph.mark_integer_name(node);
        }
        if let Some(Cost(cost)) = parts.cost {
            draft.graph.set_cost(node, cost);
        }
        if kind == NodeKind::Task {
            let body = reader.body(&id, &parts, draft.depth).map_err(|error| reader.carry(error))?;
            if let Some(body) = body {
                draft.graph.set_body(node, body);
            }
        }
        Ok(())
    }
}

/// A value kept as text until it is known whether it is needed. `null` is an absent value.
fn raw<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<&'de str>, A::Error> {
    let text = map.next_value::<&RawValue>()?.get();
    Ok((text != "null").then_some(text))
}

/// The id of a node that is being declared. It is entered here, so that a duplicate is reported where it stands.
struct NewIdSeed<'r, 'de> {
    reader: &'r mut Reader<'de>,
    draft: &'r mut Draft<'de>,
}

impl<'de> DeserializeSeed<'de> for NewIdSeed<'_, 'de> {
    type Value = Id<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Id<'de>, D::Error> {
        let id = Id::deserialize(deserializer)?;
        if id.with_text(str::is_empty) {
            return Err(D::Error::custom("a node id is empty"));
        }
        if !self.draft.declare(&id) {
            return Err(self.reader.fail(JsonErrorKind::Duplicate, format_args!("node {id} is declared twice")));
        }
        Ok(id)
    }
}

/// A number that is not negative.
struct Cost(f64);

impl<'de> Deserialize<'de> for Cost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let cost = f64::deserialize(deserializer)?;
        match cost >= 0.0 {
            true => Ok(Cost(cost)),
            false => Err(D::Error::custom(format_args!("the cost {cost} is negative"))),
        }
    }
}

struct NodeLabelSeed<'r, 'de>(&'r mut Reader<'de>);

impl<'de> DeserializeSeed<'de> for NodeLabelSeed<'_, 'de> {
    type Value = NodeKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<NodeKind, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for NodeLabelSeed<'_, '_> {
    type Value = NodeKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node label: Task, Open, Close or Region")
    }

    fn visit_str<E: Error>(self, label: &str) -> Result<NodeKind, E> {
        Ok(match label {
            "Task" => NodeKind::Task,
            "Open" => NodeKind::Open,
            "Close" => NodeKind::Close,
            "Region" => NodeKind::Data,
            _ => {
                let message = format_args!("unknown node label {label:?}; labels are Task, Open, Close and Region");
                return Err(self.0.fail(JsonErrorKind::Label, message));
            }
        })
    }
}
