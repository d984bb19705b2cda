//! From a text to its syntax tree, by recursive descent.
//!
//! | file | concept |
//! |---|---|
//! | `cursor` | the words, what is expected next, comments |
//! | `statement` | blocks and statements, and going on after a mistake |
//! | `declaration` | spaces, fields, regions, maps and partitions |
//! | `raw` | what stands inside `graph { … }` |
//! | `expression` | names, numbers, paths and integer expressions |

mod cursor;
mod declaration;
mod expression;
mod raw;
mod statement;

use super::error::{Code, SyntaxError};
use super::span::Span;
use super::syntax::File;
use super::token;
use cursor::Cursor;

/// The deepest nesting of blocks and parentheses. Every step down costs stack, and nobody reads deeper texts.
pub const DEEPEST_NESTING: usize = 64;

/// The most mistakes that are listed.
pub(crate) const MOST_ERRORS: usize = 100;

/// Parses a text. After a mistake the parser goes on with the next statement, so one run shows them all (at most 100).
///
/// ```
/// use drawloom_lang::loom;
/// let file = loom::parse("region A\ntask scale(update A)  # in place\n").unwrap();
/// assert_eq!(file.to_string(), "region A\ntask scale(update A) # in place\n");
/// let errors = loom::parse("region\nspace cells ten ten").unwrap_err();
/// assert_eq!(errors.len(), 2);
/// ```
pub fn parse(source: &str) -> Result<File, Vec<SyntaxError>> {
    if source.len() >= u32::MAX as usize {
        let message = format!("the text has {} bytes, and only texts below four gigabytes can be read", source.len());
        return Err(vec![SyntaxError::new(Code::OutOfRange, message, Span::default(), "starts here")]);
    }
    let mut errors = Vec::new();
    let words = token::split(source, &mut errors);
    let mut cursor = Cursor::new(source, words, errors);
    let body = cursor.file();
    cursor.finish(File { body })
}
