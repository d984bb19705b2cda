//! Files, folders and standard input.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use drawloom_lang::load::{LoadError, Loaded, load};

/// Folders inside folders are followed this deep, so that no arrangement of them is endless.
const DEEPEST_FOLDER: usize = 64;

/// One thing to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input, written `-`.
    Stdin,
    /// A file.
    File(PathBuf),
    /// An argument that stands for nothing that can be read, and why.
    Nothing(PathBuf, String),
}

impl Input {
    /// What the file argument of a command that takes one file means.
    pub(crate) fn new(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Input::Stdin } else { Input::File(argument.to_owned()) }
    }

    /// Everything in the input.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Unusable> {
        let mut bytes = Vec::new();
        let read = match self {
            Input::Stdin => io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes),
            Input::File(path) => fs::read(path),
            Input::Nothing(_, reason) => return Err(Unusable::Unreadable(reason.clone())),
        };
        read.map_err(|error| {
            Unusable::Unreadable(match self {
                Input::File(path) if path.is_dir() => format!("{self} is a folder, and this command reads one file"),
                _ => format!("cannot read {self}: {}", reason(&error)),
            })
        })
    }

    /// The graph in the input.
    pub(crate) fn load(&self) -> Result<Loaded, Unusable> {
        load(&self.to_string(), &self.read()?).map_err(Unusable::Malformed)
    }

    /// The argument as it was given: a path, or `-`.
    pub(crate) fn given(&self) -> String {
        match self {
            Input::Stdin => "-".to_owned(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Stdin => f.write_str("<stdin>"),
            Input::File(path) | Input::Nothing(path, _) => path.display().fmt(f),
        }
    }
}

/// Why an input cannot be used.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// It cannot be read, or there is nothing to read.
    Unreadable(String),
    /// What it holds is no graph.
    Malformed(LoadError),
}

impl Unusable {
    /// The reason for people, with an excerpt of the source where there is one.
    pub(crate) fn text(&self, color: bool) -> String {
        match self {
            Unusable::Unreadable(message) => format!("drawloom: {message}"),
            Unusable::Malformed(error) => error.render(color),
        }
    }
}

/// The reason in one line, for machines.
impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Unreadable(message) => f.write_str(message),
            Unusable::Malformed(error) => error.fmt(f),
        }
    }
}

/// What file arguments stand for. A folder is every file in it and below it with one of the given endings, by name.
pub(crate) fn collect(arguments: &[PathBuf], endings: &[&str]) -> Vec<Input> {
    let mut found = Vec::new();
    for argument in arguments {
        match Input::new(argument) {
            Input::Stdin if found.contains(&Input::Stdin) => {
                found.push(Input::Nothing(argument.clone(), "standard input can be read only once".to_owned()));
            }
            Input::File(folder) if folder.is_dir() => {
                let before = found.len();
                walk(&folder, endings, 0, &mut found);
                if found.len() == before {
                    let endings: Vec<_> = endings.iter().map(|e| format!(".{e}")).collect();
                    let message = format!("{} holds no {} file", folder.display(), endings.join(" or "));
                    found.push(Input::Nothing(folder, message));
                }
            }
            input => found.push(input),
        }
    }
    found
}

fn walk(folder: &Path, endings: &[&str], depth: usize, found: &mut Vec<Input>) {
    let entries = fs::read_dir(folder).and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect());
    let mut entries: Vec<PathBuf> = match entries {
        Ok(entries) => entries,
        Err(error) => {
            let message = format!("cannot read {}: {}", folder.display(), reason(&error));
            return found.push(Input::Nothing(folder.to_owned(), message));
        }
    };
    // A folder lists its files in no particular order.
    entries.sort();
    for path in entries {
        // A linked folder may lie inside itself; what it holds is given by its own name when it is wanted.
        if path.is_dir() && !path.is_symlink() {
            if depth < DEEPEST_FOLDER {
                walk(&path, endings, depth + 1, found);
            } else {
                let message = format!("{} lies more than {DEEPEST_FOLDER} folders deep", path.display());
                found.push(Input::Nothing(path, message));
            }
        } else if path.extension().is_some_and(|e| endings.iter().any(|ending| e == *ending)) {
            found.push(Input::File(path));
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
