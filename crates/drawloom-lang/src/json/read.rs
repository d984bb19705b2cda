//! Bytes to a graph.
//!
//! Regions come before nodes before edges, in whatever order a file has them: each part is kept as a slice of the text,
//! found by one scan, and parsed by serde when it is needed. So the parser itself never recurses into a file, the list of a
//! graph's parts is all that is allocated before a part is known to be right, and a slice says where an error stands.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use super::DEEPEST;
use super::error::{JsonError, JsonErrorKind, position};
use super::ids::{Id, Text};
use drawloom_graph::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind, OperatorId};
use drawloom_graph::region::{RegionId, Regions};

/// The largest argument position: one less than 2^32 - 1, which stands for "none".
const LARGEST_PORT: u64 = u32::MAX as u64 - 1;

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
    let mut reader = Reader { text, regions: Regions::new() };
    let mut graph = reader.graph(text, 0)?;
    graph.set_regions(&Arc::new(reader.regions));
    Ok(graph)
}

/// A value whose parts are parsed later, or that is only parsed when it is needed. `null` is an absent value.
type Raw<'a> = Option<&'a RawValue>;

#[derive(Deserialize)]
#[serde(expecting = "a graph: an object with region_graph, nodes and edges")]
struct GraphParts<'a> {
    #[serde(borrow)]
    region_graph: Raw<'a>,
    nodes: Raw<'a>,
    edges: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(expecting = "a region graph: an object with regions, subregion and disjoint")]
struct RegionParts<'a> {
    #[serde(borrow)]
    regions: Raw<'a>,
    subregion: Raw<'a>,
    disjoint: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(expecting = "a node: an object with id and label")]
struct NodeParts<'a> {
    #[serde(borrow)]
    id: Raw<'a>,
    label: Raw<'a>,
    region: Option<Id<'a>>,
    cost: Option<Cost>,
    body: Raw<'a>,
    control: Raw<'a>,
    #[serde(rename = "else")]
    otherwise: Raw<'a>,
}

#[derive(Deserialize)]
#[serde(expecting = "an edge: an object with from, to and label")]
struct EdgeParts<'a> {
    #[serde(borrow)]
    from: Option<Id<'a>>,
    to: Option<Id<'a>>,
    label: Raw<'a>,
    op: Option<Text<'a>>,
    port: Option<Port>,
    reorderable: Option<bool>,
}

#[derive(Deserialize)]
#[serde(expecting = "a control: an object with one key")]
struct ControlParts<'a> {
    repeat: Option<u64>,
    #[serde(rename = "while", borrow)]
    condition: Option<Id<'a>>,
    #[serde(rename = "if")]
    choice: Option<Id<'a>>,
    call: Option<bool>,
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

/// A graph under construction.
struct Draft<'de> {
    graph: Graph,
    nodes: FxHashMap<Cow<'de, str>, NodeId>,
    operators: FxHashMap<Cow<'de, str>, OperatorId>,
}

impl<'de> Draft<'de> {
    /// The node of an id, entered as undeclared when there is none.
    fn endpoint(&mut self, id: Id<'de>) -> NodeId {
        let is_integer = id.is_integer();
        let name = id.into_text();
        if let Some(node) = self.nodes.get(&name) {
            return *node;
        }
        let node = self.add(&name, is_integer, NodeKind::Undeclared, None);
        self.nodes.insert(name, node);
        node
    }

    fn add(&mut self, name: &str, is_integer: bool, kind: NodeKind, region: Option<RegionId>) -> NodeId {
        let node = self.graph.add_raw(name, kind, region);
        if is_integer {
            self.graph.mark_integer_name(node);
        }
        node
    }

    fn operator(&mut self, name: Cow<'de, str>) -> Option<OperatorId> {
        if let Some(operator) = self.operators.get(&name) {
            return Some(*operator);
        }
        let operator = self.graph.try_operator(&name)?;
        self.operators.insert(name, operator);
        Some(operator)
    }
}

/// What all graphs of one file share.
struct Reader<'de> {
    text: &'de str,
    regions: Regions,
}

impl<'de> Reader<'de> {
    /// Reads a graph that has `depth` graphs around it.
    fn graph(&mut self, text: &'de str, depth: usize) -> Result<Graph, JsonError> {
        let expected = "a graph: an object with region_graph, nodes and edges";
        let parts: GraphParts<'de> = self.object(text, expected)?;
        if let Some(facts) = parts.region_graph {
            self.region_graph(facts.get())?;
        }
        let mut draft =
            Draft { graph: Graph::new(Regions::new()), nodes: FxHashMap::default(), operators: FxHashMap::default() };
        let nodes = parts.nodes.ok_or_else(|| self.shape(text, "a graph needs the key \"nodes\"".to_owned()))?;
        for node in self.list(nodes.get(), "a list of nodes")? {
            self.node(&mut draft, node.get(), depth)?;
        }
        if let Some(edges) = parts.edges {
            for edge in self.list(edges.get(), "a list of edges")? {
                self.edge(&mut draft, edge.get())?;
            }
        }
        Ok(draft.graph)
    }

    /// Names and facts. In a body, a name that the graph around it has declared is that graph's region.
    fn region_graph(&mut self, text: &'de str) -> Result<(), JsonError> {
        let expected = "a region graph: an object with regions, subregion and disjoint";
        let parts: RegionParts<'de> = self.object(text, expected)?;
        let mut listed: FxHashSet<RegionId> = FxHashSet::default();
        for entry in self.optional_list(parts.regions, "a list of region names")? {
            let id: Id<'de> = self.part(entry.get())?;
            let name = id.text();
            let declared = match self.regions.find(&name).filter(|r| self.regions.is_declared(*r)) {
                Some(region) => Ok(region),
                None => self.regions.abstract_region(&*name),
            };
            let declared = declared.map_err(|e| self.at_end(entry.get(), JsonErrorKind::TooLarge, e.to_string()))?;
            if !listed.insert(declared) {
                let message = format!("region {id} is listed twice");
                return Err(self.at_end(entry.get(), JsonErrorKind::Duplicate, message));
            }
        }
        self.facts(parts.subregion, Regions::add_subregion)?;
        self.facts(parts.disjoint, Regions::add_disjoint)
    }

    /// The pairs of one kind of fact.
    fn facts(&mut self, list: Raw<'de>, state: fn(&mut Regions, RegionId, RegionId)) -> Result<(), JsonError> {
        for fact in self.optional_list(list, "a list of pairs of region names")? {
            let names = self.list(fact.get(), "a pair of region names")?;
            let [a, b] = names[..] else {
                let count = ["none", "one"].get(names.len()).unwrap_or(&"three or more");
                return Err(self.shape(fact.get(), format!("a fact is a pair of region names, not {count}")));
            };
            let (a, b): (Id<'de>, Id<'de>) = (self.part(a.get())?, self.part(b.get())?);
            let (a, b) = (self.region(&a), self.region(&b));
            state(&mut self.regions, a, b);
        }
        Ok(())
    }

    fn node(&mut self, draft: &mut Draft<'de>, text: &'de str, depth: usize) -> Result<(), JsonError> {
        let parts: NodeParts<'de> = self.object(text, "a node: an object with id and label")?;
        let place = parts.id.ok_or_else(|| self.shape(text, "a node has no id".to_owned()))?.get();
        let id: Id<'de> = self.part(place)?;
        let name = id.text();
        if name.is_empty() {
            return Err(self.shape(place, "a node id is empty".to_owned()));
        }
        let label = parts.label.ok_or_else(|| self.shape(text, format!("node {id} has no label")))?.get();
        let Text(written) = self.expecting(label, "a text", "a node label: Task, Open, Close or Region")?;
        let kind = match &*written {
            "Task" => NodeKind::Task,
            "Open" => NodeKind::Open,
            "Close" => NodeKind::Close,
            "Region" => NodeKind::Data,
            other => {
                let message = format!("unknown node label {other:?}; labels are Task, Open, Close and Region");
                return Err(self.at_end(label, JsonErrorKind::Label, message));
            }
        };
        if draft.nodes.contains_key(&name) {
            return Err(self.at_end(place, JsonErrorKind::Duplicate, format!("node {id} is declared twice")));
        }
        let region = match kind {
            NodeKind::Data => parts.region.as_ref().map(|name| self.region(name)),
            _ => None,
        };
        let node = draft.add(&name, id.is_integer(), kind, region);
        if let Some(Cost(cost)) = parts.cost {
            draft.graph.set_cost(node, cost);
        }
        if kind == NodeKind::Task
            && let Some(body) = self.body(&id, &parts, depth)?
        {
            draft.graph.set_body(node, body);
        }
        drop(name);
        draft.nodes.insert(id.into_text(), node);
        Ok(())
    }

    fn body(&mut self, name: &Id<'de>, parts: &NodeParts<'de>, depth: usize) -> Result<Option<Body>, JsonError> {
        let Some(text) = parts.body.map(RawValue::get) else { return Ok(None) };
        if depth >= DEEPEST {
            let message = format!("the body of node {name} is nested more than {DEEPEST} graphs deep");
            return Err(self.at(text, JsonErrorKind::Nesting, message));
        }
        let control = match parts.control {
            Some(control) => self.control(name, control.get())?,
            None => Control::Call,
        };
        let mut body = Body::new(control, self.graph(text, depth + 1)?);
        if let Some(text) = parts.otherwise.map(RawValue::get) {
            if !matches!(body.control, Control::If(_)) {
                let message = format!("node {name} has an else, and its control is not an if");
                return Err(self.at(text, JsonErrorKind::Shape, message));
            }
            body = body.with_otherwise(self.graph(text, depth + 1)?);
        }
        Ok(Some(body))
    }

    fn control(&mut self, name: &Id<'de>, text: &'de str) -> Result<Control, JsonError> {
        let parts: ControlParts<'de> = self.object(text, "a control: an object with one key")?;
        Ok(match (parts.repeat, parts.condition, parts.choice, parts.call) {
            (Some(count), None, None, None) => Control::Repeat(count),
            (None, Some(region), None, None) => Control::While(self.region(&region)),
            (None, None, Some(region), None) => Control::If(self.region(&region)),
            (None, None, None, Some(true)) => Control::Call,
            _ => {
                let message = format!(
                    r#"the control of node {name} is one of {{"repeat":count}}, {{"while":region}}, {{"if":region}} and {{"call":true}}"#
                );
                return Err(self.at(text, JsonErrorKind::Shape, message));
            }
        })
    }

    fn edge(&mut self, draft: &mut Draft<'de>, text: &'de str) -> Result<(), JsonError> {
        let parts: EdgeParts<'de> = self.object(text, "an edge: an object with from, to and label")?;
        let (Some(from), Some(to)) = (parts.from, parts.to) else {
            return Err(self.shape(text, "an edge has no from or no to".to_owned()));
        };
        let Some(label) = parts.label.map(RawValue::get) else {
            return Err(self.shape(text, format!("the edge from {from} to {to} has no label")));
        };
        let expected = "an edge label: Read, Discard, Write, Reduce, HappensBefore or Use";
        let Text(name) = self.expecting(label, "a text", expected)?;
        let Some(kind) = Label::ALL.into_iter().find(|label| label.name() == name) else {
            let message =
                format!("unknown edge label {name:?}; labels are Read, Discard, Write, Reduce, HappensBefore and Use");
            return Err(self.at_end(label, JsonErrorKind::Label, message));
        };
        if from.text().is_empty() || to.text().is_empty() {
            return Err(self.shape(text, "an edge ends at a node with an empty id".to_owned()));
        }
        let mut edge = Edge::new(draft.endpoint(from), draft.endpoint(to), kind);
        if let Some(Port(port)) = parts.port {
            edge = edge.at_port(port);
        }
        if let (Label::Reduce, Some(Text(name))) = (kind, parts.op) {
            let operator = draft.operator(name).ok_or_else(|| {
                let message = "more than 65535 different reduction operators in one graph".to_owned();
                self.at_end(text, JsonErrorKind::TooLarge, message)
            })?;
            edge = edge.with_operator(operator);
        }
        if kind == Label::Write && parts.reorderable == Some(true) {
            edge = edge.reorderable();
        }
        draft.graph.add_edge(edge);
        Ok(())
    }

    fn region(&mut self, name: &Id<'de>) -> RegionId {
        self.regions.abstract_region_or_undeclared(&name.text())
    }

    /// Parses a slice of the text and moves errors to their place in the whole.
    fn part<T: Deserialize<'de>>(&self, text: &'de str) -> Result<T, JsonError> {
        serde_json::from_str(text).map_err(|error: serde_json::Error| {
            let kind = if error.is_data() { JsonErrorKind::Shape } else { JsonErrorKind::Syntax };
            let (line, column) = (error.line(), error.column());
            let mut message = error.to_string();
            let place = format!(" at line {line} column {column}");
            message.truncate(message.strip_suffix(place.as_str()).unwrap_or(&message).len());
            if let Some(key) = message.strip_prefix("duplicate field `").and_then(|rest| rest.strip_suffix('`')) {
                message = format!("the key {key:?} is given twice");
            }
            JsonError::new(kind, line, column, message).shifted(self.text, self.offset(text))
        })
    }

    /// Parses a slice that must be an object: serde would take a list of the values as well.
    fn object<T: Deserialize<'de>>(&self, text: &'de str, expected: &str) -> Result<T, JsonError> {
        if text.trim_start().starts_with('[') {
            // What is no JSON at all is reported as that.
            self.part::<serde::de::IgnoredAny>(text)?;
            let message = format!("invalid type: sequence, expected {expected}");
            return Err(self.at(text.trim_start(), JsonErrorKind::Shape, message));
        }
        self.part(text)
    }

    /// Parses a slice, with better words for what serde would have expected there.
    fn expecting<T: Deserialize<'de>>(&self, text: &'de str, serde: &str, expected: &str) -> Result<T, JsonError> {
        self.part(text).map_err(|error| {
            let message = error.message().replace(&format!("expected {serde}"), &format!("expected {expected}"));
            JsonError::new(error.kind(), error.line(), error.column(), message)
        })
    }

    /// The values of a list.
    fn list(&self, text: &'de str, expected: &str) -> Result<Vec<&'de RawValue>, JsonError> {
        self.expecting(text, "a sequence", expected)
    }

    fn optional_list(&self, list: Raw<'de>, expected: &str) -> Result<Vec<&'de RawValue>, JsonError> {
        list.map_or(Ok(Vec::new()), |list| self.list(list.get(), expected))
    }

    /// Where a slice of the text starts.
    fn offset(&self, part: &'de str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    /// An error at the start of a slice.
    fn at(&self, part: &'de str, kind: JsonErrorKind, message: String) -> JsonError {
        let (line, column) = position(self.text.as_bytes(), self.offset(part));
        JsonError::new(kind, line, column, message)
    }

    /// An error at the last byte of a slice.
    fn at_end(&self, part: &'de str, kind: JsonErrorKind, message: String) -> JsonError {
        let last = self.offset(part) + part.trim_end().len().saturating_sub(1);
        let (line, column) = position(self.text.as_bytes(), last);
        JsonError::new(kind, line, column, message)
    }

    /// An error of shape at the last byte of a slice.
    fn shape(&self, part: &'de str, message: String) -> JsonError {
        self.at_end(part, JsonErrorKind::Shape, message)
    }
}
