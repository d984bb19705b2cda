//! Which nodes run as one.
//!
//! A node that makes at most one item of each, and is not asked where vectors end, needs no queue before it: whatever comes
//! from a node of the same kind can go through both at once, while it is near. So a chain of such nodes is one node to the
//! machine, its *head*; the node that folds the elements of parents, or a sink, may be the last of it. A region that is one such
//! chain needs neither boundaries nor places for parents, so its head, the node that enumerates, and all of its nodes are one
//! too, with those behind it. In loops queues hold what comes around, so there nodes stay apart.
//!
//! Whether a node that makes several items of each is to be one with what consumes them is a question of cost. Together they save
//! the choice of who runs next, once for each vector; but all that a vector may become has to lie between them at once, where a
//! queue would be emptied whenever it is full. So they are one if the most that a vector may become, its width times what is
//! declared for each item, fits into the nearest cache, and the consumer takes all there is: then nothing that was made has to be
//! fetched again. What is declared is what may come of any item, so this is known before the stream runs.

use super::loops::Loop;
use super::order::Order;
use super::regions::Places;
use super::{Description, Kind, Node, Role};
use crate::machine::span::Spans;

/// So many nodes run as one at most: each of them is called by the one before it, so a chain needs space on the stack.
const MOST: usize = 64;

/// So many bytes may lie between two nodes that run as one, where the first makes several items of each: all of the nearest cache.
const NEAR: usize = 32 << 10;

/// For each node that runs together with others and is not the first of them: that first one.
pub(crate) fn heads(
    of: &Description,
    places: &Places,
    loops: &[Loop],
    spans: Spans,
    order: Option<&Order>,
) -> Vec<Option<u32>> {
    let mut heads: Vec<Option<u32>> = vec![None; of.nodes.len()];
    let mut lengths = vec![1; of.nodes.len()];
    let whole: Vec<bool> = (0..of.regions.len() as u32).map(|region| is_whole(of, places, region, spans)).collect();
    // It handles one item at a time, so it cannot run as part of one that does not.
    let is_tied = |node: u32| order.is_some_and(|order| order.knots.iter().any(|knot| knot.head == node));
    let turns = |node: u32| loops.iter().any(|one| one.nodes.contains(&node));
    // Inputs come from nodes before, so the head of a chain is known when its next node is looked at.
    for node in 0..of.nodes.len() as u32 {
        let [edge] = of.nodes[node as usize].inputs[..] else { continue };
        let from = of.from(edge);
        let (before, this) = (&of.nodes[from as usize], &of.nodes[node as usize]);
        let head = heads[from as usize].unwrap_or(from);
        let inside = |node: u32| places.of_node[node as usize].last();
        // Whoever wants vectors to end at boundaries wants to see what that does to each node.
        let torn = spans == Spans::Never && [from, node].into_iter().any(|node| inside(node).is_some());
        let apart = |node: &Node| !node.fuses || node.is_handled;
        if apart(before) || apart(this) {
            continue;
        }
        if torn
            || is_tied(node)
            || turns(node)
            || turns(from)
            || before.width != this.width
            || lengths[head as usize] == MOST
        {
            continue;
        }
        let fits = match (before.kind, before.role) {
            (Kind::Enumerate(region), _) => whole[region as usize],
            // What is behind a region that is no chain belongs to no parent of it any more, and is not known to its nodes.
            (_, Role::Folds) => {
                matches!(of.nodes[head as usize].kind, Kind::Enumerate(_))
                    && matches!(this.role, Role::Picks | Role::Takes)
            }
            // What comes behind has queues for as many items as go into this one.
            (_, Role::Makes) if !matches!(this.role, Role::Folds | Role::Takes) && gain(of, edge) > 1 => false,
            (_, Role::Makes) if is_far(of, edge) => false,
            // Where some items go another way, boundaries would have to go both ways.
            (_, Role::Picks | Role::Makes) => match this.role {
                Role::Other => false,
                Role::Takes => before.channels.len() == 1 || inside(node).is_none(),
                Role::Picks | Role::Makes => before.channels.len() == 1,
                // The head is asked what to do at boundaries, so it is in the same region, or the one that enumerates for it.
                Role::Folds => {
                    before.channels.len() == 1
                        && match of.nodes[head as usize].kind {
                            Kind::Enumerate(region) => inside(node) == Some(&region),
                            _ => true,
                        }
                }
            },
            _ => false,
        };
        if fits {
            heads[node as usize] = Some(head);
            lengths[head as usize] += 1;
        }
    }
    heads
}

/// How many items come over an edge for each item of the node that it comes from, at most.
pub(crate) fn gain(of: &Description, edge: u32) -> usize {
    of.channels[of.edges[edge as usize].channel as usize].most.unwrap_or(1).max(1)
}

/// Whether what a vector may become, if that is several items for each, is too much for the nearest cache.
fn is_far(of: &Description, edge: u32) -> bool {
    let channel = &of.channels[of.edges[edge as usize].channel as usize];
    let items = of.nodes[channel.node as usize].width.saturating_mul(gain(of, edge));
    gain(of, edge) > 1 && items.saturating_mul(channel.item_bytes.max(1)) > NEAR
}

/// Whether a region is one chain, the last node of which folds, and vectors may reach over its boundaries. It is not too long.
fn is_whole(of: &Description, places: &Places, region: u32, spans: Spans) -> bool {
    let head = of.regions[region as usize].node;
    let mut node = head;
    for _ in 1..MOST {
        let [channel] = of.nodes[node as usize].channels[..] else { return false };
        let Some(edge) = of.channels[channel as usize].edge else { return false };
        node = of.edges[edge as usize].to;
        let this = &of.nodes[node as usize];
        let is_next = this.inputs == [edge] && this.width == of.nodes[head as usize].width;
        let apart = [&of.nodes[head as usize], this].iter().any(|node| !node.fuses || node.is_handled);
        if spans == Spans::Never || apart || !is_next || places.of_node[node as usize].last() != Some(&region) {
            return false;
        }
        match this.role {
            Role::Picks => {}
            Role::Folds => return true,
            Role::Other | Role::Makes | Role::Takes => return false,
        }
    }
    false
}
