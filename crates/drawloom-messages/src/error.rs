//! What can go wrong, with the names of the user's things.

use std::error::Error as StdError;
use std::fmt;

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a graph cannot be built, read, run or compared.
///
/// The message is complete. The names in it can be asked for too, as far as they apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Body>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Body {
    kind: ErrorKind,
    message: String,
    graph_type: Option<String>,
    device: Option<String>,
    pin: Option<String>,
    line: Option<u64>,
}

/// The kinds of [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A declaration is wrong: a name that is none, two things of one name, a record that is too large. Change the type.
    Type,
    /// An instance does not fit its type: a device, pin or message that does not exist or does not match, two devices of one
    /// name. Change the instance.
    Instance,
    /// A value is not of the type that was declared, or is missing. Change the value.
    Value,
    /// A setting of a run cannot be used. Change the setting.
    Setting,
    /// A handler panicked. The error names the device and the pin.
    Panic,
    /// An assertion of a handler does not hold. The error names the device and the pin.
    Assertion,
    /// A handler did what the model does not allow, such as sending over an edge that is not there.
    Handler,
    /// All is quiet, but devices wait for what will never come: messages that nobody sends, in a graph that was changed or is
    /// not whole. The message says who waits for what. Mend the graph.
    Unfinished,
    /// The run was longer than its settings allow.
    Limit,
    /// A file is not well-formed, or not what its format says. The error has the line.
    Format,
    /// A file refers to a type that nobody registered. Register it, or use a program that knows it.
    Unknown,
    /// A log does not describe the run that it is compared with.
    Mismatch,
    /// Reading or writing failed.
    Io,
    /// The engine could not run the machine: no workers, or no threads.
    Engine,
    /// An invariant of this crate is broken. Please report it.
    Internal,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Body { kind, message, graph_type: None, device: None, pin: None, line: None }))
    }

    pub(crate) fn of_type(mut self, id: &str) -> Self {
        self.0.graph_type.get_or_insert_with(|| id.to_owned());
        self
    }

    pub(crate) fn at_device(mut self, id: &str) -> Self {
        self.0.device.get_or_insert_with(|| id.to_owned());
        self
    }

    pub(crate) fn at_pin(mut self, name: &str) -> Self {
        self.0.pin.get_or_insert_with(|| name.to_owned());
        self
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.0.line.get_or_insert(line);
        self
    }

    /// Puts words before the message.
    pub(crate) fn within(mut self, place: impl fmt::Display) -> Self {
        self.0.message = format!("{place}: {}", self.0.message);
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The graph type that the error is about.
    pub fn graph_type(&self) -> Option<&str> {
        self.0.graph_type.as_deref()
    }

    /// The device instance that the error is about.
    pub fn device(&self) -> Option<&str> {
        self.0.device.as_deref()
    }

    /// The pin that the error is about.
    pub fn pin(&self) -> Option<&str> {
        self.0.pin.as_deref()
    }

    /// The line of the file that the error is about, from one.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.0.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.0.message)?;
        let mut before = " (";
        for (what, name) in [("graph type", &self.0.graph_type), ("device", &self.0.device), ("pin", &self.0.pin)] {
            // The message names most things itself; what it does not name is added.
            if let Some(name) = name
                && !self.0.message.contains(&format!("\"{name}\""))
            {
                write!(f, "{before}{what} {name:?}")?;
                before = ", ";
            }
        }
        if before == ", " { f.write_str(")") } else { Ok(()) }
    }
}

impl StdError for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Io, format!("cannot read or write: {error}"))
    }
}

/// Whether a name can be exported: an identifier of C.
pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == b'_');
    if first && letters.all(|c| c.is_ascii_alphanumeric() || c == b'_') {
        return Ok(());
    }
    let message =
        format!("{name:?} cannot be the name of {what}: it must be letters, digits and underscores, not a digit first");
    Err(Error::new(ErrorKind::Type, message))
}

#[cfg(test)]
mod tests {
    use super::{Error, ErrorKind, check_name};

    #[test]
    fn names_that_the_message_lacks_are_added() {
        let error = Error::new(ErrorKind::Panic, "device \"a\" panicked").at_device("a").at_pin("out").of_type("t");
        assert_eq!(error.to_string(), "device \"a\" panicked (graph type \"t\", pin \"out\")");
        assert_eq!((error.device(), error.pin(), error.graph_type()), (Some("a"), Some("out"), Some("t")));
        assert_eq!(error.at_line(3).to_string(), "line 3: device \"a\" panicked (graph type \"t\", pin \"out\")");
    }

    #[test]
    fn a_name_is_an_identifier_of_c() {
        assert!(check_name("a pin", "_a9").is_ok());
        for name in ["", "9a", "a-b", "a b", "ä"] {
            assert!(
                check_name("a pin", name).unwrap_err().to_string().contains("cannot be the name of a pin"),
                "{name}"
            );
        }
    }
}
