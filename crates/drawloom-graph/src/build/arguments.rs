//! The arguments of one call: which may overlap, and what is done about it.
//!
//! Arguments that do not alias pass as they are, and so do several reads of one region. Different regions that overlap and
//! are all only read become reads of the smallest region that contains them: one version, as rule T2 asks. Any other
//! overlap is refused, because the task would see its own changes through another argument.

use super::builder::Access;
use crate::check::wellformed::operator_fault;
use crate::diagnostic::Sentences;
use crate::diagnostic::{Diagnostic, Rule, Witness};
use crate::graph::Graph;
use crate::region::{RegionId, Regions};

/// The regions through which a call's arguments pass, in the order of the arguments.
pub(crate) fn resolve(
    graph: &Graph,
    name: &str,
    arguments: &[(RegionId, Access<'_>)],
    may_overlap: bool,
) -> Result<Vec<RegionId>, Box<Diagnostic>> {
    for (region, access) in arguments {
        if let Access::Reduce(operator) = access
            && let Some(fault) = operator_fault(operator)
        {
            return Err(Box::new(
                Diagnostic::new(
                    Rule::WF4,
                    format!("{name} cannot reduce into {}: {fault}", graph.region_name(*region)),
                )
                .with_regions([*region])
                .repair("reduce with + (or *) of the negated (or inverted) contributions"),
            ));
        }
    }
    let mut passed: Vec<RegionId> = arguments.iter().map(|a| a.0).collect();
    if !may_overlap {
        return Ok(passed);
    }
    let regions = graph.regions();
    // Merging reads makes them larger, so it may make new overlaps; each round merges at least one region away.
    loop {
        let mut merged = false;
        for i in 0..passed.len() {
            for j in i + 1..passed.len() {
                let (a, b) = (passed[i], passed[j]);
                let reads = arguments[i].1 == Access::Read && arguments[j].1 == Access::Read;
                if a == b && reads || !regions.may_alias(a, b) {
                    continue;
                }
                if !reads {
                    return Err(refuse_overlap(graph, name, arguments, &passed, i, j));
                }
                let Some(container) = container(regions, a, b) else {
                    return Err(no_container(graph, name, a, b));
                };
                for region in &mut passed {
                    if *region == a || *region == b {
                        *region = container;
                    }
                }
                merged = true;
            }
        }
        if !merged {
            return Ok(passed);
        }
    }
}

/// The smallest region that contains both.
fn container(regions: &Regions, a: RegionId, b: RegionId) -> Option<RegionId> {
    if regions.is_subregion(a, b) {
        return Some(b);
    }
    if regions.is_subregion(b, a) {
        return Some(a);
    }
    regions.sibling(a, regions.common_ancestor(&[a, b])?)
}

fn refuse_overlap(
    graph: &Graph,
    name: &str,
    arguments: &[(RegionId, Access<'_>)],
    passed: &[RegionId],
    i: usize,
    j: usize,
) -> Box<Diagnostic> {
    let regions = graph.regions();
    let alias = regions.alias(passed[i], passed[j]);
    let why = Sentences::new(graph).alias(passed[i], passed[j], &alias);
    let tell = |k: usize| {
        let (region, access) = arguments[k];
        let own = format!("argument {} ({} {})", k + 1, access.name(), regions.name(region));
        match passed[k] == region {
            true => own,
            false => format!(
                "{own}, which overlaps another argument and is therefore read through {},",
                regions.name(passed[k])
            ),
        }
    };
    let why = if passed[i] == passed[j] { format!("both are {}", regions.name(passed[i])) } else { why };
    Box::new(
        Diagnostic::new(Rule::P1, format!("{name} cannot take {} together with {}: {why}", tell(i), tell(j)))
            .with_regions([arguments[i].0, arguments[j].0])
            .because(Witness::Overlap { first: passed[i], second: passed[j], alias })
            .repair("pass one argument that covers both, with the stronger of the two accesses")
            .repair("or split the call, so that one task finishes before the other argument is touched"),
    )
}

pub(crate) fn no_container(graph: &Graph, name: &str, a: RegionId, b: RegionId) -> Box<Diagnostic> {
    let regions = graph.regions();
    let (na, nb) = (regions.name(a), regions.name(b));
    let alias = regions.alias(a, b);
    Box::new(
        Diagnostic::new(
            Rule::P2,
            format!("{name} needs {na} while {nb} is in use; they may alias, and no region contains both"),
        )
        .with_regions([a, b])
        .because(Witness::Overlap { first: a, second: b, alias })
        .repair(format!("if they share no data, state that {na} and {nb} are disjoint"))
        .repair(format!("otherwise declare a region that contains {na} and {nb}")),
    )
}
