//! Carries a description out on an engine.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use drawloom_runtime::{Array, Error, ErrorKind, Future, Indexed, Loom, Matrix, Parts, Region, Value, Vector};

use crate::cells::{Cells, CellsMut, Slot};
use crate::contexts::{Contexts, masked};
use crate::interpret::{Outcome, local_value};
use crate::program::{Cut, Fate, Id, Kind, Mode, Op, Piece, Program, TaskOf, addition, float_addition, initial, mix};
use crate::{forms, plans, teams};

/// A region or piece of any kind.
#[derive(Clone)]
pub(crate) enum Any {
    Line(Vector<u64>),
    Scattered(Indexed<u64>),
    Matrix(Matrix<u64>),
    Array(Array<u64, 3>),
    Value(Value<u64>),
    Floats(Vector<f64>),
}

/// Makes a region as described.
pub(crate) fn create(loom: &Loom, number: usize, kind: &Kind) -> Any {
    let name = format!("r{number}");
    let data: Vec<u64> = (0..kind.stored()).map(|i| initial(number, i)).collect();
    match kind {
        Kind::Vector { contents: true, .. } => Any::Line(loom.vector(name, data)),
        Kind::Vector { len, .. } => Any::Line(loom.vector_without_contents(name, *len).unwrap()),
        Kind::Matrix { rows, columns, leading } => {
            Any::Matrix(loom.matrix_with_leading(name, *rows, *columns, *leading, data).unwrap())
        }
        Kind::Array { extents } => Any::Array(loom.array(name, *extents, data).unwrap()),
        Kind::Value => Any::Value(loom.value(name, data[0])),
        Kind::Floats { len } => Any::Floats(loom.vector(name, vec![0.25; *len])),
    }
}

/// What all tasks of a run share.
pub(crate) struct Run {
    pub(crate) loom: Loom,
    pub(crate) regions: Vec<Any>,
    pub(crate) contexts: Contexts,
    /// The tasks whose bodies began.
    pub(crate) began: Mutex<BTreeSet<Id>>,
    /// What task bodies that returned found, by task.
    pub(crate) ran: Mutex<BTreeMap<Id, u64>>,
    /// How tasks ended that other tasks waited for.
    pub(crate) inner: Mutex<BTreeMap<Id, Outcome>>,
}

impl Run {
    pub(crate) fn new(loom: &Loom, program: &Program) -> Arc<Self> {
        let regions = program.regions.iter().enumerate().map(|(number, kind)| create(loom, number, kind)).collect();
        let contexts = Contexts::new(loom, &program.contexts);
        let (began, ran, inner) = Default::default();
        Arc::new(Self { loom: loom.clone(), regions, contexts, began, ran, inner })
    }

    /// A body returned, which may run more than once if it `repeats`.
    pub(crate) fn note(&self, task: Id, value: u64, repeats: bool) {
        let mut ran = self.ran.lock().unwrap();
        let before = ran.get(&task).copied();
        assert!(repeats || before.is_none(), "t{task} ran twice");
        ran.insert(task, if repeats { again(before, value) } else { value });
    }

    pub(crate) fn find(&self, piece: &Piece) -> Any {
        let mut found = self.regions[piece.region].clone();
        for (cut, number) in &piece.cuts {
            found = self.cut(&found, cut, *number);
        }
        found
    }

    fn cut(&self, whole: &Any, cut: &Cut, number: usize) -> Any {
        match (whole, cut) {
            (Any::Line(v), Cut::Blocks(n)) => Any::Line(nth(v.blocks(*n), number)),
            (Any::Line(v), Cut::Halos(n, width)) => Any::Line(nth(v.halos(*n, *width), number)),
            (Any::Line(v), Cut::Colours(colours)) => Any::Scattered(nth(v.by_colour(colours), number)),
            (Any::Line(v), Cut::Lists(lists)) => Any::Scattered(nth(v.subsets(lists), number)),
            (Any::Floats(v), Cut::Blocks(n)) => Any::Floats(nth(v.blocks(*n), number)),
            (Any::Matrix(m), Cut::Tiles(rows, columns)) => Any::Matrix(nth(m.tiles(*rows, *columns), number)),
            (Any::Array(a), Cut::Grid(tile)) => Any::Array(nth(a.tiles(*tile), number)),
            _ => unreachable!("{cut:?} does not fit"),
        }
    }

    /// Carries steps out, and returns how those outside of tasks ended. The values that were waited for are mixed in.
    pub(crate) fn ops(self: &Arc<Self>, ops: &[Op], h: &mut u64, scope: &mut Scope) -> BTreeMap<usize, Outcome> {
        let mut looks = BTreeMap::new();
        for (step, op) in ops.iter().enumerate() {
            if matches!(op, Op::Wait(_) | Op::Look(_) | Op::Change(..) | Op::WaitFor(_) | Op::WaitAll) {
                drop(self.contexts.hold());
            }
            match op {
                Op::Task(task) => {
                    let future = self.submit(task, scope);
                    scope.futures.insert(task.id, future);
                }
                Op::Wait(id) => {
                    if let Outcome::Value(value) = scope.wait(*id) {
                        *h = mix(*h, value);
                    }
                }
                Op::Look(piece) => {
                    let mut cells = Vec::new();
                    let outcome = look(&self.find(piece), &mut |x| cells.push(x));
                    let value = cells.iter().fold(0, |h, &x| mix(h, x));
                    looks.insert(step, outcome_of_guard(outcome.map(|()| value)));
                }
                Op::Change(piece, salt) => {
                    let outcome = change(&self.find(piece), &mut |k, x| *x = mix(mix(*x, *salt), k as u64));
                    looks.insert(step, outcome_of_guard(outcome.map(|()| 0)));
                }
                Op::WaitFor(piece) => {
                    // The error of a spoiled region is no matter here.
                    let _ = outcome_of_guard(wait_for(&self.find(piece)).map(|()| 0));
                }
                Op::WaitAll => {
                    // As above.
                    let _ = outcome_of_guard(self.loom.wait_all().map(|()| 0));
                }
                Op::Local { id, len, blocks } => *h = mix(*h, self.local(*id, *len, *blocks)),
                Op::Resize { context, mask } => self.contexts.resize(*context, *mask),
                Op::Empty(context) => self.contexts.empty(*context),
                Op::Delete(context) => self.contexts.delete(*context),
                Op::Plan(plan) => scope.runs.extend(self.plan(plan)),
                Op::OwnContext { id, mask } => self.own_context(*id, *mask, scope.repeats),
            }
        }
        looks
    }

    fn local(&self, id: Id, len: usize, blocks: usize) -> u64 {
        let own = self.loom.vector(format!("own{id}"), vec![0_u64; len]);
        for (b, block) in own.blocks(blocks).unwrap().enumerate() {
            self.loom.task("fill").update(&block).run(move |block| {
                block.iter_mut().enumerate().for_each(|(k, x)| *x = addition(id, b, k));
            });
        }
        let value = self.loom.task("sum").read(&own).returns(move |own| own.iter().fold(id as u64, |h, &x| mix(h, x)));
        let value = value.wait().unwrap();
        assert_eq!(value, local_value(id, len, blocks));
        value
    }

    fn own_context(self: &Arc<Self>, id: Id, mask: u64, repeats: bool) {
        let all = self.loom.worker_ids();
        let own = self.loom.context(format!("own{id}")).workers(masked(&all, mask)).create().unwrap();
        let run = Arc::clone(self);
        self.loom.task("in own").in_context(&own).run(move || run.note(id, mask, repeats));
        own.resize(masked(&all, mask.rotate_left(1))).unwrap();
        own.delete().unwrap();
    }

    /// Submits a task.
    fn submit(self: &Arc<Self>, task: &TaskOf, scope: &Scope) -> Future<u64> {
        let mut described = self.loom.task(format!("t{}", task.id)).priority(task.priority);
        for id in &task.after {
            described = described.after(&scope.futures[id]);
        }
        for id in &task.ends_with {
            described = described.ends_with(&scope.futures[id]);
        }
        let args: Vec<Any> = task.args.iter().map(|(piece, _)| self.find(piece)).collect();
        if let Some(context) = task.context {
            described = described.in_context(self.contexts.get(context));
        }
        let (repeats, executions) = (scope.repeats, AtomicU32::new(0));
        let body = Body { run: Arc::clone(self), task: task.clone(), repeats, executions };
        match task.team {
            None => forms::submit(described, &args, body),
            Some(team) => {
                // A team is refused when its context has no workers just then.
                let _held = self.contexts.hold();
                teams::submit(described, &args, team, body)
            }
        }
    }
}

fn nth<R: Region>(parts: Result<Parts<R>, Error>, number: usize) -> R {
    parts.unwrap().get(number).unwrap()
}

/// The tasks submitted in one place, and what is known about them.
#[derive(Default)]
pub(crate) struct Scope {
    futures: HashMap<Id, Future<u64>>,
    /// Runs of plans.
    runs: Vec<(Id, Future<()>)>,
    /// Whether the tasks may be submitted more than once, as those are of a task that is tried again or replayed.
    repeats: bool,
    pub(crate) outcomes: BTreeMap<Id, Outcome>,
    pub(crate) errors: BTreeMap<Id, String>,
}

impl Scope {
    /// Waits for a task, once.
    pub(crate) fn wait(&mut self, id: Id) -> Outcome {
        if let Some(future) = self.futures.remove(&id) {
            let outcome = future.wait().map_or_else(
                |error| {
                    self.errors.insert(id, error.to_string());
                    error.into()
                },
                Outcome::Value,
            );
            self.outcomes.insert(id, outcome);
        }
        self.outcomes[&id]
    }

    /// Waits for all tasks that were not waited for.
    pub(crate) fn wait_for_rest(&mut self) {
        let mut rest: Vec<Id> = self.futures.keys().copied().collect();
        rest.sort_unstable();
        for id in rest {
            self.wait(id);
        }
        for (id, run) in self.runs.drain(..) {
            self.outcomes.insert(id, plans::outcome_of(run));
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Failed => Outcome::Failed,
            ErrorKind::Panicked => Outcome::Panicked,
            ErrorKind::Cancelled => Outcome::Cancelled,
            ErrorKind::Overlap => Outcome::Overlap,
            ErrorKind::Uninitialised => Outcome::Uninitialised,
            ErrorKind::Team => Outcome::Team,
            ErrorKind::Context => Outcome::Context,
            _ => panic!("{error}"),
        }
    }
}

/// What a task does.
pub(crate) struct Body {
    pub(crate) run: Arc<Run>,
    pub(crate) task: TaskOf,
    /// Whether it runs more than once.
    pub(crate) repeats: bool,
    /// How often it ran.
    pub(crate) executions: AtomicU32,
}

impl Body {
    /// Runs on the views of the task's arguments, in the order of the description.
    pub(crate) fn call(&self, mut slots: Vec<Slot<'_>>) -> Result<u64, String> {
        let task = &self.task;
        assert_eq!(slots.len(), task.args.len(), "t{} has other arguments", task.id);
        self.run.began.lock().unwrap().insert(task.id);
        let mut h = task.id as u64;
        for ((_, mode), slot) in task.args.iter().zip(&mut slots) {
            match (mode, slot) {
                (Mode::Read, Slot::Read(cells)) => cells.each(&mut |x| h = mix(h, x)),
                (Mode::Update, Slot::Change(cells)) => cells.each(&mut |_, x| h = mix(h, *x)),
                (Mode::Sum | Mode::Max, Slot::Change(cells)) => {
                    cells.each(&mut |k, x| assert_eq!(*x, 0, "element {k} of an accumulator of t{}", task.id));
                }
                (Mode::Sum, Slot::Floats(cells)) => {
                    assert!(
                        cells.iter().all(|x| x.to_bits() == (-0.0_f64).to_bits()),
                        "accumulators start with nothing"
                    );
                }
                _ => {}
            }
        }
        if self.begins_to_fail() {
            scribble(&mut slots);
            drop(slots);
            self.submit_children(&mut h);
            return self.fail();
        }
        for (arg, ((_, mode), slot)) in task.args.iter().zip(&mut slots).enumerate() {
            match slot {
                Slot::Change(cells) => cells.each(&mut |k, x| change_element(task.id, arg, *mode, h, k, x)),
                Slot::Floats(cells) => cells.iter_mut().enumerate().for_each(|(k, x)| match mode {
                    Mode::Write => *x = 0.125,
                    _ => *x += float_addition(task.id, arg, k),
                }),
                Slot::Read(_) | Slot::Lent => {}
            }
        }
        drop(slots);
        self.submit_children(&mut h);
        self.run.note(task.id, h, self.repeats);
        Ok(h)
    }

    /// Whether the execution that begins is one that fails.
    pub(crate) fn begins_to_fail(&self) -> bool {
        self.task.fails_in(self.executions.fetch_add(1, Ordering::Relaxed))
    }

    /// Ends as it is the task's fate.
    pub(crate) fn fail(&self) -> Result<u64, String> {
        match self.task.fate {
            // Does not call the hook, which would print.
            Fate::Panics => std::panic::resume_unwind(Box::new(format!("t{} was told to panic", self.task.id))),
            _ => Err(format!("t{} was told to fail", self.task.id)),
        }
    }

    /// Submits the task's children, and mixes in the values that it waits for.
    pub(crate) fn submit_children(&self, h: &mut u64) {
        let mut scope = Scope { repeats: self.repeats || self.task.retries > 0, ..Scope::default() };
        self.run.ops(&self.task.children, h, &mut scope);
        // Which of several runs at the same time is the last one is a matter of chance.
        if !scope.outcomes.is_empty() && !self.repeats {
            self.run.inner.lock().unwrap().extend(scope.outcomes);
        }
    }
}

/// What a task leaves in the log that ran before, whichever execution comes first.
pub(crate) fn again(before: Option<u64>, found: u64) -> u64 {
    before.unwrap_or(0).wrapping_add(mix(found, 7))
}

/// What a task does to element `k` of its argument `arg`.
pub(crate) fn change_element(task: Id, arg: usize, mode: Mode, h: u64, k: usize, x: &mut u64) {
    *x = match mode {
        Mode::Write => mix(mix(h, arg as u64), k as u64),
        Mode::Update => mix(mix(*x, h), k as u64),
        Mode::Max => (*x).max(addition(task, arg, k)),
        _ => x.wrapping_add(addition(task, arg, k)),
    };
}

/// Leaves nonsense behind, which nobody may see.
fn scribble(slots: &mut [Slot<'_>]) {
    for slot in slots {
        match slot {
            Slot::Change(cells) => cells.each(&mut |_, x| *x = 0xDEAD),
            Slot::Floats(cells) => cells.fill(f64::NAN),
            Slot::Read(_) | Slot::Lent => {}
        }
    }
}

macro_rules! of_any {
    ($any:expr, $r:ident => $do:expr) => {
        match $any {
            Any::Line($r) => $do,
            Any::Scattered($r) => $do,
            Any::Matrix($r) => $do,
            Any::Array($r) => $do,
            Any::Value($r) => $do,
            Any::Floats(_) => unreachable!("floats are looked at in the end only"),
        }
    };
}

/// Looks at a piece from outside of tasks.
pub(crate) fn look(piece: &Any, see: &mut dyn FnMut(u64)) -> Result<(), Error> {
    of_any!(piece, r => { r.read()?.view().each(see); });
    Ok(())
}

/// Changes a piece from outside of tasks.
fn change(piece: &Any, to: &mut dyn FnMut(usize, &mut u64)) -> Result<(), Error> {
    of_any!(piece, r => { r.write()?.view_mut().each(to); });
    Ok(())
}

/// What came of a guard. It tells the first failure, which can be of any kind, except for one: these programs never stall.
fn outcome_of_guard(result: Result<u64, Error>) -> Outcome {
    if let Err(error) = &result {
        assert_ne!(error.kind(), ErrorKind::Stalled, "{error}");
    }
    result.map_or(Outcome::Cancelled, Outcome::Value)
}

fn wait_for(piece: &Any) -> Result<(), Error> {
    of_any!(piece, r => r.wait())
}
