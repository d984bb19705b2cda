//! Numbers, escaped names, and how wide a text is.

use std::fmt;

/// The fonts of a drawing. All of them have nearly the widths of Helvetica.
pub(super) const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif";

/// Longer names are cut; the whole name is in the title that viewers show on hovering.
const LONGEST: usize = 36;

/// A number with one decimal, or none.
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        match tenths % 10 {
            0 => write!(f, "{}", tenths / 10),
            _ => write!(f, "{:.1}", tenths as f64 / 10.0),
        }
    }
}

/// A text with what XML reserves escaped, and what XML 1.0 forbids replaced.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The start of a name that is too long to be shown, with its end for what differs most often.
pub(super) fn shortened(name: &str) -> String {
    let count = name.chars().count();
    if count <= LONGEST {
        return name.to_owned();
    }
    let (head, tail) = (LONGEST * 2 / 3, LONGEST / 3 - 1);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

/// How wide a text is, a little generously: a viewer may not have our first font.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' | '`' => 0.27,
            'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '{' | '}' | '/' | '\\' | ' ' | 'I' | '-' | '·' => 0.34,
            'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.92,
            'A'..='Z' | '&' | '#' | '<' | '>' | '=' | '+' | '~' => 0.70,
            c if c.is_ascii() => 0.56,
            c if (c as u32) >= 0x1100 => 1.05,
            _ => 0.70,
        })
        .sum();
    ems * size * 1.04
}

/// Lines of words that are not wider than asked for, unless one word is.
pub(super) fn wrapped(text: &str, size: f64, widest: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= widest => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
