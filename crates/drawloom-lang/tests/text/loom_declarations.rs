//! Every declaration of the text language, against what it must mean.

use drawloom_graph::{Control, Graph, Label, NodeKind, Regions};
use drawloom_lang::loom::{Lowered, SyntaxError, lower, parse};

fn read(text: &str) -> Lowered {
    let file = parse(text).unwrap_or_else(|e| panic!("{e:?}"));
    lower(&file).unwrap_or_else(|e| panic!("{e:?}"))
}

/// The pieces of a partition as text: `0..3 | 3..6`.
fn pieces(text: &str, space: &str, partition: &str) -> String {
    let graph = read(text).graph;
    let regions = graph.regions();
    let space = regions.find_space(space).expect("the space is declared");
    let partition = regions.find_partition(space, partition).expect("the partition is declared");
    let set = |colour| regions.indices(regions.piece(partition, colour)).map_or("?".to_owned(), |s| s.to_string());
    (0..regions.piece_count(partition)).map(set).collect::<Vec<_>>().join(" | ")
}

#[test]
fn partitions_hold_the_indices_their_words_say() {
    let base = "space c 12\nspace e 4\npartition b of c = equal 3\npartition h of c = lists [0..6, 7] [3..9] []\nmap m from e to c arity 2 = [0, 1, 4, 5, 8, 9, 11, 0]\npartition f of e = equal 2\n";
    let cases = [
        ("c", "equal 5", "0..3 | 3..6 | 6..8 | 8..10 | 10..12"),
        ("c", "equal 3 * 2 - 4", "0..6 | 6..12"),
        ("c", "colours [0, 1, 0, 1, 2, 2, 0, 0, 0, 1, 1, 1]", "0, 2, 6..9 | 1, 3, 9..12 | 4..6"),
        ("c", "lists [0..5, 7]\n[3..9]", "0..5, 7 | 3..9"),
        ("c", "lists", ""),
        ("c", "image f through m", "0..2, 4..6 | 0, 8..10, 11"),
        ("e", "preimage b through m", "0, 3 | 1 | 2..4"),
        ("c", "union b h", "0..6, 7 | 3..9 | 8..12"),
        ("c", "intersection b c.h", "0..4 | 4..8 | nothing"),
        ("c", "difference h b", "4..6, 7 | 3, 8 | nothing"),
        ("c", "halo b 1", "4 | 3, 8 | 7"),
        ("c", "halo b 1e18", "4..12 | 0..4, 8..12 | 0..8"),
        ("c.b[1]", "equal 2", "4..6 | 6..8"),
        ("c", "declared 2", "? | ?"),
    ];
    for (of, cut, expected) in cases {
        let text = format!("{base}partition p of {of} = {cut}\n");
        if of.contains('.') {
            let graph = read(&text).graph;
            let regions = graph.regions();
            let b = regions.find_partition(regions.find_space("c").unwrap(), "b").unwrap();
            let p = regions.find_partition(regions.piece(b, 1), "p").unwrap();
            let sets: Vec<String> = (0..2).map(|c| regions.indices(regions.piece(p, c)).unwrap().to_string()).collect();
            assert_eq!(sets.join(" | "), expected);
        } else {
            assert_eq!(pieces(&text, of, "p"), expected, "{cut}");
        }
    }
}

#[test]
fn a_halo_through_a_map_holds_what_the_map_reaches_outside_each_piece() {
    let text = "space c 6\npartition b of c = equal 2\nmap next from c to c arity 1 = [1, 2, 3, 4, 5, 0]\npartition g of c = halo b through next\n";
    assert_eq!(pieces(text, "c", "g"), "3 | 0");
}

#[test]
fn declared_partitions_have_the_properties_they_declare() {
    let graph =
        read("region A\npartition p of A = declared 2 disjoint complete\npartition q of A = declared 2\n").graph;
    let regions = graph.regions();
    let space = regions.find_space("A").unwrap();
    let (p, q) = (regions.find_partition(space, "p").unwrap(), regions.find_partition(space, "q").unwrap());
    assert!(regions.is_disjoint(p) && regions.is_complete(p) && !regions.is_disjoint(q) && !regions.is_complete(q));
}

#[test]
fn facts_relate_abstract_regions_in_any_order_of_declaration() {
    let graph = read("region a, b in R\ndisjoint a, b\nregion R, S\nb <= S\n").graph;
    let regions: &Regions = graph.regions();
    let [a, b, r, s] = ["a", "b", "R", "S"].map(|n| regions.find(n).expect("declared"));
    assert!(regions.is_subregion(a, r) && regions.is_subregion(b, s) && !regions.is_subregion(a, s));
    assert!(!regions.may_alias(a, b) && regions.may_alias(r, s));
    assert!(regions.ids().all(|region| regions.is_declared(region)));
}

#[test]
fn loops_expand_with_nested_variables_and_lets() {
    let text = "let n = 3\nregion A\npartition p of A = declared n * n disjoint\nfor i in 0..n {\n    let row = i * n\n    for j in i..n { task t[i, j](update A.p[row + j]) }\n}\n";
    let graph = read(text).graph;
    let names: Vec<String> = graph.tasks().map(|t| graph.name(t).into_owned()).collect();
    assert_eq!(names, ["t[0,0]", "t[0,1]", "t[0,2]", "t[1,1]", "t[1,2]", "t[2,2]"]);
    assert!(graph.check().is_valid());
    assert!(graph.regions().ids().any(|r| graph.regions().name(r) == "A.p[8]"));
}

#[test]
fn loops_may_declare_partitions_of_pieces() {
    let text = "space c 8\nfield u on c\npartition b of c = equal 2\nfor i in 0..2 {\n    partition t of c.b[i] = equal 2\n    task f[i](update u.b[i].t[1])\n}\n";
    let graph = read(text).graph;
    assert!(graph.check().is_valid());
    assert!(graph.regions().ids().any(|r| graph.regions().name(r) == "u.b[1].t[1]"));
}

#[test]
fn remainders_wrap_around_and_are_never_negative() {
    let text = "region A\npartition p of A = declared 4 disjoint\nfor i in 0..4 { task f[(i - 1) % 4, -7 / 2](update A.p[i]) }\n";
    let graph = read(text).graph;
    let names: Vec<String> = graph.tasks().map(|t| graph.name(t).into_owned()).collect();
    assert_eq!(names, ["f[3,-4]", "f[0,-4]", "f[1,-4]", "f[2,-4]"]);
}

#[test]
fn accesses_become_the_edges_that_mean_them() {
    let graph =
        read("region A, B, C, D\ndisjoint A, B, C, D\ntask f(read A, write B, update C, reduce(max) D) cost 2.5\n")
            .graph;
    let task = graph.find("f").unwrap();
    assert_eq!(graph.cost(task), Some(2.5));
    let mut labels: Vec<(Label, String)> = graph
        .edges()
        .iter()
        .map(|e| {
            let data = if e.from == task { e.to } else { e.from };
            (e.label, graph.region_name(graph.region(data).unwrap()).into_owned())
        })
        .collect();
    labels.sort();
    let expected = [
        (Label::Read, "A"),
        (Label::Read, "C"),
        (Label::Discard, "B"),
        (Label::Write, "B"),
        (Label::Write, "C"),
        (Label::Reduce, "D"),
        (Label::Use, "D"),
    ];
    assert_eq!(labels, expected.map(|(l, r)| (l, r.to_owned())));
    let reduce = graph.edges().iter().find(|e| e.label == Label::Reduce).unwrap();
    assert_eq!(graph.operator_name(reduce.operator().unwrap()), "max");
}

#[test]
fn control_statements_hold_graphs() {
    let text = "region A, go\ndisjoint A, go\ntask again: repeat 1e3 { task f(update A) }\nwhile go { task g(update go) }\nif go { task h(update A) } else { task i(write A) }\ntask part[2] cost 4: call { task j(read A) }\n";
    let graph: Graph = read(text).graph;
    assert!(graph.check().is_valid(), "{:?}", graph.check().violations);
    let controls: Vec<(String, bool)> =
        graph.bodies().map(|(n, b)| (format!("{} {:?}", graph.name(n), b.control), b.otherwise.is_some())).collect();
    let go = graph.regions().find("go").unwrap();
    assert_eq!(
        controls,
        [
            (format!("again {:?}", Control::Repeat(1000)), false),
            (format!("while {:?}", Control::While(go)), false),
            (format!("if {:?}", Control::If(go)), true),
            (format!("part[2] {:?}", Control::Call), false),
        ]
    );
    let inner: Vec<String> =
        graph.bodies().flat_map(|(_, b)| b.graphs()).flat_map(|g| g.tasks().map(|t| g.name(t).into_owned())).collect();
    assert_eq!(inner, ["f", "g", "h", "i", "j"]);
}

#[test]
fn raw_graphs_are_read_as_they_stand() {
    let text = "region A\ngraph {\n    A0 -> t: read @1\n    data A0: A cost 1\n    task t cost 2\n    open o; close c\n    t -> A1: reduce\n    t -> A1: reduce(\"a b\") @2\n    o -> c: before\n    A0 -> t: use\n    A0 -> t: discard\n    c -> A0: write\n}\n";
    let graph = read(text).graph;
    let kinds: Vec<(String, NodeKind)> =
        graph.node_ids().map(|n| (graph.name(n).into_owned(), graph.kind(n))).collect();
    let expected = [
        ("A0", NodeKind::Data),
        ("t", NodeKind::Task),
        ("o", NodeKind::Open),
        ("c", NodeKind::Close),
        ("A1", NodeKind::Undeclared),
    ];
    assert_eq!(kinds, expected.map(|(n, k)| (n.to_owned(), k)), "declared nodes come first, in the order of the text");
    let edges: Vec<(Label, Option<u32>)> = graph.edges().iter().map(|e| (e.label, e.port())).collect();
    assert_eq!(
        edges,
        [
            (Label::Read, Some(1)),
            (Label::Reduce, None),
            (Label::Reduce, Some(2)),
            (Label::HappensBefore, None),
            (Label::Use, None),
            (Label::Discard, None),
            (Label::Write, None),
        ]
    );
    assert_eq!(graph.costs().map(|(_, c)| c).collect::<Vec<_>>(), [1.0, 2.0]);
}

#[test]
fn places_lead_back_to_the_text() {
    let text = "region A\ntask f(update A)\nrepeat 2 {\n    task g(read A)\n}\n";
    let lowered = read(text);
    let place = |span: Option<drawloom_lang::loom::Span>| span.map(|s| &text[s.range()]);
    let graph = &lowered.graph;
    let f = graph.find("f").unwrap();
    assert_eq!(place(lowered.spans.node(f)), Some("task f(update A)"));
    let write = graph.edge_ids().find(|e| graph.edge(*e).from == f).unwrap();
    assert_eq!(place(lowered.spans.edge(write)), Some("update A"));
    assert_eq!(place(lowered.spans.node(graph.edge(write).to)), Some("update A"));
    assert_eq!(place(lowered.spans.region(graph.regions().find("A").unwrap())), Some("A"));
    let (control, body) = graph.bodies().next().unwrap();
    assert_eq!(place(lowered.spans.node(control)), Some("repeat 2"));
    let g = body.graph.find("g").unwrap();
    assert_eq!(place(lowered.spans.bodies(control)[0].node(g)), Some("task g(read A)"));
}

#[test]
fn integers_accept_underscores_and_exponents() {
    let length = |text: &str| {
        let file = parse(&format!("space cells {text}\nfield u on cells\n"))?;
        let graph = lower(&file)?.graph;
        Ok(graph.regions().indices(graph.regions().find_space("cells").unwrap()).unwrap().len())
    };
    let message = |text: &str| length(text).map_err(|errors: Vec<SyntaxError>| errors[0].message.clone());
    assert_eq!(message("1_000"), Ok(1000));
    assert_eq!(message("3e6"), Ok(3_000_000));
    assert_eq!(message("0e999"), Ok(0));
    assert_eq!(message("18446744073709551615"), Ok(u64::MAX));
    for text in ["18446744073709551616", "1e20", "1e99999999999"] {
        assert_eq!(message(text), Err(format!("`{text}` is larger than any index can be")));
    }
    for text in ["1.5", "1e-3"] {
        assert_eq!(message(text), Err(format!("`{text}` is not a whole number")));
    }
}

#[test]
fn a_swapped_letter_is_near_and_another_word_is_not() {
    let suggested = |statement: &str| {
        let errors = parse(statement).unwrap_err();
        errors[0].help.as_ref().and_then(|help| help.edit.as_ref()).map(|edit| edit.replacement.clone())
    };
    assert_eq!(suggested("psace cells 10").as_deref(), Some("space"));
    assert_eq!(suggested("cells 10"), None);
    // The first of several equally near names is suggested.
    let file = parse("space cells 10\nfield v, w on cells\ntask t(read u)\n").unwrap();
    let finding = &lower(&file).unwrap().findings[0];
    assert_eq!(finding.edit.as_ref().map(|edit| edit.replacement.as_str()), Some("v"));
}
