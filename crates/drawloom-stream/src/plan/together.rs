//! Which sources lead to the same nodes: what one of them has given may wait there for the others.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::{Description, Kind};

/// For each source: the others that lead to a node to which it leads too. None for what is no source.
pub(crate) fn together(of: &Description) -> Vec<Vec<u32>> {
    let mut together = vec![BTreeSet::new(); of.nodes.len()];
    // The sources that lead to each node. Inputs come from nodes before, so one look at each is enough; and only where edges join is
    // there something new.
    let mut leading: Vec<Rc<BTreeSet<u32>>> = Vec::with_capacity(of.nodes.len());
    for (number, node) in (0_u32..).zip(&of.nodes) {
        let mut forward =
            node.inputs.iter().filter(|edge| !of.is_back(**edge)).map(|edge| &leading[of.from(*edge) as usize]);
        let own = match (forward.next(), forward.next()) {
            (None, _) => Rc::new(BTreeSet::from_iter(matches!(node.kind, Kind::Source { .. }).then_some(number))),
            (Some(one), None) => Rc::clone(one),
            (Some(one), Some(other)) => {
                let all: BTreeSet<u32> =
                    [one, other].into_iter().chain(forward).flat_map(|some| some.iter().copied()).collect();
                if all != **one {
                    all.iter().for_each(|source| together[*source as usize].extend(&all));
                }
                Rc::new(all)
            }
        };
        leading.push(own);
    }
    let others = |(source, all): (u32, BTreeSet<u32>)| all.into_iter().filter(|other| *other != source).collect();
    (0..).zip(together).map(others).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Stream, source};

    #[test]
    fn sources_are_together_where_they_lead_to_one_node() {
        let mut stream = Stream::new("sources");
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| stream.source(name, source::range(0..1)));
        let (left, right) = stream.node("part", b).split(|n| (n, true));
        let first = stream.node("first", [a, left]).map(|n| *n);
        let second = stream.node("second", [right, c]).map(|n| *n);
        stream.discard("one", first);
        stream.discard("two", second);
        stream.discard("three", d);
        // The sources are the first nodes. What meets the same one does not have to meet.
        let together = super::together(&stream.description);
        assert_eq!(together[..4], [vec![1], vec![0, 2], vec![1], vec![]]);
        assert!(together[4..].iter().all(Vec::is_empty));
    }
}
