//! Reading, checking and ordering one graph: what most commands start with.

use drawloom_graph::format::load::Loaded;
use drawloom_graph::format::{render, report};
use drawloom_graph::{Graph, Order, Report};

use crate::arguments::Format;
use crate::exit::Exit;
use crate::input::{Input, Unusable};
use crate::output::{Output, complain_text};
use crate::progress;

/// A graph with everything that was found in it.
pub(crate) struct Checked {
    loaded: Loaded,
    /// What was found while the graph was read and checked.
    pub(crate) report: Report,
}

impl Checked {
    /// Reads and checks a graph.
    pub(crate) fn new(input: &Input) -> Result<Self, Unusable> {
        let loaded = input.load()?;
        let report = progress::check(&input.to_string(), &loaded.graph);
        Ok(Self::found(loaded, report))
    }

    /// What was found while a graph was built comes first: it may be the cause of what the check found.
    fn found(mut loaded: Loaded, mut report: Report) -> Self {
        report.violations.splice(0..0, std::mem::take(&mut loaded.findings));
        Self { loaded, report }
    }

    /// The graph.
    pub(crate) fn graph(&self) -> &Graph {
        &self.loaded.graph
    }

    /// How a command ends that only has to tell whether the graph is valid.
    pub(crate) fn exit(&self) -> Exit {
        if self.report.is_valid() { Exit::Valid } else { Exit::Invalid }
    }

    /// Everything that was found, for people.
    pub(crate) fn text(&self, color: bool) -> String {
        render::render(&self.report, &self.loaded.graph, self.loaded.source.as_ref(), color)
    }

    /// Everything that was found, as one line of JSON.
    pub(crate) fn json(&self, input: &Input) -> String {
        report::check_json(&input.given(), &self.loaded.graph, &self.report)
    }
}

/// How a command speaks to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// Results on standard output, troubles on standard error.
    Text,
    /// Results and troubles on standard output, one line of JSON each.
    Json,
}

impl From<Format> for Voice {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Voice::Text,
            Format::Json => Voice::Json,
        }
    }
}

/// Says that an input cannot be used.
pub(crate) fn unusable(input: &Input, reason: &Unusable, voice: Voice, output: &mut Output) -> Exit {
    match voice {
        Voice::Text => complain_text(&reason.text(output.error_color())),
        Voice::Json => output.line(report::error_json(&input.given(), &reason.to_string())),
    }
    Exit::Unusable
}

/// Reads and orders a graph. Says what is wrong when it cannot be ordered.
pub(crate) fn ordered(input: &Input, voice: Voice, output: &mut Output) -> Result<(Graph, Order), Exit> {
    let loaded = input.load().map_err(|reason| unusable(input, &reason, voice, output))?;
    let report = match progress::order(&input.to_string(), &loaded.graph) {
        Ok(order) if loaded.findings.is_empty() => return Ok((loaded.graph, order)),
        // The calls that were refused while the graph was built are missing in the order.
        Ok(_) => Report::default(),
        Err(report) => report,
    };
    let checked = Checked::found(loaded, report);
    match voice {
        Voice::Text => complain_text(&checked.text(output.error_color())),
        Voice::Json => output.line(checked.json(input)),
    }
    Err(Exit::Invalid)
}
