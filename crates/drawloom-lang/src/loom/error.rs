//! What can be wrong with a text before any rule of the graph is looked at.

use std::fmt;

use super::span::Span;

/// A mistake in a `.loom` text.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntaxError {
    /// The kind of mistake.
    pub code: Code,
    /// What is wrong, with the user's names.
    pub message: String,
    /// Where.
    pub span: Span,
    /// A short remark for the place itself.
    pub label: String,
    /// Other places that matter, each with a remark.
    pub related: Vec<(Span, String)>,
    /// What to do about it.
    pub help: Option<Box<Suggestion>>,
}

/// A way to mend a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The advice as a sentence.
    pub message: String,
    /// The edit that follows the advice, where there is one.
    pub edit: Option<Edit>,
}

/// A piece of text to put in place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What to replace; empty to insert.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

/// The kinds of mistakes. Their codes are stable: scripts depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// L1: the text does not follow the grammar.
    Syntax,
    /// L2: a name that nothing has.
    UnknownName,
    /// L3: a name that something else has already.
    DuplicateName,
    /// L4: a number, a piece or a size outside what is possible.
    OutOfRange,
    /// L5: spaces, partitions, maps or facts that cannot be as described.
    RegionRefused,
}

impl Code {
    /// Every code, in order.
    pub const ALL: [Code; 5] =
        [Code::Syntax, Code::UnknownName, Code::DuplicateName, Code::OutOfRange, Code::RegionRefused];

    /// The stable name: `L2`.
    pub fn code(self) -> &'static str {
        match self {
            Code::Syntax => "L1",
            Code::UnknownName => "L2",
            Code::DuplicateName => "L3",
            Code::OutOfRange => "L4",
            Code::RegionRefused => "L5",
        }
    }

    /// What the code means, in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Code::Syntax => "The text follows the grammar of the language.",
            Code::UnknownName => "Every space, partition, map and variable that is named was declared before.",
            Code::DuplicateName => "A name is declared once.",
            Code::OutOfRange => "Numbers, pieces and sizes lie within what is possible.",
            Code::RegionRefused => "Spaces, partitions, maps and facts can be as they are described.",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

const STRANGE: &str = "not part of the language";

impl SyntaxError {
    pub(crate) fn new(code: Code, message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: label.into(), related: Vec::new(), help: None }
    }

    /// Characters that start no word.
    pub(crate) fn strange(span: Span, text: &str) -> Self {
        let message = format!("unexpected character `{}`", text.escape_debug());
        Self::new(Code::Syntax, message, span, STRANGE)
            .help("names with other characters than letters, digits and `_` are written in quotes")
    }

    pub(crate) fn is_strange(&self) -> bool {
        self.label == STRANGE
    }

    pub(crate) fn help(mut self, message: impl Into<String>) -> Self {
        self.help = Some(Box::new(Suggestion { message: message.into(), edit: None }));
        self
    }

    pub(crate) fn suggest(mut self, message: impl Into<String>, span: Span, replacement: impl Into<String>) -> Self {
        let edit = Some(Edit { span, replacement: replacement.into() });
        self.help = Some(Box::new(Suggestion { message: message.into(), edit }));
        self
    }

    pub(crate) fn relate(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push((span, label.into()));
        self
    }

    /// Suggests the name most like the one that was written, if one is close enough to be meant.
    pub(crate) fn did_you_mean<'a>(self, written: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(written, names) {
            Some(name) => {
                let (span, name) = (self.span, super::print::quoted(name).into_owned());
                self.suggest(format!("did you mean `{name}`?"), span, name)
            }
            None => self,
        }
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// The name with the fewest edits from the one that was written, if at most a third of it is edited.
///
/// Long names and long lists are not compared: the search must stay cheap when everything in a file is wrong.
pub(crate) fn nearest<'a>(written: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    const MOST: usize = 10_000;
    if written.len() > LONGEST {
        return None;
    }
    let most = (written.chars().count() / 3).max(1);
    names
        .into_iter()
        .take(MOST)
        .filter(|n| n.len() <= LONGEST && *n != written && n.len().abs_diff(written.len()) <= 2 * most)
        // Edits insert, delete or replace a letter, or swap two neighbours.
        .map(|n| (strsim::osa_distance(written, n), n))
        .filter(|(d, _)| *d <= most)
        .min()
        .map(|(_, n)| n)
}
