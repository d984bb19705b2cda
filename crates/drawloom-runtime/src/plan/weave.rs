//! The order of recorded tasks, as nodes and edges.
//!
//! The same [`History`] that orders tasks as they arrive orders them here, so a plan runs its tasks in exactly the order
//! that submitting them would.

use std::cell::RefCell;

use rustc_hash::{FxHashMap, FxHashSet};

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
        let args: Vec<Arg> = task.args.iter().map(|arg| in_program_order(*arg)).collect();
        let (mut waits, mut joined) = (Vec::new(), Vec::new());
        let comer = Comer { folds: &task.folds, ..Comer::plain(id, &args) };
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
        waits.extend(task.after.iter().map(|&step| node_of[step as usize]));
        cloth.nodes[id.index() as usize].waits = waits;
        node_of.push(id.index());
    }
    history.close_all(&loom);
    loom.finish(history.take_folds());
    let mut cloth = loom.cloth.into_inner();
    end_together(tape, &node_of, &mut cloth.nodes);
    cloth
}

/// What waits for a task waits for those that it ends with, too.
fn end_together(tape: &Tape, node_of: &[u32], nodes: &mut [Draft]) {
    let mut ends: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (task, node) in tape.tasks.iter().zip(node_of).filter(|(task, _)| !task.ends_with.is_empty()) {
        // Those were recorded earlier, so what they end with in turn is known.
        let others = task.ends_with.iter().map(|&step| node_of[step as usize]);
        let mut all: Vec<u32> =
            others.flat_map(|o| [o].into_iter().chain(ends.get(&o).into_iter().flatten().copied())).collect();
        all.sort_unstable();
        all.dedup();
        ends.insert(*node, all);
    }
    if ends.is_empty() {
        return;
    }
    for node in nodes {
        let more: Vec<u32> = node.waits.iter().filter_map(|wait| ends.get(wait)).flatten().copied().collect();
        node.waits.extend(more);
        node.waits.sort_unstable();
        node.waits.dedup();
    }
}

/// The orders between recorded tasks that come from what they end with: pairs of an earlier and a later one.
pub(super) fn orders_of_ends(tape: &Tape) -> Vec<(u32, u32)> {
    let ends: FxHashSet<u32> = tape.tasks.iter().flat_map(|task| &task.ends_with).copied().collect();
    if ends.is_empty() {
        return Vec::new();
    }
    let nodes = weave(tape).nodes;
    // What each node waits for among those tasks, directly or by folds and points that stand for several nodes.
    let mut awaited: Vec<Option<Vec<u32>>> = vec![None; nodes.len()];
    let mut orders = Vec::new();
    // A task is numbered before the folds that it waits for, so the numbers are no order to go by.
    let mut pending: Vec<usize> = (0..nodes.len()).rev().collect();
    while let Some(&node) = pending.last() {
        let waits = nodes[node].waits.iter().map(|&wait| wait as usize);
        let before = pending.len();
        if awaited[node].is_none() {
            pending.extend(waits.clone().filter(|&wait| awaited[wait].is_none()));
        }
        if pending.len() > before {
            continue;
        }
        pending.pop();
        if awaited[node].is_some() {
            continue;
        }
        let mut found: Vec<u32> = Vec::new();
        for wait in waits {
            match nodes[wait].work {
                Work::Task(task) => found.extend(ends.contains(&task).then_some(task)),
                Work::Sync | Work::Fold(_) => found.extend(awaited[wait].iter().flatten()),
            }
        }
        found.sort_unstable();
        found.dedup();
        if let Work::Task(task) = nodes[node].work {
            orders.extend(found.iter().map(|&earlier| (earlier, task)));
        }
        awaited[node] = Some(found);
    }
    orders.sort_unstable();
    orders
}

/// Tasks that commute are ordered as tasks that update.
pub(super) fn in_program_order(arg: Arg) -> Arg {
    if arg.mode() != Mode::Commute {
        return arg;
    }
    let updates = Arg::new(arg.piece(), Mode::Update);
    if arg.is_ordered() { updates } else { updates.unordered() }
}

fn indices(tasks: &[TaskId]) -> Vec<u32> {
    tasks.iter().map(|task| task.index()).collect()
}
