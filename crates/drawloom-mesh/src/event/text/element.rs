//! The handlers of elements, as C text.

use std::fmt::Write;

use drawloom_messages::data::Type;

use super::kernel_name;
use super::values::{copy, fold, identity, pointer};
use crate::event::declare::{buffer, pad, type_of};
use crate::event::involved::{Invocation, Through};
use crate::event::names::Names;
use crate::event::wiring::ones;
use crate::kernel::place::Route;
use crate::kernel::site::{Access, ArgDecl};
use crate::mesh::Mesh;

/// The words of one loop on the devices of one set.
pub(in crate::event) struct Words<'a> {
    pub(in crate::event) mesh: &'a Mesh,
    pub(in crate::event) names: &'a Names,
    pub(in crate::event) invocation: &'a Invocation,
    pub(in crate::event) set: u32,
    pub(in crate::event) read_recv_total: u32,
}

impl Words<'_> {
    fn state(&self, member: &str) -> String {
        format!("deviceState->{}_{member}", self.invocation.name)
    }

    fn is_home(&self) -> bool {
        self.invocation.decl.set == self.set
    }

    /// Any message of a loop says that it has begun.
    fn enter(&self) -> String {
        let mask = ones(self.invocation.read_dats_on(self.mesh, self.set).len());
        let (in_progress, read_send_mask) = (self.state("in_progress"), self.state("read_send_mask"));
        format!("if(!{in_progress}) {{ {in_progress} = 1; {read_send_mask} = {mask}u; }}\n")
    }

    fn dat_type(&self, dat: u32) -> Type {
        type_of(&*self.mesh.dats[dat as usize].values)
    }

    pub(in crate::event) fn begin(&self) -> String {
        let mut text = format!("{}{}++;\n", self.enter(), self.state("read_recv_count"));
        for (_, global) in self.invocation.told(self.mesh).into_iter().filter(|_| self.is_home()) {
            let (name, ty) = (self.names.global(global), type_of(&*self.mesh.globals[global as usize].values));
            let _ = writeln!(text, "{}", copy(&format!("deviceState->{name}"), &format!("message->{name}"), &ty));
        }
        text
    }

    pub(in crate::event) fn read_recv(&self, read: &Through) -> String {
        let mut to = format!("deviceState->{}", buffer(&self.invocation.name, read.arg));
        if read.whole {
            to.push_str("[edgeProperties->index]");
        }
        let copied = copy(&to, "message->value", &self.dat_type(read.dat));
        format!("{}{}++;\n{copied}\n", self.enter(), self.state("read_recv_count"))
    }

    pub(in crate::event) fn write_recv(&self, write: &Through) -> String {
        let from = if write.whole { "message->value[edgeProperties->index]" } else { "message->value" };
        let (to, ty) = (format!("deviceState->{}", self.names.dat(write.dat)), self.dat_type(write.dat));
        let done = match write.access.contributes() {
            true => fold(&to, from, &ty, write.access),
            false => copy(&to, from, &ty),
        };
        format!("{}{}++;\n{done}\n", self.enter(), self.state("write_recv_count"))
    }

    pub(in crate::event) fn read_send(&self, bit: u32, dat: u32) -> String {
        let copied = copy("message->value", &format!("deviceState->{}", self.names.dat(dat)), &self.dat_type(dat));
        format!("{copied}\n{} &= ~(1u << {bit});\n", self.state("read_send_mask"))
    }

    pub(in crate::event) fn write_send(&self, bit: u32, write: &Through) -> String {
        let element = self.dat_type(write.dat);
        let ty = if write.whole { Type::array(element, write.columns) } else { element };
        let from = format!("deviceState->{}", buffer(&self.invocation.name, write.arg));
        format!("{}\n{} &= ~(1u << {bit});\n", copy("message->value", &from, &ty), self.state("write_send_mask"))
    }

    pub(in crate::event) fn end(&self) -> String {
        let mut text = String::new();
        for arg in self.invocation.contributions() {
            let ArgDecl::Global { access, .. } = self.invocation.decl.args[arg] else { continue };
            let (name, ty) =
                pad(self.mesh, self.names, &self.invocation.decl.args[arg]).expect("a contribution has a pad");
            let to = format!("message->{name}");
            let line = match self.is_home() {
                true => copy(&to, &format!("deviceState->{name}"), &ty),
                false => identity(&to, &ty, access),
            };
            let _ = writeln!(text, "{line}");
        }
        for count in crate::event::declare::COUNTS {
            let _ = writeln!(text, "{} = 0;", self.state(count));
        }
        text
    }

    /// Which pins want to send. The bits of pins are named by them.
    pub(in crate::event) fn ready(&self) -> String {
        let (name, mut text) = (&self.invocation.name, format!("if({}) {{\n", self.state("in_progress")));
        for (bit, dat) in self.invocation.read_dats_on(self.mesh, self.set).into_iter().enumerate() {
            let flag = format!("RTS_FLAG_{name}_{}_read_send", self.names.dat(dat));
            let _ = writeln!(text, "if({} >> {bit} & 1) *readyToSend |= {flag};", self.state("read_send_mask"));
        }
        for (bit, write) in self.invocation.writes.iter().filter(|_| self.is_home()).enumerate() {
            let flag = format!("RTS_FLAG_{name}_arg{}_write_send", write.arg);
            let _ = writeln!(text, "if({} >> {bit} & 1) *readyToSend |= {flag};", self.state("write_send_mask"));
        }
        let (read, written) = (self.state("read_recv_count"), self.state("write_recv_count"));
        let _ = writeln!(text, "if({read} == {}u) *readyToSend |= RTS_FLAG_{name}_execute;", self.read_recv_total);
        let _ = writeln!(
            text,
            "if({read} == 0 && {written} == deviceProperties->{name}_write_recv_total && {} == 0 && {} == 0) \
             *readyToSend |= RTS_FLAG_{name}_end;\n}}",
            self.state("read_send_mask"),
            self.state("write_send_mask")
        );
        text
    }

    pub(in crate::event) fn execute(&self) -> String {
        let writes = if self.is_home() { self.invocation.writes.len() } else { 0 };
        let mut text = format!(
            "{} = 0;\n{}++;\n{} = {}u;\n",
            self.state("read_recv_count"),
            self.state("write_recv_count"),
            self.state("write_send_mask"),
            ones(writes)
        );
        if !self.is_home() {
            return text;
        }
        let mut args = Vec::new();
        for (number, arg) in self.invocation.decl.args.iter().enumerate() {
            args.push(self.argument(number, arg, &mut text));
        }
        let _ = writeln!(text, "{}({});", kernel_name(&self.invocation.decl.name), args.join(", "));
        text
    }

    /// An argument of the kernel. What contributions are collected in is made empty first.
    fn argument(&self, number: usize, arg: &ArgDecl, before: &mut String) -> String {
        let mut empty = |to: &str, ty: &Type, access: Access| {
            if access.contributes() {
                let _ = writeln!(before, "{}", identity(to, ty, access));
            }
        };
        match *arg {
            ArgDecl::Dat { present: false, .. } | ArgDecl::Global { present: false, payload: None, .. } => {
                "NULL".to_owned()
            }
            ArgDecl::Global { present: false, .. } => "NULL, NULL".to_owned(),
            ArgDecl::Dat { dat, route: Route::Direct, .. } => {
                pointer(&format!("deviceState->{}", self.names.dat(dat)), &self.dat_type(dat))
            }
            ArgDecl::Dat { dat, route, access, .. } => {
                let element = self.dat_type(dat);
                let ty = match route {
                    Route::Whole { map } => Type::array(element, self.mesh.maps[map as usize].arity),
                    _ => element,
                };
                let value = format!("deviceState->{}", buffer(&self.invocation.name, number));
                empty(&value, &ty, access);
                pointer(&value, &ty)
            }
            ArgDecl::Global { global, access, payload, .. } => {
                let ty = type_of(&*self.mesh.globals[global as usize].values);
                if self.mesh.globals[global as usize].constant {
                    return pointer(&format!("graphProperties->{}", self.names.global(global)), &ty);
                }
                let (name, pad_type) = pad(self.mesh, self.names, arg).expect("it is a global");
                let value = format!("deviceState->{name}");
                empty(&value, &pad_type, access);
                if payload.is_some() && access.contributes() {
                    let _ = writeln!(before, "{value}.element = deviceProperties->element;");
                }
                match payload {
                    None => pointer(&value, &ty),
                    Some(payload) => {
                        let payload = type_of(&*self.mesh.globals[payload as usize].values);
                        let (first, second) = (format!("{value}.value"), format!("{value}.payload"));
                        format!("{}, {}", pointer(&first, &ty), pointer(&second, &payload))
                    }
                }
            }
            ArgDecl::Index { .. } => format!("deviceProperties->{}_arg{number}_index", self.invocation.name),
            ArgDecl::Size { set } => format!("graphProperties->{}", self.names.length(set)),
        }
    }
}
