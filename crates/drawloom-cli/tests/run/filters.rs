//! `drawloom run filters`.

use crate::cholesky::keys;
use crate::support::drawloom;

#[test]
fn filters_give_their_known_numbers_and_print_every_key_last() {
    let filters = |more: &[&str]| {
        let arguments = ["run", "filters", "--workers", "1", "--json"].into_iter().chain(more.iter().copied());
        drawloom(&arguments.collect::<Vec<_>>()).exits(0).json()
    };
    let line = filters(&["--app", "modfilter", "--n", "1e6", "--fuse", "off"]);
    let expected = ["app", "n", "width", "workers", "outputs", "sum", "seconds", "nodes"];
    assert!(expected.iter().all(|key| keys(&line).contains(key)), "{line}");
    assert_eq!((&line["outputs"], &line["sum"]), (&33_184.into(), &71_313_248_635_145_u64.into()));
    let runs: Vec<_> = line["nodes"].as_array().unwrap().iter().map(|node| node["runs"].as_u64().unwrap()).collect();
    assert_eq!(runs, [7813, 3909, 1300, 260]);
    let line = filters(&["--app", "modfilter", "--n", "1e6"]);
    let inputs: Vec<_> =
        line["nodes"].as_array().unwrap().iter().map(|node| node["inputs"].as_u64().unwrap()).collect();
    assert_eq!(inputs, [1_000_000, 500_350, 166_328, 33_184]);
    assert!(line["nodes"][1].get("runs").is_none(), "those that run as one with another have inputs only: {line}");
    let line = filters(&["--app", "splitfilter", "--n", "1e5", "--ordered"]);
    let outputs = &line["outputs"];
    assert_eq!(outputs["accept"].as_u64().unwrap() + outputs["reject"].as_u64().unwrap(), 100_000, "{line}");
    let line = filters(&["--app", "regionsum", "--n", "1e5", "--mean-length", "16"]);
    assert_eq!(line["sum"], 107_471_978_673_294_u64);
}

#[test]
fn segments_are_not_empty_on_average() {
    let ran = drawloom(&["run", "filters", "--app", "regionsum", "--mean-length", "0"]).exits(2);
    assert!(ran.err.contains("--mean-length") && ran.err.contains("a length is at least one"), "{}", ran.err);
}

#[test]
fn queens_and_a_search_have_their_known_numbers() {
    let filters = |more: &[&str]| {
        let arguments = ["run", "filters", "--json"].into_iter().chain(more.iter().copied());
        drawloom(&arguments.collect::<Vec<_>>()).exits(0).json()
    };
    let line = filters(&["--app", "queens"]);
    assert_eq!((&line["n"], &line["outputs"], &line["sum"]), (&8.into(), &92.into(), &322.into()), "{line}");
    let (one, two) =
        (&["--app", "blast", "--n", "1e5", "--workers", "1"], &["--app", "blast", "--n", "1e5", "--workers", "2"]);
    let (one, two) = (filters(one), filters(two));
    assert_eq!((&one["outputs"], &one["sum"]), (&two["outputs"], &two["sum"]));
    assert!(one["outputs"].as_u64().unwrap() > 100, "{one}");
    let ran = drawloom(&["run", "filters", "--app", "queens", "--n", "40"]).exits(1);
    assert!(ran.err.contains("at most 32 rows"), "{}", ran.err);
}

#[test]
fn times_pictures_and_traces_are_there_on_request() {
    let folder = std::env::temp_dir().join(format!("drawloom-filters-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (dot, trace) = (folder.join("filters.dot"), folder.join("filters.json"));
    let (dot_text, trace_text) = (dot.to_str().unwrap(), trace.to_str().unwrap());
    let ran = drawloom(&["run", "filters", "--n", "1e4", "--timed", "--dot", dot_text, "--trace", trace_text]).exits(0);
    assert!(ran.out.contains("user ms") && ran.out.contains("blocked ms"), "{}", ran.out);
    assert!(std::fs::read_to_string(&dot).unwrap().starts_with("digraph"));
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(&trace).unwrap()).unwrap();
    assert!(trace.to_string().contains("\"f1\""));
    std::fs::remove_dir_all(&folder).unwrap();
    let line = drawloom(&["run", "filters", "--n", "1e4", "--timed", "--json"]).exits(0).json();
    assert!(line["nodes"][0]["user_seconds"].as_f64().unwrap() > 0.0, "{line}");
}

#[test]
fn files_that_cannot_be_written_are_refused_before_anything_runs() {
    let folder = std::env::temp_dir().join(format!("drawloom-filters-refused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (there, file) = (folder.to_str().unwrap(), folder.join("file"));
    let file_text = file.to_str().unwrap();
    std::fs::write(&file, "kept").unwrap();
    // It would take years.
    let refused = |more: &[&str]| {
        let arguments = ["run", "filters", "--n", "1e18"].into_iter().chain(more.iter().copied());
        let ran = drawloom(&arguments.collect::<Vec<_>>()).exits(2);
        assert!(ran.out.is_empty(), "{}", ran.out);
        ran.err
    };
    for option in ["--dot", "--trace"] {
        let why = refused(&[option, "/no/such/folder/file"]);
        assert!(why.contains("/no/such/folder/file: there is no folder /no/such/folder"), "{why}");
        let why = refused(&[option, there]);
        assert!(why.contains("it is a folder"), "{why}");
    }
    // One that is there is not emptied by being tried.
    let why = refused(&["--dot", file_text, "--trace", file_text]);
    assert!(why.contains("the picture and the trace would be written to the same file"), "{why}");
    let why = refused(&["--dot", file_text, "--trace", there]);
    assert!(why.contains("it is a folder"), "{why}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn options_that_a_program_leaves_alone_are_noted() {
    let run = |app, option| drawloom(&["run", "filters", "--app", app, "--n", "100", option, "3", "--json"]).exits(0);
    let ran = run("modfilter", "--mean-length");
    assert!(ran.err.contains("note: --mean-length is for regionsum: modfilter has no segments"), "{}", ran.err);
    let ran = run("regionsum", "--work");
    assert!(ran.err.contains("note: --work is for synthgain and sametypepipe: regionsum has no rounds"), "{}", ran.err);
    for (app, option) in [("synthgain", "--work"), ("sametypepipe", "--work"), ("regionsum", "--mean-length")] {
        assert_eq!(run(app, option).err, "", "{app}");
    }
}

#[test]
fn negative_numbers_are_no_unknown_options() {
    for (option, app) in
        [("--n", "modfilter"), ("--width", "modfilter"), ("--workers", "modfilter"), ("--mean-length", "regionsum")]
    {
        let ran = drawloom(&["run", "filters", "--app", app, option, "-5"]).exits(2);
        assert!(ran.err.contains("`-5` is negative") && ran.err.contains(option), "{}", ran.err);
    }
    let ran = drawloom(&["run", "filters", "--n", "--json"]).exits(2);
    assert!(!ran.err.contains("is not an integer"), "an option is no number: {}", ran.err);
}

#[test]
fn inputs_that_have_no_number_of_32_bits_are_not_left_out_silently() {
    for app in ["regionsum", "blast"] {
        let ran = drawloom(&["run", "filters", "--app", app, "--n", "4294967296", "--json"]).exits(2);
        assert!(ran.err.contains(app) && ran.err.contains("at most 4294967295"), "{}", ran.err);
    }
}

#[test]
fn filters_that_cannot_run_are_unusable() {
    let ran = drawloom(&["run", "filters", "--width", "0"]).exits(2);
    assert!(ran.err.contains("has a width of zero"), "{}", ran.err);
}
