//! Printing a parsed text and parsing it again is the identity, and so is writing a graph and reading it again.

use crate::support::{comments, examples, random_text};
use drawloom_graph::{Fact, Graph, Rule};
use drawloom_lang::loom::{self, lower, parse, write_graph};

fn assert_text_round_trip(name: &str, text: &str) {
    let file = parse(text).unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    let printed = file.to_string();
    let again = parse(&printed).unwrap_or_else(|e| panic!("{name}: the printed text does not parse: {e:?}\n{printed}"));
    assert_eq!(again, file, "{name}: printing changed the file\n{printed}");
    assert_eq!(again.to_string(), printed, "{name}: printing twice differs from printing once");
    assert_eq!(comments(&printed), comments(text), "{name}: a comment was lost or made up");
}

/// Everything about a graph by name, so that tables numbered differently compare equal.
fn describe(graph: &Graph) -> Vec<String> {
    let regions = graph.regions();
    let name = |region| regions.name(region).into_owned();
    let mut lines: Vec<String> = regions
        .facts()
        .iter()
        .map(|fact| match *fact {
            Fact::Subregion(a, b) => format!("{} <= {}", name(a), name(b)),
            Fact::Disjoint(a, b) => format!("{} apart {}", name(a), name(b)),
        })
        .collect();
    for node in graph.node_ids() {
        let region =
            graph.region(node).map(|r| (name(r), regions.indices(regions.space_of(r)), regions.is_declared(r)));
        let shown = (graph.name(node), graph.kind(node), region, graph.cost(node), graph.has_integer_name(node));
        lines.push(format!("{shown:?}"));
        if let Some(body) = graph.body(node) {
            lines.push(format!("{:?}", body.control).split('(').next().unwrap_or_default().to_owned());
            for inner in body.graphs() {
                lines.extend(describe(inner).into_iter().map(|line| format!("  {line}")));
            }
        }
    }
    for edge in graph.edges() {
        let operator = edge.operator().map(|o| graph.operator_name(o));
        let ends = (graph.name(edge.from), graph.name(edge.to));
        let mark = edge.is_reorderable();
        lines.push(format!("{ends:?} {:?} {:?} {operator:?} {mark}", edge.label, edge.port()));
    }
    lines
}

fn assert_graph_round_trip(name: &str, graph: &Graph) {
    let text = write_graph(graph);
    let file = parse(&text).unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}"));
    assert_eq!(file.to_string(), text, "{name}: a written graph is not in its usual shape");
    let again = lower(&file).unwrap_or_else(|e| panic!("{name}: {e:?}\n{text}")).graph;
    assert_eq!(describe(&again), describe(graph), "{name}: writing changed the graph\n{text}");
    assert_eq!(again.check().is_valid(), graph.check().is_valid(), "{name}: writing changed the verdict");
}

#[test]
fn the_examples_are_in_their_usual_shape() {
    for (name, text) in examples() {
        assert_text_round_trip(&name, &text);
        assert_eq!(parse(&text).unwrap().to_string(), text, "{name} is not formatted");
    }
}

#[test]
fn the_examples_have_the_verdicts_their_comments_promise() {
    for (name, text) in examples() {
        let lowered = lower(&parse(&text).unwrap()).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert!(lowered.findings.is_empty(), "{name}: {:?}", lowered.findings);
        let rules: Vec<Rule> = lowered.graph.check().violations.iter().map(|d| d.rule).collect();
        let expected: &[Rule] = match name.as_str() {
            "seed-swap.loom" | "published-accepts.loom" => &[Rule::S1],
            _ => &[],
        };
        assert_eq!(rules, expected, "{name}");
    }
}

#[test]
fn graphs_of_the_examples_survive_writing() {
    for (name, text) in examples() {
        assert_graph_round_trip(&name, &lower(&parse(&text).unwrap()).unwrap().graph);
    }
}

#[test]
fn random_texts_survive_printing_and_their_graphs_survive_writing() {
    let mut lowered = 0;
    for seed in 0..600 {
        let text = random_text(seed);
        let name = format!("seed {seed}");
        assert_text_round_trip(&name, &text);
        let limits = loom::Limits { steps: 10_000, ..loom::Limits::default() };
        if let Ok(graph) = loom::lower_within(&parse(&text).unwrap(), limits) {
            assert_graph_round_trip(&name, &graph.graph);
            lowered += 1;
        }
    }
    assert!(lowered > 100, "only {lowered} random texts made a graph: the generator is of no use");
}

#[test]
fn names_that_are_no_identifiers_survive_in_quotes() {
    let text = "region \"a b\", \"q\\\"\\\\\\n\\u{7}é\", \"\"\n\"a b\" <= \"\"\n\ngraph {\n    data \"0\": \"a b\"\n    data 1: \"\"\n    task -7\n    \"0\" -> -7: reduce(\"x y\") @3\n    \"x.y[0]\" -> 1: reduce\n}\n";
    assert_text_round_trip("quotes", text);
    let graph = lower(&parse(text).unwrap()).unwrap().graph;
    assert_eq!(write_graph(&graph), text);
    assert!(!graph.has_integer_name(graph.find("0").unwrap()) && graph.has_integer_name(graph.find("-7").unwrap()));
}

#[test]
fn nodes_with_one_name_get_numbers_when_written() {
    let mut graph = Graph::new(drawloom_graph::Regions::new());
    for name in ["t", "t", "t#2", "t"] {
        graph.add_compute(name, drawloom_graph::NodeKind::Task);
    }
    assert_eq!(write_graph(&graph), "graph {\n    task t\n    task \"t#3\"\n    task \"t#2\"\n    task \"t#4\"\n}\n");
}

#[test]
fn comments_inside_statements_move_before_them() {
    let text = "task f( # one\n    read A, # two\n    # three\n    write B # four\n) # five\nif A { # six\n} # seven\n# eight\nelse {}\n# nine\n";
    let expected = "# one\n# two\n# three\n# four\ntask f(read A, write B) # five\n# seven\n# eight\nif A {\n    # six\n} else {}\n# nine\n";
    assert_eq!(parse(text).unwrap().to_string(), expected);
    assert_text_round_trip("comments", text);
}
