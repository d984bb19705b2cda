//! Everything that is compared between the library and brute force, for one graph.

use std::collections::BTreeSet;

use drawloom_graph::{Because, Diagnostic, Explanation, Graph, NodeId, OrderStep, Report, Rule, Stage, Witness};

use super::confirm::{confirm, ordered};
use super::oracle::memory::{Agreement, Memory};
use super::oracle::reach::Reach;
use super::oracle::rules::{self, Finding};
use super::random::sketch::Sketch;

/// How far a graph came, and what it exercised.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) race_free: bool,
    pub(crate) serial: bool,
    pub(crate) unlinked: bool,
    pub(crate) stale_close: bool,
}

/// Compares everything. The error says what differs.
pub(crate) fn compare(graph: &Graph) -> Result<Seen, String> {
    let report = graph.check();
    let found = rules::findings(graph);
    compare_findings(graph, &report, &found)?;
    confirm_witnesses(graph, &report)?;
    let race_free = found.iter().all(|(rule, _)| rule.stage() >= Stage::Serial);
    if !race_free {
        return Ok(Seen::default());
    }
    let memory = Memory::new(graph);
    let agreement = memory.try_all();
    let serial = agreement.is_some();
    if serial != report.is_valid() {
        return Err(format!("a right order exists: {serial}; the check says valid: {}", report.is_valid()));
    }
    match (graph.order(), agreement) {
        (Ok(order), Some(agreement)) => {
            let reach = Reach::new(graph, |e| e.label.is_dataflow(), &order.happens_before);
            compare_orders(graph, &reach, &agreement)?;
            if !memory.is_right(&order.tasks) {
                return Err(format!("the serial order {:?} is not right", names(graph, &order.tasks)));
            }
            let augmented = graph.augmented(&order).ok_or("a small graph needs no barriers")?;
            let again = augmented.order().map_err(|_| "the augmented graph has no order")?;
            if augmented.augmented(&again).as_ref() != Some(&augmented) {
                return Err("augmenting twice adds something".to_owned());
            }
        }
        (Err(again), None) if again == report => {}
        _ => return Err("check and order disagree about validity".to_owned()),
    }
    Ok(Seen { race_free, serial, unlinked: memory.compares_sets(), stale_close: memory.has_stale_close() })
}

/// Compares, and fails with the smallest graph on which something still differs.
pub(crate) fn assert_agrees(graph: &Graph, case: u64) -> Seen {
    compare(graph).unwrap_or_else(|why| {
        let small = Sketch::from_graph(graph).shrink(|g| compare(g).is_err());
        let why_small = compare(&small.to_graph()).expect_err("the smallest failing graph fails");
        panic!("case {case}: {why}\nthe smallest graph that fails: {why_small}\n{}", small.describe())
    })
}

fn compare_findings(graph: &Graph, report: &Report, found: &BTreeSet<Finding>) -> Result<(), String> {
    // What depends on aliasing has no meaning while the facts contradict each other, and warnings are extra then.
    let broken = found.iter().any(|(rule, _)| *rule == Rule::RG2);
    let stage = found.iter().map(|(rule, _)| rule.stage()).min().unwrap_or(Stage::Warning);
    let counts =
        |rule: Rule| !(broken && rules::needs_facts(rule)) && (rule.stage() != Stage::Warning || stage > Stage::Races);
    let expected: BTreeSet<Finding> = found.iter().filter(|(rule, _)| counts(*rule)).cloned().collect();
    let all = report.violations.iter().chain(&report.warnings);
    let reported: BTreeSet<Finding> = all.filter(|d| counts(d.rule)).map(|d| rules::key(graph, d)).collect();
    let show = |set: Vec<&Finding>| {
        set.iter().map(|(rule, nodes)| format!("{rule} {}", names(graph, nodes).join(","))).collect::<Vec<_>>()
    };
    if expected != reported || report.unlisted != 0 {
        let missed = show(expected.difference(&reported).collect());
        let invented = show(reported.difference(&expected).collect());
        return Err(format!("the check misses {missed:?} and invents {invented:?}"));
    }
    Ok(())
}

fn confirm_witnesses(graph: &Graph, report: &Report) -> Result<(), String> {
    let broken = report.violates(Rule::RG2);
    for d in report.violations.iter().chain(&report.warnings).filter(|d| !broken || !rules::needs_facts(d.rule)) {
        if !confirm(graph, d) {
            return Err(format!("the witness of {} is not confirmed: {} {:?}", d.rule, d.message, d.witness));
        }
        if d.message.is_empty() || (d.rule.stage() != Stage::Warning && d.repairs.is_empty()) {
            return Err(format!("{} says nothing, or suggests nothing", d.rule));
        }
    }
    Ok(())
}

/// No cycle through the tangle of an S1 witness visits fewer tasks than the witness does.
pub(crate) fn is_shortest(graph: &Graph, d: &Diagnostic) -> Result<(), String> {
    let Witness::Order(steps) = &d.witness else { return Ok(()) };
    let orders = rules::exact_orders(graph);
    let tasks: Vec<NodeId> = graph.tasks().collect();
    // One step: a path without a task inside, or rule E.
    let direct = Reach::new(graph, |e| !tasks.contains(&e.to), &[]);
    let step = |a: NodeId, b: NodeId| {
        orders.contains(&(a, b)) || graph.edges().iter().any(|e| e.to == b && direct.reaches(a, e.from))
    };
    let all = Reach::new(graph, |_| true, &orders);
    let tangled: Vec<NodeId> = tasks.iter().copied().filter(|t| all.mutual(*t, d.nodes[0])).collect();
    for &start in &tangled {
        let (mut length, mut front) = (1, vec![start]);
        while length < steps.len() {
            front = tangled.iter().copied().filter(|t| front.iter().any(|f| f != t && step(*f, *t))).collect();
            if length > 1 && front.contains(&start) {
                return Err(format!("a cycle of {length} tasks is shorter than the witness of {}", steps.len()));
            }
            length += 1;
        }
    }
    Ok(())
}

fn compare_orders(graph: &Graph, reach: &Reach, agreement: &Agreement) -> Result<(), String> {
    for a in graph.tasks() {
        for b in graph.tasks().filter(|b| a != *b) {
            let required = agreement.required.contains(&(a, b));
            if required != reach.reaches(a, b) {
                let pair = names(graph, &[a, b]).join(" before ");
                return Err(format!(
                    "{pair}: every right order has it: {required}; the library orders it: {}",
                    !required
                ));
            }
        }
    }
    Ok(())
}

/// Compares the explanation of every pair of tasks with what all right orders agree on.
pub(crate) fn compare_explanations(graph: &Graph, agreement: &Agreement) -> Result<(), String> {
    let is_chain = |steps: &[OrderStep], from: NodeId, to: NodeId| {
        steps.first().is_some_and(|s| s.before == from)
            && steps.last().is_some_and(|s| s.after == to)
            && steps.windows(2).all(|s| s[0].after == s[1].before)
            && steps.iter().all(|s| ordered(graph, s))
    };
    for a in graph.tasks() {
        for b in graph.tasks().filter(|b| a != *b) {
            let pair = names(graph, &[a, b]).join(" and ");
            let required = |x, y| agreement.required.contains(&(x, y));
            let fine = match graph.explain(a, b).map_err(|_| "a valid graph can be explained")? {
                Explanation::Before(steps) => required(a, b) && is_chain(&steps, a, b),
                Explanation::After(steps) => required(b, a) && is_chain(&steps, b, a),
                _ => !required(a, b) && !required(b, a),
            };
            if !fine {
                return Err(format!("the explanation of {pair} is wrong"));
            }
        }
    }
    Ok(())
}

/// Whether a witness uses rule E at all; dataflow alone never makes a cycle in a well-formed graph.
pub(crate) fn uses_exact_rule(steps: &[OrderStep]) -> bool {
    steps.iter().any(|s| matches!(s.because, Because::Overwrites { .. }))
}

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().map(|n| graph.name(*n).into_owned()).collect()
}
