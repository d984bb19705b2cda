//! Text inside XML.

/// Text as it can stand in XML, between elements or in an attribute. Characters that XML cannot hold become `?`.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_that_xml_gives_a_meaning_to_is_left() {
        assert_eq!(escaped("a<b & \"c\"\n'\u{7}ü"), "a&lt;b &amp; &quot;c&quot; &apos;?ü");
    }
}
