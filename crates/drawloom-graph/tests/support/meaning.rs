//! The meaning of a graph: the values it leaves in memory.
//!
//! Memory is a toy. It has one [`Element`] for each unordered pair of regions that may alias, a region with itself
//! included. The element of `{r, s}` lies in every region that contains `r` or `s`, so two regions share an element
//! exactly when they may alias.
//!
//! A task is a pure function of the values it reads: what it writes is a hash of its base name (its name up to the first
//! `#`), the region and element written, and every value read, by port and region. A reduction folds a hash of the same
//! kind into the element with an operation that commutes with itself, and not with the one of another operator. So two
//! graphs whose final values are equal compute the same, up to collisions of 64-bit hashes, and renumbering nodes or edges
//! changes nothing.
//!
//! The tasks run one after the other in the order of [`Graph::order`]. Opens and Closes move no data. A control node runs
//! its body on the same memory; a condition holds when a hash of the values of its region is odd, and a `while` stops
//! after [`MOST_ITERATIONS`] iterations even when its condition still holds.

use std::collections::BTreeMap;

use drawloom_graph::{Body, Control, Edge, Graph, Label, NodeId, RegionId, Regions};

/// After how many iterations a `while` stops.
pub(crate) const MOST_ITERATIONS: u64 = 3;

/// After how many iterations a `repeat` stops, so that a test with an absurd count ends.
const MOST_REPETITIONS: u64 = 64;

/// A place in memory: it lies in every region that contains the first or the second region. `first <= second`.
pub(crate) type Element = (RegionId, RegionId);

/// What memory holds.
pub(crate) type Values = BTreeMap<Element, u64>;

/// Every element of the regions in a table.
pub(crate) fn elements(regions: &Regions) -> Vec<Element> {
    let pairs = regions.ids().flat_map(|r| regions.ids().filter(move |s| r <= *s).map(move |s| (r, s)));
    pairs.filter(|(r, s)| regions.may_alias(*r, *s)).collect()
}

/// Whether a region holds an element.
pub(crate) fn holds(regions: &Regions, region: RegionId, (first, second): Element) -> bool {
    // An empty piece is a subset of everything, and still it lies only where the tree says: hence the second line.
    (regions.is_subregion(first, region) || regions.is_subregion(second, region))
        && regions.may_alias(first, region)
        && regions.may_alias(second, region)
}

/// What the graph leaves in memory: a value for every element of every region in its table.
///
/// Panics when the graph is not valid, since it has no order then.
pub(crate) fn final_values(graph: &Graph) -> Values {
    let mut memory: Values = elements(graph.regions()).into_iter().map(|e| (e, initial(graph.regions(), e))).collect();
    run(graph, &mut memory);
    memory
}

/// What the graph leaves in the given regions only.
pub(crate) fn final_values_in(graph: &Graph, observed: &[RegionId]) -> Values {
    let mut values = final_values(graph);
    values.retain(|e, _| observed.iter().any(|r| holds(graph.regions(), *r, *e)));
    values
}

/// Asserts that two graphs leave the same values in the regions that both tables hold. Ids must mean the same in both.
pub(crate) fn assert_same_meaning(before: &Graph, after: &Graph) {
    let (mut a, mut b) = (final_values(before), final_values(after));
    a.retain(|e, _| e.1.index() < after.regions().len());
    b.retain(|e, _| e.1.index() < before.regions().len());
    for (element, value) in &a {
        let names = [element.0, element.1].map(|r| before.region_name(r).into_owned());
        assert_eq!(b.get(element), Some(value), "the values where {} meets {} differ", names[0], names[1]);
    }
    assert_eq!(a.len(), b.len(), "the two graphs know different elements");
}

/// The value of an element before anything ran. It depends on names only, so that tables of different graphs agree.
pub(crate) fn initial(regions: &Regions, element: Element) -> u64 {
    let (a, b) = (text(&regions.name(element.0)), text(&regions.name(element.1)));
    mix(a.wrapping_add(b), a.min(b))
}

fn run(graph: &Graph, memory: &mut Values) {
    let order = match graph.order() {
        Ok(order) => order,
        Err(report) => panic!(
            "a graph without an order has no meaning: {:?}",
            report.violations.iter().map(|d| (d.rule, &d.message)).collect::<Vec<_>>()
        ),
    };
    for task in order.tasks {
        match graph.body(task) {
            Some(body) => run_body(body, memory),
            None => run_task(graph, task, memory),
        }
    }
}

fn run_body(body: &Body, memory: &mut Values) {
    let regions = body.graph.regions();
    match body.control {
        Control::Call => run(&body.graph, memory),
        Control::Repeat(times) => (0..times.min(MOST_REPETITIONS)).for_each(|_| run(&body.graph, memory)),
        Control::While(condition) => {
            let mut iterations = 0;
            while iterations < MOST_ITERATIONS && is_true(regions, condition, memory) {
                run(&body.graph, memory);
                iterations += 1;
            }
        }
        Control::If(condition) => {
            if is_true(regions, condition, memory) {
                run(&body.graph, memory);
            } else if let Some(otherwise) = &body.otherwise {
                run(otherwise, memory);
            }
        }
    }
}

fn run_task(graph: &Graph, task: NodeId, memory: &mut Values) {
    let regions = graph.regions();
    let region = |node: NodeId| graph.region(node).expect("versions in a valid graph name their regions");
    // Ports, then names: the order of edges in the table has no meaning.
    let mut reads: Vec<(Option<u32>, u64, u64)> = graph
        .edges()
        .iter()
        .filter(|e| e.to == task && e.label == Label::Read)
        .map(|e| (e.port(), text(&regions.name(region(e.from))), digest(regions, region(e.from), memory)))
        .collect();
    reads.sort_unstable();
    reads.dedup();
    let name = graph.name(task);
    let base = text(name.split('#').next().unwrap_or_default());
    let seen = reads.iter().fold(base, |hash, (_, name, value)| mix(mix(hash, *name), *value));
    let mut made: Vec<&Edge> = graph.edges().iter().filter(|e| e.from == task && e.label.is_mutation()).collect();
    // A contribution is folded into what the same task wrote, never overwritten by it.
    made.sort_unstable_by_key(|e| e.label);
    for edge in made {
        let target = region(edge.to);
        for (element, value) in memory.iter_mut().filter(|(e, _)| holds(regions, target, **e)) {
            let result = mix(mix(seen, text(&regions.name(target))), initial(regions, *element));
            *value = match edge.label {
                Label::Write => result,
                _ => fold(*value, result, edge.operator().map_or("", |o| graph.operator_name(o))),
            };
        }
    }
}

/// All values of a region in one hash.
pub(crate) fn digest(regions: &Regions, region: RegionId, memory: &Values) -> u64 {
    // A sum, so that it does not depend on the order of the elements in the table.
    memory
        .iter()
        .filter(|(e, _)| holds(regions, region, **e))
        .fold(0u64, |sum, (e, value)| sum.wrapping_add(mix(initial(regions, *e), *value)))
}

/// Whether the condition of an `if` or a `while` holds.
pub(crate) fn is_true(regions: &Regions, condition: RegionId, memory: &Values) -> bool {
    mix(digest(regions, condition, memory), 7) & 1 == 1
}

/// Folds a contribution in: addition, seen through a permutation of the 64-bit numbers that the operator chooses. Folds
/// with one operator commute, and folds with two operators do not.
pub(crate) fn fold(value: u64, contribution: u64, operator: &str) -> u64 {
    let key = text(operator) | 1;
    // Newton's iteration doubles the correct low bits of the inverse of an odd number: 3, 6, 12, 24, 48, 96.
    let inverse = (0..5).fold(key.wrapping_mul(3) ^ 2, |x, _| x.wrapping_mul(2u64.wrapping_sub(key.wrapping_mul(x))));
    let swap = |x: u64| x ^ (x >> 32);
    swap(swap(swap(swap(value).wrapping_mul(key)).wrapping_add(contribution)).wrapping_mul(inverse))
}

/// A hash of a text: FNV-1a, then mixed.
pub(crate) fn text(text: &str) -> u64 {
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)), 1)
}

/// A hash of two numbers, in this order: the finaliser of SplitMix64.
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let mut x = a.rotate_left(23) ^ b.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
