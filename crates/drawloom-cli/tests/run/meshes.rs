//! `drawloom run` of mesh programs: what they print, on every backend, and what they refuse.

use serde_json::Value;

use crate::support::{Folder, drawloom, drawloom_in};

/// Ways to run a mesh program.
const BACKENDS: [&[&str]; 10] = [
    &["--backend", "serial"],
    &["--backend", "debug", "--seed", "4"],
    &["--backend", "threads", "--workers", "1"],
    &["--backend", "threads", "--workers", "3"],
    &["--backend", "threads", "--workers", "2", "--fast"],
    &["--backend", "event"],
    &["--backend", "event", "--executor", "lifo"],
    &["--backend", "event", "--executor", "random", "--seed", "5"],
    &["--backend", "event", "--executor", "delay", "--seed", "6"],
    &["--backend", "event", "--executor", "parallel", "--workers", "2"],
];

/// Runs a program with --json, and checks what every program prints.
#[track_caller]
fn line(app: &str, arguments: &[&str]) -> Value {
    let line = drawloom(&[&["run", app], arguments, &["--json"]].concat()).exits(0).json();
    for key in ["app", "backend", "workers", "cells", "iterations", "residuals", "seconds", "ms_per_iteration"] {
        assert!(line.get(key).is_some(), "{app}: {key} is not in {line}");
    }
    assert_eq!(line["app"], app);
    for key in ["devices", "sends", "deliveries"] {
        assert_eq!(line[key].as_u64().is_some(), line["backend"] == "event", "{app}: {key} in {line}");
    }
    line
}

/// The residual of an iteration.
#[track_caller]
fn residual(line: &Value, iteration: u64) -> f64 {
    let residuals = line["residuals"].as_array().expect("a list");
    let found = residuals.iter().find(|pair| pair[0] == iteration);
    found.unwrap_or_else(|| panic!("{iteration} is not in {line}"))[1].as_f64().expect("a number")
}

#[track_caller]
fn assert_close(found: f64, known: f64, fraction: f64, of: &[&str]) {
    assert!((found - known).abs() <= fraction * known.abs(), "{of:?}: {found:e} instead of {known:e}");
}

#[test]
fn every_program_comes_to_its_known_values_on_every_backend() {
    let known = line("airfoil", &["--mesh", "naca0012:6x9", "--iterations", "5", "--backend", "serial"]);
    for backend in BACKENDS {
        let run = |app: &str, more: &[&str]| line(app, &[backend, more].concat());
        let aero = run("aero", &["--mesh", "naca0012:3x5", "--iterations", "3"]);
        assert_close(residual(&aero, 3), 2.1085010130438517e-6, 1e-10, backend);
        assert_eq!((&aero["cells"], &aero["results"]["steps"]), (&45.into(), &12.into()), "{backend:?}");
        let airfoil = run("airfoil", &["--mesh", "naca0012:6x9", "--iterations", "5"]);
        assert_close(residual(&airfoil, 5), residual(&known, 5), 1e-12, backend);
        for variant in ["double", "mixed"] {
            let jacobi = run("jacobi", &["--variant", variant]);
            assert_eq!((&jacobi["cells"], &jacobi["results"]["max"]), (&25.into(), &0.625.into()), "{backend:?}");
            assert_close(residual(&jacobi, 2), 0.386491, 1e-6, backend);
        }
        let reduction = run("reduction", &["--mesh", "naca0012:6x9"]);
        assert_eq!(reduction["results"], serde_json::json!({"edges": 303, "cells": 162}), "{backend:?}");
        assert_eq!((residual(&reduction, 10), &reduction["cells"]), (0.0, &162.into()), "{backend:?}");
        let dots = run("dots", &[]);
        let sums = serde_json::json!({"indices": 28, "squares": 140.0, "even": 56.0, "odd": 84.0});
        assert_eq!((&dots["results"], &dots["cells"]), (&sums, &8.into()), "{backend:?}");
        assert_eq!(residual(&dots, 2), 0.0, "{backend:?}");
    }
}

#[test]
fn residuals_are_those_of_every_hundredth_iteration_and_the_last() {
    let arguments = ["--mesh", "naca0012:6x9", "--iterations", "250", "--backend", "serial"];
    let numbers = |line: &Value| -> Vec<u64> {
        line["residuals"].as_array().unwrap().iter().map(|pair| pair[0].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&line("airfoil", &arguments)), [100, 200, 250]);
    assert_eq!(numbers(&line("jacobi", &["--iterations", "200"])), [100, 200]);
    assert_eq!(numbers(&line("jacobi", &["--iterations", "0"])), [0_u64; 0]);
}

#[test]
fn without_json_there_is_a_table_for_people() {
    let folder = Folder::new();
    let run = |arguments: &[&str]| drawloom_in(folder.as_path(), &[&["run"], arguments].concat(), "").exits(0).out;
    let aero = run(&["aero", "--mesh", "naca0012:3x5", "--iterations", "2", "--workers", "1"]);
    assert!(aero.starts_with("aero: 45 cells, 2 iterations, threads, 1 worker\n"), "{aero}");
    assert!(aero.contains("\n          1       3   3.798594e-4\n          2       6   1.103961e-4\n"), "{aero}");
    assert!(aero.contains("\n  spMV ") && aero.contains(" ms an iteration\n"), "{aero}");
    let jacobi = run(&["jacobi", "--backend", "event"]);
    assert!(jacobi.contains("  the largest value is 0.625000\n") && jacobi.contains(" deliveries, "), "{jacobi}");
    let reduction = run(&["reduction", "--mesh", "naca0012:6x9"]);
    assert!(reduction.contains("  counted 303 edges of 303, and 162 cells of 162\n"), "{reduction}");
    let dots = run(&["dots", "--backend", "serial"]);
    assert!(dots.contains("  sum 28, of squares 140, of even ones 56, of odd ones 84\n"), "{dots}");
}

#[test]
fn results_and_traces_are_written_where_they_are_wanted() {
    let folder = Folder::new();
    for (app, mesh, field) in [
        ("aero", "naca0012:3x5", "potential"),
        ("airfoil", "naca0012:6x9", "pressure"),
        ("jacobi", "grid:4", "value"),
        ("reduction", "naca0012:6x9", "seen"),
        ("dots", "line:10", "product"),
    ] {
        let (out, trace) = (format!("{app}.vtu"), format!("{app}.json"));
        let arguments = ["run", app, "--mesh", mesh, "--iterations", "2", "--out", &out, "--trace", &trace, "--json"];
        let ran = drawloom_in(folder.as_path(), &arguments, "").exits(0);
        assert!(ran.err.contains(&out) && ran.err.contains(&trace), "{}", ran.err);
        let written = String::from_utf8_lossy(&std::fs::read(folder.path(&out)).unwrap()).into_owned();
        assert!(written.contains(&format!("Name=\"{field}\"")), "{app}");
        let trace: Value = serde_json::from_str(&folder.read(&trace)).expect("a trace is JSON");
        let events = trace["traceEvents"].as_array().expect("a list of events");
        assert!(events.iter().any(|event| event["name"] == "report"), "{app}: the trace has the names of tasks");
    }
    assert!(drawloom(&["mesh", "info", &folder.path("jacobi.vtu")]).exits(0).out.contains("16"), "it is a mesh");
}

#[test]
fn files_of_finite_elements_are_read_and_give_the_same_bits() {
    let folder = Folder::new();
    let file = folder.path("FE_grid.dat");
    drawloom(&["mesh", "naca0012", "--i", "3", "--j", "5", "--fe", "-o", &file]).exits(0);
    let of = |mesh: &str| line("aero", &["--mesh", mesh, "--iterations", "4"])["residuals"].clone();
    assert_eq!(of(&file), of("naca0012:3x5"));
    assert_eq!(of("naca0012-fe:3x5"), of("naca0012:3x5"));
}

#[test]
fn what_cannot_be_used_is_named_and_exits_with_2() {
    for (arguments, expected) in [
        (&["aero", "--mesh", "none.dat"][..], "none.dat"),
        (&["aero", "--mesh", "naca0012:0x4"], "has no cells"),
        (&["aero", "--mesh", "naca0012:4"], "no size"),
        (&["airfoil", "--mesh", "naca0012-fe:3x5"], "there is no set `edges`"),
        (&["jacobi", "--mesh", "naca0012-fe:3x5"], "there is no map `pedge`"),
        (&["jacobi", "--mesh", "grid:0"], "a grid has sides of 1 to 8192 nodes, not 0"),
        (&["jacobi", "--mesh", "grid:many"], "`grid:many` has no size"),
        (&["jacobi", "--variant", "triple"], "possible values: double, mixed"),
        (&["dots", "--mesh", "line:0"], "a line has 1 to 67108864 elements, not 0"),
        (&["dots", "--mesh", "naca0012:3x5"], "there is no set `xs`"),
        (&["reduction", "--mesh", "naca0012-fe:3x5"], "there is no set `edges`"),
        (&["dots", "--iterations", "1e9"], "at most 100000000 iterations"),
        (&["dots", "--workers", "0"], "there can be 1 to 1024 workers, not 0"),
        (&["dots", "--backend", "gpu"], "possible values: serial, threads, debug, event"),
        (&["dots", "--backend", "serial", "--trace", "t.json"], "the backend serial has none"),
        (&["dots", "--backend", "event", "--executor", "soon"], "possible values: fifo, lifo"),
        (&["dots", "--json", "--out", "no/such/folder/x.vtu"], "no/such/folder/x.vtu"),
        (&["dots", "--json", "--trace", "no/such/folder/x.json"], "no/such/folder/x.json"),
    ] {
        let ran = drawloom(&[&["run"], arguments].concat()).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}
