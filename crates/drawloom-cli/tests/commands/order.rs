//! `drawloom order`.

use crate::support::{RACE, SWAP_JSON, VALID, drawloom, drawloom_with, example};
use serde_json::{Value, json};

#[test]
fn text_shows_the_order_the_parameters_and_the_reasons() {
    let ran = drawloom_with(&["order", "-"], VALID).exits(0);
    assert_eq!(
        ran.out,
        "<stdin>: a serial order of 2 tasks
   1  reader  read A, write B
   2  writer  write A

1 order because data is overwritten in place:
  reader must run before writer because reader reads A (version 0) and writer overwrites A
"
    );
}

#[test]
fn json_has_tasks_orders_and_launches() {
    let line = drawloom_with(&["order", "--format", "json", "-"], VALID).exits(0).json();
    assert_eq!(line["file"], json!("-"));
    assert_eq!(line["tasks"], json!(["reader", "writer"]));
    assert_eq!(line["happens_before"], json!([["reader", "writer"]]));
    let launches = line["launches"].as_array().expect("a list");
    assert_eq!(launches.len(), 2);
    assert_eq!(launches[0]["task"], json!("reader"));
    let parameters = launches[0]["parameters"].as_array().expect("a list");
    let told: Vec<_> = parameters.iter().map(|p| (p["region"].clone(), p["privilege"].clone())).collect();
    assert_eq!(told, [(json!("A"), json!("read")), (json!("B"), json!("write"))]);
    assert_eq!(parameters[0]["takes"], json!("A0"));
    assert!(parameters[0].get("makes").is_none());
    assert_eq!((&parameters[1]["takes"], &parameters[1]["makes"]), (&json!("B0"), &json!("B1")));
}

#[test]
fn a_graph_without_an_order_exits_with_1_and_says_why() {
    let ran = drawloom_with(&["order", "-"], RACE).exits(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("RF2"), "{}", ran.err);
    for option in [&["--format", "json"][..], &["--augment"]] {
        let ran = drawloom_with(&[&["order"], option, &["-"]].concat(), SWAP_JSON).exits(1);
        let line = ran.json();
        assert_eq!((&line["file"], &line["valid"]), (&json!("-"), &json!(false)));
        assert_eq!(line["violations"][0]["rule"], json!("S1"));
    }
}

#[test]
fn an_unusable_input_exits_with_2_in_every_format() {
    assert!(drawloom(&["order", "missing.loom"]).exits(2).err.contains("missing.loom"));
    for option in [&["--format", "json"][..], &["--augment"]] {
        let ran = drawloom(&[&["order"], option, &["missing.loom"]].concat()).exits(2);
        assert_eq!(ran.json()["file"], json!("missing.loom"));
        assert_eq!(ran.err, "");
    }
}

#[test]
fn a_folder_is_refused() {
    let ran = drawloom(&["order", env!("CARGO_MANIFEST_DIR")]).exits(2);
    assert!(ran.err.contains("is a folder, and this command reads one file"), "{}", ran.err);
}

#[test]
fn augmenting_adds_the_derived_orders_and_twice_adds_nothing() {
    for name in ["stencil.loom", "cholesky.loom", "circuit.loom", "loop.loom", "literal-refuses.loom"] {
        let once = drawloom(&["order", "--augment", &example(name)]).exits(0).out;
        let twice = drawloom_with(&["order", "--augment", "-"], &once).exits(0).out;
        assert_eq!(once, twice, "{name}");
    }
    let once = drawloom_with(&["order", "--augment", "-"], VALID).exits(0).json();
    assert_eq!(orders(&once), [json!(["reader", "writer"])]);
}

#[test]
fn an_augmented_graph_has_the_same_order() {
    let before = drawloom_with(&["order", "--format", "json", "-"], VALID).exits(0).json();
    let augmented = drawloom_with(&["order", "--augment", "-"], VALID).exits(0).out;
    let after = drawloom_with(&["order", "--format", "json", "-"], &augmented).exits(0).json();
    assert_eq!(before["tasks"], after["tasks"]);
    assert_eq!(before["happens_before"], after["happens_before"]);
}

#[test]
fn augment_and_format_exclude_each_other() {
    let ran = drawloom(&["order", "--augment", "--format", "json", "x.loom"]).exits(2);
    assert!(ran.err.contains("cannot be used with"), "{}", ran.err);
}

fn orders(graph: &Value) -> Vec<Value> {
    let edges = graph["edges"].as_array().expect("edges");
    let orders = edges.iter().filter(|edge| edge["label"] == "HappensBefore");
    orders.map(|edge| json!([edge["from"], edge["to"]])).collect()
}
