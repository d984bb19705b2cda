//! The histories of all regions that the tasks of one scope touch.

use std::collections::HashMap;

use super::family::Touch;
use super::history::{Class, History, Mark};

/// What the tasks of one scope did so far.
pub(crate) struct Scope {
    /// Only regions in which a conflict is possible.
    histories: HashMap<u32, History>,
}

/// What is known of a region before its history is built.
struct Plan {
    cuts: Vec<u64>,
    first: usize,
    class: Class,
    /// More than one task touches it, and not all of them only read or commute or reduce with one operator.
    conflicts: bool,
}

impl Scope {
    /// A scope in which exactly these tasks will be recorded, none yet. Each is given by what it touches.
    pub(crate) fn new<'a>(tasks: impl Iterator<Item = &'a [Touch]>) -> Self {
        Self::with(tasks, |touch| touch.class)
    }

    /// As [`new`](Self::new), with every touch treated as one of another class.
    pub(crate) fn with<'a>(tasks: impl Iterator<Item = &'a [Touch]>, class: impl Fn(&Touch) -> Class) -> Self {
        let mut plans: HashMap<u32, Plan> = HashMap::new();
        for (task, touches) in tasks.enumerate() {
            for touch in touches {
                let class = class(touch);
                let plan = plans.entry(touch.region).or_insert_with(|| Plan {
                    cuts: Vec::new(),
                    first: task,
                    class,
                    conflicts: false,
                });
                // A first task with several classes could hide a conflict behind the first of them.
                plan.conflicts |= plan.class != class || (plan.first != task && class.conflicts(class));
                plan.cuts.extend(touch.runs.iter().flat_map(|&(start, end)| [start, end]));
            }
        }
        plans.retain(|_, plan| plan.conflicts);
        Self { histories: plans.into_iter().map(|(region, plan)| (region, History::new(plan.cuts))).collect() }
    }

    /// The greatest mark among recorded tasks that conflict with this access.
    pub(crate) fn latest(&self, region: u32, class: Class, runs: &[(u64, u64)]) -> Mark {
        let Some(history) = self.histories.get(&region) else { return Mark::NONE };
        runs.iter().fold(Mark::NONE, |latest, &run| latest.max(history.latest(run, class)))
    }

    /// Records an access.
    pub(crate) fn record(&mut self, region: u32, class: Class, runs: &[(u64, u64)], mark: Mark) {
        if let Some(history) = self.histories.get_mut(&region) {
            runs.iter().for_each(|&run| history.record(run, class, mark));
        }
    }
}
