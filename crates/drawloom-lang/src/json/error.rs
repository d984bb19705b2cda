//! What can be wrong with a JSON file, and where.

use std::fmt;

/// A file that is not a graph, with the place and the names its author gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    kind: JsonErrorKind,
    line: usize,
    column: usize,
    message: String,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The bytes are not UTF-8 text. Save the file as UTF-8.
    Encoding,
    /// The text is not JSON: a missing comma, an open bracket, text after the end.
    Syntax,
    /// JSON of another shape: a number where a name belongs, a node without an id.
    Shape,
    /// A label that is none of those listed in the message.
    Label,
    /// A node id or a region name that is declared twice.
    Duplicate,
    /// Bodies nested deeper than 64 graphs.
    Nesting,
    /// More than the tables can number: files of four gigabytes, 65535 different operators.
    TooLarge,
}

impl JsonError {
    pub(super) fn new(kind: JsonErrorKind, line: usize, column: usize, message: String) -> Self {
        // A parser that has read nothing yet reports column 0.
        Self { kind, line: line.max(1), column: column.max(1), message }
    }

    /// The error of a parser that saw only a part of the text, moved to its place in the whole.
    pub(super) fn shifted(mut self, whole: &str, part_start: usize) -> Self {
        let (line, column) = position(whole.as_bytes(), part_start);
        if self.line == 1 {
            self.column += column - 1;
        }
        self.line += line - 1;
        self
    }

    /// The kind of mistake, for programs.
    pub fn kind(&self) -> JsonErrorKind {
        self.kind
    }

    /// The line of the mistake, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column of the mistake in bytes, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for JsonError {}

/// Line and column, both from 1, of a byte.
pub(super) fn position(text: &[u8], at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
    (line, column)
}
