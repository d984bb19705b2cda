//! The device type with the control flow, and those of the trees between it and the elements.

use std::sync::Arc;

use drawloom_messages::data::{Layout, Scalar, Type};
use drawloom_messages::graph::DeviceTypeBuilder;
use drawloom_messages::{Code, DeviceType, InputPin, OutputPin};

use super::{Declaring, Members, PROTOCOL, best_of, is_with_element, of_global, of_loop, offset, pad, type_of};
use crate::error::Error;
use crate::event::controller::Controller;
use crate::event::element::Records;
use crate::event::involved::Invocation;
use crate::event::text::{ProgramWords, program_words};
use crate::event::tree::{Gathering, Passing};
use crate::kernel::args::Folding;
use crate::program::steps::Steps;
use crate::run::Trouble;

/// Declares the device with the control flow.
pub(super) fn declare_program(
    all: &Declaring<'_>,
    steps: Steps,
    trouble: &Arc<Trouble>,
) -> Result<(Layout, DeviceTypeBuilder), Error> {
    let Declaring { mesh, names, invocations, .. } = *all;
    let mut state = Members::default();
    for name in ["pc", "invocation_index", "phase", "end_received"] {
        state.add(name.to_owned(), Scalar::U32.into(), PROTOCOL)?;
    }
    state.add("runs".to_owned(), Type::array(Scalar::U64, steps.repeats.len().max(1)), PROTOCOL)?;
    if all.pauses {
        state.add("pause".to_owned(), Scalar::U32.into(), PROTOCOL)?;
    }
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| !global.constant) {
        state.add(names.global(number as u32), type_of(&*global.values), of_global(mesh, number as u32))?;
    }
    for (invocation, arg) in with_elements(invocations) {
        state.add(best_of(invocation, arg), Scalar::U32.into(), of_loop(invocation))?;
    }
    let state = state.layout()?;
    let globals: Vec<Option<usize>> =
        (0..mesh.globals.len() as u32).map(|global| state.offset_of(&names.global(global)).ok()).collect();
    let mut device = DeviceType::builder("controller").state(state.clone());
    let words = all.text.map(|_| program_words(mesh, names, invocations, &steps.list));
    let code = |of: &dyn Fn(&ProgramWords) -> &String| words.as_ref().map_or(String::new(), |words| of(words).clone());
    for (number, invocation) in invocations.iter().enumerate() {
        let message = format!("{}_end", invocation.name);
        device = device.input(InputPin::new(message.clone(), message).with_code(code(&|words| &words.ends[number])));
    }
    device = device.output(OutputPin::new("control", "control").with_code(code(&|words| &words.control)));
    for (number, invocation) in invocations.iter().enumerate() {
        let message = format!("{}_begin", invocation.name);
        device =
            device.output(OutputPin::new(message.clone(), message).with_code(code(&|words| &words.begins[number])));
    }
    device = device.code(Code { ready: code(&|words| &words.ready), ..Code::default() });
    let begins = |invocation: &Invocation| -> Result<Vec<(usize, usize, usize)>, Error> {
        let layout = &all.messages[&format!("{}_begin", invocation.name)];
        let told = invocation.told(mesh).into_iter().map(|(_, global)| {
            let size = mesh.globals[global as usize].values.bytes_each();
            let from = globals[global as usize].expect("it is no constant");
            Ok((from, offset(layout, &names.global(global))?, size))
        });
        told.collect()
    };
    let total = |invocation: &Invocation| offset(all.graph, &format!("{}_total_responding_devices", invocation.name));
    let controller = Controller {
        mesh: Arc::clone(mesh),
        pc: offset(&state, "pc")?,
        invocation_index: offset(&state, "invocation_index")?,
        phase: offset(&state, "phase")?,
        end_received: offset(&state, "end_received")?,
        runs: offset(&state, "runs")?,
        pause: state.offset_of("pause").ok(),
        constants: all.constants.clone(),
        globals: globals.clone(),
        begins: invocations.iter().map(begins).collect::<Result<_, _>>()?,
        ends: invocations.iter().map(|invocation| contributions(all, invocation)).collect::<Result<_, _>>()?,
        bests: (invocations.iter())
            .map(|invocation| {
                let of = |arg| state.offset_of(&best_of(invocation, arg)).ok();
                invocation.contributions().into_iter().map(of).collect()
            })
            .collect(),
        totals: invocations.iter().map(total).collect::<Result<_, _>>()?,
        run_counts: offset(all.graph, "run_counts")?,
        records: Records { graph: all.graph.size(), properties: 0, state: state.size() },
        invocations: Arc::clone(invocations),
        steps,
        trouble: Arc::clone(trouble),
    };
    Ok((state, device.handlers(controller)))
}

/// The arguments for which equal contributions to a global count by the element they are of.
fn with_elements(invocations: &[Invocation]) -> impl Iterator<Item = (&Invocation, usize)> {
    let of = |invocation| Invocation::contributions(invocation).into_iter().map(move |arg| (invocation, arg));
    invocations.iter().flat_map(of).filter(|(invocation, arg)| is_with_element(&invocation.decl.args[*arg]))
}

/// The arguments of a loop that contribute to globals, and where they are in a message at its end.
fn contributions(all: &Declaring<'_>, invocation: &Invocation) -> Result<Vec<(usize, usize, Folding)>, Error> {
    let layout = &all.messages[&format!("{}_end", invocation.name)];
    let foldings = &invocation.decl.foldings;
    let parts = invocation.contributions().into_iter().map(|arg| {
        let (name, _) = pad(all.mesh, all.names, &invocation.decl.args[arg]).expect("a contribution has a pad");
        Ok((arg, offset(layout, &name)?, foldings[arg].expect("a contribution can be folded")))
    });
    parts.collect()
}

/// Declares the devices that pass on the word to begin a loop, and those that gather the words of its end.
pub(super) fn declare_tree(all: &Declaring<'_>, invocation: &Invocation) -> Result<[DeviceTypeBuilder; 2], Error> {
    let (begin, end) = (format!("{}_begin", invocation.name), format!("{}_end", invocation.name));
    let pins = |device: DeviceTypeBuilder, name: &String| {
        device.input(InputPin::new(name.clone(), name.clone())).output(OutputPin::new(name.clone(), name.clone()))
    };
    let message = &all.messages[&begin];
    let mut state = Members::default();
    state.add("waits".to_owned(), Scalar::U32.into(), PROTOCOL)?;
    state.add("message".to_owned(), message.tuple().clone().into(), PROTOCOL)?;
    let state = state.layout()?;
    let passing =
        Passing { waits: offset(&state, "waits")?, message: offset(&state, "message")?, size: message.size() };
    let passes = pins(DeviceType::builder(format!("tree_{begin}")).state(state), &begin);
    let message = &all.messages[&end];
    let (mut properties, mut state) = (Members::default(), Members::default());
    properties.add("end_total".to_owned(), Scalar::U32.into(), PROTOCOL)?;
    state.add("end_received".to_owned(), Scalar::U32.into(), PROTOCOL)?;
    state.add("message".to_owned(), message.tuple().clone().into(), PROTOCOL)?;
    let (properties, state) = (properties.layout()?, state.layout()?);
    let at = offset(&state, "message")?;
    let parts = contributions(all, invocation)?.into_iter().map(|(_, from, folding)| (from, at + from, folding));
    let gathering = Gathering {
        total: offset(&properties, "end_total")?,
        received: offset(&state, "end_received")?,
        parts: parts.collect(),
    };
    let gathers = pins(DeviceType::builder(format!("tree_{end}")).properties(properties).state(state), &end);
    Ok([passes.handlers(passing), gathers.handlers(gathering)])
}
