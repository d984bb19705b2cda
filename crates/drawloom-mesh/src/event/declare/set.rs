//! The device type of a set.

use std::sync::Arc;

use drawloom_messages::data::{Layout, Scalar, Tuple, Type};
use drawloom_messages::graph::DeviceTypeBuilder;
use drawloom_messages::{Code, DeviceType, InputPin, OutputPin};

use super::{
    COUNTS, Declaring, Members, PROTOCOL, buffer, is_with_element, message_of, of_dat, of_events, of_loop, of_pad,
    offset, pad, read_pin, type_of, write_pin,
};
use crate::error::Error;
use crate::event::element::{ArgAt, Checked, Elements, Execution, Input, On, Output, Records};
use crate::event::involved::Invocation;
use crate::event::text::Words;
use crate::event::wiring::ones;
use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};

/// Where the members of the devices of a set are.
pub(in crate::event) struct ElementLayout {
    pub(in crate::event) properties: Layout,
    pub(in crate::event) state: Layout,
}

/// A set whose device type is being declared.
struct OfSet<'a> {
    all: &'a Declaring<'a>,
    set: u32,
    layout: ElementLayout,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    ons: Vec<On>,
}

/// Declares the devices of a set.
pub(super) fn declare_set(all: &Declaring<'_>, set: u32) -> Result<(ElementLayout, DeviceTypeBuilder), Error> {
    let involved: Vec<usize> =
        (0..all.invocations.len()).filter(|number| all.invocations[*number].sets.contains(&set)).collect();
    let layout = members(all, set, &involved)?;
    let mut device =
        DeviceType::builder(all.names.set_type(set)).properties(layout.properties.clone()).state(layout.state.clone());
    let ready_at = offset(&layout.state, "ready")?;
    let mut ready = "*readyToSend = 0;\n".to_owned();
    let mut this = OfSet { all, set, layout, inputs: Vec::new(), outputs: Vec::new(), ons: Vec::new() };
    for number in involved {
        if let Some(words) = this.words(number) {
            ready.push_str(&words.ready());
        }
        device = this.invocation(device, number)?;
    }
    if all.text.is_some() {
        device = device.code(Code { ready, ..Code::default() });
    }
    let words = words_for(this.outputs.len());
    // Devices are made set by set.
    let first = all.pauses.then(|| all.mesh.sets[..set as usize].iter().map(|set| set.size).sum());
    let handlers = Elements {
        ready: ready_at,
        words,
        inputs: this.inputs,
        outputs: this.outputs,
        ons: this.ons,
        first,
        trouble: Arc::clone(all.trouble),
    };
    Ok((this.layout, device.handlers(handlers)))
}

/// The members of properties and state.
fn members(all: &Declaring<'_>, set: u32, involved: &[usize]) -> Result<ElementLayout, Error> {
    let Declaring { mesh, names, .. } = *all;
    let (mut properties, mut state) = (Members::default(), Members::default());
    // Which pins want to send. A loop has no more than this many.
    let pins: usize = involved.iter().map(|number| 2 + 2 * all.invocations[*number].decl.args.len()).sum();
    state.add("ready".to_owned(), Type::array(Scalar::U64, words_for(pins)), PROTOCOL)?;
    for (dat, decl) in mesh.dats.iter().enumerate().filter(|(_, dat)| dat.set == set) {
        state.add(names.dat(dat as u32), type_of(&*decl.values), of_dat(mesh, dat as u32))?;
    }
    for invocation in involved.iter().map(|number| &all.invocations[*number]) {
        let (name, of) = (&invocation.name, of_loop(invocation));
        for count in COUNTS {
            state.add(format!("{name}_{count}"), Scalar::U32.into(), of.clone())?;
        }
        properties.add(format!("{name}_write_recv_total"), Scalar::U32.into(), of.clone())?;
        if invocation.decl.set != set {
            continue;
        }
        for arg in &invocation.decl.args {
            let constant = matches!(arg, ArgDecl::Global { global, .. } if mesh.globals[*global as usize].constant);
            if let Some((name, ty)) = pad(mesh, names, arg).filter(|_| !constant) {
                state.add(name, ty, of_pad(mesh, arg))?;
            }
        }
        for through in invocation.reads.iter().chain(&invocation.writes) {
            let element = type_of(&*mesh.dats[through.dat as usize].values);
            let ty = if through.whole { Type::array(element, through.columns) } else { element };
            state.add(buffer(name, through.arg), ty, of.clone())?;
        }
        if invocation.decl.args.iter().any(is_with_element) {
            properties.add("element".to_owned(), Scalar::U32.into(), PROTOCOL)?;
        }
        for (number, arg) in invocation.decl.args.iter().enumerate() {
            if let ArgDecl::Index { .. } = arg {
                properties.add(format!("{name}_arg{number}_index"), Scalar::U64.into(), of.clone())?;
            }
        }
    }
    Ok(ElementLayout { properties: properties.layout()?, state: state.layout()? })
}

impl<'a> OfSet<'a> {
    /// The C text of a loop, if it is asked for.
    fn words(&self, number: usize) -> Option<Words<'a>> {
        let (all, invocation, wiring) = (self.all, &self.all.invocations[number], &self.all.wirings[number]);
        let read_recv_total = if invocation.decl.set == self.set { wiring.read_recv_total } else { 1 };
        all.text.map(|_| Words { mesh: all.mesh, names: all.names, invocation, set: self.set, read_recv_total })
    }

    /// The pins of a loop that the devices take part in.
    fn invocation(&mut self, mut device: DeviceTypeBuilder, number: usize) -> Result<DeviceTypeBuilder, Error> {
        let all = self.all;
        let (invocation, wiring) = (&all.invocations[number], &all.wirings[number]);
        let (name, on) = (&invocation.name, self.ons.len());
        let words = self.words(number);
        let words = words.as_ref();
        let is_home = invocation.decl.set == self.set;
        device = self.begin(device, invocation, words)?;
        let first_read = self.outputs.len() as u32;
        device = self.reads(device, invocation, words)?;
        let execute = self.outputs.len() as u32;
        let code = words.map_or(String::new(), |words| words.execute());
        device = device.output(OutputPin::new(format!("{name}_execute"), "execute").with_code(code));
        self.outputs.push(Output::Execute { on });
        let first_write = self.outputs.len() as u32;
        device = self.writes(device, invocation, words)?;
        let end = self.outputs.len() as u32;
        device = self.end(device, invocation, words)?;
        let property = |name: String| offset(&self.layout.properties, &name);
        let execution = if is_home { Some(self.execution(invocation)?) } else { None };
        self.ons.push(On {
            counts: offset(&self.layout.state, &format!("{name}_{}", COUNTS[0]))?,
            write_recv_total: property(format!("{name}_write_recv_total"))?,
            read_send_mask_all: ones(invocation.read_dats_on(all.mesh, self.set).len()),
            read_recv_total: if is_home { wiring.read_recv_total } else { 1 },
            first_read,
            execute,
            first_write,
            writes: end - first_write,
            end,
            name: invocation.decl.name.clone(),
            execution,
        });
        Ok(device)
    }

    fn begin(
        &mut self,
        device: DeviceTypeBuilder,
        invocation: &Invocation,
        words: Option<&Words<'_>>,
    ) -> Result<DeviceTypeBuilder, Error> {
        let on = self.ons.len();
        let Declaring { mesh, names, messages, .. } = self.all;
        let message = format!("{}_begin", invocation.name);
        let is_home = invocation.decl.set == self.set;
        let told = if is_home { invocation.told(mesh) } else { Vec::new() };
        let copies = told.iter().map(|(_, global)| {
            let member = names.global(*global);
            let size = mesh.globals[*global as usize].values.bytes_each();
            Ok((offset(&messages[&message], &member)?, offset(&self.layout.state, &member)?, size))
        });
        let copies = copies.collect::<Result<Vec<_>, Error>>()?;
        self.inputs.push(Input::Begin { on, copies });
        let code = words.map_or(String::new(), |words| words.begin());
        Ok(device.input(InputPin::new(message.clone(), message).with_code(code)))
    }

    /// What the devices send to be read, and what the loop's own ones read.
    fn reads(
        &mut self,
        mut device: DeviceTypeBuilder,
        invocation: &Invocation,
        words: Option<&Words<'_>>,
    ) -> Result<DeviceTypeBuilder, Error> {
        let on = self.ons.len();
        let Declaring { mesh, names, .. } = self.all;
        let name = &invocation.name;
        for (bit, dat) in (0..).zip(invocation.read_dats_on(mesh, self.set)) {
            let pin = OutputPin::new(read_pin(invocation, names, dat), names.dat(dat));
            device = device.output(pin.with_code(words.map_or(String::new(), |words| words.read_send(bit, dat))));
            let size = mesh.dats[dat as usize].values.bytes_each();
            let from = offset(&self.layout.state, &names.dat(dat))?;
            self.outputs.push(Output::ReadSend { on, bit, from, size });
        }
        for read in invocation.reads.iter().filter(|_| invocation.decl.set == self.set) {
            let pin = InputPin::new(format!("{name}_arg{}_read_recv", read.arg), names.dat(read.dat))
                .with_code(words.map_or(String::new(), |words| words.read_recv(read)));
            device = device.input(if read.whole { pin.with_properties(column()?) } else { pin });
            let size = mesh.dats[read.dat as usize].values.bytes_each();
            let to = offset(&self.layout.state, &buffer(name, read.arg))?;
            self.inputs.push(Input::Read { on, to, size, columns: read.whole.then_some(read.columns) });
        }
        Ok(device)
    }

    /// What the loop's own devices send that they wrote, and what is written to the devices: a pin for each dat, and
    /// another one for messages of another length.
    fn writes(
        &mut self,
        mut device: DeviceTypeBuilder,
        invocation: &Invocation,
        words: Option<&Words<'_>>,
    ) -> Result<DeviceTypeBuilder, Error> {
        let on = self.ons.len();
        let Declaring { mesh, names, .. } = self.all;
        let (name, is_home) = (&invocation.name, invocation.decl.set == self.set);
        for (bit, write) in (0..).zip(invocation.writes.iter().filter(|_| is_home)) {
            let message = message_of(names, write);
            let pin = OutputPin::new(format!("{name}_arg{}_write_send", write.arg), message)
                .with_code(words.map_or(String::new(), |words| words.write_send(bit, write)));
            device = device.output(pin);
            let size = mesh.dats[write.dat as usize].values.bytes_each();
            let from = offset(&self.layout.state, &buffer(name, write.arg))?;
            self.outputs.push(Output::WriteSend { on, bit, from, size: size * write.columns });
        }
        let mut pins: Vec<(u32, String)> = Vec::new();
        let foldings = &invocation.decl.foldings;
        for write in invocation.writes.iter().filter(|write| mesh.dats[write.dat as usize].set == self.set) {
            let message = message_of(names, write);
            if pins.contains(&(write.dat, message.clone())) {
                continue;
            }
            let pin = InputPin::new(write_pin(invocation, names, write), message.clone())
                .with_code(words.map_or(String::new(), |words| words.write_recv(write)));
            device = device.input(if write.whole { pin.with_properties(column()?) } else { pin });
            self.inputs.push(Input::Write {
                on,
                to: offset(&self.layout.state, &names.dat(write.dat))?,
                size: mesh.dats[write.dat as usize].values.bytes_each(),
                columns: write.whole.then_some(write.columns),
                folding: foldings[write.arg].filter(|_| write.access.contributes()),
            });
            pins.push((write.dat, message));
        }
        Ok(device)
    }

    fn end(
        &mut self,
        device: DeviceTypeBuilder,
        invocation: &Invocation,
        words: Option<&Words<'_>>,
    ) -> Result<DeviceTypeBuilder, Error> {
        let on = self.ons.len();
        let Declaring { mesh, names, messages, .. } = self.all;
        let message = format!("{}_end", invocation.name);
        let foldings = &invocation.decl.foldings;
        let is_home = invocation.decl.set == self.set;
        let parts = invocation.contributions().into_iter().map(|arg| {
            let (member, _) = pad(mesh, names, &invocation.decl.args[arg]).expect("a contribution has a pad");
            let from = if is_home { Some(offset(&self.layout.state, &member)?) } else { None };
            Ok((offset(&messages[&message], &member)?, from, foldings[arg].expect("it can be folded")))
        });
        let parts = parts.collect::<Result<Vec<_>, Error>>()?;
        self.outputs.push(Output::End { on, parts });
        let code = words.map_or(String::new(), |words| words.end());
        Ok(device.output(OutputPin::new(message.clone(), message).with_code(code)))
    }

    /// Where the arguments of a kernel are in the devices of its set.
    fn execution(&self, invocation: &Invocation) -> Result<Execution, Error> {
        let Declaring { mesh, names, graph, constants, .. } = self.all;
        let ElementLayout { properties, state } = &self.layout;
        let mut args = Vec::new();
        let (mut empty, mut marks, mut checked) = (Vec::new(), Vec::new(), Vec::new());
        let foldings = &invocation.decl.foldings;
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
                            let folding = foldings[number].expect("a contribution can be folded");
                            empty.push((at, folding));
                            if let Some(element) = folding.element_at {
                                marks.push((at + element, offset(properties, "element")?));
                            }
                        }
                        ArgAt::State(at)
                    }
                },
                ArgDecl::Index { .. } => {
                    ArgAt::Properties(offset(properties, &format!("{}_arg{number}_index", invocation.name))?)
                }
                ArgDecl::Size { set } => ArgAt::Size(offset(graph, &names.length(set))?),
            });
            checked.extend(self.checked(number, arg, args[number]));
        }
        let records = Records { graph: graph.size(), properties: properties.size(), state: state.size() };
        Ok(Execution { decl: Arc::clone(&invocation.decl), args, empty, marks, checked, records })
    }

    /// What is looked at before a kernel sees an argument: nothing if all bytes are values of its type, or it is made or
    /// written before it is read.
    fn checked(&self, number: usize, arg: &ArgDecl, at: ArgAt) -> Option<Checked> {
        let mesh = self.all.mesh;
        let (values, name, columns) = match *arg {
            ArgDecl::Dat { dat, route, access, present: true } => {
                let is_read = matches!(access, Access::Read | Access::Update);
                let is_changed_in_place = access.contributes() && route == Route::Direct;
                let decl = (is_read || is_changed_in_place).then(|| &mesh.dats[dat as usize])?;
                (&decl.values, &decl.name, route.columns(mesh).count().max(1))
            }
            ArgDecl::Global { global, access: Access::Read, present: true, .. } => {
                let decl = &mesh.globals[global as usize];
                (&decl.values, &decl.name, 1)
            }
            _ => return None,
        };
        let what = format!("argument {number}, {} `{name}`,", arg.what());
        let is_valid = values.validity()?;
        Some(Checked { arg: at, size: values.bytes_each(), count: columns, is_valid, what })
    }
}

/// How many words hold a bit for each pin.
fn words_for(pins: usize) -> usize {
    pins.div_ceil(64).max(1)
}

/// The properties of an edge that leads to one of several columns.
fn column() -> Result<Layout, Error> {
    Layout::new(Tuple::new().with("index", Scalar::U32)).map_err(of_events)
}
