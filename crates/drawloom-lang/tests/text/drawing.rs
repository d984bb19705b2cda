//! Drawings: every node once, well-formed, the same bytes for the same graph.

use drawloom_graph::{Access, Body, Builder, Control, Graph, Label, NodeKind, Pieces, Regions};
use drawloom_lang::{Drawing, dot, json, svg};
use fastrand::Rng;

/// RDIR's own example, which no serial order reproduces.
fn swap() -> Graph {
    let text = r#"{"region_graph":{"regions":["A","B"],"disjoint":[["A","B"]]},
        "nodes":[{"id":"A0","label":"Region","region":"A"},{"id":"B0","label":"Region","region":"B"},{"id":"t1","label":"Task"},
                 {"id":"t2","label":"Task"},{"id":"A1","label":"Region","region":"A"},{"id":"B1","label":"Region","region":"B"}],
        "edges":[{"from":"A0","to":"t1","label":"Read"},{"from":"B0","to":"t1","label":"Read"},{"from":"A0","to":"t2","label":"Read"},
                 {"from":"B0","to":"t2","label":"Read"},{"from":"t1","to":"A1","label":"Write"},{"from":"t2","to":"B1","label":"Write"}]}"#;
    json::read(text.as_bytes()).unwrap()
}

/// Blocks and halos with Opens, Closes and a reduction.
fn halos() -> Graph {
    let mut regions = Regions::new();
    let cells = regions.space("cells", 12).unwrap();
    let one = regions.space("one", 1).unwrap();
    let (u, sum) = (regions.field("u", cells).unwrap(), regions.field("sum", one).unwrap());
    let (whole, sum) = (regions.whole(u), regions.whole(sum));
    let blocks = regions.partition("blocks", cells, Pieces::equal(3)).unwrap();
    let halos = regions.partition("halos", cells, Pieces::halo(blocks, 1)).unwrap();
    let mut pieces = Vec::new();
    for colour in 0..3 {
        let (block, halo) = (regions.piece(blocks, colour), regions.piece(halos, colour));
        pieces.push((regions.region(u, block).unwrap(), regions.region(u, halo).unwrap()));
    }
    let mut builder = Builder::new(regions);
    builder.call("init", &[(whole, Access::Write), (sum, Access::Write)]).unwrap();
    for (block, _) in &pieces {
        builder.call("scale", &[(*block, Access::Update)]).unwrap();
    }
    for (_, halo) in &pieces {
        builder.call("gather", &[(*halo, Access::Read), (sum, Access::Reduce("+"))]).unwrap();
    }
    builder.call("print", &[(whole, Access::Read), (sum, Access::Read)]).unwrap();
    builder.finish()
}

/// One edge of every label, names that need escapes, and a body.
fn everything() -> Graph {
    let mut regions = Regions::new();
    let a = regions.abstract_region("A <&> \"quoted\"").unwrap();
    let mut graph = Graph::new(regions);
    let (old, new) = (graph.add_data("a'0", a), graph.add_data("a1\\n\u{1}", a));
    let (task, other) = (graph.add_compute("t]]>", NodeKind::Task), graph.add_compute("other", NodeKind::Task));
    let (open, close) = (graph.add_compute("o", NodeKind::Open), graph.add_compute("c", NodeKind::Close));
    graph.connect(old, task, Label::Read);
    graph.connect(old, other, Label::Discard);
    graph.connect(task, new, Label::Write);
    graph.connect_reduce(other, new, "<max>");
    graph.connect(old, other, Label::Use);
    graph.connect(task, other, Label::HappensBefore);
    graph.connect(old, open, Label::Read);
    graph.connect(close, new, Label::Write);
    graph.connect(task, task, Label::HappensBefore);
    let mut inner = Graph::new(graph.shared_regions());
    let (version, step) = (inner.add_data("inner", a), inner.add_compute("step", NodeKind::Task));
    inner.connect(version, step, Label::Read);
    let choice = Body::new(Control::If(a), inner.clone()).with_otherwise(inner);
    graph.set_body(other, choice);
    graph
}

/// Checks that tags nest, attributes are quoted, and text holds no bare `<` or `&`. Returns the tags that were opened.
fn well_formed(xml: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        check_text(&rest[..at]);
        let end = rest[at..].find('>').expect("a tag ends") + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "tags nest");
            continue;
        }
        let body = tag.strip_suffix('/').unwrap_or(tag);
        let name = body.split_whitespace().next().expect("a tag has a name").to_owned();
        let values: Vec<&str> = body.split('"').collect();
        assert_eq!(values.len() % 2, 1, "attributes are quoted: {tag}");
        values.iter().skip(1).step_by(2).for_each(|value| check_text(value));
        assert!(values.iter().step_by(2).all(|part| !part.contains('\'')), "{tag}");
        if !tag.ends_with('/') {
            open.push(name);
        }
        seen.push(body.to_owned());
    }
    assert_eq!(rest.trim(), "", "nothing follows the last tag");
    assert!(open.is_empty(), "{open:?} are not closed");
    seen
}

fn check_text(text: &str) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "no control characters: {text:?}");
    for (at, _) in text.match_indices('&') {
        let entity = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"].iter().any(|e| text[at..].starts_with(e));
        assert!(entity, "a bare & in {text:?}");
    }
}

fn draw(graph: &Graph) -> String {
    let report = graph.check();
    let orders = graph.order().map(|order| order.happens_before).unwrap_or_default();
    svg::write(graph, &Drawing { orders, report: Some(&report) }).unwrap()
}

#[test]
fn a_drawing_is_well_formed_and_holds_every_node_once() {
    for graph in [swap(), halos(), everything()] {
        let text = draw(&graph);
        let tags = well_formed(&text);
        let nodes = tags.iter().filter(|tag| tag.starts_with("g class=\"node")).count();
        let nested: usize = graph.bodies().flat_map(|(_, body)| body.graphs()).map(|inner| inner.nodes().len()).sum();
        assert_eq!(nodes, graph.nodes().len() + nested);
        for node in graph.node_ids() {
            assert_eq!(text.matches(&format!("id=\"n{}\"", node.index())).count(), 1);
        }
        assert_eq!(text, draw(&graph), "the same graph gives the same bytes");
    }
}

#[test]
fn every_kind_of_edge_looks_different_and_is_in_the_legend() {
    let graph = everything();
    let orders = vec![(graph.find("o").unwrap(), graph.find("c").unwrap())];
    let text = svg::write(&graph, &Drawing { orders, report: None }).unwrap();
    let mut looks = Vec::new();
    for class in ["read", "discard", "write", "reduce", "use", "stated", "derived"] {
        let line = text.lines().find(|line| line.starts_with(&format!("<path class=\"{class}\""))).expect(class);
        let stroke = line.split("stroke=\"").nth(1).unwrap().split('"').next().unwrap();
        let dashes = line.split("stroke-dasharray=\"").nth(1).map(|d| d.split('"').next().unwrap().to_owned());
        looks.push((stroke.to_owned(), dashes));
        assert!(text.contains(&format!("<marker id=\"m{class}\"")), "{class} has an arrowhead");
    }
    let legend = text.split("<g class=\"legend\">").nth(1).unwrap();
    for words in ["read", "discard", "write", "reduce", "use", "stated order", "derived order"] {
        assert!(legend.contains(&format!(">{words}</text>")), "{words}");
    }
    let colours: std::collections::BTreeSet<_> = looks.iter().map(|look| &look.0).collect();
    assert_eq!(colours.len(), 7, "{looks:?}");
}

#[test]
fn a_violation_is_red_and_carries_its_rule() {
    let graph = swap();
    let text = draw(&graph);
    assert_eq!(text.matches("class=\"node task violation\"").count(), 2);
    assert_eq!(text.matches(">S1</text>").count(), 3, "at both tasks, and before the sentence");
    assert_eq!(text.matches("<path class=\"derived\"").count(), 3, "both orders of the cycle, and the legend");
    let plain = svg::write(&graph, &Drawing::default()).unwrap();
    assert!(!plain.contains("violation") && !plain.contains("S1"));
}

#[test]
fn dot_escapes_names_and_holds_every_node_and_edge() {
    let graph = everything();
    let text = dot::write(&graph, &Drawing::default());
    assert!(text.contains("label=\"A <&> \\\"quoted\\\"\\na'0, version 0\""), "{text}");
    for node in graph.node_ids() {
        let declaration = format!("n{} [label=", node.index());
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with(&declaration)).count(), 1);
    }
    let edges = text.lines().filter(|line| line.contains("->") && !line.contains("legend")).count();
    assert_eq!(edges, graph.edges().len() + 2, "two branches with one edge each");
    assert_eq!(text.matches('{').count(), text.matches('}').count());
    assert_eq!(text, dot::write(&graph, &Drawing::default()));
}

#[test]
fn graphs_that_nobody_can_read_are_refused_and_not_laid_out() {
    let mut graph = Graph::new(Regions::new());
    for _ in 0..2001 {
        graph.add_compute("", NodeKind::Task);
    }
    let error = svg::write(&graph, &Drawing::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a drawing of 2001 nodes cannot be read, and at most 2000 are drawn; \
         write DOT for another tool, or draw a part of the graph"
    );
    assert!(dot::write(&graph, &Drawing::default()).contains("n2000"));

    // A ladder with an edge from every node to the last one: long edges pass a million places.
    let mut graph = Graph::new(Regions::new());
    let nodes: Vec<_> = (0..1900).map(|_| graph.add_compute("", NodeKind::Task)).collect();
    for pair in nodes.windows(2) {
        graph.connect(pair[0], pair[1], Label::HappensBefore);
        graph.connect(pair[0], nodes[1899], Label::HappensBefore);
    }
    let error = svg::write(&graph, &Drawing::default()).unwrap_err();
    assert!(error.to_string().contains("places where long edges pass"), "{error}");
}

#[test]
fn random_graphs_are_drawn_with_lines_between_their_nodes() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..60 {
        let mut regions = Regions::new();
        let a = regions.abstract_region("A").unwrap();
        let mut graph = Graph::new(regions);
        let count = rng.usize(1..60);
        for _ in 0..count {
            if rng.bool() {
                graph.add_data("", a)
            } else {
                graph.add_compute("", NodeKind::Task)
            };
        }
        let nodes: Vec<_> = graph.node_ids().collect();
        for _ in 0..rng.usize(0..120) {
            let label = Label::ALL[rng.usize(..Label::ALL.len())];
            graph.connect(nodes[rng.usize(..count)], nodes[rng.usize(..count)], label);
        }
        let text = svg::write(&graph, &Drawing::default()).unwrap();
        well_formed(&text);
        assert!(!text.contains("NaN") && !text.contains("inf"), "every coordinate is a number");
        let boxes = node_boxes(&text);
        assert_eq!(boxes.len(), count);
        for (i, a) in boxes.iter().enumerate() {
            for b in &boxes[i + 1..] {
                let apart = a.0 + a.2 <= b.0 || b.0 + b.2 <= a.0 || a.1 + a.3 <= b.1 || b.1 + b.3 <= a.1;
                assert!(apart, "nodes do not overlap: {a:?} {b:?}");
            }
        }
    }
}

/// x, y, width and height of the box of every node.
fn node_boxes(text: &str) -> Vec<(f64, f64, f64, f64)> {
    let number = |line: &str, key: &str| -> f64 {
        line.split(&format!(" {key}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let lines: Vec<&str> = text.lines().collect();
    lines
        .windows(2)
        .filter(|pair| pair[0].starts_with("<g class=\"node"))
        .map(|pair| ["x", "y", "width", "height"].map(|key| number(pair[1], key)))
        .map(|[x, y, w, h]| (x, y, w, h))
        .collect()
}

#[test]
fn updates_that_commute_are_marked_in_every_form() {
    use drawloom_lang::loom;
    let mut regions = Regions::new();
    let cells = regions.space("cells", 4).unwrap();
    let u = regions.field("u", cells).unwrap();
    let u = regions.whole(u);
    let mut program = Builder::new(regions);
    for name in ["add", "add"] {
        let task = program.call(name, &[(u, Access::Update)]).unwrap();
        program.set_reorderable(task, 0);
    }
    let last = program.call("show", &[(u, Access::Read)]).unwrap();
    // There is nothing to mark where nothing is written.
    program.set_reorderable(last, 0);
    let graph = program.finish();
    assert!(graph.check().is_valid());
    let marked = |graph: &Graph| graph.edges().iter().filter(|edge| edge.is_reorderable()).count();
    assert_eq!(marked(&graph), 2);
    let text = loom::write_graph(&graph);
    assert_eq!(text.matches(": write reorderable @0").count(), 2, "{text}");
    assert_eq!(marked(&loom::lower(&loom::parse(&text).unwrap()).unwrap().graph), 2);
    let text = json::write(&graph);
    assert_eq!(text.matches("\"reorderable\":true").count(), 2, "{text}");
    assert_eq!(marked(&json::read(text.as_bytes()).unwrap()), 2);
    let drawing = dot::write(&graph, &Drawing::default());
    assert_eq!(drawing.matches("label=\"reorderable\"").count(), 2, "{drawing}");
}
