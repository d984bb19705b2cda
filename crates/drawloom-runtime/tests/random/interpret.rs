//! Carries a description out over plain vectors, one step after the other, without the engine.

use std::collections::{BTreeMap, BTreeSet};

use crate::execute::again;
use crate::layout::elements;
use crate::program::{Cut, Fate, Id, Kind, Mode, Op, Piece, Program, TaskOf, addition, float_addition, initial, mix};

/// How a task, or an access from outside, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With this value.
    Value(u64),
    Failed,
    Panicked,
    Cancelled,
    Overlap,
    Uninitialised,
    /// There are too few workers for its team.
    Team,
    /// Its context was deleted.
    Context,
}

impl Outcome {
    pub(crate) fn is_good(self) -> bool {
        matches!(self, Outcome::Value(_))
    }
}

/// What a region holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    pub(crate) cells: Vec<u64>,
    pub(crate) floats: Vec<f64>,
    /// Elements that were never written.
    pub(crate) missing: Vec<bool>,
    /// Elements that a failed task should have written.
    pub(crate) spoiled: Vec<bool>,
}

/// Everything that can be seen of a program's run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meaning {
    pub(crate) regions: Vec<Contents>,
    /// How the tasks ended, by their name. An engine knows it of those that someone waited for.
    pub(crate) tasks: BTreeMap<Id, Outcome>,
    /// What the bodies that returned found, by task.
    pub(crate) ran: BTreeMap<Id, u64>,
    /// What the failures said, for messages.
    pub(crate) errors: BTreeMap<Id, String>,
    /// What was seen from outside of tasks, by stream and step.
    pub(crate) looks: BTreeMap<(usize, usize), Outcome>,
}

pub(crate) struct Interpreter<'p> {
    kinds: &'p [Kind],
    pub(crate) meaning: Meaning,
    /// The reductions that were not folded yet, in the order in which they were begun, of each scope; the innermost last.
    pub(crate) open: Vec<Vec<Reduction>>,
    /// How often the bodies of plans ran.
    pub(crate) executions: BTreeMap<Id, u32>,
    /// The tasks of each scope that failed and that nobody looked at; the innermost last.
    unseen: Vec<BTreeSet<Id>>,
    /// Whether tasks may run more than once: those of plans, and the children of tasks that are tried again.
    pub(crate) repeats: bool,
    /// The contexts that were deleted.
    deleted: BTreeSet<usize>,
    /// How many workers there are, unless as many as anyone wants.
    workers: Option<usize>,
    /// The tasks that began to run, where others were cancelled.
    began: Option<&'p BTreeSet<Id>>,
}

/// Contributions to a piece.
pub(crate) struct Reduction {
    piece: Piece,
    list: Vec<usize>,
    mode: Mode,
    contributions: Vec<Vec<Number>>,
    /// Whether a task failed that should have contributed.
    spoiled: bool,
}

/// An element of either type.
#[derive(Clone, Copy)]
enum Number {
    Whole(u64),
    Float(f64),
}

/// Whether two lists of elements have one in common.
fn shares(a: &[usize], b: &[usize]) -> bool {
    a.iter().any(|i| b.contains(i))
}

fn fold(mode: Mode, a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Float(a), Number::Float(b)) => Number::Float(a + b),
        (Number::Whole(a), Number::Whole(b)) if mode == Mode::Max => Number::Whole(a.max(b)),
        (Number::Whole(a), Number::Whole(b)) => Number::Whole(a.wrapping_add(b)),
        _ => unreachable!("a region has elements of one type"),
    }
}

/// Folds a list in the canonical order: neighbours first, as in a tournament, and what is left over from the last to the
/// first.
fn tournament(mode: Mode, list: &[Number]) -> Number {
    let largest = 1 << list.len().ilog2();
    let (whole, rest) = list.split_at(largest);
    let sum = match whole {
        [only] => *only,
        _ => {
            let (left, right) = whole.split_at(largest / 2);
            fold(mode, tournament(mode, left), tournament(mode, right))
        }
    };
    if rest.is_empty() { sum } else { fold(mode, sum, tournament(mode, rest)) }
}

/// What a program means, with so many workers, or as many as anyone wants. Where tasks were cancelled, it depends on which
/// ones began before.
pub(crate) fn interpret(program: &Program, workers: Option<usize>, began: Option<&BTreeSet<Id>>) -> Meaning {
    let regions = program.regions.iter().enumerate().map(|(number, kind)| {
        let stored = kind.stored();
        let missing = matches!(kind, Kind::Vector { contents: false, .. });
        Contents {
            cells: (0..stored).map(|i| if missing { 0 } else { initial(number, i) }).collect(),
            floats: if matches!(kind, Kind::Floats { .. }) { vec![0.25; stored] } else { Vec::new() },
            missing: vec![missing; stored],
            spoiled: vec![false; stored],
        }
    });
    let meaning = Meaning { regions: regions.collect(), ..Meaning::default() };
    let mut interpreter = Interpreter {
        kinds: &program.regions,
        meaning,
        open: vec![Vec::new()],
        executions: BTreeMap::new(),
        unseen: vec![BTreeSet::new()],
        repeats: false,
        deleted: BTreeSet::new(),
        workers,
        began,
    };
    for (number, stream) in program.streams.iter().enumerate() {
        for (step, op) in stream.iter().enumerate() {
            if let Some(outcome) = interpreter.outside(op) {
                interpreter.meaning.looks.insert((number, step), outcome);
            }
        }
    }
    for piece in smallest_pieces(&program.regions) {
        interpreter.settle(&piece, None);
    }
    interpreter.meaning
}

/// The pieces in which contents are looked at in the end: one bad element makes a whole piece unreadable.
pub(crate) fn smallest_pieces(kinds: &[Kind]) -> Vec<Piece> {
    let of_region = |(region, kind): (usize, &Kind)| -> Vec<Piece> {
        let (cut, count) = match kind {
            Kind::Value | Kind::Floats { .. } => return vec![Piece { region, cuts: Vec::new() }],
            Kind::Vector { len, .. } => (Cut::Blocks((*len).max(1)), *len),
            Kind::Matrix { rows, columns, .. } => (Cut::Tiles(1, 1), rows * columns),
            Kind::Array { extents } => (Cut::Grid([1, 1, 1]), extents.iter().product()),
        };
        (0..count).map(|i| Piece { region, cuts: vec![(cut.clone(), i)] }).collect()
    };
    kinds.iter().enumerate().flat_map(of_region).collect()
}

impl Interpreter<'_> {
    pub(crate) fn elements(&self, piece: &Piece) -> Vec<usize> {
        elements(self.kinds, piece)
    }

    /// A step outside of tasks.
    fn outside(&mut self, op: &Op) -> Option<Outcome> {
        match op {
            Op::Task(task) => {
                self.task(task);
                None
            }
            Op::Look(piece) => Some(self.settle_and_find_bad(piece).unwrap_or_else(|| {
                let contents = &self.meaning.regions[piece.region];
                Outcome::Value(self.elements(piece).iter().fold(0, |h, &i| mix(h, contents.cells[i])))
            })),
            Op::Change(piece, salt) => Some(self.settle_and_find_bad(piece).unwrap_or_else(|| {
                for (k, i) in self.elements(piece).into_iter().enumerate() {
                    let cell = &mut self.meaning.regions[piece.region].cells[i];
                    *cell = mix(mix(*cell, *salt), k as u64);
                }
                Outcome::Value(0)
            })),
            Op::WaitFor(piece) => {
                self.settle(piece, None);
                None
            }
            Op::Delete(context) => {
                self.deleted.insert(*context);
                None
            }
            Op::Plan(plan) => {
                self.plan(plan);
                None
            }
            Op::Wait(_) | Op::WaitAll | Op::Resize { .. } | Op::Empty(_) => None,
            Op::Local { .. } | Op::OwnContext { .. } => unreachable!("only tasks make regions of their own"),
        }
    }

    /// Folds what was contributed to a piece. Returns something when the piece cannot be seen.
    fn settle_and_find_bad(&mut self, piece: &Piece) -> Option<Outcome> {
        self.settle(piece, None);
        let contents = &self.meaning.regions[piece.region];
        let bad = |&i: &usize| contents.missing[i] || contents.spoiled[i];
        self.elements(piece).iter().any(bad).then_some(Outcome::Cancelled)
    }

    /// Folds the reductions that an access ends: those that overlap it, unless it contributes to them. False when one of
    /// them cannot be folded.
    pub(crate) fn settle(&mut self, piece: &Piece, contributes: Option<Mode>) -> bool {
        let list = self.elements(piece);
        let ends = |open: &Reduction| {
            let overlaps = open.piece.region == piece.region && shares(&open.list, &list);
            (overlaps || open.piece == *piece) && contributes != Some(open.mode)
        };
        let ended: Vec<Piece> = self.scope().iter().filter(|open| ends(open)).map(|open| open.piece.clone()).collect();
        let bad = ended.iter().filter(|piece| !self.close(piece)).count();
        bad == 0
    }

    /// Folds everything that is left in a scope, and ends it. False when something cannot be folded.
    pub(crate) fn close_scope(&mut self) -> bool {
        let mut good = true;
        while let Some(open) = self.scope().first() {
            let piece = open.piece.clone();
            good &= self.close(&piece);
        }
        self.open.pop();
        good
    }

    fn close(&mut self, piece: &Piece) -> bool {
        let Some(at) = self.scope().iter().position(|open| open.piece == *piece) else { return true };
        let reduction = self.scope().remove(at);
        // What overlaps and was begun before is folded before.
        let overlaps = |open: &&Reduction| open.piece.region == piece.region && shares(&open.list, &reduction.list);
        let before: Vec<Piece> = self.scope()[..at].iter().filter(overlaps).map(|open| open.piece.clone()).collect();
        let good = before.iter().filter(|piece| !self.close(piece)).count() == 0;
        let Reduction { list, mode, contributions, spoiled, .. } = reduction;
        let contents = &mut self.meaning.regions[piece.region];
        if spoiled || list.iter().any(|&i| contents.spoiled[i]) {
            list.iter().for_each(|&i| contents.spoiled[i] = true);
            return false;
        }
        for (k, &i) in list.iter().enumerate() {
            let column: Vec<Number> = contributions.iter().map(|c| c[k]).collect();
            match tournament(mode, &column) {
                Number::Float(x) => contents.floats[i] += x,
                sum => {
                    let Number::Whole(x) = fold(mode, Number::Whole(contents.cells[i]), sum) else { unreachable!() };
                    contents.cells[i] = x;
                }
            }
        }
        good
    }

    fn scope(&mut self) -> &mut Vec<Reduction> {
        self.open.last_mut().expect("there is always a scope")
    }

    /// The reduction that a contribution belongs to.
    fn reduction(&mut self, piece: &Piece, mode: Mode) -> &mut Reduction {
        let list = self.elements(piece);
        let scope = self.scope();
        let at = scope.iter().position(|open| open.piece == *piece).unwrap_or_else(|| {
            scope.push(Reduction { piece: piece.clone(), list, mode, contributions: Vec::new(), spoiled: false });
            scope.len() - 1
        });
        &mut scope[at]
    }

    fn task(&mut self, task: &TaskOf) {
        for (piece, mode) in &task.args {
            self.settle(piece, mode.reduces().then_some(*mode));
        }
        let (mut outcome, unseen) = self.run(task);
        if !outcome.is_good() {
            self.spoil(task);
            // Its children's failures are nobody's business but of the next one outwards.
            self.scope_unseen().extend(unseen);
        } else if !unseen.is_empty() {
            // What it wrote itself is as good as ever.
            outcome = Outcome::Failed;
        }
        if !matches!(outcome, Outcome::Value(_) | Outcome::Cancelled) {
            self.scope_unseen().insert(task.id);
        }
        self.meaning.tasks.insert(task.id, outcome);
    }

    fn scope_unseen(&mut self) -> &mut BTreeSet<Id> {
        self.unseen.last_mut().expect("there is always a scope")
    }

    pub(crate) fn spoil(&mut self, task: &TaskOf) {
        for (piece, mode) in task.args.iter().filter(|(_, mode)| mode.mutates()) {
            if mode.reduces() {
                self.reduction(piece, *mode).spoiled = true;
                continue;
            }
            for i in self.elements(piece) {
                self.meaning.regions[piece.region].spoiled[i] = true;
            }
        }
    }

    /// How a task's own body ends, and which of its children failed unseen.
    fn run(&mut self, task: &TaskOf) -> (Outcome, BTreeSet<Id>) {
        let lists: Vec<Vec<usize>> = task.args.iter().map(|(piece, _)| self.elements(piece)).collect();
        let missing = self.reads_missing(task, &lists);
        if !missing {
            for ((piece, _), list) in task.args.iter().zip(&lists).filter(|((_, mode), _)| mode.mutates()) {
                list.iter().for_each(|&i| self.meaning.regions[piece.region].missing[i] = false);
            }
        }
        if let Some(outcome) = self.reason_not_to_run(task, &lists, missing) {
            return (outcome, BTreeSet::new());
        }
        if self.began.is_some_and(|began| !began.contains(&task.id)) {
            return (Outcome::Cancelled, BTreeSet::new());
        }
        self.attempts(task, &lists, &mut 0)
    }

    /// What becomes of a task that may run, and which of its children failed unseen. The body is tried again until it
    /// succeeds, or has failed too often; `executions` counts how often it ran.
    pub(crate) fn attempts(
        &mut self,
        task: &TaskOf,
        lists: &[Vec<usize>],
        executions: &mut u32,
    ) -> (Outcome, BTreeSet<Id>) {
        for attempt in 0..=task.retries {
            *executions += 1;
            if !task.fails_in(*executions - 1) {
                let (h, unseen) = self.body(task, lists);
                self.note(task.id, h);
                return (Outcome::Value(h), unseen);
            }
            for ((piece, _), list) in task.args.iter().zip(lists).filter(|((_, mode), _)| *mode == Mode::LendWrite) {
                list.iter().for_each(|&i| self.meaning.regions[piece.region].spoiled[i] = false);
            }
            let unseen = self.children(task, &mut 0);
            if attempt == task.retries {
                return (if task.fate == Fate::Errs { Outcome::Failed } else { Outcome::Panicked }, unseen);
            }
            // The children of an attempt that is given up have done what they could, and concern nobody.
        }
        unreachable!("the last attempt is the last")
    }

    /// A body returned.
    pub(crate) fn note(&mut self, task: Id, value: u64) {
        let before = self.meaning.ran.get(&task).copied();
        self.meaning.ran.insert(task, if self.repeats { again(before, value) } else { value });
    }

    fn reason_not_to_run(&self, task: &TaskOf, lists: &[Vec<usize>], missing: bool) -> Option<Outcome> {
        if task.context.is_some_and(|context| self.deleted.contains(&context)) {
            return Some(Outcome::Context);
        }
        if self.lacks_workers(task) {
            return Some(Outcome::Team);
        }
        if overlaps(task, lists) {
            return Some(Outcome::Overlap);
        }
        if missing {
            return Some(Outcome::Uninitialised);
        }
        let unfortunate = |id: &Id| self.meaning.tasks.get(id).is_some_and(|o| !o.is_good());
        (self.reads_spoiled(task, lists) || task.after.iter().any(unfortunate)).then_some(Outcome::Cancelled)
    }

    /// Whether there are too few workers for the team of a task.
    pub(crate) fn lacks_workers(&self, task: &TaskOf) -> bool {
        task.team.is_some_and(|team| self.workers.is_some_and(|workers| team.least as usize > workers))
    }

    pub(crate) fn reads_spoiled(&self, task: &TaskOf, lists: &[Vec<usize>]) -> bool {
        task.args.iter().zip(lists).any(|((piece, mode), list)| {
            mode.needs() && !mode.reduces() && list.iter().any(|&i| self.meaning.regions[piece.region].spoiled[i])
        })
    }

    fn reads_missing(&self, task: &TaskOf, lists: &[Vec<usize>]) -> bool {
        task.args.iter().zip(lists).any(|((piece, mode), list)| {
            mode.needs() && list.iter().any(|&i| self.meaning.regions[piece.region].missing[i])
        })
    }

    fn body(&mut self, task: &TaskOf, lists: &[Vec<usize>]) -> (u64, BTreeSet<Id>) {
        let mut h = task.id as u64;
        for ((piece, mode), list) in task.args.iter().zip(lists) {
            if matches!(mode, Mode::Read | Mode::Update) {
                h = list.iter().fold(h, |h, &i| mix(h, self.meaning.regions[piece.region].cells[i]));
            }
        }
        for (arg, ((piece, mode), list)) in task.args.iter().zip(lists).enumerate() {
            if mode.reduces() {
                let is_float = !self.meaning.regions[piece.region].floats.is_empty();
                let part = |k| match is_float {
                    true => Number::Float(float_addition(task.id, arg, k)),
                    false => Number::Whole(addition(task.id, arg, k)),
                };
                let contribution = (0..list.len()).map(part).collect();
                self.reduction(piece, *mode).contributions.push(contribution);
                continue;
            }
            let contents = &mut self.meaning.regions[piece.region];
            for (k, &i) in list.iter().enumerate() {
                if let Some(float) = contents.floats.get_mut(i) {
                    assert_eq!(*mode, Mode::Write, "floats are only written and added to");
                    *float = 0.125;
                }
                let cell = &mut contents.cells[i];
                match mode {
                    Mode::Write => *cell = mix(mix(h, arg as u64), k as u64),
                    Mode::Update => *cell = mix(mix(*cell, h), k as u64),
                    Mode::Commute => *cell = cell.wrapping_add(addition(task.id, arg, k)),
                    _ => {}
                }
                if *mode == Mode::Write || *mode == Mode::LendWrite {
                    contents.spoiled[i] = false;
                }
            }
        }
        let unseen = self.children(task, &mut h);
        (h, unseen)
    }

    /// What a task submits. The values that it waits for are mixed in. Returns who failed unseen.
    fn children(&mut self, task: &TaskOf, h: &mut u64) -> BTreeSet<Id> {
        self.open.push(Vec::new());
        self.unseen.push(BTreeSet::new());
        let outside = self.repeats;
        self.repeats |= task.retries > 0;
        for op in &task.children {
            match op {
                Op::Task(child) => self.task(child),
                Op::Wait(id) => {
                    if let Some(Outcome::Value(value)) = self.meaning.tasks.get(id) {
                        *h = mix(*h, *value);
                    }
                    self.scope_unseen().remove(id);
                }
                Op::Local { id, len, blocks } => *h = mix(*h, local_value(*id, *len, *blocks)),
                Op::OwnContext { id, mask } => {
                    self.note(*id, *mask);
                }
                Op::Resize { .. } => {}
                _ => unreachable!("tasks do not {op:?}"),
            }
        }
        self.repeats = outside;
        self.close_scope();
        self.unseen.pop().expect("it was pushed above")
    }
}

/// What the region of a task's own holds in the end.
pub(crate) fn local_value(id: Id, len: usize, blocks: usize) -> u64 {
    let per_block = (0..blocks).flat_map(|b| {
        let size = len / blocks + usize::from(b < len % blocks);
        (0..size).map(move |k| addition(id, b, k))
    });
    per_block.fold(id as u64, mix)
}

fn overlaps(task: &TaskOf, lists: &[Vec<usize>]) -> bool {
    (0..lists.len()).any(|i| {
        (0..i).any(|j| {
            let ((p, m), (q, n)) = (&task.args[i], &task.args[j]);
            p.region == q.region && (m.mutates() || n.mutates()) && lists[i].iter().any(|x| lists[j].contains(x))
        })
    })
}
