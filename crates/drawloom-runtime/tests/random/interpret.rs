//! Carries a description out over plain vectors, one step after the other, without the engine.

use std::collections::BTreeMap;

use crate::program::{
    Fate, Id, Kind, Mode, Op, Piece, Program, TaskOf, addition, elements, float_addition, initial, mix,
};

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
}

impl Outcome {
    fn is_good(self) -> bool {
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
    /// How the tasks ended, those submitted in tasks included, by their name.
    pub(crate) tasks: BTreeMap<Id, Outcome>,
    /// What was seen from outside of tasks, by stream and step.
    pub(crate) looks: BTreeMap<(usize, usize), Outcome>,
}

struct Interpreter<'p> {
    kinds: &'p [Kind],
    meaning: Meaning,
}

/// What a program means.
pub(crate) fn interpret(program: &Program) -> Meaning {
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
    let mut interpreter = Interpreter { kinds: &program.regions, meaning };
    for (number, stream) in program.streams.iter().enumerate() {
        for (step, op) in stream.iter().enumerate() {
            if let Some(outcome) = interpreter.outside(op) {
                interpreter.meaning.looks.insert((number, step), outcome);
            }
        }
    }
    interpreter.meaning
}

impl Interpreter<'_> {
    fn elements(&self, piece: &Piece) -> Vec<usize> {
        elements(self.kinds, piece)
    }

    /// A step outside of tasks.
    fn outside(&mut self, op: &Op) -> Option<Outcome> {
        match op {
            Op::Task(task) => {
                self.task(task);
                None
            }
            Op::Look(piece) => Some(self.bad(piece).unwrap_or_else(|| {
                let contents = &self.meaning.regions[piece.region];
                Outcome::Value(self.elements(piece).iter().fold(0, |h, &i| mix(h, contents.cells[i])))
            })),
            Op::Change(piece, salt) => Some(self.bad(piece).unwrap_or_else(|| {
                for (k, i) in self.elements(piece).into_iter().enumerate() {
                    let cell = &mut self.meaning.regions[piece.region].cells[i];
                    *cell = mix(mix(*cell, *salt), k as u64);
                }
                Outcome::Value(0)
            })),
            Op::Wait(_) | Op::WaitFor(_) | Op::WaitAll => None,
            Op::Local { .. } => unreachable!("only tasks make regions of their own"),
        }
    }

    /// Why a piece cannot be used.
    fn bad(&self, piece: &Piece) -> Option<Outcome> {
        let contents = &self.meaning.regions[piece.region];
        let list = self.elements(piece);
        if list.iter().any(|&i| contents.missing[i]) {
            return Some(Outcome::Uninitialised);
        }
        list.iter().any(|&i| contents.spoiled[i]).then_some(Outcome::Cancelled)
    }

    fn task(&mut self, task: &TaskOf) -> Outcome {
        let outcome = self.run(task);
        if !outcome.is_good() {
            for (piece, _) in task.args.iter().filter(|(_, mode)| mode.mutates()) {
                for i in self.elements(piece) {
                    self.meaning.regions[piece.region].spoiled[i] = true;
                }
            }
        }
        self.meaning.tasks.insert(task.id, outcome);
        outcome
    }

    fn run(&mut self, task: &TaskOf) -> Outcome {
        let lists: Vec<Vec<usize>> = task.args.iter().map(|(piece, _)| self.elements(piece)).collect();
        let missing = self.reads_missing(task, &lists);
        if !missing {
            for ((piece, _), list) in task.args.iter().zip(&lists).filter(|((_, mode), _)| mode.mutates()) {
                list.iter().for_each(|&i| self.meaning.regions[piece.region].missing[i] = false);
            }
        }
        if overlaps(task, &lists) {
            return Outcome::Overlap;
        }
        if missing {
            return Outcome::Uninitialised;
        }
        let spoiled = task.args.iter().zip(&lists).any(|((piece, mode), list)| {
            mode.needs() && !mode.reduces() && list.iter().any(|&i| self.meaning.regions[piece.region].spoiled[i])
        });
        let unfortunate = |id: &Id| self.meaning.tasks.get(id).is_some_and(|o| !o.is_good());
        if spoiled || task.after.iter().any(unfortunate) {
            return Outcome::Cancelled;
        }
        match task.fate {
            Fate::Errs => return Outcome::Failed,
            Fate::Panics => return Outcome::Panicked,
            Fate::Returns => {}
        }
        Outcome::Value(self.body(task, &lists))
    }

    fn reads_missing(&self, task: &TaskOf, lists: &[Vec<usize>]) -> bool {
        task.args.iter().zip(lists).any(|((piece, mode), list)| {
            mode.needs() && list.iter().any(|&i| self.meaning.regions[piece.region].missing[i])
        })
    }

    fn body(&mut self, task: &TaskOf, lists: &[Vec<usize>]) -> u64 {
        let mut h = task.id as u64;
        for ((piece, mode), list) in task.args.iter().zip(lists) {
            if matches!(mode, Mode::Read | Mode::Update) {
                h = list.iter().fold(h, |h, &i| mix(h, self.meaning.regions[piece.region].cells[i]));
            }
        }
        for (arg, ((piece, mode), list)) in task.args.iter().zip(lists).enumerate() {
            let contents = &mut self.meaning.regions[piece.region];
            for (k, &i) in list.iter().enumerate() {
                if let Some(float) = contents.floats.get_mut(i) {
                    match mode {
                        Mode::Write => *float = 0.125,
                        Mode::Sum => *float += float_addition(task.id, arg, k),
                        _ => unreachable!("floats are only written and added to"),
                    }
                }
                let cell = &mut contents.cells[i];
                match mode {
                    Mode::Write => *cell = mix(mix(h, arg as u64), k as u64),
                    Mode::Update => *cell = mix(mix(*cell, h), k as u64),
                    Mode::Commute | Mode::Sum => *cell = cell.wrapping_add(addition(task.id, arg, k)),
                    Mode::Max => *cell = (*cell).max(addition(task.id, arg, k)),
                    _ => {}
                }
                if *mode == Mode::Write || *mode == Mode::LendWrite {
                    contents.spoiled[i] = false;
                }
            }
        }
        for child in &task.children {
            match child {
                Op::Task(child) => {
                    self.task(child);
                }
                Op::Wait(id) => {
                    if let Some(Outcome::Value(value)) = self.meaning.tasks.get(id) {
                        h = mix(h, *value);
                    }
                }
                Op::Local { id, len, blocks } => h = mix(h, local_value(*id, *len, *blocks)),
                _ => unreachable!("tasks do not take guards"),
            }
        }
        h
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
