//! Names in graph files that their users rely on, and programs that have no C text.

#[path = "support/protocol.rs"]
mod protocol;

use std::sync::Arc;

use drawloom_mesh::{Backend, ErrorKind, Events, Global, HandlerText, Mesh, Program, Set};
use drawloom_messages::xml::{self, Registry};
use drawloom_messages::{
    Device, DeviceType, DeviceView, EdgeView, Executor, Handlers, InputId, Instance, Machine, OutputId, Pins, Sent,
    Settings,
};

/// A loop over edges that reads, writes and contributes through maps, and a loop over nodes.
fn program() -> Program {
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", 3).unwrap(), mesh.set("edges", 2).unwrap());
    let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2]).unwrap();
    let (x, sum) = (mesh.dat_of("x", nodes, [1.0]).unwrap(), mesh.dat_of("sum", nodes, [0.0]).unwrap());
    let factor = mesh.constant("factor", [2.0]).unwrap();
    let (step, total) = (mesh.global("step", [0.5]).unwrap(), mesh.global("total", [0.0]).unwrap());
    let mut program = Program::new(mesh);
    program.repeat("time", 2, |program| {
        program.each(edges, "push").read(x.at(ends, 0)).read(factor).read(step).inc(sum.at(ends, 1)).inc(total).run(
            |x, factor, step, sum, total| {
                sum[0] += x[0] * factor[0] * step[0];
                total[0] += x[0];
            },
        );
        program.each(nodes, "keep").update(x).run(|x| x[0] += 1.0);
    });
    program
}

#[test]
fn names_in_graph_files_are_those_of_the_guide() {
    let instance = program().event_graph("names", None).unwrap();
    let kind = instance.graph_type();
    let members = |layout: &drawloom_messages::data::Layout| -> Vec<String> {
        layout.tuple().members().iter().map(|member| member.name.to_string()).collect()
    };
    assert_eq!(
        members(kind.properties()),
        [
            "global_factor",
            "length_nodes",
            "length_edges",
            "push_total_responding_devices",
            "keep_total_responding_devices",
            "run_counts"
        ]
    );
    let messages: Vec<&str> = kind.messages().iter().map(|message| message.id()).collect();
    assert_eq!(
        messages,
        ["control", "dat_sum", "dat_x", "execute", "keep_begin", "keep_end", "push_begin", "push_end"]
    );
    let device = |id: &str| &kind.devices()[kind.device(id).unwrap().index()];
    let inputs = |id: &str| -> Vec<String> { device(id).inputs().iter().map(|pin| pin.name().to_owned()).collect() };
    let outputs = |id: &str| -> Vec<String> { device(id).outputs().iter().map(|pin| pin.name().to_owned()).collect() };
    let counts = |name: &str| -> Vec<String> {
        let parts = ["in_progress", "read_send_mask", "read_recv_count", "write_recv_count", "write_send_mask"];
        parts.iter().map(|part| format!("{name}_{part}")).collect()
    };
    let all = |lists: &[&[String]]| lists.concat();
    let own = |names: &[&str]| -> Vec<String> { names.iter().map(|name| (*name).to_owned()).collect() };

    assert_eq!(members(device("set_edges").properties()), ["push_write_recv_total"]);
    let buffers = own(&["global_step", "global_total", "push_arg0_buffer", "push_arg3_buffer"]);
    assert_eq!(members(device("set_edges").state()), all(&[&own(&["ready"]), &counts("push"), &buffers]));
    assert_eq!(inputs("set_edges"), ["push_begin", "push_arg0_read_recv"]);
    assert_eq!(outputs("set_edges"), ["push_execute", "push_arg3_write_send", "push_end"]);

    assert_eq!(members(device("set_nodes").properties()), ["push_write_recv_total", "keep_write_recv_total"]);
    let dats = own(&["ready", "dat_x", "dat_sum"]);
    assert_eq!(members(device("set_nodes").state()), all(&[&dats, &counts("push"), &counts("keep")]));
    assert_eq!(inputs("set_nodes"), ["push_begin", "push_dat_sum_write_recv", "keep_begin"]);
    assert_eq!(outputs("set_nodes"), ["push_dat_x_read_send", "push_execute", "push_end", "keep_execute", "keep_end"]);

    let state = ["pc", "invocation_index", "phase", "end_received", "runs", "global_step", "global_total"];
    assert_eq!(members(device("controller").state()), state);
    assert_eq!(inputs("controller"), ["push_end", "keep_end"]);
    assert_eq!(outputs("controller"), ["control", "push_begin", "keep_begin"]);
    assert!(instance.device("global").is_some() && instance.device("nodes_2").is_some());
}

#[test]
fn names_of_loops_are_identifiers_and_differ() {
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 1).unwrap();
    let x = mesh.dat_of("x", set, [0_i64]).unwrap();
    let mut program = Program::new(mesh);
    for name in ["a b", "a-b", "3", "", "a_b"] {
        program.each(set, name).update(x).run(|x| x[0] += 1);
    }
    let instance = program.event_graph("names", None).unwrap();
    let kind = instance.graph_type();
    let controller = &kind.devices()[kind.device("controller").unwrap().index()];
    let pins: Vec<&str> = controller.inputs().iter().map(|pin| pin.name()).collect();
    assert_eq!(pins, ["a_b_end", "a_b_1_end", "_3_end", "__end", "a_b_2_end"]);
}

/// What is wrong with the C text of a program over ten elements.
fn refusal(build: impl FnOnce(&mut Program, Set, Global<i64, 1>), text: &HandlerText) -> String {
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 10).unwrap();
    let sum = mesh.global("sum", [0_i64]).unwrap();
    let mut program = Program::new(mesh);
    build(&mut program, set, sum);
    program.event_graph("graph", None).expect("without text there is nothing wrong");
    let error = program.event_graph("graph", Some(text)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    error.to_string()
}

#[test]
fn different_kernels_under_one_name_are_refused_as_c_text() {
    let text = HandlerText::new().kernel("add", "static void kernel_add(int64_t *sum) { sum[0] += 1; }");
    let build = |program: &mut Program, set: Set, sum: Global<i64, 1>| {
        program.each(set, "add").inc(sum).run(|sum| sum[0] += 1);
        program.each(set, "add").inc(sum).run(|sum| sum[0] += 2);
    };
    let said = refusal(build, &text);
    assert!(said.contains("loops `add` at ") && said.contains("would both have the C function `kernel_add`"), "{said}");

    // The same kernel in two loops is one function.
    fn add(sum: &mut [drawloom_mesh::kernel::Acc<i64>; 1]) {
        sum[0] += 1;
    }
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 10).unwrap();
    let sum = mesh.global("sum", [0_i64]).unwrap();
    let mut program = Program::new(mesh);
    program.each(set, "add").inc(sum).run(add);
    program.each(set, "add").inc(sum).run(add);
    let instance = program.event_graph("graph", Some(&text)).unwrap();
    assert_eq!(instance.graph_type().shared_code().matches("static void kernel_add").count(), 1);
}

#[test]
fn names_that_are_one_name_in_c_are_refused_as_c_text() {
    let function = "static void kernel_a_b(int64_t *sum) { sum[0] += 1; }";
    let text = HandlerText::new().kernel("a b", function).kernel("a-b", function);
    let build = |program: &mut Program, set: Set, sum: Global<i64, 1>| {
        program.each(set, "a b").inc(sum).run(|sum| sum[0] += 1);
        program.each(set, "a-b").inc(sum).run(|sum| sum[0] += 2);
    };
    let said = refusal(build, &text);
    assert!(said.contains("loops `a b` at ") && said.contains(" and `a-b` at "), "{said}");
    assert!(said.contains("would both have the C function `kernel_a_b`: rename one"), "{said}");

    let function = "static void scalar_c_d(int64_t *sum) { sum[0] += 1; }";
    let text = HandlerText::new().scalar("c d", function).scalar("c.d", function);
    let build = |program: &mut Program, _: Set, sum: Global<i64, 1>| {
        program.scalar("c d").update(sum).run(|sum| sum[0] += 1);
        program.scalar("c.d").update(sum).run(|sum| sum[0] += 2);
    };
    let said = refusal(build, &text);
    assert!(said.contains("scalar code `c d` at ") && said.contains("C function `scalar_c_d`"), "{said}");
}

#[test]
fn more_output_pins_than_c_text_can_name_are_refused() {
    let text = HandlerText::new().kernel("add", "static void kernel_add(int64_t *sum) { sum[0] += 1; }");
    fn add(sum: &mut [drawloom_mesh::kernel::Acc<i64>; 1]) {
        sum[0] += 1;
    }
    // Each loop has a pin to execute, and one at its end.
    let build = |program: &mut Program, set: Set, sum: Global<i64, 1>| {
        for _ in 0..17 {
            program.each(set, "add").inc(sum).run(add);
        }
    };
    let said = refusal(build, &text);
    assert_eq!(said, "device type `set_set` has 34 output pins; C text can name 32");
}

#[test]
fn values_that_need_more_alignment_than_records_have_are_refused_as_messages() {
    let mut mesh = Mesh::new();
    let set = mesh.set("set", 3).unwrap();
    let wide = mesh.dat_of("wide", set, [1_i128]).unwrap();
    let mut program = Program::new(mesh);
    program.each(set, "double").update(wide).run(|wide| wide[0] *= 2);
    let mut run = program.start(Backend::Serial).unwrap();
    run.run().unwrap();
    assert_eq!(run.dat(wide).unwrap(), [[2_i128]; 3]);
    let error = program.start(Backend::Events(Events::new())).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("dat `wide` is aligned to 16 bytes"), "{error}");

    let mut mesh = Mesh::new();
    mesh.global("wide", [1_u128]).unwrap();
    let error = Program::new(mesh).event_graph("graph", None).expect_err("refused");
    assert!(error.to_string().contains("global `wide` is aligned to 16 bytes"), "{error}");
}

/// A struct whose bytes are words for the message machine, which knows nothing of the truth value in it.
#[derive(Clone, Copy, Debug, PartialEq, drawloom_runtime::Element)]
#[repr(C)]
struct Lamp {
    is_on: bool,
    watts: u8,
}

/// A loop over edges that reads truth values through a map, a loop that reads a struct, and scalar code on a truth value.
fn truths() -> Arc<Instance> {
    let mut mesh = Mesh::new();
    let (nodes, edges) = (mesh.set("nodes", 2).unwrap(), mesh.set("edges", 1).unwrap());
    let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1]).unwrap();
    let wet = mesh.dat_of("wet", nodes, [false, true]).unwrap();
    let lamp = mesh.dat_of("lamp", nodes, [Lamp { is_on: true, watts: 60 }]).unwrap();
    let (count, more) = (mesh.global("count", [0_i64]).unwrap(), mesh.global("more", [true]).unwrap());
    let mut program = Program::new(mesh);
    program.while_true(more, |program| {
        program.each(edges, "count").read(wet.through(ends)).inc(count).run(|wet, count| {
            count[0] += wet.iter().filter(|wet| wet[1]).count() as i64;
        });
        program.each(nodes, "switch").update(lamp).run(|lamp| lamp[0].is_on = !lamp[0].is_on);
        program.scalar("stop").update(more).run(|more| more[0] = !more[0]);
    });
    program.event_graph("truths", None).unwrap()
}

/// What is said when a program runs after something was done to the state of a device.
fn run_with(alter: impl FnOnce(&Instance, &mut Machine)) -> String {
    let instance = truths();
    let mut machine = Machine::new(&instance);
    alter(&instance, &mut machine);
    machine.run(&Settings::new(Executor::Fifo)).map_or_else(|error| error.to_string(), |_| "nothing".to_owned())
}

/// Sets a byte of a member in the state of a device.
fn put(instance: &Instance, machine: &mut Machine, device: &str, member: &str, byte: u8) {
    let device = instance.device(device).unwrap();
    let at = instance.type_of(device).state().offset_of(member).unwrap();
    machine.state_mut(device)[at] = byte;
}

#[test]
fn a_bool_of_2_in_the_state_of_a_device_never_reaches_a_kernel() {
    assert_eq!(run_with(|_, _| ()), "nothing");
    let said = run_with(|instance, machine| put(instance, machine, "nodes_1", "dat_wet[1]", 2));
    assert!(
        said.contains("device \"nodes_1\" failed in its send handler of pin \"count_dat_wet_read_send\""),
        "{said}"
    );
    assert!(said.contains("holds a bool of 2, and a bool is 0 or 1"), "{said}");
    let said = run_with(|instance, machine| put(instance, machine, "nodes_0", "dat_lamp[0]", 3));
    assert!(said.contains("loop `switch` at"), "{said}");
    assert!(said.contains("argument 0, dat `lamp`, holds bytes that are no value of its type"), "{said}");
    let said = run_with(|instance, machine| put(instance, machine, "edges_0", "count_arg0_buffer[1][1]", 3));
    assert_eq!(said, "nothing", "what is sent comes after it");
    let said = run_with(|instance, machine| put(instance, machine, "global", "global_more", 2));
    assert!(said.contains("device \"global\" panicked"), "{said}");
    assert!(said.contains("global `more` holds bytes that are no value of its type"), "{said}");
}

#[test]
fn a_bool_of_2_in_a_graph_file_is_refused_or_never_reaches_a_kernel() {
    let instance = truths();
    let mut registry = Registry::new();
    registry.register(instance.graph_type()).unwrap();
    for version in [xml::Version::V3, xml::Version::V4] {
        let mut file = Vec::new();
        xml::write(&instance, version, &mut file).unwrap();
        let file = String::from_utf8(file).unwrap();
        let altered = |from: &str, to: &str| {
            assert!(file.contains(from), "{from} in\n{file}");
            xml::read(file.replacen(from, to, 1).as_bytes(), &registry)
        };
        let (truths, lamp) = match version {
            xml::Version::V3 => (("[false,true]", "[false,2]"), ("[1,60]", "[2,60]")),
            xml::Version::V4 => (("{0,1}", "{0,2}"), ("{1,60}", "{2,60}")),
        };
        let error = altered(truths.0, truths.1).unwrap_err();
        assert!(
            error.to_string().contains("2 is no bool") || error.to_string().contains("\"2\" is no bool"),
            "{error}"
        );
        let instance = altered(lamp.0, lamp.1).unwrap();
        let error = Machine::new(&instance).run(&Settings::new(Executor::Fifo)).unwrap_err();
        assert!(error.to_string().contains("dat `lamp`, holds bytes that are no value of its type"), "{error}");
    }
}

/// Handlers that give those of a program a state of another length when a kernel is to run.
struct Lengthened(Arc<dyn Handlers>, OutputId);

impl Handlers for Lengthened {
    fn receive(&self, pin: InputId, device: &mut Device<'_>, message: &[u8], edge: EdgeView<'_>) {
        self.0.receive(pin, device, message, edge);
    }

    fn ready(&self, device: &DeviceView<'_>, pins: &mut Pins<'_>) {
        self.0.ready(device, pins);
    }

    fn send(&self, pin: OutputId, device: &mut Device<'_>, message: &mut [u8]) -> Sent {
        if pin == self.1 {
            let longer: Vec<u8> = device.state.iter().copied().chain([0; 8]).collect();
            device.state = Box::leak(longer.into_boxed_slice());
        }
        self.0.send(pin, device, message)
    }
}

#[test]
fn a_state_of_another_length_never_reaches_a_kernel() {
    let wrap = |kind: &DeviceType| -> Arc<dyn Handlers> {
        let handlers = Arc::clone(kind.handlers());
        match kind.output("switch_execute").filter(|_| kind.id() == "set_nodes") {
            Some(pin) => Arc::new(Lengthened(handlers, pin)),
            None => handlers,
        }
    };
    let instance = protocol::rebuilt(&truths(), wrap, |_, _| (), |_| 1);
    let error = Machine::new(&instance).run(&Settings::new(Executor::Fifo)).unwrap_err();
    assert!(error.to_string().contains("a record has another size or alignment than its layout"), "{error}");
}
