//! Edits that follow from a diagnostic.

use super::super::load::Source;
use super::super::loom::error::nearest;
use super::super::loom::print::quoted;
use super::super::loom::{Edit, Span};
use super::places::Scope;
use drawloom_graph::diagnostic::{Because, Diagnostic, Rule, Witness};
use drawloom_graph::graph::{EdgeId, Label, NodeKind};
use drawloom_graph::region::{Alias, RegionId};

/// The edit that mends what a diagnostic tells, where the text shows which it is.
pub(super) fn edit(scope: &Scope<'_>, source: &Source, diagnostic: &Diagnostic) -> Option<Edit> {
    match diagnostic.rule {
        Rule::WF0 => correct_node(scope, diagnostic),
        Rule::RF2 => match &diagnostic.witness {
            Witness::Unordered { first, second, alias: Alias::NotKnownDisjoint, .. } => {
                state_disjoint(scope, source, scope.graph.region(*first)?, scope.graph.region(*second)?)
            }
            _ => None,
        },
        Rule::RG1 => correct_region(scope, diagnostic),
        Rule::S1 => read_newer(scope, source, diagnostic),
        _ => None,
    }
}

/// The first read of an overwritten version, made a read of the version that overwrites it.
fn read_newer(scope: &Scope<'_>, source: &Source, diagnostic: &Diagnostic) -> Option<Edit> {
    let Witness::Order(steps) = &diagnostic.witness else { return None };
    let graph = scope.graph;
    let (reader, reads, writes) = steps.iter().find_map(|step| match step.because {
        Because::Overwrites { reads, writes } => Some((step.before, reads, writes)),
        Because::Flow(_) => None,
    })?;
    if graph.region(reads) != graph.region(writes) {
        return None;
    }
    let edge = graph.edges().iter().position(|e| e.from == reads && e.to == reader && e.label == Label::Read)?;
    let span = scope.spans?.edge(EdgeId::from_index(edge))?;
    let written = source.text.get(span.range())?;
    let name = graph.name(reads);
    // The statement of an edge starts with the name of its first node, in quotes or not.
    let length = [quoted(&name), name.clone()].iter().find(|n| written.starts_with(&***n))?.len();
    let from = Span { start: span.start, end: span.start + length as u32 };
    Some(Edit { span: from, replacement: quoted(&graph.name(writes)).into_owned() })
}

/// The declared node whose name is most like the one that nobody declared.
fn correct_node(scope: &Scope<'_>, diagnostic: &Diagnostic) -> Option<Edit> {
    let graph = scope.graph;
    let node = *diagnostic.nodes.iter().find(|n| graph.kind(**n) == NodeKind::Undeclared)?;
    let span = scope.spans?.node(node)?;
    let names: Vec<String> = graph
        .node_ids()
        .filter(|n| graph.kind(*n) != NodeKind::Undeclared)
        .take(1000)
        .map(|n| graph.name(n).into_owned())
        .collect();
    let written = graph.name(node).into_owned();
    // A1 is no misspelt A0: names that differ in their numbers are different names.
    let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let others = names.iter().map(String::as_str).filter(|n| letters(n) != letters(&written));
    let near = nearest(&written, others).filter(|_| written.chars().count() > 2)?;
    Some(Edit { span, replacement: quoted(near).into_owned() })
}

/// The declared region whose name is most like the one that nobody declared.
fn correct_region(scope: &Scope<'_>, diagnostic: &Diagnostic) -> Option<Edit> {
    let regions = scope.graph.regions();
    let region = diagnostic.nodes.iter().find_map(|n| scope.graph.region(*n)).filter(|r| !regions.is_declared(*r))?;
    let span = scope.outer?.region(region)?;
    let fields = regions.fields().map(|f| regions.field_name(f).to_owned());
    let declared = regions.ids().filter(|r| regions.is_declared(*r) && regions.field_of(*r).is_none());
    let names: Vec<String> = fields.chain(declared.map(|r| regions.name(r).into_owned())).take(1000).collect();
    let written = regions.name(region);
    let near = nearest(&written, names.iter().map(String::as_str)).filter(|_| written.chars().count() > 2)?;
    Some(Edit { span, replacement: quoted(near).into_owned() })
}

/// A fact on the line after the later of two declarations.
fn state_disjoint(scope: &Scope<'_>, source: &Source, a: RegionId, b: RegionId) -> Option<Edit> {
    let regions = scope.graph.regions();
    let outer = scope.outer?;
    let is_root = |r: RegionId| regions.field_of(r).is_none() && regions.piece_of(regions.space_of(r)).is_none();
    if a == b || !is_root(a) || !is_root(b) || !regions.is_declared(a) || !regions.is_declared(b) {
        return None;
    }
    let declared = outer.region(a)?.range().end.max(outer.region(b)?.range().end);
    let end = source.text[declared..].find('\n').map_or(source.text.len(), |at| declared + at);
    let fact = format!("\ndisjoint {}, {}", quoted(&regions.name(a)), quoted(&regions.name(b)));
    Some(Edit { span: Span { start: end as u32, end: end as u32 }, replacement: fact })
}
