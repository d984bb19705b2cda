//! Numbers in text, one after another, with errors that say in which line something else was found.

use fast_float2::FastFloat;

use crate::error::{Error, ErrorKind};

/// How much of something unexpected is quoted.
const QUOTED: usize = 40;

/// A place in a text.
#[derive(Clone)]
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// The start of a text.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// A place in a text, with so many bytes before it.
    pub(crate) fn at(text: &'a [u8], at: usize) -> Self {
        Self { text, at: at.min(text.len()) }
    }

    /// How many bytes there are after this place.
    pub(crate) fn rest(&self) -> usize {
        self.text.len() - self.at
    }

    /// Whether there is only space after this place.
    pub(crate) fn at_end(&mut self) -> bool {
        self.skip_space();
        self.rest() == 0
    }

    /// How many more numbers there can be: each takes a digit and a space.
    pub(crate) fn room(&self) -> u64 {
        self.rest().div_ceil(2) as u64
    }

    /// The next word, or `None` at the end.
    pub(crate) fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let start = self.at;
        let length = self.text[start..].iter().position(u8::is_ascii_whitespace).unwrap_or(self.text.len() - start);
        self.at += length;
        (length > 0).then(|| &self.text[start..start + length])
    }

    /// The rest of the line, without its end. The place is the start of the next line afterwards.
    pub(crate) fn line(&mut self) -> &'a [u8] {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.at += (length + 1).min(rest.len());
        rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length])
    }

    /// As many raw bytes.
    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let bytes = self.text.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(bytes)
    }

    /// The error for something unexpected at this place.
    pub(crate) fn expected(&mut self, expected: &str, what: impl Fn() -> String) -> Error {
        let start = self.start();
        self.unexpected(start, expected, what)
    }

    /// The number of the line of this place, from 1.
    pub(crate) fn line_number(&self) -> usize {
        self.line_of(self.at)
    }

    /// How many bytes there are before this place.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Goes to the start of the line after the next one that starts with some text. What is before may be binary.
    pub(crate) fn skip_past(&mut self, text: &[u8]) -> Result<(), Error> {
        let rest = &self.text[self.at..];
        let starts = |found: &[u8]| found.starts_with(text);
        let found = (0..rest.len()).filter(|at| rest[*at] == text[0]).find(|at| starts(&rest[*at..]));
        let Some(found) = found else {
            let message = format!(
                "line {}: expected {} behind this line",
                self.line_number(),
                String::from_utf8_lossy(text).escape_debug()
            );
            return Err(Error::new(ErrorKind::Truncated, message));
        };
        self.at += found;
        self.line();
        Ok(())
    }

    /// An integer that may be negative.
    pub(crate) fn integer(&mut self, what: impl Fn() -> String) -> Result<i64, Error> {
        let start = self.start();
        let value = self.word().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        value.ok_or_else(|| self.unexpected(start, "an integer", what))
    }

    /// An integer that is not negative.
    pub(crate) fn unsigned(&mut self, what: impl Fn() -> String) -> Result<u64, Error> {
        let start = self.start();
        let value = self.word().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        value.ok_or_else(|| self.unexpected(start, "an integer", what))
    }

    /// An integer that is not negative and is below `end`; `what` it is comes into the error.
    pub(crate) fn index(&mut self, end: u64, what: impl Fn() -> String) -> Result<u64, Error> {
        let start = self.start();
        let mut value = 0u64;
        while let Some(digit) = self.text.get(self.at).filter(|byte| byte.is_ascii_digit()) {
            // Beyond `end` the exact value does not matter any more.
            value = value.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        if self.at == start || !self.at_space() {
            return Err(self.unexpected(start, "an integer", what));
        }
        if value >= end {
            let found = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
            let message = format!("line {}: {} is {found}, and must be below {end}", self.line_of(start), what());
            return Err(Error::new(ErrorKind::Inconsistent, message));
        }
        Ok(value)
    }

    /// A finite floating-point number.
    pub(crate) fn float(&mut self, what: impl Fn() -> String) -> Result<f64, Error> {
        let start = self.start();
        let value = self.any_float::<f64>(&what)?;
        if value.is_finite() { Ok(value) } else { Err(self.unexpected(start, "a number", what)) }
    }

    /// A floating-point number, which may be infinite or not a number.
    pub(crate) fn any_float<T: FastFloat>(&mut self, what: impl Fn() -> String) -> Result<T, Error> {
        let start = self.start();
        let parsed = fast_float2::parse_partial::<T, _>(&self.text[start..]);
        let Some((value, length)) = parsed.ok() else { return Err(self.unexpected(start, "a number", what)) };
        self.at += length;
        if self.at_space() { Ok(value) } else { Err(self.unexpected(start, "a number", what)) }
    }

    /// Refuses anything but space up to the end.
    pub(crate) fn end(&mut self, what: impl Fn() -> String) -> Result<(), Error> {
        let start = self.start();
        if start == self.text.len() { Ok(()) } else { Err(self.unexpected(start, "the end of the file", what)) }
    }

    fn unexpected(&self, start: usize, expected: &str, what: impl Fn() -> String) -> Error {
        let line = self.line_of(start);
        if start >= self.text.len() {
            let message = format!("line {line}: the file ends where {expected} was expected: {}", what());
            return Error::new(ErrorKind::Truncated, message);
        }
        let rest = &self.text[start..];
        let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len()).clamp(1, QUOTED);
        let found = String::from_utf8_lossy(&rest[..length]).escape_debug().to_string();
        let message = format!("line {line}: expected {expected}, found `{found}`: {}", what());
        Error::new(ErrorKind::Malformed, message)
    }

    /// Where the next word starts.
    fn start(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    fn skip_space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn at_space(&self) -> bool {
        self.text.get(self.at).is_none_or(u8::is_ascii_whitespace)
    }

    fn line_of(&self, at: usize) -> usize {
        self.text[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::Scanner;

    fn what() -> String {
        "x of node 3".to_owned()
    }

    #[test]
    fn floats_are_read_as_the_standard_library_reads_them() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.u64(..));
            let small = (random.f64() - 0.5) * 1e3;
            for text in [format!("{value:e}"), format!("{small}"), format!("{small:.6}"), format!("{small:.17}")] {
                let expected: f64 = text.parse().expect("a number");
                let found = Scanner::new(text.as_bytes()).float(what);
                if expected.is_finite() {
                    assert_eq!(found.expect("a number").to_bits(), expected.to_bits(), "{text}");
                } else {
                    assert!(found.is_err(), "{text}");
                }
            }
        }
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        let message = |text: &str| Scanner::new(text.as_bytes()).float(what).expect_err("no number").to_string();
        assert_eq!(message("\n\n abc "), "line 3: expected a number, found `abc`: x of node 3");
        assert_eq!(message(" \n"), "line 2: the file ends where a number was expected: x of node 3");
        assert_eq!(message("1.2.3"), "line 1: expected a number, found `1.2.3`: x of node 3");
        assert_eq!(message("nan"), "line 1: expected a number, found `nan`: x of node 3");
        let index = |text: &str| Scanner::new(text.as_bytes()).index(10, what).expect_err("no index").to_string();
        assert_eq!(index("-1"), "line 1: expected an integer, found `-1`: x of node 3");
        assert_eq!(index("3x"), "line 1: expected an integer, found `3x`: x of node 3");
        assert_eq!(index("10"), "line 1: x of node 3 is 10, and must be below 10");
        let endless = "99999999999999999999999999";
        assert_eq!(index(endless), format!("line 1: x of node 3 is {endless}, and must be below 10"));
    }
}
