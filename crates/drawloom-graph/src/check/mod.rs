//! Checking a graph: every violation, each with a witness.
//!
//! | file | concept |
//! |---|---|
//! | `flow` | neighbours by node, and a topological order |
//! | `wellformed` | stage 1: WF0 to WF5 |
//! | `structure` | stage 2, node by node: RG, RF1, T, O, C and the warnings |
//! | `history` | stage 2, RF2: aliasing versions are ordered |
//! | `pairs` | RF2 again, pair by pair, once it is known to fail |
//! | `bodies` | stage 2, B1, and the check of nested graphs |
//! | `serial` | stage 3, S1: the exact ordering rule |
//! | `cycle` | shortest cycles, as witnesses |
//! | `reach`, `tally` | reachability and overlap questions |
//!
//! A stage runs when the stages before it found nothing; inside a stage everything is reported, up to
//! [`Options::most_per_rule`] findings of each rule, and the rest counted.
//!
//! # Cost
//! With V nodes, E edges and h the depth of the region tree, a valid graph costs O((V + E) · h) time as long as versions of
//! pieces pass through Open and Close of what contains them. Beyond that, and for invalid graphs:
//! RF2 asks one reachability question for each pair of a version and a live version of an aliasing region (`history`),
//! and unanswered questions cost one sweep over E for each 512 of them (`reach`). S1 costs the sum over all versions of the
//! length of their regions' covers. Regions with several parents cost up to the number of regions each.

mod bodies;
pub(crate) mod cycle;
pub(crate) mod flow;
pub(crate) mod history;
mod pairs;
pub(crate) mod reach;
pub(crate) mod serial;
pub(crate) mod structure;
pub(crate) mod tally;
pub(crate) mod wellformed;

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::diagnostic::Sentences;
use crate::diagnostic::{Diagnostic, OrderStep, Report, Rule, Witness};
use crate::graph::Graph;
use crate::region::cover::Covers;
use crate::region::hierarchy::Inconsistency;
use flow::{Flow, Topology};
use serial::{Ordered, Orders};
use structure::Local;

/// How to check.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How many findings of one rule are listed; the rest are counted in [`Report::unlisted`].
    pub most_per_rule: usize,
    /// Called now and then during a long check: what is being done, how much of it is done, and how much there is.
    pub progress: &'a dyn Fn(&str, u64, u64),
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { most_per_rule: 1000, progress: &|_, _, _| {} }
    }
}

impl Graph {
    /// Checks every rule and reports every violation.
    pub fn check(&self) -> Report {
        self.check_with(&Options::default())
    }

    /// Checks every rule, with options.
    pub fn check_with(&self, options: &Options<'_>) -> Report {
        let mut findings = Findings::new(options.most_per_rule);
        run(self, options, &mut findings, |_, _| {});
        findings.into_report()
    }
}

/// Runs all stages; hands the analysis of a valid graph to `valid`.
pub(crate) fn run<'g>(
    graph: &'g Graph,
    options: &Options<'_>,
    findings: &mut Findings,
    valid: impl FnOnce(&Ordered<'_>, Option<&Orders>),
) {
    let flow = Flow::new(graph);
    let topology = wellformed::check(graph, &flow, findings);
    let Some(topology) = topology.filter(|_| findings.no_violations()) else { return };

    let faults = graph.regions().inconsistencies();
    // Cyclic facts would send every walk around in circles, so the other rules are checked without them.
    let acyclic: Cow<'g, Graph> = match faults.iter().any(|f| matches!(f, Inconsistency::Cycle(_))) {
        true => {
            let mut copy = graph.clone();
            *copy.regions_mut() = graph.regions().without_cycles();
            Cow::Owned(copy)
        }
        false => Cow::Borrowed(graph),
    };
    structure::fact_faults(graph, faults).into_iter().for_each(|fault| findings.push(fault));
    let graph: &Graph = &acyclic;
    let in_use = graph.nodes().iter().filter_map(|n| n.region()).filter(|r| graph.regions().is_declared(*r));
    let covers = Covers::new(graph.regions(), in_use);
    structure::check(&Local { graph, flow: &flow, topology: &topology, covers: &covers }, findings);
    check_history(graph, &flow, &topology, &covers, options, findings);
    bodies::check(graph, &flow, options, findings);
    if !findings.no_violations() {
        return;
    }

    let ordered = Ordered { graph, flow: &flow, topology: &topology, covers: &covers };
    (options.progress)("ordering the tasks", 0, 1);
    if serial::follows_topology(&ordered) {
        return valid(&ordered, None);
    }
    let orders = Orders::new(&ordered);
    let tangled = serial::tangled(&flow, &orders);
    let cycles = match tangled.is_empty() {
        true => Vec::new(),
        false => cycle::shortest_order_cycles(&ordered, &orders, &tangled),
    };
    if cycles.is_empty() {
        return valid(&ordered, Some(&orders));
    }
    let sentences = Sentences::new(graph);
    for steps in cycles {
        findings.push(not_serialisable(graph, &sentences, steps));
    }
}

/// RF2: fast, and pair by pair once it is known to fail.
fn check_history(
    graph: &Graph,
    flow: &Flow,
    topology: &Topology,
    covers: &Covers,
    options: &Options<'_>,
    findings: &mut Findings,
) {
    let found = history::unordered(graph, flow, topology, covers, |done, all| {
        (options.progress)("checking that aliasing versions are ordered", done, all);
    });
    if !found.is_empty() {
        pairs::report(graph, flow, topology, found, findings);
    }
}

fn not_serialisable(graph: &Graph, sentences: &Sentences<'_>, steps: Vec<OrderStep>) -> Diagnostic {
    let mut diagnostic =
        Diagnostic::new(Rule::S1, format!("no serial order reproduces the dataflow: {}", sentences.steps(&steps)))
            .at(steps.iter().map(|s| s.before));
    for step in &steps {
        if let crate::diagnostic::Because::Overwrites { reads, writes } = step.because {
            let (reader, writer) = (graph.name(step.before), graph.name(step.after));
            let (old, new) = (graph.name(reads), graph.name(writes));
            diagnostic = diagnostic.repair(match graph.region(reads) == graph.region(writes) {
                true => format!("let {reader} read {new} instead of {old}, if the newer value is meant"),
                false => format!("let {reader} read a version that {writer} has already changed, if that is meant"),
            });
            if let Some(region) = graph.region(reads) {
                diagnostic = diagnostic.repair(format!(
                    "copy {} into a region of its own before {writer} changes it, and let {reader} read the copy",
                    graph.region_name(region)
                ));
            }
        }
    }
    diagnostic.because(Witness::Order(steps))
}

/// Collects findings, with a limit for each rule.
pub(crate) struct Findings {
    report: Report,
    counts: BTreeMap<Rule, usize>,
    most: usize,
}

impl Findings {
    pub(crate) fn new(most: usize) -> Self {
        Self { report: Report::default(), counts: BTreeMap::new(), most }
    }

    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full(diagnostic.rule) {
            return self.skip(1);
        }
        *self.counts.entry(diagnostic.rule).or_default() += 1;
        match diagnostic.is_warning() {
            true => self.report.warnings.push(diagnostic),
            false => self.report.violations.push(diagnostic),
        }
    }

    /// Whether no more findings of a rule are listed.
    pub(crate) fn is_full(&self, rule: Rule) -> bool {
        self.counts.get(&rule).is_some_and(|n| *n >= self.most)
    }

    /// Counts findings that are not listed.
    pub(crate) fn skip(&mut self, count: u64) {
        self.report.unlisted += count;
    }

    pub(crate) fn no_violations(&self) -> bool {
        self.report.violations.is_empty()
    }

    /// The findings sorted by rule, and in the order they were made inside a rule.
    pub(crate) fn into_report(mut self) -> Report {
        self.report.violations.sort_by_key(|d| d.rule);
        self.report.warnings.sort_by_key(|d| d.rule);
        self.report
    }
}
