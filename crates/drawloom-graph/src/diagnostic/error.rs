//! Findings as errors, so that `?` passes them on.

use std::error::Error;
use std::fmt;

use super::value::{Diagnostic, Report};

/// `RF2: ` and the message.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}

impl Error for Diagnostic {}

/// The first violation, and how many more there are.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.violations.split_first() else {
            return f.write_str("no violations");
        };
        let more = rest.len() as u64 + self.unlisted;
        match more {
            0 => first.fmt(f),
            _ => write!(f, "{first} (and {more} more)"),
        }
    }
}

impl Error for Report {}
