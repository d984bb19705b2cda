//! Events put together again: when each task was submitted, became ready and ran, and when each worker was idle.
//!
//! A worker's events are properly nested: a task that waits runs its children inside of its own interval. So one pass over
//! the events with a stack for each worker finds every execution. Lost events leave executions open or ends without a
//! start; both are kept apart instead of being guessed.

use std::collections::HashMap;

use crate::event::{Event, EventKind, IdleReason};
use crate::record::Trace;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The body returned.
    Ended,
    /// The body panicked or returned an error.
    Failed,
    /// It was cancelled on the way.
    Cancelled,
    /// The trace does not say.
    Unknown,
}

impl Outcome {
    /// The outcome in one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }
}

/// One run of the body of a task on one worker. A team task has one for each member, a retried task one for each attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The number of the task.
    pub task: u64,
    /// The worker, or [`NO_WORKER`](crate::NO_WORKER).
    pub worker: u32,
    /// When the body started.
    pub start: u64,
    /// When it ended; the end of the trace when that is unknown.
    pub end: u64,
    /// Nanoseconds between the two in which the same worker ran other tasks, children that this one waited for, or was
    /// idle.
    pub nested: u64,
    /// How it ended.
    pub outcome: Outcome,
}

impl Execution {
    /// Nanoseconds from start to end.
    pub fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Nanoseconds from start to end without what the same worker ran in between, and without waiting.
    pub fn own(&self) -> u64 {
        self.duration().saturating_sub(self.nested)
    }
}

/// A stretch of time in which a worker executed nothing, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The worker.
    pub worker: u32,
    /// Why, when the trace gives a reason that is known.
    pub reason: Option<IdleReason>,
    /// When it began.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

impl Idle {
    /// Nanoseconds from start to end.
    pub fn duration(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// What the events say about one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTimes {
    /// When it was submitted.
    pub submit: Option<u64>,
    /// When it became ready for the first time.
    pub ready: Option<u64>,
    /// When it was cancelled.
    pub cancelled: Option<u64>,
    /// When its body started for the first time.
    pub start: Option<u64>,
    /// When its body ended for the last time; absent while any execution has no end.
    pub end: Option<u64>,
    /// Nanoseconds that workers spent on it, all executions together, without children.
    pub busy: u64,
    /// How many executions it has.
    pub executions: u32,
    /// The worker of the first execution.
    pub worker: Option<u32>,
    /// How the last execution to end ended.
    pub outcome: Option<Outcome>,
}

impl TaskTimes {
    /// How long the task was ready before a worker started it.
    pub fn delay(&self) -> Option<u64> {
        Some(self.start?.saturating_sub(self.ready?))
    }
}

/// The events of a trace, put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// What is known of each task, in the order of [`Trace::tasks`].
    pub tasks: Vec<TaskTimes>,
    /// Every execution, by start.
    pub executions: Vec<Execution>,
    /// Every idle stretch, by end.
    pub idles: Vec<Idle>,
    /// Ends of executions that never started, as far as the trace knows.
    pub unmatched: Vec<Event>,
    /// The numbers of tasks that have events but no record, ascending.
    pub undescribed: Vec<u64>,
    /// The time of the first event.
    pub begin: u64,
    /// The time of the last event.
    pub end: u64,
}

impl Timeline {
    /// Nanoseconds from the first event to the last.
    pub fn duration(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }

    /// Puts the events of a trace together. Its events must be sorted by time.
    pub fn new(trace: &Trace) -> Self {
        let mut timeline = Self {
            tasks: vec![TaskTimes::default(); trace.tasks.len()],
            begin: trace.events.first().map_or(0, |event| event.time),
            end: trace.events.last().map_or(0, |event| event.time),
            ..Self::default()
        };
        let mut stacks: HashMap<u32, Worker> = HashMap::new();
        let mut opened = Opened::new();
        for event in &trace.events {
            timeline.note_task(trace, event);
            timeline.note_worker(stacks.entry(event.worker).or_default(), &mut opened, event);
        }
        timeline.finish(trace, stacks);
        timeline
    }

    fn note_task(&mut self, trace: &Trace, event: &Event) {
        let Some(number) = event.task() else { return };
        let Some(position) = trace.position(number) else {
            self.undescribed.push(number);
            return;
        };
        let times = &mut self.tasks[position];
        let first = match event.kind {
            EventKind::Submit => &mut times.submit,
            EventKind::Ready => &mut times.ready,
            EventKind::Start => &mut times.start,
            EventKind::Cancelled => &mut times.cancelled,
            _ => return,
        };
        first.get_or_insert(event.time);
    }

    fn note_worker(&mut self, worker: &mut Worker, opened: &mut Opened, event: &Event) {
        match event.kind {
            EventKind::Start => {
                self.end_idle(worker, event);
                worker.open.push(self.executions.len());
                opened.entry((event.worker, event.task)).or_default().push(self.executions.len());
                self.executions.push(Execution {
                    task: event.task,
                    worker: event.worker,
                    start: event.time,
                    end: self.end,
                    nested: 0,
                    outcome: Outcome::Unknown,
                });
            }
            EventKind::End | EventKind::Failed | EventKind::Cancelled => {
                if event.kind != EventKind::Cancelled {
                    self.end_idle(worker, event);
                }
                let Some(open) = opened.get_mut(&(event.worker, event.task)).and_then(Vec::pop) else {
                    if event.kind != EventKind::Cancelled {
                        self.unmatched.push(*event);
                    }
                    return;
                };
                let execution = &mut self.executions[open];
                execution.end = event.time;
                execution.outcome = match event.kind {
                    EventKind::End => Outcome::Ended,
                    EventKind::Failed => Outcome::Failed,
                    _ => Outcome::Cancelled,
                };
                let duration = execution.duration();
                // One that is not the innermost overlaps another or the other's end was lost. It leaves the stack when
                // those above it have, so that every execution is pushed and popped once.
                let innermost = worker.open.last() == Some(&open);
                while worker.open.pop_if(|&mut top| self.executions[top].outcome != Outcome::Unknown).is_some() {}
                if let (true, Some(&outer)) = (innermost, worker.open.last()) {
                    let nested = &mut self.executions[outer].nested;
                    *nested = nested.saturating_add(duration);
                }
            }
            EventKind::Idle => {
                self.end_idle(worker, event);
                worker.idle = Some((event.time, IdleReason::from_value(event.value)));
            }
            EventKind::Busy => self.end_idle(worker, event),
            _ => {}
        }
    }

    fn end_idle(&mut self, worker: &mut Worker, event: &Event) {
        if let Some((start, reason)) = worker.idle.take() {
            self.idles.push(Idle { worker: event.worker, reason, start, end: event.time });
            if let Some(&waiting) = worker.open.last() {
                let nested = &mut self.executions[waiting].nested;
                *nested = nested.saturating_add(event.time.saturating_sub(start));
            }
        }
    }

    fn finish(&mut self, trace: &Trace, stacks: HashMap<u32, Worker>) {
        let mut open: Vec<(u32, Worker)> = stacks.into_iter().collect();
        open.sort_by_key(|&(worker, _)| worker);
        for (worker, state) in open {
            if let Some((start, reason)) = state.idle {
                self.idles.push(Idle { worker, reason, start, end: self.end });
            }
        }
        self.undescribed.sort_unstable();
        self.undescribed.dedup();
        let mut unended = vec![false; self.tasks.len()];
        for execution in &self.executions {
            let Some(position) = trace.position(execution.task) else { continue };
            let times = &mut self.tasks[position];
            times.executions += 1;
            times.worker = times.worker.or(Some(execution.worker));
            times.busy = times.busy.saturating_add(execution.own());
            if execution.outcome == Outcome::Unknown {
                unended[position] = true;
            } else if times.end.is_none_or(|end| end <= execution.end) {
                times.end = Some(execution.end);
                times.outcome = Some(execution.outcome);
            }
        }
        for (times, _) in self.tasks.iter_mut().zip(unended).filter(|&(_, unended)| unended) {
            times.end = None;
            times.outcome = Some(Outcome::Unknown);
        }
        for times in self.tasks.iter_mut().filter(|times| times.executions == 0 && times.cancelled.is_some()) {
            times.outcome = Some(Outcome::Cancelled);
        }
    }
}

/// The executions without an end so far, by worker and task.
type Opened = HashMap<(u32, u64), Vec<usize>>;

/// What one worker is doing at a moment.
#[derive(Default)]
struct Worker {
    /// The executions that started and did not end yet, outermost first.
    open: Vec<usize>,
    idle: Option<(u64, Option<IdleReason>)>,
}
