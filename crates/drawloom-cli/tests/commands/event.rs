//! `drawloom event`: graphs of devices that send each other messages.

use crate::support::{Folder, drawloom, drawloom_with};

#[test]
fn every_executor_prints_the_same_counts() {
    for executor in ["fifo", "lifo", "random", "delay", "parallel"] {
        let ran = drawloom(&["event", "heat:4x3x10", "--executor", executor, "--workers", "2", "--json"]).exits(0);
        let line = ran.json();
        assert_eq!((&line["devices"], &line["edges"]), (&12.into(), &34.into()), "{line}");
        assert_eq!((&line["sends"], &line["deliveries"]), (&132.into(), &374.into()), "{line}");
        assert_eq!((&line["idle_rounds"], &line["executor"]), (&1.into(), &executor.into()), "{line}");
        assert!(line.get("exit_code").is_none() && line.get("agrees").is_none(), "{line}");
    }
}

#[test]
fn a_graph_that_was_written_runs_like_the_sample() {
    let folder = Folder::new();
    for version in ["3", "4"] {
        let file = folder.path(&format!("v{version}.xml"));
        let line =
            drawloom(&["event", "storm:20x2x3", "--write", &file, "--xml-version", version, "--json"]).exits(0).json();
        let again = drawloom(&["event", &file, "--json"]).exits(0).json();
        assert_eq!((&again["sends"], &again["exit_code"]), (&line["sends"], &0.into()));
        let piped = drawloom_with(&["event", "-", "--json"], &folder.read(&format!("v{version}.xml"))).exits(0).json();
        assert_eq!(piped["deliveries"], line["deliveries"]);
    }
}

#[test]
fn logs_are_compared_and_followed() {
    let folder = Folder::new();
    let log = folder.path("a.jsonl");
    drawloom(&["event", "heat:3x3x5", "--executor", "random", "--seed", "4", "--log", &log]).exits(0);
    let line = drawloom(&["event", "heat:3x3x5", "--workers", "2", "--compare", &log, "--json"]).exits(0).json();
    assert_eq!((&line["agrees"], &line["executor"]), (&true.into(), &"parallel".into()));
    let line = drawloom(&["event", "heat:3x3x5", "--replay", &log, "--json"]).exits(0).json();
    assert_eq!(line["executor"], "replay");
    let text = folder.read("a.jsonl");
    let send = text.lines().find(|line| line.contains("\"send\"")).unwrap();
    let tampered = folder.file("b.jsonl", text.replacen(&format!("{send}\n"), "", 1));
    let ran = drawloom(&["event", "heat:3x3x5", "--compare", &tampered]).exits(1);
    assert!(ran.out.contains("the runs did not do the same:\n  device \"cell_"), "{}", ran.out);
    let ran = drawloom(&["event", "heat:3x3x5", "--replay", &tampered]).exits(1);
    assert!(ran.err.contains("no such message is in flight"), "{}", ran.err);
}

#[test]
fn what_cannot_be_used_is_refused_with_a_reason() {
    let folder = Folder::new();
    let unknown = folder.file(
        "unknown.xml",
        "<?xml version=\"1.0\"?>\n<Graphs xmlns=\"https://poets-project.org/schemas/virtual-graph-schema-v3\">\n\
         <GraphType id=\"clock\"></GraphType></Graphs>",
    );
    let ran = drawloom(&["event", &unknown]).exits(2);
    assert!(ran.err.contains("line 3: no handlers are registered for graph type \"clock\""), "{}", ran.err);
    for (arguments, words) in [
        (vec!["event", "missing.xml"], "cannot read missing.xml"),
        (vec!["event", "heat:3x3"], "write heat:WIDTHxHEIGHTxSTEPS"),
        (vec!["event", "heat:4e9x4e9x1"], "write heat:WIDTHxHEIGHTxSTEPS"),
        (vec!["event", "ring:3x1", "--executor", "delay", "--probability", "1"], "below 1"),
        (vec!["event", "ring:3x1", "--compare", "missing.jsonl"], "missing.jsonl"),
        (vec!["event", "ring:3x1", "--xml-version", "5"], "5"),
    ] {
        let ran = drawloom(&arguments).exits(2);
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{}", ran.err);
    }
    let ran = drawloom(&["event", "ring:100x100", "--limit", "50"]).exits(1);
    assert!(ran.err.contains("more steps than its limit"), "{}", ran.err);
}

#[test]
fn without_json_the_counts_are_for_people() {
    let ran = drawloom(&["event", "ring:4x2"]).exits(0);
    assert!(ran.out.starts_with("ring:4x2: ring_4_2 of type drawloom_ring, fifo, 1 worker\n"), "{}", ran.out);
    assert!(ran.out.contains("deliveries") && ran.out.contains("           8\n"), "{}", ran.out);
}

#[test]
fn a_mesh_program_that_was_written_runs_under_every_executor() {
    let folder = Folder::new();
    for version in ["3", "4"] {
        let file = folder.path(&format!("airfoil{version}.xml"));
        let write = ["event", "airfoil:3x4x2", "--write", &file, "--xml-version", version, "--json"];
        let line = drawloom(&write).exits(0).json();
        assert_eq!(line["graph_type"], "airfoil");
        let text = folder.read(&format!("airfoil{version}.xml"));
        assert!(text.contains("static void kernel_res_calc(") && text.contains("deviceState->update_in_progress"));
        for executor in ["lifo", "random", "delay", "parallel"] {
            let again = drawloom(&["event", &file, "--executor", executor, "--workers", "2", "--json"]).exits(0).json();
            for key in ["devices", "edges", "sends", "deliveries", "cancelled"] {
                assert_eq!(again[key], line[key], "{executor}: {key}");
            }
        }
    }
}

#[test]
fn a_mesh_program_that_was_tampered_with_is_refused() {
    let folder = Folder::new();
    let file = folder.path("airfoil.xml");
    drawloom(&["event", "airfoil:2x2x1", "--write", &file]).exits(0);
    let text = folder.read("airfoil.xml");
    let begin = "cells_0:update_begin-global:update_begin";
    for (from, to, words) in [
        ("id=\"set_cells\"", "id=\"set_cell\"", "no handlers are registered for device type \"set_cell\""),
        ("graphTypeId=\"airfoil\"", "graphTypeId=\"aerofoil\"", "aerofoil"),
        (begin, "cells_0:update_start-global:update_begin", "there is no input pin \"update_start\""),
        (begin, "cells_0:adt_calc_begin-global:update_begin", "\"adt_calc_begin\" is expected"),
        (begin, "cells_999:update_begin-global:update_begin", "there is no device \"cells_999\""),
        ("length=\"4\" type=\"double\"", "length=\"5\" type=\"double\"", "are not those that are registered"),
        ("<DeviceInstances>", "<DeviceInstances", "line"),
    ] {
        assert!(text.contains(from), "{from}");
        let tampered = folder.file("tampered.xml", text.replacen(from, to, 1));
        let ran = drawloom(&["event", &tampered]).exits(2);
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{from}: {}", ran.err);
    }
    let half = folder.file("half.xml", &text[..text.len() / 2]);
    assert!(drawloom(&["event", &half]).exits(2).err.contains("line"));
    // What no run leaves behind, and no program has: handlers say so, with the name of the device.
    let global = "<DevI id=\"global\" type=\"controller\"/>";
    let state = |members: &str| format!("<DevI id=\"global\" type=\"controller\"><S>{members}</S></DevI>");
    for (from, to, words) in [
        (global, state("\"pc\":999"), "the program has no step 999"),
        (global, state("\"phase\":1,\"invocation_index\":77"), "the program has no loop 77"),
        ("\"index\":3", "\"index\":4".to_owned(), "there is no column 4"),
    ] {
        assert!(text.contains(from), "{from}");
        let tampered = folder.file("tampered.xml", text.replacen(from, &to, 1));
        let ran = drawloom(&["event", &tampered]).exits(1);
        assert!(ran.err.contains(words) && !ran.err.contains("panicked"), "{from}: {}", ran.err);
    }
}
