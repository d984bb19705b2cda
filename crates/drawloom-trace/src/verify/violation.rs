//! What the verifier finds, as values.

use std::fmt;

use crate::record::Trace;

/// The rules that a run must keep. What each means stands at the top of [the module](crate::verify).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Conflicting tasks of one scope run in submission order.
    Conflict,
    /// Commuting tasks exclude each other.
    Commute,
    /// Explicit orders hold.
    After,
    /// A task starts after the one that spawned it.
    Parent,
    /// What starts ends.
    Unfinished,
    /// What ends has started.
    Unstarted,
    /// A worker runs one task at a time.
    Worker,
    /// Every task has a record.
    Undescribed,
}

/// A task, as a finding names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReference {
    /// Its number in submission order.
    pub number: u64,
    /// What the user calls it.
    pub name: String,
    /// Where it was submitted, as `file:line`, when that is known.
    pub site: Option<String>,
}

impl TaskReference {
    pub(super) fn new(trace: &Trace, number: u64) -> Self {
        let record = trace.task(number);
        let name = record.map_or_else(String::new, |task| task.name.clone().into_owned());
        Self { number, name, site: record.and_then(|task| task.site()) }
    }
}

impl fmt::Display for TaskReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {} \"{}\"", self.number, self.name)?;
        match &self.site {
            Some(site) => write!(f, " ({site})"),
            None => Ok(()),
        }
    }
}

/// One order that the run did not keep, or one hole in what it recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule that is broken.
    pub rule: Rule,
    /// The task at fault: the one that started too early, that overlaps, that did not end.
    pub task: TaskReference,
    /// The other task, where there is one: it should have come first, or not have run at the same time.
    pub other: Option<TaskReference>,
    /// The region that both touch, and an index of it that they have in common.
    pub place: Option<(String, u64)>,
    /// What each does there, the other task first: `writes`, `reads`.
    pub verbs: Option<(String, String)>,
    /// The worker, where the rule is about one.
    pub worker: Option<String>,
    /// When the task started, or did what it should not.
    pub time: u64,
    /// When the other task was complete; absent when it never was.
    pub other_complete: Option<u64>,
}

impl Violation {
    pub(super) fn new(rule: Rule, task: TaskReference, time: u64) -> Self {
        Self { rule, task, other: None, place: None, verbs: None, worker: None, time, other_complete: None }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, time, .. } = self;
        let worker = self.worker.as_deref().unwrap_or("?");
        match self.rule {
            Rule::Unfinished => return write!(f, "{task} started at {time} ns on {worker} and never ended"),
            Rule::Unstarted => return write!(f, "{task} ended at {time} ns on {worker} without having started there"),
            Rule::Undescribed => return write!(f, "the trace has events of task {} but no record of it", task.number),
            _ => {}
        }
        write!(f, "{task} started at {time} ns")?;
        let Some(other) = &self.other else { return Ok(()) };
        match (self.rule, self.other_complete) {
            (Rule::Parent, _) => write!(f, ", before {other} that spawned it")?,
            (Rule::Worker, Some(end)) => {
                write!(f, " on {worker}, which ran {other} until {end} ns, and is not nested in it")?;
            }
            (_, Some(complete)) => write!(f, ", before {other} was complete at {complete} ns")?,
            (_, None) => write!(f, ", before {other}, which never was complete")?,
        }
        if self.rule == Rule::After {
            write!(f, ", and was told to run after it")?;
        }
        if let (Some((region, index)), Some((first, second))) = (&self.place, &self.verbs) {
            write!(
                f,
                "; at index {index} of region \"{region}\" task {} {first} and task {} {second}",
                other.number, task.number
            )?;
        }
        Ok(())
    }
}

/// What came of the verification of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Every access, explicit order, execution and event that breaks a rule, each with one other task that shows it.
    pub violations: Vec<Violation>,
    /// How many tasks were judged: those that ran and whose times are known.
    pub verified: u64,
    /// How many tasks were not judged because their events were lost.
    pub unverified: u64,
}

impl Report {
    /// Whether nothing is wrong, as far as the trace goes.
    pub fn is_clean(&self) -> bool {
        self.violations.is_empty()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} tasks verified, ", self.verified, self.verified + self.unverified)?;
        match self.violations.as_slice() {
            [] => write!(f, "every order kept"),
            [one] => write!(f, "1 violation: {one}"),
            [first, ..] => write!(f, "{} violations, the first: {first}", self.violations.len()),
        }
    }
}
