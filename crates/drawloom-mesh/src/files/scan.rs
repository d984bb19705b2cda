//! Numbers in text, one after another, with errors that say in which line something else was found.

use crate::error::{Error, ErrorKind};

/// Powers of ten that are exact.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

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

    /// Goes to the start of the line after the next one that starts with some text.
    pub(crate) fn skip_past(&mut self, text: &[u8]) -> Result<(), Error> {
        while self.rest() > 0 {
            if self.line().starts_with(text) {
                return Ok(());
            }
        }
        let message = format!("the file ends without {}", String::from_utf8_lossy(text).escape_debug());
        Err(Error::new(ErrorKind::Truncated, message))
    }

    /// An integer that may be negative.
    pub(crate) fn integer(&mut self, what: impl Fn() -> String) -> Result<i64, Error> {
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
        if let Some(value) = self.simple_float() {
            return Ok(value);
        }
        self.at = start;
        let word = self.word().unwrap_or(&[]);
        let value = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
        value.filter(|value| value.is_finite()).ok_or_else(|| self.unexpected(start, "a number", what))
    }

    /// A number such as `-12.345678`, whose digits fit into the exact integers; anything else is left to the standard
    /// library, at the price of time.
    fn simple_float(&mut self) -> Option<f64> {
        let negative = self.text.get(self.at) == Some(&b'-');
        self.at += usize::from(negative);
        let (mut digits, mut count, mut places) = (0u64, 0, 0);
        let mut point = false;
        while let Some(byte) = self.text.get(self.at) {
            match byte {
                b'0'..=b'9' => {
                    digits = digits.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
                    count += 1;
                    places += usize::from(point);
                }
                b'.' if !point => point = true,
                _ => break,
            }
            self.at += 1;
        }
        // Nineteen digits cannot overflow; whether they are exact as a floating-point number is then known.
        if count == 0 || count > 19 || digits > 1 << 53 || places >= POWERS.len() || !self.at_space() {
            return None;
        }
        let value = digits as f64 / POWERS[places];
        Some(if negative { -value } else { value })
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
