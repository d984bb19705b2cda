//! What is wrong with a file, where, and in which words.

use drawloom_lang::json::{self, JsonErrorKind};

/// The kind and the text of the error that reading gives.
fn error(text: &str) -> (JsonErrorKind, String) {
    let error = json::read(text.as_bytes()).expect_err("the text is no graph");
    (error.kind(), error.to_string())
}

fn check(text: &str, kind: JsonErrorKind, message: &str) {
    assert_eq!(error(text), (kind, message.to_owned()), "for {text}");
}

#[test]
fn syntax_errors_name_their_place() {
    check("", JsonErrorKind::Syntax, "line 1, column 1: EOF while parsing a value");
    check("{\"nodes\":[]", JsonErrorKind::Syntax, "line 1, column 11: EOF while parsing an object");
    check("{\"nodes\":[],}", JsonErrorKind::Syntax, "line 1, column 13: trailing comma");
    check("{\"nodes\":[]} x", JsonErrorKind::Syntax, "line 1, column 14: trailing characters");
    check(
        "{\n \"nodes\": [\n  {\"id\": 1 \"label\": \"Task\"}]}",
        JsonErrorKind::Syntax,
        "line 3, column 12: expected `,` or `}`",
    );
}

#[test]
fn bytes_that_are_no_text_name_their_place() {
    let error = json::read(b"{\"nodes\":\n[\xff]}").unwrap_err();
    assert_eq!(error.kind(), JsonErrorKind::Encoding);
    assert_eq!(error.to_string(), "line 2, column 2: the file is not UTF-8 text");
}

#[test]
fn other_shapes_say_what_was_expected() {
    let shape = JsonErrorKind::Shape;
    check(
        "[]",
        shape,
        "line 1, column 1: invalid type: sequence, expected a graph: an object with region_graph, nodes and edges",
    );
    check("{}", shape, "line 1, column 2: a graph needs the key \"nodes\"");
    check("{\"nodes\":{}}", shape, "line 1, column 10: invalid type: map, expected a list of nodes");
    check(
        "{\"nodes\":[1]}",
        shape,
        "line 1, column 11: invalid type: integer `1`, expected a node: an object with id and label",
    );
    check("{\"nodes\":[{\"label\":\"Task\"}]}", shape, "line 1, column 26: a node has no id");
    check("{\"nodes\":[{\"id\":\"t\"}]}", shape, "line 1, column 20: node \"t\" has no label");
    check("{\"nodes\":[{\"id\":7}]}", shape, "line 1, column 18: node 7 has no label");
    check(
        "{\"nodes\":[{\"id\":1.5,\"label\":\"Task\"}]}",
        shape,
        "line 1, column 19: invalid type: floating point `1.5`, expected a name: a text or an integer",
    );
    check("{\"nodes\":[{\"id\":\"\",\"label\":\"Task\"}]}", shape, "line 1, column 18: a node id is empty");
    check(
        "{\"nodes\":[{\"id\":1,\"id\":2,\"label\":\"Task\"}]}",
        shape,
        "line 1, column 22: the key \"id\" is given twice",
    );
    check(
        "{\"nodes\":[{\"id\":1,\"label\":\"Task\",\"cost\":-1}]}",
        shape,
        "line 1, column 43: the cost -1 is negative",
    );
    check("{\"nodes\":[],\"nodes\":[]}", shape, "line 1, column 19: the key \"nodes\" is given twice");
    check(
        "{\"nodes\":[],\"edges\":[{\"from\":1,\"label\":\"Read\"}]}",
        shape,
        "line 1, column 46: an edge has no from or no to",
    );
    check(
        "{\"nodes\":[],\"edges\":[{\"from\":1,\"to\":\"b\"}]}",
        shape,
        "line 1, column 40: the edge from 1 to \"b\" has no label",
    );
    check(
        "{\"nodes\":[],\"edges\":[{\"from\":1,\"to\":\"\",\"label\":\"Read\"}]}",
        shape,
        "line 1, column 54: an edge ends at a node with an empty id",
    );
    check(
        "{\"nodes\":[],\"edges\":[{\"from\":1,\"to\":2,\"label\":\"Read\",\"port\":4294967295}]}",
        shape,
        "line 1, column 70: invalid value: integer `4294967295`, expected a port: an integer from 0 to 4294967294",
    );
    check(
        "{\"region_graph\":{\"regions\":[\"A\"],\"disjoint\":[[\"A\"]]},\"nodes\":[]}",
        shape,
        "line 1, column 50: a fact is a pair of region names, not one",
    );
    check(
        "{\"region_graph\":{\"regions\":[\"A\"],\"disjoint\":[[\"A\",\"A\",\"A\"]]},\"nodes\":[]}",
        shape,
        "line 1, column 58: a fact is a pair of region names, not three or more",
    );
}

#[test]
fn unknown_labels_list_the_known_ones() {
    check(
        "{\"nodes\":[{\"id\":1,\"label\":\"Taks\"}]}",
        JsonErrorKind::Label,
        "line 1, column 32: unknown node label \"Taks\"; labels are Task, Open, Close and Region",
    );
    check(
        "{\"region_graph\":{},\"nodes\":[],\"edges\":[\n{\"from\":1,\"to\":2,\"label\":\"Reed\"}]}",
        JsonErrorKind::Label,
        "line 2, column 31: unknown edge label \"Reed\"; labels are Read, Discard, Write, Reduce, HappensBefore and Use",
    );
}

#[test]
fn duplicates_are_refused_where_they_stand() {
    check(
        "{\"region_graph\":{},\"nodes\":[{\"id\":\"a\",\"label\":\"Task\"},\n  {\"id\":\"a\",\"label\":\"Task\"}]}",
        JsonErrorKind::Duplicate,
        "line 2, column 11: node \"a\" is declared twice",
    );
    check(
        "{\"nodes\":[{\"id\":1,\"label\":\"Task\"},{\"id\":\"1\",\"label\":\"Task\"}]}",
        JsonErrorKind::Duplicate,
        "line 1, column 43: node \"1\" is declared twice",
    );
    check(
        "{\"region_graph\":{\"regions\":[\"A\",\"B\",\"A\"]},\"nodes\":[]}",
        JsonErrorKind::Duplicate,
        "line 1, column 39: region \"A\" is listed twice",
    );
}

/// A graph in a body in a body, `depth` times.
fn nested(depth: usize) -> String {
    let mut text = "{\"nodes\":[]}".to_owned();
    for _ in 0..depth {
        text = format!("{{\"nodes\":[{{\"id\":\"t\",\"label\":\"Task\",\"body\":{text}}}]}}");
    }
    text
}

#[test]
fn bodies_nest_sixty_four_deep_and_no_deeper() {
    assert!(json::read(nested(64).as_bytes()).is_ok());
    let (kind, message) = error(&nested(65));
    assert_eq!(kind, JsonErrorKind::Nesting);
    assert!(message.ends_with("the body of node \"t\" is nested more than 64 graphs deep"), "{message}");
}

#[test]
fn errors_in_bodies_and_in_parts_that_came_early_keep_their_place() {
    check(
        "{\"edges\":[\n {\"from\":1,\"to\":2,\"label\":\"Raed\"}],\n\"nodes\":[]}",
        JsonErrorKind::Label,
        "line 2, column 32: unknown edge label \"Raed\"; labels are Read, Discard, Write, Reduce, HappensBefore and Use",
    );
    check(
        "{\"nodes\":[{\"id\":1,\"label\":\"Task\",\n\"body\":{\"nodes\":[{\"id\":2,\n\"label\":3}]}}]}",
        JsonErrorKind::Shape,
        "line 3, column 9: invalid type: integer `3`, expected a node label: Task, Open, Close or Region",
    );
}

#[test]
fn controls_have_one_form_each() {
    let control = |control: &str| {
        format!("{{\"nodes\":[{{\"id\":\"c\",\"label\":\"Task\",\"control\":{control},\"body\":{{\"nodes\":[]}}}}]}}")
    };
    assert!(json::read(control("{\"repeat\":3}").as_bytes()).is_ok());
    check(
        &control("{\"repeat\":3,\"call\":true}"),
        JsonErrorKind::Shape,
        "line 1, column 46: the control of node \"c\" is one of {\"repeat\":count}, {\"while\":region}, {\"if\":region} and {\"call\":true}",
    );
    check(
        "{\"nodes\":[{\"id\":\"c\",\"label\":\"Task\",\"body\":{\"nodes\":[]},\"else\":{\"nodes\":[]}}]}",
        JsonErrorKind::Shape,
        "line 1, column 63: node \"c\" has an else, and its control is not an if",
    );
}

#[test]
fn what_rules_are_about_is_read_and_not_refused() {
    let text = r#"{"region_graph":{"regions":["A"],"subregion":[["A","ghost"],["A","A"]],"disjoint":[["A","A"]]},
        "nodes":[{"id":1,"label":"Region","region":"missing"},{"id":2,"label":"Region"},{"id":3,"label":"Task"}],
        "edges":[{"from":1,"to":9,"label":"Read"},{"from":3,"to":3,"label":"HappensBefore"},
                 {"from":3,"to":2,"label":"Reduce"},{"from":9,"to":2,"label":"Write"}]}"#;
    let graph = json::read(text.as_bytes()).unwrap();
    assert_eq!(graph.nodes().len(), 4, "the undeclared endpoint is added once");
    assert!(!graph.check().is_valid());
}

#[test]
fn unknown_keys_nulls_and_noise_are_ignored() {
    let plain = r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":1,"label":"Region","region":"A"},{"id":2,"label":"Task"}],"edges":[{"from":1,"to":2,"label":"Read"}]}"#;
    let noisy = r#"{"author":{"deep":[[[{}]]]},"edges":[{"weight":3,"from":1,"to":2,"label":"Read","op":"+","port":null}],
        "nodes":[{"region":"A","id":1,"label":"Region","control":true,"body":[1]},{"id":2,"label":"Task","region":"A","cost":null,"body":null}],
        "region_graph":{"regions":["A"],"comment":"x"}}"#;
    assert_eq!(json::read(plain.as_bytes()).unwrap(), json::read(noisy.as_bytes()).unwrap());
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(json::read("\u{feff}{\"nodes\":[]}".as_bytes()).is_ok());
}
