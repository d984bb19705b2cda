//! `drawloom-bench graph`, `tasks`, `metg`, `cholesky` and `trace`: every line with every key. What the figures are is not
//! tested.

use crate::support::drawloom;
use serde_json::{Value, json};

const PATTERNS: [&str; 6] = ["independent", "chain", "chains64", "readers", "stencil", "roundtrip"];

fn positive(line: &Value, key: &str) -> bool {
    line[key].as_f64().is_some_and(|figure| figure > 0.0)
}

#[test]
fn tasks_gives_a_line_for_each_pattern_and_mode() {
    let only = PATTERNS.join(",");
    let arguments = ["tasks", "--workers", "2", "--tasks", "1e3", "--no-peers", "--only", &only];
    let lines = drawloom(&arguments).exits(0).json_lines();
    let expected = PATTERNS.iter().flat_map(|bench| match *bench {
        "roundtrip" => vec![(bench, "dynamic")],
        _ => vec![(bench, "dynamic"), (bench, "replay")],
    });
    assert_eq!(lines.len(), expected.clone().count());
    for (line, (bench, mode)) in lines.iter().zip(expected) {
        assert_eq!((&line["bench"], &line["mode"]), (&json!(bench), &json!(mode)));
        assert_eq!(
            (&line["workers"], &line["tasks"]),
            (&2.into(), &json!(if *bench == "stencil" { 992 } else { 1000 }))
        );
        assert!(positive(line, "ns_per_task"), "{line}");
        assert!(line["submit_ns_per_task"].as_f64() <= line["ns_per_task"].as_f64(), "{line}");
        assert!(line.get("peer").is_none(), "{line}");
    }
}

#[test]
fn tasks_measures_one_worker_and_all_of_them_unless_told_otherwise() {
    let lines = drawloom(&["tasks", "--tasks", "100", "--only", "chain", "--no-peers"]).exits(0).json_lines();
    let workers: Vec<u64> = lines.iter().map(|line| line["workers"].as_u64().unwrap()).collect();
    let all = std::thread::available_parallelism().unwrap().get() as u64;
    assert_eq!(workers, if all == 1 { vec![1; 2] } else { vec![1, 1, all, all] });
}

#[test]
fn tasks_says_how_long_it_takes_to_start_and_what_a_waiting_task_takes() {
    let arguments = ["tasks", "--workers", "1", "--only", "startup,memory", "--no-peers"];
    let lines = drawloom(&arguments).exits(0).json_lines();
    let line = |bench: &str| lines.iter().find(|line| line["bench"] == bench);
    let startup = line("startup").expect("the start is measured everywhere");
    assert!(positive(startup, "startup_ms") && positive(startup, "shutdown_ms"), "{startup}");
    for line in &lines {
        assert_eq!((&line["mode"], &line["workers"]), (&json!("dynamic"), &json!(1)), "{line}");
        assert!(positive(line, "tasks"), "{line}");
    }
    if cfg!(target_os = "linux") {
        let memory = line("memory").expect("memory is known here");
        // A record has three cache lines; twice as much would be another leak.
        assert!((190.0..400.0).contains(&memory["bytes_per_task"].as_f64().unwrap()), "{memory}");
    }
}

#[test]
fn tasks_says_how_much_faster_several_workers_are_than_one() {
    let arguments = ["tasks", "--only", "scaling", "--no-peers", "--workers"];
    let lines = drawloom(&[&arguments[..], &["2"]].concat()).exits(0).json_lines();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let (one, two) = (line["one_worker_ns_per_task"].as_f64().unwrap(), line["ns_per_task"].as_f64().unwrap());
    assert!((line["speedup"].as_f64().unwrap() - one / two).abs() < 0.02, "{line}");
    assert!(positive(line, "task_ns") && two > 0.0, "{line}");
    assert!(drawloom(&[&arguments[..], &["1"]].concat()).exits(0).json_lines().is_empty());
}

#[test]
fn trace_gives_a_line_for_each_length_and_mode() {
    let arguments = ["trace", "--workers", "2", "--task-us", "0,3", "--work-us", "100", "--repeat", "2"];
    let lines = drawloom(&arguments).exits(0).json_lines();
    let expected = [("dynamic", 0), ("replay", 0), ("dynamic", 3), ("replay", 3)];
    assert_eq!(lines.len(), expected.len());
    for (line, (mode, task_us)) in lines.iter().zip(expected) {
        assert_eq!((&line["bench"], &line["mode"], &line["task_us"]), (&json!("trace"), &json!(mode), &json!(task_us)));
        assert!(positive(line, "tasks") && line["workers"] == 2, "{line}");
        assert!(positive(line, "off_ns_per_task") && positive(line, "on_ns_per_task"), "{line}");
        assert!(line["cost_percent"].is_f64(), "{line}");
        let processor = ["cpu_off_ns_per_task", "cpu_on_ns_per_task", "cpu_cost_percent"].map(|key| line[key].is_f64());
        assert!(processor.iter().all(|known| *known) || !cfg!(target_os = "linux"), "{line}");
    }
}

#[test]
fn peers_come_after_ours_and_say_so() {
    let lines = drawloom(&["tasks", "--workers", "1", "--tasks", "100", "--only", "roundtrip"]).exits(0).json_lines();
    assert!(lines[0].get("peer").is_none(), "{lines:?}");
    assert!(lines[1..].iter().all(|line| line["bench"] == "roundtrip"), "{lines:?}");
    assert!(lines[1..].iter().any(|line| line["peer"] == "rayon"), "rayon is always there: {lines:?}");
}

#[test]
fn metg_gives_a_line_for_each_pattern_width_and_mode_and_says_it_in_words() {
    let arguments = ["metg", "--workers", "1", "--patterns", "tree,trivial", "--widths", "1,3", "--steps", "5"];
    let ran = drawloom(&[&arguments[..], &["--no-peers"]].concat()).exits(0);
    let lines = ran.json_lines();
    let got: Vec<Value> =
        lines.iter().map(|line| json!([line["pattern"], line["width"], line["mode"], line["workers"]])).collect();
    let expected = ["tree", "trivial"].iter().flat_map(|pattern| {
        [1, 3].into_iter().flat_map(move |width| ["dynamic", "replay"].map(|mode| json!([pattern, width, mode, 1])))
    });
    assert_eq!(got, expected.collect::<Vec<_>>());
    for line in &lines {
        assert!(positive(line, "floor_us") && line["peak_flops"].as_u64() > Some(0), "{line}");
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(line.get("handoff_ns").is_some_and(|time| time.as_u64() > Some(0)), cores > 1, "{line}");
        // Graphs of a few tasks may not reach the half at all; then there is no figure.
        assert!(line.get("metg50_us").is_none() || positive(line, "metg50_us"), "{line}");
    }
    assert!(ran.err.contains("the smallest task worth submitting on this machine takes "), "{}", ran.err);
}

#[test]
fn settings_that_cannot_be_used_are_named_and_exit_with_2() {
    for (arguments, expected) in [
        (&["tasks", "--workers", "0"][..], "there can be 1 to 1024 workers, not 0"),
        (&["tasks", "--tasks", "0"], "--tasks takes 1 to 1e9, and is 0"),
        (&["tasks", "--tasks", "1e10"], "--tasks takes 1 to 1e9, and is 10000000000"),
        (&["tasks", "--only", "chain,gears"], "there is no `gears`; there are memory, independent, chain"),
        (&["trace", "--repeat", "0"], "--repeat takes 1 to 1000000, and is 0"),
        (&["trace", "--task-us", "1,1e7"], "--task-us takes 0 to 1000000, and is 10000000"),
        (&["trace", "--work-us", "0"], "--work-us takes 1 to 1000000000, and is 0"),
        (&["metg", "--workers", "many"], "`many` is not an integer"),
        (&["metg", "--patterns", "stencil"], "no pattern is named \"stencil\"; there are trivial, no_comm, stencil_1d"),
        (&["metg", "--widths", "0"], "both must be at least 1"),
        (&["metg", "--steps", "0"], "both must be at least 1"),
        (&["metg", "--widths", "1e5", "--steps", "1e5"], "are more than 10000000"),
        (&["metg", "--widths", "18446744073709551615"], "too large"),
    ] {
        let ran = drawloom(arguments).exits(2);
        assert!(ran.err.contains(expected), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn with_peers_ours_is_still_the_last_line() {
    let lines = drawloom(&["cholesky", "--n", "90", "--tile", "16", "--workers", "2", "--json"]).exits(0).json_lines();
    let (ours, peers) = lines.split_last().expect("a line");
    assert!(ours.get("peer").is_none(), "{ours}");
    assert!(peers.iter().all(|line| line["peer"].is_string() && line["n"] == 90), "{peers:?}");
}

#[test]
fn graph_prints_a_line_for_each_measurement_and_accepts_powers_of_ten() {
    let lines = drawloom(&["graph", "--nodes", "2e3", "--repeat", "1"]).exits(0).json_lines();
    for bench in ["check", "order"] {
        let line = lines.iter().find(|line| line["bench"] == bench).expect("both are measured");
        assert!(line["seconds"].is_f64() && line["nodes"].is_u64() && line["edges"].is_u64(), "{line}");
    }
    let checks = drawloom(&["graph", "--nodes", "2000", "--only", "check"]).exits(0).json_lines();
    assert!(checks.iter().all(|line| line["bench"] == "check") && checks.len() < lines.len());
    let ran = drawloom(&["graph", "--nodes", "many"]).exits(2);
    assert!(ran.err.contains("`many` is not an integer"), "{}", ran.err);
    drawloom(&["graph", "--nodes", "0"]).exits(2);
}
