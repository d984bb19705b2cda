//! Graph files are written and read back; what is wrong in them is refused with the line.

mod support;

use std::sync::Arc;

use drawloom_apps::messages;
use drawloom_messages::data::{Layout, Scalar, Tuple, Type};
use drawloom_messages::xml::{self, Registry, Version};
use drawloom_messages::{DeviceType, ErrorKind, GraphType, Handlers, InputPin, Instance, InstanceBuilder};
use support::{mixer, mixer_type, result, run};

const VERSIONS: [Version; 2] = [Version::V3, Version::V4];

fn text(instance: &Instance, version: Version) -> String {
    let mut text = Vec::new();
    xml::write(instance, version, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Reads a file back, and checks that writing it again gives the same bytes.
fn round_trip(instance: &Instance, registry: &Registry) -> Vec<Arc<Instance>> {
    VERSIONS
        .into_iter()
        .map(|version| {
            let file = text(instance, version);
            let read = xml::read(file.as_bytes(), registry).unwrap_or_else(|e| panic!("{e}\n{file}"));
            assert_eq!(text(&read, version), file);
            assert_eq!((read.devices(), read.edges()), (instance.devices(), instance.edges()));
            read
        })
        .collect()
}

#[test]
fn random_instances_come_back_and_run_alike() {
    let graph_type = mixer_type();
    let mut registry = Registry::new();
    registry.register(&graph_type).unwrap();
    for seed in 0..20 {
        let instance = mixer(&graph_type, seed);
        let (machine, report) = run(&instance, Default::default());
        for read in round_trip(&instance, &registry) {
            let (again, second) = run(&read, Default::default());
            assert_eq!(result(&machine, &report), result(&again, &second), "seed {seed}");
        }
    }
}

#[test]
fn samples_come_back() {
    let registry = messages::registry();
    round_trip(&messages::ring::instance(4, 2).unwrap(), &registry);
    round_trip(&messages::heat::instance(3, 4, 5).unwrap(), &registry);
    round_trip(&messages::storm::instance(10, 2, 3, 4).unwrap(), &registry);
}

struct Silent;

impl Handlers for Silent {}

/// A type with every kind of data, with and without defaults.
fn everything() -> Arc<GraphType> {
    let inner = Tuple::new().with("a", Scalar::U64).with_default("b", Type::array(Scalar::I8, 2), vec![1, -2]);
    let mut all = Tuple::new();
    for scalar in Scalar::ALL {
        all = all.with(format!("s_{}", scalar.c_name()), scalar);
    }
    let all = all
        .with_default("text", Type::array(Scalar::Char, 6), "<&\"'>")
        .with("grid", Type::array(Type::array(Scalar::F32, 3), 2))
        .with("inner", inner.clone())
        .with_default("list", Type::array(inner, 2), serde_json::json!([{"a": 5}, {"a": 6, "b": [7, 8]}]))
        .with_default("yes", Scalar::Bool, true);
    let layout = Layout::new(all).unwrap();
    GraphType::builder("everything")
        .properties(layout.clone())
        .message("m", layout.clone())
        .device(
            DeviceType::builder("d")
                .properties(layout.clone())
                .state(layout.clone())
                .input(
                    InputPin::new("in", "m")
                        .with_properties(layout.clone())
                        .with_state(layout)
                        .with_code("a < b && c; // ]]> x"),
                )
                .output(drawloom_messages::OutputPin::new("out", "m"))
                .handlers(Silent),
        )
        .shared_code("int x = 1 < 2;")
        .documentation("Everything & more")
        .build()
        .unwrap()
}

#[test]
fn every_kind_of_data_survives_with_its_bits() {
    let graph_type = everything();
    let mut registry = Registry::new();
    registry.register(&graph_type).unwrap();
    let mut rng = fastrand::Rng::with_seed(3);
    let layout = graph_type.properties().clone();
    let truths = ["s_bool", "yes"].map(|name| layout.field::<u8>(name).unwrap());
    for _ in 0..50 {
        let mut record = || {
            let mut bytes: Vec<u8> = layout.default_bytes().to_vec();
            // Members are changed, and the padding between them is not.
            for scalar in Scalar::ALL {
                let name = format!("s_{}", scalar.c_name());
                match scalar.size() {
                    1 => layout.field::<u8>(&name).map(|f| f.set(&mut bytes, rng.u8(..))).unwrap_or_else(|_| {
                        layout.field::<i8>(&name).unwrap().set(&mut bytes, rng.i8(..));
                    }),
                    2 => layout.field_as::<u16>(&name).unwrap().set(&mut bytes, rng.u16(..)),
                    4 if scalar == Scalar::F32 => layout.field::<f32>(&name).unwrap().set(&mut bytes, rng.f32() * 1e10),
                    8 if scalar == Scalar::F64 => {
                        layout.field::<f64>(&name).unwrap().set(&mut bytes, rng.f64() / 1e300)
                    }
                    4 => layout.field_as::<u32>(&name).unwrap().set(&mut bytes, rng.u32(..)),
                    _ => layout.field_as::<u64>(&name).unwrap().set(&mut bytes, rng.u64(..)),
                }
            }
            layout
                .field::<[[f32; 3]; 2]>("grid")
                .unwrap()
                .set(&mut bytes, [[f32::INFINITY, -0.0, 1.5], [1e-40, 3.0, -1e30]]);
            layout.field::<[i8; 2]>("list[1].b").unwrap().set(&mut bytes, [rng.i8(..), 0]);
            truths.iter().for_each(|truth| truth.set(&mut bytes, rng.u8(..2)));
            bytes
        };
        let mut builder = InstanceBuilder::new(&graph_type, "e & e");
        builder.properties(&record()).unwrap();
        let id = graph_type.device("d").unwrap();
        let a = builder.device_with("a<b>", id, Some(&record()), Some(&record())).unwrap();
        let b = builder.device_with("ü", id, Some(&record()), None).unwrap();
        let values = drawloom_messages::EdgeValues { properties: Some(&record()), state: Some(&record()), index: None };
        builder.edge_with(a, drawloom_messages::OutputId(0), b, drawloom_messages::InputId(0), &values).unwrap();
        let instance = builder.build().unwrap();
        for read in round_trip(&instance, &registry) {
            assert_eq!(read.properties(), instance.properties());
            for device in [a, b] {
                assert_eq!(read.name(device), instance.name(device));
                assert_eq!(read.device_properties(device), instance.device_properties(device));
                assert_eq!(read.initial_state(device), instance.initial_state(device));
            }
            let edge = drawloom_messages::EdgeId(0);
            assert_eq!(read.edge_properties(edge), instance.edge_properties(edge));
            assert_eq!(read.initial_edge_state(edge), instance.initial_edge_state(edge));
        }
    }
}

#[test]
fn what_is_wrong_in_a_file_is_refused_with_the_line() {
    let instance = messages::heat::instance(2, 2, 3).unwrap();
    let registry = messages::registry();
    for (version, from, to, words) in [
        (Version::V3, "drawloom_heat", "drawloom_cold", "no handlers are registered for graph type \"drawloom_cold\""),
        (
            Version::V3,
            "DeviceType id=\"cell\"",
            "DeviceType id=\"room\"",
            "no handlers are registered for device type \"room\"",
        ),
        (Version::V3, "Scalar name=\"time\"", "Scalar name=\"hour\"", "are not those that are registered"),
        (Version::V3, "type=\"int32_t\"", "type=\"int33_t\"", "there is no type \"int33_t\""),
        (
            Version::V3,
            "InputPin name=\"in\"",
            "InputPin name=\"ear\"",
            "no handlers are registered for input pin \"ear\"",
        ),
        (
            Version::V3,
            "name=\"out\" messageTypeId=\"update\"",
            "name=\"out\" messageTypeId=\"u\"",
            "message type \"u\" is declared",
        ),
        (Version::V3, "<DevI id=\"cell_0_0\" type=\"cell\"", "<DevI id=\"cell_0_0\" type=\"wall\"", "of type \"wall\""),
        (Version::V3, "<DevI id=\"cell_0_0\"", "<ExtI id=\"cell_0_0\"", "\"ExtI\" \"cell_0_0\" is not supported"),
        (Version::V3, "<DevI id=\"cell_1_0\"", "<DevI id=\"cell_0_0\"", "two devices are called \"cell_0_0\""),
        (Version::V3, "<P>\"degree\":2", "<P>\"degrees\":2", "there is no member \"degrees\""),
        (Version::V3, "<P>\"degree\":2", "<P>\"degree\":-2", "-2 is no uint32_t"),
        (Version::V3, "<P>\"degree\":2", "<P>\"degree\":2,,", "not JSON"),
        (Version::V3, "path=\"cell_1_0:in", "path=\"cell_9_9:in", "there is no device \"cell_9_9\""),
        (Version::V3, "path=\"cell_1_0:in", "path=\"cell_1_0:eye", "there is no input pin \"eye\""),
        (Version::V3, "path=\"cell_1_0:in-", "path=\"cell_1_0:in+", "is no path"),
        (Version::V3, "</DeviceInstances>", "</DeviceInstance>", "not well-formed"),
        (Version::V3, "graphTypeId=\"drawloom_heat\"", "graphTypeId=\"heat\"", "graph type \"heat\" is not declared"),
        (Version::V3, "schema-v3", "schema-v2", "no version of the format that is supported"),
        (Version::V3, "<Graphs ", "<Graph ", "a graph file begins with \"Graphs\""),
        (Version::V3, "default=\"10\"", "default=\"&x;\"", "not well-formed"),
        (Version::V4, "uint32_t time", "uint64_t time", "are not those that are registered"),
        (Version::V4, "uint32_t time;", "uint32_t time", "stands where ; should be"),
        (Version::V4, "P=\"{2,", "P=\"{x,", "\"x\" is no uint32_t"),
        (Version::V4, "P=\"{2,", "P=\"{", "the properties of device"),
    ] {
        let file = text(&instance, version);
        assert!(file.contains(from), "{from} is in the file:\n{file}");
        let error = xml::read(file.replacen(from, to, 1).as_bytes(), &registry).unwrap_err();
        assert!(error.to_string().contains(words), "{to}: {error}");
        assert!(error.line().is_some_and(|line| line <= file.lines().count() as u64), "{to}: {error}");
    }
}

#[test]
fn a_truncated_file_is_refused_wherever_it_ends() {
    for version in VERSIONS {
        let file = text(&messages::heat::instance(2, 1, 1).unwrap(), version);
        let end = file.trim_end().len();
        for cut in 0..end {
            let error = xml::read(&file.as_bytes()[..cut], &messages::registry()).unwrap_err();
            assert!(error.line().is_some(), "{version:?} cut at {cut}: {error}");
        }
        assert!(xml::read(&file.as_bytes()[..end], &messages::registry()).is_ok());
    }
}

#[test]
fn bytes_that_are_changed_at_random_never_cause_a_panic() {
    let mut rng = fastrand::Rng::with_seed(11);
    for version in VERSIONS {
        let file = text(&messages::heat::instance(2, 2, 1).unwrap(), version).into_bytes();
        for _ in 0..2000 {
            let mut bytes = file.clone();
            for _ in 0..rng.usize(1..4) {
                let place = rng.usize(..bytes.len());
                bytes[place] = *rng.choice(b"<>/\"'&;{}[]:,-0x9eA \xff\0").unwrap();
            }
            if let Err(error) = xml::read(&*bytes, &messages::registry()) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn huge_declarations_and_deep_nesting_are_refused() {
    let file = text(&messages::heat::instance(1, 1, 1).unwrap(), Version::V3);
    let deep = file.replacen("<MessageTypes>", &"<Types>".repeat(100_000), 1);
    let error = xml::read(deep.as_bytes(), &messages::registry()).unwrap_err();
    assert!(error.to_string().contains("nested too deep"), "{error}");
    let huge = file.replacen("length=\"2\"", "length=\"99999999999999999\"", 1);
    assert!(xml::read(huge.as_bytes(), &messages::registry()).is_err());
}

#[test]
fn defaults_of_a_file_count() {
    let file = text(&messages::ring::instance(2, 3).unwrap(), Version::V3);
    let file = file.replace("default=\"1\"", "default=\"12\"").replace("<Properties>\"total\":6</Properties>", "");
    let read = xml::read(file.as_bytes(), &messages::registry()).unwrap();
    assert_eq!(run(&read, Default::default()).1.counts.deliveries, 12);
}

#[test]
fn a_registry_refuses_a_second_type_of_one_name() {
    let error = messages::registry().register(&messages::ring::graph_type()).unwrap_err();
    assert_eq!((error.kind(), error.graph_type()), (ErrorKind::Type, Some("drawloom_ring")));
}

/// As others write it: with a prefix, documentation, meta data, hashes, named types, and everything that can be left out.
const FOREIGN: &str = r#"<?xml version="1.0"?>
<!-- made by hand -->
<p:Graphs xmlns:p="https://poets-project.org/schemas/virtual-graph-schema-v3">
 <p:GraphType id="drawloom_ring">
  <p:Documentation>A ring &amp; more.</p:Documentation>
  <p:MetaData>"dimension": 1</p:MetaData>
  <p:Types>
   <p:TypeDef id="hops_t"><p:Documentation>Hops.</p:Documentation><p:Scalar name="_" type="uint32_t"/></p:TypeDef>
  </p:Types>
  <p:Properties><p:Scalar name="total" type="hops_t" default="1"/></p:Properties>
  <p:SharedCode><![CDATA[ int x = 1 < 2; ]]></p:SharedCode>
  <p:MessageTypes>
   <p:MessageType id="token"><p:Message><p:Scalar name="hops" type="hops_t"/></p:Message></p:MessageType>
  </p:MessageTypes>
  <p:DeviceTypes>
   <p:DeviceType id="node">
    <p:ReadyToSend><![CDATA[ *readyToSend = 0; ]]></p:ReadyToSend>
    <p:OutputPin name="out" messageTypeId="token" priority="1"><p:OnSend/></p:OutputPin>
    <p:InputPin name="in" messageTypeId="token"><p:OnReceive/></p:InputPin>
    <p:Properties><p:Scalar name="starts" type="bool"><p:Default>false</p:Default></p:Scalar></p:Properties>
    <p:State><p:Scalar name="holds" type="uint32_t"/><p:Scalar name="hops" type="hops_t"/></p:State>
    <p:HashDigest type="structural" hash="f9480fe5fd17947a"/>
   </p:DeviceType>
  </p:DeviceTypes>
 </p:GraphType>
 <p:GraphInstance id="r" graphTypeId="drawloom_ring">
  <p:Properties> "total": 6 </p:Properties>
  <p:MetaData>"made": "by hand"</p:MetaData>
  <p:DeviceInstances>
   <p:DevI id="a" type="node"><p:P>"starts": 1</p:P><p:M>"x": 1</p:M></p:DevI>
   <p:DevI id="b" type="node"></p:DevI>
  </p:DeviceInstances>
  <p:EdgeInstances>
   <p:EdgeI path="b:in-a:out"/>
   <p:EdgeI path="a:in-b:out"><p:M>"y": 2</p:M></p:EdgeI>
  </p:EdgeInstances>
 </p:GraphInstance>
</p:Graphs>
"#;

#[test]
fn a_file_that_others_wrote_is_read_and_runs() {
    let instance = xml::read(FOREIGN.as_bytes(), &messages::registry()).unwrap();
    assert_eq!((instance.id(), instance.devices(), instance.edges()), ("r", 2, 2));
    assert_eq!(run(&instance, Default::default()).1.counts.deliveries, 6);
}
