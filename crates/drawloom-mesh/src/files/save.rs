//! Writing a file so that it is there as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// So many links are followed to a file that is not there.
const MOST_LINKS: usize = 40;

/// Replaces a file, or makes it. What is written goes to a temporary file beside it first, which takes its place when it is
/// complete and on the disk. If anything fails, an error is returned and the file is what it was before.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Error> {
    let failed = |source| Error::io("write", path, source);
    // Something that is not a file, such as a terminal or a pipe, cannot be replaced, only written to. And a link stays
    // one: what it leads to is replaced.
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        return write(&mut file).map_err(failed);
    }
    let path = &real(path);
    remove_abandoned(path);
    let temporary = temporary(path).map_err(failed)?;
    let written = write_whole(&temporary, path, write);
    if written.is_err() {
        // It may not exist, and a second failure would say nothing new.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed)
}

/// Replaces a file by one that is written under a name, for libraries that open their files themselves.
#[cfg(feature = "hdf5")]
pub(crate) fn replace_through(path: &Path, write: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    let failed = |source| Error::io("write", path, source);
    let real = &real(path);
    remove_abandoned(real);
    let temporary = temporary(real).map_err(failed)?;
    let written = write(&temporary).and_then(|()| {
        let whole = File::open(&temporary).and_then(|file| file.sync_all());
        whole.and_then(|()| fs::rename(&temporary, real)).map_err(failed)
    });
    match written {
        Ok(()) => sync_folder(real),
        Err(_) => drop(fs::remove_file(&temporary)),
    }
    written
}

/// Replaces a file by some bytes.
pub(crate) fn replace_by(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace(path, |file| file.write_all(bytes))
}

fn write_whole(temporary: &Path, path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    if let Ok(there) = fs::metadata(path) {
        file.set_permissions(there.permissions())?;
    }
    write(&mut file)?;
    // Only what is on the disk may take the place of what was there.
    file.sync_all()?;
    drop(file);
    fs::rename(temporary, path)?;
    sync_folder(path);
    Ok(())
}

/// The file that a path leads to, through links, whether it is there or not.
fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match (fs::canonicalize(&path), fs::read_link(&path)) {
            (Ok(real), _) => return real,
            // A link to a file that is not there yet.
            (Err(_), Ok(link)) => path = path.parent().unwrap_or(Path::new("")).join(link),
            (Err(_), Err(_)) => break,
        }
    }
    path
}

/// The new name is on the disk too after this. Some file systems refuse it, and the file is whole without it.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// A name in the same folder, so that renaming stays inside one file system; different for each process.
fn temporary(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "this is not the name of a file"))?;
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(temporary))
}

/// Removes what processes that are no more were writing beside a file when they were killed. Where it is not known who is
/// still there, nothing is removed.
fn remove_abandoned(path: &Path) {
    let (Some(name), Some(folder)) = (path.file_name().and_then(|name| name.to_str()), path.parent()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let (Ok(entries), true) = (fs::read_dir(folder), Path::new("/proc/self").exists()) else { return };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let process = found.to_str().and_then(|found| found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.'));
        let process = process.and_then(|rest| rest.strip_suffix(".partial")?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            // If it cannot be removed, it is only in the way of whoever looks at the folder.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write};
    use std::path::{Path, PathBuf};

    use super::{replace, replace_by};
    use crate::error::ErrorKind;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("drawloom-mesh-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder can be made");
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("the folder is there");
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
    }

    #[test]
    fn a_disk_that_is_full_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new("full");
        let path = folder.0.join("state");
        replace_by(&path, b"old").expect("written");
        let error = replace(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert_eq!(error.expect_err("the disk is full").kind(), ErrorKind::Io);
        assert_eq!(fs::read(&path).expect("it is there"), b"old");
        assert_eq!(names(&folder.0), ["state"]);
        replace_by(&path, b"new").expect("written");
        assert_eq!((fs::read(&path).expect("it is there"), names(&folder.0).len()), (b"new".to_vec(), 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not() {
        let folder = Folder::new("killed");
        // No process has a number as high as this.
        let (killed, other) = (format!(".state.{}.partial", u32::MAX), format!(".other.{}.partial", u32::MAX));
        let living = format!(".state.{}.partial", std::os::unix::process::parent_id());
        for name in [&killed, &other, &living] {
            fs::write(folder.0.join(name), "half").expect("written");
        }
        replace_by(&folder.0.join("state"), b"new").expect("written");
        let mut found = names(&folder.0);
        found.sort();
        assert_eq!(found, [other, living, "state".to_owned()]);
    }

    #[test]
    fn folders_that_are_missing_and_names_that_are_none_are_errors() {
        let folder = Folder::new("missing");
        for path in [folder.0.join("no/file"), folder.0.join(".."), PathBuf::new()] {
            assert_eq!(replace_by(&path, b"x").expect_err("refused").kind(), ErrorKind::Io, "{path:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("link");
        let (real, link) = (folder.0.join("real"), folder.0.join("link"));
        fs::write(&real, "old").expect("written");
        fs::set_permissions(&real, PermissionsExt::from_mode(0o640)).expect("set");
        symlink("real", &link).expect("linked");
        replace_by(&link, b"new").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&real).expect("there"), b"new");
        assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
        // Also when what it leads to is not there yet.
        fs::remove_file(&real).expect("removed");
        replace_by(&link, b"newer").expect("written");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&real).expect("there"), b"newer");
    }
}
