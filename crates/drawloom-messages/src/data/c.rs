//! Declarations and initialisers as in C, both ways: the form of types and values in version 4 of the graph files.

use std::fmt::Write;

use super::json::{Notation, in_bytes, put_scalar, write_tuple};
use super::layout::{measure, placed};
use super::types::{Member, Scalar, Tuple, Type};
use crate::error::{Error, ErrorKind, Result};

/// Braces inside of braces are followed so deep.
const DEEPEST: usize = 40;

/// The members of a tuple as declarations, one on each line.
///
/// The format knows neither truth values nor letters: they are declared as bytes.
pub(crate) fn declarations(tuple: &Tuple) -> String {
    let mut text = String::new();
    for member in tuple.members() {
        declare(&member.ty, &member.name, &mut text);
        text.push_str(";\n");
    }
    text
}

fn declare(ty: &Type, name: &str, text: &mut String) {
    let (mut element, mut lengths) = (ty, String::new());
    while let Type::Array(inner, length) = element {
        let _ = write!(lengths, "[{length}]");
        element = inner;
    }
    match element {
        Type::Scalar(scalar) => drop(write!(text, "{} {name}{lengths}", in_bytes(*scalar).c_name())),
        Type::Tuple(tuple) => drop(write!(text, "struct {{\n{}}} {name}{lengths}", declarations(tuple))),
        Type::Array(..) => {}
    }
}

/// A type with its truth values and letters as bytes.
pub(crate) fn as_declared(tuple: &Tuple) -> Tuple {
    fn of(ty: &Type) -> Type {
        match ty {
            Type::Scalar(scalar) => Type::Scalar(in_bytes(*scalar)),
            Type::Array(element, length) => Type::array(of(element), *length),
            Type::Tuple(tuple) => Type::Tuple(as_declared(tuple)),
        }
    }
    tuple.members().iter().fold(Tuple::new(), |tuple, member| tuple.with(member.name.clone(), of(&member.ty)))
}

/// Reads declarations.
pub(crate) fn read_declarations(text: &str) -> Result<Tuple> {
    let mut words = Words { rest: text, depth: 0 };
    let mut tuple = Tuple::new();
    while let Some(word) = words.next()? {
        tuple = tuple.push(words.member(word)?);
    }
    Ok(tuple)
}

/// The words of some C text.
struct Words<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Words<'t> {
    fn next(&mut self) -> Result<Option<&'t str>> {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("//") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                let end = comment.split_once("*/").ok_or_else(|| malformed("a comment does not end"))?;
                self.rest = end.1;
            } else {
                break;
            }
        }
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = match is_part(first) {
            true => self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()),
            false => first.len_utf8(),
        };
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(Some(word))
    }

    fn expect(&mut self, what: &str) -> Result<&'t str> {
        self.next()?.ok_or_else(|| malformed(format!("the declarations end where {what} should be")))
    }

    /// A member whose first word was read.
    fn member(&mut self, first: &'t str) -> Result<Member> {
        let mut ty = if first == "struct" {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(malformed("structs are nested too deep"));
            }
            let open = self.expect("{")?;
            if open != "{" {
                return Err(malformed(format!("{open:?} stands where {{ should be")));
            }
            let mut tuple = Tuple::new();
            loop {
                match self.expect("}")? {
                    "}" => break,
                    word => tuple = tuple.push(self.member(word)?),
                }
            }
            self.depth -= 1;
            Type::Tuple(tuple)
        } else {
            Type::Scalar(Scalar::from_c_name(first).ok_or_else(|| malformed(format!("there is no type {first:?}")))?)
        };
        let name = self.expect("a name")?;
        let mut lengths = Vec::new();
        loop {
            match self.expect(";")? {
                ";" => break,
                "[" if lengths.len() < DEEPEST => {
                    let word = self.expect("a length")?;
                    let length = match word.strip_prefix("0x") {
                        Some(digits) => usize::from_str_radix(digits, 16),
                        None => word.parse(),
                    };
                    lengths.push(length.map_err(|_| malformed(format!("{word:?} is no length")))?);
                    if self.expect("]")? != "]" {
                        return Err(malformed(format!("the length of {name:?} is not followed by ]")));
                    }
                }
                word => return Err(malformed(format!("{word:?} stands where ; should be, after {name:?}"))),
            }
        }
        for length in lengths.into_iter().rev() {
            ty = Type::array(ty, length);
        }
        Ok(Member { name: name.to_owned(), ty, default: None })
    }
}

/// The value of a record as an initialiser.
pub(crate) fn initialiser(tuple: &Tuple, bytes: &[u8]) -> String {
    let mut text = String::new();
    write_tuple(Notation::C, tuple, bytes, &mut text);
    text
}

/// Reads an initialiser into the bytes of a record.
pub(crate) fn read_initialiser(tuple: &Tuple, text: &str, bytes: &mut [u8]) -> Result<()> {
    let mut rest = text;
    read_tuple(tuple, &mut rest, bytes)?;
    match rest.trim() {
        "" => Ok(()),
        rest => Err(value(format!("{:?} follows the initialiser", first_letters(rest)))),
    }
}

fn read_tuple(tuple: &Tuple, rest: &mut &str, bytes: &mut [u8]) -> Result<()> {
    open(rest)?;
    for (number, (offset, member)) in placed(tuple).enumerate() {
        let within = |e: Error| e.within(format_args!("member {:?}", member.name));
        separate(number, rest).map_err(within)?;
        let (size, _) = measure(&member.ty, 0)?;
        read_value(&member.ty, rest, &mut bytes[offset..offset + size]).map_err(within)?;
    }
    close(rest)
}

fn read_value(ty: &Type, rest: &mut &str, bytes: &mut [u8]) -> Result<()> {
    match ty {
        Type::Tuple(tuple) => read_tuple(tuple, rest, bytes),
        Type::Array(element, length) => {
            let (size, _) = measure(element, 0)?;
            open(rest)?;
            for number in 0..*length {
                let within = |e: Error| e.within(format_args!("element {number}"));
                separate(number, rest).map_err(within)?;
                read_value(element, rest, &mut bytes[number * size..][..size]).map_err(within)?;
            }
            close(rest)
        }
        Type::Scalar(scalar) => {
            let end = rest.find([',', '}', '{']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let word = word.trim();
            *rest = after;
            read_scalar(*scalar, word, bytes).ok_or_else(|| value(format!("{word:?} is no {}", scalar.c_name())))
        }
    }
}

fn read_scalar(scalar: Scalar, word: &str, bytes: &mut [u8]) -> Option<()> {
    let whole = || {
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let (negative, digits) = digits.strip_prefix('-').map_or((false, digits), |digits| (true, digits));
        let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            Some(digits) => i128::from_str_radix(digits, 16).ok()?,
            None => match digits.parse::<u64>() {
                Ok(number) => i128::from(number),
                Err(_) => digits.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && x.abs() < 9e15)? as i128,
            },
        };
        Some(if negative { -number } else { number })
    };
    let float = || {
        let short = word.strip_suffix(['f', 'F']).and_then(|word| word.parse().ok());
        short.or_else(|| word.parse().ok()).or_else(|| whole().map(|number| number as f64))
    };
    put_scalar(scalar, whole, float, bytes)
}

fn open(rest: &mut &str) -> Result<()> {
    step(rest, '{')
}

fn close(rest: &mut &str) -> Result<()> {
    let trimmed = rest.trim_start();
    // A comma after the last value is legal in C.
    *rest = trimmed.strip_prefix(',').unwrap_or(trimmed);
    step(rest, '}')
}

fn separate(number: usize, rest: &mut &str) -> Result<()> {
    if number == 0 { Ok(()) } else { step(rest, ',') }
}

fn step(rest: &mut &str, letter: char) -> Result<()> {
    let trimmed = rest.trim_start();
    match trimmed.strip_prefix(letter) {
        Some(after) => {
            *rest = after;
            Ok(())
        }
        None if trimmed.is_empty() => Err(value(format!("the initialiser ends where {letter:?} should be"))),
        None => Err(value(format!("{:?} stands where {letter:?} should be", first_letters(trimmed)))),
    }
}

fn first_letters(text: &str) -> &str {
    text.char_indices().nth(20).map_or(text, |(end, _)| &text[..end])
}

fn malformed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Type, message)
}

fn value(message: String) -> Error {
    Error::new(ErrorKind::Value, message)
}

#[cfg(test)]
mod tests {
    use super::{as_declared, declarations, read_declarations};
    use crate::data::{Scalar, Tuple, Type};

    fn tuple() -> Tuple {
        let inner = Tuple::new().with("a", Scalar::I8).with("b", Scalar::Bool);
        Tuple::new()
            .with("x", Type::array(Type::array(Scalar::F32, 3), 2))
            .with("s", Type::array(inner, 2))
            .with("n", Scalar::U64)
    }

    #[test]
    fn declarations_are_read_back() {
        let text = declarations(&tuple());
        assert_eq!(text, "float x[2][3];\nstruct {\nint8_t a;\nuint8_t b;\n} s[2];\nuint64_t n;\n");
        assert_eq!(read_declarations(&text).unwrap(), as_declared(&tuple()));
        assert_eq!(read_declarations(" // nothing\n /* here */").unwrap(), Tuple::new());
    }

    #[test]
    fn wrong_declarations_are_refused() {
        let deep = "struct {".repeat(10_000);
        for (text, words) in [
            ("int x;", "no type \"int\""),
            ("float x", "end where ; should be"),
            ("float x[a];", "\"a\" is no length"),
            ("struct x", "stands where {"),
            ("/* ", "does not end"),
            (&deep, "nested too deep"),
        ] {
            let message = read_declarations(text).unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
