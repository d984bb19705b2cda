//! Blocks and statements.

use super::super::error::{Code, SyntaxError, nearest};
use super::super::span::Spanned;
use super::super::syntax::{AccessWord, Argument, Block, Call, Control, Item, RawStatement, Statement, Trivia, When};
use super::super::token::Token;
use super::cursor::{Cursor, Parsed};

/// The words a statement can start with.
const STATEMENTS: [&str; 14] = [
    "space",
    "field",
    "region",
    "partition",
    "map",
    "disjoint",
    "let",
    "for",
    "task",
    "repeat",
    "while",
    "if",
    "call",
    "graph",
];

const ACCESSES: [&str; 4] = ["read", "write", "update", "reduce"];

impl Cursor<'_> {
    /// The whole text.
    pub(super) fn file(&mut self) -> Block<Statement> {
        let mut block = self.items(true, Self::statement);
        while self.peek() != Token::End && !self.is_hopeless() {
            // Only a closing brace ends the items of a block early.
            let span = self.bump();
            self.error(SyntaxError::new(Code::Syntax, "`}` closes nothing", span, "no block is open here"));
            let rest = self.items(false, Self::statement);
            block.items.extend(rest.items);
            block.closing = rest.closing;
        }
        block
    }

    /// Statements up to the end of the block or the text.
    fn items<T>(&mut self, fresh: bool, statement: fn(&mut Self) -> Parsed<T>) -> Block<T> {
        let mut block = Block { items: Vec::new(), closing: Vec::new() };
        loop {
            let mut leading = self.between(fresh && block.items.is_empty());
            if matches!(self.peek(), Token::End | Token::RightBrace) || self.is_hopeless() {
                if leading.last() == Some(&Trivia::Blank) {
                    leading.pop();
                }
                block.closing = leading;
                return block;
            }
            let (start, first) = (self.position(), self.span());
            self.open_statement();
            let parsed = statement(self).and_then(|s| self.end_of_statement().map(|()| s));
            if parsed.is_err() {
                self.skip_statement(start);
            }
            let span = if self.position() > start { first.to(self.last_span()) } else { first };
            let (inner, trailing) = self.close_statement();
            if let Ok(value) = parsed {
                leading.extend(inner.into_iter().map(Trivia::Comment));
                block.items.push(Item { leading, statement: Spanned::new(value, span), trailing });
            }
        }
    }

    fn end_of_statement(&mut self) -> Parsed<()> {
        match self.peek() {
            Token::Newline | Token::Semicolon | Token::RightBrace | Token::End => Ok(()),
            _ => self.fail_expected("the end of the statement"),
        }
    }

    /// `{ … }`
    pub(super) fn block<T>(&mut self, statement: fn(&mut Self) -> Parsed<T>) -> Parsed<Block<T>> {
        if self.peek() == Token::LeftBrace {
            // Comments between the start of a statement and its block belong to the statement.
            self.claim_comments();
        }
        let open = self.expect(Token::LeftBrace, "`{`")?;
        let block = match self.nested(|c| Ok(c.items(true, statement))) {
            Ok(block) => block,
            Err(failed) => {
                self.skip_block();
                return Err(failed);
            }
        };
        if self.accept(Token::RightBrace) {
            return Ok(block);
        }
        self.fail_unclosed(open)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let is_fact = matches!(self.peek_second(), Token::Inside | Token::Dot);
        if self.peek() != Token::Name || is_fact {
            let child = self.path("a statement")?;
            self.expect(Token::Inside, "`<=`")?;
            return Ok(Statement::Subregion { child, parent: self.path("a region")? });
        }
        let word = self.text();
        match word {
            "let" | "space" | "field" | "region" | "disjoint" | "map" | "partition" => {
                self.bump();
                self.declaration(word)
            }
            "for" => {
                self.bump();
                let name = self.variable()?;
                self.expect_keyword("in")?;
                let start = self.expression()?;
                self.expect(Token::Dots, "`..`")?;
                let end = self.expression()?;
                Ok(Statement::For { name, start, end, body: self.block(Self::statement)? })
            }
            "task" => self.task(),
            "repeat" | "while" | "if" | "call" => {
                let control = self.control(Self::statement)?;
                Ok(Statement::Control { name: None, subscripts: Vec::new(), cost: None, control })
            }
            "graph" => {
                self.bump();
                Ok(Statement::Graph(self.block::<RawStatement>(Self::raw_statement)?))
            }
            _ => self.unknown_statement(word),
        }
    }

    fn unknown_statement<T>(&mut self, word: &str) -> Parsed<T> {
        let span = self.span();
        let found = self.peek().describe(word);
        let mut error =
            SyntaxError::new(Code::Syntax, format!("{found} starts no statement"), span, "expected a statement");
        error = match nearest(word, STATEMENTS) {
            Some(near) => error.suggest(format!("did you mean `{near}`?"), span, near),
            None if word == "else" => error.help("`else` follows the `}` of an `if`"),
            None if matches!(word, "data" | "open" | "close") || self.peek_second() == Token::Arrow => {
                error.help("nodes and edges stand inside `graph { … }`")
            }
            None => error,
        };
        self.fail(error)
    }

    /// `task NAME[I](…) cost X`, or `task NAME[I] cost X: repeat …`.
    fn task(&mut self) -> Parsed<Statement> {
        self.bump();
        let name = self.name("the name of a task")?;
        let subscripts = self.subscripts()?;
        if self.accept(Token::LeftParenthesis) {
            let arguments = self.arguments()?;
            let cost = self.cost()?;
            return Ok(Statement::Call(Call { name, subscripts, arguments, cost }));
        }
        let cost = self.cost()?;
        if self.accept(Token::Colon) {
            let control = self.control(Self::statement)?;
            return Ok(Statement::Control { name: Some(name), subscripts, cost, control });
        }
        self.fail_expected("`(` and the accesses of the task, or `:` and a control statement")
    }

    fn arguments(&mut self) -> Parsed<Vec<Argument>> {
        let mut arguments = Vec::new();
        loop {
            self.skip_newlines();
            if self.accept(Token::RightParenthesis) {
                return Ok(arguments);
            }
            let access = self.access()?;
            arguments.push(Argument { access, region: self.path("a region")? });
            self.skip_newlines();
            if !self.accept(Token::Comma) {
                self.expect(Token::RightParenthesis, "`,` or `)`")?;
                return Ok(arguments);
            }
        }
    }

    fn access(&mut self) -> Parsed<Spanned<AccessWord>> {
        let (start, word) = (self.span(), self.text());
        if self.peek() != Token::Name || !ACCESSES.contains(&word) {
            if self.peek() == Token::Name && nearest(word, ACCESSES).is_some() {
                let label = "expected read, write, update or reduce(…)";
                return self.fail_word(format!("`{word}` is no access"), label, ACCESSES);
            }
            return self.fail_expected("an access: read, write, update or reduce(…)");
        }
        self.bump();
        let access =
            match word {
                "read" => AccessWord::Read,
                "write" => AccessWord::Write,
                "update" => AccessWord::Update,
                _ => match self.operator()? {
                    Some(operator) => AccessWord::Reduce(operator),
                    None => {
                        return self.fail(
                            SyntaxError::new(Code::Syntax, "a reduce without its operator", start, "reduces how?")
                                .suggest("name the operator", start.after(), "(+)"),
                        );
                    }
                },
            };
        Ok(Spanned::new(access, start.to(self.last_span())))
    }

    /// `(+)` after `reduce`, or nothing.
    pub(super) fn operator(&mut self) -> Parsed<Option<String>> {
        if !self.accept(Token::LeftParenthesis) {
            return Ok(None);
        }
        let operator = match self.peek() {
            Token::Plus | Token::Minus | Token::Star | Token::Slash | Token::Percent | Token::Symbol => {
                let text = self.text().to_owned();
                self.bump();
                text
            }
            _ => self.name("an operator")?.value,
        };
        self.expect(Token::RightParenthesis, "`)`")?;
        Ok(Some(operator))
    }

    /// `repeat N { … }`, `while REGION { … }`, `if REGION { … } else { … }` or `call { … }`.
    pub(super) fn control<T>(&mut self, statement: fn(&mut Self) -> Parsed<T>) -> Parsed<Control<T>> {
        let when = if self.accept_keyword("repeat") {
            When::Repeat(self.expression()?)
        } else if self.accept_keyword("while") {
            When::While(self.path("a region")?)
        } else if self.accept_keyword("if") {
            When::If(self.path("a region")?)
        } else if self.accept_keyword("call") {
            When::Call
        } else {
            return self.fail_expected("`repeat`, `while`, `if` or `call`");
        };
        let body = self.block(statement)?;
        let otherwise = if matches!(when, When::If(_)) && self.continue_at(Token::Name, Some("else")) {
            self.bump();
            Some(self.block(statement)?)
        } else {
            None
        };
        Ok(Control { when, body, otherwise })
    }
}
