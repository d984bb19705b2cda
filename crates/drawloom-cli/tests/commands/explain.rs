//! `drawloom explain`.

use crate::support::{RACE, VALID, drawloom, drawloom_with};
use serde_json::json;

const WHY: &str = "reader must run before writer because reader reads A (version 0) and writer overwrites A";

#[test]
fn both_directions_are_explained_by_the_same_steps() {
    let ran = drawloom_with(&["explain", "-", "reader", "writer"], VALID).exits(0);
    assert_eq!(ran.out, format!("reader must precede writer:\n  {WHY}\n"));
    let ran = drawloom_with(&["explain", "-", "writer", "reader"], VALID).exits(0);
    assert_eq!(ran.out, format!("reader must precede writer:\n  {WHY}\n"));
}

#[test]
fn what_nothing_orders_is_said_to_be_unordered() {
    let program = "region A, B\ndisjoint A, B\ntask a(write A)\ntask b(write B)\n";
    let ran = drawloom_with(&["explain", "-", "a", "b"], program).exits(0);
    assert_eq!(ran.out, "nothing orders a and b: they may run at the same time\n");
    let ran = drawloom_with(&["explain", "-", "a", "a"], program).exits(0);
    assert_eq!(ran.out, "a is one node: nothing precedes itself\n");
}

#[test]
fn json_has_the_relation_and_the_steps() {
    let line = drawloom_with(&["explain", "--format", "json", "-", "writer", "reader"], VALID).exits(0).json();
    let steps = json!([{"before": "reader", "after": "writer", "because": WHY}]);
    assert_eq!(line, json!({"file": "-", "a": "writer", "b": "reader", "relation": "after", "steps": steps}));
}

#[test]
fn an_unknown_name_is_unusable_and_near_names_are_suggested() {
    let ran = drawloom_with(&["explain", "-", "raeder", "writer"], VALID).exits(2);
    assert_eq!(ran.err, "drawloom: <stdin>: there is no node `raeder`; did you mean reader?\n");
    let line = drawloom_with(&["explain", "--format", "json", "-", "reader", "nobody"], VALID).exits(2).json();
    assert_eq!(line, json!({"file": "-", "error": "there is no node `nobody`"}));
}

#[test]
fn an_invalid_graph_is_not_explained_but_its_violations_are() {
    let ran = drawloom_with(&["explain", "-", "t1", "t2"], RACE).exits(1);
    assert!(ran.err.contains("RF2"), "{}", ran.err);
    drawloom(&["explain", "missing.loom", "a", "b"]).exits(2);
}
