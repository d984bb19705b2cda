//! What is known of a stream before it runs.
//!
//! | file | concept |
//! |---|---|
//! | this one | the description of a stream without types: nodes, channels, edges, regions |
//! | [`check`] | everything that can be wrong with a description |
//! | [`regions`] | which node is in which region, and the numbers of regions |
//! | [`loops`] | which nodes a back edge makes a loop of |
//! | [`order`] | what keeps the order where edges join, and in loops |
//! | [`together`] | which sources lead to the same nodes |
//! | [`fuse`] | which nodes run as one |
//! | [`size`] | how large the queues are |
//! | [`need`] | how many bytes a copy needs |
//!
//! A description is plain data and functions that every thread may call. An executor makes of it what it needs: the machine
//! makes one copy of all nodes and queues for each worker.

pub(crate) mod check;
pub(crate) mod fuse;
pub(crate) mod loops;
pub(crate) mod need;
pub(crate) mod order;
pub(crate) mod regions;
pub(crate) mod size;
pub(crate) mod together;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use crate::bell::Around;
use crate::body::Factory;
use crate::machine::parents::AnyParents;
use crate::machine::pipe::AnyPipe;
use crate::sink::Settle;
use crate::source::Opening;

/// A stream, as it was described.
#[derive(Default)]
pub(crate) struct Description {
    pub(crate) nodes: Vec<Node>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) regions: Vec<RegionHead>,
    /// What nodes may read: the values of those that a run does not set.
    pub(crate) parameters: Vec<Arc<dyn Any + Send + Sync>>,
    /// What the largest value of a signal costs; zero if there are no kinds of signals.
    pub(crate) value_bytes: usize,
}

/// A node. Its inputs come from nodes before it, except for back edges.
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) width: usize,
    /// What it does with items, as far as those before and behind it may run as one with it.
    pub(crate) role: Role,
    /// Edges, the back edges last.
    pub(crate) inputs: Vec<u32>,
    pub(crate) channels: Vec<u32>,
    /// How many signals it raises at most in a run, and for a signal.
    pub(crate) signals: (usize, usize),
    /// Whether its code can raise signals of the user's.
    pub(crate) raises: bool,
    /// At most so many items at a signal, for each channel.
    pub(crate) at_signal: usize,
    /// How many bytes of the user's types are in it: its state, or what becomes of the item that is under way.
    pub(crate) own_bytes: usize,
    /// How many bytes it needs for each item that may wait for it, besides those of the queue.
    pub(crate) bytes_for_each: usize,
    pub(crate) factory: Option<Factory>,
    pub(crate) open: Option<OpenSource>,
    pub(crate) settle: Option<Settle>,
    pub(crate) around: Option<Around>,
    /// The regions at whose boundaries it does something, and whether it does at those of its innermost region.
    pub(crate) handles: Vec<u32>,
    pub(crate) at_parents: bool,
    /// Whether it may run as one with others, if it is up to the user; and whether a node whose loop is ours has handlers.
    pub(crate) fuses: bool,
    pub(crate) is_handled: bool,
}

pub(crate) type OpenSource = Arc<dyn Fn(&Opening) -> Arc<dyn Any + Send + Sync> + Send + Sync>;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It has no inputs. Sources whose chunks have an order can be run in order by several workers.
    Source { in_chunks: bool },
    /// It runs the user's function on a vector of items.
    Run,
    /// It runs a loop of ours around the user's function of one item.
    Select,
    /// It makes any number of items of one, and can be interrupted.
    Expand,
    /// It is the head of a region.
    Enumerate(u32),
    /// It has no channels.
    Sink,
}

/// What a node does with items, where that is all it does. It is not asked where vectors end then, and does not look at parents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Something else.
    Other,
    /// It makes at most one item of each.
    Picks,
    /// It makes some items of each, with a function of one item that raises no signals.
    Makes,
    /// It makes one item of the elements of each parent.
    Folds,
    /// It is a sink that takes all there is.
    Takes,
}

/// A channel of a node.
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) node: u32,
    /// At most so many items for each input; none when the node stops where there is no room.
    pub(crate) most: Option<usize>,
    /// At most so many items at a signal.
    pub(crate) at_signal: usize,
    /// Whether its items leave the region.
    pub(crate) aggregates: bool,
    pub(crate) edge: Option<u32>,
    pub(crate) item_bytes: usize,
    /// For so many items more than there may be a queue has space.
    pub(crate) slack: usize,
    /// Makes a queue for so many items and signals, if there is memory for it.
    pub(crate) pipe: fn(usize, usize) -> Option<Rc<dyn AnyPipe>>,
}

/// An edge from a channel to a node.
pub(crate) struct Edge {
    pub(crate) channel: u32,
    pub(crate) to: u32,
    /// For a back edge: how many items of the loop one item that enters it becomes at most, at any time.
    pub(crate) growth: Option<usize>,
}

/// The head of a region.
pub(crate) struct RegionHead {
    pub(crate) node: u32,
    /// How many parents may be under way.
    pub(crate) parents: usize,
    pub(crate) parent_bytes: usize,
    /// Makes the storage, for so many parents that are each released so many times, if there is memory for it.
    pub(crate) store: fn(usize, u32) -> Option<Rc<dyn AnyParents>>,
}

impl Node {
    /// Whether those outside see what it does as it does it: a sink that takes items as they come or has handlers, or any other node
    /// without channels.
    pub(crate) fn delivers(&self) -> bool {
        self.channels.is_empty() && (self.settle.is_none() || self.is_handled)
    }
}

impl Description {
    pub(crate) fn from(&self, edge: u32) -> u32 {
        self.channels[self.edges[edge as usize].channel as usize].node
    }

    /// What a channel is called in messages.
    pub(crate) fn channel_name(&self, channel: u32) -> String {
        let channel = &self.channels[channel as usize];
        format!("channel `{}` of node `{}`", channel.name, self.nodes[channel.node as usize].name)
    }

    /// What an edge is called in messages.
    pub(crate) fn edge_name(&self, edge: u32) -> String {
        let edge = &self.edges[edge as usize];
        format!("the edge from {} to node `{}`", self.channel_name(edge.channel), self.nodes[edge.to as usize].name)
    }

    /// The edges that leave a node, in the order of its channels. Every channel has one.
    pub(crate) fn outputs(&self, node: u32) -> impl Iterator<Item = u32> {
        self.nodes[node as usize].channels.iter().filter_map(|channel| self.channels[*channel as usize].edge)
    }

    pub(crate) fn is_back(&self, edge: u32) -> bool {
        self.edges[edge as usize].growth.is_some()
    }
}
