//! The checks themselves.

use super::violation::{Report, Rule, TaskReference, Violation};
use crate::error::Error;
use crate::event::NO_WORKER;
use crate::order::family::{Family, Touch};
use crate::order::history::{Class, Mark};
use crate::order::scope::Scope;
use crate::record::{AccessMode, Trace};
use crate::timeline::{Execution, Outcome, Timeline};

/// Never: the completion of a task that did not end although nothing was lost.
const NEVER: u64 = u64::MAX;

/// Derives every order that the trace's accesses and explicit orders require, and finds those that its times contradict.
///
/// The only error is a trace that does not pass [`Trace::check`].
pub fn verify(trace: &Trace) -> Result<Report, Error> {
    trace.check()?;
    let timeline = Timeline::new(trace);
    let family = Family::new(trace);
    let lossy = trace.dropped > 0;
    let complete = completions(trace, &timeline, &family, lossy);
    let mut run = Run { trace, timeline: &timeline, family: &family, complete, lossy, report: Report::default() };
    run.count();
    run.check_records();
    run.check_workers();
    run.check_explicit();
    for scope in &family.scopes {
        run.check_conflicts(scope);
        run.check_commutes(scope);
    }
    Ok(run.report)
}

/// When each task was complete, with its children and what it ends with; absent when it did not run or cannot be known.
fn completions(trace: &Trace, timeline: &Timeline, family: &Family, lossy: bool) -> Vec<Option<u64>> {
    // Who waits for whom to be complete.
    let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); trace.tasks.len()];
    for (place, task) in trace.tasks.iter().enumerate() {
        waiting[place].extend(family.parents[place]);
        for other in task.ends_with.iter().filter_map(|&other| trace.position(other)) {
            waiting[other].push(place as u32);
        }
    }
    // The latest end reaches whoever waits for it, directly or not. Taking ends from the latest on, each task gets its
    // completion from the first one that reaches it, which also settles tasks that wait for each other.
    let own = |place: usize| {
        let times = &timeline.tasks[place];
        times.start.and(times.end.or(if lossy { None } else { Some(NEVER) }))
    };
    let mut latest: Vec<usize> = (0..trace.tasks.len()).filter(|&place| own(place).is_some()).collect();
    latest.sort_by_key(|&place| std::cmp::Reverse(own(place)));
    let mut complete = vec![None; trace.tasks.len()];
    let mut reached = Vec::new();
    for place in latest {
        reached.push(place as u32);
        while let Some(task) = reached.pop() {
            if complete[task as usize].is_none() {
                complete[task as usize] = own(place);
                reached.extend(&waiting[task as usize]);
            }
        }
    }
    // A task that did not run completes nothing, whatever its children did.
    for (place, complete) in complete.iter_mut().enumerate() {
        if own(place).is_none() {
            *complete = None;
        }
    }
    complete
}

struct Run<'a> {
    trace: &'a Trace,
    timeline: &'a Timeline,
    family: &'a Family,
    complete: Vec<Option<u64>>,
    lossy: bool,
    report: Report,
}

impl Run<'_> {
    fn count(&mut self) {
        for (times, complete) in self.timeline.tasks.iter().zip(&self.complete) {
            let known = times.cancelled.is_some() || (times.start.is_some() && complete.is_some());
            match (known, self.lossy, times.start) {
                (true, ..) => self.report.verified += u64::from(times.start.is_some()),
                (false, true, _) | (false, false, Some(_)) => self.report.unverified += 1,
                // It had not started when the trace was taken.
                (false, false, None) => {}
            }
        }
    }

    /// What starts ends, what ends has started, and everything has a record. Lost events excuse all three.
    fn check_records(&mut self) {
        if self.lossy {
            return;
        }
        for execution in self.timeline.executions.iter().filter(|execution| execution.outcome == Outcome::Unknown) {
            let violation = self.violation(Rule::Unfinished, execution.task, execution.start);
            let worker = Some(self.trace.worker_name(execution.worker).into_owned());
            self.report.violations.push(Violation { worker, ..violation });
        }
        for event in &self.timeline.unmatched {
            let violation = self.violation(Rule::Unstarted, event.task, event.time);
            let worker = Some(self.trace.worker_name(event.worker).into_owned());
            self.report.violations.push(Violation { worker, ..violation });
        }
        for &number in &self.timeline.undescribed {
            let violation = self.violation(Rule::Undescribed, number, 0);
            self.report.violations.push(violation);
        }
    }

    /// A worker runs one task at a time, or descendants inside of an ancestor.
    fn check_workers(&mut self) {
        let executions = &self.timeline.executions;
        let mut order: Vec<usize> = (0..executions.len())
            .filter(|&place| executions[place].worker != NO_WORKER && executions[place].outcome != Outcome::Unknown)
            .collect();
        // Executions are in the order of their starts already, and a stable sort keeps it for each worker.
        order.sort_by_key(|&place| executions[place].worker);
        let mut open: Vec<&Execution> = Vec::new();
        for place in order {
            let execution = &executions[place];
            while open.pop_if(|top| top.worker != execution.worker || top.end <= execution.start).is_some() {}
            if let Some(&outer) = open.last()
                && !self.is_inside(execution, outer)
            {
                let violation = self.violation(Rule::Worker, execution.task, execution.start);
                self.report.violations.push(Violation {
                    other: Some(TaskReference::new(self.trace, outer.task)),
                    other_complete: Some(outer.end),
                    worker: Some(self.trace.worker_name(execution.worker).into_owned()),
                    ..violation
                });
            }
            open.push(execution);
        }
    }

    fn is_inside(&self, inner: &Execution, outer: &Execution) -> bool {
        let places = (self.trace.position(inner.task), self.trace.position(outer.task));
        let (Some(task), Some(ancestor)) = places else { return false };
        task != ancestor && self.family.descends(task, ancestor) && inner.end <= outer.end
    }

    /// Explicit orders, and children after the start of their parents.
    fn check_explicit(&mut self) {
        for (place, task) in self.trace.tasks.iter().enumerate() {
            let Some(start) = self.timeline.tasks[place].start else { continue };
            for &other in &task.after {
                let Some(complete) = self.trace.position(other).and_then(|other| self.complete[other]) else {
                    continue;
                };
                if complete > start {
                    let violation = self.violation(Rule::After, task.number, start);
                    self.report.violations.push(Violation {
                        other: Some(TaskReference::new(self.trace, other)),
                        other_complete: (complete != NEVER).then_some(complete),
                        ..violation
                    });
                }
            }
            let Some(parent) = self.family.parents[place] else { continue };
            let early = match self.timeline.tasks[parent as usize].start {
                Some(spawned) => spawned > start,
                None => !self.lossy,
            };
            if early {
                let violation = self.violation(Rule::Parent, task.number, start);
                let parent = self.trace.tasks[parent as usize].number;
                self.report
                    .violations
                    .push(Violation { other: Some(TaskReference::new(self.trace, parent)), ..violation });
            }
        }
    }

    /// Conflicting tasks of one scope, in submission order: the latest completion of any earlier one against each start.
    fn check_conflicts(&mut self, tasks: &[u32]) {
        if tasks.len() < 2 {
            return;
        }
        let mut scope = Scope::new(tasks.iter().map(|&task| self.family.touches[task as usize].as_slice()));
        for &task in tasks {
            let touches = &self.family.touches[task as usize];
            let Some(start) = self.timeline.tasks[task as usize].start else { continue };
            // A contribution is private: what comes after must wait for it, and it waits for nothing.
            for touch in touches.iter().filter(|touch| !matches!(touch.class, Class::Reduce(_))) {
                let folds = self.trace.tasks[task as usize].internal && touch.class == Class::Write;
                let class = if folds { Class::Fold } else { touch.class };
                let latest = scope.latest(touch.region, class, &touch.runs);
                if latest.value > start {
                    self.report_pair(Rule::Conflict, task, touch, latest, start);
                }
            }
            let Some(complete) = self.complete[task as usize] else { continue };
            for touch in touches {
                scope.record(touch.region, touch.class, &touch.runs, Mark { value: complete, task });
            }
        }
    }

    /// Commuting tasks of one scope, in the order of their starts: the bodies of those that started earlier must have ended.
    fn check_commutes(&mut self, tasks: &[u32]) {
        let known = |&task: &u32| {
            let times = &self.timeline.tasks[task as usize];
            Some((times.start?, times.end.or((!self.lossy).then_some(NEVER))?, task))
        };
        let commutes =
            |task: u32| self.family.touches[task as usize].iter().filter(|touch| touch.class == Class::Commute);
        let mut order: Vec<(u64, u64, u32)> =
            tasks.iter().filter(|&&task| commutes(task).next().is_some()).filter_map(known).collect();
        if order.len() < 2 {
            return;
        }
        order.sort_unstable();
        // Among themselves they are treated as writes, which exclude each other.
        let mut scope =
            Scope::with(order.iter().map(|&(.., task)| self.family.touches[task as usize].as_slice()), |_| {
                Class::Write
            });
        for (start, end, task) in order {
            for touch in self.family.touches[task as usize].iter().filter(|touch| touch.class == Class::Commute) {
                let latest = scope.latest(touch.region, Class::Write, &touch.runs);
                if latest.value > start {
                    self.report_pair(Rule::Commute, task, touch, latest, start);
                }
            }
            for touch in self.family.touches[task as usize].iter().filter(|touch| touch.class == Class::Commute) {
                scope.record(touch.region, Class::Write, &touch.runs, Mark { value: end, task });
            }
        }
    }

    fn report_pair(&mut self, rule: Rule, task: u32, touch: &Touch, latest: Mark, start: u64) {
        let other = latest.task as usize;
        let wanted = |class: Class| match rule {
            Rule::Commute => class == Class::Commute,
            _ => class.conflicts(touch.class),
        };
        let touches = &self.family.touches[other];
        let shared = touches
            .iter()
            .filter(|theirs| theirs.region == touch.region && wanted(theirs.class))
            .find_map(|theirs| Some((common_index(&touch.runs, &theirs.runs)?, theirs.class)));
        let region = self.trace.regions[touch.region as usize].name.clone().into_owned();
        let violation = self.violation(rule, self.trace.tasks[task as usize].number, start);
        self.report.violations.push(Violation {
            other: Some(TaskReference::new(self.trace, self.trace.tasks[other].number)),
            verbs: shared.map(|(index, class)| {
                (
                    self.verb(other, touch.region, index, class),
                    self.verb(task as usize, touch.region, index, touch.class),
                )
            }),
            place: shared.map(|(index, _)| (region, index)),
            other_complete: (latest.value != NEVER).then_some(latest.value),
            ..violation
        });
    }

    /// What the task declared to do at an index, or what its children do there when it declared nothing.
    fn verb(&self, task: usize, region: u32, index: u64, class: Class) -> String {
        let contains = |runs: &[(u64, u64)]| {
            let after = runs.partition_point(|&(start, _)| start <= index);
            after > 0 && index < runs[after - 1].1
        };
        let fits = |mode: &AccessMode| {
            matches!(
                (mode, class),
                (AccessMode::Read, Class::Read)
                    | (AccessMode::Write | AccessMode::Update, Class::Write | Class::Fold)
                    | (AccessMode::Commute, Class::Commute)
                    | (AccessMode::Reduce(_), Class::Reduce(_))
            )
        };
        self.trace.tasks[task]
            .accesses
            .iter()
            .find(|access| access.region == region && fits(&access.mode) && contains(&access.runs))
            .map_or_else(
                || {
                    match class {
                        Class::Read => "reads, through a task that it spawned,",
                        Class::Write | Class::Fold => "writes, through a task that it spawned,",
                        Class::Commute => "commutes, through a task that it spawned,",
                        Class::Reduce(_) => "reduces, through a task that it spawned,",
                    }
                    .to_owned()
                },
                |access| access.mode.verb(),
            )
    }

    fn violation(&self, rule: Rule, task: u64, time: u64) -> Violation {
        Violation::new(rule, TaskReference::new(self.trace, task), time)
    }
}

/// An index that both have, the lowest one. Runs are ascending; the fewer are looked up among the more.
fn common_index(one: &[(u64, u64)], two: &[(u64, u64)]) -> Option<u64> {
    let (few, many) = if one.len() <= two.len() { (one, two) } else { (two, one) };
    few.iter().find_map(|&(start, end)| {
        let &(first, _) = many.get(many.partition_point(|&(_, last)| last <= start))?;
        let index = first.max(start);
        (index < end).then_some(index)
    })
}
