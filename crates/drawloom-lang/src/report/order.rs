//! An order and its launch list, one line of JSON.

use std::borrow::Cow;

use serde::Serialize;

use super::findings::to_line;
use crate::json::Id;
use drawloom_graph::graph::{Graph, NodeId};
use drawloom_graph::order::{Launch, Order, Parameter, Privilege};

/// One line of JSON about an ordered graph, without a line end.
///
/// ```text
/// {"file","tasks":[ids],"happens_before":[[before,after]],
///  "launches":[{"task","parameters":[{"region","privilege","op"?,"takes"?,"makes"?,"ports"?}]}]}
/// ```
pub fn order_json(file: &str, graph: &Graph, order: &Order, launches: &[Launch]) -> String {
    // A barrier has no node, and stands as a text that says so.
    let end = |node: NodeId| match node.index() < graph.nodes().len() {
        true => Id::of(graph, node),
        false => Id::Text(order.name(graph, node)),
    };
    to_line(&OrderLine {
        file,
        tasks: order.tasks.iter().map(|task| Id::of(graph, *task)).collect(),
        happens_before: order.happens_before.iter().map(|(before, after)| (end(*before), end(*after))).collect(),
        launches: launches.iter().map(|launch| LaunchEntry::new(graph, launch)).collect(),
    })
}

#[derive(Serialize)]
struct OrderLine<'a> {
    file: &'a str,
    tasks: Vec<Id<'a>>,
    happens_before: Vec<(Id<'a>, Id<'a>)>,
    launches: Vec<LaunchEntry<'a>>,
}

#[derive(Serialize)]
struct LaunchEntry<'a> {
    task: Id<'a>,
    parameters: Vec<ParameterEntry<'a>>,
}

#[derive(Serialize)]
struct ParameterEntry<'a> {
    region: Cow<'a, str>,
    privilege: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    takes: Option<Id<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    makes: Option<Id<'a>>,
    #[serde(skip_serializing_if = "<[u32]>::is_empty")]
    ports: &'a [u32],
}

impl<'a> LaunchEntry<'a> {
    fn new(graph: &'a Graph, launch: &'a Launch) -> Self {
        let entry = |parameter: &'a Parameter| ParameterEntry {
            region: graph.region_name(parameter.region),
            privilege: parameter.privilege.to_string(),
            op: match parameter.privilege {
                Privilege::Reduce(operator) => Some(graph.operator_name(operator)),
                Privilege::Read | Privilege::Write | Privilege::Update => None,
            },
            takes: parameter.takes.map(|node| Id::of(graph, node)),
            makes: parameter.makes.map(|node| Id::of(graph, node)),
            ports: &parameter.ports,
        };
        Self { task: Id::of(graph, launch.task), parameters: launch.parameters.iter().map(entry).collect() }
    }
}
