//! Numbers, paths and integer expressions.

use super::super::error::{Code, SyntaxError};
use super::super::span::{Span, Spanned};
use super::super::syntax::{Cost, Expression, Literal, NodeName, Operator, PartitionPath, Path, Step, Term};
use super::super::token::Token;
use super::cursor::{Cursor, Parsed};

/// The most operators in one expression. The tree of `1+1+1+…` is as deep as it is long, and depth costs stack.
const MOST_OPERATORS: usize = 100;

impl Cursor<'_> {
    /// An integer: `4`, `1_000`, `1e6`.
    pub(super) fn literal(&mut self, what: &str) -> Parsed<Spanned<Literal>> {
        if self.peek() != Token::Number {
            return self.fail_expected(what);
        }
        let (text, span) = (self.text(), self.span());
        match integer(text) {
            Ok(value) => {
                self.bump();
                let text = (value.to_string() != text).then(|| text.into());
                Ok(Spanned::new(Literal { value, text }, span))
            }
            Err(NotAnInteger::Fraction) => self.fail(SyntaxError::new(
                Code::Syntax,
                format!("{} is not a whole number", self.peek().describe(text)),
                span,
                "expected an integer",
            )),
            Err(NotAnInteger::TooLarge) => self.fail(SyntaxError::new(
                Code::OutOfRange,
                format!("{} is larger than any index can be", self.peek().describe(text)),
                span,
                format!("the largest integer is {}", u64::MAX),
            )),
        }
    }

    /// A cost: any finite number that is not negative.
    pub(super) fn cost(&mut self) -> Parsed<Option<Cost>> {
        if !self.accept_keyword("cost") {
            return Ok(None);
        }
        if self.peek() != Token::Number {
            return self.fail_expected("a number");
        }
        let (text, span) = (self.text().to_owned(), self.span());
        match text.replace('_', "").parse::<f64>() {
            Ok(value) if value.is_finite() => {
                self.bump();
                Ok(Some(Cost { value, text }))
            }
            _ => self.fail(SyntaxError::new(
                Code::OutOfRange,
                format!("the cost {} is too large", self.peek().describe(&text)),
                span,
                "larger than any 64-bit floating-point number",
            )),
        }
    }

    /// A space or region: `u.blocks[i]`.
    pub(super) fn path(&mut self, what: &str) -> Parsed<Path> {
        let base = self.name(what)?;
        let mut steps = Vec::new();
        while self.accept(Token::Dot) {
            let partition = self.name("the name of a partition")?;
            if self.peek() != Token::LeftBracket {
                let (found, span) = (self.peek().describe(self.text()), partition.span);
                return self.fail(SyntaxError::new(
                    Code::Syntax,
                    format!("expected the piece of `{}` in brackets, found {found}", partition.escape_debug()),
                    span,
                    format!("which piece? write `{}[0]`", partition.escape_debug()),
                ));
            }
            steps.push(Step { partition, piece: self.subscript()? });
        }
        Ok(Path { base, steps })
    }

    /// A partition: `blocks`, or `cells.blocks[0].tiles`.
    pub(super) fn partition_path(&mut self) -> Parsed<PartitionPath> {
        let base = self.name("the name of a partition")?;
        if self.peek() != Token::Dot {
            return Ok(PartitionPath { of: None, name: base });
        }
        let mut steps = Vec::new();
        loop {
            self.expect(Token::Dot, "`.` and the name of a partition")?;
            let partition = self.name("the name of a partition")?;
            if self.peek() != Token::LeftBracket {
                return Ok(PartitionPath { of: Some(Path { base, steps }), name: partition });
            }
            steps.push(Step { partition, piece: self.subscript()? });
        }
    }

    fn subscript(&mut self) -> Parsed<Expression> {
        self.expect(Token::LeftBracket, "`[`")?;
        let piece = self.expression()?;
        self.expect(Token::RightBracket, "`]`")?;
        Ok(piece)
    }

    /// `[i, j]` after the name of a task, or nothing.
    pub(super) fn subscripts(&mut self) -> Parsed<Vec<Expression>> {
        let mut subscripts = Vec::new();
        if self.accept(Token::LeftBracket) {
            loop {
                subscripts.push(self.expression()?);
                if !self.accept(Token::Comma) {
                    break;
                }
            }
            self.expect(Token::RightBracket, "`,` or `]`")?;
        }
        Ok(subscripts)
    }

    /// The name of a node in a raw graph: a name, or an integer as other tools use.
    pub(super) fn node_name(&mut self) -> Parsed<Spanned<NodeName>> {
        let start = self.span();
        let negative = self.peek() == Token::Minus && self.peek_second() == Token::Number;
        if negative {
            self.bump();
        }
        if self.peek() != Token::Number {
            let name = self.name("the name of a node")?;
            return Ok(Spanned::new(NodeName { text: name.value, integer: false }, name.span));
        }
        let digits = self.text();
        let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
        if !canonical || (negative && digits == "0") {
            return self.fail(SyntaxError::new(
                Code::Syntax,
                format!("{} cannot be the name of a node", self.peek().describe(digits)),
                self.span(),
                "a number used as a name has only digits",
            ));
        }
        let text = format!("{}{digits}", if negative { "-" } else { "" });
        let span = start.to(self.bump());
        Ok(Spanned::new(NodeName { text, integer: true }, span))
    }

    /// An integer expression.
    pub(super) fn expression(&mut self) -> Parsed<Expression> {
        let mut operators = 0;
        self.joined(0, &mut operators)
    }

    /// Factors joined by operators that bind at least as tightly as asked for. Operators of one strength group to the left.
    fn joined(&mut self, strength: u8, operators: &mut usize) -> Parsed<Expression> {
        let mut left = self.factor(operators)?;
        while let Some(operator) = operator(self.peek()).filter(|operator| operator.strength() >= strength) {
            self.count_operator(operators)?;
            let right = self.joined(operator.strength() + 1, operators)?;
            let span = left.span.to(right.span);
            left = Spanned::new(Term::Binary(operator, Box::new(left), Box::new(right)), span);
        }
        Ok(left)
    }

    fn factor(&mut self, operators: &mut usize) -> Parsed<Expression> {
        let start = self.span();
        match self.peek() {
            Token::Number => {
                let literal = self.literal("a number")?;
                Ok(Spanned::new(Term::Number(literal.value), literal.span))
            }
            Token::Name => {
                let name = self.text().to_owned();
                Ok(Spanned::new(Term::Variable(name), self.bump()))
            }
            Token::Minus => {
                self.count_operator(operators)?;
                let inner = self.nested(|c| c.factor(operators))?;
                let span = start.to(inner.span);
                Ok(Spanned::new(Term::Negate(Box::new(inner)), span))
            }
            Token::LeftParenthesis => {
                self.bump();
                let inner = self.nested(|c| c.joined(0, operators))?;
                let end = self.expect(Token::RightParenthesis, "`)`")?;
                Ok(Spanned::new(inner.value, start.to(end)))
            }
            _ => self.fail_expected("a number"),
        }
    }

    fn count_operator(&mut self, operators: &mut usize) -> Parsed<Span> {
        *operators += 1;
        if *operators > MOST_OPERATORS {
            return self.fail(SyntaxError::new(
                Code::OutOfRange,
                format!("an expression with more than {MOST_OPERATORS} operators"),
                self.span(),
                "one operator too many",
            ));
        }
        Ok(self.bump())
    }
}

fn operator(token: Token) -> Option<Operator> {
    Some(match token {
        Token::Plus => Operator::Add,
        Token::Minus => Operator::Subtract,
        Token::Star => Operator::Multiply,
        Token::Slash => Operator::Divide,
        Token::Percent => Operator::Remainder,
        _ => return None,
    })
}

enum NotAnInteger {
    Fraction,
    TooLarge,
}

/// The value of `1_000` or `1e6`.
fn integer(text: &str) -> Result<u64, NotAnInteger> {
    let text = text.replace('_', "");
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    if digits.contains('.') || exponent.starts_with('-') {
        return Err(NotAnInteger::Fraction);
    }
    let value: u64 = digits.parse().map_err(|_| NotAnInteger::TooLarge)?;
    if value == 0 {
        return Ok(0);
    }
    let exponent: u32 = exponent.trim_start_matches('+').parse().map_err(|_| NotAnInteger::TooLarge)?;
    10u64.checked_pow(exponent).and_then(|p| value.checked_mul(p)).ok_or(NotAnInteger::TooLarge)
}
