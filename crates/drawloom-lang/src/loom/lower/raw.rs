//! `graph { … }` becomes a graph.
//!
//! What a rule forbids is still entered, so that the check reports it: endpoints that nobody declared, data without a
//! region, regions that nobody declared.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::error::{Code, SyntaxError};
use super::super::span::{Span, Spanned};
use super::super::spans::Spans;
use super::super::syntax::{Block, Control as Syntax, NodeName, RawLabel, RawStatement, When};
use super::Lowered;
use super::resolve::Tables;
use drawloom_graph::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};
use drawloom_graph::region::{RegionId, Regions};

/// Builds a raw graph, and enters every region that it names. Mistakes go to the tables.
pub(super) fn build(block: &Block<RawStatement>, tables: &mut Tables) -> Lowered {
    let mut spans = Spans::default();
    let mut graph = self::graph(block, tables, &mut spans);
    // Only now is the table complete that the graph and those nested in it share.
    graph.set_regions(&Arc::new(std::mem::take(&mut tables.regions)));
    spans.take_regions(&mut tables.spans);
    Lowered { graph, spans, findings: Vec::new() }
}

fn control(when: &When, tables: &mut Tables) -> Result<Control, SyntaxError> {
    Ok(match when {
        When::Call => Control::Call,
        When::Repeat(times) => Control::Repeat(tables.scope.value_in(times, 0, u64::MAX, "the number of rounds")?),
        When::While(path) => Control::While(tables.region_or_undeclared(path)?),
        When::If(path) => Control::If(tables.region_or_undeclared(path)?),
    })
}

/// Builds one graph over a table of regions that is set later. Recursion is as deep as control statements are nested.
fn graph(block: &Block<RawStatement>, tables: &mut Tables, spans: &mut Spans) -> Graph {
    let mut graph = Graph::new(Regions::new());
    let mut names: FxHashMap<&str, (NodeId, Span)> = FxHashMap::default();
    // Nodes first: an edge may stand before the nodes it joins.
    for item in &block.items {
        if let RawStatement::Node { kind, name, region, cost, control } = &item.statement.value {
            if let Some((_, first)) = names.get(name.text.as_str()) {
                let message = format!("two nodes are named `{}`", name.text.escape_debug());
                tables.raw_errors.push(
                    SyntaxError::new(Code::DuplicateName, message, name.span, "declared again")
                        .relate(*first, "first declared here"),
                );
            }
            let region = region
                .as_ref()
                .and_then(|path| tables.region_or_undeclared(path).map_err(|e| tables.errors.push(e)).ok());
            let node = add(&mut graph, *kind, name, region);
            spans.fill_nodes(node.index() + 1, name.span);
            if let Some(cost) = cost {
                graph.set_cost(node, cost.value);
            }
            if let Some(syntax) = control {
                body(&mut graph, node, syntax, tables, spans);
            }
            names.entry(&name.text).or_insert((node, name.span));
        }
    }
    for item in &block.items {
        if let RawStatement::Edge { from, to, label, port } = &item.statement.value {
            let ends = [from, to].map(|end| {
                let node = names.entry(end.text.as_str()).or_insert_with(|| {
                    let node = add(&mut graph, NodeKind::Undeclared, end, None);
                    spans.fill_nodes(node.index() + 1, end.span);
                    (node, end.span)
                });
                node.0
            });
            match edge(&mut graph, ends, label) {
                Ok(edge) => {
                    let port = port.as_ref().map(|p| p.value.value as u32);
                    graph.add_edge(port.map_or(edge, |port| edge.at_port(port)));
                    spans.fill_edges(graph.edges().len(), item.statement.span);
                }
                Err(error) => tables.raw_errors.push(error),
            }
        }
    }
    graph
}

fn body(graph: &mut Graph, node: NodeId, syntax: &Syntax<RawStatement>, tables: &mut Tables, spans: &mut Spans) {
    let control = control(&syntax.when, tables);
    let mut inner = Vec::new();
    let mut nested = |block: &Block<RawStatement>, tables: &mut Tables| {
        inner.push(Spans::default());
        self::graph(block, tables, inner.last_mut().expect("just pushed"))
    };
    let body = nested(&syntax.body, tables);
    let otherwise = syntax.otherwise.as_ref().map(|block| nested(block, tables));
    match control {
        Ok(control) => {
            let body = Body::new(control, body);
            graph.set_body(
                node,
                match otherwise {
                    Some(otherwise) => body.with_otherwise(otherwise),
                    None => body,
                },
            );
            spans.set_bodies(node, inner);
        }
        Err(error) => tables.errors.push(error),
    }
}

fn edge(graph: &mut Graph, ends: [NodeId; 2], label: &Spanned<RawLabel>) -> Result<Edge, SyntaxError> {
    let RawLabel { label: kind, operator, reorderable } = &label.value;
    let edge = Edge::new(ends[0], ends[1], *kind);
    let edge = if *reorderable { edge.reorderable() } else { edge };
    let Some(operator) = operator.as_ref().filter(|_| *kind == Label::Reduce) else { return Ok(edge) };
    let message = "more than 65535 different reduction operators";
    let id = graph
        .try_operator(operator)
        .ok_or_else(|| SyntaxError::new(Code::OutOfRange, message, label.span, "one operator too many"))?;
    Ok(edge.with_operator(id))
}

fn add(graph: &mut Graph, kind: NodeKind, name: &NodeName, region: Option<RegionId>) -> NodeId {
    let node = graph.add_raw(&name.text, kind, region);
    if name.integer {
        graph.mark_integer_name(node);
    }
    node
}
