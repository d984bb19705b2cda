//! Integers on the command line: `1000`, `1_000` and `1e3` are the same number.

/// More workers than this is a slip of the finger.
const MOST_WORKERS: u64 = 1024;

/// Reads a number of workers.
pub fn workers(text: &str) -> Result<usize, String> {
    match integer(text)? {
        count @ 1..=MOST_WORKERS => Ok(count as usize),
        count => Err(format!("there can be 1 to {MOST_WORKERS} workers, not {count}")),
    }
}

/// Reads a length that is not zero.
pub fn length(text: &str) -> Result<u64, String> {
    match integer(text)? {
        0 => Err("a length is at least one".to_owned()),
        length => Ok(length),
    }
}

/// As many workers as this process may use processors.
pub fn all_workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Reads a non-negative integer. Digits may be grouped by `_`, and a power of ten may follow `e`.
pub fn integer(text: &str) -> Result<u64, String> {
    if text.strip_prefix('-').is_some_and(|number| !number.starts_with('-') && integer(number).is_ok()) {
        return Err(format!("`{text}` is negative: a number here is zero or more"));
    }
    let refuse = || format!("`{text}` is not an integer; write it as 1000, 1_000 or 1e3");
    let (digits, power) = match text.split_once(['e', 'E']) {
        Some((digits, power)) => {
            (digits, power.strip_prefix('+').unwrap_or(power).parse::<u32>().map_err(|_| refuse())?)
        }
        None => (text, 0),
    };
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    // `1.5e6` is an integer too: the point moves as far to the right as the power says.
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return Err(refuse());
    }
    let fraction = fraction.trim_end_matches('0');
    let shift = u32::try_from(fraction.len()).ok().and_then(|places| power.checked_sub(places)).ok_or_else(refuse)?;
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    let too_large = || format!("`{text}` is larger than the largest integer, {}", u64::MAX);
    let value: u64 = digits.parse().map_err(|_| too_large())?;
    10u64.checked_pow(shift).and_then(|scale| value.checked_mul(scale)).ok_or_else(too_large)
}

/// Reads a number of bytes: `1000`, `64MiB`, `1.5GB`.
pub fn bytes(text: &str) -> Result<usize, String> {
    let refuse = || format!("`{text}` is not a number of bytes; write it as 1000000, 64MiB or 1GB");
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let scale: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return Err(refuse()),
    };
    let digits = digits.replace('_', "");
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = digits.parse().ok().filter(|_| plain).ok_or_else(refuse)?;
    let bytes = number * scale as f64;
    if bytes >= usize::MAX as f64 { Err(refuse()) } else { Ok(bytes as usize) }
}

/// Bytes for people.
pub fn mebibytes(bytes: usize) -> String {
    if bytes < 1 << 20 {
        return format!("{:.1} KiB", bytes as f64 / 1024.0);
    }
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::{bytes, integer, mebibytes, workers};

    #[test]
    fn bytes_have_units() {
        for (text, value) in
            [("1000", 1000), ("64MiB", 64 << 20), ("1.5GB", 1_500_000_000), ("2k", 2048), ("1_000b", 1000)]
        {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for text in ["", "MiB", "1.5.2", "64 MiB", "3 apples", "-1", "1e99999GB", "99999999999GiB"] {
            assert!(bytes(text).unwrap_err().contains("not a number of bytes"), "{text}");
        }
        assert_eq!((mebibytes(512).as_str(), mebibytes(3 << 20).as_str()), ("0.5 KiB", "3.0 MiB"));
    }

    #[test]
    fn plain_grouped_and_scientific_integers_are_read() {
        for (text, value) in [
            ("0", 0),
            ("42", 42),
            ("1_000", 1000),
            ("1e9", 1_000_000_000),
            ("2E+3", 2000),
            ("1.5e6", 1_500_000),
            ("0e99", 0),
        ] {
            assert_eq!(integer(text), Ok(value), "{text}");
        }
        assert_eq!(integer("18446744073709551615"), Ok(u64::MAX));
    }

    #[test]
    fn what_is_no_integer_is_refused_with_the_text() {
        for text in ["", "-", "--1", "e3", "1.5", "1e-3", "1.55e1", "ten", "1e", "0x10", "1e99999999999"] {
            let message = integer(text).unwrap_err();
            assert!(message.contains(&format!("`{text}` is not an integer")), "{message}");
        }
        for text in ["-1", "-1e3"] {
            assert!(integer(text).unwrap_err().starts_with(&format!("`{text}` is negative")), "{text}");
        }
        for text in ["1e20", "18446744073709551616", "99e4000000000"] {
            assert!(integer(text).unwrap_err().contains("larger than the largest integer"), "{text}");
        }
    }

    #[test]
    fn workers_are_neither_none_nor_thousands() {
        assert_eq!((workers("1"), workers("1e3")), (Ok(1), Ok(1000)));
        assert_eq!(workers("0").unwrap_err(), "there can be 1 to 1024 workers, not 0");
        assert_eq!(workers("1e9").unwrap_err(), "there can be 1 to 1024 workers, not 1000000000");
        assert!(workers("two").is_err());
    }
}
