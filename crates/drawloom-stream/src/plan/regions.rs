//! Which node is in which region, and the numbers of regions.
//!
//! The head of a region is outside of it: the region is what lies behind its channel, up to the channels that aggregate.
//! Regions are numbered so that two rules hold, for regions A and B where A's head comes before B's: if B is inside of A,
//! its number is higher; if they are disjoint, it is lower. Then a flush of region R that goes on to all nodes whose region
//! has a number of at least R reaches all nodes of R, and no others.

use super::{Description, Kind};

/// The whole stream counts as region zero; the others come after it.
pub(crate) const WHOLE: u32 = 0;

/// Where nodes and edges lie.
#[derive(Clone)]
pub(crate) struct Places {
    /// The regions around each node, the outermost first.
    pub(crate) of_node: Vec<Vec<u32>>,
    /// The regions around the items of each edge.
    pub(crate) of_edge: Vec<Vec<u32>>,
    /// The number of each region.
    pub(crate) number: Vec<u32>,
    /// How many nodes have no edge that stays in the region.
    pub(crate) ends: Vec<u32>,
}

/// Finds all regions. Where an aggregation is outside of all regions, or edges from different regions join, the result is of
/// no use, and [`check`](super::check) says so.
pub(crate) fn places(of: &Description) -> Places {
    let mut of_node: Vec<Vec<u32>> = Vec::with_capacity(of.nodes.len());
    let mut of_edge = vec![Vec::new(); of.edges.len()];
    for (number, node) in of.nodes.iter().enumerate() {
        let chain = node.inputs.iter().find(|edge| !of.is_back(**edge)).map(|edge| of_edge[*edge as usize].clone());
        let chain = chain.unwrap_or_default();
        for channel in &node.channels {
            let channel = &of.channels[*channel as usize];
            let mut inside = chain.clone();
            if let Kind::Enumerate(region) = node.kind {
                inside.push(region);
            }
            if channel.aggregates {
                inside.pop();
            }
            if let Some(edge) = channel.edge {
                of_edge[edge as usize] = inside;
            }
        }
        debug_assert_eq!(of_node.len(), number);
        of_node.push(chain);
    }
    let number = numbers(of, &of_node);
    let ends = (0..of.regions.len() as u32).map(|region| ends(of, region, &of_node, &of_edge)).collect();
    Places { of_node, of_edge, number, ends }
}

/// At how many nodes a region ends.
fn ends(of: &Description, region: u32, of_node: &[Vec<u32>], of_edge: &[Vec<u32>]) -> u32 {
    let stays = |node: u32| of.outputs(node).any(|e| !of.is_back(e) && of_edge[e as usize].contains(&region));
    (0..of.nodes.len() as u32).filter(|n| of_node[*n as usize].contains(&region) && !stays(*n)).count() as u32
}

/// Numbers the regions: outer ones before inner ones, and later ones before earlier ones.
fn numbers(of: &Description, of_node: &[Vec<u32>]) -> Vec<u32> {
    let mut number = vec![0; of.regions.len()];
    let mut next = WHOLE + 1;
    // Nodes are described in an order in which each comes after those that lead to it, and regions after their heads. So the
    // regions directly inside of one are taken in the opposite order. A stack instead of recursion: depth has no limit.
    let mut stack: Vec<u32> = (0..of.regions.len() as u32).filter(|r| parent(of, of_node, *r).is_none()).collect();
    while let Some(region) = stack.pop() {
        number[region as usize] = next;
        next += 1;
        stack.extend((0..of.regions.len() as u32).filter(|r| parent(of, of_node, *r) == Some(region)));
    }
    number
}

/// The region around a region.
fn parent(of: &Description, of_node: &[Vec<u32>], region: u32) -> Option<u32> {
    of_node[of.regions[region as usize].node as usize].last().copied()
}

impl Places {
    /// The numbers of the whole stream and of the regions around a node, the innermost last.
    pub(crate) fn node_numbers(&self, node: u32) -> impl Iterator<Item = u32> {
        std::iter::once(WHOLE).chain(self.of_node[node as usize].iter().map(|region| self.number[*region as usize]))
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Places, places};
    use crate::plan::Description;
    use crate::{Output, Stream, source};

    /// A random tree of regions.
    fn tree(rng: &mut Rng) -> Stream {
        let mut stream = Stream::new("tree");
        let mut open: Vec<(Output<u64>, usize)> = vec![(stream.source("source", source::range(0..1)), 0)];
        for number in 0..rng.usize(1..25) {
            let (from, depth) = open.swap_remove(rng.usize(..open.len()));
            match rng.usize(..4) {
                0 | 1 => {
                    let (_, elements) = stream.enumerate(format!("enumerate {number}"), from, |n| 0..*n);
                    open.push((elements, depth + 1));
                }
                2 if depth > 0 => {
                    let node = stream.node(format!("sum {number}"), from);
                    open.push((node.aggregate(|| 0, |sum, n| *sum += n, |sum| sum), depth - 1));
                }
                _ => {
                    let node = stream.node(format!("split {number}"), from);
                    let (a, b) = node.channel::<u64>("a", 1).channel::<u64>("b", 1).each(|_, _| {});
                    open.extend([(a, depth), (b, depth)]);
                }
            }
        }
        for (number, (from, _)) in open.into_iter().enumerate() {
            stream.discard(format!("sink {number}"), from);
        }
        stream
    }

    /// The nodes that a flush of a region reaches by the rule of numbers.
    fn reached(of: &Description, places: &Places, region: usize) -> Vec<u32> {
        let mut reached = Vec::new();
        let mut from = vec![of.regions[region].node];
        while let Some(node) = from.pop() {
            for edge in of.outputs(node) {
                let to = of.edges[edge as usize].to;
                if places.node_numbers(to).last() >= Some(places.number[region]) {
                    reached.push(to);
                    from.push(to);
                }
            }
        }
        reached.sort_unstable();
        reached
    }

    /// Whether one node leads to another.
    fn leads(of: &Description, from: u32, to: u32) -> bool {
        from == to || of.outputs(from).any(|edge| leads(of, of.edges[edge as usize].to, to))
    }

    #[test]
    fn a_flush_reaches_all_nodes_of_its_region_and_no_others() {
        for seed in 0..500 {
            let stream = tree(&mut Rng::with_seed(seed));
            let of = &stream.description;
            let places = places(of);
            for region in 0..of.regions.len() {
                let inside = |node: &u32| places.of_node[*node as usize].contains(&(region as u32));
                let expected: Vec<u32> = (0..of.nodes.len() as u32).filter(inside).collect();
                assert_eq!(reached(of, &places, region), expected, "seed {seed}, region {region}");
            }
        }
    }

    #[test]
    fn inner_regions_have_higher_numbers_and_later_ones_lower() {
        for seed in 0..500 {
            let stream = tree(&mut Rng::with_seed(seed));
            let of = &stream.description;
            let places = places(of);
            for (a, one) in of.regions.iter().enumerate() {
                for (b, other) in of.regions.iter().enumerate().filter(|(b, _)| *b != a) {
                    if leads(of, one.node, other.node) {
                        let inside = places.of_node[other.node as usize].contains(&(a as u32));
                        assert_eq!(places.number[b] > places.number[a], inside, "seed {seed}, regions {a} and {b}");
                    }
                }
            }
        }
    }
}
