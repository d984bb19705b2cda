//! A graph from bytes, in whichever format they are.

use std::fmt;
use std::ops::Range;

use super::json::{self, JsonError};
use super::loom::span::line_and_column;
use super::loom::{self, Finding, Spans, SyntaxError};
use super::render;
use drawloom_graph::diagnostic::Diagnostic;
use drawloom_graph::graph::Graph;

/// A graph that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// The text it comes from, for excerpts. JSON has none: other tools wrote it.
    pub source: Option<Source>,
    /// Violations met while reading. They come before those that the check of the graph finds.
    pub findings: Vec<Diagnostic>,
}

/// A text in the language, and where in it the parts of a graph were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The name of the file.
    pub name: String,
    /// What is in it.
    pub text: String,
    /// Where the parts of the graph were written.
    pub spans: Spans,
    /// Violations met while reading, with their places.
    pub findings: Vec<Finding>,
}

impl Source {
    /// Where the first thing that a diagnostic of this graph is about was written, as a range of bytes.
    pub fn range(&self, graph: &Graph, diagnostic: &Diagnostic) -> Option<Range<usize>> {
        let finding = self.findings.iter().find(|f| f.diagnostic == *diagnostic);
        let span = finding.map(|f| f.span).or_else(|| render::first_place(graph, diagnostic, &self.spans));
        span.map(|s| s.range())
    }
}

/// Bytes that are no graph.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadError {
    name: String,
    kind: LoadErrorKind,
}

/// Why bytes are no graph.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// The bytes are not UTF-8 text. Save the file as UTF-8.
    NotText {
        /// The first byte that is not part of a character.
        offset: usize,
        /// Its value.
        byte: u8,
        /// Its line, from 1.
        line: usize,
    },
    /// The text breaks the rules of the language; every mistake is listed.
    Loom {
        /// The text.
        text: String,
        /// What is wrong with it, by place; never empty.
        errors: Vec<SyntaxError>,
    },
    /// The JSON is none, or has another shape.
    Json(JsonError),
}

/// Reads a graph. JSON when the name ends in `.json` or the first character is `{`, the text language otherwise.
///
/// ```
/// use drawloom_lang::load::load;
/// let loaded = load("a.loom", b"region A\ntask scale(update A)\n")?;
/// assert!(loaded.findings.is_empty());
/// let loaded = load("b", br#"{"region_graph":{"regions":["A"]},"nodes":[],"edges":[]}"#)?;
/// assert!(loaded.source.is_none());
/// let error = load("c.loom", b"task \xff").unwrap_err();
/// assert_eq!(error.to_string(), "c.loom:1: not UTF-8 text: byte 5 (0xff) is part of no character");
/// # Ok::<(), drawloom_lang::load::LoadError>(())
/// ```
pub fn load(name: &str, bytes: &[u8]) -> Result<Loaded, LoadError> {
    let fail = |kind| LoadError { name: name.to_owned(), kind };
    let first = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start().first();
    if name.to_ascii_lowercase().ends_with(".json") || first == Some(&b'{') {
        let graph = json::read(bytes).map_err(|e| fail(LoadErrorKind::Json(e)))?;
        return Ok(Loaded { graph, source: None, findings: Vec::new() });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let offset = error.valid_up_to();
        let line = bytes[..offset].iter().filter(|b| **b == b'\n').count() + 1;
        fail(LoadErrorKind::NotText { offset, byte: bytes[offset], line })
    })?;
    let lowered = loom::parse(text).and_then(|file| loom::lower(&file));
    match lowered {
        Ok(lowered) => {
            let findings = lowered.findings.iter().map(|f| f.diagnostic.clone()).collect();
            let (name, text) = (name.to_owned(), text.to_owned());
            let source = Source { name, text, spans: lowered.spans, findings: lowered.findings };
            Ok(Loaded { graph: lowered.graph, source: Some(source), findings })
        }
        Err(errors) => Err(fail(LoadErrorKind::Loom { text: text.to_owned(), errors })),
    }
}

impl LoadError {
    /// Why, for programs.
    pub fn kind(&self) -> &LoadErrorKind {
        &self.kind
    }

    /// Why, for people: with excerpts of the text where there are some.
    pub fn render(&self, colour: bool) -> String {
        match &self.kind {
            LoadErrorKind::Loom { text, errors } => render::render_errors(&self.name, text, errors, colour),
            _ => render::render_message(&self.to_string(), colour),
        }
    }
}

/// One line: the place of the first mistake, what it is, and how many more there are.
impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.kind {
            LoadErrorKind::NotText { offset, byte, line } => {
                write!(f, "{name}:{line}: not UTF-8 text: byte {offset} (0x{byte:02x}) is part of no character")
            }
            LoadErrorKind::Json(error) => {
                write!(f, "{name}:{}:{}: {}", error.line(), error.column(), error.message())
            }
            LoadErrorKind::Loom { text, errors } => {
                let Some(first) = errors.first() else { return f.write_str(name) };
                let (line, column) = line_and_column(text, first.span.range().start);
                write!(f, "{name}:{line}:{column}: {first}")?;
                match errors.len() {
                    1 => Ok(()),
                    2 => f.write_str(" (and one more mistake)"),
                    n => write!(f, " (and {} more mistakes)", n - 1),
                }
            }
        }
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            LoadErrorKind::Json(error) => Some(error),
            LoadErrorKind::Loom { errors, .. } => errors.first().map(|e| e as _),
            LoadErrorKind::NotText { .. } => None,
        }
    }
}
