//! What was found, as text for people, with excerpts of the source where there is one.
//!
//! | file | concept |
//! |---|---|
//! | `excerpt` | lines of a source with remarks and edits in them |
//! | `places` | where the things that a diagnostic is about were written |
//! | `repair` | edits that follow from a diagnostic |

mod excerpt;
mod places;
mod repair;

use std::collections::{BTreeMap, VecDeque};

use annotate_snippets::{Group, Level};

use super::load::Source;
use super::loom::{Finding, SyntaxError};
use drawloom_graph::Sentences;
use drawloom_graph::diagnostic::{Diagnostic, Report, Rule};
use drawloom_graph::graph::Graph;
use excerpt::{Excerpts, Remark, renderer};

pub(crate) use places::first_place;

/// Everything a check found: violations, then warnings, each with its excerpt, witness and repairs.
///
/// Without a source the same words come without excerpts. The text is empty when nothing was found.
pub fn render(report: &Report, graph: &Graph, source: Option<&Source>, colour: bool) -> String {
    let mut text = render_all(report.violations.iter().chain(&report.warnings), graph, source, colour);
    if report.unlisted > 0 {
        let more = if report.unlisted == 1 { "one more finding is" } else { "more findings are" };
        let count = if report.unlisted == 1 { String::new() } else { format!("{} ", report.unlisted) };
        text.push_str(&render_note(&format!("{count}{more} not listed"), colour));
    }
    text
}

/// Diagnostics of one graph, as [`render`] shows them.
pub fn render_all<'d>(
    diagnostics: impl IntoIterator<Item = &'d Diagnostic>,
    graph: &Graph,
    source: Option<&Source>,
    colour: bool,
) -> String {
    let excerpts = source.map(|s| Excerpts::new(&s.name, &s.text));
    let mut findings = Findings::new(source);
    let sentences = Sentences::new(graph);
    let mut text = String::new();
    for diagnostic in diagnostics {
        let told = Told { graph, source, excerpts: excerpts.as_ref(), sentences: &sentences };
        text.push_str(&told.diagnostic(diagnostic, findings.take(diagnostic), colour));
    }
    text
}

/// Mistakes in a text, each with its excerpt.
pub fn render_errors(name: &str, text: &str, errors: &[SyntaxError], colour: bool) -> String {
    let excerpts = Excerpts::new(name, text);
    let mut out = String::new();
    for error in errors {
        let remarks = std::iter::once(Remark::main(error.span, &error.label))
            .chain(error.related.iter().map(|(span, label)| Remark::side(*span, label)))
            .collect();
        let title = Level::ERROR.primary_title(error.message.as_str()).id(error.code.code());
        let mut groups = vec![Group::with_title(title).elements(excerpts.snippets(remarks))];
        if let Some(help) = &error.help {
            let title = Level::HELP.secondary_title(help.message.as_str());
            groups.push(match &help.edit {
                Some(edit) => Group::with_title(title).element(excerpts.patch(edit)),
                None => Group::with_title(title),
            });
        }
        out.push_str(&finish(&groups, colour));
    }
    out
}

/// A mistake without an excerpt.
pub(crate) fn render_message(message: &str, colour: bool) -> String {
    finish(&[Group::with_title(Level::ERROR.primary_title(message))], colour)
}

fn render_note(message: &str, colour: bool) -> String {
    finish(&[Group::with_title(Level::NOTE.primary_title(message))], colour)
}

fn finish(groups: &[Group<'_>], colour: bool) -> String {
    renderer(colour).render(groups) + "\n\n"
}

/// Findings of the reader by rule and message; several may be equal, and are then taken in order.
struct Findings<'s> {
    waiting: BTreeMap<(Rule, String), VecDeque<&'s Finding>>,
}

impl<'s> Findings<'s> {
    fn new(source: Option<&'s Source>) -> Self {
        let mut waiting: BTreeMap<_, VecDeque<_>> = BTreeMap::new();
        for finding in source.iter().flat_map(|s| &s.findings) {
            let key = (finding.diagnostic.rule, finding.diagnostic.message.clone());
            waiting.entry(key).or_default().push_back(finding);
        }
        Self { waiting }
    }

    fn take(&mut self, diagnostic: &Diagnostic) -> Option<&'s Finding> {
        if self.waiting.is_empty() {
            return None;
        }
        self.waiting.get_mut(&(diagnostic.rule, diagnostic.message.clone()))?.pop_front()
    }
}

/// What is needed to tell about diagnostics of one graph.
struct Told<'a> {
    graph: &'a Graph,
    source: Option<&'a Source>,
    excerpts: Option<&'a Excerpts<'a>>,
    sentences: &'a Sentences<'a>,
}

impl Told<'_> {
    fn diagnostic(&self, diagnostic: &Diagnostic, finding: Option<&Finding>, colour: bool) -> String {
        let scope = places::Scope::find(self.graph, self.source.map(|s| &s.spans), diagnostic);
        let own;
        // Versions are counted once for the outer graph; nested ones are small and rare.
        let sentences = if diagnostic.scope.is_empty() {
            self.sentences
        } else {
            own = Sentences::new(scope.graph);
            &own
        };
        let level = if diagnostic.is_warning() { Level::WARNING } else { Level::ERROR };
        let mut group = Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.rule.code()));
        if let Some(excerpts) = self.excerpts {
            let remarks = match finding {
                Some(finding) => std::iter::once(Remark::main(finding.span, &finding.label))
                    .chain(finding.related.iter().map(|(span, label)| Remark::side(*span, label)))
                    .collect(),
                None => places::remarks(&scope, sentences, diagnostic),
            };
            group = group.elements(excerpts.snippets(remarks));
        }
        for control in &scope.names {
            group = group.element(Level::NOTE.message(format!("in the body of {control}")));
        }
        for sentence in sentences.witness(&diagnostic.witness) {
            // Most messages tell their witness themselves.
            if !diagnostic.message.contains(&sentence) && !tells(&diagnostic.message, &sentence) {
                group = group.element(Level::NOTE.message(sentence));
            }
        }
        let edit = match (self.source, finding) {
            (Some(_), Some(finding)) => finding.edit.clone(),
            (Some(source), None) => repair::edit(&scope, source, diagnostic),
            (None, _) => None,
        };
        let mut repairs = diagnostic.repairs.iter();
        let mut groups = Vec::new();
        if let (Some(edit), Some(excerpts)) = (edit, self.excerpts) {
            // The best repair is the one that was made into an edit.
            let title = repairs.next().map_or("change this", |r| r.as_str());
            groups
                .push(Group::with_title(Level::HELP.secondary_title(title.to_owned())).element(excerpts.patch(&edit)));
        }
        for repair in repairs {
            group = group.element(Level::HELP.message(repair.as_str()));
        }
        groups.insert(0, group);
        finish(&groups, colour)
    }
}

/// Whether a message says the reason of a sentence already: what stands after its `because`.
fn tells(message: &str, sentence: &str) -> bool {
    sentence.split_once(" because ").is_some_and(|(_, reason)| message.contains(reason))
}
