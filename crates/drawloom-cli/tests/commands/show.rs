//! `drawloom show`.

use crate::support::{Folder, RACE, VALID, drawloom, drawloom_with, example};

#[test]
fn the_ending_of_the_name_says_what_is_drawn() {
    let folder = Folder::new();
    for (name, start) in [("out.svg", "<svg"), ("out.dot", "digraph")] {
        let ran = drawloom_with(&["show", "-", "-o", &folder.path(name)], VALID).exits(0);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", ""));
        let drawn = folder.read(name);
        assert!(drawn.starts_with(start), "{name}: {}", &drawn[..drawn.len().min(80)]);
        for node in ["reader", "writer"] {
            assert!(drawn.contains(node), "{name} does not show {node}");
        }
    }
}

#[test]
fn without_a_name_the_drawing_goes_to_standard_output() {
    let ran = drawloom_with(&["show", "-"], VALID).exits(0);
    assert!(ran.out.starts_with("<svg") && ran.out.trim_end().ends_with("</svg>"));
    let ran = drawloom_with(&["show", "--format", "dot", "-o", "-", "-"], VALID).exits(0);
    assert!(ran.out.starts_with("digraph"));
}

#[test]
fn an_invalid_graph_is_drawn_with_its_violation() {
    for format in ["svg", "dot"] {
        let invalid = drawloom_with(&["show", "--format", format, "-"], RACE).exits(0).out;
        assert!(invalid.contains("RF2"), "{format}");
        let valid = drawloom_with(&["show", "--format", format, "-"], VALID).exits(0).out;
        assert!(!valid.contains("RF2"), "{format}");
    }
}

#[test]
fn every_shipped_example_can_be_drawn() {
    for name in ["stencil", "cholesky", "circuit", "loop", "literal-refuses", "seed-swap", "published-accepts"] {
        for format in ["svg", "dot"] {
            let file = example(&format!("{name}.loom"));
            assert!(!drawloom(&["show", "--format", format, &file]).exits(0).out.is_empty());
        }
    }
}

#[test]
fn an_ending_that_says_nothing_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    let out = folder.path("out.png");
    let ran = drawloom_with(&["show", "-", "-o", &out], VALID).exits(2);
    assert!(ran.err.contains("ends in neither .svg nor .dot"), "{}", ran.err);
    assert!(!std::path::Path::new(&out).exists());
}

#[test]
fn what_cannot_be_read_or_written_exits_with_2() {
    let folder = Folder::new();
    drawloom(&["show", "missing.loom"]).exits(2);
    let ran = drawloom_with(&["show", "-", "-o", &folder.path("no/such/folder.svg")], VALID).exits(2);
    assert!(ran.err.contains("cannot write"), "{}", ran.err);
}
