//! Pieces of JSON text that several exports need.

/// Text as a JSON string, quoted and escaped.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Nanoseconds as microseconds with all digits, as a JSON number. A float would lose the last ones after some months.
pub(crate) fn micros(nanos: u64) -> String {
    format!("{}.{:03}", nanos / 1000, nanos % 1000)
}
