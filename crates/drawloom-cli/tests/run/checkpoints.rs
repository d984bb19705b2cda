//! `drawloom run … --checkpoint` and `--restart`.

use std::path::Path;

use drawloom_mesh::checkpoint::Checkpoint;
use serde_json::Value;

use crate::support::{Folder, command, drawloom};

const MESH: [&str; 4] = ["run", "airfoil", "--mesh", "naca0012:20x30"];

fn airfoil(arguments: &[&str]) -> Value {
    drawloom(&[&MESH[..], arguments, &["--json"]].concat()).exits(0).json()
}

/// What does not depend on how long it took, or on what it ran.
fn computed(line: &Value) -> (&Value, &Value, &Value) {
    (&line["cells"], &line["iterations"], &line["residuals"])
}

#[test]
fn a_run_that_goes_on_ends_with_the_bits_of_one_that_was_never_stopped() {
    let folder = Folder::new();
    let (state, other) = (folder.path("state"), folder.path("other"));
    let (whole, restarted) = (folder.path("whole.vtu"), folder.path("restarted.vtu"));
    let reference = airfoil(&["--iterations", "230", "--backend", "serial", "--out", &whole]);
    let first = airfoil(&["--iterations", "130", "--checkpoint", &state, "--checkpoint-every", "60", "--workers", "2"]);
    assert_eq!((&first["checkpoints"], first.get("restarted_after")), (&2.into(), None), "{first}");
    for backend in [&["--backend", "serial"][..], &["--workers", "1"], &["--workers", "3"]] {
        let more = ["--restart", &state, "--iterations", "230", "--out", &restarted, "--checkpoint", &other];
        let line = airfoil(&[&more, backend].concat());
        assert_eq!(computed(&line), computed(&reference), "{backend:?}");
        assert_eq!((&line["restarted_after"], &line["checkpoints"]), (&120.into(), &1.into()), "{backend:?}");
        assert!(std::fs::read(&restarted).unwrap() == std::fs::read(&whole).unwrap(), "{backend:?}");
    }
    let text = drawloom(
        &[&MESH[..], &["--restart", &other, "--iterations", "230", "--picture", &folder.path("p.svg")]].concat(),
    );
    assert!(text.exits(0).out.contains("\n  goes on after iteration 200\n"));
}

#[test]
fn a_program_that_runs_as_messages_is_stopped_and_gone_on_with_too() {
    let folder = Folder::new();
    let state = folder.path("state");
    let run = |arguments: &[&str]| {
        drawloom(&[&["run", "airfoil", "--mesh", "naca0012:6x9", "--json"], arguments].concat()).exits(0).json()
    };
    let reference = run(&["--iterations", "12", "--backend", "serial"]);
    let line = run(&["--iterations", "8", "--backend", "event", "--checkpoint", &state, "--checkpoint-every", "3"]);
    assert_eq!(line["checkpoints"], 2, "{line}");
    for backend in [["--backend", "event"], ["--backend", "threads"]] {
        let line = run(&[&["--iterations", "12", "--restart", &state], &backend[..]].concat());
        assert_eq!(line["restarted_after"], 6, "{line}");
        let last = |line: &Value| line["residuals"][0][1].as_f64().unwrap();
        assert!((last(&line) / last(&reference) - 1.0).abs() < 1e-12, "{line}");
    }
}

#[test]
fn every_program_can_be_stopped_and_gone_on_with() {
    let folder = Folder::new();
    let state = folder.path("state");
    for (app, mesh) in
        [("aero", "naca0012:6x9"), ("jacobi", "grid:20"), ("reduction", "naca0012:6x9"), ("dots", "line:3000")]
    {
        let run = |arguments: &[&str]| {
            drawloom(&[&["run", app, "--mesh", mesh, "--json"], arguments].concat()).exits(0).json()
        };
        run(&["--iterations", "5", "--checkpoint", &state, "--checkpoint-every", "3"]);
        let line = run(&["--iterations", "8", "--restart", &state, "--backend", "serial"]);
        assert_eq!(line["restarted_after"], 3, "{app}");
        let reference = run(&["--iterations", "8", "--backend", "serial"]);
        assert_eq!(computed(&line), computed(&reference), "{app}");
        assert_eq!(line["results"], reference["results"], "{app}");
    }
}

#[test]
fn a_process_that_was_killed_goes_on_from_its_last_checkpoint() {
    let folder = Folder::new();
    let state = folder.path("state");
    // More iterations than can ever be done: only being killed ends it.
    let endless = ["--iterations", "1e8", "--checkpoint", &state, "--checkpoint-every", "1", "--json"];
    let mut child = command(&[&MESH[..], &endless].concat()).spawn().expect("the program starts");
    while !Path::new(&state).exists() {
        assert!(child.try_wait().expect("a child can be asked").is_none(), "it ended without a checkpoint");
        std::thread::yield_now();
    }
    child.kill().expect("a child can be killed");
    assert!(!child.wait().expect("it ends").success());
    let done = Checkpoint::load(&state).expect("whole").runs().expect("a run wrote it");
    let iterations = (done + 50).to_string();
    let line = airfoil(&["--iterations", &iterations, "--restart", &state, "--workers", "1"]);
    assert_eq!(line["restarted_after"], done);
    assert_eq!(computed(&line), computed(&airfoil(&["--iterations", &iterations, "--backend", "serial"])));
}

/// Files that may not grow beyond a few kilobytes stand in for a disk that fills in the middle of a checkpoint.
#[cfg(unix)]
#[test]
fn a_disk_that_fills_stops_the_run_names_the_file_and_keeps_the_old_checkpoint() {
    let folder = Folder::new();
    let state = folder.path("state");
    airfoil(&["--iterations", "20", "--checkpoint", &state, "--checkpoint-every", "10"]);
    let before = std::fs::read(&state).unwrap();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let more =
        ["--restart", &state, "--iterations", "60", "--checkpoint", &state, "--checkpoint-every", "10", "--json"];
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_drawloom")]).args(MESH).args(more);
    let ran = shell.output().expect("a shell starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("airfoil: cannot write {state}: ")), "{said}");
    assert!(ran.stdout.is_empty());
    assert!(std::fs::read(&state).unwrap() == before, "the old checkpoint is whole");
    let names: Vec<_> = std::fs::read_dir(folder.as_path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["state"], "nothing else is left");
    let line = airfoil(&["--restart", &state, "--iterations", "60"]);
    assert_eq!(computed(&line), computed(&airfoil(&["--iterations", "60", "--backend", "serial"])));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full_is_named() {
    let ran =
        drawloom(&[&MESH[..], &["--checkpoint", "/dev/full", "--checkpoint-every", "5", "--json"]].concat()).exits(1);
    assert!(ran.err.contains("airfoil: cannot write /dev/full: "), "{}", ran.err);
    assert_eq!(ran.out, "");
}

#[test]
fn checkpoints_that_cannot_be_used_are_refused_by_name() {
    let folder = Folder::new();
    let state = folder.path("state");
    airfoil(&["--iterations", "12", "--checkpoint", &state, "--checkpoint-every", "10"]);
    let whole = std::fs::read(&state).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    let short = folder.file("short", &whole[..whole.len() - 7]);
    let changed = folder.file("changed", changed);
    let text = folder.file("text", "not a checkpoint");
    let empty = folder.file("empty", "");
    let same = &MESH[2..];
    for (app, mesh, file, more, expected) in [
        ("airfoil", same, short.as_str(), &[][..], "ends after"),
        ("airfoil", same, &changed, &[], "its checksum is wrong"),
        ("airfoil", same, &text, &[], "not a checkpoint"),
        ("airfoil", same, &empty, &[], "ends after 0 bytes"),
        ("airfoil", same, "none", &[], "cannot read none"),
        ("airfoil", &["--mesh", "naca0012:20x31"], &state, &[], "another mesh: `nodes` has 1891 elements there"),
        ("reduction", same, &state, &[], "another program"),
        ("airfoil", same, &state, &["--iterations", "9"], "after run 10 of `time`, which is to run 9 times here"),
        ("airfoil", same, &state, &["--checkpoint", "x", "--checkpoint-every", "0"], "every 0 runs"),
        ("airfoil", same, &state, &["--checkpoint-every", "5"], "--checkpoint <FILE>"),
    ] {
        let arguments = [&["run", app], mesh, &["--restart", file, "--json"], more].concat();
        let ran = drawloom(&arguments).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
        assert!(
            ran.err.contains(file) || ran.err.contains("--checkpoint") || ran.err.contains("every 0"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}
