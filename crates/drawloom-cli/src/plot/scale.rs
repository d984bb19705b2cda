//! Numbers beside a colour bar: a few round ones, with as many digits as tell them apart.

/// A mark at a value, and the text beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) value: f64,
    pub(super) text: String,
}

/// Round numbers from `lowest` to `highest`, about five of them. One if the range is too narrow for several.
pub(super) fn marks(lowest: f64, highest: f64) -> Vec<Mark> {
    let step = step(highest - lowest);
    // A little earlier, so that an end that is round itself is not lost by rounding.
    let first = (lowest / step - 1e-9).ceil();
    // Where neighbouring numbers are as far apart as the steps, or the range is empty, steps make no sense.
    if !step.is_normal() || !first.is_finite() || first.abs() > 1e12 {
        return vec![Mark { value: lowest, text: format!("{lowest:.6e}") }];
    }
    let values = (0..12).map(|count| (first + f64::from(count)) * step);
    let values: Vec<f64> = values.take_while(|value| *value <= highest + step * 1e-9).collect();
    let greatest = lowest.abs().max(highest.abs());
    let places = if (1e-3..1e5).contains(&greatest) { Some(places(step)) } else { None };
    let text = |value: f64| match places {
        Some(places) => format!("{:.places$}", value + 0.0),
        None => scientific(value, step),
    };
    values.into_iter().map(|value| Mark { value, text: text(value) }).collect()
}

/// One, two or five times a power of ten, about a fifth of the range.
fn step(range: f64) -> f64 {
    let rough = range / 5.0;
    let power = 10f64.powi(rough.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().min_by(|a, b| {
        let distance = |factor: &f64| (factor * power / rough).ln().abs();
        distance(a).total_cmp(&distance(b))
    });
    factor.unwrap_or(1.0) * power
}

/// How many decimals show a step.
fn places(step: f64) -> usize {
    (-step.log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize
}

/// A number with an exponent, and digits down to the step.
fn scientific(value: f64, step: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (value.abs().log10().floor() - step.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{value:.digits$e}")
}

#[cfg(test)]
mod tests {
    use super::marks;

    fn texts(lowest: f64, highest: f64) -> Vec<String> {
        marks(lowest, highest).into_iter().map(|mark| mark.text).collect()
    }

    #[test]
    fn marks_are_round_and_inside() {
        assert_eq!(texts(0.0, 1.0), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(texts(-13.0, 161.0), ["0", "50", "100", "150"]);
        assert_eq!(texts(-0.3, 0.3), ["-0.3", "-0.2", "-0.1", "0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(texts(1e-7, 6e-7), ["1e-7", "2e-7", "3e-7", "4e-7", "5e-7", "6e-7"]);
        assert_eq!(texts(0.0, 1e9), ["0", "2e8", "4e8", "6e8", "8e8", "1.0e9"]);
    }

    #[test]
    fn odd_ranges_have_marks_too() {
        for (lowest, highest) in [(1.0, 1.0), (0.0, 0.0), (1.0, 1.0 + f64::EPSILON), (0.0, 5e-324), (-1e300, 1e300)] {
            let marks = marks(lowest, highest);
            assert!((1..13).contains(&marks.len()), "{lowest} to {highest}: {marks:?}");
        }
    }
}
