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

#[test]
fn a_mesh_graph_that_stops_half_way_is_an_error_that_says_who_waits_for_what() {
    let folder = Folder::new();
    let file = folder.path("airfoil.xml");
    drawloom(&["event", "airfoil:2x2x1", "--write", &file]).exits(0);
    let text = folder.read("airfoil.xml");
    let lost = text.lines().find(|line| line.contains("\"cells_3:adt_calc_begin-global:adt_calc_begin\"")).unwrap();
    let edited = folder.file("edited.xml", text.replacen(lost, "", 1));
    let log = folder.path("log.jsonl");
    for executor in ["fifo", "lifo", "random", "delay", "parallel"] {
        let arguments = ["event", &edited, "--executor", executor, "--workers", "2", "--log", &log, "--json"];
        let ran = drawloom(&arguments).exits(1);
        assert!(ran.out.is_empty(), "{executor}: {}", ran.out);
        for words in [
            "stopped half way",
            "device \"global\" waits: the program is before step",
            "loop `adt_calc` is under way: 32 of 33 devices",
            "device \"cells_3\" waits: it is in loop `adt_calc`",
        ] {
            assert!(ran.err.contains(words), "{executor}: {}", ran.err);
        }
        // What happened is in the log, also of a run that failed.
        assert!(folder.read("log.jsonl").contains("\"adt_calc_begin\""), "{executor}");
        std::fs::remove_file(&log).unwrap();
    }
}

#[test]
fn the_log_of_a_run_that_a_handler_ended_is_written() {
    let folder = Folder::new();
    let log = folder.path("log.jsonl");
    for workers in ["1", "2"] {
        drawloom(&["event", "ring:100x100", "--limit", "50", "--log", &log, "--workers", workers]).exits(1);
        assert!(folder.read("log.jsonl").lines().last().unwrap().contains("\"end\""));
        std::fs::remove_file(&log).unwrap();
    }
}

#[test]
fn files_that_are_read_are_not_written_over() {
    let folder = Folder::new();
    let (file, log) = (folder.path("heat.xml"), folder.path("a.jsonl"));
    drawloom(&["event", "heat:3x3x5", "--write", &file, "--log", &log]).exits(0);
    let before = (folder.read("heat.xml"), folder.read("a.jsonl"));
    for (arguments, words) in [
        (vec!["event", &file, "--write", &file], "the graph would be written to"),
        (vec!["event", &file, "--log", &file], "the log would be written to"),
        (vec!["event", &file, "--log", &log, "--compare", &log], "which is the log to compare with"),
        (vec!["event", "heat:3x3x5", "--write", &log, "--log", &log], "would be written to the same file"),
        (vec!["event", &file, "--log", "/dev/stdout"], "where everything else is printed"),
        (vec!["event", &file, "--log", "missing/a.jsonl"], "there is no folder missing"),
    ] {
        let ran = drawloom(&arguments).exits(2);
        assert!(ran.err.contains(words) && ran.out.is_empty(), "{}", ran.err);
    }
    assert_eq!(before, (folder.read("heat.xml"), folder.read("a.jsonl")));
}

#[test]
fn a_file_without_a_graph_is_not_called_empty() {
    let folder = Folder::new();
    let text = folder.file("text.xml", "hello\n");
    assert!(drawloom(&["event", &text]).exits(2).err.contains("there is no element in the file"));
    let empty = folder.file("empty.xml", "");
    assert!(drawloom(&["event", &empty]).exits(2).err.contains("the file is empty"));
    assert!(drawloom(&["event", "heat:3x3x5", "--replay", &empty]).exits(2).err.contains("the log is empty"));
}

/// The sums of residuals are rounded otherwise when their parts come in another order.
#[test]
fn runs_that_round_otherwise_did_the_same() {
    let folder = Folder::new();
    let log = folder.path("a.jsonl");
    drawloom(&["event", "airfoil:6x9x3", "--log", &log]).exits(0);
    let other = ["event", "airfoil:6x9x3", "--executor", "random", "--seed", "5", "--compare", &log];
    let line = drawloom(&[&other[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(line["agrees"], true, "{line}");
    let largest = line["largest_difference"].as_f64().unwrap();
    assert!(largest > 0.0 && largest < 1e-12, "{line}");
    let exact = drawloom(&[&other[..], &["--tolerance", "0"]].concat()).exits(1);
    assert!(exact.out.contains("the runs did not do the same"), "{}", exact.out);
    assert!(exact.out.contains("the largest difference is") && exact.out.contains("in one run and"), "{}", exact.out);
    drawloom(&[&other[..], &["--tolerance", "-1"]].concat()).exits(2);
    // Programs that magnify how sums were rounded, and one with numbers of single precision.
    for program in ["aero:4x6x4", "jacobi_mixed:9x20"] {
        let log = folder.path("b.jsonl");
        drawloom(&["event", program, "--log", &log]).exits(0);
        drawloom(&["event", program, "--executor", "lifo", "--compare", &log]).exits(0);
    }
}
