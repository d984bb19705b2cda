//! Loading either format from bytes.

use drawloom_lang::load::{LoadErrorKind, load};

const JSON: &str =
    r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":"A0","label":"Region","region":"A"}],"edges":[]}"#;

#[test]
fn json_is_known_by_its_name_or_its_first_character() {
    for (name, text) in [("a.json", JSON.to_owned()), ("a.JSON", JSON.to_owned()), ("-", format!("\n \t{JSON}"))] {
        let loaded = load(name, text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(loaded.graph.nodes().len(), 1, "{name}");
        assert!(loaded.source.is_none());
    }
    let error = load("a.json", b"region A").unwrap_err();
    assert!(matches!(error.kind(), LoadErrorKind::Json(_)));
    assert!(error.to_string().starts_with("a.json:1:"), "{error}");
    assert!(error.render(false).starts_with("error: a.json:1:"), "{}", error.render(false));
}

#[test]
fn anything_else_is_the_text_language() {
    let loaded = load("<stdin>", "\u{feff}region A\r\ntask f(update A)\r\n".as_bytes()).unwrap();
    assert_eq!(loaded.graph.tasks().count(), 1);
    let source = loaded.source.expect("a text has a source");
    assert_eq!(source.name, "<stdin>");
    assert!(load("empty.loom", b"").unwrap().graph.nodes().is_empty());
}

#[test]
fn bytes_that_are_no_text_are_named_with_their_place() {
    let error = load("x.loom", b"region A\ntask f\xc3(").unwrap_err();
    assert_eq!(*error.kind(), LoadErrorKind::NotText { offset: 15, byte: 0xc3, line: 2 });
    assert_eq!(error.to_string(), "x.loom:2: not UTF-8 text: byte 15 (0xc3) is part of no character");
}

#[test]
fn findings_come_with_the_graph_and_know_their_place() {
    let text = "region A\ntask f(update A, read A)\ntask f(update A, read A)\n";
    let loaded = load("x.loom", text.as_bytes()).unwrap();
    let source = loaded.source.as_ref().unwrap();
    assert_eq!(loaded.findings.len(), 2, "each call that is refused is told");
    assert_eq!(loaded.findings[0].rule.code(), "P1");
    let range = source.range(&loaded.graph, &loaded.findings[0]).unwrap();
    assert_eq!(&text[range], "read A");
    let told = drawloom_lang::render::render_all(&loaded.findings, &loaded.graph, Some(source), false);
    assert!(told.contains("x.loom:2:18") && told.contains("x.loom:3:18"), "{told}");
}
