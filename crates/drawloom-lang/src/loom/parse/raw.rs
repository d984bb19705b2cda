//! Nodes and edges inside `graph { … }`.

use super::super::error::{Code, SyntaxError, nearest};
use super::super::span::Spanned;
use super::super::syntax::{Literal, RawKind, RawLabel, RawStatement};
use super::super::token::Token;
use super::cursor::{Cursor, Parsed};

const LABELS: [&str; 6] = ["read", "discard", "write", "reduce", "before", "use"];

impl Cursor<'_> {
    /// A node or an edge.
    pub(super) fn raw_statement(&mut self) -> Parsed<RawStatement> {
        let names_next = matches!(self.peek_second(), Token::Name | Token::Text | Token::Number | Token::Minus);
        if self.peek() == Token::Name && names_next {
            let kind = match self.text() {
                "data" => RawKind::Data,
                "task" => RawKind::Task,
                "open" => RawKind::Open,
                "close" => RawKind::Close,
                word => {
                    let span = self.span();
                    let error = SyntaxError::new(
                        Code::Syntax,
                        format!("`{word}` is no kind of node"),
                        span,
                        "expected data, task, open, close, or an edge",
                    );
                    return match nearest(word, ["data", "task", "open", "close"]) {
                        Some(near) => self.fail(error.suggest(format!("did you mean `{near}`?"), span, near)),
                        None => self.fail(error),
                    };
                }
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

    fn raw_node(&mut self, kind: RawKind) -> Parsed<RawStatement> {
        let name = self.node_name()?;
        let region =
            if kind == RawKind::Data && self.accept(Token::Colon) { Some(self.path("a region")?) } else { None };
        let cost = self.cost()?;
        let control = if kind == RawKind::Task && self.accept(Token::Colon) {
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
        self.bump();
        let label = match word {
            "read" => RawLabel::Read,
            "discard" => RawLabel::Discard,
            "write" if self.peek() == Token::Name && self.text() == "reorderable" => {
                self.bump();
                RawLabel::Reorderable
            }
            "write" => RawLabel::Write,
            "reduce" => RawLabel::Reduce(self.operator()?),
            "before" => RawLabel::Before,
            "use" => RawLabel::Use,
            _ => {
                let error = SyntaxError::new(
                    Code::Syntax,
                    format!("`{word}` is no label of an edge"),
                    start,
                    "expected read, discard, write, reduce(…), before or use",
                );
                return match nearest(word, LABELS) {
                    Some(near) => self.fail(error.suggest(format!("did you mean `{near}`?"), start, near)),
                    None => self.fail(error),
                };
            }
        };
        Ok(Spanned::new(label, start.to(self.last_span())))
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
