//! What happened in a run.

/// What a node did, in one copy of a stream.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) inputs: u64,
    pub(crate) outputs: u64,
    pub(crate) runs: u64,
    pub(crate) full_runs: u64,
    pub(crate) signals: u64,
    pub(crate) flushes: u64,
}

/// How full a queue was.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EdgeCounts {
    pub(crate) high_water: usize,
    pub(crate) signals_high_water: usize,
}

/// What happened in a run of a stream, over all workers.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The nodes, in the order in which they were described.
    pub nodes: Vec<NodeReport>,
    /// The edges, in the order in which they were described.
    pub edges: Vec<EdgeReport>,
    /// How often a node was chosen to fire.
    pub trips: u64,
    /// How many workers had a copy of the stream.
    pub workers: usize,
}

/// What a node did.
#[derive(Clone, Debug, Default)]
pub struct NodeReport {
    /// Its name.
    pub name: String,
    /// How many items it sees at once, at most.
    pub width: usize,
    /// How many items it consumed. For a source: how many items it gave.
    pub inputs: u64,
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
}

impl NodeReport {
    /// How many items it saw at once, on average.
    pub fn mean_lanes(&self) -> f64 {
        if self.runs == 0 { 0.0 } else { self.inputs as f64 / self.runs as f64 }
    }
}

/// How full a queue was.
#[derive(Clone, Debug, Default)]
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
}

impl Report {
    /// The figures of a node.
    pub fn node(&self, name: &str) -> Option<&NodeReport> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The figures as a table.
    pub fn table(&self) -> String {
        let widest = self.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).max(4);
        let mut text = format!(
            "{:widest$} {:>14} {:>12} {:>12} {:>10} {:>10}\n",
            "node", "inputs", "runs", "full runs", "mean lanes", "signals"
        );
        for node in self.nodes.iter().filter(|node| !node.is_source) {
            text.push_str(&format!(
                "{:widest$} {:>14} {:>12} {:>12} {:>10.1} {:>10}\n",
                node.name,
                node.inputs,
                node.runs,
                node.full_runs,
                node.mean_lanes(),
                node.signals
            ));
        }
        text
    }
}
