//! The machine: one copy of a stream, run by one worker.
//!
//! | file | concept |
//! |---|---|
//! | this one | nodes and edges of a copy, and how they are made |
//! | [`status`] | who may fire: activity, blocking, flushes |
//! | [`fire`] | one node consumes what waits for it |
//! | `hurry` | what has come of heavy items goes on before all of them are done |
//! | `fault` | what the user's code did wrong, with names |
//! | `fuse` | nodes that run as part of another |
//! | [`span`] | a run that reaches over boundaries of regions |
//! | [`cycle`] | loops: who may enter, and how they become empty |
//! | [`knot`] | edges that part and join again, in an ordered stream |
//! | [`dry`] | copies that have nothing to do take from others |
//! | [`outside`] | nodes that wait for somebody outside of the stream |
//! | [`settle`] | the end of a run: nothing is left anywhere |
//! | [`pace`] | how much is done before somebody is asked again |
//! | [`time`] | how long nodes take |
//! | [`pipe`], [`signal`], [`parents`] | queues, the signals in them, the parents of regions |
//!
//! The protocol is in the README of the crate. A copy belongs to one thread, so there are no atomics in it.

pub(crate) mod cycle;
pub(crate) mod dry;
mod fault;
pub(crate) mod fire;
mod fuse;
mod hurry;
pub(crate) mod knot;
pub(crate) mod outside;
pub(crate) mod pace;
pub(crate) mod parents;
pub(crate) mod pipe;
pub(crate) mod settle;
pub(crate) mod signal;
pub(crate) mod span;
pub(crate) mod status;
pub(crate) mod time;

use std::any::Any;
use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use drawloom_runtime::Member;

use self::cycle::Cycle;
use self::dry::Dry;
use self::pace::Pace;
use self::parents::AnyParents;
use self::pipe::AnyPipe;
use self::signal::Values;
use self::span::Spans;
use self::status::Status;
use crate::bell::Bell;
use crate::body::{Body, Chain, Wire, Wires};
use crate::error::{Error, ErrorKind, Result};
use crate::parameter::Parameters;
use crate::plan::check::Layout;
use crate::plan::need::bytes_of_values;
use crate::plan::order::Knot;
use crate::plan::regions::WHOLE;
use crate::plan::{Description, Kind};
use crate::report::Counts;
use crate::settings::Settings;
use crate::sink::Chunk;
use crate::sink::order::Turn;
use crate::trace::Firings;
use crate::wide::MOST_ITEMS;

/// So many bytes stay in the nearest cache while a node works on them, as other things are there too.
const NEAREST: usize = 24 << 10;

/// Something that copies write often, in a part of the cache of its own: whoever reads what lies beside it does not wait then.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(T);

impl<T> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// What a run shares with those who look at it.
pub(crate) struct Outside {
    /// Somebody wishes it to end.
    pub(crate) stop: AtomicBool,
    /// How many items the sources have given, in each copy: only its own thread writes there, so nobody waits for another.
    pub(crate) given: Box<[Apart<AtomicU64>]>,
    /// How often somebody wished that all items that are under way come to their end.
    pub(crate) flushes: AtomicU64,
    /// Whether time is measured.
    pub(crate) timed: bool,
    /// How many firings of each copy are kept, and what their times are counted from.
    pub(crate) traced: usize,
    pub(crate) began: Instant,
    /// The copies that have nothing to do.
    pub(crate) dry: Dry,
    /// Whose turn it is to deliver, where several workers keep an order.
    pub(crate) turn: Option<Arc<Turn>>,
    /// Rings when somebody outside has done something that a node may wait for.
    pub(crate) bell: Arc<Bell>,
}

impl Outside {
    /// How many items the sources have given so far, in all copies.
    pub(crate) fn all_given(&self) -> u64 {
        // Relaxed: it is only to be looked at.
        self.given.iter().map(|given| given.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    pub(crate) fn new(workers: usize, settings: &Settings, in_turn: bool) -> Self {
        Self {
            stop: AtomicBool::new(false),
            given: (0..workers).map(|_| Apart::default()).collect(),
            flushes: AtomicU64::new(0),
            timed: settings.timed,
            traced: settings.traced,
            began: Instant::now(),
            dry: Dry::new(workers),
            turn: in_turn.then(Arc::default),
            bell: Arc::default(),
        }
    }
}

/// A copy of a stream.
pub(crate) struct Machine<'p> {
    pub(crate) description: &'p Description,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    pub(crate) cycles: Vec<Cycle>,
    /// Where edges part and join again, in an ordered stream, and whether it is one.
    pub(crate) knots: Vec<Knot>,
    pub(crate) ordered: bool,
    pub(crate) regions: Vec<OpenRegion>,
    /// Nodes that may fire, the latest last.
    pub(crate) fireable: Vec<u32>,
    /// How many nodes wait for a boundary.
    pub(crate) starving: u32,
    /// The node that runs, for messages.
    pub(crate) current: Rc<Cell<u32>>,
    pub(crate) trips: u64,
    pub(crate) firings: Firings,
    /// How many nodes wait for somebody outside, and up to which ring they have heard.
    pub(crate) waiting: u32,
    pub(crate) heard: u64,
    /// Up to which ring it had heard, and how much its sources had given, when it slept last.
    pub(crate) slept: (u64, u64),
    /// The chunk of the source that is worked on, and the one whose turn to be delivered has come: it stays so until it is done.
    pub(crate) chunk: Chunk,
    pub(crate) turn_of: Option<u64>,
    /// How long what live sources gave may be under way.
    pub(crate) patience: Option<Duration>,
    /// When the first of them tries again, whoever has called.
    pub(crate) until: Option<Instant>,
    /// How many wishes to flush were seen, the flush that was begun for the last, and how many flushes were begun for whatever reason.
    pub(crate) flushes: u64,
    pub(crate) wished_flush: u64,
    pub(crate) flushes_begun: u64,
    /// What others may know of the run, and wish, and whose copy this is.
    pub(crate) outside: &'p Outside,
    pub(crate) member: &'p Member<'p>,
    /// Space for where the boundaries of a run are, and what it says of them.
    pub(crate) marked: Vec<u32>,
    pub(crate) pushed: [Vec<u32>; 2],
    /// Where the values of signals are kept.
    pub(crate) values: Rc<Values>,
    /// Space for the search for a boundary: nodes to look at, and those that were looked at.
    pub(crate) upstream: Vec<u32>,
    pub(crate) seen: Vec<bool>,
}

/// A node of a copy.
pub(crate) struct Node {
    pub(crate) body: Box<dyn Body>,
    pub(crate) kind: Kind,
    pub(crate) status: Status,
    pub(crate) width: usize,
    /// The numbers of the regions around it, the whole stream first, and the last flush of each that it has passed on.
    pub(crate) numbers: Box<[u32]>,
    pub(crate) flushed: Box<[u64]>,
    /// Over how many edges the next flush of each has not come.
    pub(crate) missing: Box<[usize]>,
    pub(crate) chain: Chain,
    /// Back edges first, so that a loop gets emptier before it gets fuller.
    pub(crate) inputs: Vec<In>,
    pub(crate) outputs: Vec<u32>,
    /// The loop that it is in.
    pub(crate) cycle: Option<u32>,
    /// The knots that it is in, or the head of, and whether it is the head of one.
    pub(crate) knots: Vec<u32>,
    pub(crate) is_tied: bool,
    /// Where edges join in order: the nodes on the way to each of its inputs.
    pub(crate) ways: Vec<Vec<u32>>,
    /// Whether its vectors reach over boundaries.
    pub(crate) spans: Spans,
    /// Whether it may take several vectors in a step, and in a run over boundaries; and whether they are one run where no boundaries
    /// are, as it does not matter to it where they end.
    pub(crate) several: bool,
    pub(crate) seamless: bool,
    /// How many vectors it takes at once, or how many items as a source; and whether it was cut short for that.
    pub(crate) pace: Pace,
    pub(crate) cut: bool,
    /// Of a source: whether its last items were divided among the copies.
    pub(crate) divided: bool,
    /// How many items it may take at once at most, because of the space between it and those that run as part of it.
    pub(crate) most_items: usize,
    /// How many items it takes at once where no boundaries are among them, so that they and what becomes of them are in the nearest
    /// cache.
    pub(crate) piece: usize,
    /// How many parents may end at once in its runs, so that what becomes of them fits between nodes that run as one.
    pub(crate) most_parents: usize,
    /// What it has consumed as part of another node.
    pub(crate) passed: Option<Rc<Cell<u64>>>,
    /// A run over one of its inputs was interrupted, and so many items of it are left.
    pub(crate) interrupted: Option<(usize, usize)>,
    /// Since when something that it has pushed may wait, where a live source has a patience.
    pub(crate) since: Option<Instant>,
    /// Up to which wish to flush those behind it have hurried, or the flush has come through it.
    pub(crate) hurried: u64,
    /// Of a source: how many items it had given when a wish to flush was seen, until it has no more.
    pub(crate) wished_at: Option<u64>,
    /// Whether it waits for its turn, where several workers keep an order.
    pub(crate) in_turn: bool,
    /// The source that leads to it.
    pub(crate) source: Option<u32>,
    /// Of a source: the others that lead to a node to which it leads too.
    pub(crate) together: Vec<u32>,
    pub(crate) counts: Counts,
}

impl Node {
    /// The number of its innermost region.
    pub(crate) fn number(&self) -> u32 {
        self.numbers.last().copied().unwrap_or(WHOLE)
    }
}

/// An edge into a node.
#[derive(Clone, Copy)]
pub(crate) struct In {
    pub(crate) edge: u32,
    /// Which input it is for the body.
    pub(crate) input: usize,
}

/// An edge of a copy.
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) pipe: Rc<dyn AnyPipe>,
    pub(crate) need: usize,
    pub(crate) signals_need: usize,
    pub(crate) back: bool,
    /// The regions around its items.
    pub(crate) regions: Vec<u32>,
    /// The last flush that came over it, of the whole stream and of each region around its items.
    pub(crate) flushes: Box<[u64]>,
    /// Whether its consumer counts as an active child of its producer.
    pub(crate) counted: bool,
    /// Whether its consumer waits for a boundary that has to come over it.
    pub(crate) starved: bool,
    /// Since when it keeps its producer from firing, and how many nanoseconds it did before.
    pub(crate) since: Option<Instant>,
    pub(crate) blocked: u64,
}

impl Edge {
    /// Whether its producer must not run once more: there would be no room for all that it may push or raise.
    pub(crate) fn is_full(&self) -> bool {
        self.pipe.room() < self.need || self.pipe.signals().borrow().room() < self.signals_need
    }
}

/// A region of a copy.
pub(crate) struct OpenRegion {
    pub(crate) head: u32,
    pub(crate) parents: Rc<dyn AnyParents>,
    /// Which nodes are the last to see a parent, each with its number among them.
    pub(crate) ends: Vec<Option<u32>>,
}

impl<'p> Machine<'p> {
    /// Notes that sources have given so many items more; or fewer, as a number that wraps around.
    pub(crate) fn note_given(&self, items: u64) {
        let given = &self.outside.given[self.member.rank()];
        // Relaxed: it is only to be looked at, and nobody else writes there.
        given.store(given.load(Ordering::Relaxed).wrapping_add(items), Ordering::Relaxed);
    }

    /// Makes a copy, if there is memory for its queues. `shared` is what all copies share, for each node. The node at hand is
    /// noted: its user's code may panic.
    pub(crate) fn new(
        description: &'p Description,
        stream: u64,
        plan: &Layout,
        (shared, parameters): (&[Option<Arc<dyn Any + Send + Sync>>], &Parameters),
        current: &Rc<Cell<u32>>,
        (outside, member): (&'p Outside, &'p Member<'p>),
    ) -> Result<Self> {
        let mut edges = edges(description, plan)?;
        let store = |(head, ends): (&crate::plan::RegionHead, &u32)| {
            let no_memory = || {
                let name = &description.nodes[head.node as usize].name;
                let message = format!("there is no memory for the {} parents of node `{name}`", head.parents);
                Error::new(ErrorKind::Engine, message).at_node(name)
            };
            (head.store)(head.parents, *ends).ok_or_else(no_memory)
        };
        let parents = description.regions.iter().zip(&plan.places.ends).map(store);
        let parents: Rc<[Rc<dyn AnyParents>]> = parents.collect::<Result<_>>()?;
        let name = |head: &crate::plan::RegionHead| description.nodes[head.node as usize].name.clone();
        let heads: Rc<[String]> = description.regions.iter().map(name).collect();
        let chunk = Rc::new(Cell::new(0));
        let bytes = bytes_of_values(description, plan.sizes.iter().map(|size| size.signals));
        let values = Rc::new(Values::new(bytes, description.value_bytes));
        let mut nodes = Vec::with_capacity(description.nodes.len());
        for (number, node) in (0_u32..).zip(&description.nodes) {
            current.set(number);
            let outputs: Vec<u32> = description.outputs(number).collect();
            let wire = |(channel, edge): (&u32, &u32)| {
                let (channel, edge) = (&description.channels[*channel as usize], &edges[*edge as usize]);
                Wire {
                    pipe: Rc::clone(&edge.pipe),
                    values: Rc::clone(&values),
                    most: channel.most.unwrap_or(usize::MAX),
                    at_signal: channel.at_signal,
                    depth: edge.regions.len(),
                    back: edge.back,
                    own: edge.back && edge.to == number,
                }
            };
            let wires = Wires {
                inputs: node.inputs.iter().map(|edge| Rc::clone(&edges[*edge as usize].pipe)).collect(),
                outputs: node.channels.iter().zip(&outputs).map(wire).collect(),
                parents: Rc::clone(&parents),
                signals: node.signals,
                width: node.width,
                chunk: Rc::clone(&chunk),
                turn: outside.turn.clone(),
                bell: Arc::clone(&outside.bell),
                shared: shared[number as usize].clone(),
                parameters: parameters.clone(),
            };
            let factory = node.factory.as_ref().expect("a description that was checked says what its nodes run");
            let mut inputs: Vec<In> = node.inputs.iter().enumerate().map(|(input, &edge)| In { edge, input }).collect();
            inputs.sort_by_key(|one| !edges[one.edge as usize].back);
            let regions = plan.places.of_node[number as usize].iter().map(|region| (*region, None)).collect();
            let body = factory(&wires);
            let forward = node.inputs.iter().filter(|edge| !description.is_back(**edge)).count();
            let cycle = plan.loops.iter().position(|one| one.nodes.contains(&number)).map(|at| at as u32);
            let order = plan.order.as_ref();
            let all = (0_u32..).zip(order.into_iter().flat_map(|order| &order.knots));
            let tied = all.filter(|(_, knot)| knot.head == number || knot.nodes.contains(&number));
            let knots = tied.map(|(at, _)| at).collect();
            let is_tied = order.is_some_and(|order| order.knots.iter().any(|knot| knot.head == number));
            let join = order.and_then(|order| order.joins.iter().find(|join| join.node == number));
            // Where a boundary comes over several edges, or a loop has to be empty for it, it is handled alone.
            let alone = node.inputs.len() == 1 && outputs.len() <= 2 && cycle.is_none() && !is_tied;
            let is_near = |edge: &u32| plan.sizes[*edge as usize].capacity <= MOST_ITEMS;
            let near = node.inputs.iter().chain(&outputs).all(is_near);
            let wanted = plan.places.of_node[number as usize].last().map(|_| plan.spans);
            let spans = if alone && near && body.can_span() { wanted.unwrap_or(Spans::Never) } else { Spans::Never };
            nodes.push(Node {
                knots,
                is_tied,
                ways: join.map(|join| join.ways.clone()).unwrap_or_default(),
                spans,
                seamless: cycle.is_none() && body.is_seamless(),
                several: cycle.is_none() && (body.is_seamless() || body.cuts()),
                body,
                kind: node.kind,
                status: Status::default(),
                width: node.width,
                flushed: vec![0; 1 + plan.places.of_node[number as usize].len()].into(),
                missing: vec![forward; 1 + plan.places.of_node[number as usize].len()].into(),
                numbers: plan.places.node_numbers(number).collect(),
                chain: Chain {
                    regions,
                    parents: Rc::clone(&parents),
                    heads: Rc::clone(&heads),
                    stream,
                    timed: outside.timed,
                    pushing: Cell::new(0),
                },
                inputs,
                outputs,
                cycle,
                pace: Pace::default(),
                cut: false,
                divided: false,
                most_items: usize::MAX,
                piece: near_items(description, number),
                most_parents: usize::MAX,
                passed: None,
                interrupted: None,
                since: None,
                hurried: 0,
                wished_at: None,
                in_turn: outside.turn.is_some() && node.delivers(),
                source: inputs_from_source(description, number),
                together: plan.together[number as usize].clone(),
                counts: Counts::default(),
            });
        }
        fuse::fuse(&mut nodes, &mut edges, description, plan, current);
        for node in &mut nodes {
            node.piece = (node.piece / node.width * node.width).max(node.width);
        }
        let regions = (0_u32..).zip(&description.regions).map(|(region, head)| {
            let stays = |edge: &u32| {
                let edge = &edges[*edge as usize];
                !edge.back && edge.regions.contains(&region)
            };
            let inside = |node: &Node| node.chain.regions.iter().any(|(own, _)| *own == region);
            let mut numbers = 0..;
            let mut number = |node: &Node| {
                let ends = node.passed.is_none() && inside(node) && !node.outputs.iter().any(stays);
                ends.then(|| numbers.next()).flatten()
            };
            let ends = nodes.iter().map(&mut number).collect();
            OpenRegion { head: head.node, parents: Rc::clone(&parents[region as usize]), ends }
        });
        let regions = regions.collect();
        let cycles = plan.loops.iter().map(|one| Cycle::new(description, plan, one)).collect();
        let patience = nodes.iter().filter_map(|node| node.body.patience()).min();
        let (fireable, current) = (Vec::with_capacity(nodes.len()), Rc::clone(current));
        Ok(Self {
            description,
            nodes,
            edges,
            cycles,
            knots: plan.order.as_ref().map(|order| order.knots.clone()).unwrap_or_default(),
            ordered: plan.order.is_some(),
            regions,
            fireable,
            starving: 0,
            current,
            trips: 0,
            firings: Firings::default(),
            waiting: 0,
            heard: outside.bell.heard(),
            until: None,
            slept: Default::default(),
            patience,
            flushes: 0,
            wished_flush: 0,
            flushes_begun: 0,
            chunk,
            turn_of: None,
            outside,
            member,
            marked: Vec::new(),
            pushed: Default::default(),
            values,
            upstream: Vec::with_capacity(description.edges.len()),
            seen: Vec::new(),
        })
    }
}

/// So many items of a node, with what they may become, fit into the nearest cache.
fn near_items(description: &Description, node: u32) -> usize {
    let Description { channels, edges, nodes, .. } = description;
    let this = &nodes[node as usize];
    let inputs = this.inputs.iter().map(|edge| channels[edges[*edge as usize].channel as usize].item_bytes).max();
    let becomes = |channel: &u32| {
        let channel = &channels[*channel as usize];
        channel.item_bytes.saturating_mul(channel.most.unwrap_or(1))
    };
    let bytes = this.channels.iter().map(becomes).fold(inputs.unwrap_or(0), usize::saturating_add);
    NEAREST / bytes.max(1)
}

/// The first source that leads to a node.
fn inputs_from_source(description: &Description, node: u32) -> Option<u32> {
    let from = description.nodes[node as usize].inputs.iter().map(|edge| description.from(*edge));
    from.into_iter().find(|from| matches!(description.nodes[*from as usize].kind, Kind::Source { .. }))
}

fn edges(description: &Description, plan: &Layout) -> Result<Vec<Edge>> {
    let make = |((edge, of), size): ((u32, &crate::plan::Edge), &crate::plan::size::Size)| {
        let from = description.from(edge);
        let no_memory = || {
            let (items, signals, name) = (size.capacity, size.signals, description.edge_name(edge));
            let message = format!("there is no memory for {items} items and {signals} signals of {name}");
            Error::new(ErrorKind::Engine, message).at_node(&description.nodes[from as usize].name)
        };
        let pipe = (description.channels[of.channel as usize].pipe)(size.capacity, size.signals);
        Ok(Edge {
            from,
            to: of.to,
            pipe: pipe.ok_or_else(no_memory)?,
            need: size.need,
            signals_need: size.signals_need,
            back: of.growth.is_some(),
            regions: plan.places.of_edge[edge as usize].clone(),
            flushes: vec![0; 1 + plan.places.of_edge[edge as usize].len()].into(),
            counted: false,
            starved: false,
            since: None,
            blocked: 0,
        })
    };
    (0_u32..).zip(&description.edges).zip(&plan.sizes).map(make).collect()
}
