//! Bytes as text, as RFC 4648 says, for binary data inside XML.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the bytes of all parts, one after another, as one text with padding at its end.
pub(crate) fn push_base64<'a>(text: &mut Vec<u8>, parts: impl IntoIterator<Item = &'a [u8]>) {
    let mut waiting = Vec::with_capacity(3);
    for part in parts {
        let missing = (3 - waiting.len()) % 3;
        let (head, rest) = part.split_at(missing.min(part.len()));
        waiting.extend_from_slice(head);
        if waiting.len() == 3 {
            push_group(text, &waiting);
            waiting.clear();
        }
        let (groups, tail) = rest.as_chunks::<3>();
        text.reserve(4 * groups.len());
        groups.iter().for_each(|group| push_group(text, group));
        waiting.extend_from_slice(tail);
    }
    if !waiting.is_empty() {
        push_group(text, &waiting);
    }
}

/// The bytes of a text, up to the padding at its end; `None` if it is no such text. Space between the characters is
/// passed over.
pub(crate) fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for character in text.iter().filter(|character| !character.is_ascii_whitespace()) {
        let digit = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(digit);
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, count) = (0, 0);
        }
    }
    match count {
        0 => {}
        2 => bytes.push((bits >> 4) as u8),
        3 => bytes.extend_from_slice(&[(bits >> 10) as u8, (bits >> 2) as u8]),
        _ => return None,
    }
    Some(bytes)
}

/// Appends one to three bytes as four characters.
fn push_group(text: &mut Vec<u8>, bytes: &[u8]) {
    let byte = |index| u32::from(bytes.get(index).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    let digit = |index: usize| {
        if index <= bytes.len() { DIGITS[(bits >> (18 - 6 * index) & 63) as usize] } else { b'=' }
    };
    text.extend((0..4).map(digit));
}

#[cfg(test)]
mod tests {
    use super::{decoded, push_base64};

    fn encoded(parts: &[&[u8]]) -> String {
        let mut text = Vec::new();
        push_base64(&mut text, parts.iter().copied());
        String::from_utf8(text).expect("text")
    }

    #[test]
    fn the_examples_of_the_standard_are_reproduced() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encoded(&[bytes.as_bytes()]), text);
            assert_eq!(decoded(text.as_bytes()).expect("bytes"), bytes.as_bytes());
        }
        assert_eq!(encoded(&[&[0xff, 0xfe, 0xfb]]), "//77");
    }

    #[test]
    fn what_is_no_encoded_text_is_refused() {
        assert_eq!(
            (decoded(b"Zg=="), decoded(b" Zm\n9v"), decoded(b"Z"), decoded(b"Zm9?")),
            (Some(b"f".to_vec()), Some(b"foo".to_vec()), None, None)
        );
    }

    #[test]
    fn parts_are_joined_before_they_are_encoded() {
        for cut in 0..=6 {
            for second in cut..=6 {
                let bytes = b"foobar";
                assert_eq!(encoded(&[&bytes[..cut], &bytes[cut..second], &bytes[second..]]), "Zm9vYmFy");
            }
        }
    }
}
