//! Nodes and edges inside `graph { … }`.

use super::super::error::{Code, SyntaxError};
use super::super::span::Spanned;
use super::super::syntax::{KINDS, LABELS, Literal, RawLabel, RawStatement};
use super::super::token::Token;
use super::cursor::{Cursor, Parsed};
use drawloom_graph::graph::{Label, NodeKind};

impl Cursor<'_> {
    /// A node or an edge.
    pub(super) fn raw_statement(&mut self) -> Parsed<RawStatement> {
        let names_next = matches!(self.peek_second(), Token::Name | Token::Text | Token::Number | Token::Minus);
        if self.peek() == Token::Name && names_next {
            let word = self.text();
            let Some((_, kind)) = KINDS.into_iter().find(|entry| entry.0 == word) else {
                let message = format!("`{word}` is no kind of node");
                let label = "expected data, task, open, close, or an edge";
                return self.fail_word(message, label, KINDS.map(|entry| entry.0));
            };
            self.bump();
            return self.raw_node(kind);
        }
        let from = self.node_name()?;
        self.expect(Token::Arrow, "`->`")?;
        let to = self.node_name()?;
        self.expect(Token::Colon, "`:` and the label of the edge")?;
        let label = self.label()?;
        let port = if self.accept(Token::At) { Some(self.port()?) } else { None };
        Ok(RawStatement::Edge { from, to, label, port })
    }

    fn raw_node(&mut self, kind: NodeKind) -> Parsed<RawStatement> {
        let name = self.node_name()?;
        let region =
            if kind == NodeKind::Data && self.accept(Token::Colon) { Some(self.path("a region")?) } else { None };
        let cost = self.cost()?;
        let control = if kind == NodeKind::Task && self.accept(Token::Colon) {
            Some(self.control(Self::raw_statement)?)
        } else {
            None
        };
        Ok(RawStatement::Node { kind, name, region, cost, control })
    }

    fn label(&mut self) -> Parsed<Spanned<RawLabel>> {
        let (start, word) = (self.span(), self.text());
        if self.peek() != Token::Name {
            return self.fail_expected("a label: read, discard, write, reduce(…), before or use");
        }
        let Some((_, label)) = LABELS.into_iter().find(|entry| entry.0 == word) else {
            let message = format!("`{word}` is no label of an edge");
            let expected = "expected read, discard, write, reduce(…), before or use";
            return self.fail_word(message, expected, LABELS.map(|entry| entry.0));
        };
        self.bump();
        let operator = if label == Label::Reduce { self.operator()? } else { None };
        let reorderable = label == Label::Write && self.accept_keyword("reorderable");
        Ok(Spanned::new(RawLabel { label, operator, reorderable }, start.to(self.last_span())))
    }

    fn port(&mut self) -> Parsed<Spanned<Literal>> {
        let port = self.literal("the number of a port")?;
        if port.value.value >= u64::from(u32::MAX) {
            return self.fail(SyntaxError::new(
                Code::OutOfRange,
                format!("port {} is too large", port.value.value),
                port.span,
                format!("the largest port is {}", u32::MAX - 1),
            ));
        }
        Ok(port)
    }
}
