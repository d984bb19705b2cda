//! Any graph as a text.

use super::span::Spanned;
use super::syntax::{
    Block, Control as ControlSyntax, Cost, Cut, Entry, File, Item, Literal, NodeName, Path, RawLabel, RawStatement,
    Statement, Step, Term, When,
};
use crate::names::UniqueNames;
use drawloom_graph::graph::{Body, Control, Graph, NodeId, NodeKind};
use drawloom_graph::region::regions::Fact;
use drawloom_graph::region::{IndexSet, PartitionId, RegionId, Regions, SpaceId};

/// Writes a graph, with its regions, as a text with a raw graph in it.
///
/// Reading the text gives the same graph: the same nodes and edges in the same order, names, costs, nested graphs, facts
/// and partitions. Maps are not part of a graph, so partitions are written by their index lists. Of several nodes with
/// one name all but the first get a number, as in `t#2`.
///
/// ```
/// use drawloom_lang::loom;
/// let text = "region A\n\ngraph {\n    data A0: A\n    task t\n    A0 -> t: read\n}\n";
/// let graph = loom::lower(&loom::parse(text).unwrap()).unwrap().graph;
/// assert_eq!(loom::write_graph(&graph), text);
/// ```
pub fn write_graph(graph: &Graph) -> String {
    let regions = graph.regions();
    let mut items = Vec::new();
    write_spaces(regions, &mut items);
    for field in regions.fields() {
        let Some(space) = regions.field_space(field) else { continue };
        let space = name(regions.space_name(space));
        items.push(Item::made(Statement::Field { names: vec![name(regions.field_name(field))], space }));
    }
    for fact in regions.facts() {
        items.push(Item::made(match *fact {
            Fact::Subregion(a, b) => Statement::Subregion { child: path(regions, a), parent: path(regions, b) },
            Fact::Disjoint(a, b) => Statement::Disjoint(vec![path(regions, a), path(regions, b)]),
        }));
    }
    let mut block = Item::made(Statement::Graph(write_nodes(graph)));
    if !items.is_empty() {
        block.leading.push(super::syntax::Trivia::Blank);
    }
    items.push(block);
    File { body: Block { items, closing: Vec::new() } }.to_string()
}

fn name(text: impl Into<String>) -> Spanned<String> {
    Spanned::made(text.into())
}

fn number(value: u64) -> Spanned<Term> {
    Spanned::made(Term::Number(Literal::from(value)))
}

/// Spaces, abstract regions and partitions, in the order of their ids.
fn write_spaces(regions: &Regions, items: &mut Vec<Item<Statement>>) {
    let mut partitions = (0..regions.partition_count()).map(PartitionId::from_index).peekable();
    for index in 0..=regions.space_count() {
        let space = SpaceId::from_index(index);
        while let Some(partition) = partitions.next_if(|p| regions.first_piece(*p) == space) {
            items.push(Item::made(write_partition(regions, partition)));
        }
        if index == regions.space_count() || regions.piece_of(space).is_some() {
            continue;
        }
        let text = regions.space_name(space);
        if let Some(indices) = regions.indices(space) {
            items.push(Item::made(Statement::Space { name: name(text), length: number(indices.len()) }));
        } else if regions.at(drawloom_graph::region::regions::ABSTRACT, space).is_some_and(|r| regions.is_declared(r)) {
            match items.last_mut().map(|item| &mut item.statement.value) {
                Some(Statement::Region { names, inside: None }) => names.push(name(text)),
                _ => items.push(Item::made(Statement::Region { names: vec![name(text)], inside: None })),
            }
        }
    }
}

fn write_partition(regions: &Regions, partition: PartitionId) -> Statement {
    let parent = regions.partition_parent(partition);
    let count = regions.piece_count(partition);
    let sets: Option<Vec<&IndexSet>> = (0..count).map(|c| regions.indices(regions.piece(partition, c))).collect();
    let cut = match (sets, regions.indices(parent)) {
        (Some(sets), Some(whole)) if count > 0 && is_equal(whole, &sets) => Cut::Equal(number(u64::from(count))),
        (Some(sets), Some(_)) => Cut::Lists(sets.into_iter().map(entries).collect()),
        _ => Cut::Declared {
            count: number(u64::from(count)),
            disjoint: regions.is_disjoint(partition),
            complete: regions.is_complete(partition),
        },
    };
    Statement::Partition {
        name: name(regions.partition_name(partition)),
        of: space_path(regions, parent, None),
        pieces: Spanned::made(cut),
    }
}

/// Whether the pieces are consecutive blocks of one run whose sizes are those of `equal`.
fn is_equal(whole: &IndexSet, pieces: &[&IndexSet]) -> bool {
    let [run] = whole.runs() else { return false };
    let (length, count) = (run.end - run.start, pieces.len() as u64);
    let mut start = run.start;
    (0..).zip(pieces).all(|(colour, piece)| {
        let end = start + length / count + u64::from(colour < length % count);
        let fits = **piece == IndexSet::range(start, end);
        start = end;
        fits
    })
}

fn entries(set: &IndexSet) -> Vec<Entry> {
    let entry = |start: u64, end: u64| Entry {
        start: Literal::from(start),
        end: (end - start > 1).then(|| Literal::from(end)),
    };
    set.runs().iter().map(|run| entry(run.start, run.end)).collect()
}

fn path(regions: &Regions, region: RegionId) -> Path {
    space_path(regions, regions.space_of(region), regions.field_of(region).map(|f| regions.field_name(f)))
}

/// The path of a space, or of a field over it.
fn space_path(regions: &Regions, space: SpaceId, field: Option<&str>) -> Path {
    let mut steps = Vec::new();
    let mut at = space;
    while let Some((partition, colour)) = regions.piece_of(at) {
        let partition_name = name(regions.partition_name(partition));
        steps.push(Step { partition: partition_name, piece: number(u64::from(colour)) });
        at = regions.partition_parent(partition);
    }
    steps.reverse();
    Path { base: name(field.map_or_else(|| regions.space_name(at), str::to_owned)), steps }
}

fn write_nodes(graph: &Graph) -> Block<RawStatement> {
    let names = UniqueNames::new(graph);
    let node_name = |node: NodeId| {
        let text = names.of(node).into_owned();
        Spanned::made(NodeName { integer: graph.has_integer_name(node) && is_integer_name(&text), text })
    };
    let mut items = Vec::with_capacity(graph.nodes().len() + graph.edges().len());
    for node in graph.node_ids() {
        let kind = graph.kind(node);
        if kind == NodeKind::Undeclared {
            continue;
        }
        items.push(Item::made(RawStatement::Node {
            kind,
            name: node_name(node),
            region: graph.region(node).map(|r| path(graph.regions(), r)),
            cost: graph.cost(node).map(|value| Cost { value, text: value.to_string() }),
            control: graph.body(node).filter(|_| kind == NodeKind::Task).map(|body| write_body(graph, body)),
        }));
    }
    for edge in graph.edges() {
        items.push(Item::made(RawStatement::Edge {
            from: node_name(edge.from),
            to: node_name(edge.to),
            label: Spanned::made(RawLabel {
                label: edge.label,
                operator: edge.operator().map(|operator| graph.operator_name(operator).to_owned()),
                reorderable: edge.is_reorderable(),
            }),
            port: edge.port().map(|p| Spanned::made(Literal::from(u64::from(p)))),
        }));
    }
    Block { items, closing: Vec::new() }
}

fn write_body(graph: &Graph, body: &Body) -> ControlSyntax<RawStatement> {
    let when = match &body.control {
        Control::Call => When::Call,
        Control::Repeat(times) => When::Repeat(number(*times)),
        Control::While(region) => When::While(path(graph.regions(), *region)),
        Control::If(region) => When::If(path(graph.regions(), *region)),
    };
    let otherwise = body.otherwise.as_deref().map(write_nodes);
    ControlSyntax { when, body: write_nodes(&body.graph), otherwise }
}

/// Whether a name can be written as a number: digits without leading zeros, and perhaps a minus.
fn is_integer_name(name: &str) -> bool {
    let digits = name.strip_prefix('-').unwrap_or(name);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain && (digits == "0" && name == "0" || !digits.starts_with('0'))
}
