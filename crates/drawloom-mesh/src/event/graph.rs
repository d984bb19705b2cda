//! A program compiled to a graph type, and its instance for its own sake, to be written to a file.

use std::collections::HashSet;
use std::sync::Arc;

use drawloom_messages::Instance;

use super::connect::connect;
use super::declare::{Declared, declare, read_pin, write_pin};
use super::involved::Invocation;
use super::names::{Names, invocations, unique};
use super::options::{Control, Events};
use super::text::HandlerText;
use crate::error::{Error, ErrorKind};
use crate::mesh::Mesh;
use crate::program::Program;
use crate::program::statement::{LoopDecl, Statement};
use crate::program::steps::Steps;
use crate::run::Trouble;

/// A handler of the published form can name so many output pins.
const MOST_PINS: usize = 32;

/// Compiles a program to a graph type with a name.
pub(super) fn compiled(
    mesh: &Arc<Mesh>,
    statements: &[Statement],
    events: &Events,
    (id, text, pauses): (&str, Option<&HandlerText>, bool),
    trouble: &Arc<Trouble>,
) -> Result<Declared, Error> {
    let steps = Steps::new(statements, 0);
    values_fit_records(mesh)?;
    let names = invocations(steps.loops.iter().map(|decl| &decl.invocation));
    let of = |(name, decl): (String, &Arc<LoopDecl>)| Invocation::new(mesh, name, Arc::clone(decl));
    let mut list: Vec<Invocation> = names.into_iter().zip(&steps.loops).map(of).collect();
    keep_pins_apart(mesh, &mut list);
    declare(mesh, events, list, steps, (id, text, pauses), trouble)
}

/// Records of devices and messages are aligned to eight bytes: values that need more are refused.
fn values_fit_records(mesh: &Mesh) -> Result<(), Error> {
    let dats = mesh.dats.iter().map(|dat| ("dat", &dat.name, &dat.values));
    let globals = mesh.globals.iter().map(|global| ("global", &global.name, &global.values));
    match dats.chain(globals).find(|(_, _, values)| values.align() > 8) {
        None => Ok(()),
        Some((what, name, values)) => {
            let message = format!(
                "{what} `{name}` is aligned to {} bytes, and messages and devices hold values that are aligned to at most \
                 8: use another type, or another backend",
                values.align()
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Gives another name to a loop that would have a pin of the name of another loop's: the names of a loop and of a dat
/// together can be those of another two.
fn keep_pins_apart(mesh: &Mesh, invocations: &mut [Invocation]) {
    let names = Names::new(mesh);
    let mut known: HashSet<String> = invocations.iter().map(|invocation| invocation.name.clone()).collect();
    let mut taken: HashSet<(u32, String)> = HashSet::new();
    for invocation in invocations {
        let name = invocation.name.clone();
        let mut pins = pins_of_dats(mesh, &names, invocation);
        while !taken.is_disjoint(&pins) {
            invocation.name = unique(name.clone(), &mut known);
            pins = pins_of_dats(mesh, &names, invocation);
        }
        taken.extend(pins);
    }
}

/// The pins of a loop that are called after dats, with the sets that have them.
fn pins_of_dats(mesh: &Mesh, names: &Names, invocation: &Invocation) -> HashSet<(u32, String)> {
    let set_of = |dat: u32| mesh.dats[dat as usize].set;
    let reads = invocation.read_dats.iter().map(|dat| (set_of(*dat), read_pin(invocation, names, *dat)));
    let writes = invocation.writes.iter();
    let writes = writes.map(|write| (set_of(write.dat), write_pin(invocation, names, write)));
    reads.chain(writes).collect()
}

impl Program {
    /// The program as a graph of devices in the plain form, whose graph type has the given name: to be written to a file, or
    /// to bind a file to. The graph type does not depend on the sizes of sets, nor on how often repetitions run. With
    /// functions in C for all kernels and scalar code, its handlers have C text too.
    ///
    /// # Errors
    /// When a statement of the program was refused, the name is no identifier, or a function is missing; and with text, when
    /// a device type has more output pins than handlers of the published form can name.
    pub fn event_graph(&self, name: &str, text: Option<&HandlerText>) -> Result<Arc<Instance>, Error> {
        self.graph_of(name, text, Control::Plain)
    }

    /// As [`Program::event_graph`] without text, in one of the forms of control.
    ///
    /// # Errors
    /// As [`Program::event_graph`].
    pub fn event_graph_with(&self, name: &str, control: Control) -> Result<Arc<Instance>, Error> {
        self.graph_of(name, None, control)
    }

    fn graph_of(&self, name: &str, text: Option<&HandlerText>, control: Control) -> Result<Arc<Instance>, Error> {
        let events = Events::new().control(control);
        let trouble = Arc::new(Trouble::default());
        let declared = compiled(self.mesh(), self.statements()?, &events, (name, text, false), &trouble)?;
        let too_many = declared.graph_type.devices().iter().find(|kind| kind.outputs().len() > MOST_PINS);
        if let Some(kind) = too_many.filter(|_| text.is_some()) {
            let pins = kind.outputs().len();
            let message = format!("device type `{}` has {pins} output pins; C text can name {MOST_PINS}", kind.id());
            return Err(Error::new(ErrorKind::Argument, message));
        }
        Ok(connect(self.mesh(), &events, &declared, None)?.instance)
    }
}
