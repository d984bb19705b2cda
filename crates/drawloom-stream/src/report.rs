//! What happened in a run.

use std::fmt::Write;
use std::time::Duration;

use crate::trace::Firings;

/// What a node did, in one copy of a stream.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) inputs: u64,
    pub(crate) outputs: u64,
    pub(crate) runs: u64,
    pub(crate) full_runs: u64,
    pub(crate) signals: u64,
    pub(crate) flushes: u64,
    /// Nanoseconds: of all firings, within the body, and in the body for pushing.
    pub(crate) fire: u64,
    pub(crate) body: u64,
    pub(crate) pushing: u64,
}

/// How full a queue was.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EdgeCounts {
    /// How many items were consumed.
    pub(crate) items: u64,
    pub(crate) high_water: usize,
    pub(crate) signals_high_water: usize,
    pub(crate) blocked: u64,
}

/// What happened in a run of a stream, over all workers.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The nodes, in the order in which they were described.
    pub nodes: Vec<NodeReport>,
    /// The edges, in the order in which they were described.
    pub edges: Vec<EdgeReport>,
    /// How often a node was chosen to fire.
    pub trips: u64,
    /// How many workers had a copy of the stream.
    pub workers: usize,
    /// Whether time was measured: see [`Settings::timed`](crate::Settings::timed).
    pub timed: bool,
    /// The name of the stream.
    pub(crate) stream: String,
    /// The firings of each copy, as far as they were kept.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) firings: Vec<Firings>,
}

/// What a node did.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// How many items it sees at once, at most.
    pub width: usize,
    /// How many items it consumed. For a source: how many items it gave.
    pub inputs: u64,
    /// The node as part of which it ran, if it did: see [`Stream::fuse`](crate::Stream::fuse). Only that one's runs, time and
    /// signals are known then.
    pub fused_into: Option<String>,
    /// Whether it may run as one with others: see [`NodeBuilder::fuse`](crate::NodeBuilder::fuse).
    pub fuses: bool,
    /// How often it ran.
    pub runs: u64,
    /// How often it ran with as many items as it may see at once.
    pub full_runs: u64,
    /// How many signals it handled.
    pub signals: u64,
    /// How many flushes it began: for want of places for parents, or of items.
    pub flushes: u64,
    /// Whether it is a source.
    pub is_source: bool,
    /// How long the user's code ran, over all workers; zero unless time was measured. For nodes whose loop is ours, such as those
    /// made by `select`, this is the whole loop.
    pub user: Duration,
    /// How long it took to make room in channels, and to look at what was pushed.
    pub pushing: Duration,
    /// How long it took to choose what to run, besides.
    pub overhead: Duration,
}

impl NodeReport {
    /// How many items it saw at once, on average.
    pub fn mean_lanes(&self) -> f64 {
        if self.runs == 0 { 0.0 } else { self.inputs as f64 / self.runs as f64 }
    }
}

/// How full a queue was. An edge between nodes that run as one ([`NodeReport::fused_into`]) has space for what goes through at once,
/// but nothing waits there.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct EdgeReport {
    /// The node that it comes from.
    pub from: String,
    /// The channel of that node.
    pub channel: String,
    /// The node that it leads to.
    pub to: String,
    /// How many items it can hold.
    pub capacity: usize,
    /// How many items it held at most.
    pub high_water: usize,
    /// How many signals it held at most.
    pub signals_high_water: usize,
    /// How long it kept the node that it comes from waiting: until the one that it leads to was done. Over all workers; zero
    /// unless time was measured.
    pub blocked: Duration,
}

impl Report {
    /// The name of the stream.
    pub fn stream(&self) -> &str {
        &self.stream
    }

    /// The figures of a node.
    pub fn node(&self, name: &str) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The figures as a table of nodes and a table of edges.
    pub fn table(&self) -> String {
        let ms = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
        let mut nodes = Table::new(&["node", "inputs", "runs", "full runs", "mean lanes", "signals", "flushes"]);
        let mut edges = Table::new(&["edge", "capacity", "high water"]);
        if self.timed {
            nodes.columns(&["user ms", "pushing ms", "overhead ms"]);
            edges.columns(&["blocked ms"]);
        }
        for node in &self.nodes {
            let lanes = if node.is_source { String::new() } else { format!("{:.1}", node.mean_lanes()) };
            let full = if node.is_source { String::new() } else { node.full_runs.to_string() };
            let apart = if node.fuses { "" } else { " (apart)" };
            let mut row = vec![format!("{}{apart}", node.name), node.inputs.to_string()];
            if let Some(head) = &node.fused_into {
                row.push(format!("in {head}"));
                nodes.row(row);
                continue;
            }
            row.extend([node.runs.to_string(), full, lanes, node.signals.to_string(), node.flushes.to_string()]);
            if self.timed {
                row.extend([node.user, node.pushing, node.overhead].map(ms));
            }
            nodes.row(row);
        }
        for edge in &self.edges {
            if let Some(head) = self.inside(edge) {
                edges.row(vec![edge.name(), format!("in {head}")]);
                continue;
            }
            let mut row = vec![edge.name(), edge.capacity.to_string(), edge.high_water.to_string()];
            if self.timed {
                row.push(ms(edge.blocked));
            }
            edges.row(row);
        }
        format!("{}{}{} firings\n", nodes.text(), edges.text(), self.trips)
    }

    /// The node within which an edge lies, if its ends run as one: a node that runs as part of another has no other edge. What lies
    /// between them has space, but never waits, so nobody is to take it for a queue.
    pub(crate) fn inside(&self, edge: &EdgeReport) -> Option<&str> {
        self.node(&edge.to)?.fused_into.as_deref()
    }
}

impl EdgeReport {
    /// What it is called in a table.
    fn name(&self) -> String {
        format!("{}.{} -> {}", self.from, self.channel, self.to)
    }
}

/// What is printed where a sign would do something instead of being seen, such as begin another line.
pub(crate) fn visible(sign: char) -> char {
    match u32::from(sign) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or(char::REPLACEMENT_CHARACTER),
        0x7f => '\u{2421}',
        _ if sign.is_control() => char::REPLACEMENT_CHARACTER,
        _ => sign,
    }
}

/// Rows of text, the first column to the left and the others to the right.
struct Table(Vec<Vec<String>>);

impl Table {
    fn new(head: &[&str]) -> Self {
        Self(vec![head.iter().map(|text| (*text).to_owned()).collect()])
    }

    fn columns(&mut self, more: &[&str]) {
        self.0[0].extend(more.iter().map(|text| (*text).to_owned()));
    }

    fn row(&mut self, row: Vec<String>) {
        // A row is one line, whatever the names are.
        self.0.push(row.into_iter().map(|cell| cell.chars().map(visible).collect()).collect());
    }

    fn text(&self) -> String {
        let widest = |column: usize| {
            self.0.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.0[0].len()).map(widest).collect();
        let mut text = String::new();
        for row in &self.0 {
            let _ = write!(text, "{:1$}", row[0], widths[0]);
            for (cell, width) in row.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {cell:>width$}");
            }
            text.push('\n');
        }
        text
    }
}
