//! A run on one page of text: what took the time, how busy the workers were and why they were not, and what to look at.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::event::{EventKind, IdleReason, NO_WORKER};
use crate::order::path::critical_path;
use crate::record::Trace;
use crate::timeline::{Outcome, Timeline};

/// How many names, and how many single tasks, get a line of their own.
const NAMES: usize = 20;
const LONGEST: usize = 5;
/// The longest name that is shown in full.
const WIDEST: usize = 40;

/// The summary of a trace whose events are sorted by time.
pub fn text(trace: &Trace) -> String {
    let timeline = Timeline::new(trace);
    let mut out = String::new();
    overview(trace, &timeline, &mut out);
    if timeline.executions.is_empty() {
        return out;
    }
    names(trace, &timeline, &mut out);
    workers(trace, &timeline, &mut out);
    transfers(trace, &timeline, &mut out);
    delays(trace, &timeline, &mut out);
    path(trace, &timeline, &mut out);
    longest(trace, &timeline, &mut out);
    out
}

fn overview(trace: &Trace, timeline: &Timeline, out: &mut String) {
    let ran = timeline.tasks.iter().filter(|times| times.executions > 0).count();
    let span = nanos(timeline.duration());
    let _ = write!(out, "drawloom: {} on {} in {span}", count(ran, "task"), count(trace.workers.len(), "worker"));
    if !trace.machine.processor.is_empty() {
        let _ = write!(out, " ({})", shown(&trace.machine.processor));
    }
    out.push('\n');
    let with = |outcome| timeline.tasks.iter().filter(|times| times.outcome == Some(outcome)).count();
    for (number, words) in [
        (with(Outcome::Failed), "failed"),
        (with(Outcome::Cancelled), "cancelled"),
        (with(Outcome::Unknown), "without an end"),
        (
            timeline.tasks.iter().filter(|times| times.executions == 0 && times.cancelled.is_none()).count(),
            "not started",
        ),
    ] {
        if number > 0 {
            let _ = writeln!(out, "  {} {words}", count(number, "task"));
        }
    }
    if trace.dropped > 0 {
        let _ = writeln!(out, "  {} events were lost: times below are incomplete", trace.dropped);
    }
}

/// What all tasks of one name took together.
#[derive(Clone, Copy, Default)]
struct Share {
    count: usize,
    total: u64,
    max: u64,
}

impl Share {
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            total: self.total.saturating_add(other.total),
            max: self.max.max(other.max),
        }
    }
}

fn names(trace: &Trace, timeline: &Timeline, out: &mut String) {
    let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
    for (task, times) in trace.tasks.iter().zip(&timeline.tasks).filter(|(_, times)| times.executions > 0) {
        let share = shares.entry(&task.name).or_default();
        *share = share.plus(Share { count: 1, total: times.busy, max: times.busy });
    }
    let all = sum(shares.values().map(|share| share.total));
    let mut shares: Vec<(&str, Share)> = shares.into_iter().collect();
    shares.sort_by_key(|&(_, share)| std::cmp::Reverse(share.total));
    let mut table = Table::new(&["task", "count", "total", "mean", "max", "share"]);
    let mut row = |name: String, share: Share| {
        let mean = nanos(share.total / share.count.max(1) as u64);
        let cells = [share.count.to_string(), nanos(share.total), mean, nanos(share.max), percent(share.total, all)];
        table.row(name, cells);
    };
    for &(name, share) in shares.iter().take(NAMES) {
        row(shown(name), share);
    }
    if let Some(rest) = shares.get(NAMES..).filter(|rest| !rest.is_empty()) {
        let sum = rest.iter().fold(Share::default(), |sum, &(_, share)| sum.plus(share));
        row(format!("({} more)", count(rest.len(), "name")), sum);
    }
    table.print(out);
}

fn workers(trace: &Trace, timeline: &Timeline, out: &mut String) {
    #[derive(Clone, Default)]
    struct Worker {
        tasks: usize,
        busy: u64,
        idle: BTreeMap<Option<IdleReason>, u64>,
        /// When something was first heard of it.
        first: Option<u64>,
    }
    let mut workers: BTreeMap<u32, Worker> =
        (0..trace.workers.len() as u32).map(|worker| (worker, Worker::default())).collect();
    for execution in &timeline.executions {
        let worker = workers.entry(execution.worker).or_default();
        worker.tasks += 1;
        worker.busy = worker.busy.saturating_add(execution.own());
    }
    for idle in &timeline.idles {
        let total = workers.entry(idle.worker).or_default().idle.entry(idle.reason).or_default();
        *total = total.saturating_add(idle.duration());
    }
    for event in trace.events.iter().filter(|event| event.worker != NO_WORKER) {
        if let Some(worker) = workers.get_mut(&event.worker) {
            worker.first.get_or_insert(event.time);
        }
    }
    // Only the reasons that occur get a column; what is neither busy nor idle is the runtime's own work. A worker that
    // slept when the recording began was not seen until it woke up.
    let mut reasons: Vec<Option<IdleReason>> =
        workers.values().flat_map(|worker| worker.idle.keys().copied()).collect();
    reasons.sort_unstable_by_key(|reason| (reason.is_none(), *reason));
    reasons.dedup();
    let words = |reason: &Option<IdleReason>| reason.map_or("idle", IdleReason::words);
    let header: Vec<&str> = ["worker", "tasks", "busy"]
        .into_iter()
        .chain(reasons.iter().map(words))
        .chain(["not seen", "runtime"])
        .collect();
    let span = timeline.duration();
    let mut table = Table::new(&header);
    for (&worker, state) in &workers {
        let idle = |reason: &Option<IdleReason>| state.idle.get(reason).copied().unwrap_or(0);
        let known = sum(state.idle.values().copied()).saturating_add(state.busy);
        let mut cells = vec![state.tasks.to_string(), percent(state.busy, span)];
        cells.extend(reasons.iter().map(|reason| percent(idle(reason), span)));
        if worker == NO_WORKER {
            // Whatever else the application does is its own business.
            cells.extend([String::new(), String::new()]);
        } else {
            let unseen = state.first.map_or(span, |first| first.saturating_sub(timeline.begin));
            let known = known.saturating_add(unseen);
            cells.extend([percent(unseen, span), percent(span.saturating_sub(known), span)]);
        }
        table.row(shown(&trace.worker_name(worker)), cells);
    }
    table.print(out);
}

/// Transfers between memories, if there were any.
fn transfers(trace: &Trace, timeline: &Timeline, out: &mut String) {
    let mut started: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut done, mut total, mut longest) = (0, 0_u64, 0);
    for event in &trace.events {
        match event.kind {
            EventKind::TransferStart => drop(started.insert(event.value, event.time)),
            EventKind::TransferEnd => {
                let Some(start) = started.remove(&event.value) else { continue };
                let took = event.time.saturating_sub(start);
                (done, total, longest) = (done + 1, total.saturating_add(took), longest.max(took));
            }
            _ => {}
        }
    }
    let left = started.len();
    if done + left > 0 {
        let mean = nanos(total / done.max(1) as u64);
        let waited = timeline.idles.iter().filter(|idle| idle.reason == Some(IdleReason::WaitingForData));
        let waited = nanos(sum(waited.map(|idle| idle.duration())));
        let longest = nanos(longest);
        let _ = write!(out, "\n{}: mean {mean}, at most {longest}; workers waited {waited}", count(done, "transfer"));
        let _ = if left > 0 { writeln!(out, "; {left} without an end") } else { writeln!(out) };
    }
}

fn delays(trace: &Trace, timeline: &Timeline, out: &mut String) {
    let mut delays: Vec<(u64, usize)> =
        timeline.tasks.iter().enumerate().filter_map(|(place, times)| Some((times.delay()?, place))).collect();
    delays.sort_unstable();
    let Some(&(most, last)) = delays.last() else { return };
    let at = |share: usize| nanos(delays[(delays.len() * share).div_ceil(100) - 1].0);
    let mean = delays.iter().map(|&(delay, _)| u128::from(delay)).sum::<u128>() / delays.len() as u128;
    let mean = nanos(u64::try_from(mean).unwrap_or(u64::MAX));
    let _ = writeln!(
        out,
        "\nready to start: mean {mean}, median {}, 99% within {}, at most {} ({})",
        at(50),
        at(99),
        nanos(most),
        task(trace, last)
    );
}

fn path(trace: &Trace, timeline: &Timeline, out: &mut String) {
    if let Err(error) = trace.check() {
        let _ = writeln!(out, "critical path: unknown, because the trace is not consistent: {error}");
        return;
    }
    let path = critical_path(trace, timeline);
    let span = timeline.duration();
    let work = sum(timeline.tasks.iter().map(|times| times.busy));
    let _ = write!(
        out,
        "critical path: {} through {}, {} of the run",
        nanos(path.length),
        count(path.tasks.len(), "task"),
        percent(path.length, span)
    );
    if path.length > 0 {
        // More workers than this cannot all be busy.
        let _ = write!(out, "; work for {:.1} workers", work as f64 / path.length as f64);
    }
    out.push('\n');
}

fn longest(trace: &Trace, timeline: &Timeline, out: &mut String) {
    let mut order: Vec<usize> = (0..trace.tasks.len()).filter(|&place| timeline.tasks[place].executions > 0).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(timeline.tasks[place].busy));
    let mut table = Table::new(&["longest tasks", "busy", "worker", "submitted at"]);
    for &place in order.iter().take(LONGEST) {
        let times = &timeline.tasks[place];
        let worker = times.worker.map_or_else(String::new, |worker| shown(&trace.worker_name(worker)));
        let site = trace.tasks[place].site().unwrap_or_default();
        table.row(task(trace, place), [nanos(times.busy), worker, shown(&site)]);
    }
    table.print(out);
}

fn task(trace: &Trace, place: usize) -> String {
    let record = &trace.tasks[place];
    format!("{} #{}", shown(&record.name), record.number)
}

/// Rows of cells, the first column to the left and the others to the right.
struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    fn new(header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&cell| cell.to_owned()).collect()] }
    }

    fn row(&mut self, first: String, rest: impl IntoIterator<Item = String>) {
        self.rows.push(std::iter::once(first).chain(rest).collect());
    }

    fn print(&self, out: &mut String) {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        out.push('\n');
        for row in &self.rows {
            let mut line = format!("{:<1$}", row[0], widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                let _ = write!(line, "  {cell:>width$}");
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
    }
}

/// A name without control characters, and short enough for a table.
fn shown(name: &str) -> String {
    let mut letters = name.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
    let mut shown: String = letters.by_ref().take(WIDEST).collect();
    if letters.next().is_some() {
        shown.pop();
        shown.push('…');
    }
    shown
}

/// A sum that stops at the greatest number: times from a file may be anything.
fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// A duration with three digits and a unit.
fn nanos(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    let Some((size, unit)) = units.into_iter().find(|&(size, _)| nanos >= size) else { return format!("{nanos} ns") };
    let value = nanos as f64 / size as f64;
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {unit}")
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}
