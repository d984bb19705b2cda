//! Places in a source text.

use std::ops::{Deref, Range};

/// A range of bytes in a source text. Texts are smaller than four gigabytes, so eight bytes hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of a byte range.
    pub(crate) fn of(range: Range<usize>) -> Self {
        Self { start: range.start as u32, end: range.end as u32 }
    }

    /// From the start of this span to the end of another.
    #[must_use]
    pub fn to(self, end: Span) -> Self {
        Self { start: self.start.min(end.start), end: self.end.max(end.end) }
    }

    /// The empty span after this one.
    pub(crate) fn after(self) -> Self {
        Self { start: self.end, end: self.end }
    }

    /// The bytes of the span.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text of the span.
    pub(crate) fn text(self, source: &str) -> &str {
        &source[self.range()]
    }
}

/// Line and column of a byte, both from 1; columns count characters.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A value and where it was written. Two are equal when the values are: printing and parsing again moves the places.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// What was written.
    pub value: T,
    /// Where.
    pub span: Span,
}

impl<T> Spanned<T> {
    /// A value with its place.
    pub fn new(value: T, span: Span) -> Self {
        Self { value, span }
    }

    /// A value that was made, and not read from a text.
    pub fn made(value: T) -> Self {
        Self { value, span: Span::default() }
    }
}

impl<T: PartialEq> PartialEq for Spanned<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
