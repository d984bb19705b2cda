//! A stream that is being described, or run.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use drawloom_runtime::Loom;

use super::handle::{Input, IntoInputs, Output, Region, Tag};
use super::node::NodeBuilder;
use crate::body::Factory;
use crate::body::ends::{SinkEnd, SourceEnd};
use crate::body::expand::Enumerate;
use crate::error::{Code, Diagnostic, Error, Result};
use crate::machine::parents::Parents;
use crate::machine::pipe::Pipe;
use crate::machine::signal::value_bytes;
use crate::parameter::Parameter;
use crate::plan::check::{Wanted, check};
use crate::plan::size::Budget;
use crate::plan::{Channel, Description, Edge, Kind, Node, OpenSource, RegionHead, Role};
use crate::report::Report;
use crate::run::Plan;
use crate::sink::{self, Collected, Sink};
use crate::source::order::{Numbered, Taken};
use crate::source::{Opening, Shared, Source};
use crate::wide;

/// How many items a node sees at once, unless it is said.
const WIDTH: usize = 128;
/// How many parents of a region may be under way, unless it is said.
pub(super) const PARENTS: usize = 1024;
/// What the queues of a copy may use, unless it is said.
const MEMORY: usize = 64 << 20;

/// A stream: nodes that consume and push items, and the edges between them.
///
/// Nodes are described from the sources to the sinks: each takes the channels that lead into it. Nothing runs until
/// [`Stream::run`](crate::Stream::run).
pub struct Stream {
    name: String,
    /// Tells the handles of one stream from those of others.
    pub(crate) id: u64,
    pub(crate) description: Description,
    pub(super) mistakes: Vec<Diagnostic>,
    /// What the largest value of a signal costs.
    value_bytes: AtomicUsize,
    width: usize,
    memory: usize,
    scale: Option<usize>,
    ordered: bool,
    spans: Option<bool>,
    fuses: bool,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({}, {} nodes)", self.name, self.description.nodes.len())
    }
}

/// A number that no other stream, signal or place has.
pub(crate) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    // Relaxed: only that no two are equal counts.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Stream {
    /// An empty stream. The name is for messages.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            id: unique(),
            description: Description::default(),
            mistakes: Vec::new(),
            value_bytes: AtomicUsize::new(0),
            width: WIDTH,
            memory: MEMORY,
            scale: None,
            ordered: false,
            spans: None,
            fuses: true,
        }
    }

    /// How many items the nodes that follow see at once, unless they say it themselves.
    #[must_use]
    pub fn width(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// How many bytes each worker's copy may use, 64 MiB unless it is said: for its queues with all that may wait in them, the values
    /// of signals among it, for the parents of regions, for what nodes need to handle so many items at once, and for their states. A
    /// stream that needs more is refused. When a plan has run, the next run of it shares what is left of this by what went over the
    /// edges.
    ///
    /// Of items, parents, values and states that is their size as a type. What they own elsewhere, such as the text of a
    /// [`String`], is not known, nor is what sources and sinks keep. Up to 2 KiB for each node and 4 KiB more are needed for
    /// bookkeeping, whatever goes through the stream, and are not counted.
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Gives each queue room for `runs` runs of its producer, besides what its consumer may leave; at least one. A queue of signals has
    /// two places for each run: where parents are short that is few, and vectors inside of regions are not full.
    #[must_use]
    pub fn queue_scale(mut self, runs: usize) -> Self {
        self.scale = Some(runs.max(1));
        self
    }

    /// Every sink gets its items in the order of the source's items, for any number of workers.
    ///
    /// Several workers take the source in chunks then, and bring each to an end before the next: each chunk costs a vector
    /// that is not full, at every node. Sinks that take items as they come, such as [`sink::callback`](crate::sink::callback), get
    /// them when it is their turn: until then they wait in queues, and a worker whose queues are full waits too.
    ///
    /// Where edges join, the order is that of the items at the node where they part, and for each of these that of the edges, as
    /// they were given. That node handles one item at a time, and so does a loop: what leaves it is in the order of what entered.
    /// Loops with more than one way around, ways that meet before they join, and joins of several sources have no order, and are
    /// refused.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// Whether vectors reach over the boundaries of regions, at nodes that do not look at parents: those made by
    /// [`NodeBuilder::select`], [`NodeBuilder::split`], [`NodeBuilder::map`], [`NodeBuilder::filter`],
    /// [`NodeBuilder::filter_map`], [`NodeBuilder::expand`] and [`NodeBuilder::aggregate`], and sinks. Unless it is said, each node does so as long as the parents it has seen are short for its width. The user's
    /// signals always end a vector.
    #[must_use]
    pub fn span_regions(mut self, spans: bool) -> Self {
        self.spans = Some(spans);
        self
    }

    /// Whether nodes that make at most one item of each, one behind the other, run as one: those made by [`NodeBuilder::map`],
    /// [`NodeBuilder::filter`], [`NodeBuilder::filter_map`], [`NodeBuilder::select`], by [`NodeBuilder::each`] with one channel and
    /// no signals in a run (`signals(0, _)`) and, as the last of them, [`NodeBuilder::split`], [`NodeBuilder::aggregate`]
    /// and sinks that take whatever comes, of one width, outside of loops, and up to 64 of them. A
    /// region that is such a chain, without `each`, runs as one with the node that enumerates. They do, unless it is said, or
    /// vectors are to end at boundaries.
    ///
    /// A node made by `each` that declares more than one item for each runs as one with an aggregation or sink behind it if what
    /// a vector may become fits into 32 KiB: so it is consumed while it is in the nearest cache. What may become more has a queue.
    ///
    /// [`NodeBuilder::fuse`] says it for one node, and [`Plan::fused`] which nodes run as one. Of those, a report has runs only for
    /// the first.
    #[must_use]
    pub fn fuse(mut self, fuses: bool) -> Self {
        self.fuses = fuses;
        self
    }

    /// The name of the stream.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A node that items come from.
    pub fn source<T: 'static>(&mut self, name: impl Into<String>, source: Source<T>) -> Output<T> {
        let Source { open, in_chunks, around } = source;
        let kind = Kind::Source { in_chunks };
        let open: OpenSource = Arc::new(move |opening: &Opening| Arc::new((open(opening), Taken::default())) as _);
        let factory: Factory = Arc::new(move |wires| {
            let shared = wires.shared.as_ref().and_then(|shared| shared.downcast_ref::<(Arc<dyn Shared<T>>, Taken)>());
            let (shared, taken) = shared.expect("a source is opened before it is copied");
            let feed = Arc::clone(shared).feed();
            match wires.turn.is_some() && !in_chunks {
                true => SourceEnd::make(Box::new(Numbered::new(feed, taken)), wires),
                false => SourceEnd::make(feed, wires),
            }
        });
        let node = self.add_node(name.into(), kind, Vec::<Output<T>>::new());
        let node_of = &mut self.description.nodes[node as usize];
        (node_of.factory, node_of.open, node_of.around) = (Some(factory), Some(open), around);
        let channel = self.add_channel::<T>(node, "out".to_owned(), None, false);
        Output::new(self, channel)
    }

    /// A node that items go to.
    pub fn sink<T: 'static>(&mut self, name: impl Into<String>, from: impl IntoInputs<T>, sink: Sink<T>) {
        let node = self.add_node(name.into(), Kind::Sink, from.into_inputs());
        self.becomes_sink(node, sink);
    }

    pub(super) fn becomes_sink<T: 'static>(&mut self, node: u32, sink: Sink<T>) {
        let node_of = &mut self.description.nodes[node as usize];
        (node_of.kind, node_of.settle, node_of.around) = (Kind::Sink, sink.settle, sink.around);
        if sink.seamless {
            node_of.role = Role::Takes;
        }
        let (open, seamless) = (sink.open, sink.seamless);
        node_of.factory = Some(Arc::new(move |wires| SinkEnd::make(open(&wires.chunk), seamless, wires)));
    }

    /// A sink that keeps everything in memory.
    pub fn collect<T: Clone + Send + 'static>(
        &mut self,
        name: impl Into<String>,
        from: impl IntoInputs<T>,
    ) -> Collected<T> {
        let (sink, collected) = sink::collect();
        self.sink(name, from, sink);
        collected
    }

    /// A sink for items that nobody needs.
    pub fn discard<T: 'static>(&mut self, name: impl Into<String>, from: impl IntoInputs<T>) {
        self.sink(name, from, sink::nowhere());
    }

    /// A node that does something with the items of one channel, or of several.
    pub fn node<T: 'static>(&mut self, name: impl Into<String>, from: impl IntoInputs<T>) -> NodeBuilder<'_, T> {
        let node = self.add_node(name.into(), Kind::Run, from.into_inputs());
        NodeBuilder::new(self, node)
    }

    /// A node that enumerates the elements of each item. The item is the parent of its elements, until channels that
    /// aggregate lead out of the region.
    ///
    /// Elements are made one after the other, as there is room for them: a parent may have any number. Up to 1024 parents are
    /// under way at a time; see [`Stream::enumerate_with`].
    pub fn enumerate<P, It>(
        &mut self,
        name: impl Into<String>,
        from: impl IntoInputs<P>,
        elements: impl Fn(&P) -> It + Send + Sync + 'static,
    ) -> (Region<P>, Output<It::Item>)
    where
        P: Clone + 'static,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        self.enumerate_with(name, from, PARENTS, elements)
    }

    /// As [`Stream::enumerate`], with up to so many parents under way at a time.
    pub fn enumerate_with<P, It>(
        &mut self,
        name: impl Into<String>,
        from: impl IntoInputs<P>,
        parents: usize,
        elements: impl Fn(&P) -> It + Send + Sync + 'static,
    ) -> (Region<P>, Output<It::Item>)
    where
        P: Clone + 'static,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        let node = self.add_node(name.into(), Kind::Run, from.into_inputs());
        self.becomes_head(node, parents, elements)
    }

    /// A node becomes the head of a region.
    pub(super) fn becomes_head<P, It>(
        &mut self,
        node: u32,
        parents: usize,
        elements: impl Fn(&P) -> It + Send + Sync + 'static,
    ) -> (Region<P>, Output<It::Item>)
    where
        P: Clone + 'static,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        let region = self.description.regions.len() as u32;
        self.description.nodes[node as usize].kind = Kind::Enumerate(region);
        let store = |places, ends| Some(Rc::new(Parents::<P>::new(places, ends)?) as _);
        self.description.regions.push(RegionHead { node, parents, parent_bytes: size_of::<P>(), store });
        let code = Arc::new(elements);
        let factory: Factory = Arc::new(move |wires| Enumerate::make(&code, region, wires));
        let node_of = &mut self.description.nodes[node as usize];
        (node_of.factory, node_of.own_bytes) = (Some(factory), node_of.own_bytes + size_of::<It>());
        let channel = self.add_channel::<It::Item>(node, "elements".to_owned(), None, false);
        (Region::new(self.id, region), Output::new(self, channel))
    }

    /// An edge back to a node that leads to the channel: a loop.
    ///
    /// `growth` bounds the loop: an item that enters it is at no time more than so many items in it. A loop that grows
    /// beyond it makes the run fail. Where a region lies in the loop its parents count, and their elements do not.
    pub fn back_edge<T: 'static>(&mut self, from: Output<T>, to: Input<T>, growth: usize) {
        let (channel, other) = &*from.names;
        let nowhere =
            |stream: &Self| format!("{channel} leads back to a node of another stream than `{}`", stream.name);
        let foreign =
            |stream: &Self| format!("{channel} leads back to {}, but is of stream `{other}`", stream.name_of(to.node));
        if self.is_foreign(to.stream, nowhere) || self.is_foreign(from.stream, foreign) {
            return;
        }
        self.add_edge(from.channel, to.node, Some(growth));
    }

    /// A kind of signals that carry a value.
    pub fn signal<V: 'static>(&self) -> Tag<V> {
        // Relaxed: whoever makes a plan has the stream for itself.
        self.value_bytes.fetch_max(value_bytes::<V>(), Ordering::Relaxed);
        Tag::new(self.id, unique())
    }

    /// A value that all nodes may read, and that each run may set: see [`Settings::set`](crate::Settings::set). Messages about a
    /// parameter that is set or read where it does not belong have its name.
    ///
    /// One that every node reads is a parameter of the whole stream; one that a function gives to all nodes that it describes is
    /// a parameter of a module; one that a single node reads is its own.
    pub fn parameter<T: Send + Sync + 'static>(&mut self, name: impl Into<String>, value: T) -> Parameter<T> {
        let number = self.description.parameters.len() as u32;
        self.description.parameters.push(Arc::new(value));
        Parameter::new(self.id, number, &name.into())
    }

    /// Checks the description, and makes a plan of it that can be run many times.
    ///
    /// # Errors
    /// When there are mistakes: all of them.
    pub fn plan(mut self) -> Result<Plan> {
        self.description.value_bytes = *self.value_bytes.get_mut();
        let wanted = Wanted {
            budget: Budget { memory: self.memory, scale: self.scale, ordered: self.ordered },
            ordered: self.ordered,
            spans: self.spans,
            fuses: self.fuses,
        };
        match check(&self.description, &self.mistakes, &wanted) {
            Ok(layout) => Ok(Plan::new(self.name, self.id, self.description, layout, self.ordered)),
            Err(mut found) => {
                // Parts that have the same names have the same mistakes: what is said once need not be said again.
                let mut said = BTreeSet::new();
                found.retain(|diagnostic| said.insert(diagnostic.message().to_owned()));
                Err(Error::refused(&self.name, found))
            }
        }
    }

    /// Checks the description, and runs it once on all workers of an engine.
    ///
    /// # Errors
    /// When there are mistakes, when the run fails, and where nobody may wait for it: see [`Running::wait`](crate::Running::wait).
    #[track_caller]
    pub fn run(self, loom: &Loom) -> Result<Report> {
        self.plan()?.run(loom)
    }

    fn add_node<T>(&mut self, name: String, kind: Kind, from: Vec<Output<T>>) -> u32 {
        let node = self.description.nodes.len() as u32;
        if from.is_empty() && !matches!(kind, Kind::Source { .. }) {
            let message = format!("no channel leads to node `{name}`: nothing would ever come to it");
            self.mistakes.push(Diagnostic::new(Code::Unconnected, message));
        }
        self.description.nodes.push(Node {
            name,
            kind,
            width: self.width,
            role: Role::Other,
            inputs: Vec::new(),
            channels: Vec::new(),
            signals: (2, 1),
            raises: false,
            at_signal: 1,
            own_bytes: 0,
            bytes_for_each: 0,
            factory: None,
            open: None,
            settle: None,
            around: None,
            handles: Vec::new(),
            at_parents: false,
            fuses: true,
            is_handled: false,
        });
        for output in from {
            let (channel, other) = &*output.names;
            let foreign =
                |stream: &Self| format!("{} takes {channel}, which is of stream `{other}`", stream.name_of(node));
            if !self.is_foreign(output.stream, foreign) {
                self.add_edge(output.channel, node, None);
            }
        }
        node
    }

    fn add_edge(&mut self, channel: u32, to: u32, growth: Option<usize>) {
        let edge = self.description.edges.len() as u32;
        self.description.edges.push(Edge { channel, to, growth });
        self.description.channels[channel as usize].edge = Some(edge);
        self.description.nodes[to as usize].inputs.push(edge);
    }

    pub(crate) fn add_channel<T: 'static>(
        &mut self,
        node: u32,
        name: String,
        most: Option<usize>,
        aggregates: bool,
    ) -> u32 {
        let channel = self.description.channels.len() as u32;
        self.description.channels.push(Channel {
            name,
            node,
            most,
            at_signal: self.description.nodes[node as usize].at_signal,
            aggregates,
            edge: None,
            item_bytes: size_of::<T>(),
            slack: wide::slack::<T>(),
            pipe: |items, signals| Some(Rc::new(Pipe::<T>::new(items, signals)?)),
        });
        self.description.nodes[node as usize].channels.push(channel);
        channel
    }
}
