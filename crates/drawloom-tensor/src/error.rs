//! What can go wrong, with the names of the user's nodes and tensors.

use std::error::Error as StdError;
use std::fmt;
use std::ops::Range;

use crate::run::loops::Counts;

/// Why a graph cannot be run, or did not end well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    node: Option<String>,
    operator: Option<String>,
    counts: Vec<Counts>,
    /// The number of the piece, and its rows.
    piece: Option<(u64, Range<u64>)>,
    /// The rows that were finished before, and how many there are.
    finished: Option<(Vec<Range<u64>>, u64)>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The graph has a mistake: a name used twice, a tensor that nobody writes, a cycle. Change the graph.
    Graph,
    /// Its loops do not form a nest, or are deeper than allowed. Change the graph, or allow more.
    Loop,
    /// A file could not be read as a model, or holds something that contradicts itself.
    Import,
    /// The model uses an option of an operator that is not supported.
    Unsupported,
    /// The model uses an operator that is not known; [`Error::operator`] names it.
    UnknownOperator,
    /// The model uses a type of elements that is not supported.
    Type,
    /// An input or output of the model is a list, a map, or something else that is not a tensor.
    NonTensor,
    /// What is asked for is random, and random numbers are not supported.
    Random,
    /// An input of a run is missing, unknown, or has another type or shape than the graph says.
    Input,
    /// An operator cannot work with what it got.
    Operator,
    /// A loop-control node or its end function failed, or the loop does not advance.
    Iteration,
    /// Results do not fit together, or into the rows that were allowed.
    Output,
    /// More memory would be needed than the run may use.
    Memory,
    /// Rows of a batch cannot be computed apart from each other.
    Batch,
    /// The run was ended from outside.
    Cancelled,
    /// A result depends on elements that were not computed. It is said while a plan counts what does not fit into memory,
    /// and to nobody else.
    #[doc(hidden)]
    Absent,
}

/// What an operator says is wrong, without the names of nodes: whoever called it adds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: ErrorKind,
    message: String,
}

impl Fault {
    /// A fault of an operator: its inputs do not fit together.
    pub fn new(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Operator, message: message.into() }
    }

    /// What was asked for is legal, and not supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Unsupported, message: message.into() }
    }

    /// A fault of another kind.
    pub fn of(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Elements were asked for that are not there.
    pub fn absent() -> Self {
        Self::of(ErrorKind::Absent, "it depends on values that are not known before there is memory for them")
    }

    /// What kind of error it will be.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// A sentence about it.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Fault {}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self::new(fault.kind, fault.message)
    }
}

impl Error {
    /// An error of a kind, with a sentence about it.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            node: None,
            operator: None,
            counts: Vec::new(),
            piece: None,
            finished: None,
        }))
    }

    /// The same, with something said before it.
    pub(crate) fn before(mut self, text: &str) -> Self {
        self.0.message = format!("{text}: {}", self.0.message);
        self
    }

    pub(crate) fn in_piece(mut self, number: u64, rows: Range<u64>) -> Self {
        self.0.piece = Some((number, rows));
        self
    }

    pub(crate) fn with_finished(mut self, finished: Vec<Range<u64>>, rows: u64) -> Self {
        self.0.finished = Some((finished, rows));
        self
    }

    /// The same at a node, with the counts of the loops around it.
    #[must_use]
    pub fn at(mut self, node: &str, counts: &[Counts]) -> Self {
        self.0.node.get_or_insert_with(|| node.to_owned());
        self.0.counts = counts.to_vec();
        self
    }

    /// The same about an operator that is not known.
    #[must_use]
    pub fn with_operator(mut self, operator: &str) -> Self {
        self.0.operator = Some(operator.to_owned());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The operator that is not known.
    pub fn operator(&self) -> Option<&str> {
        self.0.operator.as_deref()
    }

    /// The node that the error is about.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// The number of the piece that failed, and its rows.
    pub fn piece(&self) -> Option<(u64, Range<u64>)> {
        self.0.piece.clone()
    }

    /// The rows that were finished when a run in pieces ended early.
    pub fn finished_rows(&self) -> &[Range<u64>] {
        self.0.finished.as_ref().map_or(&[], |finished| &finished.0)
    }

    /// Where the loops around the node were, the outermost first.
    pub fn counts(&self) -> &[Counts] {
        &self.0.counts
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some((number, rows)) = &self.0.piece {
            write!(f, "\n  in piece {number}, rows {} to {}", rows.start, rows.end)?;
        }
        for (depth, counts) in self.0.counts.iter().enumerate() {
            write!(f, "\n  loop {}: {counts}", depth + 1)?;
        }
        if let Some((finished, total)) = &self.0.finished {
            let rows: u64 = finished.iter().map(|range| range.end - range.start).sum();
            write!(f, "\n  {rows} of {total} rows are finished")?;
            for (index, range) in finished.iter().enumerate() {
                write!(f, "{} {} to {}", if index == 0 { ":" } else { "," }, range.start, range.end)?;
            }
        }
        Ok(())
    }
}

impl StdError for Error {}
