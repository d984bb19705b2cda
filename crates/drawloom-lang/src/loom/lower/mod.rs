//! From a syntax tree to a graph.
//!
//! | file | concept |
//! |---|---|
//! | `limits` | how large a text may make a graph |
//! | `scope` | variables and integer expressions |
//! | `resolve` | names to spaces, partitions and regions |
//! | `declare` | declarations fill the table of regions |
//! | `expand` | loops are unrolled into a list of calls |
//! | `program` | the list of calls becomes a graph |
//! | `raw` | `graph { … }` becomes a graph |
//!
//! Regions come first: declarations and calls are walked once, and every region that a call names is entered in the
//! table. Only then is the graph built, over a table that no longer changes and that nested graphs can share.

mod declare;
mod expand;
mod limits;
mod program;
mod raw;
mod resolve;
mod scope;

use super::error::{Code, Edit, SyntaxError};
use super::parse::MOST_ERRORS;
use super::span::Span;
use super::spans::Spans;
use super::syntax::{File, Statement};
use drawloom_graph::diagnostic::Diagnostic;
use drawloom_graph::graph::Graph;

pub use limits::Limits;

/// A graph read from a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The graph.
    pub graph: Graph,
    /// Where its parts were written.
    pub spans: Spans,
    /// Violations met while building it, by place. The graph lacks what was refused.
    pub findings: Vec<Finding>,
}

/// A violation met while building a graph from a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The violation.
    pub diagnostic: Diagnostic,
    /// Where.
    pub span: Span,
    /// A short remark for the place itself.
    pub label: String,
    /// Other places that matter, each with a remark.
    pub related: Vec<(Span, String)>,
    /// The edit that mends it, where there is one.
    pub edit: Option<Edit>,
}

/// Turns a parsed text into a graph, within the usual limits.
///
/// A mistake in the text itself, such as an unknown partition, is an error; what breaks a rule is a finding, or is left in
/// the graph for its check to find.
///
/// ```
/// use drawloom_lang::loom;
/// let file = loom::parse("region A, B in C\ndisjoint A, B\nregion C\n").unwrap();
/// let lowered = loom::lower(&file).unwrap();
/// assert_eq!(lowered.graph.regions().len(), 3);
/// let file = loom::parse("space cells 10\ntask t(read u)").unwrap();
/// assert_eq!(loom::lower(&file).unwrap().findings[0].diagnostic.rule.code(), "RG1");
/// ```
pub fn lower(file: &File) -> Result<Lowered, Vec<SyntaxError>> {
    lower_within(file, Limits::default())
}

/// Turns a parsed text into a graph, within the given limits.
pub fn lower_within(file: &File, limits: Limits) -> Result<Lowered, Vec<SyntaxError>> {
    let mut tables = resolve::Tables::new(limits);
    let expanded = expand::expand(&file.body, &mut tables);
    let raw = file.body.items.iter().find_map(|item| match &item.statement.value {
        Statement::Graph(block) => Some(block),
        _ => None,
    });
    let raw = raw.map(|block| raw::build(block, &mut tables));
    match tables.errors.take().or_else(|| tables.raw_errors.take()) {
        Some(errors) => Err(errors),
        None => Ok(raw.unwrap_or_else(|| program::build(&expanded, tables))),
    }
}

/// Mistakes, each place once: a mistake in a loop is made in every round, and told in the first.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    list: Vec<SyntaxError>,
    seen: rustc_hash::FxHashSet<(Code, Span)>,
    /// Names whose declaration has a mistake.
    excused: Vec<String>,
}

impl Errors {
    pub(crate) fn push(&mut self, error: SyntaxError) {
        // A name is unknown when its declaration was refused; the mistake there is the one to tell.
        if error.code == Code::UnknownName && self.excused.iter().any(|n| error.message.contains(&format!("`{n}`"))) {
            return;
        }
        if self.list.len() < MOST_ERRORS && self.seen.insert((error.code, error.span)) {
            self.list.push(error);
        }
    }

    /// Notes the names that a statement with a mistake would have declared.
    pub(crate) fn excuse(&mut self, statement: &Statement) {
        let names = match statement {
            Statement::Let { name, .. }
            | Statement::Space { name, .. }
            | Statement::Map { name, .. }
            | Statement::Partition { name, .. } => std::slice::from_ref(name),
            Statement::Field { names, .. } | Statement::Region { names, .. } => names,
            _ => &[],
        };
        self.excused.extend(names.iter().take(MOST_ERRORS).map(|n| n.value.clone()));
    }

    pub(crate) fn are_many(&self) -> bool {
        self.list.len() >= MOST_ERRORS
    }

    /// The list sorted by place, if there is any mistake.
    fn take(&mut self) -> Option<Vec<SyntaxError>> {
        let mut list = std::mem::take(&mut self.list);
        list.sort_by_key(|e| e.span);
        (!list.is_empty()).then_some(list)
    }
}
