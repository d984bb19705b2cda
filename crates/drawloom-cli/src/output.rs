//! Standard output: buffered, coloured only for people, and calm about a closed pipe.

use std::fmt;
use std::io::{self, BufWriter, IsTerminal, Write};

use clap::ValueEnum;
use serde::Serialize;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set; anywhere when CLICOLOR_FORCE is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a command prints.
///
/// A reader that goes away (`drawloom order big.loom | head`) is no failure of ours: what would be printed after that is
/// dropped, and the exit code still says what was found. Any other failure to write is reported when the program ends.
pub struct Output {
    to: BufWriter<io::Stdout>,
    color: bool,
    error_color: bool,
    failure: Option<io::Error>,
}

impl Output {
    /// Standard output.
    pub fn new(color: Color) -> Self {
        let stdout = io::stdout();
        let (on_output, on_error) = (stdout.is_terminal(), io::stderr().is_terminal());
        Self {
            color: color.wanted(on_output),
            error_color: color.wanted(on_error),
            to: BufWriter::with_capacity(1 << 16, stdout),
            failure: None,
        }
    }

    /// Whether to colour standard output.
    pub fn color(&self) -> bool {
        self.color
    }

    /// Whether to colour standard error.
    pub fn error_color(&self) -> bool {
        self.error_color
    }

    /// Prints text as it is.
    pub fn text(&mut self, text: impl fmt::Display) {
        self.write(format_args!("{text}"));
    }

    /// Prints a line.
    pub fn line(&mut self, line: impl fmt::Display) {
        self.write(format_args!("{line}\n"));
    }

    /// Prints bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = self.to.write_all(bytes).err();
        }
    }

    /// Prints a value as one compact line of JSON.
    pub fn json(&mut self, value: &impl Serialize) {
        match serde_json::to_string(value) {
            Ok(line) => self.line(line),
            Err(error) => self.failure = Some(error.into()),
        }
    }

    /// Prints what is waiting in the buffer, so that the lines of files appear as the files are finished.
    pub fn flush(&mut self) {
        if self.failure.is_none() {
            self.failure = self.to.flush().err();
        }
    }

    /// Prints the rest. A closed pipe is not an error.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        match self.failure.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    fn write(&mut self, arguments: fmt::Arguments<'_>) {
        if self.failure.is_none() {
            self.failure = self.to.write_fmt(arguments).err();
        }
    }
}

/// Text for the person at the terminal, on standard error, ending in a newline.
pub fn complain_text(text: &str) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = write!(io::stderr().lock(), "{text}{end}");
}

/// A message for the person at the terminal, on standard error. Failing to deliver it is no reason to stop.
pub fn complain(message: impl fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "drawloom: {message}");
}

impl Color {
    fn wanted(self, terminal: bool) -> bool {
        // An empty variable counts as none, as https://no-color.org and https://bixense.com/clicolors ask for.
        let set = |name: &str| std::env::var(name).is_ok_and(|value| !value.is_empty());
        let forced = set("CLICOLOR_FORCE") && std::env::var("CLICOLOR_FORCE").as_deref() != Ok("0");
        self.wanted_with(terminal, set("NO_COLOR"), forced)
    }

    fn wanted_with(self, terminal: bool, refused: bool, forced: bool) -> bool {
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => !refused && (forced || terminal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Color;

    #[test]
    fn no_color_wins_over_force_and_force_over_a_pipe() {
        assert!(Color::Auto.wanted_with(true, false, false));
        assert!(!Color::Auto.wanted_with(false, false, false));
        assert!(Color::Auto.wanted_with(false, false, true));
        assert!(!Color::Auto.wanted_with(true, true, false));
        assert!(!Color::Auto.wanted_with(false, true, true));
    }

    #[test]
    fn the_option_wins_over_the_environment() {
        assert!(Color::Always.wanted_with(false, true, false));
        assert!(!Color::Never.wanted_with(true, false, true));
    }
}
