//! Numbers with six decimals, as C's `%f` writes them.
//!
//! Rust's `{:.6}` writes the same and rounds correctly, but is slow for millions of numbers. Here the number is scaled
//! and rounded as an integer wherever that is certain to be right, and the slow way is taken in the rare doubtful cases.

use std::io::Write;

/// Beyond this, a scaled number is not exact enough to be sure about its rounding.
const CERTAIN: f64 = 1e12;

/// Appends a number with six decimals.
pub(crate) fn push_six_decimals(text: &mut Vec<u8>, value: f64) {
    let Some(millionths) = scaled(value) else {
        // Writing to a vector does not fail.
        let _ = write!(text, "{value:.6}");
        return;
    };
    if millionths.is_sign_negative() {
        text.push(b'-');
    }
    let millionths = millionths.abs() as u64;
    push_integer(text, millionths / 1_000_000);
    text.push(b'.');
    let start = text.len();
    push_integer(text, millionths % 1_000_000 + 1_000_000);
    // The leading one only kept the zeros that follow it.
    text.remove(start);
}

/// Appends an integer.
pub(crate) fn push_integer(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

/// The number in millionths, with its sign even if it is zero, if its rounding is certain.
fn scaled(value: f64) -> Option<f64> {
    let scaled = value * 1e6;
    let fraction = (scaled - scaled.floor() - 0.5).abs();
    // Scaling is wrong by less than half a unit in the last place, which is below 1e-4 for numbers of this size.
    (scaled.abs() < CERTAIN && fraction > 1e-3).then(|| scaled.round())
}

#[cfg(test)]
mod tests {
    use super::push_six_decimals;

    #[track_caller]
    fn same(value: f64) {
        let mut text = Vec::new();
        push_six_decimals(&mut text, value);
        let expected = format!("{value:.6}");
        assert_eq!(String::from_utf8(text).expect("digits"), expected);
    }

    #[test]
    fn the_fast_way_agrees_with_the_slow_one() {
        for value in [0.0, -0.0, 1.0, -1.0, 0.5e-6, 1.5e-6, -0.5e-6, 2.5e-6, 1e-7, -1e-7, 999999.9999995, 1e12, -1e300]
        {
            same(value);
        }
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..100_000 {
            let value = (random.f64() - 0.5) * 40.0;
            same(value);
            same((value * 1e3).round() / 1e3 + 0.5e-6);
            same(f64::from_bits(random.u64(0..=1023 << 52)));
        }
    }
}
