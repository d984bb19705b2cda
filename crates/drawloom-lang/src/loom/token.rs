//! Words of the language.

use logos::Logos;

use super::error::{Code, SyntaxError};
use super::span::Span;

/// One kind of word. The text of a word is the part of the source under its span.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\f\u{FEFF}]+")]
pub(crate) enum Token {
    #[token("\n")]
    Newline,
    #[regex(r"#[^\n]*", allow_greedy = true)]
    Comment,
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Text,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#)]
    OpenText,
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9]+)?")]
    Number,
    #[token("->")]
    Arrow,
    #[token("<=")]
    Inside,
    #[token("..")]
    Dots,
    #[token(".")]
    Dot,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token("@")]
    At,
    #[token("(")]
    LeftParenthesis,
    #[token(")")]
    RightParenthesis,
    #[token("[")]
    LeftBracket,
    #[token("]")]
    RightBracket,
    #[token("{")]
    LeftBrace,
    #[token("}")]
    RightBrace,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    /// Symbols that are only names of reduction operators.
    #[regex(r"&&?|\|\|?|\^")]
    Symbol,
    /// The end of the text.
    End,
}

impl Token {
    /// How a message calls a word of this kind.
    pub(crate) fn describe(self, text: &str) -> String {
        match self {
            Token::Newline => "the end of the line".to_owned(),
            Token::End => "the end of the file".to_owned(),
            // A word can be as long as the file, a message should not.
            _ if text.chars().count() > 40 => {
                format!("`{}…`", text.chars().take(39).collect::<String>().escape_debug())
            }
            _ => format!("`{}`", text.escape_debug()),
        }
    }
}

/// A comment, and the word it stands before.
pub(crate) struct Comment {
    pub(crate) span: Span,
    pub(crate) before: usize,
}

/// A text as words. The last word is always [`Token::End`].
pub(crate) struct Words {
    pub(crate) tokens: Vec<(Token, Span)>,
    pub(crate) comments: Vec<Comment>,
}

/// Splits a text into words; reports what is not a word and goes on.
pub(crate) fn split(source: &str, errors: &mut Vec<SyntaxError>) -> Words {
    let mut words = Words { tokens: Vec::new(), comments: Vec::new() };
    for (token, range) in Token::lexer(source).spanned() {
        let span = Span::of(range);
        match token {
            Ok(Token::Comment) => words.comments.push(Comment { span, before: words.tokens.len() }),
            Ok(Token::OpenText) => {
                errors.push(
                    SyntaxError::new(Code::Syntax, "a quoted name without its closing quote", span, "starts here")
                        .suggest("close the quote on the same line", span.after(), "\""),
                );
                words.tokens.push((Token::Text, span));
            }
            Ok(token) => words.tokens.push((token, span)),
            // Neighbouring strange characters are one mistake, not one each.
            Err(()) => match errors.last_mut() {
                Some(last) if last.span.end == span.start && last.is_strange() => last.span.end = span.end,
                _ => errors.push(SyntaxError::strange(span, span.text(source))),
            },
        }
    }
    let end = source.len();
    words.tokens.push((Token::End, Span::of(end..end)));
    words
}

/// Whether a name can be written without quotes.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether an operator can be written without quotes.
pub(crate) fn is_plain_operator(name: &str) -> bool {
    matches!(name, "+" | "-" | "*" | "/" | "%" | "&" | "&&" | "|" | "||" | "^") || is_plain_name(name)
}
