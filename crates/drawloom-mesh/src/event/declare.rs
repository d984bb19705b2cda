//! Device types, messages and states: where everything is.

use std::collections::BTreeMap;
use std::sync::Arc;

use drawloom_event::data::{Layout, Scalar, Tuple, Type};
use drawloom_event::{DeviceType, GraphType, InputPin, OutputPin};

use super::controller::{Controller, Step};
use super::element::{ArgAt, Elements, Execution, Input, On, Output};
use super::involved::{Invocation, Through};
use super::names::Names;
use crate::element::Kind;
use crate::error::{Error, ErrorKind};
use crate::kernel::args::Folding;
use crate::kernel::place::Route;
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::run::Trouble;

/// The five counts and masks of a loop in the state of a device, one after the other.
pub(super) const COUNTS: [&str; 5] =
    ["in_progress", "read_send_mask", "read_recv_count", "write_recv_count", "write_send_mask"];

/// What an error of the message machine is to users of mesh programs.
pub(super) fn of_events(error: drawloom_event::Error) -> Error {
    Error::new(ErrorKind::Failed, error.to_string())
}

/// The type of one element of a dat, or of a global.
pub(super) fn type_of(values: &dyn Store) -> Type {
    let scalar = match values.kind() {
        Kind::F32 => Scalar::F32,
        Kind::F64 => Scalar::F64,
        Kind::I32 => Scalar::I32,
        Kind::U32 => Scalar::U32,
        Kind::I64 => Scalar::I64,
        Kind::Bool => Scalar::Bool,
        Kind::Plain { .. } => {
            // Its bytes, in words of its alignment.
            let word = [Scalar::U8, Scalar::U16, Scalar::U32, Scalar::U64]
                .into_iter()
                .find(|word| word.size() == values.align().min(8))
                .unwrap_or(Scalar::U64);
            return Type::array(word, values.bytes_each() / word.size());
        }
    };
    if values.dim() == 1 { scalar.into() } else { Type::array(scalar, values.dim()) }
}

/// The name and type of the place where contributions to a global are collected.
fn pad(mesh: &Mesh, names: &Names, arg: &ArgDecl) -> Option<(String, Type)> {
    let ArgDecl::Global { global, payload, present: true, .. } = *arg else { return None };
    let of = |global: u32| type_of(&*mesh.globals[global as usize].values);
    Some(match payload {
        None => (names.global(global), of(global)),
        Some(payload) => {
            let both = Tuple::new().with("value", of(global)).with("payload", of(payload));
            (format!("{}_with_{}", names.global(global), names.globals[payload as usize]), both.into())
        }
    })
}

fn buffer(invocation: &str, arg: usize) -> String {
    format!("{invocation}_arg{arg}_buffer")
}

/// The message with one element of a dat, or with several.
fn message_of(names: &Names, dat: u32, through: Option<&Through>) -> String {
    match through {
        Some(through) if through.whole => format!("{}_x{}", names.dat(dat), through.columns),
        _ => names.dat(dat),
    }
}

/// Everything that is declared for a program.
pub(super) struct Declared {
    pub(super) graph_type: Arc<GraphType>,
    pub(super) names: Names,
    pub(super) invocations: Arc<Vec<Invocation>>,
    pub(super) elements: Vec<Arc<ElementLayout>>,
    pub(super) controller: Layout,
}

/// Where the members of the devices of a set are, and the numbers of their pins.
pub(super) struct ElementLayout {
    pub(super) properties: Layout,
    pub(super) state: Layout,
}

/// Members that are declared once, however often they are asked for.
#[derive(Default)]
struct Members(Vec<(String, Type)>);

impl Members {
    fn add(&mut self, name: String, ty: Type) {
        if !self.0.iter().any(|(known, _)| *known == name) {
            self.0.push((name, ty));
        }
    }

    fn layout(self) -> Result<Layout, Error> {
        let add = |tuple: Tuple, (name, ty): (String, Type)| tuple.with(name, ty);
        Layout::new(self.0.into_iter().fold(Tuple::new(), add)).map_err(of_events)
    }
}

/// Offsets of members, by name.
fn offset(layout: &Layout, name: &str) -> Result<usize, Error> {
    layout.offset_of(name).map_err(of_events)
}

/// Declares the graph type of a program.
pub(super) fn declare(
    mesh: &Arc<Mesh>,
    names: Names,
    invocations: Vec<Invocation>,
    steps: Vec<Step>,
    runs: usize,
    trouble: &Arc<Trouble>,
) -> Result<Declared, Error> {
    let invocations = Arc::new(invocations);
    let mut graph = Members::default();
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| global.constant) {
        graph.add(names.global(number as u32), type_of(&*global.values));
    }
    for set in 0..mesh.sets.len() as u32 {
        graph.add(names.length(set), Scalar::U32.into());
    }
    for invocation in invocations.iter() {
        graph.add(format!("{}_total_responding_devices", invocation.name), Scalar::U32.into());
    }
    let graph = graph.layout()?;
    let mut messages: BTreeMap<String, Layout> = BTreeMap::new();
    messages.insert("execute".to_owned(), Layout::empty());
    messages.insert("control".to_owned(), Layout::empty());
    for invocation in invocations.iter() {
        let mut begin = Members::default();
        for (_, global) in invocation.told(mesh) {
            begin.add(names.global(global), type_of(&*mesh.globals[global as usize].values));
        }
        messages.insert(format!("{}_begin", invocation.name), begin.layout()?);
        let mut end = Members::default();
        for arg in invocation.contributions() {
            let (name, ty) = pad(mesh, &names, &invocation.decl.args[arg]).expect("a contribution has a pad");
            end.add(name, ty);
        }
        messages.insert(format!("{}_end", invocation.name), end.layout()?);
        for through in
            invocation.reads.iter().map(|read| Through { whole: false, ..*read }).chain(invocation.writes.clone())
        {
            let element = type_of(&*mesh.dats[through.dat as usize].values);
            let mut value = Members::default();
            value.add("value".to_owned(), if through.whole { Type::array(element, through.columns) } else { element });
            messages.insert(message_of(&names, through.dat, Some(&through)), value.layout()?);
        }
    }
    let mut elements = Vec::new();
    let mut builder = GraphType::builder("drawloom_mesh").properties(graph.clone());
    for (name, layout) in &messages {
        builder = builder.message(name, layout.clone());
    }
    for set in 0..mesh.sets.len() as u32 {
        let (layout, device) = declare_set(mesh, &names, &invocations, &graph, &messages, set)?;
        elements.push(Arc::new(layout));
        builder = builder.device(device);
    }
    let mut state = Members::default();
    for name in ["pc", "invocation_index", "phase", "end_received"] {
        state.add(name.to_owned(), Scalar::U32.into());
    }
    state.add("runs".to_owned(), Type::array(Scalar::U64, runs.max(1)));
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| !global.constant) {
        state.add(names.global(number as u32), type_of(&*global.values));
    }
    let state = state.layout()?;
    let globals: Vec<Option<usize>> =
        (0..mesh.globals.len() as u32).map(|global| state.offset_of(&names.global(global)).ok()).collect();
    let mut device = DeviceType::builder("controller").state(state.clone());
    for invocation in invocations.iter() {
        let message = format!("{}_end", invocation.name);
        device = device.input(InputPin::new(message.clone(), message));
    }
    device = device.output(OutputPin::new("control", "control"));
    for invocation in invocations.iter() {
        let message = format!("{}_begin", invocation.name);
        device = device.output(OutputPin::new(message.clone(), message));
    }
    let ends = |invocation: &Invocation| -> Result<Vec<(usize, usize, Folding)>, Error> {
        let layout = &messages[&format!("{}_end", invocation.name)];
        let foldings = invocation.decl.body.foldings();
        invocation
            .contributions()
            .into_iter()
            .map(|arg| {
                let (name, _) = pad(mesh, &names, &invocation.decl.args[arg]).expect("a contribution has a pad");
                Ok((arg, offset(layout, &name)?, foldings[arg].expect("a contribution can be folded")))
            })
            .collect()
    };
    let begins = |invocation: &Invocation| -> Result<Vec<(usize, usize, usize)>, Error> {
        let layout = &messages[&format!("{}_begin", invocation.name)];
        invocation
            .told(mesh)
            .into_iter()
            .map(|(_, global)| {
                let size = mesh.globals[global as usize].values.bytes_each();
                let from = globals[global as usize].expect("it is no constant");
                Ok((from, offset(layout, &names.global(global))?, size))
            })
            .collect()
    };
    let controller = Controller {
        mesh: Arc::clone(mesh),
        pc: offset(&state, "pc")?,
        invocation_index: offset(&state, "invocation_index")?,
        phase: offset(&state, "phase")?,
        end_received: offset(&state, "end_received")?,
        runs: offset(&state, "runs")?,
        constants: constants(mesh, &names, &graph)?,
        globals: globals.clone(),
        begins: invocations.iter().map(begins).collect::<Result<_, _>>()?,
        ends: invocations.iter().map(ends).collect::<Result<_, _>>()?,
        responders: invocations.iter().map(|invocation| invocation.responders(mesh) as u32).collect(),
        invocations: Arc::clone(&invocations),
        steps,
        trouble: Arc::clone(trouble),
    };
    let graph_type = builder.device(device.handlers(controller)).build().map_err(of_events)?;
    Ok(Declared { graph_type, names, invocations, elements, controller: state })
}

/// Where constants are among the properties of the graph.
fn constants(mesh: &Mesh, names: &Names, graph: &Layout) -> Result<Vec<Option<usize>>, Error> {
    let of = |(number, global): (usize, &crate::mesh::declare::GlobalDecl)| {
        global.constant.then(|| offset(graph, &names.global(number as u32))).transpose()
    };
    mesh.globals.iter().enumerate().map(of).collect()
}

/// Declares the devices of a set.
fn declare_set(
    mesh: &Arc<Mesh>,
    names: &Names,
    invocations: &[Invocation],
    graph: &Layout,
    messages: &BTreeMap<String, Layout>,
    set: u32,
) -> Result<(ElementLayout, drawloom_event::graph::DeviceTypeBuilder), Error> {
    let involved: Vec<(usize, &Invocation)> =
        invocations.iter().enumerate().filter(|(_, invocation)| invocation.sets.contains(&set)).collect();
    let (mut properties, mut state) = (Members::default(), Members::default());
    for (dat, decl) in mesh.dats.iter().enumerate().filter(|(_, dat)| dat.set == set) {
        state.add(names.dat(dat as u32), type_of(&*decl.values));
    }
    for (_, invocation) in &involved {
        for count in COUNTS {
            state.add(format!("{}_{count}", invocation.name), Scalar::U32.into());
        }
        properties.add(format!("{}_write_recv_total", invocation.name), Scalar::U32.into());
        if invocation.decl.set != set {
            continue;
        }
        for arg in &invocation.decl.args {
            let constant = matches!(arg, ArgDecl::Global { global, .. } if mesh.globals[*global as usize].constant);
            if let Some((name, ty)) = pad(mesh, names, arg).filter(|_| !constant) {
                state.add(name, ty);
            }
        }
        for through in invocation.reads.iter().chain(&invocation.writes) {
            let element = type_of(&*mesh.dats[through.dat as usize].values);
            let ty = if through.whole { Type::array(element, through.columns) } else { element };
            state.add(buffer(&invocation.name, through.arg), ty);
        }
        for (number, arg) in invocation.decl.args.iter().enumerate() {
            if let ArgDecl::Index { .. } = arg {
                properties.add(format!("{}_arg{number}_index", invocation.name), Scalar::U64.into());
            }
        }
    }
    let (properties, state) = (properties.layout()?, state.layout()?);
    let mut device = DeviceType::builder(names.set_type(set)).properties(properties.clone()).state(state.clone());
    let column = Layout::new(Tuple::new().with("index", Scalar::U32)).map_err(of_events)?;
    let constants = constants(mesh, names, graph)?;
    let (mut inputs, mut outputs, mut ons) = (Vec::new(), Vec::new(), Vec::new());
    for (_, invocation) in &involved {
        let name = &invocation.name;
        let on = ons.len();
        let is_home = invocation.decl.set == set;
        // Begin.
        let message = format!("{name}_begin");
        let told = if is_home { invocation.told(mesh) } else { Vec::new() };
        let copies = told
            .iter()
            .map(|(_, global)| {
                let member = names.global(*global);
                let size = mesh.globals[*global as usize].values.bytes_each();
                Ok((offset(&messages[&message], &member)?, offset(&state, &member)?, size))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        device = device.input(InputPin::new(message.clone(), message));
        inputs.push(Input::Begin { on, copies });
        // What this set's devices send to be read.
        let read_dats = invocation.read_dats_on(mesh, set);
        let first_read = outputs.len() as u32;
        for (bit, dat) in read_dats.iter().enumerate() {
            device = device.output(OutputPin::new(format!("{name}_{}_read_send", names.dat(*dat)), names.dat(*dat)));
            let size = mesh.dats[*dat as usize].values.bytes_each();
            outputs.push(Output::ReadSend { on, bit: bit as u32, from: offset(&state, &names.dat(*dat))?, size });
        }
        // What is read by the loop's own.
        for read in invocation.reads.iter().filter(|_| is_home) {
            let mut pin = InputPin::new(format!("{name}_arg{}_read_recv", read.arg), names.dat(read.dat));
            if read.whole {
                pin = pin.with_properties(column.clone());
            }
            device = device.input(pin);
            let size = mesh.dats[read.dat as usize].values.bytes_each();
            inputs.push(Input::Read { on, to: offset(&state, &buffer(name, read.arg))?, size, whole: read.whole });
        }
        // Execution, and what it writes.
        let execute = outputs.len() as u32;
        device = device.output(OutputPin::new(format!("{name}_execute"), "execute"));
        outputs.push(Output::Execute { on });
        let first_write = outputs.len() as u32;
        let mut write_bits = 0;
        for write in invocation.writes.iter().filter(|_| is_home) {
            let message = message_of(names, write.dat, Some(write));
            device = device.output(OutputPin::new(format!("{name}_arg{}_write_send", write.arg), message));
            let size = mesh.dats[write.dat as usize].values.bytes_each() * write.columns;
            outputs.push(Output::WriteSend {
                on,
                bit: write_bits,
                from: offset(&state, &buffer(name, write.arg))?,
                size,
            });
            write_bits += 1;
        }
        // What is written to this set's devices: a pin for each dat, and another one for messages of another length.
        let mut pins: Vec<(u32, String)> = Vec::new();
        let foldings = invocation.decl.body.foldings();
        for write in invocation.writes.iter().filter(|write| mesh.dats[write.dat as usize].set == set) {
            let message = message_of(names, write.dat, Some(write));
            if pins.contains(&(write.dat, message.clone())) {
                continue;
            }
            let pin = write_pin(invocation, names, write);
            let mut input = InputPin::new(pin, message.clone());
            if write.whole {
                input = input.with_properties(column.clone());
            }
            device = device.input(input);
            inputs.push(Input::Write {
                on,
                to: offset(&state, &names.dat(write.dat))?,
                size: mesh.dats[write.dat as usize].values.bytes_each(),
                whole: write.whole,
                folding: foldings[write.arg].filter(|_| write.access.contributes()),
            });
            pins.push((write.dat, message));
        }
        // The end.
        let message = format!("{name}_end");
        let parts = invocation
            .contributions()
            .into_iter()
            .map(|arg| {
                let (member, _) = pad(mesh, names, &invocation.decl.args[arg]).expect("a contribution has a pad");
                let from = if is_home { Some(offset(&state, &member)?) } else { None };
                Ok((offset(&messages[&message], &member)?, from, foldings[arg].expect("it can be folded")))
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let end = outputs.len() as u32;
        device = device.output(OutputPin::new(message.clone(), message));
        outputs.push(Output::End { on, parts });
        let execution = match is_home {
            true => Some(execution(mesh, names, invocation, &state, &properties, &constants)?),
            false => None,
        };
        ons.push(On {
            counts: offset(&state, &format!("{name}_{}", COUNTS[0]))?,
            write_recv_total: offset(&properties, &format!("{name}_write_recv_total"))?,
            read_recv_total: invocation.read_recv_total(set),
            first_read,
            reads: read_dats.len() as u32,
            execute,
            first_write,
            writes: write_bits,
            end,
            execution,
        });
    }
    let handlers = Elements { inputs, outputs, ons };
    Ok((ElementLayout { properties, state }, device.handlers(handlers)))
}

/// The name of the pin where what a loop writes arrives.
pub(super) fn write_pin(invocation: &Invocation, names: &Names, write: &Through) -> String {
    let first = invocation.writes.iter().find(|other| other.dat == write.dat).expect("this one, if no other");
    let alike = (first.whole, first.columns) == (write.whole, write.columns);
    let extra = if alike { String::new() } else { format!("_x{}", write.columns) };
    format!("{}_{}{extra}_write_recv", invocation.name, names.dat(write.dat))
}

/// Where the arguments of a kernel are in the devices of its set.
fn execution(
    mesh: &Mesh,
    names: &Names,
    invocation: &Invocation,
    state: &Layout,
    properties: &Layout,
    constants: &[Option<usize>],
) -> Result<Execution, Error> {
    let mut args = Vec::new();
    let mut empty = Vec::new();
    let foldings = invocation.decl.body.foldings();
    for (number, arg) in invocation.decl.args.iter().enumerate() {
        args.push(match *arg {
            ArgDecl::Dat { present: false, .. } | ArgDecl::Global { present: false, .. } => ArgAt::Absent,
            ArgDecl::Dat { dat, route: Route::Direct, .. } => ArgAt::State(offset(state, &names.dat(dat))?),
            ArgDecl::Dat { dat, access, .. } => {
                let at = offset(state, &buffer(&invocation.name, number))?;
                if access.contributes() {
                    let folding = foldings[number].expect("a contribution can be folded");
                    let through = invocation.writes.iter().find(|write| write.arg == number);
                    let columns = through.expect("it is written").columns;
                    let size = mesh.dats[dat as usize].values.bytes_each();
                    empty.extend((0..columns).map(|column| (at + column * size, folding)));
                }
                ArgAt::State(at)
            }
            ArgDecl::Global { global, access, .. } => match constants[global as usize] {
                Some(at) => ArgAt::Graph(at),
                None => {
                    let (member, _) = pad(mesh, names, arg).expect("it is a global");
                    let at = offset(state, &member)?;
                    if access.contributes() {
                        empty.push((at, foldings[number].expect("a contribution can be folded")));
                    }
                    ArgAt::State(at)
                }
            },
            ArgDecl::Index { .. } => {
                ArgAt::Properties(offset(properties, &format!("{}_arg{number}_index", invocation.name))?)
            }
            ArgDecl::Size { set } => ArgAt::Size(mesh.sets[set as usize].size),
        });
    }
    Ok(Execution { decl: Arc::clone(&invocation.decl), args, empty })
}
