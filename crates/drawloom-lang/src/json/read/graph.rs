//! The reader: what all parts of a file share, and the keys of a graph.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::edges::EdgesSeed;
use super::nodes::NodesSeed;
use super::region_graph::RegionGraphSeed;
use crate::json::error::{JsonError, JsonErrorKind, position};
use crate::json::ids::Id;
use crate::json::table::{Entry, NodeTable};
use drawloom_graph::graph::{Graph, NodeId, NodeKind, OperatorId};
use drawloom_graph::region::{RegionId, Regions};

/// Reads a graph.
///
/// Endpoints that no node declares, data without a known region, and facts about unknown regions are read; the check
/// reports them.
pub fn read(bytes: &[u8]) -> Result<Graph, JsonError> {
    if u32::try_from(bytes.len()).is_err() {
        let message = "files of four gigabytes or more are not read; split the graph".to_owned();
        return Err(JsonError::new(JsonErrorKind::TooLarge, 1, 1, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let (line, column) = position(bytes, error.valid_up_to());
        JsonError::new(JsonErrorKind::Encoding, line, column, "the file is not UTF-8 text".to_owned())
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { text, regions: Regions::new(), failure: None };
    let mut graph = reader.graph(text, 0)?;
    graph.set_regions(&Arc::new(reader.regions));
    Ok(graph)
}

/// What all parts of one file share.
pub(super) struct Reader<'de> {
    text: &'de str,
    pub(super) regions: Regions,
    failure: Option<Failure>,
}

/// What serde's errors cannot carry.
enum Failure {
    /// The kind of the error that is on its way.
    Kind(JsonErrorKind),
    /// A finished error, from a part that was parsed by itself.
    Finished(JsonError),
}

impl<'de> Reader<'de> {
    pub(super) fn graph(&mut self, text: &'de str, depth: usize) -> Result<Graph, JsonError> {
        self.part(text, |reader, part| GraphSeed { reader, depth }.deserialize(part))
    }

    /// Parses a slice of the text and moves errors to their place in the whole.
    pub(super) fn part<T>(
        &mut self,
        text: &'de str,
        parse: impl FnOnce(
            &mut Self,
            &mut serde_json::Deserializer<serde_json::de::StrRead<'de>>,
        ) -> Result<T, serde_json::Error>,
    ) -> Result<T, JsonError> {
        let mut part = serde_json::Deserializer::from_str(text);
        let result = parse(self, &mut part).and_then(|value| part.end().map(|()| value));
        result.map_err(|error| {
            let kind = match self.failure.take() {
                Some(Failure::Finished(error)) => return error,
                Some(Failure::Kind(kind)) => kind,
                None if error.is_data() => JsonErrorKind::Shape,
                None => JsonErrorKind::Syntax,
            };
            let (line, column) = (error.line(), error.column());
            let mut message = error.to_string();
            let place = format!(" at line {line} column {column}");
            message.truncate(message.strip_suffix(place.as_str()).unwrap_or(&message).len());
            JsonError::new(kind, line, column, message).shifted(self.text, self.offset(text))
        })
    }

    /// Where a slice of the text starts.
    fn offset(&self, part: &'de str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    pub(super) fn fail<E: Error>(&mut self, kind: JsonErrorKind, message: impl fmt::Display) -> E {
        self.failure = Some(Failure::Kind(kind));
        E::custom(message)
    }

    /// Carries a finished error through a visitor.
    pub(super) fn carry<E: Error>(&mut self, error: JsonError) -> E {
        let carrier = E::custom(&error);
        self.failure = Some(Failure::Finished(error));
        carrier
    }

    /// A finished error about the slice that starts there.
    pub(super) fn at(&self, part: &'de str, kind: JsonErrorKind, message: String) -> JsonError {
        let (line, column) = position(self.text.as_bytes(), self.offset(part));
        JsonError::new(kind, line, column, message)
    }

    pub(super) fn region(&mut self, name: &Id<'de>) -> RegionId {
        name.with_text(|name| self.regions.abstract_region_or_undeclared(name))
    }
}

/// A graph under construction.
pub(super) struct Draft<'de> {
    pub(super) graph: Graph,
    nodes: NodeTable,
    operators: FxHashMap<Cow<'de, str>, OperatorId>,
    /// How many graphs are around this one.
    pub(super) depth: usize,
}

impl<'de> Draft<'de> {
    /// The node of an id, entered as undeclared when there is none.
    pub(super) fn endpoint(&mut self, id: Id<'de>) -> NodeId {
        if let Id::Integer(integer) = id
            && let Some(node) = self.nodes.integer(integer)
        {
            return node;
        }
        let next = NodeId::from_index(self.graph.nodes().len());
        let node = id.with_text(|name| match self.nodes.entry(&self.graph, name, next) {
            Entry::Old(node) => node,
            Entry::New => {
                self.graph.add_raw(name, NodeKind::Undeclared, None);
                if id.is_integer() {
                    self.graph.mark_integer_name(next);
                }
                next
            }
        });
        if let Id::Integer(integer) = id {
            self.nodes.remember_integer(integer, node);
        }
        node
    }

    /// Enters the id of the node that will be added next. Returns whether the id is new.
    pub(super) fn declare(&mut self, id: &Id<'de>) -> bool {
        let next = NodeId::from_index(self.graph.nodes().len());
        let new = id.with_text(|name| matches!(self.nodes.entry(&self.graph, name, next), Entry::New));
        if let (Id::Integer(integer), true) = (id, new) {
            self.nodes.remember_integer(*integer, next);
        }
        new
    }

    pub(super) fn operator(&mut self, name: Cow<'de, str>) -> Option<OperatorId> {
        if let Some(operator) = self.operators.get(&*name) {
            return Some(*operator);
        }
        let operator = self.graph.try_operator(&name)?;
        self.operators.insert(name, operator);
        Some(operator)
    }
}

#[derive(Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum GraphKey {
    RegionGraph,
    Nodes,
    Edges,
    #[serde(other)]
    Other,
}

struct GraphSeed<'r, 'de> {
    reader: &'r mut Reader<'de>,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for GraphSeed<'_, 'de> {
    type Value = Graph;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Graph, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for GraphSeed<'_, 'de> {
    type Value = Graph;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a graph: an object with region_graph, nodes and edges")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Graph, A::Error> {
        let GraphSeed { reader, depth } = self;
        let mut draft = Draft {
            graph: Graph::new(Regions::new()),
            nodes: NodeTable::new(),
            operators: FxHashMap::default(),
            depth,
        };
        let (mut facts_done, mut nodes_done) = (false, false);
        let (mut nodes_seen, mut edges_seen) = (false, false);
        let (mut early_nodes, mut early_edges): (Option<&str>, Option<&str>) = (None, None);
        while let Some(key) = map.next_key()? {
            match key {
                GraphKey::RegionGraph => {
                    first(&mut facts_done, "region_graph")?;
                    map.next_value_seed(RegionGraphSeed(&mut *reader))?;
                }
                GraphKey::Nodes => {
                    first(&mut nodes_seen, "nodes")?;
                    if facts_done {
                        map.next_value_seed(NodesSeed { reader: &mut *reader, draft: &mut draft })?;
                        nodes_done = true;
                    } else {
                        early_nodes = Some(map.next_value::<&RawValue>()?.get());
                    }
                }
                GraphKey::Edges => {
                    first(&mut edges_seen, "edges")?;
                    if nodes_done {
                        map.next_value_seed(EdgesSeed { reader: &mut *reader, draft: &mut draft })?;
                    } else {
                        early_edges = Some(map.next_value::<&RawValue>()?.get());
                    }
                }
                GraphKey::Other => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if !nodes_seen {
            return Err(A::Error::custom("a graph needs the key \"nodes\""));
        }
        if let Some(text) = early_nodes {
            let nodes = reader.part(text, |reader, part| NodesSeed { reader, draft: &mut draft }.deserialize(part));
            nodes.map_err(|error| reader.carry(error))?;
        }
        if let Some(text) = early_edges {
            let edges = reader.part(text, |reader, part| EdgesSeed { reader, draft: &mut draft }.deserialize(part));
            edges.map_err(|error| reader.carry(error))?;
        }
        Ok(draft.graph)
    }
}

/// Refuses a second value for one key.
pub(super) fn first<E: Error>(seen: &mut bool, key: &str) -> Result<(), E> {
    match std::mem::replace(seen, true) {
        false => Ok(()),
        true => Err(E::custom(format_args!("the key {key:?} is given twice"))),
    }
}
