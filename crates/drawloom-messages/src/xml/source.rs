//! A graph type with its handlers as one C file, the way tools of the family assemble it: so that a compiler can look at the
//! text, and so that it can be linked with something that runs it.
//!
//! Each handler becomes a function, and each set of members a struct. Empty ones have no members, which C compilers accept.

use std::fmt::Write;

use crate::data::{Layout, c};
use crate::graph::{DeviceType, GraphType};

/// What handlers may use without having declared it.
const PRELUDE: &str = "#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void handler_exit(int code);
void handler_log(int level, const char *format, ...);
";

/// The C file.
pub fn c_source(graph_type: &GraphType) -> String {
    let mut text = PRELUDE.to_owned();
    define(&mut text, "graph_properties", graph_type.properties());
    for message in graph_type.messages() {
        define(&mut text, &format!("message_{}", message.id()), message.layout());
    }
    let _ = writeln!(text, "{}", graph_type.shared_code());
    for kind in graph_type.devices() {
        device(&mut text, graph_type, kind);
    }
    text
}

/// A struct, whose size is what both sides think it is.
fn define(text: &mut String, name: &str, layout: &Layout) {
    let _ = writeln!(text, "typedef struct {{\n{}}} {name}_t;", c::declarations(layout.tuple()));
    let size = layout.size();
    let _ = writeln!(text, "_Static_assert(sizeof({name}_t) == {size}, \"the size of {name}\");");
}

fn device(text: &mut String, graph_type: &GraphType, kind: &DeviceType) {
    let id = kind.id();
    let message = |id: crate::graph::MessageId| graph_type.messages()[id.index()].id();
    define(text, &format!("{id}_properties"), kind.properties());
    define(text, &format!("{id}_state"), kind.state());
    let _ = writeln!(text, "{}", kind.code().shared);
    let own = format!(
        "const graph_properties_t *graphProperties, const {id}_properties_t *deviceProperties, {id}_state_t *deviceState"
    );
    for pin in kind.inputs() {
        let name = format!("{id}_{}", pin.name());
        define(text, &format!("{name}_edge_properties"), pin.properties());
        define(text, &format!("{name}_edge_state"), pin.state());
        let _ = writeln!(
            text,
            "void {name}_receive({own}, const {name}_edge_properties_t *edgeProperties, {name}_edge_state_t *edgeState, \
             const message_{}_t *message) {{\n{}}}",
            message(pin.message()),
            pin.code()
        );
    }
    for pin in kind.outputs() {
        let _ = writeln!(
            text,
            "void {id}_{}_send({own}, message_{}_t *message, int *doSend, unsigned *sendIndex) {{\n{}}}",
            pin.name(),
            message(pin.message()),
            pin.code()
        );
    }
    let flags = kind.outputs().iter().enumerate().map(|(bit, pin)| format!("RTS_FLAG_{} = 1u << {bit}", pin.name()));
    let flags: Vec<String> = flags.collect();
    let flags = if flags.is_empty() { String::new() } else { format!("enum {{ {} }};\n", flags.join(", ")) };
    let _ = writeln!(text, "void {id}_ready({own}, uint32_t *readyToSend) {{\n{flags}{}}}", kind.code().ready);
    for (name, code) in [("init", &kind.code().init), ("idle", &kind.code().idle)] {
        let _ = writeln!(text, "void {id}_{name}({own}) {{\n{code}}}");
    }
}
