//! What is written into chunks: entries of a few words each.
//!
//! The low byte of an entry's first word says what it is. An event is two words: the time above that byte, and the task or
//! another value. A submission is five words, followed by one for each access; a run of a node of a plan is four. Most are
//! shorter, as they leave out what was said before; see [`super::said`].

use drawloom_trace::EventKind;

use super::said::{Said, names_task};
use crate::access::Mode;

/// A code below this is that of an [`EventKind`].
const FIRST: u8 = 32;
const SUBMISSION: u8 = FIRST;
const INTERNAL: u8 = FIRST + 1;
const ACCESS: u8 = FIRST + 2;
const AFTER: u8 = FIRST + 3;
const ENDS_WITH: u8 = FIRST + 4;
const NODE: u8 = FIRST + 5;
const TURN: u8 = FIRST + 6;
const TEAM: u8 = FIRST + 7;
const STAND: u8 = FIRST + 8;
pub(super) const QUICK: u8 = FIRST + 9;
/// As `QUICK`, of a turn that began with the task.
pub(super) const FOUND: u8 = FIRST + 10;
/// As `SUBMISSION`, of one more task where the one before was submitted.
pub(super) const ANOTHER: u8 = FIRST + 11;
/// As `ANOTHER`, of a task of another kind.
pub(super) const OTHER: u8 = FIRST + 12;
/// As `NODE`, of the run that the one before belongs to.
pub(super) const LIKE: u8 = FIRST + 13;
/// As `LIKE`, of a node that started when the one before had ended.
pub(super) const NEXT: u8 = FIRST + 14;
/// Together with another code: of the task that was named last.
pub(super) const SAME: u8 = 64;

/// How many words the longest entry has.
pub(crate) const LONGEST: usize = 5;

/// An entry, as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Something happened to a task, or to a worker.
    Event { time: u64, kind: EventKind, value: u64 },
    /// A worker went through the phases of a turn; see [`super::turns`].
    Turn { time: u64, later: u64 },
    /// A worker began a turn, and went through its other phases when a task started; see [`super::turns`].
    Quick { time: u64, began: u64, task: u64 },
    /// A team has come together for a task.
    Team { time: u64, task: u64, size: u32 },
    /// A task was submitted.
    Submission(Submission),
    /// What the task submitted last accesses.
    Access { piece: u32, mode: Mode, operator: u16 },
    /// A task starts after another.
    After { task: u64, other: u64 },
    /// A task is complete only when another is.
    EndsWith { task: u64, other: u64 },
    /// A node of a plan was run.
    Node(NodeRun),
    /// A task was submitted that stands for a node of a plan.
    Stand { time: u64, stand: Stand },
}

/// A task that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    pub(crate) time: u64,
    pub(crate) task: u64,
    pub(crate) parent: u64,
    /// Its place among all submissions, which those that follow it in the same stream may share.
    pub(crate) place: u32,
    pub(crate) context: u32,
    pub(crate) site: u32,
    pub(crate) priority: i32,
    pub(crate) internal: bool,
}

/// One run of a node of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRun {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The task that stands for the run of the plan.
    pub(crate) run: u64,
    pub(crate) plan: u32,
    pub(crate) node: u32,
    /// How it ended: [`EventKind::End`], [`EventKind::Failed`] or [`EventKind::Cancelled`].
    pub(crate) outcome: EventKind,
}

/// A task that stands for a node of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    pub(crate) task: u64,
    /// The task that stands for the run of the plan.
    pub(crate) run: u64,
    pub(crate) plan: u32,
    pub(crate) node: u32,
}

#[inline]
pub(super) fn first(payload: u64, code: u8) -> u64 {
    payload << 8 | u64::from(code)
}

#[inline]
pub(super) fn pair(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[inline]
pub(crate) fn event(time: u64, kind: EventKind, value: u64) -> [u64; 2] {
    [first(time, kind as u8), value]
}

#[inline]
pub(crate) fn turn(time: u64, later: u64) -> [u64; 2] {
    [first(time, TURN), later]
}

#[inline]
pub(crate) fn quick(time: u64, began: u64, task: u64) -> [u64; 3] {
    [first(time, QUICK), began, task]
}

pub(crate) fn team(time: u64, task: u64, size: u32) -> [u64; 3] {
    [first(time, TEAM), task, u64::from(size)]
}

#[inline]
pub(crate) fn submission(s: Submission) -> [u64; 5] {
    let code = if s.internal { INTERNAL } else { SUBMISSION };
    [first(s.time, code), s.task, s.parent, pair(s.place, s.context), kind(s)]
}

/// What tasks of one kind have in common.
#[inline]
pub(super) fn kind(s: Submission) -> u64 {
    pair(s.site, s.priority.cast_unsigned())
}

#[inline]
pub(crate) fn access(piece: u32, mode: Mode, operator: u16) -> [u64; 1] {
    [first(u64::from(operator) << 40 | (mode as u64) << 32 | u64::from(piece), ACCESS)]
}

pub(crate) fn after(task: u64, other: u64) -> [u64; 3] {
    [first(0, AFTER), task, other]
}

pub(crate) fn ends_with(task: u64, other: u64) -> [u64; 3] {
    [first(0, ENDS_WITH), task, other]
}

#[inline]
pub(crate) fn node(n: NodeRun) -> [u64; 4] {
    [first(n.start, NODE), n.run, first(n.end, n.outcome as u8), pair(n.plan, n.node)]
}

pub(crate) fn stand(time: u64, s: Stand) -> [u64; 4] {
    [first(time, STAND), s.task, s.run, pair(s.plan, s.node)]
}

/// Reads the entries of a chunk. An entry that was cut off is left out, as is everything after it.
pub(crate) fn entries(mut words: impl Iterator<Item = u64>) -> impl Iterator<Item = Entry> {
    let mut said = Said::default();
    std::iter::from_fn(move || read(&mut said, &mut words))
}

fn read(said: &mut Said, words: &mut impl Iterator<Item = u64>) -> Option<Entry> {
    let head = words.next()?;
    let (time, code, same) = (head >> 8, head as u8 & !SAME, head as u8 & SAME != 0);
    if let Some(kind) = EventKind::from_number(code) {
        let value = if same { said.task } else { words.next()? };
        if names_task(kind) {
            said.task = value;
        }
        return Some(Entry::Event { time, kind, value });
    }
    Some(match code {
        SUBMISSION | INTERNAL => {
            let (task, parent) = (words.next()?, words.next()?);
            let ((place, context), (site, priority)) = (halves(words.next()?), halves(words.next()?));
            let (priority, internal) = (priority.cast_signed(), code == INTERNAL);
            submitted(said, Submission { time, task, parent, place, context, site, priority, internal })
        }
        ANOTHER | OTHER => {
            let (last, (places, ticks), task) = (said.submission?, halves(time), words.next()?);
            let next =
                Submission { time: last.time + u64::from(ticks), place: last.place.wrapping_add(places), task, ..last };
            let (site, priority) = if code == OTHER { halves(words.next()?) } else { halves(kind(last)) };
            submitted(said, Submission { site, priority: priority.cast_signed(), ..next })
        }
        ACCESS => {
            let mode = Mode::from_bits((time >> 32 & 0xff) as usize);
            Entry::Access { piece: time as u32, mode, operator: (time >> 40) as u16 }
        }
        AFTER => Entry::After { task: words.next()?, other: words.next()? },
        ENDS_WITH => Entry::EndsWith { task: words.next()?, other: words.next()? },
        NODE => {
            let (run, end, (plan, node)) = (words.next()?, words.next()?, halves(words.next()?));
            let outcome = EventKind::from_number(end as u8)?;
            ran(said, NodeRun { start: time, end: end >> 8, run, plan, node, outcome })
        }
        LIKE => {
            let (last, (took, node)) = (said.node?, halves(words.next()?));
            ran(said, NodeRun { start: time, end: time + u64::from(took), node, outcome: EventKind::End, ..last })
        }
        NEXT => {
            let (last, (node, took)) = (said.node?, halves(time));
            let (start, end) = (last.end, last.end + u64::from(took));
            ran(said, NodeRun { start, end, node, outcome: EventKind::End, ..last })
        }
        TURN => Entry::Turn { time, later: words.next()? },
        QUICK | FOUND => {
            let began = if code == FOUND { time } else { words.next()? };
            said.task = if same { said.task } else { words.next()? };
            Entry::Quick { time, began, task: said.task }
        }
        TEAM => Entry::Team { time, task: words.next()?, size: words.next()? as u32 },
        STAND => {
            let (task, run, (plan, node)) = (words.next()?, words.next()?, halves(words.next()?));
            Entry::Stand { time, stand: Stand { task, run, plan, node } }
        }
        _ => unreachable!("nothing else is written"),
    })
}

fn submitted(said: &mut Said, submission: Submission) -> Entry {
    (said.task, said.submission) = (submission.task, Some(submission));
    Entry::Submission(submission)
}

fn ran(said: &mut Said, node: NodeRun) -> Entry {
    said.node = Some(node);
    Entry::Node(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let time = (1 << 56) - 1;
        let submitted = Submission {
            time,
            task: u64::MAX,
            parent: 7,
            place: u32::MAX,
            context: 3,
            site: 9,
            priority: -5,
            internal: true,
        };
        let ran = NodeRun { start: 5, end: time, run: 77, plan: 8, node: u32::MAX, outcome: EventKind::Cancelled };
        let plain = Submission { internal: false, priority: i32::MIN, ..submitted };
        let mut words = Vec::new();
        words.extend(submission(submitted));
        words.extend(access(u32::MAX, Mode::LendWrite, u16::MAX));
        words.extend(after(1, 2));
        words.extend(ends_with(3, 4));
        words.extend(event(time, EventKind::Dropped, u64::MAX));
        words.extend(turn(6, u64::MAX));
        words.extend(quick(time, u64::MAX, 9));
        words.extend(team(8, u64::MAX, u32::MAX));
        words.extend(node(ran));
        let stands = Stand { task: 8, run: u64::MAX, plan: 2, node: u32::MAX };
        words.extend(stand(time, stands));
        words.extend(submission(plain));
        let expected = [
            Entry::Submission(submitted),
            Entry::Access { piece: u32::MAX, mode: Mode::LendWrite, operator: u16::MAX },
            Entry::After { task: 1, other: 2 },
            Entry::EndsWith { task: 3, other: 4 },
            Entry::Event { time, kind: EventKind::Dropped, value: u64::MAX },
            Entry::Turn { time: 6, later: u64::MAX },
            Entry::Quick { time, began: u64::MAX, task: 9 },
            Entry::Team { time: 8, task: u64::MAX, size: u32::MAX },
            Entry::Node(ran),
            Entry::Stand { time, stand: stands },
            Entry::Submission(plain),
        ];
        assert_eq!(entries(words.iter().copied()).collect::<Vec<_>>(), expected);
        // Cut off in the middle of the last one.
        words.pop();
        assert_eq!(entries(words.into_iter()).collect::<Vec<_>>(), expected[..10]);
    }
}
