//! Integers on the command line: `1000`, `1_000` and `1e3` are the same number.

/// More workers than this is a slip of the finger.
const MOST_WORKERS: u64 = 1024;

/// Reads a number of workers.
pub(crate) fn workers(text: &str) -> Result<usize, String> {
    match integer(text)? {
        count @ 1..=MOST_WORKERS => Ok(count as usize),
        count => Err(format!("there can be 1 to {MOST_WORKERS} workers, not {count}")),
    }
}

/// As many workers as this process may use processors.
pub(crate) fn all_workers() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Reads a non-negative integer. Digits may be grouped by `_`, and a power of ten may follow `e`.
pub(crate) fn integer(text: &str) -> Result<u64, String> {
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

#[cfg(test)]
mod tests {
    use super::{integer, workers};

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
        for text in ["", "-1", "e3", "1.5", "1e-3", "1.55e1", "ten", "1e", "0x10", "1e99999999999"] {
            let message = integer(text).unwrap_err();
            assert!(message.contains(&format!("`{text}` is not an integer")), "{message}");
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
