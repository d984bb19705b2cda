//! Reading what was written gives the same graph, and the same answers about its regions.

use drawloom_graph::{Body, Control, Edge, Graph, IndexSet, Label, NodeKind, Pieces, RegionId, Regions, Run, SpaceId};
use drawloom_lang::json;
use fastrand::Rng;

/// A random graph over stated regions, valid or not.
fn random_graph(rng: &mut Rng, depth: usize) -> Graph {
    let mut regions = Regions::new();
    let ids: Vec<RegionId> =
        (0..rng.usize(1..6)).map(|i| regions.abstract_region(format!("r{i} \"\\\u{e9}\n")).unwrap()).collect();
    // A file lists all subregion facts before all disjoint facts.
    let mut pair = || (ids[rng.usize(..ids.len())], ids[rng.usize(..ids.len())], rng.bool());
    let facts: Vec<_> = (0..6).map(|_| pair()).collect();
    facts.iter().filter(|f| f.2).for_each(|f| regions.add_subregion(f.0, f.1));
    facts.iter().filter(|f| !f.2).for_each(|f| regions.add_disjoint(f.0, f.1));
    let ghost = regions.abstract_region_or_undeclared("ghost");
    let mut graph = Graph::new(regions);
    graph.add_data("haunted", ghost);
    fill(rng, &mut graph, &ids, ghost, depth);
    graph
}

fn fill(rng: &mut Rng, graph: &mut Graph, ids: &[RegionId], ghost: RegionId, depth: usize) {
    for i in 0..rng.usize(1..12) {
        let integer = rng.bool();
        let name = if integer { format!("{}", i as i64 - 3) } else { format!("node {i} <&>\u{1}") };
        let node = match rng.u32(0..7) {
            0 => graph.add_compute(&name, NodeKind::Open),
            1 => graph.add_compute(&name, NodeKind::Close),
            2 => graph.add_compute(&name, NodeKind::Task),
            3 => graph.add_raw(&name, NodeKind::Data, None),
            4 => graph.add_data(&name, ghost),
            _ => graph.add_data(&name, ids[rng.usize(..ids.len())]),
        };
        if integer {
            graph.mark_integer_name(node);
        }
        if graph.kind(node) == NodeKind::Task {
            if rng.bool() {
                graph.set_cost(node, f64::from(rng.u32(0..1000)) / 8.0);
            }
            if depth > 0 {
                let mut inner = Graph::new(graph.shared_regions());
                fill(rng, &mut inner, ids, ghost, depth - 1);
                let condition = ids[rng.usize(..ids.len())];
                let body = match rng.u32(0..5) {
                    0 => Body::new(Control::Call, inner),
                    1 => Body::new(Control::Repeat(rng.u64(..)), inner),
                    2 => Body::new(Control::While(condition), inner),
                    3 => Body::new(Control::If(condition), inner),
                    _ => {
                        let mut other = Graph::new(graph.shared_regions());
                        fill(rng, &mut other, ids, ghost, depth - 1);
                        Body::new(Control::If(condition), inner).with_otherwise(other)
                    }
                };
                graph.set_body(node, body);
            }
        }
    }
    let nodes: Vec<_> = graph.node_ids().collect();
    for _ in 0..rng.usize(0..20) {
        let (from, to) = (nodes[rng.usize(..nodes.len())], nodes[rng.usize(..nodes.len())]);
        let label = Label::ALL[rng.usize(..Label::ALL.len())];
        let mut edge = Edge::new(from, to, label);
        if rng.bool() {
            edge = edge.at_port(rng.u32(..u32::MAX));
        }
        if label == Label::Reduce && rng.u8(..) > 40 {
            let operator = graph.operator(["+", "max", "\u{2295}"][rng.usize(..3)]);
            edge = edge.with_operator(operator);
        }
        if label == Label::Write && rng.bool() {
            edge = edge.reorderable();
        }
        graph.add_edge(edge);
    }
    if rng.bool() {
        let ghost = graph.add_raw("nobody", NodeKind::Undeclared, None);
        graph.connect(ghost, nodes[0], Label::Write);
    }
}

#[test]
fn random_graphs_come_back_as_they_were() {
    let mut rng = Rng::with_seed(7);
    for round in 0..600 {
        let graph = random_graph(&mut rng, round % 3);
        let text = json::write(&graph);
        assert!(!text.contains('\n') && !text.contains("null"), "{text}");
        let back = json::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(back, graph, "round {round}: {text}");
        assert_eq!(json::write(&back), text, "writing is a function of the graph");
    }
}

#[test]
fn names_that_repeat_are_told_apart() {
    let mut graph = Graph::new(Regions::new());
    for name in ["t", "t", "t#2", "t", ""] {
        graph.add_compute(name, NodeKind::Task);
    }
    let back = json::read(json::write(&graph).as_bytes()).unwrap();
    let names: Vec<String> = back.node_ids().map(|n| back.name(n).into_owned()).collect();
    assert_eq!(names, ["t", "t#3", "t#2", "t#4", "n4"]);
}

#[test]
fn integers_come_back_as_integers_and_texts_as_texts() {
    let text = r#"{"region_graph":{"regions":[],"subregion":[],"disjoint":[]},"nodes":[{"id":-5,"label":"Task"},{"id":"12","label":"Task"},{"id":18446744073709551615,"label":"Task"},{"id":"007","label":"Task"}],"edges":[{"from":"-5","to":12,"label":"HappensBefore"},{"from":18446744073709551615,"to":"007","label":"HappensBefore"}]}"#;
    let graph = json::read(text.as_bytes()).unwrap();
    assert_eq!(graph.nodes().len(), 4, "an id is the same as a text and as an integer");
    let written = json::write(&graph);
    assert!(written.contains(r#"{"id":-5,"#) && written.contains(r#"{"id":"12","#), "{written}");
    assert!(written.contains(r#"{"from":-5,"to":"12","label":"HappensBefore"}"#), "{written}");
    assert!(written.contains(r#"{"from":18446744073709551615,"to":"007","#), "{written}");
}

/// Random spaces, fields and partitions of partitions, computed and declared.
fn random_world(rng: &mut Rng) -> (Regions, Vec<RegionId>) {
    let mut regions = Regions::new();
    let mut used = Vec::new();
    for field in 0..rng.usize(1..7) {
        let len = rng.u64(1..24);
        let root = regions.space(format!("s{field}"), len).unwrap();
        let mut spaces = vec![root];
        let mut partitions = Vec::new();
        for p in 0..rng.usize(0..4) {
            let of = spaces[rng.usize(..spaces.len())];
            let name = format!("p{p}");
            let made = match rng.u32(0..4) {
                0 => regions.partition(&name, of, Pieces::equal(rng.u32(1..9))),
                1 => {
                    let (disjoint, complete) = (rng.bool(), rng.bool());
                    regions.partition(&name, of, Pieces::declared(rng.u32(1..6), disjoint, complete))
                }
                2 => match partitions.last() {
                    Some(&inner) => regions.partition(&name, root, Pieces::halo(inner, rng.u64(0..3))),
                    None => continue,
                },
                _ => {
                    let mut lists = Vec::new();
                    for _ in 0..rng.usize(1..9) {
                        let start = rng.u64(0..len);
                        let set = IndexSet::from_runs([Run { start, end: rng.u64(start..=len) }]);
                        lists.push(set.intersection(regions.indices(of).unwrap_or(&IndexSet::empty())));
                    }
                    regions.partition(&name, of, Pieces::lists(lists))
                }
            };
            let Ok(partition) = made else { continue };
            partitions.push(partition);
            spaces.extend((0..regions.piece_count(partition)).map(|c| regions.piece(partition, c)));
        }
        let field = regions.field(format!("f{field}"), root).unwrap();
        for &space in &spaces {
            if rng.u8(..) > 60 {
                used.push(regions.region(field, space).unwrap());
            }
        }
    }
    for i in 0..rng.usize(0..4) {
        used.push(regions.abstract_region(format!("a{i}")).unwrap());
    }
    (regions, used)
}

/// Whether a space, or the nearest space around it with known indices, is empty.
fn is_empty(regions: &Regions, mut space: SpaceId) -> bool {
    while regions.indices(space).is_none() {
        match regions.piece_of(space) {
            Some((partition, _)) => space = regions.partition_parent(partition),
            None => return false,
        }
    }
    regions.indices(space).is_some_and(IndexSet::is_empty)
}

#[test]
fn regions_over_index_spaces_alias_and_contain_as_before() {
    let mut rng = Rng::with_seed(11);
    let mut pairs = [0u32; 4];
    for round in 0..1500 {
        let (regions, used) = random_world(&mut rng);
        let mut graph = Graph::new(regions);
        for (i, &region) in used.iter().enumerate() {
            graph.add_data(&format!("v{i}"), region);
        }
        let text = json::write(&graph);
        let back = json::read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(back.regions().inconsistencies(), [], "round {round}: {text}");
        let (old, new) = (graph.regions(), back.regions());
        for (i, a) in graph.node_ids().enumerate() {
            for b in graph.node_ids().skip(i) {
                let [x, y] = [a, b].map(|n| graph.region(n).unwrap());
                let [p, q] = [a, b].map(|n| back.region(n).unwrap());
                let names = format!("round {round}: {} and {} in {text}", old.name(x), old.name(y));
                let (s, t) = (old.space_of(x), old.space_of(y));
                if is_empty(old, s) || is_empty(old, t) {
                    // An empty region may seem to overlap what its container overlaps.
                    assert!(new.may_alias(p, q) || !old.may_alias(x, y), "alias lost: {names}");
                } else {
                    assert_eq!(new.may_alias(p, q), old.may_alias(x, y), "alias: {names}");
                    pairs[usize::from(old.may_alias(x, y))] += 1;
                }
                // What facts cannot say: an empty region lies in everything, and equal regions in each other.
                let equal = old.indices(s).is_some() && old.indices(s) == old.indices(t);
                if x != y && !is_empty(old, s) && !is_empty(old, t) && !equal {
                    for (inner, outer, x, y) in [(p, q, x, y), (q, p, y, x)] {
                        // Facts are transitive: what lies in a part of a region lies in the region, indices or not.
                        let hidden = old.indices(old.space_of(x)).is_none();
                        let (before, after) = (old.is_subregion(x, y), new.is_subregion(inner, outer));
                        assert!(after == before || hidden && after, "{} in {}: {names}", old.name(x), old.name(y));
                    }
                    pairs[2 + usize::from(old.is_subregion(x, y) || old.is_subregion(y, x))] += 1;
                } else if equal && x != y && old.may_alias(x, y) {
                    assert!(new.is_subregion(p, q) || new.is_subregion(q, p), "one in the other: {names}");
                }
            }
        }
    }
    assert!(pairs.iter().all(|count| *count > 1000), "every answer was asked for: {pairs:?}");
}

#[test]
fn a_thousand_blocks_and_halos_take_a_few_thousand_facts() {
    let blocks = 1000;
    let mut regions = Regions::new();
    let cells = regions.space("cells", u64::from(blocks) * 10).unwrap();
    let u = regions.field("u", cells).unwrap();
    let own = regions.partition("blocks", cells, Pieces::equal(blocks)).unwrap();
    let near = regions.partition("halos", cells, Pieces::halo(own, 1)).unwrap();
    let mut used = Vec::new();
    for partition in [own, near] {
        for colour in 0..blocks {
            used.push(regions.region(u, regions.piece(partition, colour)).unwrap());
        }
    }
    let mut graph = Graph::new(regions);
    for (i, &region) in used.iter().enumerate() {
        graph.add_data(&format!("v{i}"), region);
    }
    let text = json::write(&graph);
    assert!(text.contains("\"u.blocks[0..500]\""), "groups are regions with a range of colours");
    let back = json::read(text.as_bytes()).unwrap();
    let facts = back.regions().facts().len();
    assert!(facts < 20 * blocks as usize, "{facts} facts");
    let mut rng = Rng::with_seed(3);
    let nodes: Vec<_> = graph.node_ids().collect();
    for _ in 0..200_000 {
        let near = rng.usize(..nodes.len());
        let far = if rng.bool() { rng.usize(..nodes.len()) } else { (near + rng.usize(998..1003)) % nodes.len() };
        let [x, y] = [near, far].map(|n| graph.region(nodes[n]).unwrap());
        let [p, q] = [near, far].map(|n| back.region(nodes[n]).unwrap());
        assert_eq!(back.regions().may_alias(p, q), graph.regions().may_alias(x, y), "{near} and {far}");
    }
}

#[test]
fn a_body_uses_the_regions_around_it_and_may_add_its_own() {
    let text = r#"{"region_graph":{"regions":["A"]},"nodes":[{"id":"c","label":"Task","control":{"while":"A"},
        "body":{"region_graph":{"regions":["A","B"],"disjoint":[["A","B"]]},
                "nodes":[{"id":"a","label":"Region","region":"A"},{"id":"b","label":"Region","region":"B"}]}}]}"#;
    let graph = json::read(text.as_bytes()).unwrap();
    let body = graph.body(graph.find("c").unwrap()).unwrap();
    let region = |name: &str| body.graph.region(body.graph.find(name).unwrap()).unwrap();
    assert_eq!(body.control, Control::While(region("a")));
    assert_eq!(graph.regions(), body.graph.regions(), "one table for both graphs");
    assert!(!graph.regions().may_alias(region("a"), region("b")));
}
