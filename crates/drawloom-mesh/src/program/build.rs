//! Putting a program together.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

use drawloom_runtime::Element;

use super::described::Described;
use super::each::Each;
use super::scalar::Scalar;
use super::statement::{Condition, LoopDecl, ScalarBody, ScalarDecl, Statement};
use crate::check;
use crate::error::{Error, ErrorKind};
use crate::kernel::body::LoopBody;
use crate::mesh::store::Typed;
use crate::mesh::{Global, Mesh, Set};

/// Types that can decide whether a program goes on.
pub trait Truth: Element {
    /// Whether the value counts as true.
    fn is_true(self) -> bool;
}

impl Truth for bool {
    fn is_true(self) -> bool {
        self
    }
}

macro_rules! truth_of_integers {
    ($($t:ident)*) => { $(
        impl Truth for $t {
            fn is_true(self) -> bool {
                self != 0
            }
        }
    )* };
}
truth_of_integers! { i32 u32 i64 }

/// Loops over the sets of a mesh, scalar code on its globals, and the control flow around them.
///
/// ```
/// use drawloom_mesh::kernel::Acc;
/// use drawloom_mesh::{Backend, Mesh, Program};
///
/// fn flow(from: &[f64; 1], to: &[f64; 1], into: &mut [Acc<f64>; 1], out_of: &mut [Acc<f64>; 1]) {
///     let half = 0.5 * (from[0] - to[0]);
///     into[0] += half;
///     out_of[0] -= half;
/// }
///
/// let mut mesh = Mesh::new();
/// let nodes = mesh.set("nodes", 3)?;
/// let edges = mesh.set("edges", 2)?;
/// let ends = mesh.map::<2>("ends", edges, nodes, vec![0, 1, 1, 2])?;
/// let level = mesh.dat("level", nodes, vec![[1.0], [0.0], [0.0]])?;
/// let change = mesh.dat_of("change", nodes, [0.0])?;
///
/// let mut program = Program::new(mesh);
/// program
///     .each(edges, "flow")
///     .read(level.at(ends, 0))
///     .read(level.at(ends, 1))
///     .inc(change.at(ends, 1))
///     .inc(change.at(ends, 0))
///     .run(flow);
/// let mut run = program.start(Backend::Serial)?;
/// run.run()?;
/// assert_eq!(run.dat(change)?, [[-0.5], [0.5], [0.0]]);
/// # Ok::<(), drawloom_mesh::Error>(())
/// ```
pub struct Program {
    mesh: Arc<Mesh>,
    /// The statements so far, of each block that is open, outermost first.
    open: Vec<Vec<Statement>>,
    /// How many loops have each name.
    names: HashMap<String, usize>,
    refused: Option<Error>,
}

impl Program {
    /// A program that does nothing yet.
    pub fn new(mesh: Mesh) -> Self {
        Self { mesh: Arc::new(mesh), open: vec![Vec::new()], names: HashMap::new(), refused: None }
    }

    pub(crate) fn mesh(&self) -> &Arc<Mesh> {
        &self.mesh
    }

    fn push(&mut self, statement: Statement) {
        self.open.last_mut().expect("the outermost block is always open").push(statement);
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    /// Describes a loop over a set.
    #[track_caller]
    pub fn each(&mut self, set: Set, name: impl Into<String>) -> Each<'_> {
        Each::new(self, set, name.into(), Location::caller())
    }

    /// Describes scalar code on globals.
    #[track_caller]
    pub fn scalar(&mut self, name: impl Into<String>) -> Scalar<'_> {
        Scalar::new(self, name.into(), Location::caller())
    }

    pub(super) fn add_loop(described: Described<'_>, set: Set, body: Box<dyn LoopBody>) {
        let Described { program, name, location, args, refused, .. } = described;
        if let Some(error) = refused {
            return program.refuse(error);
        }
        let before = program.names.entry(name.clone()).or_insert(0);
        let invocation = if *before == 0 { name.clone() } else { format!("{name}_{before}") };
        *before += 1;
        let foldings = body.foldings();
        let decl = LoopDecl { name, invocation, location, set: set.number, args, body, foldings };
        if let Err(error) = check::loop_is_sound(&program.mesh, &decl) {
            program.refuse(error);
        }
        program.push(Statement::Loop(Arc::new(decl)));
    }

    pub(super) fn add_scalar(described: Described<'_>, body: ScalarBody, code: TypeId) {
        let Described { program, name, location, args, refused, .. } = described;
        if let Some(error) = refused {
            return program.refuse(error);
        }
        let decl = ScalarDecl { name, location, args, body, code };
        if let Err(error) = check::scalar_is_sound(&program.mesh, &decl) {
            program.refuse(error);
        }
        program.push(Statement::Scalar(Arc::new(decl)));
    }

    fn block(&mut self, build: impl FnOnce(&mut Program)) -> Arc<[Statement]> {
        self.open.push(Vec::new());
        build(self);
        self.open.pop().expect("pushed above").into()
    }

    /// Runs what `body` adds a number of times.
    pub fn repeat(&mut self, name: impl Into<String>, count: u64, body: impl FnOnce(&mut Program)) {
        let body = self.block(body);
        self.push(Statement::Repeat { name: name.into().into(), count, counter: None, body });
    }

    /// As [`Program::repeat`]. The counter is the number of the run, from zero, and afterwards the number of runs.
    pub fn repeat_with(
        &mut self,
        name: impl Into<String>,
        counter: Global<i64, 1>,
        count: u64,
        body: impl FnOnce(&mut Program),
    ) {
        if let Err(error) = self.mesh.own("global", counter.mesh) {
            self.refuse(error);
        }
        let body = self.block(body);
        self.push(Statement::Repeat { name: name.into().into(), count, counter: Some(counter.number), body });
    }

    /// Runs what `body` adds for as long as a global is true.
    pub fn while_true<T: Truth>(&mut self, condition: Global<T, 1>, body: impl FnOnce(&mut Program)) {
        let condition = self.condition(condition);
        let body = self.block(body);
        self.push(Statement::While { condition, body });
    }

    /// Runs what `then` adds if a global is true, and what `otherwise` adds if it is not.
    pub fn if_true<T: Truth>(
        &mut self,
        condition: Global<T, 1>,
        then: impl FnOnce(&mut Program),
        otherwise: impl FnOnce(&mut Program),
    ) {
        let condition = self.condition(condition);
        let (then, otherwise) = (self.block(then), self.block(otherwise));
        self.push(Statement::If { condition, then, otherwise });
    }

    fn condition<T: Truth>(&mut self, global: Global<T, 1>) -> Condition {
        if let Err(error) = self.mesh.own("global", global.mesh) {
            self.refuse(error);
        }
        let test = |values: &dyn Any| {
            values.downcast_ref::<Typed<T, 1>>().is_some_and(|values| values.0.iter().any(|v| v[0].is_true()))
        };
        Condition { global: global.number, test }
    }

    /// Ends the program with an error when a global is infinite or not a number. The error says in which run of each
    /// enclosing repetition that was, and where the first such number is among the dats.
    pub fn require_finite<T: Element, const N: usize>(&mut self, global: Global<T, N>) {
        if let Err(error) = self.mesh.own("global", global.mesh) {
            self.refuse(error);
        }
        self.push(Statement::RequireFinite { global: global.number });
    }

    /// Whether the program can run: every loop was checked when it was added, and this returns what was found first.
    ///
    /// # Errors
    /// When a statement was refused.
    pub fn check(&self) -> Result<(), Error> {
        match &self.refused {
            Some(error) => Err(Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }

    pub(crate) fn statements(&self) -> Result<&[Statement], Error> {
        self.check()?;
        match &self.open[..] {
            [outermost] => Ok(outermost),
            _ => Err(Error::new(ErrorKind::Refused, "a block of the program is not complete")),
        }
    }
}
