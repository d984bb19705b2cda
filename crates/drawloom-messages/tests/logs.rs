//! Logs are written, read back, compared and followed.

mod support;

use std::sync::Arc;

use drawloom_apps::messages;
use drawloom_messages::data::{Layout, Scalar, Tuple};
use drawloom_messages::log::{Comparison, compare, compare_within};
use drawloom_messages::{
    Device, DeviceType, DeviceView, ErrorKind, Executor, GraphType, Handlers, InputPin, Instance, InstanceBuilder, Log,
    Machine, OutputId, OutputPin, Pins, Sent, Settings,
};
use support::{executors, mixer, mixer_type};

fn logged(instance: &Arc<Instance>, executor: Executor) -> Log {
    Machine::new(instance).run(&Settings::new(executor).log_with_states()).unwrap().log.unwrap()
}

fn text(log: &Log) -> String {
    let mut text = Vec::new();
    log.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_log_is_read_back_as_it_was_written() {
    for instance in [mixer(&mixer_type(), 3), messages::heat::instance(3, 3, 4).unwrap()] {
        for executor in executors() {
            let log = logged(&instance, executor);
            let text = text(&log);
            let read = Log::read(text.as_bytes(), &instance).unwrap();
            assert_eq!(read, log, "{executor:?}");
            assert_eq!(self::text(&read), text);
        }
    }
}

#[test]
fn runs_under_different_executors_agree() {
    let graph_type = mixer_type();
    for seed in 0..10 {
        let instance = mixer(&graph_type, seed);
        let first = logged(&instance, Executor::Fifo);
        for executor in executors() {
            let comparison = compare(&first, &logged(&instance, executor)).unwrap();
            assert!(comparison.is_equal(), "seed {seed}, {executor:?}: {comparison:?}");
        }
    }
}

#[test]
fn a_difference_is_named() {
    let instance = messages::heat::instance(3, 2, 4).unwrap();
    let log = logged(&instance, Executor::Fifo);
    let text = text(&log);
    let tampered = |from: &str, to: &str| {
        assert!(text.contains(from), "{from}");
        Log::read(text.replacen(from, to, 1).as_bytes(), &instance).unwrap()
    };
    let send = text.lines().find(|line| line.contains("\"send\"") && line.contains("cell_1_1")).unwrap();
    let (start, hash) = send.split_once("\"hash\":\"").unwrap();
    let rest = &hash[hash.find(",\"after\"").unwrap()..];
    let other = format!("{start}\"hash\":\"0000000000000000\"{rest}");
    let found = compare(&log, &tampered(send, &other)).unwrap();
    assert_eq!(found.differences, ["device \"cell_1_1\" sent other messages at pin \"out\""]);
    let found = compare(&log, &tampered(&format!("{send}\n"), "")).unwrap();
    assert_eq!(found.differences, ["device \"cell_1_1\" sent 5 messages at pin \"out\" in one run, 4 in the other"]);
    let found =
        compare(&log, &tampered("\"tag\":\"settled\",\"state\":\"04", "\"tag\":\"settled\",\"state\":\"05")).unwrap();
    assert_eq!(
        found.differences,
        ["device \"cell_0_0\" had another state at checkpoint \"settled\": \"time\" is not the same"]
    );
    let found = compare(&log, &tampered("\"idle_rounds\":1", "\"idle_rounds\":1,\"exit\":3")).unwrap();
    assert_eq!(found.differences, ["no exit code in one run, exit code 3 in the other"]);
    let other = messages::heat::instance(2, 3, 4).unwrap();
    assert_eq!(compare(&log, &logged(&other, Executor::Fifo)).unwrap_err().kind(), ErrorKind::Mismatch);
}

#[test]
fn every_log_can_be_followed() {
    let nothing = drawloom_messages::InstanceBuilder::new(&messages::ring::graph_type(), "nothing").build().unwrap();
    let instances = [
        nothing,
        mixer(&mixer_type(), 7),
        messages::heat::instance(4, 3, 5).unwrap(),
        messages::storm::instance(10, 2, 3, 1).unwrap(),
    ];
    for instance in instances {
        for executor in executors() {
            let mut machine = Machine::new(&instance);
            let report = machine.run(&Settings::new(executor).log_with_states()).unwrap();
            let mut follower = Machine::new(&instance);
            let again = follower.replay(report.log.as_ref().unwrap()).unwrap_or_else(|e| panic!("{executor:?}: {e}"));
            assert_eq!((again.counts, again.exit), (report.counts, report.exit));
            for device in (0..instance.devices() as u32).map(drawloom_messages::DeviceId) {
                assert_eq!(machine.state(device), follower.state(device), "{executor:?}");
            }
        }
    }
}

#[test]
fn a_log_that_was_tampered_with_cannot_be_followed() {
    let instance = messages::heat::instance(3, 2, 4).unwrap();
    let text = text(&logged(&instance, Executor::Random { seed: 3 }));
    let lines: Vec<&str> = text.lines().collect();
    let mut refused = 0;
    for (number, line) in lines.iter().enumerate().skip(1) {
        // Each event left out, in turn.
        let without: Vec<&str> = lines[..number].iter().chain(&lines[number + 1..]).copied().collect();
        let log = Log::read((without.join("\n") + "\n").as_bytes(), &instance);
        let result = log.and_then(|log| Machine::new(&instance).replay(&log));
        assert!(result.is_err(), "without {line}");
        refused += 1;
    }
    assert_eq!(refused, lines.len() - 1);
    let replay = |from: &str, to: &str| {
        let log = Log::read(text.replacen(from, to, 1).as_bytes(), &instance).unwrap();
        Machine::new(&instance).replay(&log).unwrap_err().to_string()
    };
    let hash = lines.iter().find(|line| line.contains("\"send\"")).unwrap().split("\"hash\":\"").nth(1).unwrap();
    let with_bytes = &hash[..hash.find(",\"after\"").unwrap()];
    assert!(replay(with_bytes, "0123456789abcdef\"").contains("the message has other bytes"));
    let error = Log::read(text.replacen(&hash[..16], "0123456789abcdef", 1).as_bytes(), &instance).unwrap_err();
    assert!(error.to_string().contains("the hash of the message is not that of its bytes"), "{error}");
    let after = lines[3].split("\"after\":\"").nth(1).unwrap();
    assert!(replay(&after[..16], "0123456789abcdef").contains("the state afterwards is another one"));
    assert!(replay("\"deliveries\":", "\"deliveries\":1").contains("the log ends with other counts"));
}

#[test]
fn files_that_are_no_logs_are_refused_with_the_line() {
    let instance = messages::ring::instance(2, 1).unwrap();
    let text = text(&logged(&instance, Executor::Fifo));
    let read = |text: &str| Log::read(text.as_bytes(), &instance).unwrap_err();
    assert_eq!(read("").to_string(), "line 1: the log is empty");
    assert_eq!(read("{}").to_string(), "line 1: this is no event log");
    assert!(read("hello").to_string().starts_with("line 1: no event"));
    let cut = &text[..text.rfind("{\"event\":\"end\"").unwrap()];
    assert!(read(cut).to_string().contains("ends before its last line"));
    assert!(read(&(text.clone() + "x")).to_string().contains("goes on after its last line"));
    for (from, to, words) in [
        ("node_1", "node_7", "there is no device \"node_7\""),
        ("\"pin\":\"out\"", "\"pin\":\"exit\"", "a \"node\" has no pin \"exit\""),
        ("\"edge\":0", "\"edge\":99", "there is no edge 99"),
        ("\"init\"", "\"birth\"", "there is no event \"birth\""),
        ("\"n\":0", "\"n\":-1", "there is no number \"n\""),
        ("\"devices\":2", "\"devices\":3", "the log is of another graph"),
        ("event_log\":1", "event_log\":2", "version 2 of the log format is not known"),
        ("\"hash\":\"", "\"hash\":\"x", "is no hash"),
    ] {
        let error = read(&text.replacen(from, to, 1));
        assert!(error.to_string().contains(words) && error.line().is_some(), "{error}");
    }
    for end in 0..text.len() - 1 {
        assert!(Log::read(&text.as_bytes()[..end], &instance).is_err(), "cut at {end}");
    }
}

/// A message of one real and one whole number, from each of two devices to the other.
fn exchange(real: f64, whole: u32) -> (Arc<Instance>, Log) {
    struct Once;
    impl Handlers for Once {
        fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
            pins.insert_if(OutputId(0), device.state[12] == 0);
        }

        fn send(&self, _: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
            message[..12].copy_from_slice(&device.state[..12]);
            device.state[12] = 1;
            device.checkpoint(0, "sent");
            Sent::Broadcast
        }
    }
    let layout = |tuple: Tuple| Layout::new(tuple).unwrap();
    let both = || Tuple::new().with("real", Scalar::F64).with("whole", Scalar::U32);
    let device = DeviceType::builder("one")
        .state(layout(Tuple::new().with("real", Scalar::F64).with("whole", Scalar::U32).with("sent", Scalar::U8)))
        .input(InputPin::new("in", "both"))
        .output(OutputPin::new("out", "both"))
        .handlers(Once);
    let graph_type = GraphType::builder("pair").message("both", layout(both())).device(device).build().unwrap();
    let mut builder = InstanceBuilder::new(&graph_type, "pair");
    let kind = graph_type.device("one").unwrap();
    let mut state = vec![0; graph_type.devices()[0].state().size()];
    state[..8].copy_from_slice(&real.to_ne_bytes());
    state[8..12].copy_from_slice(&whole.to_ne_bytes());
    let a = builder.device_with("a", kind, None, Some(&state)).unwrap();
    state[..8].copy_from_slice(&1000.0_f64.to_ne_bytes());
    let b = builder.device_with("b", kind, None, Some(&state)).unwrap();
    builder.connect(a, "out", b, "in").unwrap();
    builder.connect(b, "out", a, "in").unwrap();
    let instance = builder.build().unwrap();
    let log = Machine::new(&instance).run(&Settings::new(Executor::Fifo).log()).unwrap().log.unwrap();
    (instance, log)
}

#[test]
fn numbers_that_are_rounded_otherwise_are_the_same_within_a_tolerance() {
    let (_, log) = exchange(1.0, 5);
    assert_eq!(compare(&log, &exchange(1.0, 5).1).unwrap(), Comparison::default());
    // Read back, as what was written has all that is needed.
    let (instance, near) = exchange(1.0 + 1e-10, 5);
    let near = Log::read(text(&near).as_bytes(), &instance).unwrap();
    let found = compare_within(&log, &near, 1e-12).unwrap();
    assert!(found.is_equal(), "{found:?}");
    let largest = found.largest.unwrap();
    assert!((largest.part / 1e-13 - 1.0).abs() < 1e-3, "a part of the largest number there: {largest:?}");
    assert!(largest.place.contains("device \"a\", pin \"out\": \"real\" is 1e0 in one run"), "{largest:?}");
    assert!(!compare(&log, &near).unwrap().is_equal());
    let far = compare_within(&log, &exchange(1.1, 5).1, 1e-12).unwrap();
    assert!(far.differences[0].contains("\"real\" is 1e0 in one run and 1.1e0 in the other"), "{far:?}");
    // Whole numbers are the same or not.
    let other = compare_within(&log, &exchange(1.0, 6).1, 0.5).unwrap();
    assert!(other.differences[0].contains("\"whole\" is not the same"), "{other:?}");
}
