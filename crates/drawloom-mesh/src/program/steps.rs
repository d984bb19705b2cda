//! A program as a flat list of steps with jumps: the form that backends run.

use std::sync::Arc;

use super::statement::{Condition, LoopDecl, ScalarDecl, Statement};

/// One step of a program.
#[derive(Clone)]
pub(crate) enum Step {
    /// Runs a loop, by its number.
    Loop(usize),
    Scalar(Arc<ScalarDecl>),
    Jump(usize),
    /// Jumps to another step unless a global is true.
    Unless(Condition, usize),
    /// Starts a repetition: none of its runs is complete.
    Start {
        repeat: usize,
    },
    /// One more run of a repetition is complete. If the repetition is in no other: its number among the statements of the
    /// program.
    Next {
        repeat: usize,
        outermost: Option<usize>,
    },
    /// Sets a global to the number of complete runs of a repetition.
    Show {
        repeat: usize,
        counter: u32,
    },
    /// Jumps to another step when a repetition has had its runs.
    AfterRuns {
        repeat: usize,
        to: usize,
    },
    /// Stops unless a global is finite. The error names the repetitions around it, which have these numbers.
    RequireFinite(u32, Vec<usize>),
    /// The end of the program.
    Stop,
}

/// A program as steps.
pub(crate) struct Steps {
    pub(crate) list: Vec<Step>,
    /// The loops, in the order of the program's text.
    pub(crate) loops: Vec<Arc<LoopDecl>>,
    /// The name of each repetition, and how often it runs.
    pub(crate) repeats: Vec<(Arc<str>, u64)>,
    /// The repetitions that the next statement is in.
    within: Vec<usize>,
    unrolled: u64,
}

/// A repetition that is in no other.
pub(crate) struct Outermost {
    /// Its number among the statements of the program.
    pub(crate) statement: usize,
    /// The step before each of its runs.
    pub(crate) step: usize,
    /// Its number among all repetitions.
    pub(crate) repeat: usize,
}

impl Steps {
    /// The steps of a program. A repetition that is in another one, has no branch in it, and runs at most `unrolled` times
    /// becomes as many copies of its body, without jumps.
    pub(crate) fn new(statements: &[Statement], unrolled: u64) -> Self {
        let (list, loops, repeats, within) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut steps = Self { list, loops, repeats, within, unrolled };
        for (number, statement) in statements.iter().enumerate() {
            steps.statement(statement, Some(number));
        }
        steps.list.push(Step::Stop);
        steps
    }

    /// A repetition that is in no other, by its number among the statements of the program.
    pub(crate) fn outermost_at(&self, statement: usize) -> Outermost {
        let found = self.outermost().into_iter().find(|repeat| repeat.statement == statement);
        found.expect("a checkpoint was compared with the program before it is resumed")
    }

    /// For each repetition of a list, its name and how many of its runs are complete.
    pub(crate) fn progress(&self, within: &[usize], runs: impl Fn(usize) -> u64) -> Vec<(Arc<str>, u64)> {
        within.iter().map(|&repeat| (Arc::clone(&self.repeats[repeat].0), runs(repeat))).collect()
    }

    /// The repetitions that are in no other.
    pub(crate) fn outermost(&self) -> Vec<Outermost> {
        let of = |step: &Step| {
            let Step::Next { repeat, outermost: Some(statement) } = *step else { return None };
            let begins = |step: &Step| matches!(step, Step::AfterRuns { repeat: of, .. } if *of == repeat);
            Some(Outermost { statement, step: self.list.iter().position(begins)?, repeat })
        };
        self.list.iter().filter_map(of).collect()
    }

    /// Whether a statement needs no jumps.
    fn is_unrolled(&self, statement: &Statement) -> bool {
        match statement {
            Statement::Loop(_) | Statement::Scalar(_) | Statement::RequireFinite { .. } => true,
            Statement::Repeat { count, body, .. } => {
                *count <= self.unrolled && body.iter().all(|statement| self.is_unrolled(statement))
            }
            Statement::While { .. } | Statement::If { .. } => false,
        }
    }

    fn block(&mut self, statements: &[Statement]) {
        statements.iter().for_each(|statement| self.statement(statement, None));
    }

    /// Adds a statement; if it is in no other, with its number.
    fn statement(&mut self, statement: &Statement, outermost: Option<usize>) {
        match statement {
            Statement::Loop(decl) => {
                let known = self.loops.iter().position(|known| Arc::ptr_eq(known, decl));
                self.list.push(Step::Loop(known.unwrap_or(self.loops.len())));
                if known.is_none() {
                    self.loops.push(Arc::clone(decl));
                }
            }
            Statement::Scalar(decl) => self.list.push(Step::Scalar(Arc::clone(decl))),
            Statement::RequireFinite { global } => {
                self.list.push(Step::RequireFinite(*global, self.within.clone()));
            }
            Statement::Repeat { name, count, counter, body } => {
                let repeat = self.repeats.len();
                self.repeats.push((Arc::clone(name), *count));
                self.within.push(repeat);
                self.list.push(Step::Start { repeat });
                let show = counter.map(|counter| Step::Show { repeat, counter });
                let run = |steps: &mut Self| {
                    steps.list.extend(show.clone());
                    steps.block(body);
                    steps.list.push(Step::Next { repeat, outermost });
                };
                if outermost.is_none() && self.is_unrolled(statement) {
                    (0..*count).for_each(|_| run(self));
                } else {
                    let again = self.list.len();
                    self.list.push(Step::AfterRuns { repeat, to: 0 });
                    run(self);
                    self.list.push(Step::Jump(again));
                    self.list[again] = Step::AfterRuns { repeat, to: self.list.len() };
                }
                self.list.extend(show);
                self.within.pop();
            }
            Statement::While { condition, body } => {
                let again = self.list.len();
                self.list.push(Step::Unless(*condition, 0));
                self.block(body);
                self.list.push(Step::Jump(again));
                self.list[again] = Step::Unless(*condition, self.list.len());
            }
            Statement::If { condition, then, otherwise } => {
                let branch = self.list.len();
                self.list.push(Step::Unless(*condition, 0));
                self.block(then);
                let skip = self.list.len();
                self.list.push(Step::Jump(0));
                self.list[branch] = Step::Unless(*condition, self.list.len());
                self.block(otherwise);
                self.list[skip] = Step::Jump(self.list.len());
            }
        }
    }
}
