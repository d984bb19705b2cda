//! Plans of random programs: how they are recorded and run, and what that means.
//!
//! A plan is a straight part of a program that runs several times, on the regions it was recorded with or on others of the
//! same kind. It means what its tasks mean one after the other, each time, except that what is reduced is folded at the end
//! of each run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use drawloom_runtime::{Future, Plan};

use crate::execute::{Any, Body, Run};
use crate::interpret::{Interpreter, Outcome};
use crate::program::{Id, PlanOf, RunOf, TaskOf};
use crate::{forms, teams};

/// The same plan with a region in the place of another.
fn rebind(plan: &Plan, old: &Any, new: &Any) -> Plan {
    match (old, new) {
        (Any::Line(a), Any::Line(b)) => plan.rebind(a, b),
        (Any::Matrix(a), Any::Matrix(b)) => plan.rebind(a, b),
        (Any::Array(a), Any::Array(b)) => plan.rebind(a, b),
        (Any::Value(a), Any::Value(b)) => plan.rebind(a, b),
        _ => unreachable!("regions are exchanged with others of the same kind"),
    }
    .unwrap()
}

impl Run {
    /// Records a plan, and starts its runs. They are returned in the order of the description.
    pub(crate) fn plan(self: &Arc<Self>, plan: &PlanOf) -> Vec<(Id, Future<()>)> {
        let capture = self.loom.capture(format!("p{}", plan.id));
        let mut steps = BTreeMap::new();
        for task in &plan.tasks {
            let mut described = capture.task(format!("t{}", task.id)).priority(task.priority);
            for id in &task.after {
                described = described.after(steps[id]);
            }
            for id in &task.ends_with {
                described = described.ends_with(steps[id]);
            }
            if let Some(context) = task.context {
                described = described.in_context(self.contexts.get(context));
            }
            let args: Vec<Any> = task.args.iter().map(|(piece, _)| self.find(piece)).collect();
            let body = Body { run: Arc::clone(self), task: task.clone(), repeats: true, executions: AtomicU32::new(0) };
            let step = match task.team {
                Some(team) => teams::record(described, &args, team, body),
                None if task.retries > 0 => forms::recorded_again(described, &args, body),
                None => forms::recorded(described, &args, body),
            };
            steps.insert(task.id, step);
        }
        let recorded = capture.plan().unwrap();
        let mut other = recorded.rebind_all(self, plan);
        let start_one = |plan: &Plan, run: &RunOf| match run.context {
            None => (run.id, plan.start()),
            Some(context) => (run.id, plan.start_in(self.contexts.get(context))),
        };
        let start = |plan: &Plan, runs: &[RunOf]| -> Vec<_> { runs.iter().map(|run| start_one(plan, run)).collect() };
        if plan.together {
            let other = other.get_or_insert_with(|| unreachable!("only plans with other regions run together"));
            return std::thread::scope(|threads| {
                let (theirs, ours): (Vec<RunOf>, Vec<RunOf>) = plan.runs.iter().partition(|run| run.exchanged);
                let second = threads.spawn(move || start(other, &theirs));
                let mut started = start(&recorded, &ours);
                started.extend(second.join().unwrap());
                started
            });
        }
        let started = plan.runs.iter().flat_map(|run| match &other {
            Some(other) if run.exchanged => start(other, &[*run]),
            _ => start(&recorded, &[*run]),
        });
        started.collect()
    }
}

/// Exchanges all regions that are to be.
trait RebindAll {
    fn rebind_all(&self, run: &Run, plan: &PlanOf) -> Option<Plan>;
}

impl RebindAll for Plan {
    fn rebind_all(&self, run: &Run, plan: &PlanOf) -> Option<Plan> {
        let mut other = None;
        for &(from, to) in &plan.instead {
            other = Some(rebind(other.as_ref().unwrap_or(self), &run.regions[from], &run.regions[to]));
        }
        other
    }
}

/// How a run ended.
pub(crate) fn outcome_of(run: Future<()>) -> Outcome {
    run.wait().map_or_else(Outcome::from, |()| Outcome::Value(0))
}

impl Interpreter<'_> {
    /// All runs of a plan.
    pub(crate) fn plan(&mut self, plan: &PlanOf) {
        self.repeats = true;
        for run in &plan.runs {
            let mut tasks = plan.tasks.clone();
            if run.exchanged {
                let exchange = |region: usize| {
                    let other = plan.instead.iter().find(|(from, _)| *from == region);
                    other.map_or(region, |(_, to)| *to)
                };
                tasks.iter_mut().flat_map(|t| &mut t.args).for_each(|(piece, _)| piece.region = exchange(piece.region));
            }
            let outcome = self.plan_run(&tasks);
            self.meaning.tasks.insert(run.id, outcome);
        }
        self.repeats = false;
    }

    fn plan_run(&mut self, tasks: &[TaskOf]) -> Outcome {
        let args = || tasks.iter().flat_map(|task| &task.args);
        for (piece, _) in args() {
            self.settle(piece, None);
        }
        let mut written: BTreeSet<(usize, usize)> = BTreeSet::new();
        for (piece, mode) in args() {
            let places: Vec<_> = self.elements(piece).into_iter().map(|i| (piece.region, i)).collect();
            let missing =
                |place: &(usize, usize)| !written.contains(place) && self.meaning.regions[place.0].missing[place.1];
            if mode.needs() && places.iter().any(missing) {
                // What the run would have written is spoiled, as for any task that is refused.
                for (piece, _) in args().filter(|(_, mode)| mode.mutates()) {
                    for i in self.elements(piece) {
                        self.meaning.regions[piece.region].spoiled[i] = true;
                    }
                }
                return Outcome::Uninitialised;
            }
            if mode.mutates() {
                written.extend(places);
            }
        }
        for (region, i) in written {
            self.meaning.regions[region].missing[i] = false;
        }
        self.open.push(Vec::new());
        let (mut good, mut failed, mut bad) = (true, None, BTreeSet::new());
        for task in tasks {
            for (piece, mode) in &task.args {
                good &= self.settle(piece, mode.reduces().then_some(*mode));
            }
            let (mut outcome, unseen) = self.plan_task(task, &bad);
            if !outcome.is_good() {
                self.spoil(task);
            } else if !unseen.is_empty() {
                // What it wrote itself is as good as ever.
                outcome = Outcome::Failed;
            }
            if !outcome.is_good() {
                bad.insert(task.id);
                good = false;
            }
            if matches!(outcome, Outcome::Failed | Outcome::Panicked | Outcome::Team) {
                failed.get_or_insert(outcome);
            }
        }
        good &= self.close_scope();
        // A run that only suffers from what failed before it has no failure of its own.
        failed.unwrap_or(if good { Outcome::Value(0) } else { Outcome::Cancelled })
    }

    /// How a task of a run ends, and which of its children failed unseen.
    fn plan_task(&mut self, task: &TaskOf, bad: &BTreeSet<Id>) -> (Outcome, BTreeSet<Id>) {
        let lists: Vec<Vec<usize>> = task.args.iter().map(|(piece, _)| self.elements(piece)).collect();
        if self.lacks_workers(task) {
            return (Outcome::Team, BTreeSet::new());
        }
        if self.reads_spoiled(task, &lists) || task.after.iter().any(|id| bad.contains(id)) {
            return (Outcome::Cancelled, BTreeSet::new());
        }
        let mut executions = self.executions.get(&task.id).copied().unwrap_or(0);
        let ended = self.attempts(task, &lists, &mut executions);
        self.executions.insert(task.id, executions);
        ended
    }
}
