//! Writing a graph file.

use std::io::Write;

use quick_xml::escape::{escape, partial_escape};

use super::Version;
use crate::data::json::{self, Notation};
use crate::data::layout::{measure, placed};
use crate::data::types::{Member, Tuple, Type};
use crate::data::{Layout, c};
use crate::error::Result;
use crate::graph::{DeviceId, DeviceType, GraphType, Instance, OutputId};

/// Writes an instance with its type and its initial states.
///
/// # Errors
/// When writing fails.
pub fn write(instance: &Instance, version: Version, to: impl Write) -> Result<()> {
    Writer { to: std::io::BufWriter::new(to), version }.file(instance)
}

struct Writer<W: Write> {
    to: W,
    version: Version,
}

impl<W: Write> Writer<W> {
    fn file(&mut self, instance: &Instance) -> Result<()> {
        let minor = if self.version == Version::V4 { " formatMinorVersion=\"0\"" } else { "" };
        writeln!(self.to, "<?xml version=\"1.0\"?>\n<Graphs xmlns=\"{}\"{minor}>", self.version.namespace())?;
        self.graph_type(instance.graph_type())?;
        self.instance(instance)?;
        writeln!(self.to, "</Graphs>")?;
        self.to.flush()?;
        Ok(())
    }

    fn graph_type(&mut self, graph_type: &GraphType) -> Result<()> {
        writeln!(self.to, " <GraphType id=\"{}\">", graph_type.id())?;
        if !graph_type.documentation().is_empty() && self.version == Version::V3 {
            writeln!(self.to, "  <Documentation>{}</Documentation>", partial_escape(graph_type.documentation()))?;
        }
        self.declare("  ", "Properties", graph_type.properties())?;
        self.code("  ", "SharedCode", graph_type.shared_code())?;
        writeln!(self.to, "  <MessageTypes>")?;
        for message in graph_type.messages() {
            writeln!(self.to, "   <MessageType id=\"{}\">", message.id())?;
            self.declare("    ", "Message", message.layout())?;
            writeln!(self.to, "   </MessageType>")?;
        }
        writeln!(self.to, "  </MessageTypes>\n  <DeviceTypes>")?;
        for kind in graph_type.devices() {
            self.device_type(graph_type, kind)?;
        }
        writeln!(self.to, "  </DeviceTypes>\n </GraphType>")?;
        Ok(())
    }

    fn device_type(&mut self, graph_type: &GraphType, kind: &DeviceType) -> Result<()> {
        let message = |id: crate::graph::MessageId| graph_type.messages()[id.index()].id();
        writeln!(self.to, "   <DeviceType id=\"{}\">", kind.id())?;
        self.declare("    ", "Properties", kind.properties())?;
        self.declare("    ", "State", kind.state())?;
        self.code("    ", "SharedCode", &kind.code().shared)?;
        for pin in kind.inputs() {
            writeln!(self.to, "    <InputPin name=\"{}\" messageTypeId=\"{}\">", pin.name(), message(pin.message()))?;
            self.declare("     ", "Properties", pin.properties())?;
            self.declare("     ", "State", pin.state())?;
            self.code("     ", "OnReceive", pin.code())?;
            writeln!(self.to, "    </InputPin>")?;
        }
        for pin in kind.outputs() {
            let indexed = if pin.is_indexed() { " indexed=\"true\"" } else { "" };
            let (name, message) = (pin.name(), message(pin.message()));
            writeln!(self.to, "    <OutputPin name=\"{name}\" messageTypeId=\"{message}\"{indexed}>")?;
            self.code("     ", "OnSend", pin.code())?;
            writeln!(self.to, "    </OutputPin>")?;
        }
        self.code("    ", "ReadyToSend", &kind.code().ready)?;
        self.code("    ", "OnInit", &kind.code().init)?;
        self.code("    ", "OnHardwareIdle", &kind.code().idle)?;
        if self.version == Version::V4 {
            self.code("    ", "OnDeviceIdle", "")?;
        }
        writeln!(self.to, "   </DeviceType>")?;
        Ok(())
    }

    /// C text. The tools of the family insist on some of these elements, so they are written when they are empty too.
    fn code(&mut self, indent: &str, name: &str, text: &str) -> Result<()> {
        let optional = self.version == Version::V3 && matches!(name, "SharedCode" | "OnInit" | "OnHardwareIdle");
        if text.is_empty() && optional {
            return Ok(());
        }
        if text.is_empty() {
            writeln!(self.to, "{indent}<{name}></{name}>")?;
        } else {
            // A section of literal text cannot hold its own end.
            writeln!(self.to, "{indent}<{name}><![CDATA[{}]]></{name}>", text.replace("]]>", "]]]]><![CDATA[>"))?;
        }
        Ok(())
    }

    fn declare(&mut self, indent: &str, name: &str, layout: &Layout) -> Result<()> {
        match self.version {
            Version::V4 if layout.tuple().is_empty() => writeln!(self.to, "{indent}<{name}></{name}>")?,
            Version::V4 => {
                writeln!(self.to, "{indent}<{name}><![CDATA[\n{}]]></{name}>", c::declarations(layout.tuple()))?;
            }
            Version::V3 if layout.tuple().is_empty() => {}
            Version::V3 => {
                writeln!(self.to, "{indent}<{name}>")?;
                self.members(&format!("{indent} "), layout.tuple(), layout.default_bytes())?;
                writeln!(self.to, "{indent}</{name}>")?;
            }
        }
        Ok(())
    }

    fn members(&mut self, indent: &str, tuple: &Tuple, defaults: &[u8]) -> Result<()> {
        for (offset, member) in placed(tuple) {
            self.member(indent, member, &defaults[offset..])?;
        }
        Ok(())
    }

    /// A declaration. A default is written as the record of all defaults has it, so that it needs no interpretation.
    fn member(&mut self, indent: &str, member: &Member, defaults: &[u8]) -> Result<()> {
        let name = &member.name;
        let default = member.default.as_ref().map(|_| json::value_to_string(&member.ty, defaults));
        match &member.ty {
            Type::Scalar(scalar) => {
                let default = default.map_or(String::new(), |text| format!(" default=\"{}\"", escape(text.as_str())));
                writeln!(self.to, "{indent}<Scalar name=\"{name}\" type=\"{}\"{default}/>", scalar.c_name())?;
            }
            Type::Array(element, length) => {
                let inside = format!("{indent} ");
                let ty = match &**element {
                    Type::Scalar(scalar) => format!(" type=\"{}\"", scalar.c_name()),
                    _ => String::new(),
                };
                writeln!(self.to, "{indent}<Array name=\"{name}\" length=\"{length}\"{ty}>")?;
                if ty.is_empty() {
                    let one = Member { name: "_".to_owned(), ty: (**element).clone(), default: None };
                    let size = measure(element, 0).map_or(0, |(size, _)| size);
                    // An array without elements has no defaults for one.
                    let zeros = vec![0; size];
                    self.member(&inside, &one, if *length > 0 { defaults } else { &zeros })?;
                }
                if let Some(text) = default {
                    writeln!(self.to, "{inside}<Default>{}</Default>", partial_escape(text.as_str()))?;
                }
                writeln!(self.to, "{indent}</Array>")?;
            }
            Type::Tuple(tuple) => {
                let inside = format!("{indent} ");
                writeln!(self.to, "{indent}<Tuple name=\"{name}\">")?;
                self.members(&inside, tuple, defaults)?;
                if let Some(text) = default {
                    let members = text.trim_start_matches('{').strip_suffix('}').unwrap_or("");
                    writeln!(self.to, "{inside}<Default>{}</Default>", partial_escape(members))?;
                }
                writeln!(self.to, "{indent}</Tuple>")?;
            }
        }
        Ok(())
    }

    fn instance(&mut self, instance: &Instance) -> Result<()> {
        let graph_type = instance.graph_type();
        write!(self.to, " <GraphInstance id=\"{}\" graphTypeId=\"{}\"", escape(instance.id()), graph_type.id())?;
        let properties = self.value(graph_type.properties(), instance.properties());
        match (&properties, self.version) {
            (Some(text), Version::V4) => writeln!(self.to, " P=\"{text}\">")?,
            (Some(text), Version::V3) => writeln!(self.to, ">\n  <Properties>{text}</Properties>")?,
            (None, _) => writeln!(self.to, ">")?,
        }
        writeln!(self.to, "  <DeviceInstances>")?;
        for device in (0..instance.devices() as u32).map(DeviceId) {
            let kind = instance.type_of(device);
            let properties = self.value(kind.properties(), instance.device_properties(device));
            let state = self.state(kind.state(), instance.initial_state(device));
            write!(self.to, "   <DevI id=\"{}\" type=\"{}\"", escape(instance.name(device)), kind.id())?;
            self.values("DevI", properties, state)?;
        }
        writeln!(self.to, "  </DeviceInstances>\n  <EdgeInstances>")?;
        for (number, ends) in instance.all_edges() {
            let (from, to) = (instance.type_of(ends.source), instance.type_of(ends.target));
            let (output, pin) = (&from.outputs()[ends.output.index()], &to.inputs()[ends.input.index()]);
            let properties = self.value(pin.properties(), instance.edge_properties(number));
            let state = self.state(pin.state(), instance.initial_edge_state(number));
            let (target, source) = (escape(instance.name(ends.target)), escape(instance.name(ends.source)));
            write!(self.to, "   <EdgeI path=\"{target}:{}-{source}:{}\"", pin.name(), output.name())?;
            if output.is_indexed() {
                write!(self.to, " sendIndex=\"{}\"", index_of(instance, ends.source, ends.output, number.0))?;
            }
            self.values("EdgeI", properties, state)?;
        }
        writeln!(self.to, "  </EdgeInstances>\n </GraphInstance>")?;
        Ok(())
    }

    /// The rest of an element with values.
    fn values(&mut self, name: &str, properties: Option<String>, state: Option<String>) -> Result<()> {
        if properties.is_none() && state.is_none() {
            writeln!(self.to, "/>")?;
            return Ok(());
        }
        if self.version == Version::V3 {
            write!(self.to, ">")?;
        }
        for (key, text) in [("P", properties), ("S", state)] {
            match (text, self.version) {
                (Some(text), Version::V3) => write!(self.to, "<{key}>{text}</{key}>")?,
                (Some(text), Version::V4) => write!(self.to, " {key}=\"{text}\"")?,
                (None, _) => {}
            }
        }
        match self.version {
            Version::V3 => writeln!(self.to, "</{name}>")?,
            Version::V4 => writeln!(self.to, "/>")?,
        }
        Ok(())
    }

    /// A value as text; nothing if it has no members.
    fn value(&self, layout: &Layout, bytes: &[u8]) -> Option<String> {
        if layout.tuple().is_empty() {
            return None;
        }
        Some(match self.version {
            Version::V4 => c::initialiser(layout.tuple(), bytes),
            Version::V3 => {
                let mut text = String::new();
                json::write_members(Notation::Json, layout.tuple(), bytes, &mut text);
                partial_escape(text).into_owned()
            }
        })
    }

    /// A state as text; nothing if it is what a reader would assume.
    fn state(&self, layout: &Layout, bytes: &[u8]) -> Option<String> {
        let assumed = match self.version {
            Version::V3 => bytes == layout.default_bytes(),
            Version::V4 => bytes.iter().all(|byte| *byte == 0),
        };
        if assumed { None } else { self.value(layout, bytes) }
    }
}

/// The index of an edge at its pin.
fn index_of(instance: &Instance, source: DeviceId, output: OutputId, edge: u32) -> u32 {
    let pin = instance.topology.devices[source.index()].first_pin + output.0;
    edge - instance.topology.first_edge[pin as usize]
}
