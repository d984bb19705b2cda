//! How a program runs as messages.

use drawloom_messages::Executor;

/// How a program runs as messages.
///
/// ```
/// use drawloom_mesh::{Backend, Control, Events, Executor, Mesh, Program};
///
/// let mut mesh = Mesh::new();
/// let xs = mesh.set("xs", 100)?;
/// let sum = mesh.global("sum", [0_i64])?;
/// let mut program = Program::new(mesh);
/// program.each(xs, "add").index().inc(sum).run(|index, sum| sum[0] += index as i64);
/// for control in [Control::Plain, Control::Tree] {
///     let events = Events::new().executor(Executor::Random { seed: 1 }).control(control);
///     let mut run = program.start(Backend::Events(events))?;
///     run.run()?;
///     assert_eq!(run.global(sum)?, [4950]);
/// }
/// # Ok::<(), drawloom_mesh::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use]
pub struct Events {
    pub(crate) executor: Executor,
    pub(crate) control: Control,
}

/// How devices learn that a loop begins, and how it is known that it is at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Control {
    /// One device tells all others, and hears from all others.
    #[default]
    Plain,
    /// As before, but through a tree, so that no device has many neighbours.
    Tree,
}

impl Events {
    /// With messages delivered in the order in which they were sent.
    pub fn new() -> Self {
        Self::default()
    }

    /// With another order of messages, or on several workers.
    pub fn executor(mut self, executor: Executor) -> Self {
        self.executor = executor;
        self
    }

    /// With another way to begin and end loops.
    pub fn control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }
}
