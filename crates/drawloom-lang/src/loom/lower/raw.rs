//! `graph { … }` becomes a graph.
//!
//! What a rule forbids is still entered, so that the check reports it: endpoints that nobody declared, data without a
//! region, regions that nobody declared.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::error::{Code, SyntaxError};
use super::super::span::{Span, Spanned};
use super::super::spans::Spans;
use super::super::syntax::{Block, Control as Syntax, NodeName, RawKind, RawLabel, RawStatement, When};
use super::resolve::Tables;
use super::{Errors, Lowered};
use drawloom_graph::graph::{Body, Control, Edge, Graph, Label, NodeId, NodeKind};
use drawloom_graph::region::{RegionId, Regions};

/// A raw graph whose regions are in the table.
pub(super) struct Plan<'f> {
    block: &'f Block<RawStatement>,
    /// For each node in the order of the text, nested graphs included: its region, or how its body is controlled.
    nodes: Vec<Option<Entry>>,
}

enum Entry {
    Region(RegionId),
    Control(Control),
}

/// Enters every region that a raw graph names.
pub(super) fn resolve<'f>(block: &'f Block<RawStatement>, tables: &mut Tables) -> Plan<'f> {
    let mut nodes = Vec::new();
    resolve_block(block, tables, &mut nodes);
    Plan { block, nodes }
}

fn resolve_block(block: &Block<RawStatement>, tables: &mut Tables, nodes: &mut Vec<Option<Entry>>) {
    for item in &block.items {
        let RawStatement::Node { region, control, .. } = &item.statement.value else { continue };
        let entry = match (region, control) {
            (Some(path), _) => tables.region_or_undeclared(path).map(|r| Some(Entry::Region(r))),
            (None, Some(control)) => self::control(&control.when, tables).map(|c| Some(Entry::Control(c))),
            (None, None) => Ok(None),
        };
        nodes.push(entry.unwrap_or_else(|error| {
            tables.errors.push(error);
            None
        }));
        if let Some(Syntax { body, otherwise, .. }) = control {
            resolve_block(body, tables, nodes);
            otherwise.iter().for_each(|block| resolve_block(block, tables, nodes));
        }
    }
}

fn control(when: &When, tables: &mut Tables) -> Result<Control, SyntaxError> {
    Ok(match when {
        When::Call => Control::Call,
        When::Repeat(times) => Control::Repeat(tables.scope.value_in(times, 0, u64::MAX, "the number of rounds")?),
        When::While(path) => Control::While(tables.region_or_undeclared(path)?),
        When::If(path) => Control::If(tables.region_or_undeclared(path)?),
    })
}

/// Builds a raw graph over the finished table of regions.
pub(super) fn build(plan: Plan<'_>, tables: Tables) -> Result<Lowered, Vec<SyntaxError>> {
    let mut building =
        Building { regions: Arc::new(tables.regions), nodes: plan.nodes.into_iter(), errors: Errors::default() };
    let mut spans = tables.spans;
    let graph = building.graph(plan.block, &mut spans);
    match building.errors.take() {
        Some(errors) => Err(errors),
        None => Ok(Lowered { graph, spans, findings: Vec::new() }),
    }
}

struct Building {
    regions: Arc<Regions>,
    nodes: std::vec::IntoIter<Option<Entry>>,
    errors: Errors,
}

impl Building {
    /// Builds one graph. Recursion is as deep as control statements are nested.
    fn graph(&mut self, block: &Block<RawStatement>, spans: &mut Spans) -> Graph {
        let mut graph = Graph::new(Arc::clone(&self.regions));
        let mut names: FxHashMap<&str, (NodeId, Span)> = FxHashMap::default();
        // Nodes first: an edge may stand before the nodes it joins.
        for item in &block.items {
            if let RawStatement::Node { kind, name, cost, control, .. } = &item.statement.value {
                let entry = self.nodes.next().flatten();
                if let Some((_, first)) = names.get(name.text.as_str()) {
                    let message = format!("two nodes are named `{}`", name.text.escape_debug());
                    self.errors.push(
                        SyntaxError::new(Code::DuplicateName, message, name.span, "declared again")
                            .relate(*first, "first declared here"),
                    );
                }
                let node = add_node(&mut graph, *kind, name, entry.as_ref());
                spans.fill_nodes(node.index() + 1, name.span);
                if let Some(cost) = cost {
                    graph.set_cost(node, cost.value);
                }
                if let Some(syntax) = control {
                    self.body(&mut graph, node, syntax, entry, spans);
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
                let port = port.as_ref().map(|p| p.value.value as u32);
                if self.edge(&mut graph, ends, label, port) {
                    spans.fill_edges(graph.edges().len(), item.statement.span);
                }
            }
        }
        graph
    }

    fn body(
        &mut self,
        graph: &mut Graph,
        node: NodeId,
        syntax: &Syntax<RawStatement>,
        entry: Option<Entry>,
        spans: &mut Spans,
    ) {
        let mut inner = vec![Spans::default()];
        let body = self.graph(&syntax.body, &mut inner[0]);
        let otherwise = syntax.otherwise.as_ref().map(|block| {
            inner.push(Spans::default());
            self.graph(block, &mut inner[1])
        });
        if let Some(Entry::Control(control)) = entry {
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
    }

    fn edge(&mut self, graph: &mut Graph, ends: [NodeId; 2], label: &Spanned<RawLabel>, port: Option<u32>) -> bool {
        let kind = match &label.value {
            RawLabel::Read => Label::Read,
            RawLabel::Discard => Label::Discard,
            RawLabel::Write | RawLabel::Reorderable => Label::Write,
            RawLabel::Reduce(_) => Label::Reduce,
            RawLabel::Before => Label::HappensBefore,
            RawLabel::Use => Label::Use,
        };
        let mut edge = Edge::new(ends[0], ends[1], kind);
        if let RawLabel::Reduce(Some(operator)) = &label.value {
            let Some(id) = graph.try_operator(operator) else {
                self.errors.push(SyntaxError::new(
                    Code::OutOfRange,
                    "more than 65535 different reduction operators",
                    label.span,
                    "one operator too many",
                ));
                return false;
            };
            edge = edge.with_operator(id);
        }
        if label.value == RawLabel::Reorderable {
            edge = edge.reorderable();
        }
        if let Some(port) = port {
            edge = edge.at_port(port);
        }
        graph.add_edge(edge);
        true
    }
}

fn add_node(graph: &mut Graph, kind: RawKind, name: &Spanned<NodeName>, entry: Option<&Entry>) -> NodeId {
    let region = match entry {
        Some(Entry::Region(region)) => Some(*region),
        _ => None,
    };
    let kind = match kind {
        RawKind::Data => NodeKind::Data,
        RawKind::Task => NodeKind::Task,
        RawKind::Open => NodeKind::Open,
        RawKind::Close => NodeKind::Close,
    };
    add(graph, kind, name, region)
}

fn add(graph: &mut Graph, kind: NodeKind, name: &NodeName, region: Option<RegionId>) -> NodeId {
    let node = graph.add_raw(&name.text, kind, region);
    if name.integer {
        graph.mark_integer_name(node);
    }
    node
}
