//! Reading, checking and ordering one graph: what most commands start with.

use std::ops::Range;

use drawloom_graph::{Graph, NodeId, Report};
use drawloom_lang::load::{Loaded, Source};
use drawloom_lang::{render, report};

use crate::arguments::Format;
use crate::exit::Exit;
use crate::input::{Input, Unusable};
use crate::output::{Output, complain, complain_text};
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

    /// The text that the graph was read from, unless it was JSON.
    pub(crate) fn source(&self) -> Option<&Source> {
        self.loaded.source.as_ref()
    }

    /// Where in the text each node was written.
    pub(crate) fn places(&self) -> impl Fn(NodeId) -> Option<Range<usize>> + '_ {
        |node| self.source()?.spans.node(node).map(|span| span.range())
    }

    /// How a command ends that only has to tell whether the graph is valid.
    pub(crate) fn exit(&self) -> Exit {
        if self.report.is_valid() { Exit::Valid } else { Exit::Invalid }
    }

    /// Everything that was found, for people.
    pub(crate) fn text(&self, color: bool) -> String {
        render::render(&self.report, &self.loaded.graph, self.source(), color)
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

/// Reads a graph and does something with it that only works when it is valid. Says what is wrong when it is not.
pub(crate) fn valid<T>(
    input: &Input,
    voice: Voice,
    output: &mut Output,
    work: impl FnOnce(&Graph) -> Result<T, Trouble>,
) -> Result<(Graph, T), Exit> {
    let loaded = input.load().map_err(|reason| unusable(input, &reason, voice, output))?;
    let report = match work(&loaded.graph) {
        Ok(result) if loaded.findings.is_empty() => return Ok((loaded.graph, result)),
        // The calls that were refused while the graph was built are missing in the result.
        Ok(_) => Report::default(),
        Err(Trouble::Invalid(report)) => report,
        Err(Trouble::Unusable(message)) => {
            match voice {
                Voice::Text => complain(format_args!("{input}: {message}")),
                Voice::Json => output.line(report::error_json(&input.given(), &message)),
            }
            return Err(Exit::Unusable);
        }
    };
    let checked = Checked::found(loaded, report);
    match voice {
        Voice::Text => complain_text(&checked.text(output.error_color())),
        Voice::Json => output.line(checked.json(input)),
    }
    Err(Exit::Invalid)
}

/// Why something could not be done with a graph.
pub(crate) enum Trouble {
    /// The graph breaks rules.
    Invalid(Report),
    /// What was asked for is not there, or not possible.
    Unusable(String),
}

impl From<Report> for Trouble {
    fn from(report: Report) -> Self {
        Trouble::Invalid(report)
    }
}
