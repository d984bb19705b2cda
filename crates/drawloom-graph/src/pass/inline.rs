//! Inlining: a call gives its nodes back to the graph around it.
//!
//! The nested graph knows nothing about the versions outside, so they are matched by region. A version that nothing inside
//! makes is the version of its region that the call takes; when the call takes a larger region, an Open makes it from that.
//! The newest version of a region that the call makes is the version outside; when only parts of that region were changed,
//! or parts of it after it, a Close makes the version outside from what the call took and from the parts. A version that
//! the call makes and nothing inside changes is the one it took.
//!
//! Pieces that the body opens, reads and leaves open stay so when nothing after the call touches their region. Otherwise a
//! Close collects them, so that what comes after the call comes after their readers.
//!
//! Nodes keep the names they have inside, with `#2` and so on where that name is taken, and stand in the place of the
//! call. A HappensBefore edge at the call goes to the inner node its port remembers, or to every node that nothing inside
//! comes before, or after.
//!
//! Linear in the graph times the depth of the region tree, plus, for each region that lies in a declared one by its indices
//! alone, the number of declared ones. Works on one level: calls inside the body stay calls.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edit::{Edit, between};
use super::outline::{order_ends, order_port};
use super::refusal::{Refusal, RefusalKind, rechecked, require_node, require_valid};
use super::trim::trim;
use super::walk::{is_superseded, topological};
use crate::graph::{Control, Edge, Graph, Label, NodeId, NodeKind};
use crate::region::{RegionId, Regions};

/// Replaces a call by the nodes it holds. Unroll a repeat first; other control nodes cannot be inlined.
pub fn inline(graph: &Graph, call: NodeId) -> Result<Graph, Refusal> {
    require_node(graph, call)?;
    require_valid(graph)?;
    let attempt = |ends: Ends| {
        let mut edit = Edit::new(graph);
        inline_in(&mut edit, call, ends)?;
        rechecked(edit.finish(), &format!("inlining {}", graph.name(call)))
    };
    attempt(Ends::Loose).or_else(|refusal| match refusal.kind() {
        RefusalKind::Breaks => attempt(Ends::Closed),
        _ => Err(refusal),
    })
}

/// What becomes of pieces that the body opens, reads and does not close.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// They stay as they are: right when nothing after the call touches their region.
    Loose,
    /// A Close collects them, so that whatever comes after the call comes after them.
    Closed,
}

/// Replaces a call and returns the compute nodes that stand for it now. The caller answers for validity.
pub(crate) fn inline_in(edit: &mut Edit<'_>, call: NodeId, ends: Ends) -> Result<Vec<NodeId>, Refusal> {
    let name = edit.name(call).into_owned();
    let body = match edit.body(call) {
        Some(body) if body.control == Control::Call => body.clone(),
        _ => {
            let message = format!("{name} does not run a nested graph exactly once, so it cannot be inlined");
            return Err(Refusal::new(RefusalKind::WrongControl, message));
        }
    };
    let mut splice = Splice {
        inner: Edit::new(&body.graph),
        place: edit.place(call),
        takes: edit.takes(call).collect(),
        makes: edit.makes(call).collect(),
        stated: edit.edges_in(call).chain(edit.edges_out(call)).filter(|e| !e.label.is_dataflow()).collect(),
        ids: FxHashMap::default(),
        opens: Vec::new(),
        closes: Vec::new(),
        unchanged: Vec::new(),
        rejoined: Vec::new(),
        call,
        name,
        ends,
    };
    let declared = |edges: &[Edge], end: fn(&Edge) -> NodeId| -> FxHashMap<RegionId, NodeId> {
        edges.iter().filter_map(|e| Some((edit.region(end(e))?, end(e)))).collect()
    };
    let (taken, made) = (declared(&splice.takes, |e| e.from), declared(&splice.makes, |e| e.to));
    let within = |region: RegionId, among: &FxHashMap<_, _>| container(edit.regions(), region, among).is_some();
    trim(&mut splice.inner, |region| within(region, &taken), |region| within(region, &made));
    splice.match_inputs(edit)?;
    splice.match_outputs(edit)?;
    edit.remove_node(call);
    splice.run(edit)
}

/// A body on its way into the graph around it.
struct Splice<'b> {
    inner: Edit<'b>,
    call: NodeId,
    name: String,
    place: NodeId,
    /// The edges of the call.
    takes: Vec<Edge>,
    makes: Vec<Edge>,
    stated: Vec<Edge>,
    /// Inner nodes that are outer nodes.
    ids: FxHashMap<NodeId, NodeId>,
    /// Outer versions to open, with the inner versions to make from them.
    opens: Vec<(NodeId, Vec<NodeId>)>,
    /// Outer versions to close, with the inner versions to make them from.
    closes: Vec<(NodeId, Vec<NodeId>)>,
    /// Outer versions that the body does not change.
    unchanged: Vec<NodeId>,
    /// Outer versions that the body only reads, with the inner pieces that it leaves open.
    rejoined: Vec<(NodeId, Vec<NodeId>)>,
    ends: Ends,
}

impl Splice<'_> {
    /// Finds out where every version that the body starts from comes from.
    fn match_inputs(&mut self, edit: &Edit<'_>) -> Result<(), Refusal> {
        let mut by_region: FxHashMap<RegionId, NodeId> = FxHashMap::default();
        for edge in &self.takes {
            let Some(region) = edit.region(edge.from) else { continue };
            if *by_region.entry(region).or_insert(edge.from) != edge.from {
                return Err(self.misfit(format!("takes two versions of {}", edit.base().region_name(region))));
            }
        }
        let mut opens: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for version in self.inner.nodes().filter(|n| self.inner.kind(*n) == NodeKind::Data) {
            let touched = self.inner.makes(version).next().is_some();
            if !touched || self.inner.takes(version).next().is_some() {
                continue;
            }
            let Some(region) = self.inner.region(version) else { continue };
            let Some(container) = container(edit.regions(), region, &by_region) else {
                return Err(self.misfit(format!("does not take {}", self.inner.base().region_name(region))));
            };
            if container == region {
                self.ids.insert(version, by_region[&container]);
            } else {
                opens.entry(by_region[&container]).or_default().push(version);
            }
        }
        self.opens = opens.into_iter().collect();
        self.opens.sort_unstable();
        Ok(())
    }

    /// Finds out which version, or which versions together, every version made by the call is.
    fn match_outputs(&mut self, edit: &Edit<'_>) -> Result<(), Refusal> {
        let mut changed: Vec<(NodeId, RegionId)> = Vec::new();
        // What is only opened is the newest version of its region too, as long as nothing changed that.
        let mut opened: FxHashMap<RegionId, NodeId> = FxHashMap::default();
        for version in topological(self.inner.base()) {
            let Some(region) = self.inner.region(version).filter(|_| !self.inner.is_gone(version)) else { continue };
            let mut makers = self.inner.takes(version).map(|e| self.inner.kind(e.from)).peekable();
            if makers.peek().is_none() || is_superseded(&self.inner, version, |_| true) {
                continue;
            }
            if makers.all(|kind| kind == NodeKind::Open) {
                opened.insert(region, version);
            } else {
                changed.push((version, region));
            }
        }
        let left_open = self.left_open();
        let by_region: FxHashMap<RegionId, NodeId> =
            self.makes.iter().filter_map(|e| Some((edit.region(e.to)?, e.to))).collect();
        let mut parts: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for (version, region) in changed {
            let Some(container) = container(edit.regions(), region, &by_region) else {
                return Err(self.misfit(format!("does not make {}", self.inner.base().region_name(region))));
            };
            parts.entry(by_region[&container]).or_default().push(version);
        }
        self.collect_open(edit, &by_region, left_open, &mut parts);
        for made in self.makes.iter().map(|e| e.to) {
            match parts.remove(&made).as_deref() {
                None => match edit.region(made).and_then(|region| opened.get(&region)) {
                    Some(version) => {
                        self.ids.insert(*version, made);
                    }
                    None => self.unchanged.push(made),
                },
                Some(&[one]) if self.inner.region(one) == edit.region(made) => {
                    self.ids.insert(one, made);
                }
                Some(several) => self.closes.push((made, several.to_vec())),
            }
        }
        Ok(())
    }

    /// The pieces that are read inside and not closed there, when they are to be closed.
    fn left_open(&self) -> Vec<NodeId> {
        let opened: FxHashSet<NodeId> = self.opens.iter().flat_map(|(_, parts)| parts.iter().copied()).collect();
        let open = |version: &NodeId| {
            let mut makers = self.inner.takes(*version).map(|e| self.inner.kind(e.from));
            (opened.contains(version) || makers.next() == Some(NodeKind::Open))
                && self.inner.makes(*version).next().is_some()
                && !is_superseded(&self.inner, *version, |_| true)
        };
        if self.ends == Ends::Loose {
            return Vec::new();
        }
        self.inner.nodes().filter(|n| self.inner.kind(*n) == NodeKind::Data).filter(open).collect()
    }

    /// Adds pieces that were left open to what closes their region, or to what is read of it.
    fn collect_open(
        &mut self,
        edit: &Edit<'_>,
        made: &FxHashMap<RegionId, NodeId>,
        left_open: Vec<NodeId>,
        parts: &mut FxHashMap<NodeId, Vec<NodeId>>,
    ) {
        let taken: FxHashMap<RegionId, NodeId> =
            self.takes.iter().filter_map(|e| Some((edit.region(e.from)?, e.from))).collect();
        let mut rejoined: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for version in left_open {
            let Some(region) = self.inner.region(version) else { continue };
            let within = container(edit.regions(), region, made);
            if let Some(target) = within.map(|r| made[&r]).filter(|_| within != Some(region)) {
                parts.entry(target).or_default().push(version);
            } else if let Some(source) = container(edit.regions(), region, &taken).filter(|r| *r != region) {
                rejoined.entry(taken[&source]).or_default().push(version);
            }
        }
        self.rejoined = rejoined.into_iter().collect();
        self.rejoined.sort_unstable();
    }

    /// Puts everything into the graph around the call, which is gone by now.
    fn run(mut self, edit: &mut Edit<'_>) -> Result<Vec<NodeId>, Refusal> {
        let mut compute = Vec::new();
        for node in self.inner.nodes() {
            if self.ids.contains_key(&node) {
                continue;
            }
            let kind = self.inner.kind(node);
            let id = edit.add_node(&self.inner.name(node), kind, self.inner.region(node), self.place);
            if self.inner.has_integer_name(node) {
                edit.mark_integer_name(id);
            }
            if let Some(cost) = self.inner.cost(node) {
                edit.set_cost(id, cost);
            }
            if let Some(body) = self.inner.body(node) {
                edit.set_body(id, body.clone());
            }
            if kind.is_compute() {
                compute.push(id);
            }
            self.ids.insert(node, id);
        }
        for edge in self.inner.edges() {
            let mut copy = between(edge, self.ids[&edge.from], self.ids[&edge.to]);
            if let Some(operator) = edge.operator() {
                let operator = edit.operator(self.inner.base().operator_name(operator)).ok_or_else(|| {
                    Refusal::new(RefusalKind::TooLarge, format!("{} brings too many operators along", self.name))
                })?;
                copy = copy.with_operator(operator);
            }
            edit.connect(copy);
        }
        self.open_and_close(edit, &mut compute);
        self.rejoin(edit, &mut compute);
        self.merge_unchanged(edit)?;
        self.state_orders(edit);
        Ok(compute)
    }

    fn open_and_close(&self, edit: &mut Edit<'_>, compute: &mut Vec<NodeId>) {
        for (container, parts) in &self.opens {
            let open = edit.add_node(&format!("open {}", edit.name(*container)), NodeKind::Open, None, self.place);
            compute.push(open);
            edit.connect(Edge::new(*container, open, Label::Read));
            parts.iter().for_each(|part| edit.connect(Edge::new(open, self.ids[part], Label::Write)));
        }
        for (made, parts) in &self.closes {
            let close = edit.add_node(&format!("close {}", edit.name(*made)), NodeKind::Close, None, self.place);
            compute.push(close);
            let region = edit.region(*made);
            let whole = parts.iter().any(|part| edit.region(self.ids[part]) == region);
            // What no part holds comes from before, unless a part already is a version of the whole.
            if let Some(before) = self.taken(edit, region).filter(|_| !whole) {
                edit.connect(Edge::new(before, close, Label::Read));
            }
            parts.iter().for_each(|part| edit.connect(Edge::new(self.ids[part], close, Label::Read)));
            edit.connect(Edge::new(close, *made, Label::Write));
        }
    }

    /// Closes pieces of versions that the body only reads. Whoever changes or opens such a version later takes the closed
    /// one; those who only read it need not wait.
    fn rejoin(&self, edit: &mut Edit<'_>, compute: &mut Vec<NodeId>) {
        let inside: FxHashSet<NodeId> = compute.iter().copied().collect();
        for (source, pieces) in &self.rejoined {
            let later: Vec<Edge> = edit
                .makes(*source)
                .filter(|e| !inside.contains(&e.to))
                .filter(|e| edit.kind(e.to) != NodeKind::Task || is_mutator(edit, e.to, edit.region(*source)))
                .collect();
            let close = edit.add_node(&format!("close {}", edit.name(*source)), NodeKind::Close, None, self.place);
            let name = edit.name(*source).into_owned();
            let whole = edit.add_node(&name, NodeKind::Data, edit.region(*source), self.place);
            compute.push(close);
            edit.connect(Edge::new(*source, close, Label::Read));
            pieces.iter().for_each(|piece| edit.connect(Edge::new(self.ids[piece], close, Label::Read)));
            edit.connect(Edge::new(close, whole, Label::Write));
            for edge in later {
                edit.disconnect(*source, edge.to);
                edit.connect(between(edge, whole, edge.to));
            }
        }
    }

    fn merge_unchanged(&self, edit: &mut Edit<'_>) -> Result<(), Refusal> {
        for &made in &self.unchanged {
            if edit.takes(made).next().is_some() {
                continue;
            }
            let Some(before) = self.taken(edit, edit.region(made)) else {
                return Err(self.misfit(format!("makes {}, which nothing inside makes", edit.name(made))));
            };
            edit.replace_version(made, before);
        }
        Ok(())
    }

    fn taken(&self, edit: &Edit<'_>, region: Option<RegionId>) -> Option<NodeId> {
        self.takes.iter().map(|e| e.from).find(|version| edit.region(*version) == region)
    }

    /// Hands the orders that were stated about the call on to the nodes inside.
    fn state_orders(&self, edit: &mut Edit<'_>) {
        let compute = || self.inner.nodes().filter(|n| self.inner.kind(*n).is_compute());
        let firsts: Vec<NodeId> = compute().filter(|n| self.is_end(*n, true)).collect();
        let lasts: Vec<NodeId> = compute().filter(|n| self.is_end(*n, false)).collect();
        for edge in &self.stated {
            let (from, to) = order_ends(edge.port());
            let starts = edge.from == self.call;
            let (remembered, other) = if starts { (from, to) } else { (to, from) };
            let inner = remembered.filter(|i| *i < self.inner.base().nodes().len()).map(NodeId::from_index);
            let inner = inner.filter(|n| self.inner.kind(*n).is_compute() && !self.inner.is_gone(*n));
            let ends = inner.as_ref().map_or(if starts { &lasts[..] } else { &firsts[..] }, std::slice::from_ref);
            for end in ends.iter().map(|n| self.ids[n]) {
                let (from, to) = if starts { (end, edge.to) } else { (edge.from, end) };
                let plain = Edge::new(from, to, Label::HappensBefore);
                let port = if starts { order_port(None, other) } else { order_port(other, None) };
                edit.connect(port.filter(|p| *p != 0).map_or(plain, |p| plain.at_port(p)));
            }
        }
    }

    /// Whether no compute node inside comes before a node, or after it.
    fn is_end(&self, node: NodeId, first: bool) -> bool {
        let stated = |e: Edge| e.label == Label::HappensBefore;
        if first {
            !self.inner.edges_in(node).any(|e| stated(e) || self.inner.takes(e.from).next().is_some())
        } else {
            !self.inner.edges_out(node).any(|e| stated(e) || self.inner.makes(e.to).next().is_some())
        }
    }

    fn misfit(&self, what: String) -> Refusal {
        Refusal::new(RefusalKind::Boundary, format!("{} {what}, as its nested graph asks", self.name))
    }
}

/// Whether a task makes a version of a region.
fn is_mutator(edit: &Edit<'_>, task: NodeId, region: Option<RegionId>) -> bool {
    edit.makes(task).any(|e| edit.region(e.to) == region)
}

/// The smallest of the given regions that contains a region: by the region tree, or else by indices.
fn container(regions: &Regions, region: RegionId, among: &FxHashMap<RegionId, NodeId>) -> Option<RegionId> {
    // A nested graph may have been given a table of its own that knows more regions.
    if region.index() >= regions.len() {
        return None;
    }
    let above = regions.ancestors(regions.space_of(region));
    let by_tree = above.into_iter().filter_map(|space| regions.sibling(region, space)).find(|r| among.contains_key(r));
    // The smallest id, so that the order of the table does not matter.
    by_tree.or_else(|| among.keys().copied().filter(|r| regions.is_subregion(region, *r)).min())
}
