//! `drawloom stats`.

use crate::support::{RACE, VALID, drawloom, drawloom_with};
use serde_json::json;

#[test]
fn json_counts_everything() {
    let line = drawloom_with(&["stats", "--format", "json", "-"], VALID).exits(0).json();
    assert_eq!(
        line,
        json!({
            "file": "-", "valid": true, "tasks": 2, "opens": 0, "closes": 0, "versions": 4, "regions": 2,
            "regions_in_use": 2, "bodies": 0, "edges": 5, "reads": 1, "discards": 2, "writes": 2, "reduces": 0, "uses": 0,
            "stated_orders": 0, "violations": 0, "warnings": 0, "derived_orders": 1, "work": 2.0, "span": 2.0,
            "average_width": 1.0, "greatest_width": 1, "critical_path": 2
        })
    );
}

#[test]
fn costs_count_in_work_and_span() {
    let program = "region A, B\ndisjoint A, B\ntask a(write A) cost 3\ntask b(write B) cost 5\n";
    let line = drawloom_with(&["stats", "--format", "json", "-"], program).exits(0).json();
    assert_eq!((&line["work"], &line["span"]), (&json!(8.0), &json!(5.0)));
    assert_eq!(line["greatest_width"], json!(2));
}

#[test]
fn an_invalid_graph_is_counted_and_not_ordered() {
    let line = drawloom_with(&["stats", "--format", "json", "-"], RACE).exits(1).json();
    assert_eq!((&line["valid"], &line["violations"]), (&json!(false), &json!(1)));
    assert!(line.get("work").is_none());
    let ran = drawloom_with(&["stats", "-"], RACE).exits(1);
    assert!(ran.out.starts_with("<stdin>: invalid\n"), "{}", ran.out);
}

#[test]
fn text_is_a_table() {
    let ran = drawloom_with(&["stats", "-"], VALID).exits(0);
    assert!(ran.out.lines().any(|line| line.split_whitespace().eq(["derived", "orders", "1"])), "{}", ran.out);
    drawloom(&["stats", "missing.loom"]).exits(2);
}
