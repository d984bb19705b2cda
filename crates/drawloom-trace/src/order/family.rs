//! Which task spawned which, and what a task touches together with everything it spawned.
//!
//! A scope is what the application, or one task, submitted. Outside of its scope a task is represented by its parent: the
//! parent is complete only when its children are, and what it declared should contain what they touch. Where it does not,
//! this module adds to the parent what its children touch beyond it, so that a conflict with a task elsewhere is still a
//! conflict between two tasks of one scope.

use std::collections::HashMap;

use super::history::Class;
use crate::record::{AccessMode, Trace};

/// Runs of one region that a task accesses in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) region: u32,
    pub(crate) class: Class,
    pub(crate) runs: Vec<(u64, u64)>,
}

/// The scopes of a trace, and what their tasks touch.
pub(crate) struct Family {
    /// The place of the parent of each task.
    pub(crate) parents: Vec<Option<u32>>,
    /// The tasks of each scope in submission order: of task `i` at `i`, of the application last.
    pub(crate) scopes: Vec<Vec<u32>>,
    /// What each task touches together with its children.
    pub(crate) touches: Vec<Vec<Touch>>,
    /// The place of each task in a walk that visits parents before children, and the end of its descendants there.
    walk: Vec<(u32, u32)>,
}

impl Family {
    /// The family of a trace that passed [`Trace::check`].
    pub(crate) fn new(trace: &Trace) -> Self {
        let count = trace.tasks.len();
        let parents: Vec<Option<u32>> = trace
            .tasks
            .iter()
            .map(|task| task.parent.and_then(|parent| trace.position(parent)).map(|place| place as u32))
            .collect();
        let mut scopes = vec![Vec::new(); count + 1];
        for (place, parent) in parents.iter().enumerate() {
            scopes[parent.map_or(count, |parent| parent as usize)].push(place as u32);
        }
        let walk = walk(&parents);
        let touches = touches(trace, &scopes);
        Self { parents, scopes, touches, walk }
    }

    /// Whether a task is another or one of its descendants.
    pub(crate) fn descends(&self, task: usize, ancestor: usize) -> bool {
        let (start, end) = self.walk[ancestor];
        (start..end).contains(&self.walk[task].0)
    }
}

/// Numbers tasks so that the descendants of each are a range. Parents have smaller places than children.
fn walk(parents: &[Option<u32>]) -> Vec<(u32, u32)> {
    let mut sizes = vec![1_u32; parents.len()];
    for place in (0..parents.len()).rev() {
        if let Some(parent) = parents[place] {
            sizes[parent as usize] += sizes[place];
        }
    }
    let mut free = 0;
    let mut walk = vec![(0, 0); parents.len()];
    // The next number free inside of each task's range.
    let mut inside = vec![0; parents.len()];
    for place in 0..parents.len() {
        let next = parents[place].map_or(&mut free, |parent| &mut inside[parent as usize]);
        walk[place] = (*next, *next + sizes[place]);
        *next += sizes[place];
        inside[place] = walk[place].0 + 1;
    }
    walk
}

fn touches(trace: &Trace, scopes: &[Vec<u32>]) -> Vec<Vec<Touch>> {
    let mut operators: HashMap<&str, u32> = HashMap::new();
    let mut touches: Vec<Vec<Touch>> = Vec::with_capacity(trace.tasks.len());
    for task in &trace.tasks {
        let mut own = Vec::with_capacity(task.accesses.len());
        for access in &task.accesses {
            let next = operators.len() as u32;
            let class = match &access.mode {
                AccessMode::Read => Class::Read,
                AccessMode::Write | AccessMode::Update => Class::Write,
                AccessMode::Commute => Class::Commute,
                AccessMode::Reduce(operator) => Class::Reduce(*operators.entry(operator).or_insert(next)),
            };
            own.push(Touch { region: access.region, class, runs: access.runs.clone() });
        }
        touches.push(unite(own));
    }
    // Later tasks first, so that what grandchildren touch has reached the children.
    for parent in (0..trace.tasks.len()).rev().filter(|&parent| !scopes[parent].is_empty()) {
        let granted = Granted::new(&touches[parent]);
        let mut beyond: Vec<Touch> = Vec::new();
        for &child in &scopes[parent] {
            beyond.extend(touches[child as usize].iter().filter_map(|touch| granted.beyond(touch)));
        }
        if !beyond.is_empty() {
            beyond.append(&mut touches[parent]);
            touches[parent] = unite(beyond);
        }
    }
    touches
}

/// Unites touches of the same region and class, so that a task has few however many children it has.
fn unite(mut touches: Vec<Touch>) -> Vec<Touch> {
    touches.retain(|touch| !touch.runs.is_empty());
    touches.sort_by_key(|touch| (touch.region, touch.class));
    let mut united: Vec<Touch> = Vec::with_capacity(touches.len());
    for touch in touches {
        match united.last_mut() {
            Some(last) if (last.region, last.class) == (touch.region, touch.class) => last.runs.extend(touch.runs),
            _ => united.push(touch),
        }
    }
    for touch in &mut united {
        unite_runs(&mut touch.runs);
    }
    united
}

fn unite_runs(runs: &mut Vec<(u64, u64)>) {
    runs.sort_unstable();
    runs.dedup_by(|next, last| {
        let joins = next.0 <= last.1;
        if joins {
            last.1 = last.1.max(next.1);
        }
        joins
    });
}

/// What a parent declared, by what its children may do there.
struct Granted {
    /// By region: where the parent has exclusive access, which grants everything.
    exclusive: HashMap<u32, Vec<(u64, u64)>>,
    /// By region and class, for reads and reductions: where the parent has such access, or exclusive access.
    common: HashMap<(u32, Class), Vec<(u64, u64)>>,
}

impl Granted {
    fn new(touches: &[Touch]) -> Self {
        let mut exclusive: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
        let mut common: HashMap<(u32, Class), Vec<(u64, u64)>> = HashMap::new();
        for Touch { region, class, runs } in touches {
            match class {
                Class::Write | Class::Commute | Class::Fold => exclusive.entry(*region).or_default().extend(runs),
                Class::Read | Class::Reduce(_) => common.entry((*region, *class)).or_default().extend(runs),
            }
        }
        exclusive.values_mut().for_each(unite_runs);
        for ((region, _), runs) in &mut common {
            runs.extend(exclusive.get(region).into_iter().flatten());
            unite_runs(runs);
        }
        Self { exclusive, common }
    }

    /// What is left of an access where the parent granted nothing of the kind.
    fn beyond(&self, touch: &Touch) -> Option<Touch> {
        let granted = self.common.get(&(touch.region, touch.class)).or_else(|| self.exclusive.get(&touch.region));
        let Some(granted) = granted else { return Some(touch.clone()) };
        let mut runs = Vec::new();
        for &(mut start, end) in &touch.runs {
            let reaching = granted.partition_point(|&(_, last)| last <= start);
            for &(first, last) in granted[reaching..].iter().take_while(|&&(first, _)| first < end) {
                if start < first {
                    runs.push((start, first));
                }
                start = last;
            }
            if start < end {
                runs.push((start, end));
            }
        }
        (!runs.is_empty()).then_some(Touch { runs, ..*touch })
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Family, Touch};
    use crate::record::{AccessMode, AccessRecord, RegionRecord, TaskRecord, Trace};

    fn task(number: u64, parent: Option<u64>, accesses: &[(AccessMode, &[(u64, u64)])]) -> TaskRecord {
        let accesses = accesses
            .iter()
            .map(|(mode, runs)| AccessRecord { region: 0, mode: mode.clone(), runs: runs.to_vec() })
            .collect();
        TaskRecord { parent, accesses, ..TaskRecord::new(number, "t") }
    }

    fn family(tasks: Vec<TaskRecord>) -> Family {
        let regions = vec![RegionRecord { name: "u".into(), len: 100 }];
        let trace = Trace { regions, tasks, ..Trace::default() };
        trace.check().unwrap();
        Family::new(&trace)
    }

    #[test]
    fn descendants_are_those_of_the_task_and_of_its_children() {
        let family = family(vec![
            task(0, None, &[]),
            task(1, Some(0), &[]),
            task(2, None, &[]),
            task(3, Some(1), &[]),
            task(4, Some(2), &[]),
            task(5, Some(0), &[]),
        ]);
        let descends = |ancestor| (0..6).filter(|&task| family.descends(task, ancestor)).collect::<Vec<_>>();
        assert_eq!(descends(0), [0, 1, 3, 5]);
        assert_eq!(descends(1), [1, 3]);
        assert_eq!(descends(2), [2, 4]);
        assert_eq!(family.scopes, [vec![1, 5], vec![3], vec![4], vec![], vec![], vec![], vec![0, 2]]);
    }

    #[test]
    fn what_children_touch_beyond_their_parent_is_added_to_it() {
        use AccessMode::{Commute, Read, Update, Write};
        let family = family(vec![
            task(0, None, &[(Read, &[(0, 10)]), (Update, &[(10, 20)])]),
            task(1, Some(0), &[(Read, &[(5, 15)])]),
            task(2, Some(0), &[(Write, &[(12, 13)])]),
            task(3, Some(1), &[(Commute, &[(5, 6)])]),
        ]);
        let touch = |class, runs: &[(u64, u64)]| Touch { region: 0, class, runs: runs.to_vec() };
        let granted = [touch(Class::Read, &[(0, 10)]), touch(Class::Write, &[(10, 20)])];
        assert_eq!(family.touches[0], [&granted[..], &[touch(Class::Commute, &[(5, 6)])]].concat());
        assert_eq!(family.touches[1], [touch(Class::Read, &[(5, 15)]), touch(Class::Commute, &[(5, 6)])]);
    }
}
