//! What keeps the order where edges join, and in loops.
//!
//! Queues keep the order of what goes through them. Where the edges into a node come from one node before it, its *head*, what
//! takes one way may overtake what takes the other. So in an ordered stream the head handles one item at a time, and waits until all
//! that comes of it is beyond the join; the join takes what comes over its first edge before what comes over the next. The order
//! behind a join is therefore that of the items at its head, and for each of them that of the edges. The nodes between the two, with
//! the join, are a *knot*.
//!
//! That can be done only if the ways to the join have no node in common behind the head: what such a node holds back on one way, for
//! want of room, might be what is waited for on the other.
//!
//! A loop is a queue too if it is one way around. One item at a time may be in it then, and what leaves is in the order of what
//! entered; what one item becomes leaves in the order in which it goes around.

use super::Description;
use super::loops::{Loop, between};
use crate::error::{Code, Diagnostic};

/// A head, and all nodes between it and those that join its channels, which are included.
#[derive(Clone)]
pub(crate) struct Knot {
    pub(crate) head: u32,
    pub(crate) nodes: Vec<u32>,
}

/// A node that joins edges in order: for each edge, the nodes between the head and the join on this way.
#[derive(Clone)]
pub(crate) struct Join {
    pub(crate) node: u32,
    pub(crate) ways: Vec<Vec<u32>>,
}

/// How an ordered stream keeps its order.
#[derive(Clone, Default)]
pub(crate) struct Order {
    pub(crate) knots: Vec<Knot>,
    pub(crate) joins: Vec<Join>,
}

/// Finds out how the order is kept, and where it cannot be.
pub(crate) fn order(of: &Description, loops: &[Loop], found: &mut Vec<Diagnostic>) -> Order {
    let mut order = Order::default();
    let name = |node: u32| &of.nodes[node as usize].name;
    let mut wrong = |message: String| found.push(Diagnostic::new(Code::Setting, message));
    for one in loops {
        let around = |node: &u32| {
            let stays = |edge: &u32| one.around.contains(&of.edges[*edge as usize].to);
            of.outputs(*node).filter(stays).count() == 1
        };
        let forward = of.nodes[one.head as usize].inputs.iter().filter(|edge| !of.is_back(**edge)).count();
        if !one.around.iter().all(around) || forward > 1 {
            let nodes: Vec<String> = one.around.iter().map(|node| format!("`{}`", name(*node))).collect();
            wrong(format!(
                "the stream is ordered, but the loop of node `{}` is not one way around with one edge that leads into it, so \
                 there is no order in it: it has the nodes {}",
                name(one.head),
                nodes.join(", ")
            ));
        }
    }
    let heads = heads(of);
    for (node, this) in (0_u32..).zip(&of.nodes) {
        let edges: Vec<u32> = this.inputs.iter().copied().filter(|edge| !of.is_back(*edge)).collect();
        if edges.len() < 2 || loops.iter().any(|one| one.head == node) {
            continue;
        }
        let Some(head) = heads[node as usize] else {
            wrong(format!(
                "the stream is ordered, but node `{}` joins edges from several sources, between which there is no order",
                this.name
            ));
            continue;
        };
        let way = |edge: &u32| {
            let mut way = between(of, head, of.from(*edge));
            way.retain(|node| *node != head);
            way
        };
        let ways: Vec<Vec<u32>> = edges.iter().map(way).collect();
        let mut all: Vec<u32> = ways.concat();
        all.sort_unstable();
        if let Some(twice) = all.windows(2).find(|pair| pair[0] == pair[1]) {
            wrong(format!(
                "the stream is ordered, but the ways from node `{}` to node `{}`, which joins them, meet before it, at node `{}`",
                name(head),
                this.name,
                name(twice[0])
            ));
            continue;
        }
        all.push(node);
        match order.knots.iter_mut().find(|knot| knot.head == head) {
            Some(knot) => {
                knot.nodes.extend(all);
                knot.nodes.sort_unstable();
                knot.nodes.dedup();
            }
            None => order.knots.push(Knot { head, nodes: all }),
        }
        order.joins.push(Join { node, ways });
    }
    order
}

/// For each node, the last one before it that all its items come through; none for sources, and where several of them meet.
///
/// Inputs come from nodes before, so one look at each is enough (Cooper, Harvey and Kennedy, "A simple, fast dominance
/// algorithm").
fn heads(of: &Description) -> Vec<Option<u32>> {
    let mut heads: Vec<Option<u32>> = Vec::with_capacity(of.nodes.len());
    for node in &of.nodes {
        let forward = node.inputs.iter().filter(|edge| !of.is_back(**edge));
        let common = forward.map(|edge| Some(of.from(*edge))).reduce(|a, b| {
            let (mut a, mut b) = (a?, b?);
            while a != b {
                let later = if a > b { &mut a } else { &mut b };
                *later = heads[*later as usize]?;
            }
            Some(a)
        });
        heads.push(common.flatten());
    }
    heads
}

#[cfg(test)]
mod tests {
    use crate::{Output, Stream, source};

    fn two(stream: &mut Stream, name: &str, from: Output<u64>) -> (Output<u64>, Output<u64>) {
        stream.node(name, from).channel::<u64>("a", 1).channel::<u64>("b", 1).each(|_, _| {})
    }

    #[test]
    fn the_head_of_a_join_is_where_its_edges_part() {
        let mut stream = Stream::new("nested");
        let items = stream.source("numbers", source::range(0..1));
        let (a, b) = two(&mut stream, "outer", items); // 1
        let (c, d) = two(&mut stream, "inner", a); // 2
        let inner = stream.node("inner join", [c, d]).map(|n| *n); // 3
        let b = stream.node("b", b).map(|n| *n); // 4
        stream.discard("outer join", [inner, b]); // 5
        let mut found = Vec::new();
        let order = super::order(&stream.description, &[], &mut found);
        assert!(found.is_empty(), "{found:?}");
        let knots: Vec<_> = order.knots.iter().map(|knot| (knot.head, knot.nodes.clone())).collect();
        assert_eq!(knots, [(2, vec![3]), (1, vec![2, 3, 4, 5])]);
        assert_eq!(order.joins[1].ways, [vec![2, 3], vec![4]]);
    }
}
