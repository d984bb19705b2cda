//! Dead-task elimination.
//!
//! Tasks are pure: a task whose results nobody needs can go. A version is *needed* when
//!
//! * it is what an observed region holds in the end: nothing replaces it and it was not merely opened;
//! * a live task reads it;
//! * an Open or Close makes a needed version from it, unless newer inputs of the Close hold all of its region;
//! * it is the base of a reduction into a needed version. A reducer that does not say what it folds into needs every older
//!   version of its field.
//!
//! A task is *live* when a version it makes is needed. Discarding a version does not need it, so what is overwritten unread
//! is dead, while a chain of updates lives as long as its end does.
//!
//! A dead task may stand between others: its version is discarded, opened or closed by nodes that stay, and those take the
//! version before it instead. In a graph that takes stale versions this can lose the only path that ordered two versions,
//! so such steps are taken only as far as the check allows (see `accept`). Versions, Opens and Closes that nobody takes and
//! nobody observes go too, and so do the orders that were stated about what is gone.
//!
//! Near-linear: four sweeps over the graph, and two checks when every step is legal. Looks into nested graphs, where
//! everything a body leaves behind counts as observed.

use super::accept::{BUDGET, accept};
use super::coverage::covers;
use super::edit::Edit;
use super::refusal::{Refusal, rechecked, require_node, require_valid};
use super::walk::{in_bodies, is_superseded, topological};
use crate::graph::{Edge, Graph, Label, NodeId, NodeKind};
use crate::region::cover::{Covers, Joined};
use crate::region::{FieldId, RegionId};

/// What must survive dead-task elimination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Liveness {
    regions: Option<Vec<RegionId>>,
    tasks: Vec<NodeId>,
}

impl Liveness {
    /// Whatever any region holds in the end is observed.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only what these regions hold in the end is observed.
    pub fn of(regions: &[RegionId]) -> Self {
        Self { regions: Some(regions.to_vec()), tasks: Vec::new() }
    }

    /// The same, and these tasks stay in any case: they do more than they declare, such as printing.
    #[must_use]
    pub fn keeping(mut self, tasks: &[NodeId]) -> Self {
        self.tasks.extend_from_slice(tasks);
        self
    }
}

/// Removes tasks that no observed value depends on.
pub fn eliminate_dead(graph: &Graph, live: &Liveness) -> Result<Graph, Refusal> {
    live.tasks.iter().try_for_each(|task| require_node(graph, *task))?;
    require_valid(graph)?;
    eliminate(graph, live, 0)
}

fn eliminate(graph: &Graph, live: &Liveness, depth: usize) -> Result<Graph, Refusal> {
    let mut edit = Edit::new(graph);
    in_bodies(&mut edit, depth, |body, depth| eliminate(body, &Liveness::all(), depth))?;
    let order = topological(graph);
    let value = Values::new(&edit, &order, live);
    // First only what leaves no gap: this never loses a path between nodes that stay.
    let plain = Kept::new(&edit, &order, &value, &[]);
    let gaps: Vec<NodeId> = Kept::new(&edit, &order, &value, &plain.in_the_way(graph, &value)).bypassed;
    let mut budget = BUDGET;
    let build = |gaps: &[NodeId]| {
        let kept = Kept::new(&edit, &order, &value, gaps);
        Some(kept.apply(edit.clone()))
    };
    match accept(&gaps, &mut budget, build) {
        Some((_, graph)) => Ok(graph),
        None => rechecked(plain.apply(edit), "removing dead tasks"),
    }
}

/// Which versions are needed, and which compute nodes make one.
struct Values {
    needed: Vec<bool>,
    /// What an observed region holds in the end.
    last: Vec<bool>,
    live: Vec<bool>,
}

impl Values {
    fn new(edit: &Edit<'_>, order: &[NodeId], live: &Liveness) -> Self {
        let n = order.len();
        let mut position = vec![0u32; n];
        order.iter().enumerate().for_each(|(at, node)| position[node.index()] = at as u32);
        let observed = observed(edit, live);
        let mut values = Self { needed: vec![false; n], last: vec![false; n], live: vec![false; n] };
        live.tasks.iter().for_each(|task| values.live[task.index()] = true);
        // Fields into which a needed version was reduced without saying from what.
        let mut unlinked: Vec<FieldId> = Vec::new();
        for &node in order.iter().rev() {
            let at = node.index();
            if edit.kind(node) != NodeKind::Data {
                values.live[at] |= edit.makes(node).any(|e| values.needed[e.to.index()]);
                continue;
            }
            let field = edit.region(node).map(|r| edit.regions().raw_field(r));
            let opened = edit.takes(node).any(|e| edit.kind(e.from) == NodeKind::Open);
            values.last[at] = observed[at] && !opened && !is_superseded(edit, node, |_| true);
            values.needed[at] = values.last[at]
                || field.is_some_and(|f| unlinked.contains(&f))
                || edit.makes(node).any(|taken| values.passes_on(edit, &position, taken));
            let links = |reducer: NodeId| edit.takes(reducer).any(|e| edit.region(e.from) == edit.region(node));
            let loose = edit.takes(node).any(|e| e.label == Label::Reduce && !links(e.from));
            if let Some(field) = field.filter(|f| values.needed[at] && loose && !unlinked.contains(f)) {
                unlinked.push(field);
            }
        }
        values
    }

    /// Whether whoever takes a version needs its value.
    fn passes_on(&self, edit: &Edit<'_>, position: &[u32], taken: Edge) -> bool {
        let Edge { from: version, to: taker, label, .. } = taken;
        let made = |e: &Edge| self.needed[e.to.index()];
        match (edit.kind(taker), label) {
            (NodeKind::Task, Label::Read) => self.live[taker.index()],
            (NodeKind::Close, _) => {
                self.live[taker.index()]
                    && !edit.makes(taker).all(|e| is_shadowed(edit, position, version, taker, e.to))
            }
            (NodeKind::Open, _) => self.live[taker.index()],
            // The base of a reduction, whether it is used or, oddly, discarded.
            _ => edit
                .makes(taker)
                .filter(made)
                .any(|e| e.label == Label::Reduce && edit.region(e.to) == edit.region(version)),
        }
    }
}

/// Whether other inputs of a Close, newer than this one, hold all of its region.
fn is_shadowed(edit: &Edit<'_>, position: &[u32], version: NodeId, close: NodeId, made: NodeId) -> bool {
    let (Some(region), true) = (edit.region(version), edit.region(version) == edit.region(made)) else {
        // Only the version of the whole is usually read beside its parts; testing every part would be quadratic.
        return false;
    };
    let newer: Vec<RegionId> = edit
        .takes(close)
        .filter(|e| position[e.from.index()] > position[version.index()])
        .filter_map(|e| edit.region(e.from))
        .collect();
    covers(edit.regions(), region, &newer)
}

/// Whether each version is one of a region that shares something with an observed one.
fn observed(edit: &Edit<'_>, live: &Liveness) -> Vec<bool> {
    let graph = edit.base();
    let Some(regions) = &live.regions else { return vec![true; graph.nodes().len()] };
    let known = |r: &RegionId| r.index() < graph.regions().len();
    let used = graph.nodes().iter().filter_map(|n| n.region()).chain(regions.iter().copied()).filter(known);
    let covers = Covers::new(graph.regions(), used);
    let mut observed = Joined::new(&covers);
    regions.iter().copied().filter(known).for_each(|region| observed.enter(region, 1));
    graph.nodes().iter().map(|n| n.region().is_some_and(|region| observed.over(region) > 0)).collect()
}

/// Which nodes stay, when the given dead tasks may be bypassed.
struct Kept {
    keep: Vec<bool>,
    /// The dead tasks whose versions others take, in topological order.
    bypassed: Vec<NodeId>,
}

impl Kept {
    fn new(edit: &Edit<'_>, order: &[NodeId], values: &Values, gaps: &[NodeId]) -> Self {
        let mut may_bypass = vec![false; order.len()];
        gaps.iter().for_each(|task| may_bypass[task.index()] = true);
        let mut keep = vec![false; order.len()];
        // Versions that a node which stays takes, or will take when the task between is gone.
        let mut wanted = vec![false; order.len()];
        let mut bypassed = Vec::new();
        for &node in order.iter().rev() {
            let at = node.index();
            let is_wanted = edit.makes(node).any(|e| wanted[e.to.index()]);
            keep[at] = match edit.kind(node) {
                NodeKind::Data => {
                    wanted[at] |= edit.makes(node).any(|e| keep[e.to.index()]);
                    wanted[at] || edit.edges_at(node).next().is_none()
                }
                NodeKind::Close => is_wanted || edit.makes(node).any(|e| values.last[e.to.index()]),
                NodeKind::Open => is_wanted,
                _ if values.live[at] => true,
                _ => {
                    let can = may_bypass[at] && edit.makes(node).all(|e| before(edit, node, e.to).is_some());
                    if is_wanted && can {
                        bypassed.push(node);
                        let taken = edit.makes(node).filter(|e| wanted[e.to.index()]);
                        let taken: Vec<NodeId> = taken.filter_map(|e| before(edit, node, e.to)).collect();
                        taken.into_iter().for_each(|v| wanted[v.index()] = true);
                    }
                    is_wanted && !can
                }
            };
            if keep[at] && edit.kind(node).is_compute() {
                // An Open need not make what nobody takes; the others make all or nothing.
                let all = edit.kind(node) != NodeKind::Open;
                edit.makes(node).filter(|e| all || wanted[e.to.index()]).for_each(|e| keep[e.to.index()] = true);
            }
        }
        bypassed.reverse();
        Self { keep, bypassed }
    }

    /// The dead tasks that stay although nobody needs their values.
    fn in_the_way(&self, graph: &Graph, values: &Values) -> Vec<NodeId> {
        graph.tasks().filter(|t| self.keep[t.index()] && !values.live[t.index()]).collect()
    }

    fn apply(&self, mut edit: Edit<'_>) -> Graph {
        // In topological order, so that the version before is the one that finally stands there.
        for &task in &self.bypassed {
            let made: Vec<NodeId> = edit.makes(task).map(|e| e.to).collect();
            for version in made {
                let others = edit.takes(version).any(|e| e.from != task && self.keep[e.from.index()]);
                if let Some(earlier) = before(&edit, task, version).filter(|_| !others) {
                    edit.replace_version(version, earlier);
                }
            }
        }
        let dropped: Vec<NodeId> = edit.nodes().filter(|n| !self.keep[n.index()]).collect();
        dropped.into_iter().for_each(|node| edit.remove_node(node));
        edit.finish()
    }
}

/// The version of the same region that a task takes when it makes this one.
fn before(edit: &Edit<'_>, task: NodeId, made: NodeId) -> Option<NodeId> {
    edit.takes(task).map(|e| e.from).find(|v| edit.region(*v) == edit.region(made))
}
