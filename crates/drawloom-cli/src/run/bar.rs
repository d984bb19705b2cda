//! A line on the terminal that says how far a program is.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often the line is renewed, at most.
const TICK: Duration = Duration::from_millis(100);

/// How many signs the bar has.
const WIDTH: u64 = 30;

/// A bar, shown only where standard error is a terminal.
pub(super) struct Bar {
    name: &'static str,
    all: u64,
    start: Instant,
    /// When the line was renewed last, in ticks since the start.
    shown: AtomicU64,
    on: bool,
}

impl Bar {
    pub(super) fn new(name: &'static str, all: u64) -> Self {
        Self { name, all, start: Instant::now(), shown: AtomicU64::new(0), on: io::stderr().is_terminal() }
    }

    /// Renews the line, unless that was done a moment ago.
    pub(super) fn show(&self, done: u64, what: fmt::Arguments<'_>) {
        let tick = (self.start.elapsed().as_nanos() / TICK.as_nanos()) as u64;
        if self.on && tick > self.shown.fetch_max(tick, Ordering::Relaxed) {
            // Failing to show progress is no reason to disturb the work.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}", line(self.name, done, self.all, what));
        }
    }

    /// Whether anybody sees it.
    pub(super) fn is_shown(&self) -> bool {
        self.on
    }

    /// Takes the line away.
    pub(super) fn clear(&self) {
        if self.on {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn line(name: &str, done: u64, all: u64, what: fmt::Arguments<'_>) -> String {
    let filled = (WIDTH * done.min(all)).checked_div(all).unwrap_or(WIDTH) as usize;
    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(WIDTH as usize - filled));
    format!("{name} [{bar}] {done}/{all} {what}")
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn the_bar_grows_with_what_is_done() {
        assert_eq!(line("x", 0, 4, format_args!("")), "x [                              ] 0/4 ");
        assert_eq!(line("x", 2, 4, format_args!("y")), "x [===============               ] 2/4 y");
        assert_eq!(line("x", 4, 4, format_args!("")), "x [==============================] 4/4 ");
        assert_eq!(line("x", 0, 0, format_args!("")), "x [==============================] 0/0 ");
    }
}
