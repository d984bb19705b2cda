//! What went wrong in a run.
//!
//! A failure has its number before it spoils anything, so that whoever is cancelled for it, in this run or later, is listed
//! with it. A run reports its own failures, each of them once. What failed before the run is not its own: a run in which
//! some tasks were only cancelled for that counts as cancelled itself.
//!
//! Which failure is the first does not depend on who was faster: it is that of the node with the lowest number, and nodes
//! are numbered as tasks were recorded.

use drawloom_trace::EventKind;
use rustc_hash::FxHashMap;

use super::compile::{NO_RARE, NodeWork};
use super::replay::PlanState;
use crate::access::{Arg, Mode};
use crate::core::{Core, Local, spoil};
use crate::error::{Error, ErrorKind, TaskOrigin};
use crate::failure::{Collected, Root};
use crate::sync::atomic::Ordering;
use crate::sync::{Arc, lock};
use crate::trace::nodes::NodeLog;

/// What went wrong in a run.
#[derive(Default)]
pub(super) struct Trouble {
    /// The failures, in the order of nodes.
    failures: Collected,
    /// The first node that was cancelled for a failure from before the run, with that failure, and all such nodes.
    before: Option<Root>,
    /// For each node that failed or did not run, the failure behind it.
    bad: FxHashMap<u32, Error>,
    /// Contributions that are lacking: the reduction, the node, and why.
    lacking: Vec<(u32, u32, Error)>,
}

impl Trouble {
    /// Notes a node that was cancelled for a failure of this run. False when it is none of those that are listed.
    fn cancelled(&mut self, because: &Error, task: &TaskOrigin) -> bool {
        let own = self.failures.find(|error| {
            std::iter::successors(Some(error), |error| error.because()).any(|error| error.number() == because.number())
        });
        own.map(|failure| failure.add_cancelled(task.clone())).is_some()
    }

    /// Notes a node that was cancelled for a failure from before the run.
    fn cancelled_before(&mut self, node: u32, because: &Error, task: TaskOrigin) {
        let before = self.before.get_or_insert_with(|| Root::new(node, because.clone()));
        before.precede(node, because);
        before.add_cancelled(task);
    }

    /// The failure of a run, if there is any.
    fn into_error(self, run: TaskOrigin) -> Option<Error> {
        let cut_short = |because| Error::cut_short(run, because);
        self.failures.into_error().or_else(|| Some(self.before?.into_error(cut_short)))
    }

    /// Why a reduction cannot be folded.
    fn lacks(&self, reduction: u32) -> Option<Error> {
        let of_it = self.lacking.iter().filter(|(of, ..)| *of == reduction);
        of_it.min_by_key(|(_, node, _)| *node).map(|(.., because)| because.clone())
    }
}

impl PlanState {
    /// Notes that a node failed, or was cancelled for what another one did, and spoils what it did not write. Returns which
    /// of them.
    #[cold]
    pub(super) fn fail(&self, core: &Core, number: u32, args: &[Arg], error: Error) -> EventKind {
        let cancelled = error.kind() == ErrorKind::Cancelled;
        let error = if cancelled { error } else { core.failures.number(error) };
        spoil(args.iter().filter(|arg| arg.mode() != Mode::Reduce), error.root());
        if cancelled {
            self.note_cancelled(core, number, error.root());
            EventKind::Cancelled
        } else {
            self.note_failed(number, error);
            EventKind::Failed
        }
    }

    /// Notes a failure that has its number.
    pub(super) fn note_failed(&self, number: u32, error: Error) {
        self.note_bad(number, &error);
        lock(&self.trouble).failures.add(number, error);
    }

    /// Notes a failure of a child, which has its number. The node itself has done its part, and contributed what it should.
    pub(super) fn note_adopted(&self, number: u32, error: Error) {
        let mut trouble = lock(&self.trouble);
        trouble.bad.insert(number, error.clone());
        trouble.failures.add(number, error);
        drop(trouble);
        // Relaxed: as in `note_bad`.
        self.troubled.store(true, Ordering::Relaxed);
    }

    /// Notes a node that did not run. What failed before the run is told of it.
    pub(super) fn note_cancelled(&self, core: &Core, number: u32, because: &Error) {
        self.note_bad(number, because);
        let origin = self.origin(number);
        let mut trouble = lock(&self.trouble);
        // Failures of this run that are one too many to be listed are known as reasons of other nodes still.
        if !trouble.cancelled(because, &origin) && trouble.failures.is_whole() {
            core.failures.also_cancelled(because, &origin);
            trouble.cancelled_before(number, because, origin);
        }
    }

    fn note_bad(&self, number: u32, because: &Error) {
        let node = &self.pattern.nodes[number as usize];
        let mut trouble = lock(&self.trouble);
        trouble.bad.insert(number, because.clone());
        if matches!(node.work, NodeWork::Task(_)) && node.rare != NO_RARE {
            for &(reduction, _) in &self.pattern.rare[node.rare as usize].joined {
                trouble.lacking.push((reduction, number, because.clone()));
            }
        }
        // Relaxed: who looks is ordered after this node by the counts of nodes.
        self.troubled.store(true, Ordering::Relaxed);
    }

    /// Why a reduction of this run cannot be folded.
    pub(super) fn lacks(&self, reduction: u32) -> Option<Error> {
        // Relaxed: whoever stored it is complete, which the order of nodes makes known here.
        self.troubled.load(Ordering::Relaxed).then(|| lock(&self.trouble).lacks(reduction))?
    }

    /// The failure behind one of the nodes that a node comes after by the user's wish, if any failed or did not run.
    pub(super) fn fails_after(&self, after: &[u32]) -> Option<Error> {
        // Relaxed: as in `lacks`.
        if after.is_empty() || !self.troubled.load(Ordering::Relaxed) {
            return None;
        }
        let trouble = lock(&self.trouble);
        after.iter().find_map(|node| trouble.bad.get(node)).cloned()
    }

    /// Whether something was cancelled since the run began, perhaps the run.
    #[inline]
    pub(super) fn may_be_given_up(&self, core: &Core) -> bool {
        // Relaxed: written before the run's first node was pushed.
        core.failures.cancellations() != self.cancellations.load(Ordering::Relaxed)
    }

    /// What the application gave this run up for, if it did since the run began.
    pub(super) fn given_up(&self, core: &Core) -> Option<Error> {
        self.may_be_given_up(core).then(|| core.why_cancelled(self.run(), self.context()))?
    }

    /// Gives a node up that has not started, if the application gave the run up.
    #[cold]
    pub(super) fn give_up(&self, core: &Core, number: u32, log: &mut impl NodeLog) -> bool {
        let node = &self.pattern.nodes[number as usize];
        // What the runtime does itself follows from that.
        let NodeWork::Task(_) = node.work else { return false };
        let Some(because) = self.given_up(core) else { return false };
        log.start(false);
        let outcome = self.fail(core, number, self.args(node), Error::cancelled(self.origin(number), because));
        log.end(number, outcome);
        true
    }

    /// A run begins, and nothing went wrong.
    pub(super) fn forget_trouble(&self) {
        if self.troubled.load(Ordering::Relaxed) {
            self.troubled.store(false, Ordering::Relaxed);
            *lock(&self.trouble) = Trouble::default();
        }
    }

    /// The last node is complete, and so is the run. Returns the plan, which the run has held.
    pub(super) fn finish(&self, core: &Core, local: &mut Local) -> Arc<PlanState> {
        let held = lock(&self.held).take().expect("a run holds its plan");
        // Relaxed: whoever stored it is complete, which the count of ends makes known here.
        let troubled = self.troubled.load(Ordering::Relaxed);
        let trouble = troubled.then(|| std::mem::take(&mut *lock(&self.trouble)));
        let error = trouble.and_then(|trouble| trouble.into_error(self.own_origin()));
        // From here on the next run may begin.
        core.end_run(local, self.run(), error);
        held
    }
}
