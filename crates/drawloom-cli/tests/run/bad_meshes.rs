//! Mesh programs on meshes that are broken: what is wrong is said once, with names and numbers.

use crate::support::{Folder, drawloom};

/// The lines of a generated mesh file.
fn lines(folder: &Folder, kind: &[&str]) -> Vec<String> {
    let file = folder.path("generated.dat");
    drawloom(&[&["mesh", "naca0012", "--i", "3", "--j", "5", "-o", &file], kind].concat()).exits(0);
    folder.read("generated.dat").lines().map(str::to_owned).collect()
}

#[track_caller]
fn refused(app: &str, folder: &Folder, lines: &[String], code: i32, expected: &[&str]) {
    let file = folder.file("broken.dat", lines.join("\n") + "\n");
    for backend in ["serial", "threads", "event"] {
        let ran = drawloom(&["run", app, "--mesh", &file, "--backend", backend, "--json"]).exits(code);
        for expected in expected {
            assert!(ran.err.contains(expected), "{backend}: {} lacks {expected}", ran.err);
        }
        assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1), "{backend}: {}", ran.err);
    }
}

#[test]
fn truncated_files_are_named() {
    let folder = Folder::new();
    let volumes = lines(&folder, &[]);
    // So short that not even its counts can be believed, cut in the middle, and without its last line.
    let far = "the counts at the start need 704 numbers, and there is room for 1 at most";
    refused("airfoil", &folder, &volumes[..1], 2, &["airfoil: ", "broken.dat", far]);
    for count in [volumes.len() / 2, volumes.len() - 1] {
        for app in ["airfoil", "reduction"] {
            refused(app, &folder, &volumes[..count], 2, &[&format!("{app}: "), "broken.dat", "ends"]);
        }
    }
    let elements = lines(&folder, &["--fe"]);
    refused("aero", &folder, &elements[..elements.len() - 1], 2, &["aero: ", "broken.dat", "ends"]);
}

#[test]
fn inconsistent_files_are_refused_with_the_numbers() {
    let folder = Folder::new();
    let whole = lines(&folder, &[]);
    let nodes = 60;
    assert_eq!(whole[0].trim(), "60 45 79 22");
    let mut far = whole.clone();
    // The first cell, right after the nodes.
    far[1 + nodes] = "0 1 2 4000000000".to_owned();
    refused(
        "airfoil",
        &folder,
        &far,
        2,
        &["broken.dat: line 62: a node of cell 0 is 4000000000, and must be below 60"],
    );
    let mut near = whole.clone();
    near[1 + nodes] = "0 1 2 60".to_owned();
    refused("airfoil", &folder, &near, 2, &["broken.dat: line 62: a node of cell 0 is 60, and must be below 60"]);
    let mut word = whole.clone();
    word[5] = "0.1 north".to_owned();
    refused("airfoil", &folder, &word, 2, &["broken.dat: line 6: expected a number, found `north`: y of node 4"]);
    let mut more = whole;
    more.push("1 2 3".to_owned());
    refused("airfoil", &folder, &more, 2, &["broken.dat: line 208: expected the end of the file, found `1`"]);
}

/// The loop over far nodes writes to each of them, so that one that is named twice has no definite value.
#[test]
fn a_target_that_is_named_twice_is_refused_with_both_iterations() {
    let folder = Folder::new();
    let mut twice = lines(&folder, &["--fe"]);
    let last = twice.len() - 1;
    twice[last] = twice[last - 3].clone();
    refused(
        "aero",
        &folder,
        &twice,
        2,
        &["loop `dirichlet`", "`p_resm` is to write twice", "iteration 15", "iteration 18"],
    );
}

#[test]
fn a_number_that_is_not_finite_is_reported_once_with_iteration_and_element() {
    let folder = Folder::new();
    let mut flat = lines(&folder, &[]);
    flat[1..=60].iter_mut().for_each(|node| "0.0 0.0".clone_into(node));
    let file = folder.file("flat.dat", flat.join("\n"));
    for backend in ["serial", "debug", "threads", "event"] {
        let ran = drawloom(&["run", "airfoil", "--mesh", &file, "--backend", backend, "--json"]).exits(1);
        assert_eq!((ran.out.as_str(), ran.err.lines().count()), ("", 1), "{backend}: {}", ran.err);
        for expected in ["global `rms` is NaN in run 1 of `time`", "dat `p_q` at element 0 of `cells`, component 0"] {
            assert!(ran.err.contains(expected), "{backend}: {}", ran.err);
        }
    }
}
