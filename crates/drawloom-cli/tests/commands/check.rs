//! `drawloom check`.

use crate::support::{Folder, RACE, SWAP_JSON, VALID, drawloom, drawloom_in, drawloom_with, example};
use serde_json::json;

#[test]
fn a_valid_graph_exits_with_0_and_is_ordered_and_explained() {
    let folder = Folder::new();
    let file = folder.file("valid.loom", VALID);
    let ran = drawloom(&["check", &file]).exits(0);
    assert!(ran.out.starts_with(&format!("{file}: valid\n")), "{}", ran.out);
    assert!(ran.out.contains("2 tasks"), "{}", ran.out);
    assert!(ran.out.contains("reader  read A, write B"), "{}", ran.out);
    let why = "reader must run before writer because reader reads A (version 0) and writer overwrites A";
    assert!(ran.out.contains(why), "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn an_invalid_graph_exits_with_1_and_shows_the_rule_and_the_names() {
    let folder = Folder::new();
    let file = folder.file("race.loom", RACE);
    let ran = drawloom(&["check", &file]).exits(1);
    for part in ["RF2", "A1", "A2", "race.loom", "invalid, 1 violation of RF2"] {
        assert!(ran.out.contains(part), "{part} is missing: {}", ran.out);
    }
}

#[test]
fn bad_syntax_exits_with_2_and_points_at_the_place() {
    let folder = Folder::new();
    let file = folder.file("bad.loom", "region A\ntask t(wirte A)\n");
    let ran = drawloom(&["check", &file]).exits(2);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("bad.loom:2:"), "{}", ran.err);
    assert!(ran.err.contains("wirte"), "{}", ran.err);
}

#[test]
fn a_missing_file_exits_with_2_and_is_named() {
    let ran = drawloom(&["check", "no/such/file.loom"]).exits(2);
    assert_eq!(ran.err, "drawloom: cannot read no/such/file.loom: there is no such file\n");
}

#[test]
fn json_output_is_one_line_with_the_keys_that_scripts_rely_on() {
    let folder = Folder::new();
    let file = folder.file("race.loom", RACE);
    let ran = drawloom(&["check", "--format", "json", &file]).exits(1);
    assert_eq!(ran.err, "");
    let line = ran.json();
    assert_eq!(line["file"], json!(file));
    assert_eq!(line["valid"], json!(false));
    assert_eq!(line["warnings"], json!([]));
    let violations = line["violations"].as_array().expect("a list");
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0]["rule"], json!("RF2"));
    assert!(violations[0]["message"].as_str().expect("text").contains('A'));
    let mut nodes: Vec<&str> =
        violations[0]["nodes"].as_array().expect("ids").iter().filter_map(|n| n.as_str()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["A1", "A2"]);
    assert!(violations[0]["witness"].is_object());
}

#[test]
fn integer_ids_stay_integers() {
    let ran = drawloom_with(&["check", "--format", "json", "-"], SWAP_JSON).exits(1);
    let line = ran.json();
    assert_eq!(line["file"], json!("-"));
    assert_eq!(line["violations"][0]["rule"], json!("S1"));
    let nodes = line["violations"][0]["nodes"].as_array().expect("ids");
    assert!(nodes.contains(&json!("t1")) && nodes.contains(&json!("t2")), "{nodes:?}");
    let out = line.to_string();
    assert!(!out.contains("null"), "{out}");
}

#[test]
fn an_unusable_input_is_a_line_of_json_too() {
    let folder = Folder::new();
    let cases: [(&str, &[u8]); 6] = [
        ("syntax.loom", b"task ("),
        ("syntax.json", b"{\"nodes\":"),
        ("label.json", br#"{"nodes":[{"id":"a","label":"Tusk"}],"edges":[]}"#),
        ("twice.json", br#"{"nodes":[{"id":"a","label":"Task"},{"id":"a","label":"Task"}],"edges":[]}"#),
        ("bytes.loom", b"region A\xff\n"),
        ("bytes.json", b"{\"nodes\": \"\xff\"}"),
    ];
    for (name, contents) in cases {
        let file = folder.file(name, contents);
        let ran = drawloom(&["check", "--format", "json", &file]).exits(2);
        let line = ran.json();
        let keys: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["error", "file"], "{name}: {line}");
        assert_eq!(line["file"], json!(file));
        assert!(!line["error"].as_str().expect("text").is_empty());
        assert_eq!(ran.err, "");
    }
    let ran = drawloom(&["check", "--format", "json", "missing.json"]).exits(2);
    assert_eq!(ran.json(), json!({"file": "missing.json", "error": "cannot read missing.json: there is no such file"}));
}

#[test]
fn whatever_has_a_rule_is_a_violation_and_not_an_unusable_input() {
    let cases = [
        (
            "WF0",
            r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":"a","label":"Region","region":"A"}],"edges":[{"from":"a","to":"b","label":"Read"}]}"#,
        ),
        (
            "WF1",
            r#"{"region_graph":{"regions":[]},"nodes":[{"id":"t","label":"Task"}],"edges":[{"from":"t","to":"t","label":"HappensBefore"}]}"#,
        ),
        (
            "WF4",
            r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":"t","label":"Task"},{"id":"a","label":"Region","region":"A"}],"edges":[{"from":"t","to":"a","label":"Reduce"}]}"#,
        ),
        (
            "RG1",
            r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":"a","label":"Region","region":"B"},{"id":"t","label":"Task"}],"edges":[{"from":"a","to":"t","label":"Read"}]}"#,
        ),
        (
            "RG2",
            r#"{"region_graph":{"regions":["A","B"],"subregion":[["A","B"],["B","A"]]},"nodes":[{"id":"a","label":"Region","region":"A"},{"id":"t","label":"Task"}],"edges":[{"from":"a","to":"t","label":"Read"}]}"#,
        ),
    ];
    for (rule, graph) in cases {
        let ran = drawloom_with(&["check", "--format", "json", "-"], graph).exits(1);
        let line = ran.json();
        let rules: Vec<_> = line["violations"].as_array().expect("a list").iter().map(|v| v["rule"].clone()).collect();
        assert!(rules.contains(&json!(rule)), "{rule}: {line}");
    }
}

#[test]
fn several_files_are_all_processed_and_the_worst_exit_code_wins() {
    let folder = Folder::new();
    let valid = folder.file("a.loom", VALID);
    let bad = folder.file("b.loom", "what is this");
    let race = folder.file("c.loom", RACE);
    let lines = drawloom(&["check", "--format", "json", &bad, &valid, &race]).exits(2).json_lines();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].get("error").is_some());
    assert_eq!((&lines[1]["valid"], &lines[2]["valid"]), (&json!(true), &json!(false)));
    drawloom(&["check", &valid, &race]).exits(1);
    drawloom(&["check", &valid, &valid]).exits(0);

    let ran = drawloom(&["check", &valid, &race, &bad]).exits(2);
    assert!(ran.out.contains("a.loom: valid\n"), "{}", ran.out);
    assert!(ran.out.ends_with("3 files: 1 valid, 1 invalid, 1 unusable\n"), "{}", ran.out);
}

#[test]
fn a_folder_is_every_graph_below_it_in_order_of_name() {
    let folder = Folder::new();
    folder.file("graphs/b.json", SWAP_JSON);
    folder.file("graphs/a.loom", VALID);
    folder.file("graphs/below/c.loom", RACE);
    folder.file("graphs/notes.txt", "not a graph");
    let ran = drawloom_in(folder.as_path(), &["check", "--format", "json", "graphs"], "").exits(1);
    let files: Vec<_> = ran.json_lines().into_iter().map(|line| line["file"].clone()).collect();
    assert_eq!(files, ["graphs/a.loom", "graphs/b.json", "graphs/below/c.loom"]);
}

#[test]
fn a_folder_without_graphs_is_unusable() {
    let folder = Folder::new();
    folder.file("empty/notes.txt", "not a graph");
    let ran = drawloom_in(folder.as_path(), &["check", "--format", "json", "empty"], "").exits(2);
    assert_eq!(ran.json(), json!({"file": "empty", "error": "empty holds no .loom or .json file"}));
}

#[cfg(unix)]
#[test]
fn a_folder_linked_into_itself_ends() {
    let folder = Folder::new();
    folder.file("graphs/a.loom", VALID);
    std::os::unix::fs::symlink(folder.path("graphs"), folder.path("graphs/again")).expect("a link can be made");
    let ran = drawloom_in(folder.as_path(), &["check", "--format", "json", "graphs"], "").exits(0);
    assert_eq!(ran.json_lines().len(), 1);
}

#[test]
fn standard_input_is_text_or_json_and_is_read_once() {
    drawloom_with(&["check", "-"], VALID).exits(0);
    let ran = drawloom_with(&["check", "-"], RACE).exits(1);
    assert!(ran.out.contains("<stdin>"), "{}", ran.out);
    drawloom_with(&["check", "-"], SWAP_JSON).exits(1);
    let lines = drawloom_with(&["check", "--format", "json", "-", "-"], VALID).exits(2).json_lines();
    assert_eq!(lines[0]["valid"], json!(true));
    assert_eq!(lines[1], json!({"file": "-", "error": "standard input can be read only once"}));
}

#[test]
fn quiet_says_nothing_about_what_is_valid() {
    let folder = Folder::new();
    let (valid, race) = (folder.file("a.loom", VALID), folder.file("b.loom", RACE));
    let ran = drawloom(&["check", "--quiet", &valid]).exits(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
    let ran = drawloom(&["check", "-q", &valid, &race]).exits(1);
    assert!(!ran.out.contains("a.loom") && ran.out.contains("b.loom"), "{}", ran.out);
}

#[test]
fn warnings_do_not_change_the_exit_code() {
    let graph = "region A\ngraph {\n    data A0: A\n    open o\n    task t\n    A0 -> o: read\n    A0 -> t: read\n}\n";
    let line = drawloom_with(&["check", "--format", "json", "-"], graph).exits(0).json();
    assert_eq!(line["valid"], json!(true));
    assert_eq!(line["warnings"][0]["rule"], json!("W1"));
    let ran = drawloom_with(&["check", "--quiet", "-"], graph).exits(0);
    assert!(ran.out.contains("W1"), "{}", ran.out);
}

#[test]
fn a_refused_call_is_a_violation() {
    let program = "space cells 10\nfield u on cells\npartition p of cells = equal 2\ntask t(read u, write u.p[0])\n";
    let line = drawloom_with(&["check", "--format", "json", "-"], program).exits(1).json();
    assert_eq!(line["valid"], json!(false));
    assert_eq!(line["violations"][0]["rule"], json!("P1"));
    let ran = drawloom_with(&["order", "-"], program).exits(1);
    assert!(ran.err.contains("P1"), "{}", ran.err);
}

#[test]
fn sarif_is_one_document_with_rules_results_and_places() {
    let folder = Folder::new();
    folder.file("a.loom", VALID);
    folder.file("b.loom", RACE);
    folder.file("c.json", SWAP_JSON);
    let ran = drawloom_in(folder.as_path(), &["check", "--format", "sarif", "a.loom", "b.loom", "c.json"], "").exits(1);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("SARIF is JSON");
    assert_eq!(document["version"], json!("2.1.0"));
    assert!(document["$schema"].as_str().expect("a schema").contains("sarif"));
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], json!("drawloom"));
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(rules.iter().any(|rule| rule["id"] == "RF2" && rule["shortDescription"]["text"].is_string()));
    let results = run["results"].as_array().expect("results");
    let ids: Vec<_> = results.iter().map(|r| r["ruleId"].clone()).collect();
    assert_eq!(ids, ["RF2", "S1"]);
    for result in results {
        assert_eq!(result["level"], json!("error"));
        assert!(result["message"]["text"].is_string());
        let at = result["ruleIndex"].as_u64().map(|i| rules[usize::try_from(i).expect("small")]["id"].clone());
        assert!(at.is_none_or(|id| id == result["ruleId"]));
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], json!("b.loom"));
    let line = place["region"]["startLine"].as_u64().expect("a line");
    assert!((5..=6).contains(&line), "the place is where A1 or A2 is declared: {line}");
}

#[test]
fn sarif_says_which_inputs_could_not_be_used() {
    let ran = drawloom(&["check", "--format", "sarif", "missing.loom"]).exits(2);
    let document: serde_json::Value = serde_json::from_str(&ran.out).expect("SARIF is JSON");
    assert_eq!(document["runs"][0]["results"], json!([]));
    assert!(ran.err.contains("missing.loom"), "{}", ran.err);
}

#[test]
fn the_shipped_examples_are_what_their_names_say() {
    for (name, code) in [
        ("stencil.loom", 0),
        ("cholesky.loom", 0),
        ("circuit.loom", 0),
        ("loop.loom", 0),
        ("literal-refuses.loom", 0),
        ("seed-swap.loom", 1),
        ("published-accepts.loom", 1),
    ] {
        let line = drawloom(&["check", "--format", "json", &example(name)]).exits(code).json();
        if code == 1 {
            assert_eq!(line["violations"][0]["rule"], json!("S1"), "{name}");
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for format in ["text", "json", "sarif"] {
        let runs: Vec<String> =
            (0..3).map(|_| drawloom(&["check", "--format", format, &example("stencil.loom")]).exits(0).out).collect();
        assert!(runs.iter().all(|run| *run == runs[0]), "{format}");
    }
}
