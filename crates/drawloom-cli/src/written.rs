//! Files that a command is to write: which paths lead to the same one, and whether they can be written. All of it is found out
//! before anything runs.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// So many links are followed to a file that is not there.
const MOST_LINKS: usize = 40;

/// What a file is for, in words, and where it is.
pub(crate) struct Use {
    pub(crate) what: String,
    pub(crate) path: PathBuf,
}

impl Use {
    pub(crate) fn new(what: impl fmt::Display, path: &Path) -> Self {
        Self { what: what.to_string(), path: path.to_owned() }
    }
}

/// Refuses to write a file that is read too, or that something else is written to, and files that cannot be written.
pub(crate) fn check(read: &[Use], written: &[Use]) -> Result<(), String> {
    for (place, output) in written.iter().enumerate() {
        let target = Target::of(&output.path);
        if target.is_nowhere() {
            continue;
        }
        if let Some(other) = read.iter().find(|other| Target::of(&other.path).is(&target)) {
            return Err(format!(
                "{} would be written to {}, which is {}, {}: nothing was read or written",
                output.what,
                output.path.display(),
                other.what,
                other.path.display()
            ));
        }
        if let Some(other) = written[..place].iter().find(|other| Target::of(&other.path).is(&target)) {
            return Err(format!(
                "{} and {} would be written to the same file: {} and {}",
                other.what,
                output.what,
                other.path.display(),
                output.path.display()
            ));
        }
    }
    written.iter().try_for_each(|output| can_be_written(&output.path))
}

/// As [`check`], for a command that prints to standard output, which is then nowhere to write a file to.
pub(crate) fn check_beside_output(read: &[Use], written: &[Use]) -> Result<(), String> {
    if let Some(output) = written.iter().find(|output| is_stdout(&output.path)) {
        return Err(format!(
            "{} would be written to {}, which is where everything else is printed; name a file",
            output.what,
            output.path.display()
        ));
    }
    check(read, written)
}

/// Whether a path leads to standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    let stdout = number(Path::new("/dev/stdout"));
    stdout.is_some() && number(path) == stdout && !Target::of(path).is_nowhere()
}

/// The ending of a file's name, in small letters, if it is one of those that are known. What is there and no file, such as a
/// pipe, has no ending: the first one is meant.
pub(crate) fn ending(what: &str, path: &Path, known: &[&'static str]) -> Result<&'static str, String> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return Ok(known[0]);
    }
    let found = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    let ending = known.iter().find(|known| found.as_deref() == Some(**known));
    ending.copied().ok_or_else(|| {
        let known: Vec<String> = known.iter().map(|ending| format!(".{ending}")).collect();
        format!("{what} cannot be written to {}: its name must end in {}", path.display(), known.join(" or "))
    })
}

/// Tries to write, and leaves everything as it is.
fn can_be_written(path: &Path) -> Result<(), String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(format!("{}: there is no folder {}", path.display(), folder.display()));
    }
    let cannot = |error: std::io::Error| format!("{}: it cannot be written: {error}", path.display());
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => Err(format!("{}: it cannot be written: it is a folder", path.display())),
        Ok(there) if there.is_file() => OpenOptions::new().write(true).open(path).map(drop).map_err(cannot),
        // To open a pipe may take until somebody reads it.
        Ok(_) => Ok(()),
        // Under another name: whoever waits for the file must not find an empty one, nor may one stay if this is killed.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let trial = Target::of(path).path.with_file_name(format!(".drawloom-{}", std::process::id()));
            OpenOptions::new().write(true).create(true).truncate(true).open(&trial).map_err(cannot)?;
            fs::remove_file(&trial).map_err(cannot)
        }
        Err(error) => Err(cannot(error)),
    }
}

/// The file that a path leads to.
struct Target {
    path: PathBuf,
    /// The device and the number of a file that is there: it may have several names.
    number: Option<(u64, u64)>,
}

impl Target {
    /// Follows links, also those to a file that is not there yet.
    fn of(path: &Path) -> Self {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            if let Ok(whole) = fs::canonicalize(&path) {
                return Self { number: number(&whole), path: whole };
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            match fs::read_link(&path) {
                Ok(link) => path = folder.join(link),
                Err(_) => {
                    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
                    path = path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name));
                    break;
                }
            }
        }
        Self { path, number: None }
    }

    /// Whether everything that is written there is lost, as its user wants it to be.
    fn is_nowhere(&self) -> bool {
        self.path == Path::new("/dev/null")
    }

    fn is(&self, other: &Self) -> bool {
        self.path == other.path || self.number.is_some() && self.number == other.number
    }
}

#[cfg(unix)]
fn number(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|there| (there.dev(), there.ino()))
}

#[cfg(not(unix))]
fn number(_: &Path) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::can_be_written;

    #[test]
    fn a_file_that_is_only_tried_out_is_never_there() {
        let folder = std::env::temp_dir().join(format!("drawloom-tried-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, done) = (folder.join("state"), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut seen = false;
                while !done.load(Ordering::Relaxed) {
                    seen |= path.exists();
                }
                seen
            });
            (0..2000).for_each(|_| can_be_written(&path).unwrap());
            done.store(true, Ordering::Relaxed);
            assert!(!watch.join().unwrap());
        });
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::remove_dir(&folder).unwrap();
    }
}
