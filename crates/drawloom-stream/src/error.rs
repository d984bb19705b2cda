//! What can go wrong, with the names of the user's nodes and channels.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the user's code returns when it fails.
pub(crate) type Failure = Box<dyn StdError + Send + Sync>;

/// What the user's code returns: a value, or a [`Result`] with one, whose error ends the run.
pub trait Outcome<T> {
    /// The value, or why there is none.
    #[doc(hidden)]
    fn outcome(self) -> Result<T, Box<dyn StdError + Send + Sync>>;
}

impl<T> Outcome<T> for T {
    #[inline(always)]
    fn outcome(self) -> Result<T, Failure> {
        Ok(self)
    }
}

impl<T, E: Into<Failure>> Outcome<T> for Result<T, E> {
    #[inline(always)]
    fn outcome(self) -> Result<T, Failure> {
        self.map_err(Into::into)
    }
}

/// Why a stream cannot be run, or did not end well.
///
/// Two errors are equal when they say the same.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    node: Option<String>,
    diagnostics: Vec<Diagnostic>,
    /// What the user's code returned.
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The description has mistakes; [`Error::diagnostics`] lists all of them. Change the description.
    Refused,
    /// A node pushed more items, or raised more signals, than it declares. Declare more, or push less.
    Exceeded,
    /// The code of a node panicked. The error names the node.
    Panic,
    /// The code of a node returned an error, which is the source of this one. The error names the node.
    Failed,
    /// A source could not deliver its items. What an iterator returned is the source of this error.
    Source,
    /// A sink could not take an item, or could not write out those it had taken.
    Sink,
    /// The run was cancelled.
    Cancelled,
    /// A setting of the run does not belong to the stream, or a stream that is ordered cannot be run by so many workers.
    Setting,
    /// The engine could not run the stream: no workers, no threads, or no memory; or a node or task waits for a run that it may not
    /// wait for.
    Engine,
    /// An invariant of this crate is broken: items are left, or nodes wait for ever. Please report it.
    Internal,
}

/// One mistake in the description of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    code: Code,
    message: String,
}

/// What is wrong with a description. The names of codes are stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// A name is empty, or belongs to two nodes, or to two channels of one node.
    Name,
    /// A channel leads to no node, or no channel leads to a node. Connect it, or discard it.
    Unconnected,
    /// A node was begun, but it was not said what it runs.
    Unfinished,
    /// A stream has no source.
    NoSource,
    /// A width, a bound or a capacity is zero.
    Zero,
    /// A channel aggregates, and its node is not inside of a region.
    Aggregate,
    /// A node handles boundaries of a region that is not around it, or of its region and is in none; or it looks at
    /// parents of one that is not around it.
    Handler,
    /// The edges into a node come from different regions.
    Join,
    /// A channel, node, region or kind of signals belongs to another stream.
    Foreign,
    /// A back edge does not close a loop, or closes one that cannot be run.
    Loop,
    /// The queues, parents and nodes need more memory than the stream may use, or more is declared than can be counted. Allow it more,
    /// or make less of what the message names.
    Memory,
    /// The stream cannot be run as it was asked for, or something is said of a node that means nothing.
    Setting,
}

impl Diagnostic {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// What is wrong.
    pub fn code(&self) -> Code {
        self.code
    }

    /// A sentence with the names of nodes and channels.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), node: None, diagnostics: Vec::new(), source: None }))
    }

    pub(crate) fn at_node(mut self, name: &str) -> Self {
        self.0.node.get_or_insert_with(|| name.to_owned());
        self
    }

    /// The same, because of what the user's code returned.
    pub(crate) fn because(mut self, failure: Failure) -> Self {
        self.0.source = Some(failure.into());
        self
    }

    pub(crate) fn refused(stream: &str, diagnostics: Vec<Diagnostic>) -> Self {
        let mut message = match diagnostics.len() {
            1 => format!("stream `{stream}` cannot be run"),
            count => format!("stream `{stream}` cannot be run, for {count} reasons"),
        };
        for diagnostic in &diagnostics {
            message.push_str("\n  ");
            message.push_str(&diagnostic.message);
        }
        Self(Box::new(Inner { kind: ErrorKind::Refused, message, node: None, diagnostics, source: None }))
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The node that the error is about.
    pub fn node(&self) -> Option<&str> {
        self.0.node.as_deref()
    }

    /// Everything that is wrong with a description that was refused.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&*self.0, &*other.0);
        (a.kind, &a.message, &a.node, &a.diagnostics) == (b.kind, &b.message, &b.node, &b.diagnostics)
    }
}

impl Eq for Error {}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}
