//! Reading a graph file.

use std::io::Read;
use std::sync::Arc;

use serde_json::Value;

use super::declare::Declarations;
use super::stream::{Item, Open, Stream, malformed};
use super::{Registry, Version};
use crate::data::json::{self, Missing};
use crate::data::{Layout, Record};
use crate::error::{Error, Result};
use crate::graph::build::EdgeValues;
use crate::graph::{DeviceId, GraphType, Instance, InstanceBuilder};

/// Reads the instance of a graph file, and binds its device types to registered handlers.
///
/// # Errors
/// When the file is malformed or truncated, its types are not registered or not the same as there, or its instance does not
/// fit its type; with the line.
pub fn read(input: impl Read, registry: &Registry) -> Result<Arc<Instance>> {
    let mut stream = Stream::new(input);
    let version = loop {
        match stream.next()? {
            Item::Open(open) if open.name == "Graphs" => break version_of(&open)?,
            Item::Open(open) => {
                return Err(malformed(
                    format!("a graph file begins with {:?}, not {:?}", "Graphs", open.name),
                    open.line,
                ));
            }
            Item::End if stream.is_empty() => return Err(malformed("the file is empty", stream.line())),
            Item::End => {
                return Err(malformed("there is no element in the file, where \"Graphs\" is expected", stream.line()));
            }
            _ => {}
        }
    };
    let mut file = File { stream, registry, version, types: Vec::new() };
    let mut instance = None;
    loop {
        match file.stream.next()? {
            Item::Open(open) => match open.name.as_str() {
                "GraphType" => file.graph_type(open)?,
                "GraphTypeReference" => {
                    let id = open.require("id")?;
                    let known = file.registry.get(id).map_err(|e| e.at_line(open.line))?;
                    file.types.push(Arc::clone(known));
                    file.stream.node(open)?;
                }
                "GraphInstance" if instance.is_some() => {
                    return Err(malformed("there is a second graph instance", open.line));
                }
                "GraphInstance" => instance = Some(file.instance(&open)?),
                // Meta data, and references to other files.
                _ => drop(file.stream.node(open)?),
            },
            Item::Close | Item::Text(_) => {}
            Item::End => break,
        }
    }
    instance.ok_or_else(|| malformed("there is no graph instance", file.stream.line()))
}

fn version_of(open: &Open) -> Result<Version> {
    let versions = [Version::V3, Version::V4];
    // The elements may have a prefix, so the name space is the value of some attribute.
    let found = versions.into_iter().find(|version| open.values().any(|value| value == version.namespace()));
    found.ok_or_else(|| {
        let names: Vec<String> = open.values().map(|value| format!("{value:?}")).collect();
        malformed(format!("no version of the format that is supported is among {}", names.join(", ")), open.line)
    })
}

/// A file being read.
struct File<'a, R: Read> {
    stream: Stream<R>,
    registry: &'a Registry,
    version: Version,
    types: Vec<Arc<GraphType>>,
}

impl<R: Read> File<'_, R> {
    fn graph_type(&mut self, open: Open) -> Result<()> {
        let line = open.line;
        let node = self.stream.node(open)?;
        let registered = self.registry.get(node.open.require("id")?).map_err(|e| e.at_line(line))?;
        self.types.push(Declarations::bind(self.version, &node, registered)?);
        Ok(())
    }

    fn instance(&mut self, open: &Open) -> Result<Arc<Instance>> {
        let id = open.require("graphTypeId")?;
        let graph_type = self.types.iter().find(|graph_type| graph_type.id() == id).cloned();
        let graph_type =
            graph_type.ok_or_else(|| malformed(format!("graph type {id:?} is not declared"), open.line))?;
        let mut builder = InstanceBuilder::new(&graph_type, open.require("id")?).lenient();
        let line = open.line;
        if let Some(text) = open.get("P") {
            let bytes = self.value(graph_type.properties(), Some(text)).map_err(|e| e.at_line(line))?;
            builder.properties(bytes.as_ref().map_or(&[], Record::bytes)).map_err(|e| e.at_line(line))?;
        }
        loop {
            match self.stream.next()? {
                Item::Open(open) => match open.name.as_str() {
                    "Properties" => {
                        let line = open.line;
                        let node = self.stream.node(open)?;
                        let record =
                            self.value(graph_type.properties(), Some(&node.text)).map_err(|e| e.at_line(line))?;
                        builder.properties(record.as_ref().map_or(&[], Record::bytes)).map_err(|e| e.at_line(line))?;
                    }
                    "DeviceInstances" => self.each("DevI", |file, values| file.device(&mut builder, &values))?,
                    "EdgeInstances" => self.each("EdgeI", |file, values| file.edge(&mut builder, &values))?,
                    _ => drop(self.stream.node(open)?),
                },
                Item::Text(text) => {
                    return Err(malformed(format!("{:?} stands between elements", text.trim()), self.stream.line()));
                }
                Item::Close => break,
                Item::End => return Err(malformed("the file ends inside of the instance", self.stream.line())),
            }
        }
        let instance = builder.build().map_err(|e| e.at_line(line))?;
        match graph_type.edges_differ().then(|| twice(&instance)).flatten() {
            Some(edge) => Err(malformed(format!("edge {edge} is there twice"), line)),
            None => Ok(instance),
        }
    }

    /// Calls a function for each element of a list, with what is in it.
    fn each(&mut self, name: &str, mut call: impl FnMut(&mut Self, Values) -> Result<()>) -> Result<()> {
        loop {
            match self.stream.next()? {
                Item::Open(open) if open.name == name => {
                    let line = open.line;
                    let values = self.values(open)?;
                    call(self, values).map_err(|e| e.at_line(line))?;
                }
                Item::Open(open) => {
                    let id = open.get("id").unwrap_or("");
                    return Err(malformed(format!("{:?} {id:?} is not supported", open.name), open.line).at_device(id));
                }
                Item::Text(text) => {
                    return Err(malformed(format!("{:?} stands between elements", text.trim()), self.stream.line()));
                }
                Item::Close => return Ok(()),
                Item::End => return Err(malformed("the file ends inside of a list", self.stream.line())),
            }
        }
    }

    /// The values of a device or edge, which lie in it as elements or are attributes.
    fn values(&mut self, open: Open) -> Result<Values> {
        let (properties, state) = (open.get("P").map(str::to_owned), open.get("S").map(str::to_owned));
        let mut values = Values { open, properties, state };
        loop {
            match self.stream.next()? {
                Item::Open(open) => {
                    let node = self.stream.node(open)?;
                    match node.open.name.as_str() {
                        "P" => values.properties = Some(node.text),
                        "S" => values.state = Some(node.text),
                        _ => {}
                    }
                }
                Item::Close => return Ok(values),
                Item::Text(_) => {}
                Item::End => return Err(malformed("the file ends inside of an element", self.stream.line())),
            }
        }
    }

    fn device(&mut self, builder: &mut InstanceBuilder, values: &Values) -> Result<()> {
        let (id, kind) = (values.open.require("id")?, values.open.require("type")?);
        let graph_type = Arc::clone(builder.graph_type());
        let unknown =
            || malformed(format!("device {id:?} is of type {kind:?}, which is not declared"), values.open.line);
        let number = graph_type.device(kind).ok_or_else(|| unknown().at_device(id))?;
        let kind = &graph_type.devices()[number.index()];
        let within = |e: Error, what: &str| e.within(format_args!("the {what} of device {id:?}")).at_device(id);
        let properties =
            self.value(kind.properties(), values.properties.as_deref()).map_err(|e| within(e, "properties"))?;
        let state = self.value(kind.state(), values.state.as_deref()).map_err(|e| within(e, "state"))?;
        let (properties, state) = (properties.as_ref().map(Record::bytes), state.as_ref().map(Record::bytes));
        builder.device_with(id, number, properties, state).map(drop)
    }

    fn edge(&mut self, builder: &mut InstanceBuilder, values: &Values) -> Result<()> {
        let path = values.open.require("path")?;
        let wrong = || malformed(format!("{path:?} is no path: it must be target:pin-source:pin"), values.open.line);
        let ends = path.split_once('-').ok_or_else(wrong)?;
        let split = |end: &'_ str| end.split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let (target, input) = split(ends.0).ok_or_else(wrong)?;
        let (source, output) = split(ends.1).ok_or_else(wrong)?;
        let within = |e: Error| e.within(format_args!("edge {path}"));
        let (target, source) = (builder.find(&target).map_err(within)?, builder.find(&source).map_err(within)?);
        let graph_type = Arc::clone(builder.graph_type());
        let no_pin = |way: &str, pin: &str| {
            within(malformed(format!("there is no {way} pin {pin:?}"), values.open.line)).at_pin(pin)
        };
        let (from, to) = (builder.type_of(source)?, builder.type_of(target)?);
        let (from, to) = (&graph_type.devices()[from.index()], &graph_type.devices()[to.index()]);
        let output = from.output(&output).ok_or_else(|| no_pin("output", &output))?;
        let input = to.input(&input).ok_or_else(|| no_pin("input", &input))?;
        let pin = &to.inputs()[input.index()];
        let properties = self.value(pin.properties(), values.properties.as_deref()).map_err(within)?;
        let state = self.value(pin.state(), values.state.as_deref()).map_err(within)?;
        let index = match values.open.get("sendIndex") {
            Some(text) => {
                Some(text.parse().map_err(|_| within(malformed(format!("{text:?} is no index"), values.open.line)))?)
            }
            None => None,
        };
        let (properties, state) = (properties.as_ref().map(Record::bytes), state.as_ref().map(Record::bytes));
        builder.edge_with(source, output, target, input, &EdgeValues { properties, state, index })
    }

    /// A record from what a file says.
    fn value(&self, layout: &Layout, text: Option<&str>) -> Result<Option<Record>> {
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        match self.version {
            Version::V4 => Record::from_c(layout, text).map(Some),
            Version::V3 => {
                let value: Value = serde_json::from_str(&format!("{{{text}}}"))
                    .map_err(|e| Error::new(crate::ErrorKind::Value, format!("not JSON: {e}")))?;
                let mut record = Record::new(layout);
                json::read(layout.tuple(), &value, record.bytes_mut(), Missing::Kept)?;
                Ok(Some(record))
            }
        }
    }
}

/// What a file says about a device or edge.
struct Values {
    open: Open,
    properties: Option<String>,
    state: Option<String>,
}

/// The first edge that is like another one, by its path: one of a pin that sends over all of its edges.
fn twice(instance: &Instance) -> Option<String> {
    let mut all: Vec<_> = instance
        .all_edges()
        .filter(|(_, ends)| !instance.type_of(ends.source).outputs()[ends.output.index()].is_indexed())
        .map(|(edge, ends)| {
            ((ends.source.0, ends.output.0, ends.target.0, ends.input.0), instance.edge_properties(edge))
        })
        .collect();
    all.sort_unstable();
    let &((source, output, target, input), _) = all.windows(2).find(|two| two[0] == two[1])?.first()?;
    let (source, target) = (DeviceId(source), DeviceId(target));
    let input = instance.type_of(target).inputs()[input as usize].name();
    let output = instance.type_of(source).outputs()[output as usize].name();
    Some(format!("{}:{input}-{}:{output}", instance.name(target), instance.name(source)))
}
