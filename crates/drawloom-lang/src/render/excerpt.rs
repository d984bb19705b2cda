//! Lines of a source with remarks and edits in them.

use annotate_snippets::{Annotation, AnnotationKind, Patch, Renderer, Snippet};

use super::super::loom::{Edit, Span};

/// Remarks further apart than this many bytes get excerpts of their own: the renderer looks at every line between.
const FURTHEST: usize = 16 * 1024;

/// Something to say about a place.
#[derive(Clone, Debug)]
pub(super) struct Remark {
    pub(super) span: Span,
    pub(super) label: String,
    pub(super) main: bool,
}

impl Remark {
    /// About the place where the mistake is.
    pub(super) fn main(span: Span, label: &str) -> Self {
        Self { span, label: label.to_owned(), main: true }
    }

    /// About another place that matters.
    pub(super) fn side(span: Span, label: &str) -> Self {
        Self { span, label: label.to_owned(), main: false }
    }
}

/// A source that excerpts are taken from.
pub(super) struct Excerpts<'s> {
    name: &'s str,
    text: &'s str,
    line_starts: Vec<usize>,
}

impl<'s> Excerpts<'s> {
    pub(super) fn new(name: &'s str, text: &'s str) -> Self {
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { name, text, line_starts }
    }

    /// The line that holds a byte, from 0.
    fn line(&self, at: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Where a line ends, without its end of line.
    fn line_end(&self, line: usize) -> usize {
        self.line_starts.get(line + 1).map_or(self.text.len(), |next| next - 1)
    }

    /// The lines from one byte to another: where they start, their text, and the number of the first.
    fn lines(&self, from: usize, to: usize) -> (usize, &'s str, usize) {
        let (first, last) = (self.line(from), self.line(to.max(from)));
        let start = self.line_starts[first];
        (start, &self.text[start..self.line_end(last)], first + 1)
    }

    /// Excerpts with remarks, the main one first.
    pub(super) fn snippets(&self, mut remarks: Vec<Remark>) -> Vec<Snippet<'s, Annotation<'s>>> {
        remarks.retain(|r| r.span.range().end <= self.text.len());
        // A place that matters twice is shown once, with what was said first.
        let mut seen = std::collections::BTreeSet::new();
        remarks.retain(|r| seen.insert(r.span));
        let Some(main) = remarks.first().map(|r| r.span) else { return Vec::new() };
        remarks.sort_by_key(|r| r.span);
        let mut chunks: Vec<Vec<Remark>> = Vec::new();
        for remark in remarks {
            match chunks.last_mut() {
                Some(chunk)
                    if chunk.last().is_some_and(|l| {
                        (remark.span.start as usize).saturating_sub(l.span.end as usize) <= FURTHEST
                    }) =>
                {
                    chunk.push(remark);
                }
                _ => chunks.push(vec![remark]),
            }
        }
        // The excerpt with the main remark comes first, the others in the order of the text.
        chunks.sort_by_key(|chunk| !chunk.iter().any(|r| r.span == main));
        chunks.into_iter().map(|chunk| self.snippet(chunk)).collect()
    }

    fn snippet(&self, remarks: Vec<Remark>) -> Snippet<'s, Annotation<'s>> {
        let from = remarks.iter().map(|r| r.span.range().start).min().unwrap_or(0);
        let to = remarks.iter().map(|r| r.span.range().end).max().unwrap_or(0);
        let (start, text, line) = self.lines(from, to.max(from + 1) - 1);
        let annotations = remarks.into_iter().map(|remark| {
            let kind = if remark.main { AnnotationKind::Primary } else { AnnotationKind::Context };
            let range = remark.span.range();
            let end = (range.end - start).min(text.len());
            kind.span((range.start - start).min(end)..end).label(remark.label)
        });
        Snippet::source(text).line_start(line).path(self.name).annotations(annotations)
    }

    /// An excerpt with a change.
    pub(super) fn patch(&self, edit: &Edit) -> Snippet<'s, Patch<'s>> {
        let range = edit.span.range();
        let (start, text, line) = self.lines(range.start, range.end);
        let end = (range.end - start).min(text.len());
        let patch = Patch::new((range.start - start).min(end)..end, edit.replacement.clone());
        Snippet::source(text).line_start(line).path(self.name).patch(patch)
    }
}

/// The renderer with or without colours.
pub(super) fn renderer(colour: bool) -> Renderer {
    if colour { Renderer::styled() } else { Renderer::plain() }
}
