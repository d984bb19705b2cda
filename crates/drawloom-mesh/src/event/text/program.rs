//! The handlers of the device with the control flow, as C text.

use std::fmt::Write;

use super::scalar_name;
use super::values::{copy, fold, pointer};
use crate::event::declare::{best_of, is_with_element, pad, type_of};
use crate::event::involved::Invocation;
use crate::event::names::Names;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;
use crate::program::steps::Step;

/// The text of each handler.
pub(in crate::event) struct ProgramWords {
    /// For each loop, at its end and at its beginning.
    pub(in crate::event) ends: Vec<String>,
    pub(in crate::event) begins: Vec<String>,
    pub(in crate::event) control: String,
    pub(in crate::event) ready: String,
}

/// Makes the text.
pub(in crate::event) fn program_words(
    mesh: &Mesh,
    names: &Names,
    invocations: &[Invocation],
    steps: &[Step],
) -> ProgramWords {
    let words = Program { mesh, names, invocations };
    ProgramWords {
        ends: (0..invocations.len()).map(|number| words.end(number)).collect(),
        begins: (0..invocations.len()).map(|number| words.begin(number)).collect(),
        control: words.control(steps),
        ready: words.ready(steps),
    }
}

struct Program<'a> {
    mesh: &'a Mesh,
    names: &'a Names,
    invocations: &'a [Invocation],
}

impl Program<'_> {
    /// Where a global is.
    fn global(&self, global: u32) -> String {
        let place = if self.mesh.globals[global as usize].constant { "graphProperties" } else { "deviceState" };
        format!("{place}->{}", self.names.global(global))
    }

    fn type_of(&self, global: u32) -> drawloom_messages::data::Type {
        type_of(&*self.mesh.globals[global as usize].values)
    }

    fn end(&self, number: usize) -> String {
        let invocation = &self.invocations[number];
        let mut text = String::new();
        for arg in invocation.contributions() {
            let ArgDecl::Global { global, access, payload, .. } = invocation.decl.args[arg] else { continue };
            let (name, _) = pad(self.mesh, self.names, &invocation.decl.args[arg]).expect("a contribution has a pad");
            let (to, from) = (self.global(global), format!("message->{name}"));
            let line = match payload {
                None => fold(&to, &from, &self.type_of(global), access),
                Some(payload) => {
                    let sign = if access == Access::Min { '<' } else { '>' };
                    let value = copy(&to, &format!("{from}.value"), &self.type_of(global));
                    let with = copy(&self.global(payload), &format!("{from}.payload"), &self.type_of(payload));
                    let best = format!("deviceState->{}", best_of(invocation, arg));
                    let first = format!("{from}.value == {to} && {from}.element < {best}");
                    format!("if({from}.value {sign} {to} || ({first})) {{ {value} {with} {best} = {from}.element; }}")
                }
            };
            let _ = writeln!(text, "{line}");
        }
        let _ = writeln!(
            text,
            "if(++deviceState->end_received == graphProperties->{}_total_responding_devices) {{\n\
             deviceState->end_received = 0;\ndeviceState->phase = 0;\n}}",
            invocation.name
        );
        text
    }

    fn begin(&self, number: usize) -> String {
        let mut text = String::new();
        for (_, global) in self.invocations[number].told(self.mesh) {
            let to = format!("message->{}", self.names.global(global));
            let _ = writeln!(text, "{}", copy(&to, &self.global(global), &self.type_of(global)));
        }
        let invocation = &self.invocations[number];
        for arg in invocation.contributions() {
            if is_with_element(&invocation.decl.args[arg]) {
                let _ = writeln!(text, "deviceState->{} = 0;", best_of(invocation, arg));
            }
        }
        text.push_str("deviceState->phase = 2;\n");
        text
    }

    /// One step of the program, and which comes next.
    fn control(&self, steps: &[Step]) -> String {
        let mut text = "*doSend = 0;\nswitch(deviceState->pc) {\n".to_owned();
        for (number, step) in steps.iter().enumerate() {
            let _ = writeln!(text, "case {number}:\n{}break;", self.step(number, step));
        }
        text.push_str("}\n");
        text
    }

    fn step(&self, number: usize, step: &Step) -> String {
        let go_on = format!("deviceState->pc = {};\n", number + 1);
        match step {
            Step::Loop(number) => {
                let name = &self.invocations[*number].name;
                format!(
                    "if(graphProperties->{name}_total_responding_devices != 0) {{ deviceState->invocation_index = \
                     {number}; deviceState->phase = 1; }}\n{go_on}"
                )
            }
            Step::Scalar(decl) => {
                let arguments = decl.args.iter().filter_map(|arg| match *arg {
                    ArgDecl::Global { global, .. } => Some(pointer(&self.global(global), &self.type_of(global))),
                    _ => None,
                });
                let arguments: Vec<String> = arguments.collect();
                format!("{}({});\n{go_on}", scalar_name(&decl.name), arguments.join(", "))
            }
            Step::Jump(to) => format!("deviceState->pc = {to};\n"),
            Step::Unless(condition, to) => {
                format!("deviceState->pc = {} ? {} : {to};\n", self.global(condition.global), number + 1)
            }
            Step::Start { repeat } => format!("deviceState->runs[{repeat}] = 0;\n{go_on}"),
            Step::Next { repeat, .. } => format!("deviceState->runs[{repeat}]++;\n{go_on}"),
            Step::Show { repeat, counter } => {
                format!("{} = (int64_t)deviceState->runs[{repeat}];\n{go_on}", self.global(*counter))
            }
            Step::AfterRuns { repeat, to } => format!(
                "deviceState->pc = deviceState->runs[{repeat}] >= graphProperties->run_counts[{repeat}] ? {to} : {};\n",
                number + 1
            ),
            Step::RequireFinite(global, _) => {
                let components = self.mesh.globals[*global as usize].values.dim();
                let value = pointer(&self.global(*global), &self.type_of(*global));
                format!(
                    "for(unsigned k = 0; k < {components}; k++) {{ if(!isfinite(({value})[k])) handler_exit(1); }}\n\
                     {go_on}"
                )
            }
            Step::Stop => String::new(),
        }
    }

    fn ready(&self, steps: &[Step]) -> String {
        let mut text =
            "*readyToSend = 0;\nif(deviceState->phase == 1) {\nswitch(deviceState->invocation_index) {\n".to_owned();
        for (number, invocation) in self.invocations.iter().enumerate() {
            let _ = writeln!(text, "case {number}: *readyToSend = RTS_FLAG_{}_begin; break;", invocation.name);
        }
        let last = steps.len() - 1;
        let _ = writeln!(
            text,
            "}}\n}} else if(deviceState->phase == 0 && deviceState->pc != {last}) {{\n*readyToSend = RTS_FLAG_control;\n}}"
        );
        text
    }
}
