//! Runs the C text of handlers: compiled by the C compiler of this machine together with a small scheduler.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

use drawloom_messages::xml::c_source;
use drawloom_messages::{DeviceId, Instance};

/// Reads the instance from a file, and lets all devices send, then all messages arrive, until nothing happens.
const SCHEDULER: &str = r#"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct device { uint32_t type; void *properties, *state; uint32_t first; };
struct edge { uint32_t target, input; void *properties; };
struct message { uint32_t from, to; void *bytes; };

void handler_log(int level, const char *format, ...) { (void)level; (void)format; }
void handler_exit(int code) { exit(code); }

static uint32_t number(FILE *file) {
    uint32_t value;
    if(fread(&value, 4, 1, file) != 1) exit(3);
    return value;
}

static void *bytes(FILE *file) {
    uint32_t size = number(file);
    void *place = calloc(1, size + 8);
    if(size && fread(place, size, 1, file) != 1) exit(3);
    return place;
}

int main(int count, char **arguments) {
    FILE *file = count > 1 ? fopen(arguments[1], "rb") : 0;
    if(!file) return 3;
    void *graph = bytes(file);
    uint32_t devices = number(file), pins = number(file), edges = number(file);
    struct device *device = calloc(devices, sizeof *device);
    for(uint32_t d = 0; d < devices; d++) {
        device[d].type = number(file);
        device[d].properties = bytes(file);
        device[d].state = bytes(file);
        device[d].first = number(file);
    }
    uint32_t *first = calloc(pins + 1, sizeof *first);
    for(uint32_t p = 0; p <= pins; p++) first[p] = number(file);
    struct edge *edge = calloc(edges, sizeof *edge);
    for(uint32_t e = 0; e < edges; e++) {
        edge[e].target = number(file);
        edge[e].input = number(file);
        edge[e].properties = bytes(file);
    }
    struct message *queue = calloc(64 * devices, sizeof *queue);
    unsigned long sends = 0, deliveries = 0, cancelled = 0;
    for(;;) {
        size_t queued = 0;
        int busy = 0;
        for(uint32_t d = 0; d < devices; d++) {
            uint32_t ready = 0;
            while(ask(device[d].type, graph, device[d].properties, device[d].state, &ready), ready) {
                uint32_t pin = __builtin_ctz(ready);
                int sent = 1;
                void *message = calloc(1, 4096);
                give(device[d].type, pin, graph, device[d].properties, device[d].state, message, &sent);
                busy = 1;
                if(!sent) { cancelled++; free(message); continue; }
                sends++;
                uint32_t p = device[d].first + pin;
                if(first[p] < first[p + 1]) {
                    if(queued == 64 * (size_t)devices) return 4;
                    queue[queued++] = (struct message){first[p], first[p + 1], message};
                } else free(message);
            }
        }
        for(size_t m = 0; m < queued; m++) {
            for(uint32_t e = queue[m].from; e < queue[m].to; e++) {
                struct device *target = &device[edge[e].target];
                take(target->type, edge[e].input, graph, target->properties, target->state, edge[e].properties, queue[m].bytes);
                deliveries++;
            }
            free(queue[m].bytes);
        }
        if(!busy) break;
    }
    printf("%lu %lu %lu %.17g\n", sends, deliveries, cancelled, result(device[devices - 1].state));
    return 0;
}
"#;

/// Functions that call the handlers of a type by number, and one that finds the result in the state of the last device.
fn calls(instance: &Instance, result: &str) -> String {
    let own = "const void *g, const void *p, void *s";
    let (mut take, mut give, mut ask) = (String::new(), String::new(), String::new());
    for (number, kind) in instance.graph_type().devices().iter().enumerate() {
        let id = kind.id();
        for (pin, input) in kind.inputs().iter().enumerate() {
            let _ =
                writeln!(take, "case {number} * 1000 + {pin}: {id}_{}_receive(g, p, s, e, 0, m); break;", input.name());
        }
        for (pin, output) in kind.outputs().iter().enumerate() {
            let name = output.name();
            let _ = writeln!(give, "case {number} * 1000 + {pin}: {id}_{name}_send(g, p, s, m, sent, 0); break;");
        }
        let _ = writeln!(ask, "case {number}: {id}_ready(g, p, s, ready); break;");
    }
    format!(
        "static void take(uint32_t type, uint32_t pin, {own}, const void *e, const void *m) {{ switch(type * 1000 + pin) {{\n{take}}} }}\n\
         static void give(uint32_t type, uint32_t pin, {own}, void *m, int *sent) {{ switch(type * 1000 + pin) {{\n{give}}} }}\n\
         static void ask(uint32_t type, {own}, uint32_t *ready) {{ switch(type) {{\n{ask}}} }}\n\
         static double result(const void *s) {{ return {result}; }}\n"
    )
}

/// The instance as numbers and bytes.
fn numbers(instance: &Instance) -> Vec<u8> {
    fn put(to: &mut Vec<u8>, number: usize) {
        to.extend((number as u32).to_ne_bytes());
    }
    fn put_bytes(to: &mut Vec<u8>, bytes: &[u8]) {
        put(to, bytes.len());
        to.extend(bytes);
    }
    let (mut file, mut first_edges, mut edges, mut pins) = (Vec::new(), vec![0], Vec::new(), 0);
    put_bytes(&mut file, instance.properties());
    let mut devices = Vec::new();
    let ends: Vec<_> = instance.all_edges().collect();
    for device in (0..instance.devices() as u32).map(DeviceId) {
        put(&mut devices, instance.type_id(device).index());
        put_bytes(&mut devices, instance.device_properties(device));
        put_bytes(&mut devices, instance.initial_state(device));
        put(&mut devices, pins);
        for output in 0..instance.type_of(device).outputs().len() as u32 {
            pins += 1;
            let count = instance.edges_from(device, drawloom_messages::OutputId(output)).count();
            first_edges.push(first_edges[first_edges.len() - 1] + count);
        }
    }
    for (edge, ends) in &ends {
        put(&mut edges, ends.target.index());
        put(&mut edges, ends.input.index());
        put_bytes(&mut edges, instance.edge_properties(*edge));
    }
    [instance.devices(), pins, ends.len()].iter().for_each(|number| put(&mut file, *number));
    file.extend(devices);
    first_edges.iter().for_each(|number| put(&mut file, *number));
    file.extend(edges);
    file
}

/// Compiles and runs the handlers of an instance, and returns sends, deliveries, cancelled sends and a number that a C
/// expression finds in the state `s` of the last device.
pub(crate) fn run(instance: &Instance, result: &str) -> (u64, u64, u64, f64) {
    assert!(Command::new("cc").arg("--version").output().is_ok(), "this test needs a C compiler that is called `cc`");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(instance.graph_type().id());
    std::fs::create_dir_all(&folder).unwrap();
    let [source, program, data] = ["handlers.c", "handlers", "graph.bin"].map(|name| folder.join(name));
    let text = format!("{}{}{SCHEDULER}", c_source(instance.graph_type()), calls(instance, result));
    std::fs::write(&source, text).unwrap();
    std::fs::write(&data, numbers(instance)).unwrap();
    let strict = ["-std=gnu11", "-O1", "-ffp-contract=off", "-Wall", "-Werror", "-Wno-unused-function"];
    let compiled = Command::new("cc").args(strict).arg(&source).arg("-o").arg(&program).arg("-lm").output().unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new(&program).arg(&data).output().unwrap();
    assert!(ran.status.success(), "{:?}", ran.status);
    let text = String::from_utf8(ran.stdout).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = |at: usize| words[at].parse().unwrap();
    (count(0), count(1), count(2), words[3].parse().unwrap())
}
