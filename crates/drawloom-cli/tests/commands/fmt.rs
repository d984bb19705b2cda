//! `drawloom fmt`.

use crate::support::{Folder, SWAP_JSON, drawloom, drawloom_in, drawloom_with, example};

const UGLY: &str = "region   A,B # two\ndisjoint A,B\n\n\n\ntask t( read A,write   B )\n";

#[test]
fn standard_input_is_formatted_to_standard_output_and_comments_are_kept() {
    let once = drawloom_with(&["fmt", "-"], UGLY).exits(0).out;
    assert!(once.contains("# two"), "{once}");
    assert!(once.contains("task t(read A, write B)"), "{once}");
    let twice = drawloom_with(&["fmt", "-"], &once).exits(0).out;
    assert_eq!(once, twice);
}

#[test]
fn files_are_formatted_in_place() {
    let folder = Folder::new();
    let file = folder.file("ugly.loom", UGLY);
    let ran = drawloom(&["fmt", &file]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    assert_eq!(folder.read("ugly.loom"), drawloom_with(&["fmt", "-"], UGLY).out);
    let left: Vec<_> = std::fs::read_dir(folder.as_path()).expect("the folder is there").collect();
    assert_eq!(left.len(), 1, "nothing is left beside the file");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let file = folder.file("real.loom", UGLY);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).expect("permissions can be set");
    std::os::unix::fs::symlink("real.loom", folder.path("link.loom")).expect("a link can be made");
    drawloom(&["fmt", &folder.path("link.loom")]).exits(0);
    assert!(std::fs::symlink_metadata(folder.path("link.loom")).expect("the link is there").is_symlink());
    assert!(folder.read("real.loom").contains("task t(read A, write B)"));
    let mode = std::fs::metadata(&file).expect("the file is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn check_names_what_is_not_formatted_and_changes_nothing() {
    let folder = Folder::new();
    folder.file("all/ugly.loom", UGLY);
    folder.file("all/nice.loom", drawloom_with(&["fmt", "-"], UGLY).out);
    folder.file("all/graph.json", SWAP_JSON);
    let ran = drawloom_in(folder.as_path(), &["fmt", "--check", "all"], "").exits(1);
    assert_eq!(ran.out, "all/ugly.loom: not formatted\n");
    assert_eq!(folder.read("all/ugly.loom"), UGLY);
    drawloom_in(folder.as_path(), &["fmt", "--check", "all/nice.loom"], "").exits(0);
    drawloom_with(&["fmt", "--check", "-"], UGLY).exits(1);
}

#[test]
fn what_cannot_be_parsed_is_left_alone_and_the_rest_is_formatted() {
    let folder = Folder::new();
    let bad = folder.file("bad.loom", "task (");
    let ugly = folder.file("ugly.loom", UGLY);
    let ran = drawloom(&["fmt", &bad, &ugly]).exits(2);
    assert!(ran.err.contains("bad.loom"), "{}", ran.err);
    assert_eq!(folder.read("bad.loom"), "task (");
    assert_ne!(folder.read("ugly.loom"), UGLY);
}

#[test]
fn json_and_bytes_that_are_no_text_are_refused() {
    let folder = Folder::new();
    let json = folder.file("graph.json", SWAP_JSON);
    let ran = drawloom(&["fmt", &json]).exits(2);
    assert!(ran.err.contains("holds JSON, and only .loom files are formatted"), "{}", ran.err);
    let bytes = folder.file("bytes.loom", b"region A # \xff\n");
    drawloom(&["fmt", &bytes]).exits(2);
}

#[test]
fn the_shipped_examples_are_formatted() {
    drawloom(&["fmt", "--check", &example("")]).exits(0);
}
