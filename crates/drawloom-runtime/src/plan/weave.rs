//! The order of recorded tasks, as nodes and edges.
//!
//! The same [`History`] that orders tasks as they arrive orders them here, so a plan runs its tasks in exactly the order
//! that submitting them would.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::capture::Tape;
use crate::access::reduction::{Folds, Reduction};
use crate::access::{Arg, Mode};
use crate::order::history::{Comer, Fold, History, Weaver};
use crate::order::scope::ScopeId;
use crate::order::slot::OpenReduction;
use crate::sync::Arc;
use crate::task::record::TaskId;

/// What a node of a plan does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// The recorded task with this number.
    Task(u32),
    /// Nothing: one point that stands for several nodes.
    Sync,
    /// The reduction with this number is folded into its piece.
    Fold(u32),
}

/// A node, and the nodes it waits for.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) work: Work,
    pub(super) waits: Vec<u32>,
}

/// A reduction into a piece.
pub(super) struct DraftReduction {
    pub(super) folds: Arc<dyn Folds>,
    pub(super) arg: Arg,
    pub(super) contributions: u32,
}

/// Nodes and edges.
#[derive(Default)]
pub(super) struct Cloth {
    pub(super) nodes: Vec<Draft>,
    pub(super) reductions: Vec<DraftReduction>,
    /// For each task, the places of its contributions: the reduction, and the number in it.
    pub(super) joined: Vec<Vec<(u32, u32)>>,
}

#[derive(Default)]
struct Loom {
    cloth: RefCell<Cloth>,
    /// Numbers of reductions that are open or were. They are kept, so that no other one has the same address.
    numbers: RefCell<FxHashMap<*const Reduction, (u32, Arc<Reduction>)>>,
}

impl Loom {
    fn push(&self, work: Work, waits: Vec<u32>) -> TaskId {
        let nodes = &mut self.cloth.borrow_mut().nodes;
        nodes.push(Draft { work, waits });
        TaskId::new(nodes.len() as u32 - 1, 1)
    }

    fn finish(&self, folds: Vec<Fold>) {
        let nodes = &mut self.cloth.borrow_mut().nodes;
        for (fold, waits) in folds {
            nodes[fold.index() as usize].waits = indices(&waits);
        }
    }

    fn number(&self, reduction: &Arc<Reduction>, arg: Arg) -> u32 {
        let mut numbers = self.numbers.borrow_mut();
        let (number, _) = numbers.entry(Arc::as_ptr(reduction)).or_insert_with(|| {
            let reductions = &mut self.cloth.borrow_mut().reductions;
            let folds = Arc::clone(&reduction.folds);
            reductions.push(DraftReduction { folds, arg, contributions: 0 });
            (reductions.len() as u32 - 1, Arc::clone(reduction))
        });
        *number
    }
}

impl Weaver for Loom {
    fn sync_point(&self, tasks: &[TaskId]) -> TaskId {
        match tasks {
            [] => TaskId::NONE,
            [only] => *only,
            _ => self.push(Work::Sync, indices(tasks)),
        }
    }

    fn is_complete(&self, _: TaskId) -> bool {
        false
    }

    fn begin_fold(&self, _: ScopeId, open: &OpenReduction, arg: Arg) -> TaskId {
        let number = self.number(&open.reduction, arg);
        self.push(Work::Fold(number), Vec::new())
    }
}

/// Orders what was recorded.
pub(super) fn weave(tape: &Tape) -> Cloth {
    let loom = Loom::default();
    // Any scope but the outermost one keeps its slots to itself.
    let mut history = History::new(ScopeId(u64::MAX));
    let mut node_of: Vec<u32> = Vec::with_capacity(tape.tasks.len());
    for (number, task) in tape.tasks.iter().enumerate() {
        let id = loom.push(Work::Task(number as u32), Vec::new());
        let args: Vec<Arg> = task.spec.args().iter().map(|arg| in_program_order(*arg)).collect();
        let (mut waits, mut joined) = (Vec::new(), Vec::new());
        let comer = Comer { folds: task.folds(), ..Comer::plain(id, &args) };
        let ordered = history.order(&loom, comer, &mut waits, &mut joined);
        debug_assert!(ordered.is_ok(), "the check of the graph refuses arguments that overlap");
        loom.finish(history.take_folds());
        let reduced = args.iter().filter(|a| a.mode() == Mode::Reduce);
        let places = joined.iter().zip(reduced).map(|(joined, arg)| {
            let reduction = loom.number(&joined.reduction, *arg);
            let count = &mut loom.cloth.borrow_mut().reductions[reduction as usize].contributions;
            *count = (*count).max(joined.number + 1);
            (reduction, joined.number)
        });
        let places = places.collect();
        let mut cloth = loom.cloth.borrow_mut();
        cloth.joined.push(places);
        let mut waits = indices(&waits);
        waits.extend(task.after().iter().map(|&step| node_of[step as usize]));
        cloth.nodes[id.index() as usize].waits = waits;
        node_of.push(id.index());
    }
    history.close_all(&loom);
    loom.finish(history.take_folds());
    loom.cloth.into_inner()
}

/// Tasks that commute are ordered as tasks that update.
pub(super) fn in_program_order(arg: Arg) -> Arg {
    if arg.mode() == Mode::Commute { arg.with_mode(Mode::Update) } else { arg }
}

fn indices(tasks: &[TaskId]) -> Vec<u32> {
    tasks.iter().map(|task| task.index()).collect()
}
