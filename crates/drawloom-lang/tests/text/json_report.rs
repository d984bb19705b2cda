//! Reports for programs: exact lines.

use drawloom_graph::{Body, Control, Graph, Label, NodeKind, Regions};
use drawloom_lang::json;
use drawloom_lang::report::{Checked, check_json, error_json, order_json, sarif};
use serde_json::Value;

fn graph(regions: &str, nodes: &str, edges: &str) -> Graph {
    json::read(format!(r#"{{"region_graph":{regions},"nodes":[{nodes}],"edges":[{edges}]}}"#).as_bytes()).unwrap()
}

/// RDIR's own example, with integer ids.
fn swap() -> Graph {
    graph(
        r#"{"regions":["A","B"],"disjoint":[["A","B"]]}"#,
        r#"{"id":0,"label":"Region","region":"A"},{"id":1,"label":"Region","region":"B"},{"id":"t1","label":"Task"},
           {"id":"t2","label":"Task"},{"id":4,"label":"Region","region":"A"},{"id":5,"label":"Region","region":"B"}"#,
        r#"{"from":0,"to":"t1","label":"Read"},{"from":1,"to":"t1","label":"Read"},{"from":0,"to":"t2","label":"Read"},
           {"from":1,"to":"t2","label":"Read"},{"from":"t1","to":4,"label":"Write"},{"from":"t2","to":5,"label":"Write"}"#,
    )
}

fn report(graph: &Graph) -> Value {
    let line = check_json("g.json", graph, &graph.check());
    assert!(!line.contains('\n') && !line.contains("null"), "{line}");
    serde_json::from_str(&line).unwrap()
}

#[test]
fn a_valid_graph_is_one_short_line() {
    let graph = graph("{}", r#"{"id":1,"label":"Task"}"#, "");
    assert_eq!(
        check_json("a \"b\".json", &graph, &graph.check()),
        r#"{"file":"a \"b\".json","valid":true,"violations":[],"warnings":[]}"#
    );
}

#[test]
fn an_unusable_file_is_one_line_with_its_error() {
    assert_eq!(error_json("x", "line 1, column 2: no"), r#"{"file":"x","error":"line 1, column 2: no"}"#);
}

#[test]
fn an_order_cycle_is_told_in_steps_and_sentences() {
    let line = report(&swap());
    assert_eq!(line["valid"], false);
    let finding = &line["violations"][0];
    assert_eq!(finding["rule"], "S1");
    let witness = &finding["witness"];
    assert_eq!(witness["kind"], "order");
    let steps = witness["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    for step in steps {
        assert_eq!(step["because"], "overwrites");
        assert!(step["reads"].is_u64() && step["writes"].is_u64(), "integers stay integers: {step}");
    }
    assert_eq!(steps[0]["before"], steps[1]["after"], "the steps close a cycle");
    assert_eq!(steps[0]["after"], steps[1]["before"], "the steps close a cycle");
    let sentences: Vec<&str> = witness["sentences"].as_array().unwrap().iter().map(|s| s.as_str().unwrap()).collect();
    assert!(
        sentences.contains(&"t1 must run before t2 because t1 reads B (version 0) and t2 overwrites B"),
        "{sentences:?}"
    );
}

#[test]
fn unordered_versions_carry_regions_and_the_missing_fact() {
    let graph = graph(
        r#"{"regions":["A","B"]}"#,
        r#"{"id":"a","label":"Region","region":"A"},{"id":"b","label":"Region","region":"B"},
           {"id":"s","label":"Task"},{"id":"t","label":"Task"}"#,
        r#"{"from":"a","to":"s","label":"Read"},{"from":"b","to":"t","label":"Read"}"#,
    );
    let finding = &report(&graph)["violations"][0];
    assert_eq!(finding["rule"], "RF2");
    let witness = &finding["witness"];
    assert_eq!(witness["kind"], "unordered");
    assert_eq!(witness["alias"]["kind"], "not_known_disjoint");
    let mut regions: Vec<&str> = witness["regions"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    regions.sort_unstable();
    assert_eq!(regions, ["A", "B"]);
    assert!(witness.get("common_ancestor").is_none(), "an absent value is an absent key");
    assert!(!witness["sentences"].as_array().unwrap().is_empty());
}

#[test]
fn cycles_and_facts_are_structured() {
    let graph = graph(
        r#"{"regions":["A"]}"#,
        r#"{"id":1,"label":"Region","region":"A"},{"id":2,"label":"Task"}"#,
        r#"{"from":1,"to":2,"label":"Read"},{"from":2,"to":1,"label":"Write"}"#,
    );
    let finding = &report(&graph)["violations"][0];
    assert_eq!((finding["rule"].as_str(), finding["witness"]["kind"].as_str()), (Some("WF1"), Some("cycle")));
    let edges = finding["witness"]["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 2);
    assert!(edges.contains(&serde_json::json!([1, 2, "Read"])), "{edges:?}");

    let graph = self::graph(r#"{"regions":["A","B"],"subregion":[["A","B"],["B","A"]]}"#, "", "");
    let finding = &report(&graph)["violations"][0];
    assert_eq!(finding["rule"], "RG2");
    assert_eq!(finding["witness"]["kind"], "facts");
    assert_eq!(finding["witness"]["problem"], "cycle");
}

/// A control node whose `else` branch, and only that, has a race.
fn racy_branch() -> Graph {
    let mut regions = Regions::new();
    let a = regions.abstract_region("A").unwrap();
    let mut graph = Graph::new(regions);
    let outer = graph.add_data("A0", a);
    let choose = graph.add_compute("choose", NodeKind::Task);
    graph.connect(outer, choose, Label::Read);
    let mut fine = Graph::new(graph.shared_regions());
    for name in ["one", "two", "three"] {
        fine.add_compute(name, NodeKind::Task);
    }
    let mut racy = Graph::new(graph.shared_regions());
    let versions = [racy.add_data("left", a), racy.add_data("right", a)];
    for version in versions {
        let task = racy.add_compute("", NodeKind::Task);
        racy.connect(version, task, Label::Read);
    }
    graph.set_body(choose, Body::new(Control::If(a), fine).with_otherwise(racy));
    graph
}

#[test]
fn a_finding_inside_a_branch_names_the_nodes_of_that_branch() {
    let line = report(&racy_branch());
    let finding = line["violations"].as_array().unwrap().iter().find(|f| f["rule"] == "RF2").unwrap();
    assert_eq!(finding["scope"], serde_json::json!(["choose"]));
    let mut nodes: Vec<&str> = finding["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["left", "right"]);
}

#[test]
fn an_order_lists_tasks_pairs_and_launches() {
    let graph = graph(
        r#"{"regions":["A","S"],"disjoint":[["A","S"]]}"#,
        r#"{"id":1,"label":"Region","region":"A"},{"id":2,"label":"Region","region":"A"},{"id":"x","label":"Task"},
           {"id":"c","label":"Task"},{"id":"s0","label":"Region","region":"S"},{"id":"s1","label":"Region","region":"S"}"#,
        r#"{"from":1,"to":"x","label":"Read","port":4},{"from":1,"to":"c","label":"Read"},{"from":"c","to":2,"label":"Write"},
           {"from":"s0","to":"x","label":"Use"},{"from":"x","to":"s1","label":"Reduce","op":"+"}"#,
    );
    let order = graph.order().unwrap();
    let line = order_json("g.json", &graph, &order, &graph.launches(&order.tasks));
    assert_eq!(
        line,
        concat!(
            r#"{"file":"g.json","tasks":["x","c"],"happens_before":[["x","c"]],"launches":["#,
            r#"{"task":"x","parameters":[{"region":"A","privilege":"read","takes":1,"ports":[4]},"#,
            r#"{"region":"S","privilege":"reduce","op":"+","takes":"s0","makes":"s1"}]},"#,
            r#"{"task":"c","parameters":[{"region":"A","privilege":"update","takes":1,"makes":2}]}]}"#
        )
    );
}

#[test]
fn sarif_has_rules_places_and_unusable_files() {
    let (graph, nested) = (swap(), racy_branch());
    let (report, nested_report) = (graph.check(), nested.check());
    let source = "first line\n  t1 é is here\n";
    let spans = |node: drawloom_graph::NodeId| (graph.name(node) == "t1").then_some(13..15);
    let none = |_: drawloom_graph::NodeId| None;
    let text = sarif(
        &[
            Checked { file: "dir/a b.loom", source: Some(source), graph: &graph, report: &report, spans: &spans },
            Checked { file: "n.json", source: None, graph: &nested, report: &nested_report, spans: &none },
        ],
        &[("bad.json", "line 1, column 1: no")],
    );
    let log: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), drawloom_graph::Rule::ALL.len());
    for result in run["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"], "the index is the rule's place in the table");
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    let result = &run["results"][0];
    assert_eq!((result["ruleId"].as_str(), result["level"].as_str()), (Some("S1"), Some("error")));
    let places: Vec<&Value> = std::iter::once(&result["locations"][0])
        .chain(result["relatedLocations"].as_array().into_iter().flatten())
        .collect();
    let place = places.iter().find(|p| p["logicalLocations"][0]["name"] == "t1").expect("t1 is named");
    assert_eq!(place["physicalLocation"]["artifactLocation"]["uri"], "dir/a%20b.loom");
    assert_eq!(
        place["physicalLocation"]["region"],
        serde_json::json!({"startLine": 2, "startColumn": 3, "endLine": 2, "endColumn": 5})
    );
    let inner = run["results"].as_array().unwrap().iter().find(|r| r["ruleId"] == "RF2").unwrap();
    let name = inner["locations"][0]["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
    assert!(name.starts_with("choose/"), "{name}");
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"][0]["message"]["text"], "line 1, column 1: no");
}
