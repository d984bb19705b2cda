//! Tasks that are recorded instead of run.

use std::alloc::Layout;
use std::panic::Location;

use super::handle::Plan;
use super::{compile, graph};
use crate::access::reduction::Folds;
use crate::access::{Access, Arg, Frame};
use crate::core::Core;
use crate::data::region::Handle;
use crate::data::tree::Root;
use crate::error::{Error, ErrorKind, Result, TaskOrigin};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock};
use crate::task::body::{BodyError, BodyResult};
use crate::task::builder::{Sink, Task};
use crate::task::name::{Label, Name};
use crate::task::spec::Spec;

/// The body of a recorded task. It runs once in each replay.
pub(crate) type Repeatable = Box<dyn Fn(&mut Frame<'_>) -> BodyResult + Send + Sync>;

/// A task that was recorded.
pub(crate) struct Taken {
    pub(crate) name: Name,
    pub(crate) location: &'static Location<'static>,
    pub(crate) priority: i32,
    pub(crate) args: Vec<Arg>,
    pub(crate) counts: Vec<u32>,
    pub(crate) folds: Vec<(Arc<dyn Folds>, bool)>,
    pub(crate) scratch: Vec<Layout>,
    pub(crate) after: Vec<u32>,
    pub(crate) body: Repeatable,
}

impl Taken {
    pub(crate) fn origin(&self) -> TaskOrigin {
        TaskOrigin { name: self.name.as_str().to_owned(), location: self.location }
    }
}

/// What was recorded so far.
#[derive(Default)]
pub(crate) struct Tape {
    pub(crate) tasks: Vec<Taken>,
    /// The regions that tasks use, in the order of their first use.
    pub(crate) roots: Vec<Arc<Root>>,
    /// The first task that was refused.
    refused: Option<Error>,
}

/// Records tasks. Made by [`Loom::capture`](crate::Loom::capture).
///
/// Tasks are described exactly as those that run at once, with a body that can run more than once. They run in the order
/// that submitting them in the same order would give; tasks that commute are an exception, and run in program order.
pub struct Capture {
    core: Arc<Core>,
    name: Name,
    location: &'static Location<'static>,
    /// Tells the recordings of a runtime apart.
    number: u64,
    tape: Mutex<Tape>,
}

/// A recorded task, to come after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The runtime and the recording that it belongs to.
    recording: (usize, u64),
    number: u32,
}

/// The task goes into a recording.
#[derive(Clone, Copy)]
pub struct Recorded<'a> {
    capture: &'a Capture,
}

impl Sink for Recorded<'_> {
    fn keep(&self, handle: &Handle) {
        let root = &handle.root;
        let mut tape = lock(&self.capture.tape);
        // Most tasks use what the last ones used, so the search starts at the end.
        if !tape.roots.iter().rev().any(|known| Arc::ptr_eq(known, root)) {
            tape.roots.push(Arc::clone(root));
        }
    }
}

impl Capture {
    pub(crate) fn new(core: Arc<Core>, name: Name, location: &'static Location<'static>) -> Self {
        let number = core.next_scope.fetch_add(1, Ordering::Relaxed);
        Self { core, name, location, number, tape: Mutex::default() }
    }

    fn recording(&self) -> (usize, u64) {
        (Arc::as_ptr(&self.core).addr(), self.number)
    }

    /// Describes a task.
    #[track_caller]
    pub fn task(&self, name: impl Into<Label>) -> Task<'_, (), Recorded<'_>> {
        let spec = Spec::new(self.core.names.intern(name.into()), Location::caller(), 0);
        Task::new(&self.core, spec, Recorded { capture: self })
    }

    /// How many tasks were recorded.
    pub fn len(&self) -> usize {
        lock(&self.tape).tasks.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was recorded as a graph, which can be checked, drawn, and asked for its order.
    ///
    /// # Errors
    /// When a task was refused.
    pub fn graph(&self) -> Result<drawloom_graph::Graph> {
        let tape = lock(&self.tape);
        refused(&tape)?;
        graph::graph_of(&tape)
    }

    /// Checks what was recorded, and compiles it.
    ///
    /// # Errors
    /// When a task was refused, or the check finds something; the message holds what it found.
    pub fn plan(self) -> Result<Plan> {
        let tape = self.tape.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        refused(&tape)?;
        graph::check(&graph::graph_of(&tape)?)?;
        compile::compile(&self.core, self.name, self.location, tape)
    }
}

fn refused(tape: &Tape) -> Result<()> {
    tape.refused.clone().map_or(Ok(()), Err)
}

impl<'a, A> Task<'a, A, Recorded<'a>> {
    /// The task starts after another one of the same recording.
    pub fn after(mut self, step: Step) -> Self {
        if step.recording == self.sink().capture.recording() {
            self.spec_mut().extras().steps.push(step.number);
        } else {
            self.spec_mut().refuse(ErrorKind::Plan, "cannot come after a task of another recording".to_owned());
        }
        self
    }

    fn record(self, body: Repeatable) -> Step {
        let (mut spec, sink) = self.into_parts();
        let args = spec.args().to_vec();
        let extras = spec.extras.take().map(|e| *e).unwrap_or_default();
        let mut tape = lock(&sink.capture.tape);
        if let Some(error) = spec.refused.take() {
            tape.refused.get_or_insert(error);
        }
        let number = tape.tasks.len() as u32;
        tape.tasks.push(Taken {
            name: spec.name,
            location: spec.location,
            priority: spec.priority,
            args,
            counts: extras.counts,
            folds: extras.folds,
            scratch: extras.scratch,
            after: extras.steps,
            body,
        });
        Step { recording: sink.capture.recording(), number }
    }
}

macro_rules! arities {
    ($(($($a:ident $x:ident),*))*) => { $(
        impl<'a, $($a: Access),*> Task<'a, ($($a,)*), Recorded<'a>> {
            /// Records the task. Its body has one parameter for each access, in the order in which they were declared, and
            /// runs once in each replay.
            pub fn run<F>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                self.record(Box::new(move |_frame| {
                    $(
                        // SAFETY: the frame's arguments are those that were declared, in this order, and the task runs
                        // only once they are granted.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    body($($x),*);
                    Ok(())
                }))
            }

            /// Records the task. An error makes it fail in that replay.
            pub fn try_run<F, E>(self, body: F) -> Step
            where
                F: for<'v> Fn($($a::View<'v>),*) -> Result<(), E> + Send + Sync + 'static,
                E: Into<BodyError>,
            {
                self.record(Box::new(move |_frame| {
                    $(
                        // SAFETY: as in `run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    body($($x),*).map_err(Into::into)
                }))
            }
        }
    )* };
}

arities! {
    ()
    (A1 a)
    (A1 a, A2 b)
    (A1 a, A2 b, A3 c)
    (A1 a, A2 b, A3 c, A4 d)
    (A1 a, A2 b, A3 c, A4 d, A5 e)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j, A11 k)
    (A1 a, A2 b, A3 c, A4 d, A5 e, A6 f, A7 g, A8 h, A9 i, A10 j, A11 k, A12 l)
}
