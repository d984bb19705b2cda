//! The second stage, rule by rule and node by node: regions, single versions, and what each kind of node may do.
//!
//! RG1, RG2, RF1a to RF1c, T1, T2, O1 to O3, C1 to C4, and the warnings W1 to W5. RF2 has its own file.

use super::Findings;
use super::flow::{Flow, Topology};
use super::tally::Tally;
use crate::diagnostic::Sentences;
use crate::diagnostic::{Diagnostic, Rule, Witness};
use crate::graph::{EdgeId, Graph, Label, NodeId, NodeKind, OperatorId};
use crate::pass::covers_whole;
use crate::region::RegionId;
use crate::region::cover::Covers;
use crate::region::hierarchy::Inconsistency;

/// The inputs of the local rules.
pub(crate) struct Local<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) flow: &'a Flow,
    pub(crate) topology: &'a Topology,
    pub(crate) covers: &'a Covers,
}

/// Contradictions among the stated facts, as violations of RG2.
pub(crate) fn fact_faults(graph: &Graph, found: Vec<Inconsistency>) -> Vec<Diagnostic> {
    let sentences = Sentences::new(graph);
    let tell = |inconsistency: Inconsistency| {
        let repair = match &inconsistency {
            Inconsistency::Undeclared(_) => "declare the region, or correct the name",
            Inconsistency::Cycle(_) => "drop one of these subregion facts",
            Inconsistency::DisjointFromAncestor(..) => "drop the disjointness, or the containment",
            Inconsistency::DisjointAncestors(..) => {
                "drop the disjointness, or let the region lie in only one of the two"
            }
        };
        Diagnostic::new(Rule::RG2, sentences.inconsistency(&inconsistency))
            .with_regions(inconsistency.regions())
            .because(Witness::Facts(inconsistency))
            .repair(repair)
    };
    found.into_iter().map(tell).collect()
}

/// Checks every rule that concerns one node and its neighbours.
pub(crate) fn check(local: &Local<'_>, findings: &mut Findings) {
    let mut scratch = Scratch {
        tally: Tally::new(local.covers, local.graph.regions().len()),
        reads: Vec::new(),
        regions: Vec::new(),
    };
    for node in 0..local.flow.len() as u32 {
        match local.flow.kinds[node as usize] {
            NodeKind::Data => {
                local.check_region(node, findings);
                local.check_version(node, findings);
            }
            NodeKind::Task => local.check_task(node, &mut scratch, findings),
            NodeKind::Open => local.check_open(node, &mut scratch, findings),
            NodeKind::Close => local.check_close(node, &mut scratch, findings),
            NodeKind::Undeclared => {}
        }
    }
}

struct Scratch {
    tally: Tally,
    reads: Vec<u32>,
    regions: Vec<RegionId>,
}

impl Local<'_> {
    fn region(&self, data: u32) -> Option<RegionId> {
        self.graph.nodes()[data as usize].region().filter(|r| self.graph.regions().is_declared(*r))
    }

    fn name(&self, node: u32) -> std::borrow::Cow<'_, str> {
        self.graph.name(NodeId(node))
    }

    fn region_name(&self, data: u32) -> String {
        self.region(data).map_or_else(|| "an unknown region".into(), |r| self.graph.region_name(r).into_owned())
    }

    /// The ids of the edges between two nodes, or of all edges at a node. Looks at every edge: for diagnostics only.
    fn edges(&self, keep: impl Fn(u32, u32, Label) -> bool) -> Vec<EdgeId> {
        self.graph
            .edge_ids()
            .filter(|e| {
                let edge = self.graph.edge(*e);
                keep(edge.from.0, edge.to.0, edge.label)
            })
            .collect()
    }

    fn check_region(&self, data: u32, findings: &mut Findings) {
        let name = self.name(data);
        let message = match self.graph.nodes()[data as usize].region() {
            None => format!("{name} is a region version, but names no region"),
            Some(region) if !self.graph.regions().is_declared(region) => {
                format!("{name} is a version of {}, which is not a declared region", self.graph.region_name(region))
            }
            Some(_) => return,
        };
        findings.push(
            Diagnostic::new(Rule::RG1, message).at([NodeId(data)]).repair("declare the region, or correct the name"),
        );
    }

    fn check_version(&self, data: u32, findings: &mut Findings) {
        if self.flow.into.degree(data) < 2 {
            return;
        }
        let count = |label| self.flow.into.labels(data).iter().filter(|l| **l == label).count();
        let (writes, reduces) = (count(Label::Write), count(Label::Reduce));
        let makers = || {
            let list: Vec<String> = self.flow.into.nodes(data).iter().map(|c| self.name(*c).into_owned()).collect();
            list.join(", ")
        };
        let report = |rule, message: String, repair: &str| {
            let nodes = std::iter::once(NodeId(data)).chain(self.flow.into.nodes(data).iter().map(|c| NodeId(*c)));
            Diagnostic::new(rule, message)
                .at(nodes)
                .with_edges(self.edges(|_, to, label| to == data && label.is_mutation()))
                .repair(repair)
        };
        let name = self.name(data);
        if writes > 1 {
            findings.push(report(
                Rule::RF1a,
                format!("{name} is written {writes} times, by {}", makers()),
                "let each write make a version of its own, one after the other",
            ));
        }
        if writes > 0 && reduces > 0 {
            findings.push(report(
                Rule::RF1b,
                format!("{name} is both written and reduced, by {}", makers()),
                "let the reduction make a new version, and start from the written one with a Use edge",
            ));
        }
        if reduces > 1 {
            self.check_reducers(data, report, findings);
        }
    }

    /// RF1c and W5: the reducers of one version.
    fn check_reducers(&self, data: u32, report: impl Fn(Rule, String, &str) -> Diagnostic, findings: &mut Findings) {
        let edges = self.edges(|_, to, label| to == data && label == Label::Reduce);
        let mut operators: Vec<OperatorId> = Vec::new();
        for edge in &edges {
            if let Some(operator) = self.graph.edge(*edge).operator()
                && !operators.contains(&operator)
            {
                operators.push(operator);
            }
        }
        let name = self.name(data);
        if operators.len() > 1 {
            let list: Vec<String> = operators.iter().map(|o| format!("`{}`", self.graph.operator_name(*o))).collect();
            findings.push(report(
                Rule::RF1c,
                format!("{name} is reduced with different operators: {}", list.join(", ")),
                "let each operator fold into a version of its own",
            ));
        }
        let base = |reducer: u32| {
            let same = |v: &u32| self.flow.is_data(*v) && self.region(*v) == self.region(data);
            self.flow.into.nodes(reducer).iter().copied().filter(same).max_by_key(|v| self.topology.position(*v))
        };
        let mut reducers = self.flow.into.of(data).filter(|(_, l)| *l == Label::Reduce).map(|(r, _)| r);
        let first = reducers.next().map(|r| (r, base(r)));
        let differing = reducers.map(|r| (r, base(r))).find(|(_, b)| first.is_some_and(|(_, f)| f != *b));
        if let (Some((a, base_a)), Some((b, base_b))) = (first, differing) {
            let start = |base: Option<u32>| {
                base.map_or_else(
                    || "does not say where it starts".to_owned(),
                    |v| format!("starts from {}", self.name(v)),
                )
            };
            findings.push(report(
                Rule::W5,
                format!(
                    "the reducers of {name} disagree: {} {}, and {} {}",
                    self.name(a),
                    start(base_a),
                    self.name(b),
                    start(base_b)
                ),
                "give every reducer a Use edge from the version the reduction starts from",
            ));
        }
    }

    /// Distinct versions a compute node reads, in `scratch.reads`; their known regions in `scratch.regions`.
    fn collect_reads(&self, node: u32, scratch: &mut Scratch) {
        scratch.reads.clear();
        scratch.reads.extend(self.flow.into.of(node).filter(|(_, l)| *l == Label::Read).map(|(d, _)| d));
        scratch.reads.dedup();
        scratch.regions.clear();
        scratch.regions.extend(scratch.reads.iter().filter_map(|&d| self.region(d)));
    }

    fn check_task(&self, task: u32, scratch: &mut Scratch, findings: &mut Findings) {
        self.collect_reads(task, scratch);
        for (version, label) in self.flow.out.of(task) {
            if label != Label::Write {
                continue;
            }
            let Some(region) = self.region(version) else { continue };
            let takes = |(d, l): (u32, Label)| {
                matches!(l, Label::Read | Label::Discard) && self.graph.nodes()[d as usize].region() == Some(region)
            };
            if !self.flow.into.of(task).any(takes) {
                let (name, region_name) = (self.name(task), self.graph.region_name(region));
                findings.push(
                    Diagnostic::new(
                        Rule::T1,
                        format!(
                            "{name} writes {region_name} ({}) and neither reads nor discards it",
                            self.name(version)
                        ),
                    )
                    .at([NodeId(task), NodeId(version)])
                    .with_edges(self.edges(|f, t, l| f == task && t == version && l == Label::Write))
                    .with_regions([region])
                    .repair(format!("add a Discard of the version of {region_name} that {name} replaces, or a Read")),
                );
            }
        }
        if scratch.tally.any_overlap(self.covers, &scratch.regions) {
            self.report_overlaps(task, &scratch.reads, findings);
        }
        for (version, label) in self.flow.into.of(task) {
            if label != Label::Discard || scratch.reads.is_empty() {
                continue;
            }
            let Some(region) = self.region(version) else { continue };
            if scratch.tally.overlaps(self.covers, region, &scratch.regions) {
                self.warn_discard(task, version, region, &scratch.reads, findings);
            }
        }
    }

    /// T2, pair by pair; the tally may have been too careful.
    fn report_overlaps(&self, task: u32, reads: &[u32], findings: &mut Findings) {
        let regions = self.graph.regions();
        let sentences = Sentences::new(self.graph);
        for (i, &a) in reads.iter().enumerate() {
            for &b in &reads[i + 1..] {
                let (Some(ra), Some(rb)) = (self.region(a), self.region(b)) else { continue };
                if !regions.may_alias(ra, rb) {
                    continue;
                }
                if findings.is_full(Rule::T2) {
                    findings.skip(1);
                    continue;
                }
                let alias = regions.alias(ra, rb);
                let why = match ra == rb {
                    true => format!("both are versions of {}", regions.name(ra)),
                    false => sentences.alias(ra, rb, &alias),
                };
                let repair = match regions.common_ancestor(&[ra, rb]) {
                    Some(s) if ra != rb => {
                        format!(
                            "read one version of {} instead of both",
                            regions
                                .sibling(ra, s)
                                .map_or_else(|| regions.space_name(s), |r| regions.name(r).into_owned())
                        )
                    }
                    _ => "read only one of the two, or copy one into a region of its own first".to_owned(),
                };
                findings.push(
                    Diagnostic::new(
                        Rule::T2,
                        format!(
                            "{} reads {} and {}, which may alias: {why}",
                            self.name(task),
                            self.name(a),
                            self.name(b)
                        ),
                    )
                    .at([NodeId(task), NodeId(a), NodeId(b)])
                    .with_edges(self.edges(|f, t, l| t == task && (f == a || f == b) && l == Label::Read))
                    .with_regions([ra, rb])
                    .because(Witness::Overlap { first: ra, second: rb, alias })
                    .repair(repair),
                );
            }
        }
    }

    fn warn_discard(&self, task: u32, version: u32, region: RegionId, reads: &[u32], findings: &mut Findings) {
        let regions = self.graph.regions();
        let read = reads.iter().find_map(|&d| Some((d, self.region(d).filter(|r| regions.may_alias(*r, region))?)));
        if let Some((d, r)) = read {
            let (name, old) = (self.name(task), self.name(version));
            findings.push(
                Diagnostic::new(
                    Rule::W4,
                    format!("{name} discards {old} and reads {}, which may alias it", self.name(d)),
                )
                .at([NodeId(task), NodeId(version), NodeId(d)])
                .with_edges(self.edges(|f, t, _| t == task && (f == version || f == d)))
                .with_regions([region, r])
                .because(Witness::Overlap { first: region, second: r, alias: regions.alias(region, r) })
                .repair(format!("let {name} Read {old} instead of discarding it")),
            );
        }
    }

    /// O3 and C3: no Discard, no Reduce.
    fn check_plain(&self, node: u32, rule: Rule, findings: &mut Findings) {
        let kind = self.flow.kinds[node as usize];
        let bad = |l: Label| matches!(l, Label::Discard | Label::Reduce);
        let others = self.flow.into.of(node).chain(self.flow.out.of(node));
        for (other, label) in others.filter(|(_, l)| bad(*l)) {
            let verb = if label == Label::Discard { "discards" } else { "reduces into" };
            findings.push(
                Diagnostic::new(
                    rule,
                    format!(
                        "{} is {kind_article} and {verb} {}",
                        self.name(node),
                        self.name(other),
                        kind_article = if kind == NodeKind::Open { "an Open" } else { "a Close" }
                    ),
                )
                .at([NodeId(node), NodeId(other)])
                .with_edges(self.edges(|f, t, l| bad(l) && (f == node && t == other || f == other && t == node)))
                .repair("an Open or Close moves no data: it only Reads and Writes; make it a Task if it computes"),
            );
        }
    }

    fn check_open(&self, open: u32, scratch: &mut Scratch, findings: &mut Findings) {
        self.check_plain(open, Rule::O3, findings);
        self.collect_reads(open, scratch);
        let name = self.name(open);
        let writes: Vec<u32> = self.flow.out.of(open).filter(|(_, l)| *l == Label::Write).map(|(w, _)| w).collect();
        if scratch.reads.len() != 1 {
            findings.push(self.wrong_count(Rule::O1, open, "reads", &scratch.reads));
        } else if let Some(whole) = self.region(scratch.reads[0]) {
            for &w in &writes {
                let Some(part) = self.region(w) else { continue };
                if !self.graph.regions().is_subregion(part, whole) {
                    findings.push(self.not_inside(Rule::O2, open, w, part, scratch.reads[0], whole));
                }
                if part == whole {
                    findings.push(self.renames(open, scratch.reads[0], w));
                }
            }
        }
        if writes.is_empty() {
            findings.push(
                Diagnostic::new(Rule::W1, format!("{name} opens {} into nothing", self.list(&scratch.reads)))
                    .at([NodeId(open)])
                    .repair(format!("remove {name}")),
            );
        }
    }

    fn check_close(&self, close: u32, scratch: &mut Scratch, findings: &mut Findings) {
        self.check_plain(close, Rule::C3, findings);
        self.collect_reads(close, scratch);
        let mut writes: Vec<u32> =
            self.flow.out.of(close).filter(|(_, l)| *l == Label::Write).map(|(w, _)| w).collect();
        writes.sort_unstable();
        writes.dedup();
        let mut by_region: Vec<(RegionId, u32)> =
            scratch.reads.iter().filter_map(|&d| Some((self.region(d)?, d))).collect();
        by_region.sort_unstable();
        for pair in by_region.windows(2).filter(|p| p[0].0 == p[1].0) {
            let (a, b) = (pair[0].1, pair[1].1);
            findings.push(
                Diagnostic::new(
                    Rule::C4,
                    format!(
                        "{} closes {} and {}, which are two versions of {}",
                        self.name(close),
                        self.name(a),
                        self.name(b),
                        self.region_name(a)
                    ),
                )
                .at([NodeId(close), NodeId(a), NodeId(b)])
                .with_edges(self.edges(|f, t, l| t == close && (f == a || f == b) && l == Label::Read))
                .with_regions([pair[0].0])
                .repair("read only the later of the two"),
            );
        }
        let [made] = writes[..] else {
            findings.push(self.wrong_count(Rule::C1, close, "writes", &writes));
            return;
        };
        let Some(whole) = self.region(made) else { return };
        for &d in &scratch.reads {
            let Some(part) = self.region(d) else { continue };
            if !self.graph.regions().is_subregion(part, whole) {
                findings.push(self.not_inside(Rule::C2, close, d, part, made, whole));
            }
        }
        if let [only] = scratch.reads[..]
            && self.region(only) == Some(whole)
        {
            findings.push(self.renames(close, only, made));
        }
        if !scratch.regions.contains(&whole) && !covers_whole(self.graph.regions(), whole, &scratch.regions) {
            let name = self.graph.region_name(whole);
            findings.push(
                Diagnostic::new(
                    Rule::W3,
                    format!(
                        "{} closes {} into {}; nothing says that these make up all of {name}, so the rest of {} is undefined",
                        self.name(close),
                        self.list(&scratch.reads),
                        self.name(made),
                        self.name(made),
                    ),
                )
                .at([NodeId(close), NodeId(made)])
                .with_regions([whole])
                .repair(format!("let {} also Read the version of {name} that was opened", self.name(close))),
            );
        }
    }

    fn wrong_count(&self, rule: Rule, node: u32, verb: &str, versions: &[u32]) -> Diagnostic {
        let (kind, name) = (self.flow.kinds[node as usize], self.name(node));
        let found = match versions.len() {
            0 => "nothing".to_owned(),
            n => format!("{n}: {}", self.list(versions)),
        };
        Diagnostic::new(
            rule,
            format!("{kind} {name} must {} exactly one version, and {verb} {found}", &verb[..verb.len() - 1]),
        )
        .at(std::iter::once(node).chain(versions.iter().copied()).map(NodeId))
        .repair(match rule {
            Rule::O1 => "read the one version that is opened; use one Open for each",
            _ => "write the one version that the pieces make up; use one Close for each",
        })
    }

    fn not_inside(&self, rule: Rule, node: u32, part: u32, inner: RegionId, whole: u32, outer: RegionId) -> Diagnostic {
        let regions = self.graph.regions();
        let verb = if rule == Rule::O2 { "opens" } else { "closes into" };
        Diagnostic::new(
            rule,
            format!(
                "{} {verb} {}, but {} is not known to be a subregion of {}",
                self.name(node),
                self.name(whole),
                regions.name(inner),
                regions.name(outer)
            ),
        )
        .at([NodeId(node), NodeId(part), NodeId(whole)])
        .with_edges(self.edges(|f, t, _| f == node && t == part || f == part && t == node))
        .with_regions([inner, outer])
        .repair(format!(
            "state that {} is a subregion of {}, or name another region",
            regions.name(inner),
            regions.name(outer)
        ))
    }

    fn renames(&self, node: u32, from: u32, to: u32) -> Diagnostic {
        let kind = if self.flow.kinds[node as usize] == NodeKind::Open { "opens" } else { "closes" };
        Diagnostic::new(
            Rule::W2,
            format!(
                "{} {kind} {} into {}, another version of the same region {}",
                self.name(node),
                self.name(from),
                self.name(to),
                self.region_name(to)
            ),
        )
        .at([NodeId(node), NodeId(from), NodeId(to)])
        .repair(format!("use {} in place of {}", self.name(from), self.name(to)))
    }

    fn list(&self, nodes: &[u32]) -> String {
        let mut list: Vec<String> = nodes.iter().take(6).map(|n| self.name(*n).into_owned()).collect();
        if nodes.len() > 6 {
            list.push(format!("… ({} in all)", nodes.len()));
        }
        if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }
    }
}
