//! Nodes that run as part of another.
//!
//! Which they are is decided before the run, see [`plan::fuse`](crate::plan::fuse). When all nodes of a copy are made, they are put
//! together.

use std::cell::Cell;
use std::rc::Rc;

use super::pace::Pace;
use super::{Edge, Node};
use crate::body::fused::{Elsewhere, Fused, Part};
use crate::body::whole::{GROUP, Whole};
use crate::plan::check::Layout;
use crate::plan::fuse::gain;
use crate::plan::{Description, Kind, Role};
use crate::wide::MOST_ITEMS;

/// Nodes that run as part of another become that: the last of a chain first, so that each is complete when it becomes part of the
/// one before it.
pub(super) fn fuse(nodes: &mut [Node], edges: &mut [Edge], of: &Description, plan: &Layout, current: &Rc<Cell<u32>>) {
    for number in (0..nodes.len() as u32).rev().filter(|number| plan.heads[*number as usize].is_some()) {
        let node = &mut nodes[number as usize];
        let (edge, passed) = (node.inputs[0].edge, Rc::new(Cell::new(0)));
        let (inner, near, parents) = (node.most_items, node.piece, node.most_parents);
        let body = std::mem::replace(&mut node.body, Box::new(Elsewhere));
        let outputs = std::mem::take(&mut node.outputs);
        node.passed = Some(Rc::clone(&passed));
        let from = edges[edge as usize].from;
        outputs.iter().for_each(|output| edges[*output as usize].from = from);
        let between = Rc::clone(&edges[edge as usize].pipe);
        let part = Part { body, between, passed, current: Rc::clone(current), number };
        let before = &mut nodes[from as usize];
        let at = before.outputs.iter().position(|output| *output == edge).unwrap_or(0);
        before.outputs.splice(at..=at, outputs);
        let first = std::mem::replace(&mut before.body, Box::new(Elsewhere));
        let room = inner.min(plan.sizes[edge as usize].capacity).min(MOST_ITEMS);
        let noted = noted(of, plan, plan.heads[number as usize].unwrap_or(from));
        let pushed = [Vec::with_capacity(noted), Vec::with_capacity(noted)];
        before.body = match (of.nodes[from as usize].kind, of.nodes[from as usize].role) {
            (Kind::Enumerate(region), _) => {
                let (ends, chain) = (vec![0; parents.min(noted)].into(), before.chain.like());
                let (width, pace) = (before.width, Pace::default());
                // It takes parents in groups, wherever a vector of them ends.
                before.seamless = before.cycle.is_none();
                before.piece = usize::MAX;
                before.several = before.seamless;
                Box::new(Whole { head: first, inside: part, region, chain, room, width, pace, ends, pushed })
            }
            (_, role) => {
                // Of the elements of parents there may be many, and each of them becomes one item: those fit.
                let inside = role != Role::Folds;
                if inside {
                    before.most_items = before.most_items.min(room / gain(of, edge));
                    before.piece = before.piece.min(near / gain(of, edge)).min(before.most_items);
                    before.most_parents = parents;
                } else {
                    before.most_parents = room;
                }
                Box::new(Fused { first, second: part, inside, pushed })
            }
        };
    }
}

/// How many boundaries there may be among the items of a run of nodes that run as one, of which this is the first.
fn noted(of: &Description, plan: &Layout, head: u32) -> usize {
    let sizes = of.nodes[head as usize].inputs.iter().map(|edge| &plan.sizes[*edge as usize]);
    match of.nodes[head as usize].kind {
        // Each item that waits is a parent, and may end within the run.
        Kind::Enumerate(_) => sizes.map(|size| size.capacity).max().unwrap_or(1).min(GROUP),
        _ if plan.places.of_node[head as usize].is_empty() => 0,
        _ => sizes.map(|size| size.signals).max().unwrap_or(0),
    }
}
