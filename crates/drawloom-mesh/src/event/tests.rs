//! The order in which things may happen, and that the watch sees what must not.

use std::sync::Arc;

use drawloom_messages::xml::{self, Registry};
use drawloom_messages::{DeviceId, EdgeId, Executor, InstanceBuilder, Machine as EventMachine, Settings};

use super::declare::Declared;
use super::machine::OnEvents;
use super::options::{Control, Events};
use crate::mesh::Mesh;
use crate::program::Program;
use crate::run::Machine;

/// A loop in which element 0 reads from 2 and writes to 1, is read by 2 and written to by 1, which does not need it. It runs
/// twice.
fn program() -> Program {
    let mut mesh = Mesh::new();
    let xs = mesh.set("xs", 3).unwrap();
    let from = mesh.map::<1>("from", xs, xs, vec![2, 2, 0]).unwrap();
    let to = mesh.map::<1>("to", xs, xs, vec![1, 0, 2]).unwrap();
    let (a, b) = (mesh.dat("a", xs, vec![[1.0], [2.0], [3.0]]).unwrap(), mesh.dat_of("b", xs, [0.0]).unwrap());
    let mut program = Program::new(mesh);
    program.repeat("twice", 2, |program| {
        program.each(xs, "work").read(a.at(from, 0)).inc(b.at(to, 0)).run(|a, b| b[0] += a[0]);
        program.each(xs, "change").update(a).run(|a| a[0] += 1.0);
    });
    program
}

fn built(program: &Program, events: Events, alter: impl FnOnce(&mut Declared)) -> OnEvents {
    OnEvents::altered(Arc::clone(program.mesh()), program.statements().unwrap(), events, alter).unwrap()
}

/// What device `xs_0` did in the first run of the loop, in order, for one order of messages after the other.
fn orders(events: Events) -> impl Iterator<Item = Vec<String>> {
    let program = program();
    let on_events = built(&program, events, |_| ());
    let of = move |seed: u64| {
        let settings = Settings::new(Executor::Random { seed }).log();
        let report = EventMachine::new(&on_events.connected.instance).run(&settings).unwrap();
        let mut text = Vec::new();
        report.log.unwrap().write(&mut text).unwrap();
        let pin = |line: &str| {
            let rest = line.split_once(r#""device":"xs_0","pin":"work_"#)?.1;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let all: Vec<String> = std::str::from_utf8(&text).unwrap().lines().filter_map(pin).collect();
        all.split_inclusive(|pin| pin == "end").next().unwrap().to_vec()
    };
    (0..100_000).map(of)
}

#[test]
fn in_the_plain_form_the_kernel_waits_for_the_word_to_begin() {
    let early = ["dat_b_write_recv", "arg0_read_recv", "dat_a_read_send", "begin", "execute", "arg1_write_send", "end"];
    let found = orders(Events::new().checked()).find(|order| {
        let place = |what: &str| order.iter().position(|pin| pin == what).unwrap();
        assert!(place("begin") < place("execute") && place("execute") < place("end"), "{order:?}");
        *order == early
    });
    assert!(found.is_some(), "one of the orders is this one");
}

/// What is said, in several orders of messages, about a program whose devices were told something wrong.
fn broken(events: Events, alter: fn(&mut Declared)) -> String {
    let program = program();
    let all = (0..20).filter_map(|seed| {
        let events = events.executor(Executor::Random { seed }).checked();
        built(&program, events, alter).run(None, None).err().map(|error| error.to_string())
    });
    all.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_device_that_ends_too_early_is_seen() {
    let alter = |declared: &mut Declared| declared.wirings[0].write_recv_totals.get_mut(&0).unwrap()[1] -= 1;
    for control in [Control::Plain, Control::Tree] {
        let text = broken(Events::new().control(control), alter);
        assert!(text.contains("loop `work`, End: it left before all had come and gone"), "{text}");
    }
}

#[test]
fn a_device_that_waits_for_too_much_is_seen() {
    let alter = |declared: &mut Declared| declared.wirings[0].write_recv_totals.get_mut(&0).unwrap()[1] += 1;
    assert!(broken(Events::new(), alter).contains("stopped half way"));
}

/// A device would be counted twice, and another one not be waited for.
#[test]
fn a_file_with_an_edge_that_is_there_twice_is_refused() {
    let program = program();
    let instance = program.event_graph("twice", None).unwrap();
    let mut registry = Registry::new();
    registry.register(instance.graph_type()).unwrap();
    let mut file = Vec::new();
    xml::write(&instance, xml::Version::V4, &mut file).unwrap();
    let file = String::from_utf8(file).unwrap();
    xml::read(file.as_bytes(), &registry).unwrap();
    let edges: Vec<&str> = file.lines().filter(|line| line.contains("<EdgeI ")).collect();
    assert_eq!(edges.len(), instance.edges());
    for edge in edges {
        let twice = file.replacen(edge, &format!("{edge}{edge}"), 1);
        let error = xml::read(twice.as_bytes(), &registry).unwrap_err().to_string();
        let path = edge.split('"').nth(1).unwrap();
        assert!(error.contains(&format!("edge {path} is there twice")), "{error}");
    }
}

/// The same, of a graph that was made otherwise.
#[test]
fn a_device_that_says_twice_that_it_is_at_the_end_is_found_by_counting() {
    let instance = program().event_graph("twice", None).unwrap();
    let with_edge_twice = |twice: Option<EdgeId>| {
        let mut builder = InstanceBuilder::new(instance.graph_type(), "twice");
        builder.properties(instance.properties()).unwrap();
        for device in (0..instance.devices() as u32).map(DeviceId) {
            let (kind, name) = (instance.type_id(device), instance.name(device));
            let (properties, state) = (instance.device_properties(device), instance.initial_state(device));
            builder.device_with(name, kind, Some(properties), Some(state)).unwrap();
        }
        for (edge, ends) in instance.all_edges() {
            for _ in 0..1 + u32::from(twice == Some(edge)) {
                builder.edge(ends.source, ends.output, ends.target, ends.input).unwrap();
            }
        }
        builder.build().unwrap()
    };
    let run = |twice: Option<EdgeId>, executor: Executor| {
        EventMachine::new(&with_edge_twice(twice)).run(&Settings::new(executor)).map(drop)
    };
    let global = instance.device("global").unwrap();
    for executor in [Executor::Fifo, Executor::Lifo, Executor::Random { seed: 1 }, Executor::Parallel { workers: 2 }] {
        run(None, executor).unwrap();
        for (edge, ends) in instance.all_edges().filter(|(_, ends)| ends.target == global) {
            assert!(run(Some(edge), executor).is_err(), "{ends:?} {executor:?}");
        }
    }
    for (edge, ends) in instance.all_edges() {
        assert!(run(Some(edge), Executor::Fifo).is_err(), "{ends:?}");
    }
}
