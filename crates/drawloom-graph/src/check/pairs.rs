//! RF2 once it is known to fail: every unordered pair, with its witness.
//!
//! The fast check stops asking about what lies behind a version, so after a failure it may miss further pairs. Graphs of up
//! to a few thousand nodes are therefore compared pair by pair here; larger graphs keep the pairs the fast check found.

use super::Findings;
use super::flow::{Flow, Topology};
use super::reach::Reach;
use crate::diagnostic::Sentences;
use crate::diagnostic::{Diagnostic, Rule, Witness};
use crate::graph::{Graph, NodeId};
use crate::region::RegionId;

/// Graphs up to this size are compared pair by pair: at most eight million pairs.
const SMALL: usize = 4096;

pub(crate) fn report(graph: &Graph, flow: &Flow, topology: &Topology, found: Vec<(u32, u32)>, findings: &mut Findings) {
    let found = if flow.len() <= SMALL { all_pairs(graph, flow, topology) } else { found };
    let sentences = Sentences::new(graph);
    let mut reach = Reach::new(flow, topology);
    let regions = graph.regions();
    for (a, b) in found {
        if findings.is_full(Rule::RF2) {
            findings.skip(1);
            continue;
        }
        let (Some(ra), Some(rb)) = (region(graph, a), region(graph, b)) else { continue };
        let alias = regions.alias(ra, rb);
        let common_ancestor = common_ancestor(flow, topology, &mut reach, a, b);
        let (name_a, name_b) = (graph.name(NodeId(a)), graph.name(NodeId(b)));
        let why = match ra == rb {
            true => format!("both are versions of {}", regions.name(ra)),
            false => sentences.alias(ra, rb, &alias),
        };
        let mut diagnostic =
            Diagnostic::new(Rule::RF2, format!("{name_a} and {name_b} may alias, and no dataflow orders them: {why}"))
                .at([NodeId(a), NodeId(b)])
                .with_regions([ra, rb]);
        let otherwise = if ra == rb { "" } else { "otherwise " };
        if ra != rb {
            diagnostic = diagnostic.repair(format!(
                "if they share no data, state that {} and {} are disjoint",
                regions.name(ra),
                regions.name(rb)
            ));
        }
        diagnostic = diagnostic.repair(match flow.into.nodes(b).first() {
            Some(&maker) => format!(
                "{otherwise}let {} take {name_a}, or a version made from it, so that {name_b} comes after it",
                graph.name(NodeId(maker))
            ),
            None => format!("{otherwise}let a task or Close make {name_b} from {name_a}"),
        });
        findings.push(diagnostic.because(Witness::Unordered {
            first: NodeId(a),
            second: NodeId(b),
            alias,
            common_ancestor: common_ancestor.map(NodeId),
        }));
    }
}

fn region(graph: &Graph, data: u32) -> Option<RegionId> {
    graph.nodes()[data as usize].region().filter(|r| graph.regions().is_declared(*r))
}

/// Every unordered pair of aliasing versions.
fn all_pairs(graph: &Graph, flow: &Flow, topology: &Topology) -> Vec<(u32, u32)> {
    let mut reach = Reach::new(flow, topology);
    let may_alias = |a: u32, b: u32| match (region(graph, a), region(graph, b)) {
        (Some(a), Some(b)) => graph.regions().may_alias(a, b),
        _ => false,
    };
    let (mut pairs, mut earlier) = (Vec::new(), Vec::new());
    for version in (0..flow.len() as u32).map(|at| topology.node(at)) {
        if !flow.is_data(version) || !flow.has_edges(version) || region(graph, version).is_none() {
            continue;
        }
        let mut sources = earlier.clone();
        reach.retain_unreaching(&mut sources, version);
        pairs.extend(sources.into_iter().filter(|source| may_alias(*source, version)).map(|source| (source, version)));
        earlier.push(version);
    }
    pairs.extend(reach.sweep(|_, _| {}).into_iter().filter(|(a, b)| may_alias(*a, *b)));
    pairs.sort_unstable_by_key(|&(a, b)| (topology.position(b), topology.position(a)));
    pairs
}

/// The latest node, by position, from which both versions are reached.
fn common_ancestor(flow: &Flow, topology: &Topology, reach: &mut Reach<'_>, a: u32, b: u32) -> Option<u32> {
    let above_a = reach.ancestors(a);
    let above_b = reach.ancestors(b);
    let mut in_a = vec![false; flow.len()];
    above_a.iter().for_each(|n| in_a[*n as usize] = true);
    above_b.into_iter().filter(|n| in_a[*n as usize]).max_by_key(|n| topology.position(*n))
}
