//! Writing a trace when the runtime ends, as an environment variable asks.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use drawloom_trace::{Trace, chrome, csv, summary};

use crate::error::{Error, ErrorKind, Result};

/// The name of the variable.
pub(crate) const VARIABLE: &str = "DRAWLOOM_TRACE";

/// What becomes of a trace when the runtime ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A page of text on the standard error output.
    Summary,
    /// A file for Perfetto.
    Chrome(PathBuf),
    /// A table of tasks, and beside it one of events.
    Csv(PathBuf),
}

impl Output {
    /// What the environment asks for.
    pub(crate) fn from_environment() -> Result<Option<Self>> {
        match std::env::var_os(VARIABLE) {
            None => Ok(None),
            Some(value) => Self::parse(&value.to_string_lossy()),
        }
    }

    pub(crate) fn parse(value: &str) -> Result<Option<Self>> {
        match value.split_once(':') {
            None if value.is_empty() => Ok(None),
            None if value == "summary" => Ok(Some(Self::Summary)),
            Some(("chrome", file)) if !file.is_empty() => Ok(Some(Self::Chrome(file.into()))),
            Some(("csv", file)) if !file.is_empty() => Ok(Some(Self::Csv(file.into()))),
            _ => Err(Error::new(
                ErrorKind::Setting,
                format!("the variable {VARIABLE} is `{value}`; it takes `summary`, `chrome:FILE` or `csv:FILE`"),
            )),
        }
    }

    /// Writes a trace. There is nobody to return an error to, so it is told on the standard error output.
    pub(crate) fn write(&self, trace: &Trace) {
        let written = match self {
            Self::Summary => io::stderr().write_all(summary::text(trace).as_bytes()).map_err(|e| (None, e)),
            Self::Chrome(file) => create(&of_its_own(file), |out| chrome::write(trace, out)),
            Self::Csv(file) => {
                let file = of_its_own(file);
                create(&file, |out| csv::write_tasks(trace, out))
                    .and_then(|()| create(&events_beside(&file), |out| csv::write_events(trace, out)))
            }
        };
        if let Err((file, error)) = written {
            let file: &Path = file.as_deref().unwrap_or(Path::new("the standard error output"));
            // If even this cannot be written there is nobody left to tell.
            let _ = writeln!(io::stderr(), "drawloom: the trace cannot be written to {}: {error}", file.display());
        }
    }
}

fn create(file: &Path, write: impl FnOnce(File) -> io::Result<()>) -> Result<(), (Option<PathBuf>, io::Error)> {
    File::create(file).and_then(write).map_err(|error| (Some(file.to_owned()), error))
}

/// A file that no other runtime of this process wrote: after `run.json`, `run.2.json`, and so on.
fn of_its_own(file: &Path) -> PathBuf {
    // The variable is one for the whole process, so this has to be, too.
    static WRITTEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut written = WRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = written.iter().filter(|other| *other == file).count() + 1;
    written.push(file.to_owned());
    if number == 1 { file.to_owned() } else { before_extension(file, &number.to_string()) }
}

/// `run.csv` has its events in `run.events.csv`.
fn events_beside(file: &Path) -> PathBuf {
    before_extension(file, "events")
}

fn before_extension(file: &Path, word: &str) -> PathBuf {
    let extension = file.extension().map_or_else(|| word.into(), |e| format!("{word}.{}", e.to_string_lossy()));
    file.with_extension(extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_understood_or_refused_by_name() {
        assert_eq!(Output::parse("").unwrap(), None);
        assert_eq!(Output::parse("summary").unwrap(), Some(Output::Summary));
        assert_eq!(Output::parse("chrome:a:b.json").unwrap(), Some(Output::Chrome("a:b.json".into())));
        assert_eq!(Output::parse("csv:t.csv").unwrap(), Some(Output::Csv("t.csv".into())));
        for wrong in ["yes", "chrome", "chrome:", "perf:x"] {
            let error = Output::parse(wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Setting);
            assert!(error.to_string().contains(VARIABLE) && error.to_string().contains(wrong), "{error}");
        }
        assert_eq!(events_beside(Path::new("d/run.csv")), Path::new("d/run.events.csv"));
        assert_eq!(events_beside(Path::new("run")), Path::new("run.events"));
    }

    #[test]
    fn runtimes_of_one_process_write_files_of_their_own() {
        let files: Vec<PathBuf> = (0..3).map(|_| of_its_own(Path::new("d/own.csv"))).collect();
        assert_eq!(files, ["d/own.csv", "d/own.2.csv", "d/own.3.csv"].map(PathBuf::from));
        assert_eq!(events_beside(&files[1]), Path::new("d/own.2.events.csv"));
    }
}
