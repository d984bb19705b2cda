//! Device types, messages and states: where everything is.
//!
//! | file | what is in it |
//! |---|---|
//! | this one | the graph type, its messages, and what names and members are called |
//! | `set` | the device type of a set |
//! | `program` | the device type with the control flow, and those of trees |

mod program;
mod set;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use drawloom_messages::GraphType;
use drawloom_messages::data::{Layout, Scalar, Tuple, Type};

use super::involved::{Invocation, Through};
use super::names::Names;
use super::options::{Control, Events};
use super::text::HandlerText;
use super::wiring::Wiring;
use crate::element::Kind;
use crate::error::{Error, ErrorKind};
use crate::kernel::site::ArgDecl;
use crate::mesh::Mesh;
use crate::mesh::store::Store;
use crate::program::steps::{Outermost, Steps};
use crate::run::Trouble;
pub(super) use set::ElementLayout;

/// The five counts and masks of a loop in the state of a device, one after the other.
pub(super) const COUNTS: [&str; 5] =
    ["in_progress", "read_send_mask", "read_recv_count", "write_recv_count", "write_send_mask"];

/// What an error of the message machine is to users of mesh programs.
pub(super) fn of_events(error: drawloom_messages::Error) -> Error {
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
pub(super) fn pad(mesh: &Mesh, names: &Names, arg: &ArgDecl) -> Option<(String, Type)> {
    let ArgDecl::Global { global, payload, present: true, .. } = *arg else { return None };
    let of = |global: u32| type_of(&*mesh.globals[global as usize].values);
    Some(match payload {
        None => (names.global(global), of(global)),
        Some(payload) => {
            // Of equal values that of the first element counts.
            let all = Tuple::new().with("value", of(global)).with("payload", of(payload)).with("element", Scalar::U32);
            (format!("{}_with_{}", names.global(global), names.globals[payload as usize]), all.into())
        }
    })
}

/// Where the device with the control flow has the number of the element whose contribution a global has, during a loop.
pub(super) fn best_of(invocation: &Invocation, arg: usize) -> String {
    format!("{}_arg{arg}_element", invocation.name)
}

/// Whether equal contributions to a global count by the element they are of.
pub(super) fn is_with_element(arg: &ArgDecl) -> bool {
    matches!(arg, ArgDecl::Global { payload: Some(_), present: true, .. })
}

pub(super) fn buffer(invocation: &str, arg: usize) -> String {
    format!("{invocation}_arg{arg}_buffer")
}

/// The message with what is written to one element of a dat, or to the elements of all columns of a map.
fn message_of(names: &Names, write: &Through) -> String {
    match write.whole {
        true => format!("{}_x{}", names.dat(write.dat), write.columns),
        false => names.dat(write.dat),
    }
}

/// Everything that is declared for a program.
pub(super) struct Declared {
    pub(super) graph_type: Arc<GraphType>,
    pub(super) names: Names,
    pub(super) invocations: Arc<Vec<Invocation>>,
    pub(super) wirings: Vec<Wiring>,
    pub(super) elements: Vec<ElementLayout>,
    pub(super) controller: Layout,
    /// The number of the last step of the program.
    pub(super) last_step: u32,
    /// How often each repetition runs.
    pub(super) run_counts: Vec<u64>,
    /// The repetitions that are in no other.
    pub(super) outermost: Vec<Outermost>,
}

/// What declarations are made from.
struct Declaring<'a> {
    mesh: &'a Arc<Mesh>,
    names: &'a Names,
    invocations: &'a Arc<Vec<Invocation>>,
    wirings: &'a [Wiring],
    graph: &'a Layout,
    /// Where handlers are to have C text, what is given for it.
    text: Option<&'a HandlerText>,
    messages: &'a BTreeMap<String, Layout>,
    /// Where constants are among the properties of the graph.
    constants: Vec<Option<usize>>,
    /// Whether the program can be made to pause. Graphs that are written do not.
    pauses: bool,
    trouble: &'a Arc<Trouble>,
}

/// What a name stands for, as errors call it: something of the user's, or of the protocol.
type Of = Cow<'static, str>;

/// A part of the protocol.
const PROTOCOL: Of = Cow::Borrowed("a part of the protocol");

fn of_set(mesh: &Mesh, set: u32) -> Of {
    format!("set `{}`", mesh.sets[set as usize].name).into()
}

fn of_dat(mesh: &Mesh, dat: u32) -> Of {
    format!("dat `{}`", mesh.dats[dat as usize].name).into()
}

fn of_global(mesh: &Mesh, global: u32) -> Of {
    format!("global `{}`", mesh.globals[global as usize].name).into()
}

fn of_loop(invocation: &Invocation) -> Of {
    format!("loop `{}`", invocation.decl.invocation).into()
}

/// The place where contributions to a global are collected.
fn of_pad(mesh: &Mesh, arg: &ArgDecl) -> Of {
    match *arg {
        ArgDecl::Global { global, payload: Some(payload), .. } => {
            format!("{} with `{}`", of_global(mesh, global), mesh.globals[payload as usize].name).into()
        }
        ArgDecl::Global { global, .. } => of_global(mesh, global),
        _ => PROTOCOL,
    }
}

/// Refuses one name for two things.
fn refuse_both(of: &Of, other: &Of, name: &str) -> Result<(), Error> {
    if of == other {
        return Ok(());
    }
    let message = format!("{of} and {other} would both be called `{name}` among messages; rename one of them");
    Err(Error::new(ErrorKind::Refused, message))
}

/// Members that are declared once, however often they are asked for.
#[derive(Default)]
struct Members(Vec<(String, Type, Of)>);

impl Members {
    fn add(&mut self, name: String, ty: Type, of: Of) -> Result<(), Error> {
        match self.0.iter().find(|(known, ..)| *known == name) {
            Some((_, _, other)) => refuse_both(other, &of, &name),
            None => {
                self.0.push((name, ty, of));
                Ok(())
            }
        }
    }

    fn layout(self) -> Result<Layout, Error> {
        let add = |tuple: Tuple, (name, ty, _): (String, Type, Of)| tuple.with(name, ty);
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
    options: &Events,
    invocations: Vec<Invocation>,
    steps: Steps,
    (id, text, pauses): (&str, Option<&HandlerText>, bool),
    trouble: &Arc<Trouble>,
) -> Result<Declared, Error> {
    let (invocations, names) = (Arc::new(invocations), Names::new(mesh));
    let wirings: Vec<Wiring> = invocations.iter().map(|loops| Wiring::new(mesh, loops)).collect();
    let runs = steps.repeats.len();
    let graph = graph_properties(mesh, &names, &invocations, runs)?;
    let messages = messages(mesh, &names, &invocations)?;
    let constants = constants(mesh, &names, &graph)?;
    let all = Declaring {
        mesh,
        names: &names,
        invocations: &invocations,
        wirings: &wirings,
        graph: &graph,
        text,
        messages: &messages,
        constants,
        pauses,
        trouble,
    };
    let mut builder = GraphType::builder(id).properties(graph.clone()).with_edges_that_differ();
    if let Some(text) = text {
        builder = builder.shared_code(text.shared_code(&invocations, &steps.list)?);
    }
    for (name, layout) in &messages {
        builder = builder.message(name, layout.clone());
    }
    let mut elements = Vec::new();
    for set in 0..mesh.sets.len() as u32 {
        let (layout, device) = set::declare_set(&all, set)?;
        elements.push(layout);
        builder = builder.device(device);
    }
    if options.control == Control::Tree {
        for invocation in invocations.iter() {
            for device in program::declare_tree(&all, invocation)? {
                builder = builder.device(device);
            }
        }
    }
    let last_step = steps.list.len() as u32 - 1;
    let mut run_counts: Vec<u64> = steps.repeats.iter().map(|(_, count)| *count).collect();
    run_counts.resize(runs.max(1), 0);
    let outermost = steps.outermost();
    let (controller, device) = program::declare_program(&all, steps, trouble)?;
    let graph_type = builder.device(device).build().map_err(of_events)?;
    Ok(Declared { graph_type, names, invocations, wirings, elements, controller, last_step, run_counts, outermost })
}

/// The properties of the graph.
fn graph_properties(mesh: &Mesh, names: &Names, invocations: &[Invocation], runs: usize) -> Result<Layout, Error> {
    let mut graph = Members::default();
    for (number, global) in mesh.globals.iter().enumerate().filter(|(_, global)| global.constant) {
        graph.add(names.global(number as u32), type_of(&*global.values), of_global(mesh, number as u32))?;
    }
    for set in 0..mesh.sets.len() as u32 {
        graph.add(names.length(set), Scalar::U32.into(), of_set(mesh, set))?;
    }
    for invocation in invocations {
        let name = format!("{}_total_responding_devices", invocation.name);
        graph.add(name, Scalar::U32.into(), of_loop(invocation))?;
    }
    graph.add("run_counts".to_owned(), Type::array(Scalar::U64, runs.max(1)), PROTOCOL)?;
    graph.layout()
}

/// The messages, by name.
fn messages(mesh: &Mesh, names: &Names, invocations: &[Invocation]) -> Result<BTreeMap<String, Layout>, Error> {
    let mut messages: BTreeMap<String, (Layout, Of)> = BTreeMap::new();
    let mut insert = |name: String, layout: Layout, of| match messages.get(&name) {
        Some((_, other)) => refuse_both(other, &of, &name),
        None => {
            messages.insert(name, (layout, of));
            Ok(())
        }
    };
    insert("execute".to_owned(), Layout::empty(), PROTOCOL)?;
    insert("control".to_owned(), Layout::empty(), PROTOCOL)?;
    for invocation in invocations {
        let of = of_loop(invocation);
        let mut begin = Members::default();
        for (_, global) in invocation.told(mesh) {
            let ty = type_of(&*mesh.globals[global as usize].values);
            begin.add(names.global(global), ty, of_global(mesh, global))?;
        }
        insert(format!("{}_begin", invocation.name), begin.layout()?, of.clone())?;
        let mut end = Members::default();
        for arg in invocation.contributions() {
            let arg = &invocation.decl.args[arg];
            let (name, ty) = pad(mesh, names, arg).expect("a contribution has a pad");
            end.add(name, ty, of_pad(mesh, arg))?;
        }
        insert(format!("{}_end", invocation.name), end.layout()?, of)?;
        let reads = invocation.reads.iter().map(|read| Through { whole: false, ..*read });
        for through in reads.chain(invocation.writes.iter().copied()) {
            let element = type_of(&*mesh.dats[through.dat as usize].values);
            let mut value = Members::default();
            let of = match through.whole {
                true => format!("{}, {} elements at once", of_dat(mesh, through.dat), through.columns).into(),
                false => of_dat(mesh, through.dat),
            };
            let ty = if through.whole { Type::array(element, through.columns) } else { element };
            value.add("value".to_owned(), ty, PROTOCOL)?;
            insert(message_of(names, &through), value.layout()?, of)?;
        }
    }
    Ok(messages.into_iter().map(|(name, (layout, _))| (name, layout)).collect())
}

/// Where constants are among the properties of the graph.
fn constants(mesh: &Mesh, names: &Names, graph: &Layout) -> Result<Vec<Option<usize>>, Error> {
    let of = |(number, global): (usize, &crate::mesh::declare::GlobalDecl)| {
        global.constant.then(|| offset(graph, &names.global(number as u32))).transpose()
    };
    mesh.globals.iter().enumerate().map(of).collect()
}

/// The name of the pin over which a loop's values of a dat are sent to be read.
pub(super) fn read_pin(invocation: &Invocation, names: &Names, dat: u32) -> String {
    format!("{}_{}_read_send", invocation.name, names.dat(dat))
}

/// The name of the pin where what a loop writes arrives.
pub(super) fn write_pin(invocation: &Invocation, names: &Names, write: &Through) -> String {
    let first = invocation.writes.iter().find(|other| other.dat == write.dat).expect("this one, if no other");
    let alike = (first.whole, first.columns) == (write.whole, write.columns);
    let extra = if alike { String::new() } else { format!("_x{}", write.columns) };
    format!("{}_{}{extra}_write_recv", invocation.name, names.dat(write.dat))
}
