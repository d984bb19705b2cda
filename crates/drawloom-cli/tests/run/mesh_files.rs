//! The files that mesh programs write: which are refused before anything runs, and what is left when one fails.

use crate::support::{Folder, drawloom};

const SMALL: [&str; 6] = ["run", "airfoil", "--mesh", "naca0012:6x9", "--iterations", "3"];

fn airfoil<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], arguments].concat()
}

#[test]
fn a_file_that_is_read_or_written_already_is_refused_before_anything_runs() {
    let folder = Folder::new();
    let grid = folder.path("grid.dat");
    drawloom(&["mesh", "naca0012", "--i", "3", "--j", "4", "-o", &grid]).exits(0);
    let text = folder.read("grid.dat");
    let (result, same) = (folder.path("r.vtu"), folder.path("./r.vtu"));
    std::os::unix::fs::symlink(&grid, folder.path("link.vtu")).unwrap();
    let link = folder.path("link.vtu");
    for (arguments, words) in [
        (vec!["--trace", &grid, "--json"], "the trace would be written to"),
        (vec!["--checkpoint", &grid, "--json"], "the state would be written to"),
        (vec!["--out", &link, "--json"], "which is the mesh"),
        (vec!["--out", &result, "--trace", &same, "--json"], "would be written to the same file"),
    ] {
        let arguments = [&["run", "airfoil", "--mesh", &grid, "--iterations", "3"], &arguments[..]].concat();
        let ran = drawloom(&arguments).exits(2);
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{}", ran.err);
    }
    assert_eq!(folder.read("grid.dat"), text);
    assert!(!std::path::Path::new(&result).exists());
    // A state may take the place of the one that the program went on from, and nothing else may.
    let state = folder.path("state");
    drawloom(&airfoil(&["--checkpoint", &state, "--checkpoint-every", "1", "--json"])).exits(0);
    let ran = drawloom(&airfoil(&["--restart", &state, "--trace", &state, "--json"])).exits(2);
    assert!(ran.err.contains("which is the state to go on from"), "{}", ran.err);
    drawloom(&airfoil(&["--restart", &state, "--checkpoint", &state, "--json"])).exits(0);
}

#[test]
fn where_nothing_can_be_written_nothing_runs() {
    let folder = Folder::new();
    let missing = folder.path("missing/r.vtu");
    for app in ["airfoil", "aero", "jacobi", "dots", "reduction"] {
        let ran = drawloom(&["run", app, "--out", &missing, "--json"]).exits(2);
        assert!(ran.err.contains("there is no folder") && ran.out.is_empty(), "{app}: {}", ran.err);
    }
    let ran = drawloom(&airfoil(&["--picture", &folder.path("missing/p.png"), "--json"])).exits(2);
    assert!(ran.err.contains("there is no folder"), "{}", ran.err);
    let ran = drawloom(&airfoil(&["--out", "/dev/stdout", "--json"])).exits(2);
    assert!(ran.err.contains("where everything else is printed"), "{}", ran.err);
}

#[test]
fn endings_that_nobody_knows_are_refused_and_known_ones_may_be_in_capitals() {
    let folder = Folder::new();
    for (option, name, known) in [
        ("--picture", "p.jpg", "must end in .png or .svg"),
        ("--picture", "p", "must end in .png or .svg"),
        ("--out", "r.xyz", "must end in .vtu"),
    ] {
        let ran = drawloom(&airfoil(&[option, &folder.path(name), "--json"])).exits(2);
        assert!(ran.err.contains(known), "{}", ran.err);
        assert!(!std::path::Path::new(&folder.path(name)).exists());
    }
    let (picture, result) = (folder.path("p.SVG"), folder.path("r.VTU"));
    let ran = drawloom(&airfoil(&["--picture", &picture, "--out", &result, "--json"])).exits(0);
    assert!(folder.read("p.SVG").contains("<svg"));
    assert!(ran.err.contains("without `edges`, `bedges`: VTK has points and cells"), "{}", ran.err);
    let ran = drawloom(&["plot", "naca0012:3x4", "-o", &folder.path("m.PNG")]).exits(0);
    assert!(ran.out.is_empty() && std::fs::read(folder.path("m.PNG")).unwrap().starts_with(b"\x89PNG"));
    let ran = drawloom(&["plot", "naca0012:3x4", "-o", &folder.path("m.jpg")]).exits(2);
    assert!(ran.err.contains("must end in .svg or .png"), "{}", ran.err);
}

#[test]
fn a_picture_does_not_take_the_place_of_its_mesh() {
    let folder = Folder::new();
    let result = folder.path("r.vtu");
    drawloom(&airfoil(&["--out", &result, "--json"])).exits(0);
    let before = std::fs::read(&result).unwrap();
    let ran = drawloom(&["plot", &result, "-o", &result, "--format", "png"]).exits(2);
    assert!(ran.err.contains("which is the mesh"), "{}", ran.err);
    assert!(std::fs::read(&result).unwrap() == before);
    let ran = drawloom(&["plot", &result, "-o", "/dev/stdout"]).exits(0);
    assert!(ran.out.contains("<svg"));
}

/// `/dev/full` can be opened, and nothing can be written to it.
#[test]
fn what_was_computed_is_printed_also_when_a_file_is_not_written() {
    for option in ["--out", "--picture", "--trace"] {
        let ran = drawloom(&airfoil(&[option, "/dev/full", "--json"])).exits(2);
        assert_eq!(ran.json()["iterations"], 3, "{option}");
        assert!(ran.err.contains("cannot write /dev/full"), "{option}: {}", ran.err);
    }
    let ran = drawloom(&airfoil(&["--out", "/dev/full", "--picture", "/dev/null"])).exits(2);
    assert!(ran.out.contains("ms an iteration"), "{}", ran.out);
}

#[test]
fn without_iterations_there_is_no_time_for_one() {
    let none = ["run", "airfoil", "--mesh", "naca0012:6x9", "--iterations", "0"];
    let line = drawloom(&[&none[..], &["--json"]].concat()).exits(0).json();
    assert!(line["ms_per_iteration"].is_null() && line.get("ms_per_iteration").is_some(), "{line}");
    let ran = drawloom(&[&none[..], &["--picture", "/dev/null"]].concat()).exits(0);
    assert!(!ran.out.contains("ms an iteration"), "{}", ran.out);
}
