//! Programs as messages: the order in which things may happen, and that a check of the protocol sees what must not.

#[path = "../support/protocol.rs"]
mod protocol;

use std::sync::Arc;

use drawloom_mesh::{Control, Mesh, Program};
use drawloom_messages::xml::{self, Registry};
use drawloom_messages::{EdgeId, Executor, Machine, Settings};

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

/// What device `xs_0` did in the first run of the loop, in order, for one order of messages after the other.
fn orders() -> impl Iterator<Item = Vec<String>> {
    let instance = protocol::checked(&program().event_graph("twice", None).unwrap());
    let of = move |seed: u64| {
        let settings = Settings::new(Executor::Random { seed }).log();
        let report = Machine::new(&instance).run(&settings).unwrap();
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
    let found = orders().find(|order| {
        let place = |what: &str| order.iter().position(|pin| pin == what).unwrap();
        assert!(place("begin") < place("execute") && place("execute") < place("end"), "{order:?}");
        *order == early
    });
    assert!(found.is_some(), "one of the orders is this one");
}

/// What is said, in several orders of messages, about a program in which `xs_1` expects other writes than come to it.
fn broken(control: Control, change: fn(u32) -> u32) -> String {
    let instance = program().event_graph_with("twice", control).unwrap();
    let device = instance.device("xs_1").unwrap();
    let at = instance.type_of(device).properties().offset_of("work_write_recv_total").unwrap();
    let alter = |of, properties: &mut [u8]| {
        if of == device {
            let total = u32::from_ne_bytes(properties[at..at + 4].try_into().unwrap());
            properties[at..at + 4].copy_from_slice(&change(total).to_ne_bytes());
        }
    };
    let altered = protocol::rebuilt(&instance, |kind| Arc::clone(kind.handlers()), alter, |_| 1);
    // A run that failed leaves its check in the middle of a loop.
    let run = |seed| Machine::new(&protocol::checked(&altered)).run(&Settings::new(Executor::Random { seed }));
    (0..20).filter_map(|seed| Some(run(seed).err()?.to_string())).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_device_that_ends_too_early_is_seen() {
    for control in [Control::Plain, Control::Tree] {
        let text = broken(control, |total| total - 1);
        assert!(text.contains("loop `work`, End: it left before all had come and gone"), "{text}");
    }
}

#[test]
fn a_device_that_waits_for_too_much_is_seen() {
    assert!(broken(Control::Plain, |total| total + 1).contains("stopped half way"));
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
        let copies = |edge| 1 + u32::from(twice == Some(edge));
        protocol::rebuilt(&instance, |kind| Arc::clone(kind.handlers()), |_, _| (), copies)
    };
    let run = |twice: Option<EdgeId>, executor: Executor| {
        Machine::new(&with_edge_twice(twice)).run(&Settings::new(executor)).map(drop)
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
