//! ARCHITECTURE.md lists the modules that hold `unsafe` code, each with what it guarantees. The list is the source's, both ways.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("a crate lies two folders below the root")
        .to_owned()
}

/// The paths in the first column of the table under the heading "Unsafe code". The second column is not empty.
fn listed(text: &str) -> BTreeSet<String> {
    let section =
        text.split("\n## ").find(|section| section.starts_with("Unsafe code\n")).expect("the section is there");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let columns: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(columns.len() == 2 && columns[1].len() > 10, "a row says what its module guarantees: {row}");
        columns[0].trim_matches('`').to_owned()
    })
    .collect()
}

/// Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Whether a line of source, without its comment, has the word.
fn has_unsafe_code(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.any(|word| word == "unsafe")
}

/// The crates, each with the text of its root.
fn crates() -> Vec<(PathBuf, String)> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).expect("crates").map(|entry| entry.expect("an entry").path()).collect();
    folders.push(root().join("apps"));
    folders.sort();
    let root_of = |folder: &Path| {
        let file = ["src/lib.rs", "src/main.rs"].map(|name| folder.join(name)).into_iter().find(|file| file.exists());
        fs::read_to_string(file.expect("a crate has a root")).expect("text")
    };
    folders.into_iter().filter(|folder| folder.join("Cargo.toml").exists()).map(|f| (f.clone(), root_of(&f))).collect()
}

/// The files with `unsafe` code, relative to the root of the repository.
fn files_with_unsafe_code() -> BTreeSet<String> {
    let mut files = BTreeSet::new();
    for (folder, crate_root) in crates() {
        // There the compiler sees to it. What a macro writes is checked where it is used.
        if crate_root.contains("#![forbid(unsafe_code)]") {
            continue;
        }
        let mut all = Vec::new();
        sources(&folder.join("src"), &mut all);
        for file in all {
            if fs::read_to_string(&file).expect("text").lines().any(has_unsafe_code) {
                let relative = file.strip_prefix(root()).expect("below the root").to_string_lossy().replace('\\', "/");
                files.insert(relative);
            }
        }
    }
    files
}

fn covers(module: &str, file: &str) -> bool {
    file == module || file.strip_prefix(module).is_some_and(|rest| rest.starts_with('/'))
}

#[test]
fn every_file_with_unsafe_code_is_in_a_listed_module_and_every_listed_module_has_one() {
    let (listed, files) =
        (listed(&fs::read_to_string(root().join("ARCHITECTURE.md")).expect("text")), files_with_unsafe_code());
    assert!(files.len() > 10, "the files were found");
    let unlisted: Vec<_> = files.iter().filter(|file| !listed.iter().any(|module| covers(module, file))).collect();
    assert!(
        unlisted.is_empty(),
        "these files have `unsafe` code and are in no module that ARCHITECTURE.md lists: {unlisted:#?}"
    );
    let safe: Vec<_> = listed.iter().filter(|module| !files.iter().any(|file| covers(module, file))).collect();
    assert!(safe.is_empty(), "ARCHITECTURE.md lists these modules, which have no `unsafe` code: {safe:#?}");
}

#[test]
fn every_crate_forbids_or_denies_unsafe_code_at_its_root() {
    for (folder, crate_root) in crates() {
        let says = ["#![forbid(unsafe_code)]", "#![deny(unsafe_code)]"].iter().any(|line| crate_root.contains(line));
        assert!(says, "{} neither forbids nor denies unsafe code", folder.display());
    }
}

#[test]
fn the_word_counts_in_code_only() {
    assert!(has_unsafe_code("    unsafe { *at }"));
    assert!(has_unsafe_code("pub unsafe trait Memory {"));
    assert!(!has_unsafe_code("// unsafe code"));
    assert!(!has_unsafe_code("#![deny(unsafe_code)]"));
    let table = "# A\n\n## Unsafe code\n\n| module | guarantees |\n|---|---|\n| `a/b` | that it is sound |\n\n## B\n";
    assert_eq!(listed(table), BTreeSet::from(["a/b".to_owned()]));
    assert!(covers("a/b", "a/b/c.rs") && covers("a/b.rs", "a/b.rs") && !covers("a/b", "a/bc.rs"));
}
