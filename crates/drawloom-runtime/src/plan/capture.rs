//! Tasks that are recorded instead of run.

use std::panic::Location;

use super::handle::Plan;
use super::{compile, graph};
use crate::access::Frame;
use crate::access::reduction::Folds;
use crate::core::Core;
use crate::data::region::Handle;
use crate::data::tree::Root;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, Mutex, lock};
use crate::task::body::BodyResult;
use crate::task::builder::{Sink, Task};
use crate::task::extras::Extras;
use crate::task::name::{Label, Name};
use crate::task::spec::Spec;

/// The body of a recorded task. It runs once in each replay.
pub(crate) type Repeatable = Box<dyn Fn(&mut Frame<'_>) -> BodyResult + Send + Sync>;

/// The context of a task that runs where its plan does.
const ANY_CONTEXT: u32 = u32::MAX;

/// A task that was recorded.
pub(crate) struct Taken {
    pub(crate) spec: Spec,
    pub(crate) body: Repeatable,
}

impl Taken {
    /// The operators of the arguments that are reduced into.
    pub(super) fn folds(&self) -> &[Arc<dyn Folds>] {
        self.spec.extras.as_ref().map_or(&[], |extras| &extras.folds)
    }

    /// The tasks that it comes after by the user's wish.
    pub(super) fn after(&self) -> &[u32] {
        self.spec.extras.as_ref().map_or(&[], |extras| &extras.steps)
    }

    /// Where it runs, unless that is where its plan does.
    pub(super) fn context(&self) -> Option<u32> {
        (self.spec.context != ANY_CONTEXT).then_some(self.spec.context)
    }

    /// Whether it takes a task of its own.
    pub(super) fn is_apart(&self) -> bool {
        let asks = |extras: &Extras| extras.retries > 0 || extras.team.is_some() || extras.is_for_devices();
        self.context().is_some()
            || self.spec.extras.as_deref().is_some_and(asks)
            || self.spec.args().iter().any(|arg| arg.mode().lends())
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
/// that submitting them in the same order would give; tasks that commute are an exception, and run in program order. A
/// recorded task returns no value, as it runs many times: let it write into a region.
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
        let spec = Spec::new(Name::intern(name.into()), Location::caller(), ANY_CONTEXT);
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

    /// What was recorded as a graph, which can be checked, drawn, and asked for its order. Tasks that commute are in it as a
    /// chain of updates that is marked as reorderable.
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
    /// The task starts after another one of the same recording, and is cancelled when that one fails.
    pub fn after(mut self, step: Step) -> Self {
        if step.recording == self.sink().capture.recording() {
            self.spec_mut().extras().steps.push(step.number);
        } else {
            self.spec_mut().refuse(ErrorKind::Plan, "cannot come after a task of another recording".to_owned());
        }
        self
    }

    pub(super) fn record(self, body: Repeatable) -> Step {
        let (mut spec, sink) = self.into_parts();
        if let Some(mut extras) = spec.extras.take_if(|extras| extras.is_for_devices()) {
            let args = if extras.args.is_empty() { spec.args().to_vec() } else { extras.args.clone() };
            Core::leave_to_processors(&args, &mut extras, &mut spec);
            spec.extras = Some(extras);
        }
        let mut tape = lock(&sink.capture.tape);
        if let Some(error) = spec.refused.take() {
            tape.refused.get_or_insert(error);
        }
        let number = tape.tasks.len() as u32;
        tape.tasks.push(Taken { spec, body });
        Step { recording: sink.capture.recording(), number }
    }
}
