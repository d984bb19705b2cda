//! Flat arrays: everything a replay needs, without a pointer to chase or a list to grow.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::panic::Location;

use drawloom_graph::IndexSet;
use rustc_hash::FxHashMap;

use super::capture::{Repeatable, Tape};
use super::handle::Plan;
use super::rank::{distances, priorities};
use super::thin::{successors, thin};
use super::weave::{Cloth, Draft, Work, weave};
use crate::access::parameter::Parameter;
use crate::access::reduction::{Accumulator, Folds};
use crate::access::{Arg, Mode};
use crate::core::Core;
use crate::data::tree::{Root, Tree};
use crate::error::{Result, TaskOrigin};
use crate::sync::Arc;
use crate::task::extras::Extras;
use crate::task::name::Name;

/// A node, ready to run. Ranges are of the arrays in [`Pattern`].
pub(super) struct Node {
    pub(super) work: NodeWork,
    pub(super) first_arg: u32,
    pub(super) arg_count: u32,
    pub(super) first_later: u32,
    pub(super) later_count: u32,
    /// How many nodes it waits for.
    pub(super) waits: u32,
    pub(super) priority: i32,
    /// The number of its [`Rare`] parts, or `NO_RARE`.
    pub(super) rare: u32,
}

/// What a node does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeWork {
    /// The task with this number.
    Task(u32),
    Nothing,
    Fold(u32),
}

pub(super) const NO_RARE: u32 = u32::MAX;

/// What only some nodes need.
#[derive(Default)]
pub(super) struct Rare {
    /// What was asked for besides arguments.
    pub(super) extras: Option<Box<Extras>>,
    /// Places of contributions: the reduction, and the number in it.
    pub(super) joined: Vec<(u32, u32)>,
    /// The nodes that it comes after by the user's wish.
    pub(super) after: Vec<u32>,
    /// Whether it takes a task of its own, and where that runs, unless it is where the plan does.
    pub(super) apart: bool,
    pub(super) context: Option<u32>,
}

impl Rare {
    fn is_empty(&self) -> bool {
        self.extras.is_none() && self.joined.is_empty() && !self.apart
    }

    /// What the body needs beyond arguments.
    #[inline]
    pub(super) fn parts(&self) -> (&[Parameter], &[Layout]) {
        self.extras.as_ref().map_or((&[], &[]), |extras| (&extras.parameters, &extras.scratch))
    }
}

/// The description of a task, for messages and traces.
pub(super) struct Title {
    pub(super) name: Name,
    pub(super) location: &'static Location<'static>,
    /// The recorded tasks that it comes after by the user's wish.
    pub(super) after: Box<[u32]>,
}

impl Title {
    pub(super) fn origin(&self) -> TaskOrigin {
        TaskOrigin { name: self.name.as_str().to_owned(), location: self.location }
    }
}

/// A reduction of a plan.
pub(super) struct PatternReduction {
    pub(super) folds: Arc<dyn Folds>,
    pub(super) contributions: u32,
}

/// What all plans made from one recording share: everything but the regions.
pub(super) struct Pattern {
    pub(super) name: Name,
    pub(super) location: &'static Location<'static>,
    pub(super) nodes: Vec<Node>,
    pub(super) later: Vec<u32>,
    pub(super) rare: Vec<Rare>,
    pub(super) bodies: Vec<Repeatable>,
    pub(super) titles: Vec<Title>,
    pub(super) reductions: Vec<PatternReduction>,
    /// Nodes that wait for nothing.
    pub(super) roots: Vec<u32>,
    /// How many nodes nobody waits for.
    pub(super) ends: usize,
    pub(super) task_count: usize,
    /// Whether the user gave priorities.
    pub(super) ranked: bool,
    /// Whether some nodes are tasks of their own.
    pub(super) apart: bool,
    /// The highest priority of a node whose task was given none.
    pub(super) plain: i32,
}

impl Pattern {
    /// Whether a priority is that of a node whose task was given one.
    #[inline]
    pub(super) fn is_ranked(&self, priority: i32) -> bool {
        self.ranked && (priority < 0 || priority > self.plain)
    }
}

/// The regions that a plan works on.
pub(super) struct Bound {
    /// The arguments of all nodes, one after the other.
    pub(super) args: Vec<Arg>,
    /// The pieces that reductions are folded into.
    pub(super) folds: Vec<Arg>,
    /// Everything that a run touches, as the arguments of one task.
    pub(super) whole: Vec<Arg>,
    /// For each region, what a run reads before it writes it, and what it writes.
    pub(super) needs: Vec<(Arc<Root>, IndexSet, IndexSet)>,
}

/// Checks nothing any more: compiles what was recorded.
pub(super) fn compile(core: &Arc<Core>, name: Name, location: &'static Location<'static>, tape: Tape) -> Result<Plan> {
    let Cloth { nodes: drafts, reductions, joined } = weave(&tape);
    let drafts = thin(drafts);
    let later_of = successors(&drafts);
    let distance = distances(&later_of);
    let given = drafts.iter().map(|draft| match draft.work {
        Work::Task(task) => Some(tape.tasks[task as usize].spec.priority),
        Work::Sync | Work::Fold(_) => None,
    });
    let given: Vec<Option<i32>> = given.collect();
    let priority = priorities(&given, &later_of, &distance);
    let node_of = nodes_of(&drafts, tape.tasks.len());
    let mut joined = joined;
    let mut pattern = Pattern {
        name,
        location,
        nodes: Vec::with_capacity(drafts.len()),
        later: Vec::new(),
        rare: Vec::new(),
        bodies: Vec::new(),
        titles: Vec::new(),
        reductions: Vec::new(),
        roots: Vec::new(),
        ends: 0,
        task_count: tape.tasks.len(),
        apart: false,
        ranked: given.iter().any(|given| given.is_some_and(|given| given != 0)),
        plain: distance.iter().copied().max().unwrap_or(0),
    };
    let mut args: Vec<Arg> = Vec::new();
    for (number, draft) in drafts.iter().enumerate() {
        let first_arg = args.len() as u32;
        let mut rare = NO_RARE;
        let work = match draft.work {
            Work::Sync => NodeWork::Nothing,
            Work::Fold(reduction) => NodeWork::Fold(reduction),
            Work::Task(task) => {
                let taken = &tape.tasks[task as usize];
                args.extend_from_slice(taken.spec.args());
                let parts = Rare {
                    extras: taken.spec.extras.as_ref().map(|extras| Box::new(extras.asked_for())),
                    joined: std::mem::take(&mut joined[task as usize]),
                    after: taken.after().iter().map(|&step| node_of[step as usize]).collect(),
                    apart: taken.is_apart(),
                    context: taken.context(),
                };
                pattern.apart |= parts.apart;
                if !parts.is_empty() {
                    rare = pattern.rare.len() as u32;
                    pattern.rare.push(parts);
                }
                NodeWork::Task(task)
            }
        };
        let mut later = later_of[number].clone();
        // The first one that becomes ready is the one the worker goes on with: let it be the most urgent.
        later.sort_by_key(|&n| std::cmp::Reverse(priority[n as usize]));
        let first_later = pattern.later.len() as u32;
        pattern.later.extend_from_slice(&later);
        if draft.waits.is_empty() {
            pattern.roots.push(number as u32);
        }
        pattern.ends += usize::from(later.is_empty());
        pattern.nodes.push(Node {
            work,
            first_arg,
            arg_count: args.len() as u32 - first_arg,
            first_later,
            later_count: later.len() as u32,
            waits: draft.waits.len() as u32,
            priority: priority[number],
            rare,
        });
    }
    let folds = reductions.iter().map(|r| r.arg.with_mode(Mode::Update)).collect();
    pattern.reductions =
        reductions.into_iter().map(|r| PatternReduction { folds: r.folds, contributions: r.contributions }).collect();
    let needs = needs_of(&tape);
    for task in tape.tasks {
        let (name, location, after) = (task.spec.name, task.spec.location, task.after().into());
        pattern.titles.push(Title { name, location, after });
        pattern.bodies.push(task.body);
    }
    let bound = Bound { whole: whole_of(&args), args, folds, needs };
    Ok(Plan::new(core, Arc::new(pattern), bound))
}

/// The node of each task.
fn nodes_of(drafts: &[Draft], tasks: usize) -> Vec<u32> {
    let mut nodes = vec![0; tasks];
    for (number, draft) in (0..).zip(drafts) {
        if let Work::Task(task) = draft.work {
            nodes[task as usize] = number;
        }
    }
    nodes
}

/// Everything that some arguments touch, as the arguments of one task: the pieces themselves when they are few, and whole
/// regions otherwise.
pub(super) fn whole_of(args: &[Arg]) -> Vec<Arg> {
    const FEW: usize = 8;
    let mut trees: Vec<*const Tree> = Vec::new();
    let mut used: FxHashMap<*const Tree, (Vec<Arg>, bool)> = FxHashMap::default();
    for arg in args.iter().filter(|a| a.is_ordered()) {
        let tree = std::ptr::from_ref(arg.piece().tree());
        let (pieces, mutates) = used.entry(tree).or_insert_with(|| {
            trees.push(tree);
            (Vec::new(), false)
        });
        *mutates |= arg.mode().mutates();
        if pieces.len() <= FEW && !pieces.iter().any(|known| std::ptr::eq(known.piece(), arg.piece())) {
            pieces.push(*arg);
        }
    }
    let mut whole = Vec::new();
    for tree in trees {
        let (pieces, mutates) = &used[&tree];
        let mode = if *mutates { Mode::LendUpdate } else { Mode::LendRead };
        let disjoint = || {
            pieces
                .iter()
                .enumerate()
                .all(|(i, a)| pieces[..i].iter().all(|b| a.piece().indices.first_common(&b.piece().indices).is_none()))
        };
        if pieces.len() <= FEW && disjoint() {
            whole.extend(pieces.iter().map(|arg| arg.with_mode(mode)));
        } else {
            // SAFETY: the whole region lives as long as its pieces.
            whole.push(unsafe { Arg::new(&pieces[0].piece().tree().root, mode) });
        }
    }
    whole
}

/// For each region, what a run reads before it writes it, and what it writes.
fn needs_of(tape: &Tape) -> Vec<(Arc<Root>, IndexSet, IndexSet)> {
    let mut needs: Vec<(Arc<Root>, IndexSet, IndexSet)> =
        tape.roots.iter().map(|root| (Arc::clone(root), IndexSet::empty(), IndexSet::empty())).collect();
    // Regions that have all their contents cannot miss any, so only the others are looked at.
    let number: FxHashMap<*const Tree, usize> = tape
        .roots
        .iter()
        .enumerate()
        .filter(|(_, root)| root.tree().has_missing.load(crate::sync::atomic::Ordering::Relaxed))
        .map(|(i, root)| (std::ptr::from_ref(root.tree()), i))
        .collect();
    for arg in tape.tasks.iter().flat_map(|task| task.spec.args()) {
        let Some(&at) = number.get(&std::ptr::from_ref(arg.piece().tree())) else { continue };
        let (_, reads, writes) = &mut needs[at];
        note_need(arg, reads, writes);
    }
    needs
}

/// What arguments, in an order in which they can be run, read of a region before they write it, and what they write; nothing
/// when the region has all its contents.
pub(super) fn needs_of_region(args: &[Arg], tree: &Tree) -> (IndexSet, IndexSet) {
    let (mut reads, mut writes) = (IndexSet::empty(), IndexSet::empty());
    if tree.has_missing.load(crate::sync::atomic::Ordering::Relaxed) {
        for arg in args.iter().filter(|arg| std::ptr::eq(arg.piece().tree(), tree)) {
            note_need(arg, &mut reads, &mut writes);
        }
    }
    (reads, writes)
}

fn note_need(arg: &Arg, reads: &mut IndexSet, writes: &mut IndexSet) {
    if arg.mode().reads() {
        *reads = reads.union(&arg.piece().indices.difference(writes));
    }
    if arg.mode().mutates() {
        *writes = writes.union(&arg.piece().indices);
    }
}

/// The accumulators of a plan's reductions.
pub(super) fn accumulators(pattern: &Pattern, bound: &Bound) -> Vec<Vec<UnsafeCell<Accumulator>>> {
    let made = pattern.reductions.iter().zip(&bound.folds).map(|(reduction, arg)| {
        let make = || UnsafeCell::new(reduction.folds.make(arg.piece().shape.len()));
        (0..reduction.contributions).map(|_| make()).collect()
    });
    made.collect()
}
