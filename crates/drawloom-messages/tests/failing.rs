//! What goes wrong is an error with the names of what it concerns, and nothing hangs.

mod support;

use std::sync::Arc;

use drawloom_apps::messages;
use drawloom_messages::data::{Field, Layout, Record, Scalar, Tuple, Type};
use drawloom_messages::{
    Device, DeviceType, DeviceView, EdgeValues, EdgeView, ErrorKind, Executor, GraphType, Handlers, InputId, InputPin,
    Instance, InstanceBuilder, Log, Machine, OutputId, OutputPin, Pins, Sent, Settings,
};
use support::executors;

/// What a trouble maker does, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    PanicInit,
    PanicReceive,
    PanicReady,
    PanicSend,
    PanicIdle,
    Assert,
    Exit,
    NoSuchEdge,
    NoEdge,
    EdgeOfBroadcast,
    NoSuchPin,
    Forever,
    CancelForever,
}

struct Maker {
    trouble: Trouble,
    left: Field<u32>,
}

impl Maker {
    /// Only one device makes trouble.
    fn is_here(&self, device: &Device<'_>) -> bool {
        device.id().0 == 3
    }
}

impl Handlers for Maker {
    fn init(&self, device: &mut Device<'_>) {
        self.left.set(device.state, 5);
        assert!(!(self.trouble == Trouble::PanicInit && self.is_here(device)), "trouble at the beginning");
    }

    fn receive(&self, _: InputId, device: &mut Device<'_>, _: &[u8], _: EdgeView<'_>) {
        let here = self.is_here(device);
        assert!(!(self.trouble == Trouble::PanicReceive && here), "trouble with a message");
        device.assert(!(self.trouble == Trouble::Assert && here), || "this does not hold".to_owned());
        if self.trouble == Trouble::Exit && here {
            device.exit(42);
            device.exit(43);
        }
        if self.trouble == Trouble::Forever {
            *self.left.at_mut(device.state) += 1;
        }
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        let left = self.left.get(device.state);
        assert!(!(self.trouble == Trouble::PanicReady && left == 1), "trouble with a question");
        let indexed = matches!(self.trouble, Trouble::NoSuchEdge | Trouble::NoEdge);
        pins.insert_if(OutputId(u32::from(indexed)), left > 0);
        pins.insert_if(OutputId(9), self.trouble == Trouble::NoSuchPin && left == 0);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, _: &mut [u8]) -> Sent {
        assert!(!(self.trouble == Trouble::PanicSend && self.is_here(device)), "trouble with sending");
        if self.trouble == Trouble::CancelForever {
            return Sent::Cancelled;
        }
        *self.left.at_mut(device.state) -= 1;
        match self.trouble {
            Trouble::NoSuchEdge => Sent::Edge(7),
            Trouble::EdgeOfBroadcast if self.is_here(device) => Sent::Edge(0),
            _ => Sent::Broadcast,
        }
    }

    fn idle(&self, device: &mut Device<'_>) {
        assert!(!(self.trouble == Trouble::PanicIdle && self.is_here(device)), "trouble with silence");
    }
}

fn instance(trouble: Trouble) -> Arc<Instance> {
    let state = Layout::new(Tuple::new().with("left", Scalar::U32)).unwrap();
    let maker = Maker { trouble, left: state.field("left").unwrap() };
    let graph_type = GraphType::builder("trouble")
        .message("m", Layout::empty())
        .device(
            DeviceType::builder("maker")
                .state(state)
                .input(InputPin::new("in", "m"))
                .output(OutputPin::new("out", "m"))
                .output(OutputPin::new("one", "m").indexed())
                .handlers(maker),
        )
        .build()
        .unwrap();
    let mut builder = InstanceBuilder::new(&graph_type, "t");
    let id = graph_type.device("maker").unwrap();
    let devices: Vec<_> = (0..6).map(|n| builder.device(&format!("d{n}"), id).unwrap()).collect();
    for n in 0..6 {
        builder.connect(devices[n], "out", devices[(n + 1) % 6], "in").unwrap();
        builder.connect(devices[n], "one", devices[(n + 2) % 6], "in").unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn a_panic_is_an_error_that_names_the_device_and_the_pin() {
    for (trouble, words, pin) in [
        (Trouble::PanicInit, "device \"d3\" panicked in its init handler: trouble at the beginning", None),
        (
            Trouble::PanicReceive,
            "device \"d3\" panicked in its receive handler of pin \"in\": trouble with a message",
            Some("in"),
        ),
        (
            Trouble::PanicSend,
            "device \"d3\" panicked in its send handler of pin \"out\": trouble with sending",
            Some("out"),
        ),
        (Trouble::PanicIdle, "device \"d3\" panicked in its idle handler: trouble with silence", None),
    ] {
        for executor in executors() {
            let error = Machine::new(&instance(trouble)).run(&Settings::new(executor)).unwrap_err();
            assert_eq!(error.to_string(), format!("{words} (graph type \"trouble\")"), "{executor:?}");
            assert_eq!((error.kind(), error.device(), error.pin()), (ErrorKind::Panic, Some("d3"), pin));
        }
    }
    for executor in executors() {
        let error = Machine::new(&instance(Trouble::PanicReady)).run(&Settings::new(executor)).unwrap_err();
        assert!(error.to_string().contains("panicked in its ready handler: trouble with a question"), "{error}");
    }
}

#[test]
fn an_assertion_that_does_not_hold_is_an_error_with_its_words() {
    for executor in executors() {
        let error = Machine::new(&instance(Trouble::Assert)).run(&Settings::new(executor)).unwrap_err();
        let words = "device \"d3\" failed in its receive handler of pin \"in\": this does not hold";
        assert!(error.to_string().starts_with(words), "{executor:?}: {error}");
        assert_eq!((error.kind(), error.pin()), (ErrorKind::Assertion, Some("in")));
    }
}

#[test]
fn the_first_exit_code_counts() {
    for executor in executors() {
        let report = Machine::new(&instance(Trouble::Exit)).run(&Settings::new(executor)).unwrap();
        assert_eq!(report.exit, Some(42), "{executor:?}");
    }
}

#[test]
fn handlers_that_break_the_rules_are_found_out() {
    for (trouble, words) in [
        (Trouble::NoSuchEdge, "the send handler names an edge that is not there: Edge(7)"),
        (Trouble::NoEdge, "the send handler of an indexed pin names no edge"),
        (Trouble::EdgeOfBroadcast, "the send handler names an edge, but the pin is not indexed"),
        (Trouble::NoSuchPin, "the ready handler names pin 9, but there are 2"),
    ] {
        for executor in executors() {
            let error = Machine::new(&instance(trouble)).run(&Settings::new(executor)).unwrap_err();
            assert!(error.to_string().contains(words), "{executor:?}: {error}");
            assert_eq!(error.kind(), ErrorKind::Handler);
        }
    }
}

#[test]
fn a_run_that_would_never_end_stops_at_its_limit() {
    for trouble in [Trouble::Forever, Trouble::CancelForever] {
        for executor in executors() {
            let error = Machine::new(&instance(trouble)).run(&Settings::new(executor).most_steps(10_000)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Limit, "{trouble:?} {executor:?}: {error}");
        }
    }
    let settings = Settings::new(Executor::Fifo).log().most_events(1000);
    let error = Machine::new(&instance(Trouble::Forever)).run(&settings).unwrap_err();
    assert!(error.to_string().starts_with("the log is longer than its limit"), "{error}");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let instance = messages::ring::instance(3, 1).unwrap();
    let refuse = |settings: Settings| Machine::new(&instance).run(&settings).unwrap_err().to_string();
    for probability in [1.0, -0.1, f64::NAN, f64::INFINITY] {
        let message = refuse(Settings::new(Executor::Delay { probability, seed: 0 }));
        assert!(message.contains("it must be at least 0 and below 1"), "{message}");
    }
    assert!(refuse(Settings::new(Executor::Parallel { workers: 0 })).contains("at least one worker"));
    let parallel = Settings::new(Executor::Parallel { workers: 2 });
    assert!(refuse(parallel.clone().partition([0, 1])).contains("a partition of 2 devices was given for 3 devices"));
    assert!(refuse(parallel.partition([0, 1, 2])).contains("device \"node_2\" cannot be in part 2: there are 2 parts"));
}

#[test]
fn instances_that_do_not_fit_their_type_are_refused_by_name() {
    let say = Layout::new(Tuple::new().with("x", Scalar::U32)).unwrap();
    let graph_type = GraphType::builder("talk")
        .properties(Layout::new(Tuple::new().with("size", Scalar::U32)).unwrap())
        .message("say", say.clone())
        .message("sing", Layout::empty())
        .device(
            DeviceType::builder("person")
                .properties(Layout::new(Tuple::new().with("age", Scalar::U32)).unwrap())
                .input(InputPin::new("hear", "say").with_properties(say))
                .output(OutputPin::new("speak", "say"))
                .output(OutputPin::new("sing", "sing"))
                .output(OutputPin::new("whisper", "say").indexed())
                .handlers(Silent),
        )
        .build()
        .unwrap();
    let person = graph_type.device("person").unwrap();
    let mut builder = InstanceBuilder::new(&graph_type, "i");
    let age = Record::new(graph_type.devices()[0].properties()).with("age", 7_u32).unwrap();
    let (four, eight) = ([0; 4], [0; 8]);
    let error = builder.device("ann", person).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the properties of device \"ann\": \"age\" is missing, and has no default (graph type \"talk\")"
    );
    let error = builder.device_with("ann", person, Some(&eight), None).unwrap_err();
    assert!(error.to_string().contains("a record of 4 bytes was given 8 bytes"), "{error}");
    let ann = builder.device_with("ann", person, Some(age.bytes()), None).unwrap();
    let error = builder.device_with("ann", person, Some(age.bytes()), None).unwrap_err();
    assert!(error.to_string().starts_with("two devices are called \"ann\""), "{error}");
    for name in ["", "a:b", "a-b", "a\nb"] {
        assert!(builder.device_with(name, person, Some(age.bytes()), None).is_err(), "{name:?}");
    }
    assert!(builder.device("bob", drawloom_messages::DeviceTypeId(9)).unwrap_err().to_string().contains("\"bob\""));
    assert!(builder.find("bob").unwrap_err().to_string().starts_with("there is no device \"bob\""));
    let error = builder.connect(ann, "shout", ann, "hear").unwrap_err();
    assert!(error.to_string().starts_with("device \"ann\" of type \"person\" has no output pin \"shout\""), "{error}");
    let error = builder.connect(ann, "speak", ann, "see").unwrap_err();
    assert!(error.to_string().contains("has no input pin \"see\""), "{error}");
    let error = builder.connect(ann, "sing", ann, "hear").unwrap_err();
    assert!(error.to_string().contains("edge ann:hear-ann:sing: \"sing\" is sent, but \"say\" is expected"), "{error}");
    let error = builder.connect(ann, "speak", ann, "hear").unwrap_err();
    assert!(error.to_string().contains("edge ann:hear-ann:speak: properties: \"x\" is missing"), "{error}");
    let error = builder.edge(ann, OutputId(0), drawloom_messages::DeviceId(5), InputId(0)).unwrap_err();
    assert!(error.to_string().contains("there is no device number 5"), "{error}");
    let values = EdgeValues { properties: Some(&four), state: None, index: Some(1) };
    let error = builder.edge_with(ann, OutputId(0), ann, InputId(0), &values).unwrap_err();
    assert!(error.to_string().contains("pin \"speak\" sends over all of its edges"), "{error}");
    builder.edge_with(ann, OutputId(2), ann, InputId(0), &values).unwrap();
    let twice = EdgeValues { index: Some(1), ..values };
    builder.edge_with(ann, OutputId(2), ann, InputId(0), &twice).unwrap();
    builder.properties(&four).unwrap();
    let error = builder.build().unwrap_err();
    assert!(
        error.to_string().starts_with("exactly one edge of pin \"whisper\" of device \"ann\" should have the index 0"),
        "{error}"
    );
    let error = InstanceBuilder::new(&graph_type, "i").build().unwrap_err();
    assert!(error.to_string().starts_with("the properties of the graph: \"size\" is missing"), "{error}");
}

struct Silent;

impl Handlers for Silent {}

#[test]
fn types_that_are_not_well_formed_are_refused_by_name() {
    let device = || DeviceType::builder("d").handlers(Silent);
    for (builder, words) in [
        (GraphType::builder("a b"), "\"a b\" cannot be the name of a graph type"),
        (
            GraphType::builder("g").device(device().input(InputPin::new("in", "m"))),
            "no message type \"m\" for pin \"in\"",
        ),
        (GraphType::builder("g").device(DeviceType::builder("d")), "device type \"d\": it has no handlers"),
        (GraphType::builder("g").device(device()).device(device()), "two device types are called \"d\""),
        (
            GraphType::builder("g").message("m", Layout::empty()).message("m", Layout::empty()),
            "two message types are called \"m\"",
        ),
        (
            GraphType::builder("g")
                .message("m", Layout::empty())
                .device(device().output(OutputPin::new("o", "m")).output(OutputPin::new("o", "m"))),
            "two pins are called \"o\"",
        ),
    ] {
        let error = builder.build().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(error.kind(), ErrorKind::Type);
    }
}

/// Each node of a line passes on what comes. The first one has something to send; in a line that is cut, those behind wait.
struct Passer {
    has: Field<u32>,
}

impl Handlers for Passer {
    fn receive(&self, _: InputId, device: &mut Device<'_>, _: &[u8], _: EdgeView<'_>) {
        self.has.set(device.state, 1);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), self.has.get(device.state) == 1);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, _: &mut [u8]) -> Sent {
        self.has.set(device.state, 2);
        Sent::Broadcast
    }

    fn waits_for(&self, device: &DeviceView<'_>) -> Option<String> {
        (self.has.get(device.state) == 0).then(|| "nothing came".to_owned())
    }
}

#[test]
fn devices_that_still_wait_when_all_is_quiet_are_named() {
    let state = Layout::new(Tuple::new().with("has", Scalar::U32)).unwrap();
    let has = state.field("has").unwrap();
    let device = DeviceType::builder("node")
        .state(state)
        .input(InputPin::new("in", "word"))
        .output(OutputPin::new("out", "word"))
        .handlers(Passer { has });
    let graph_type = GraphType::builder("line").message("word", Layout::empty()).device(device).build().unwrap();
    let line = |cut: Option<u32>| -> Arc<Instance> {
        let mut builder = InstanceBuilder::new(&graph_type, "line");
        let kind = graph_type.device("node").unwrap();
        let mut last = builder.device_with("node_0", kind, None, Some(&1_u32.to_ne_bytes())).unwrap();
        for number in 1..8 {
            let next = builder.device(&format!("node_{number}"), kind).unwrap();
            if cut != Some(number) {
                builder.connect(last, "out", next, "in").unwrap();
            }
            last = next;
        }
        builder.build().unwrap()
    };
    for executor in executors() {
        let settings = Settings::new(executor).log();
        Machine::new(&line(None)).run(&settings).unwrap();
        let mut machine = Machine::new(&line(Some(4)));
        let error = machine.run(&settings).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfinished, "{executor:?}");
        let expected = "the run stopped half way: all is quiet after 4 sends and 3 deliveries, but device \"node_4\" \
            waits: nothing came; device \"node_5\" waits: nothing came; and 2 more of type \"node\"";
        assert!(error.to_string().starts_with(expected), "{executor:?}: {error}");
        // All that happened is there.
        assert_eq!(machine.failed_log().map(|log| log.counts().sends), Some(4), "{executor:?}");
    }
}

/// Sends the byte of its state as a truth value, in an array within a struct, and remembers it.
struct Teller;

impl Handlers for Teller {
    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        pins.insert_if(OutputId(0), device.state[1] == 0);
    }

    fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        message[5] = device.state[2];
        device.state[1] = 1;
        device.checkpoint(0, "sent");
        Sent::Broadcast
    }
}

/// Two devices of which the first sends `byte` to the second.
fn tellers(byte: u8) -> drawloom_messages::Result<Arc<Instance>> {
    let flags = Tuple::new().with("number", Scalar::U32).with("flags", Type::array(Scalar::Bool, 2));
    let state = Tuple::new().with("is_so", Scalar::Bool).with("sent", Scalar::U8).with("byte", Scalar::U8);
    let device = DeviceType::builder("teller")
        .state(Layout::new(state)?)
        .input(InputPin::new("in", "flags"))
        .output(OutputPin::new("out", "flags"))
        .handlers(Teller);
    let message = Layout::new(Tuple::new().with("list", Type::array(flags, 1)))?;
    let graph_type = GraphType::builder("tell").message("flags", message).device(device).build()?;
    let mut builder = InstanceBuilder::new(&graph_type, "tell");
    let kind = graph_type.device("teller").unwrap();
    let a = builder.device_with("a", kind, None, Some(&[0, 0, byte]))?;
    let b = builder.device_with("b", kind, None, Some(&[0, 1, 0]))?;
    builder.connect(a, "out", b, "in")?;
    builder.build()
}

#[test]
fn a_bool_of_2_in_a_message_is_an_error_that_names_the_member() {
    for executor in executors() {
        Machine::new(&tellers(1).unwrap()).run(&Settings::new(executor)).unwrap();
        let error = Machine::new(&tellers(2).unwrap()).run(&Settings::new(executor)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "device \"a\" failed in its send handler of pin \"out\": it wrote no message: member \"list[0].flags[1]\" \
             holds a bool of 2, and a bool is 0 or 1 (graph type \"tell\")",
            "{executor:?}"
        );
        assert_eq!((error.kind(), error.device(), error.pin()), (ErrorKind::Handler, Some("a"), Some("out")));
    }
}

#[test]
fn a_bool_of_2_in_the_bytes_of_a_record_is_refused_with_the_names() {
    let instance = tellers(1).unwrap();
    let mut builder = InstanceBuilder::new(instance.graph_type(), "tell");
    let kind = instance.graph_type().device("teller").unwrap();
    let error = builder.device_with("a", kind, None, Some(&[2, 0, 0])).unwrap_err();
    assert!(error.to_string().starts_with("the state of device \"a\": member \"is_so\" holds a bool of 2"), "{error}");
    let layout = instance.graph_type().messages()[0].layout();
    let error = Record::from_bytes(layout, &[0, 0, 0, 0, 255, 0, 0, 0]).unwrap_err();
    assert!(error.to_string().starts_with("member \"list[0].flags[0]\" holds a bool of 255"), "{error}");
}

#[test]
fn a_bool_of_2_in_a_log_is_refused_with_the_line_and_the_names() {
    let instance = tellers(1).unwrap();
    let log = Machine::new(&instance).run(&Settings::new(Executor::Fifo).log()).unwrap().log.unwrap();
    let mut text = Vec::new();
    log.write(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(Log::read(text.as_bytes(), &instance).unwrap(), log);
    let refused = |from: &str, to: &str| {
        assert!(text.contains(from), "{from} in\n{text}");
        Log::read(text.replace(from, to).as_bytes(), &instance).unwrap_err()
    };
    let error = refused("\"state\":\"000101\"", "\"state\":\"020101\"");
    assert!(
        error
            .to_string()
            .ends_with("the state: member \"is_so\" holds a bool of 2, and a bool is 0 or 1 (device \"a\")")
    );
    assert!(error.line().is_some());
    // FNV-1a, so that the hash of the message is right.
    let hash = |bytes: [u8; 8]| {
        bytes
            .iter()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    let line = |bytes: [u8; 8]| {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("\"hash\":\"{:016x}\",\"bytes\":\"{digits}\"", hash(bytes))
    };
    let error = refused(&line([0, 0, 0, 0, 0, 1, 0, 0]), &line([0, 0, 0, 0, 0, 2, 0, 0]));
    assert!(error.to_string().contains("the message: member \"list[0].flags[1]\" holds a bool of 2"), "{error}");
    assert_eq!((error.device(), error.pin(), error.line().is_some()), (Some("a"), Some("out"), true));
}
