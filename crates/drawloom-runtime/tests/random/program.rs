//! Programs as descriptions: what is created, and what is submitted, in text that a person can read.
//!
//! A description has no handles and no closures, so that it can be printed when a case fails, cut down by hand, and carried
//! out by two parties that know nothing of each other: the engine, and an interpreter over plain vectors.

use std::fmt;

/// What a region is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Vector {
        len: usize,
        contents: bool,
    },
    Matrix {
        rows: usize,
        columns: usize,
        leading: usize,
    },
    Array {
        extents: [usize; 3],
    },
    Value,
    /// A vector of floating-point numbers, which tasks only reduce into and write.
    Floats {
        len: usize,
    },
}

impl Kind {
    /// How many elements are stored, those between columns included.
    pub(crate) fn stored(&self) -> usize {
        match self {
            Kind::Vector { len, .. } | Kind::Floats { len } => *len,
            Kind::Matrix { columns, leading, .. } => columns * leading,
            Kind::Array { extents } => extents.iter().product(),
            Kind::Value => 1,
        }
    }
}

/// How a piece is cut into further ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cut {
    Blocks(usize),
    Halos(usize, usize),
    Colours(Vec<u32>),
    /// Element numbers of each piece, which may overlap.
    Lists(Vec<Vec<usize>>),
    Tiles(usize, usize),
    Grid([usize; 3]),
}

/// A region, or a part of it: cut, choose one, cut again.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) region: usize,
    pub(crate) cuts: Vec<(Cut, usize)>,
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.region)?;
        for (cut, number) in &self.cuts {
            write!(f, ".{cut:?}[{number}]")?;
        }
        Ok(())
    }
}

/// What a task does with a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Update,
    Write,
    Commute,
    Sum,
    Max,
    Lend,
    LendRead,
    LendWrite,
}

impl Mode {
    pub(crate) fn mutates(self) -> bool {
        !matches!(self, Mode::Read | Mode::LendRead)
    }

    /// Whether the present contents must be good for the task to run.
    pub(crate) fn needs(self) -> bool {
        !matches!(self, Mode::Write | Mode::LendWrite)
    }

    pub(crate) fn lends(self) -> bool {
        matches!(self, Mode::Lend | Mode::LendRead | Mode::LendWrite)
    }

    pub(crate) fn reduces(self) -> bool {
        matches!(self, Mode::Sum | Mode::Max)
    }

    /// Whether the task is declared with a method of its own, instead of being in a list.
    pub(crate) fn is_special(self) -> bool {
        !matches!(self, Mode::Read | Mode::Update)
    }
}

/// How a task ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Returns,
    Errs,
    Panics,
}

/// The name of a task in a description.
pub(crate) type Id = usize;

/// One task.
#[derive(Clone, Debug)]
pub(crate) struct TaskOf {
    pub(crate) id: Id,
    /// At most two special ones first, then what is read, then what is updated.
    pub(crate) args: Vec<(Piece, Mode)>,
    /// Whether to use the methods for single regions instead of lists, where there is such a form.
    pub(crate) direct: bool,
    pub(crate) priority: i32,
    pub(crate) after: Vec<Id>,
    pub(crate) ends_with: Vec<Id>,
    pub(crate) fate: Fate,
    /// How many executions of the body end with the fate; those after them return.
    pub(crate) bad: u32,
    /// How often the body is tried again.
    pub(crate) retries: u32,
    /// The context it is submitted to, if not the main one.
    pub(crate) context: Option<usize>,
    pub(crate) team: Option<TeamOf>,
    pub(crate) children: Vec<Op>,
}

impl TaskOf {
    /// Whether an execution of the body, counted from zero, ends with the fate.
    pub(crate) fn fails_in(&self, execution: u32) -> bool {
        self.fate != Fate::Returns && execution < self.bad
    }
}

/// How many workers a task takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TeamOf {
    pub(crate) least: u32,
    pub(crate) most: u32,
}

/// A part of a program that is recorded, and runs several times.
#[derive(Clone, Debug)]
pub(crate) struct PlanOf {
    pub(crate) id: Id,
    pub(crate) tasks: Vec<TaskOf>,
    /// Regions that have others in their places in some runs.
    pub(crate) instead: Vec<(usize, usize)>,
    pub(crate) runs: Vec<RunOf>,
    /// Whether the runs on the one and on the other regions are started by threads of their own. The order among them is of
    /// no matter then.
    pub(crate) together: bool,
}

/// One run of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunOf {
    pub(crate) id: Id,
    pub(crate) exchanged: bool,
    /// Where it runs, unless that is the main context.
    pub(crate) context: Option<usize>,
}

/// A set of workers.
#[derive(Clone, Debug)]
pub(crate) struct ContextOf {
    /// The context around it, one of those before it; if none, it is inside of the main one.
    pub(crate) around: Option<usize>,
    pub(crate) policy: &'static str,
    /// The workers at first, see [`Op::Resize`].
    pub(crate) mask: u64,
    /// The stream that deletes it, if any. Only tasks of that stream, and not their children, are submitted to it.
    pub(crate) owner: Option<usize>,
}

/// One step of a program.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Task(TaskOf),
    /// Waits for a task's value.
    Wait(Id),
    /// Takes a guard and looks.
    Look(Piece),
    /// Takes a guard and changes everything.
    Change(Piece, u64),
    /// Waits for everything before on a piece.
    WaitFor(Piece),
    WaitAll,
    /// In a task: makes a region of its own, has a child change it and another one read it.
    Local {
        id: Id,
        len: usize,
        blocks: usize,
    },
    /// Gives a context the workers whose numbers are set in the mask, or one at least.
    Resize {
        context: usize,
        mask: u64,
    },
    /// Takes all workers away from a context. They come back before anyone of this stream waits.
    Empty(usize),
    Delete(usize),
    Plan(PlanOf),
    /// In a task: makes a context, submits a child to it, changes its workers and deletes it.
    OwnContext {
        id: Id,
        mask: u64,
    },
}

/// A whole program: each stream is submitted by a thread of its own.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) regions: Vec<Kind>,
    pub(crate) streams: Vec<Vec<Op>>,
    pub(crate) contexts: Vec<ContextOf>,
    /// Whether a thread changes contexts all the time, and by which random numbers.
    pub(crate) disturbed: Option<u64>,
    /// The same for a thread that cancels tasks: those of a context, or all.
    pub(crate) cancelled: Option<(u64, Option<usize>)>,
}

impl Program {
    /// The same without what the engine does behind the scenes when tasks are cancelled: attempts, folds, and plans.
    pub(crate) fn made_to_be_cancelled(mut self, seed: u64) -> Self {
        fn simplify(ops: &mut Vec<Op>) {
            ops.retain(|op| !matches!(op, Op::Plan(_) | Op::Local { .. } | Op::OwnContext { .. }));
            for op in ops {
                let Op::Task(task) = op else { continue };
                if task.retries > 0 {
                    (task.retries, task.fate) = (0, Fate::Returns);
                }
                // There is a form for two reductions into anything, but not for two writes.
                if task.args.iter().filter(|(_, mode)| mode.reduces()).count() == 2 {
                    task.args.remove(1);
                }
                for (_, mode) in task.args.iter_mut().filter(|(_, mode)| mode.reduces()) {
                    *mode = Mode::Write;
                }
                simplify(&mut task.children);
            }
        }
        self.streams.iter_mut().for_each(simplify);
        let context = (seed as usize).checked_rem(self.contexts.len() + 1).filter(|&c| c < self.contexts.len());
        self.cancelled = Some((seed, context));
        self
    }

    /// Whether some task needs more than one worker.
    pub(crate) fn needs_workers(&self) -> bool {
        fn any(ops: &[Op]) -> bool {
            let needs = |task: &TaskOf| task.team.is_some_and(|team| team.least > 1) || any(&task.children);
            ops.iter().any(|op| match op {
                Op::Task(task) => needs(task),
                Op::Plan(plan) => plan.tasks.iter().any(needs),
                _ => false,
            })
        }
        self.streams.iter().any(|stream| any(stream))
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kind) in self.regions.iter().enumerate() {
            writeln!(f, "r{number} = {kind:?}")?;
        }
        for (number, context) in self.contexts.iter().enumerate() {
            writeln!(f, "c{number} = {context:?}")?;
        }
        if let Some(seed) = self.disturbed {
            writeln!(f, "disturbed by {seed}")?;
        }
        if let Some(cancelled) = self.cancelled {
            writeln!(f, "cancelled by {cancelled:?}")?;
        }
        for (number, stream) in self.streams.iter().enumerate() {
            writeln!(f, "stream {number}")?;
            write_ops(f, stream, 1)?;
        }
        Ok(())
    }
}

fn write_ops(f: &mut fmt::Formatter<'_>, ops: &[Op], depth: usize) -> fmt::Result {
    for op in ops {
        write!(f, "{}", "  ".repeat(depth))?;
        let task = match op {
            Op::Task(task) => task,
            Op::Plan(PlanOf { id, tasks, instead, runs, together }) => {
                writeln!(f, "plan {id}, instead {instead:?}, {runs:?}{}", if *together { " together" } else { "" })?;
                let tasks: Vec<Op> = tasks.iter().cloned().map(Op::Task).collect();
                write_ops(f, &tasks, depth + 1)?;
                continue;
            }
            _ => {
                writeln!(f, "{op:?}")?;
                continue;
            }
        };
        write!(f, "t{}:", task.id)?;
        for (piece, mode) in &task.args {
            write!(f, " {mode:?} {piece:?}")?;
        }
        if !task.after.is_empty() {
            write!(f, " after {:?}", task.after)?;
        }
        if !task.ends_with.is_empty() {
            write!(f, " ends with {:?}", task.ends_with)?;
        }
        if task.fate != Fate::Returns {
            write!(f, " {:?} {} times", task.fate, task.bad)?;
        }
        if task.retries > 0 {
            write!(f, " retries {}", task.retries)?;
        }
        if let Some(context) = task.context {
            write!(f, " in c{context}")?;
        }
        if let Some(team) = task.team {
            write!(f, " {team:?}")?;
        }
        writeln!(f, "{}{}", if task.direct { " direct" } else { "" }, if task.priority != 0 { " prio" } else { "" })?;
        write_ops(f, &task.children, depth + 1)?;
    }
    Ok(())
}

/// Mixes two numbers into one.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(23) ^ b.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^ (x >> 29)
}

/// What a task adds to element `k` of its argument `arg`.
pub(crate) fn addition(task: Id, arg: usize, k: usize) -> u64 {
    mix(mix(task as u64, arg as u64), k as u64) >> 8
}

/// What a task adds to element `k` of a floating-point argument.
pub(crate) fn float_addition(task: Id, arg: usize, k: usize) -> f64 {
    1.0 / ((addition(task, arg, k) % 1000) as f64 + 1.5)
}

/// What the elements of a region hold at first.
pub(crate) fn initial(region: usize, index: usize) -> u64 {
    mix(region as u64 + 77, index as u64)
}
