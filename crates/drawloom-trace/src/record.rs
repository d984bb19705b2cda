//! What a run consisted of: workers, regions and tasks, and the events that refer to them.
//!
//! A trace is a plain value. Whoever records fills it in, [`Trace::sort`] brings it into the order that readers rely on,
//! and [`Trace::check`] says whether its references hold, which everything read from a file must pass.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind};
use crate::event::Event;

/// A name: usually a literal of the program, or text that came from a file.
pub type Text = Cow<'static, str>;

/// Everything that was recorded of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Where the run happened.
    pub machine: MachineRecord,
    /// The workers, by index.
    pub workers: Vec<WorkerRecord>,
    /// The regions, by index.
    pub regions: Vec<RegionRecord>,
    /// The tasks, by ascending number. Numbers may have gaps.
    pub tasks: Vec<TaskRecord>,
    /// The events by time; those of one worker at the same time stay in the order in which they happened.
    pub events: Vec<Event>,
    /// How many events were lost because there was no room for them.
    pub dropped: u64,
}

/// The machine, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MachineRecord {
    /// The processor's name.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "str::is_empty"))]
    pub processor: Text,
    /// The operating system and its version.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "str::is_empty"))]
    pub system: Text,
    /// How many processors this process may use.
    #[cfg_attr(feature = "serde", serde(default))]
    pub cpus: u32,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WorkerRecord {
    /// What people call it.
    pub name: Text,
    /// What it computes with: `cpu`, `cuda` and so on.
    pub kind: Text,
    /// The processor that it is bound to.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub cpu: Option<u32>,
    /// The number of the memory node that it works on.
    #[cfg_attr(feature = "serde", serde(default))]
    pub memory_node: u32,
}

/// A region: the storage that accesses refer to by indices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RegionRecord {
    /// What the user calls it.
    pub name: Text,
    /// How many elements it has.
    pub len: u64,
    /// The user took it out of the inference of orders, so accesses to it require none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_false"))]
    pub unordered: bool,
}

/// A task as it was submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaskRecord {
    /// Its number in submission order, by which events refer to it.
    pub number: u64,
    /// What the user calls it.
    pub name: Text,
    /// The source file that submitted it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "str::is_empty"))]
    pub file: Text,
    /// The line in that file.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_zero"))]
    pub line: u32,
    /// The task that spawned it, when it was not the application.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub parent: Option<u64>,
    /// Its place among what its parent, or the application, submitted.
    #[cfg_attr(feature = "serde", serde(default))]
    pub sequence: u64,
    /// The scheduling context that it belongs to.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "str::is_empty"))]
    pub context: Text,
    /// Greater is more urgent.
    #[cfg_attr(feature = "serde", serde(default))]
    pub priority: i32,
    /// The runtime made it for itself: a fold, a copy.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "is_false"))]
    pub internal: bool,
    /// The tasks that must be complete before it starts, whatever they access.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub after: Vec<u64>,
    /// The tasks without which it does not count as complete.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub ends_with: Vec<u64>,
    /// What it declared to touch.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub accesses: Vec<AccessRecord>,
}

impl TaskRecord {
    /// A task with a number and a name, and nothing else.
    pub fn new(number: u64, name: impl Into<Text>) -> Self {
        Self { number, name: name.into(), ..Self::default() }
    }

    /// Where it was submitted, as `file:line`, when that is known.
    pub fn site(&self) -> Option<String> {
        (!self.file.is_empty()).then(|| format!("{}:{}", self.file, self.line))
    }
}

/// One declared access of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AccessRecord {
    /// The index of the region.
    pub region: u32,
    /// What the task may do with it.
    pub mode: AccessMode,
    /// The indices, as ascending half-open runs that neither meet nor overlap.
    pub runs: Vec<(u64, u64)>,
}

/// What a task may do with what it accesses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AccessMode {
    /// Reads.
    Read,
    /// Overwrites, without regard to what was there.
    Write,
    /// Reads and writes.
    Update,
    /// Contributes with the operator of this name.
    Reduce(Text),
    /// Reads and writes, in any order with other such tasks but never at the same time.
    Commute,
    /// Uses as private space; nothing passes from task to task.
    Scratch,
}

impl AccessMode {
    /// What a task with this access does, in words: `reads`, `reduces (sum)`.
    pub fn verb(&self) -> String {
        match self {
            Self::Read => "reads".to_owned(),
            Self::Write => "writes".to_owned(),
            Self::Update => "updates".to_owned(),
            Self::Reduce(operator) => format!("reduces ({operator})"),
            Self::Commute => "commutes".to_owned(),
            Self::Scratch => "uses as scratch space".to_owned(),
        }
    }
}

impl Trace {
    /// Brings tasks and events into the order that readers rely on.
    ///
    /// Events are sorted by time alone and stably, so those of one worker keep their order when they were appended
    /// as a whole.
    pub fn sort(&mut self) {
        self.tasks.sort_by_key(|task| task.number);
        self.events.sort_by_key(|event| event.time);
    }

    /// The place in `tasks` of the task with this number.
    pub fn position(&self, number: u64) -> Option<usize> {
        // Numbers rarely have gaps, so the first guess is nearly always right.
        let first = self.tasks.first()?.number;
        let guess = usize::try_from(number.checked_sub(first)?).ok();
        if let Some(guess) = guess.filter(|&guess| self.tasks.get(guess).is_some_and(|task| task.number == number)) {
            return Some(guess);
        }
        self.tasks.binary_search_by_key(&number, |task| task.number).ok()
    }

    /// The task with this number.
    pub fn task(&self, number: u64) -> Option<&TaskRecord> {
        self.position(number).map(|position| &self.tasks[position])
    }

    /// The name of a worker, also of one that the trace does not describe.
    pub fn worker_name(&self, worker: u32) -> Cow<'_, str> {
        match self.workers.get(worker as usize) {
            Some(record) => Cow::Borrowed(&record.name),
            None if worker == crate::event::NO_WORKER => Cow::Borrowed("application"),
            None => Cow::Owned(format!("worker {worker}")),
        }
    }

    /// Whether everything that refers to something finds it, and is in the order that readers rely on.
    pub fn check(&self) -> Result<(), Error> {
        let malformed = |message: String| Err(Error::new(ErrorKind::Malformed, message));
        if self.tasks.len() >= u32::MAX as usize {
            return malformed(format!("{} tasks are more than a trace can have", self.tasks.len()));
        }
        for pair in self.tasks.windows(2) {
            if pair[0].number >= pair[1].number {
                return malformed(format!("task {} stands after task {}", pair[1].number, pair[0].number));
            }
        }
        for task in &self.tasks {
            let TaskRecord { number, name, .. } = task;
            if let Some(parent) = task.parent
                && (parent >= *number || self.position(parent).is_none())
            {
                return malformed(format!(
                    "task {number} \"{name}\" has the parent {parent}, which is no earlier task"
                ));
            }
            for access in &task.accesses {
                let Some(region) = self.regions.get(access.region as usize) else {
                    return malformed(format!(
                        "task {number} \"{name}\" accesses the unknown region {}",
                        access.region
                    ));
                };
                let mut free = 0;
                for &(start, end) in &access.runs {
                    if start < free || start >= end || end > region.len {
                        return malformed(format!(
                            "task {number} \"{name}\" accesses region \"{}\" at {start}..{end}, which is empty, out of \
                             order or beyond its {} elements",
                            region.name, region.len
                        ));
                    }
                    free = end;
                }
            }
        }
        match self.events.windows(2).find(|pair| pair[0].time > pair[1].time) {
            Some(pair) => malformed(format!("an event at {} ns stands after one at {} ns", pair[1].time, pair[0].time)),
            None => Ok(()),
        }
    }
}

#[cfg(feature = "serde")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(feature = "serde")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
