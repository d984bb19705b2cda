//! Where the texts about the machine come from.

use std::path::PathBuf;

/// Small text files by their path from the root, without a leading slash.
pub(super) trait Files {
    /// The text of a file; absent when it cannot be read, for whatever reason.
    fn text(&self, path: &str) -> Option<String>;
}

/// Files on disk, under a folder that stands for `/`.
pub(super) struct Disk {
    root: PathBuf,
}

impl Disk {
    /// The files of this machine.
    pub(super) fn here() -> Self {
        Self { root: PathBuf::from("/") }
    }
}

impl Files for Disk {
    fn text(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(path)).ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::{Disk, Files};

    /// Files in memory, so that a test can describe a machine with thousands of them.
    #[derive(Default)]
    pub(in crate::topology) struct Tree {
        files: BTreeMap<String, String>,
    }

    impl Tree {
        pub(in crate::topology) fn write(&mut self, path: &str, text: &str) {
            self.files.insert(path.to_owned(), text.to_owned());
        }

        pub(in crate::topology) fn device(&mut self, path: &str, text: impl ToString) {
            self.write(&format!("sys/devices/system/{path}"), &format!("{}\n", text.to_string()));
        }
    }

    impl Files for Tree {
        fn text(&self, path: &str) -> Option<String> {
            self.files.get(path).cloned()
        }
    }

    #[test]
    fn files_on_disk_are_read_from_the_root_and_missing_ones_are_absent() {
        let root = std::env::temp_dir().join(format!("drawloom-files-{}", std::process::id()));
        std::fs::create_dir_all(root.join("sys")).unwrap();
        std::fs::write(root.join("sys/online"), "0-3\n").unwrap();
        let disk = Disk { root: root.clone() };
        let found = ["sys/online", "sys/missing", "sys"].map(|path| disk.text(path));
        std::fs::remove_dir_all(root).unwrap();
        assert_eq!(found, [Some("0-3\n".to_owned()), None, None]);
    }
}
