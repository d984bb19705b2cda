//! What was said last in a chunk, and is not said again.
//!
//! Most entries are about what the one before was about: a task ends where it started, a loop submits tasks of one kind, and
//! a thread runs one node of a plan after the other. They leave that out, which halves a recording. Its size matters more
//! than the instructions: a page that is touched for the first time costs as much as dozens of events.
//!
//! Whoever writes and whoever reads follow what is said in the same way, from the beginning of each chunk. An entry that
//! differs in more than fits into its short form is written as a whole, and what follows refers to that.

use drawloom_trace::EventKind;

use super::entry::{self, ANOTHER, FOUND, LIKE, NEXT, NodeRun, OTHER, QUICK, SAME, Submission, first, pair};

/// A submission that is this many places later than the one before is written as a whole.
const PLACES: u32 = 1 << 24;
/// Nodes from this one on are not written in a single word.
const NODES: u32 = 1 << 24;

/// Where entries are written.
pub(crate) trait Sink {
    fn put<const N: usize>(&mut self, words: [u64; N]);
}

/// What was said last.
#[derive(Clone, Copy, Default)]
pub(crate) struct Said {
    /// The task that was named last; zero at first.
    pub(super) task: u64,
    pub(super) submission: Option<Submission>,
    pub(super) node: Option<NodeRun>,
}

impl Said {
    /// Something happened to a task.
    #[inline]
    pub(crate) fn event(&mut self, time: u64, kind: EventKind, task: u64, sink: &mut impl Sink) {
        debug_assert!(names_task(kind), "a reader would not follow");
        if self.is_same(task) {
            sink.put([first(time, kind as u8 | SAME)]);
        } else {
            sink.put(entry::event(time, kind, task));
        }
    }

    /// A worker began a turn, and went through its other phases when a task started.
    #[inline]
    pub(crate) fn quick(&mut self, time: u64, began: u64, task: u64, sink: &mut impl Sink) {
        match (self.is_same(task), began == time) {
            (true, true) => sink.put([first(time, FOUND | SAME)]),
            (false, true) => sink.put([first(time, FOUND), task]),
            (true, false) => sink.put([first(time, QUICK | SAME), began]),
            (false, false) => sink.put(entry::quick(time, began, task)),
        }
    }

    /// A task was submitted.
    #[inline]
    pub(crate) fn submission(&mut self, submission: Submission, sink: &mut impl Sink) {
        match self.submission.as_ref().and_then(|last| Some((last, later(last, &submission)?))) {
            Some((last, later)) if (last.site, last.priority) == (submission.site, submission.priority) => {
                sink.put([first(later, ANOTHER), submission.task]);
            }
            Some((_, later)) => sink.put([first(later, OTHER), submission.task, entry::kind(submission)]),
            None => sink.put(entry::submission(submission)),
        }
        (self.task, self.submission) = (submission.task, Some(submission));
    }

    /// A node of a plan was run.
    #[inline]
    pub(crate) fn node(&mut self, node: NodeRun, sink: &mut impl Sink) {
        let like = |last: &&NodeRun| (last.run, last.plan) == (node.run, node.plan) && node.outcome == EventKind::End;
        let took = node.end.checked_sub(node.start).and_then(|took| u32::try_from(took).ok());
        match (self.node.as_ref().filter(like), took) {
            (Some(last), Some(took)) if last.end == node.start && node.node < NODES => {
                sink.put([first(u64::from(node.node) << 32 | u64::from(took), NEXT)]);
            }
            (Some(_), Some(took)) => sink.put([first(node.start, LIKE), pair(took, node.node)]),
            _ => sink.put(entry::node(node)),
        }
        self.node = Some(node);
    }

    #[inline]
    fn is_same(&mut self, task: u64) -> bool {
        let same = self.task == task;
        self.task = task;
        same
    }
}

/// Whether events of a kind are about a task, and not about a worker.
pub(super) fn names_task(kind: EventKind) -> bool {
    use EventKind::{Cancelled, End, Failed, Ready, Start};
    matches!(kind, Ready | Start | End | Failed | Cancelled)
}

/// How much later a submission is than the one before, in places and in ticks; none when it is somewhere else, or too late.
#[inline]
fn later(last: &Submission, next: &Submission) -> Option<u64> {
    let scene = |s: &Submission| (s.parent, s.context, s.internal);
    let ticks = next.time.checked_sub(last.time).and_then(|ticks| u32::try_from(ticks).ok())?;
    let places = next.place.wrapping_sub(last.place);
    (scene(last) == scene(next) && places < PLACES).then(|| u64::from(places) << 32 | u64::from(ticks))
}

#[cfg(test)]
mod tests {
    use super::super::entry::{Entry, entries};
    use super::*;

    impl Sink for Vec<u64> {
        fn put<const N: usize>(&mut self, words: [u64; N]) {
            self.extend(words);
        }
    }

    /// What is read back of what `write` writes, and how many words each entry took.
    fn written(write: impl FnOnce(&mut dyn FnMut(&dyn Fn(&mut Said, &mut Vec<u64>)))) -> (Vec<Entry>, Vec<usize>) {
        let (mut said, mut words, mut lengths) = (Said::default(), Vec::new(), Vec::new());
        write(&mut |one| {
            let before = words.len();
            one(&mut said, &mut words);
            lengths.push(words.len() - before);
        });
        (entries(words.into_iter()).collect(), lengths)
    }

    #[test]
    fn the_task_of_the_entry_before_is_not_named_again() {
        let (read, lengths) = written(|write| {
            write(&|said, words| said.event(1, EventKind::Ready, 70, words));
            write(&|said, words| said.quick(5, 5, 70, words));
            write(&|said, words| said.event((1 << 56) - 1, EventKind::End, 70, words));
            write(&|said, words| said.quick(9, 8, 70, words));
            write(&|said, words| said.quick(11, 10, 71, words));
            write(&|said, words| said.quick(12, 12, u64::MAX, words));
            write(&|said, words| said.event(13, EventKind::Failed, 71, words));
            // Entries that name no task in this way change nothing.
            write(&|_, words| words.put(entry::event(14, EventKind::Idle, 3)));
            write(&|said, words| said.event(15, EventKind::Cancelled, 71, words));
        });
        let event = |time, kind, value| Entry::Event { time, kind, value };
        let expected = [
            event(1, EventKind::Ready, 70),
            Entry::Quick { time: 5, began: 5, task: 70 },
            event((1 << 56) - 1, EventKind::End, 70),
            Entry::Quick { time: 9, began: 8, task: 70 },
            Entry::Quick { time: 11, began: 10, task: 71 },
            Entry::Quick { time: 12, began: 12, task: u64::MAX },
            event(13, EventKind::Failed, 71),
            event(14, EventKind::Idle, 3),
            event(15, EventKind::Cancelled, 71),
        ];
        assert_eq!(read, expected);
        assert_eq!(lengths, [2, 1, 1, 2, 3, 2, 2, 2, 1]);
    }

    #[test]
    fn submissions_of_one_kind_are_described_once() {
        let whole = Submission {
            time: 1 << 40,
            task: 5,
            parent: 7,
            place: u32::MAX - 1,
            context: 3,
            site: 9,
            priority: -5,
            internal: true,
        };
        let fits = u64::from(u32::MAX);
        // The place among all submissions starts anew at zero.
        let next = Submission { time: whole.time + fits, task: 6, place: 1, ..whole };
        let all = [
            (whole, 5),
            (next, 2),
            (Submission { task: u64::MAX, ..next }, 2),
            // Later than fits, earlier, as many places later as fit, and one more.
            (Submission { time: next.time + fits + 1, ..next }, 5),
            (next, 5),
            (Submission { place: PLACES, ..next }, 2),
            (Submission { place: 2 * PLACES, ..next }, 5),
            // Out of order.
            (next, 5),
            (Submission { parent: 8, ..next }, 5),
            (Submission { context: 4, ..next }, 5),
            (next, 5),
            (Submission { internal: false, ..next }, 5),
            // Of another kind.
            (Submission { internal: false, site: 10, ..next }, 3),
            (Submission { internal: false, site: 10, priority: i32::MIN, ..next }, 3),
            (Submission { internal: false, site: 10, priority: i32::MIN, ..next }, 2),
            (Submission { internal: false, ..next }, 3),
            (Submission { internal: false, time: whole.time, ..next }, 5),
            (Submission { internal: false, site: u32::MAX, ..next }, 3),
        ];
        let (read, lengths) = written(|write| {
            for (submission, _) in all {
                write(&|said, words| said.submission(submission, words));
            }
        });
        assert_eq!(read, all.map(|(submission, _)| Entry::Submission(submission)));
        assert_eq!(lengths, all.map(|(_, words)| words));
    }

    #[test]
    fn a_task_that_is_ready_when_it_is_submitted_is_not_named_again() {
        let submission =
            Submission { time: 4, task: 5, parent: 0, place: 0, context: 0, site: 0, priority: 0, internal: false };
        let another = Submission { task: 6, place: 1, ..submission };
        let (read, lengths) = written(|write| {
            for submission in [submission, another] {
                write(&|said, words| said.submission(submission, words));
                write(&|said, words| said.event(4, EventKind::Ready, submission.task, words));
            }
        });
        let ready = |value| Entry::Event { time: 4, kind: EventKind::Ready, value };
        assert_eq!(read, [Entry::Submission(submission), ready(5), Entry::Submission(another), ready(6)]);
        assert_eq!(lengths, [5, 1, 2, 1]);
    }

    #[test]
    fn nodes_of_one_run_are_a_word_or_two() {
        let outcome = EventKind::End;
        let whole = NodeRun { start: 100, end: 200, run: 7, plan: 8, node: 3, outcome };
        let fits = u64::from(u32::MAX);
        let follows = |last: NodeRun, node| NodeRun { start: last.end, end: last.end + 10, node, ..last };
        let (second, third) = (follows(whole, NODES - 1), follows(follows(whole, 0), NODES));
        let long = NodeRun { start: third.end, end: third.end + fits, node: u32::MAX, ..third };
        let all = [
            (whole, 4),
            (second, 1),
            // With a number too large, and after a pause.
            (third, 2),
            (NodeRun { start: 230, end: 230, node: 0, ..third }, 2),
            (long, 2),
            (NodeRun { end: long.end + 1, ..long }, 4),
            (follows(long, 1), 2),
            // Before the one before it.
            (whole, 2),
            (NodeRun { outcome: EventKind::Failed, ..whole }, 4),
            (NodeRun { outcome: EventKind::Cancelled, ..whole }, 4),
            (whole, 2),
            (NodeRun { run: 8, ..whole }, 4),
            (NodeRun { plan: 9, run: 8, ..whole }, 4),
            (NodeRun { plan: 9, run: 8, ..follows(whole, 0) }, 1),
        ];
        let (read, lengths) = written(|write| {
            for (node, _) in all {
                write(&|said, words| said.node(node, words));
            }
        });
        assert_eq!(read, all.map(|(node, _)| Entry::Node(node)));
        assert_eq!(lengths, all.map(|(_, words)| words));
    }
}
