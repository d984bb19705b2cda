//! The longest chain of tasks that must follow each other: no number of workers makes the run shorter than that.
//!
//! It is the sweep of the verifier with lengths for times: a task finishes as early as the latest of the tasks that it
//! must wait for, plus its own length. A task with children finishes when the last of them does. Explicit orders count
//! between tasks of one scope; an order between two families is left out, so the result is a lower bound.

use super::family::Family;
use super::history::Mark;
use super::scope::Scope;
use crate::record::Trace;
use crate::timeline::{TaskTimes, Timeline};

/// The critical path of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CriticalPath {
    /// Its length in nanoseconds.
    pub(crate) length: u64,
    /// The places of the tasks on it that the application submitted, in order.
    pub(crate) tasks: Vec<u32>,
}

/// The critical path of a trace that passed [`Trace::check`].
pub(crate) fn critical_path(trace: &Trace, timeline: &Timeline) -> CriticalPath {
    let family = Family::new(trace);
    // How long each task takes when nothing outside of it holds it up.
    let mut lengths: Vec<u64> = timeline
        .tasks
        .iter()
        .zip(&family.scopes)
        .map(
            |(times, children)| {
                if children.is_empty() { duration(times) } else { times.busy / u64::from(times.executions.max(1)) }
            },
        )
        .collect();
    // Children have greater places than their parents, so their lengths are final when the parent's turn comes.
    for parent in (0..trace.tasks.len()).rev().filter(|&parent| !family.scopes[parent].is_empty()) {
        let inside = longest(trace, &family, &family.scopes[parent], &lengths).0;
        lengths[parent] = lengths[parent].max(inside);
    }
    let (length, tasks) = longest(trace, &family, &family.scopes[trace.tasks.len()], &lengths);
    CriticalPath { length, tasks }
}

fn duration(times: &TaskTimes) -> u64 {
    times.end.zip(times.start).map_or(0, |(end, start)| end.saturating_sub(start))
}

/// The longest chain among the tasks of one scope.
fn longest(trace: &Trace, family: &Family, tasks: &[u32], lengths: &[u64]) -> (u64, Vec<u32>) {
    let mut scope = Scope::new(tasks.iter().map(|&task| family.touches[task as usize].as_slice()));
    // For each task of the scope, in their order: when it finishes, and whom it waited for.
    let mut finish: Vec<Mark> = Vec::with_capacity(tasks.len());
    for &task in tasks {
        let touches = &family.touches[task as usize];
        let mut latest = Mark::NONE;
        for touch in touches {
            latest = latest.max(scope.latest(touch.region, touch.class, &touch.runs));
        }
        for other in trace.tasks[task as usize].after.iter().filter_map(|&other| trace.position(other)) {
            if let Ok(place) = tasks[..finish.len()].binary_search(&(other as u32)) {
                latest = latest.max(Mark { value: finish[place].value, task: other as u32 });
            }
        }
        let value = latest.value.saturating_add(lengths[task as usize]);
        finish.push(Mark { value, task: latest.task });
        for touch in touches {
            scope.record(touch.region, touch.class, &touch.runs, Mark { value, task });
        }
    }
    let last = (0..tasks.len()).rev().max_by_key(|&place| finish[place].value);
    let length = last.map_or(0, |last| finish[last].value);
    let chain = std::iter::successors(last, |&place| tasks.binary_search(&finish[place].task).ok());
    let mut chain: Vec<u32> = chain.map(|place| tasks[place]).collect();
    chain.reverse();
    (length, chain)
}

#[cfg(test)]
mod tests {
    use super::{CriticalPath, critical_path};
    use crate::event::{Event, EventKind};
    use crate::record::{AccessMode, AccessRecord, RegionRecord, TaskRecord, Trace};
    use crate::timeline::Timeline;

    /// Tasks of these lengths, each with one access to its index or to all, run one after the other.
    fn path(tasks: &[(u64, AccessMode, Option<u64>)], change: impl FnOnce(&mut Trace)) -> CriticalPath {
        let mut trace = Trace { regions: vec![RegionRecord { name: "u".into(), len: 9 }], ..Trace::default() };
        let mut time = 0;
        for (number, (length, mode, index)) in (0..).zip(tasks) {
            let runs = vec![index.map_or((0, 9), |index| (index, index + 1))];
            let accesses = vec![AccessRecord { region: 0, mode: mode.clone(), runs }];
            trace.tasks.push(TaskRecord { accesses, ..TaskRecord::new(number, "t") });
            trace.events.push(Event::of_task(time, EventKind::Start, number, 0));
            time += length;
            trace.events.push(Event::of_task(time, EventKind::End, number, 0));
        }
        change(&mut trace);
        trace.check().unwrap();
        critical_path(&trace, &Timeline::new(&trace))
    }

    #[test]
    fn the_longest_chain_of_conflicts_counts_and_not_the_sum() {
        use AccessMode::{Read, Update, Write};
        let tasks =
            [(10, Write, Some(0)), (50, Write, Some(1)), (5, Read, None), (20, Read, Some(0)), (7, Update, Some(0))];
        assert_eq!(path(&tasks, |_| ()), CriticalPath { length: 62, tasks: vec![1, 2, 4] });
        let longer = path(&tasks, |trace| trace.tasks[3].after.push(2));
        assert_eq!(longer, CriticalPath { length: 82, tasks: vec![1, 2, 3, 4] });
    }

    #[test]
    fn children_on_the_path_count_inside_of_their_parent() {
        use AccessMode::{Read, Update};
        let tasks = [(3, Update, None), (10, Update, Some(1)), (20, Update, Some(2)), (4, Read, Some(8))];
        let found = path(&tasks, |trace| {
            trace.tasks[1].parent = Some(0);
            trace.tasks[2].parent = Some(0);
        });
        assert_eq!(found, CriticalPath { length: 24, tasks: vec![0, 3] });
    }

    #[test]
    fn an_empty_trace_has_an_empty_path() {
        assert_eq!(path(&[], |_| ()), CriticalPath::default());
    }
}
