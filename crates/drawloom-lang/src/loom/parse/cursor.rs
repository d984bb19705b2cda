//! The words of a text with the place reached in them.

use super::super::error::{Code, SyntaxError, nearest};
use super::super::span::{Span, Spanned};
use super::super::syntax::{Name, Trivia};
use super::super::token::{Token, Words};
use super::{DEEPEST_NESTING, MOST_ERRORS};

/// A statement could not be read; the mistake is already on the list.
#[derive(Debug)]
pub(super) struct Failed;

/// What a parsing function returns.
pub(super) type Parsed<T> = Result<T, Failed>;

/// Reads words one by one.
pub(super) struct Cursor<'s> {
    source: &'s str,
    words: Words,
    at: usize,
    /// The first comment that belongs to no statement yet.
    next_comment: usize,
    /// For each statement being read, the comments found inside it.
    inner_comments: Vec<Vec<String>>,
    depth: usize,
    /// Whether a block without end was reported: the blocks around it have no end either, and need not be told.
    unclosed: bool,
    errors: Vec<SyntaxError>,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(source: &'s str, words: Words, errors: Vec<SyntaxError>) -> Self {
        Self { source, words, at: 0, next_comment: 0, inner_comments: Vec::new(), depth: 0, unclosed: false, errors }
    }

    /// The result, unless there were mistakes. They are sorted by place.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<SyntaxError>> {
        if self.errors.is_empty() {
            return Ok(value);
        }
        self.errors.sort_by_key(|e| e.span);
        self.errors.truncate(MOST_ERRORS);
        Err(self.errors)
    }

    /// Whether so many mistakes were found that reading on helps nobody.
    pub(super) fn is_hopeless(&self) -> bool {
        self.errors.len() >= MOST_ERRORS
    }

    pub(super) fn peek(&self) -> Token {
        self.words.tokens[self.at].0
    }

    /// The word after the next one.
    pub(super) fn peek_second(&self) -> Token {
        self.words.tokens.get(self.at + 1).map_or(Token::End, |t| t.0)
    }

    pub(super) fn span(&self) -> Span {
        self.words.tokens[self.at].1
    }

    /// The text of the next word.
    pub(super) fn text(&self) -> &'s str {
        self.span().text(self.source)
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The place of the word before the next one.
    pub(super) fn last_span(&self) -> Span {
        self.words.tokens[self.at.saturating_sub(1)].1
    }

    /// Steps over the next word and returns its place. The end of the text is never passed.
    pub(super) fn bump(&mut self) -> Span {
        let span = self.span();
        if self.peek() != Token::End {
            self.at += 1;
        }
        span
    }

    /// Steps over the next word if it is of this kind.
    pub(super) fn accept(&mut self, token: Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.bump();
        }
        found
    }

    /// Steps over a word of this kind, or fails.
    pub(super) fn expect(&mut self, token: Token, what: &str) -> Parsed<Span> {
        if self.peek() == token { Ok(self.bump()) } else { self.fail_expected(what) }
    }

    /// Whether the next word is this keyword. No word is reserved: keywords are known by their position.
    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        self.peek() == Token::Name && self.text() == keyword
    }

    pub(super) fn accept_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        if found {
            self.bump();
        }
        found
    }

    pub(super) fn expect_keyword(&mut self, keyword: &str) -> Parsed<Span> {
        if self.at_keyword(keyword) { Ok(self.bump()) } else { self.fail_expected(&format!("`{keyword}`")) }
    }

    pub(super) fn skip_newlines(&mut self) {
        while self.accept(Token::Newline) {}
    }

    /// Steps over line ends when the word after them is of this kind, so that a statement may go on there.
    pub(super) fn continue_at(&mut self, token: Token, keyword: Option<&str>) -> bool {
        let start = self.at;
        self.skip_newlines();
        let found = self.peek() == token && keyword.is_none_or(|k| self.text() == k);
        if !found {
            self.at = start;
        }
        found
    }

    pub(super) fn error(&mut self, error: SyntaxError) {
        self.errors.push(error);
    }

    pub(super) fn fail<T>(&mut self, error: SyntaxError) -> Parsed<T> {
        self.errors.push(error);
        Err(Failed)
    }

    pub(super) fn fail_expected<T>(&mut self, what: &str) -> Parsed<T> {
        let found = self.peek().describe(self.text());
        // The end of a line is a place after the last word, not the invisible character.
        let span = if matches!(self.peek(), Token::Newline | Token::End) && self.at > 0 {
            self.last_span().after()
        } else {
            self.span()
        };
        self.fail(SyntaxError::new(
            Code::Syntax,
            format!("expected {what}, found {found}"),
            span,
            format!("expected {what}"),
        ))
    }

    /// Fails at a word that is none of those that can stand here, and suggests the one that it is most like.
    pub(super) fn fail_word<'a, T>(
        &mut self,
        message: String,
        label: &str,
        words: impl IntoIterator<Item = &'a str>,
    ) -> Parsed<T> {
        let (word, span) = (self.text(), self.span());
        let error = SyntaxError::new(Code::Syntax, message, span, label);
        match nearest(word, words) {
            Some(near) => self.fail(error.suggest(format!("did you mean `{near}`?"), span, near)),
            None => self.fail(error),
        }
    }

    /// Goes one level down for as long as `inner` runs.
    pub(super) fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == DEEPEST_NESTING {
            return self.fail(SyntaxError::new(
                Code::OutOfRange,
                format!("blocks and parentheses are nested more than {DEEPEST_NESTING} deep"),
                self.span(),
                "one level too many",
            ));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// A name, quoted or not.
    pub(super) fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Token::Name => {
                let text = self.text().to_owned();
                Ok(Spanned::new(text, self.bump()))
            }
            Token::Text => {
                let span = self.span();
                match unquote(self.text()) {
                    Ok(text) => {
                        self.bump();
                        Ok(Spanned::new(text, span))
                    }
                    Err(escape) => self.fail(
                        SyntaxError::new(
                            Code::Syntax,
                            format!("unknown escape `{escape}` in a quoted name"),
                            span,
                            "in this name",
                        )
                        .help("the escapes are \\\" \\\\ \\n \\r \\t and \\u{…}"),
                    ),
                }
            }
            _ => self.fail_expected(what),
        }
    }

    /// A name that expressions can use: without quotes.
    pub(super) fn variable(&mut self) -> Parsed<Name> {
        if self.peek() == Token::Name { self.name("") } else { self.fail_expected("the name of a variable") }
    }

    /// Passes what stands between statements and returns it. `fresh` is true at the start of a block, where blank lines
    /// mean nothing.
    pub(super) fn between(&mut self, fresh: bool) -> Vec<Trivia> {
        let mut trivia = Vec::new();
        // After a statement its own line has still to end; at the start of a block no blank line counts.
        let mut line_ends = 0;
        loop {
            while let Some((_, text)) = self.comment() {
                trivia.push(Trivia::Comment(text));
                line_ends = 0;
            }
            match self.peek() {
                Token::Newline => {
                    line_ends += 1;
                    let first = fresh && trivia.is_empty();
                    if line_ends >= 2 && !first && trivia.last() != Some(&Trivia::Blank) {
                        trivia.push(Trivia::Blank);
                    }
                }
                Token::Semicolon => line_ends = 0,
                _ => return trivia,
            }
            self.at += 1;
        }
    }

    /// Takes the next comment that stands before the current word, with the number of the word that it stands before.
    fn comment(&mut self) -> Option<(usize, String)> {
        let comment = self.words.comments.get(self.next_comment).filter(|c| c.before <= self.at)?;
        self.next_comment += 1;
        Some((comment.before, comment.span.text(self.source).trim_end().to_owned()))
    }

    /// Starts collecting comments inside a statement.
    pub(super) fn open_statement(&mut self) {
        self.inner_comments.push(Vec::new());
    }

    /// Claims the comments before the current word for the innermost statement.
    pub(super) fn claim_comments(&mut self) {
        while let Some((_, text)) = self.comment() {
            self.inner_comments.last_mut().expect("comments are claimed inside a statement").push(text);
        }
    }

    /// Ends a statement: the comments inside it, and the one after it on its last line.
    pub(super) fn close_statement(&mut self) -> (Vec<String>, Option<String>) {
        let mut inner = self.inner_comments.pop().expect("a statement that ends was started");
        let mut trailing = None;
        while let Some((before, text)) = self.comment() {
            if before == self.at {
                trailing = Some(text);
            } else {
                inner.push(text);
            }
        }
        (inner, trailing)
    }

    /// Fails because the text ends inside a block.
    pub(super) fn fail_unclosed<T>(&mut self, open: Span) -> Parsed<T> {
        if std::mem::replace(&mut self.unclosed, true) || self.is_hopeless() {
            return Err(Failed);
        }
        self.fail(SyntaxError::new(Code::Syntax, "a block without its closing `}`", open, "opened here").suggest(
            "close it",
            self.span(),
            "}",
        ))
    }

    /// Passes the rest of a block whose opening brace was read.
    pub(super) fn skip_block(&mut self) {
        let mut open = 1usize;
        while open > 0 && self.peek() != Token::End {
            match self.peek() {
                Token::LeftBrace => open += 1,
                Token::RightBrace => open -= 1,
                _ => {}
            }
            self.bump();
        }
        self.unclosed |= open > 0;
    }

    /// Passes the rest of a statement that could not be read: up to the end of its line, over whole blocks.
    pub(super) fn skip_statement(&mut self, start: usize) {
        let mut open = 0usize;
        // A mistake at the very first word of a line must not loop: at least one word is passed.
        if self.at == start && !matches!(self.peek(), Token::RightBrace) {
            open += usize::from(self.peek() == Token::LeftBrace);
            self.bump();
        }
        loop {
            match self.peek() {
                Token::End => return,
                Token::Newline | Token::Semicolon if open == 0 => return,
                Token::RightBrace if open == 0 => return,
                Token::RightBrace => open -= 1,
                Token::LeftBrace => open += 1,
                _ => {}
            }
            self.bump();
        }
    }
}

/// The name inside quotes, or the escape that is not one.
fn unquote(text: &str) -> Result<String, String> {
    let inner = text.strip_prefix('"').unwrap_or(text);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut name = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            name.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => name.push('\n'),
            Some('r') => name.push('\r'),
            Some('t') => name.push('\t'),
            Some(c @ ('"' | '\\')) => name.push(c),
            Some('u') => {
                let digits: String = rest.by_ref().take_while(|c| *c != '}').collect();
                let code = digits.strip_prefix('{').and_then(|d| u32::from_str_radix(d, 16).ok());
                match code.and_then(char::from_u32) {
                    Some(c) => name.push(c),
                    None => return Err(format!("\\u{}", digits.escape_debug())),
                }
            }
            other => return Err(other.map_or("\\".to_owned(), |c| format!("\\{}", c.escape_debug()))),
        }
    }
    Ok(name)
}
