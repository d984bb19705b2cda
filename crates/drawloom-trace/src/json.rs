//! Pieces of JSON text that several exports need.

use std::fmt::Write as _;

/// Text as a JSON string, quoted and escaped.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Nanoseconds as microseconds with all digits, as a JSON number. A float would lose the last ones after some months.
pub(crate) fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_letter_is_read_back_from_a_quoted_string() {
        let text: String = ('\0'..='\u{ff}').chain("\u{2028}\u{fffd}\u{1f600}".chars()).collect();
        assert_eq!(serde_json::from_str::<String>(&super::quoted(&text)).unwrap(), text);
    }
}
