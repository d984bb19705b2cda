//! A node that is being described.

use std::marker::PhantomData;
use std::sync::Arc;

use super::handle::{Input, Output, Region, Tag};
use super::handling::HandlingNode;
use super::stream::Stream;
use crate::body::Factory;
use crate::body::channels::{Append, Channels};
use crate::body::expand::Expand;
use crate::body::fold::{Fold, Folding};
use crate::body::lanes::{Pick, Select, SelectIn, Split};
use crate::body::slice::{Cleanup, Init, Run};
use crate::body::sum::{Adding, Sum};
use crate::error::Failure;
use crate::parameter::Parameters;
use crate::plan::{Kind, Role};

/// What it costs to know of an item whether it was kept: a bit, and two numbers for each 64 items, which is less than this.
const KEPT_BYTES: usize = 1;

/// A node whose channels and state are being described.
#[must_use = "a node does nothing until it is said what it runs"]
pub struct NodeBuilder<'s, I, C: Channels = (), S = ()> {
    stream: &'s mut Stream,
    node: u32,
    init: Init<S>,
    cleanup: Option<Cleanup<S>>,
    types: PhantomData<fn(I) -> C>,
}

impl<'s, I: 'static> NodeBuilder<'s, I> {
    pub(super) fn new(stream: &'s mut Stream, node: u32) -> Self {
        Self { stream, node, init: Arc::new(|_| ()), cleanup: None, types: PhantomData }
    }

    /// The node has no state: its functions are of one item, or fold those of a parent.
    fn stateless(self) -> (&'s mut Stream, u32) {
        if self.cleanup.is_some() {
            let what = "says what becomes of its state, but has none: only nodes with `run` or `each` have a state";
            self.stream.means_nothing(self.node, what);
        }
        (self.stream, self.node)
    }

    /// Maps every item.
    pub fn map<O: 'static>(self, code: impl Fn(&I) -> O + Send + Sync + 'static) -> Output<O> {
        self.filter_map(move |item| Some(code(item)))
    }

    /// As [`NodeBuilder::map`], with a function that may fail: the run ends with an error that names the node, and whose source is
    /// the function's.
    pub fn try_map<O, E>(self, code: impl Fn(&I) -> Result<O, E> + Send + Sync + 'static) -> Output<O>
    where
        O: 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.try_filter_map(move |item| code(item).map(Some))
    }

    /// Keeps some of the items.
    pub fn filter(self, keep: impl Fn(&I) -> bool + Send + Sync + 'static) -> Output<I>
    where
        I: Clone,
    {
        self.filter_map(move |item| keep(item).then(|| item.clone()))
    }

    /// Maps items, and keeps some of them.
    pub fn filter_map<O: 'static>(self, code: impl Fn(&I) -> Option<O> + Send + Sync + 'static) -> Output<O> {
        self.try_filter_map(move |item| Ok::<Option<O>, Failure>(code(item)))
    }

    /// As [`NodeBuilder::filter_map`], with a function that may fail: see [`NodeBuilder::try_map`].
    pub fn try_filter_map<O, E>(self, code: impl Fn(&I) -> Result<Option<O>, E> + Send + Sync + 'static) -> Output<O>
    where
        O: 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let code = Arc::new(move |item: &I| code(item).map_err(Into::into));
        let each = Arc::clone(&code);
        let (stream, node) = self.stateless();
        let output = NodeBuilder::new(stream, node).channel::<O>("out", 1).try_each(move |item, out| {
            if let Some(item) = each(item)? {
                out.push(item);
            }
            Ok::<(), Failure>(())
        });
        // A node that pushes over a back edge must look how much room there is; others need not.
        if let Some(each) = stream.description.nodes[node as usize].factory.take() {
            let picks: Factory = Arc::new(move |wires| match wires.outputs[0].back {
                true => each(wires),
                false => Pick::make(&code, wires),
            });
            stream.finish(node, picks);
            let this = &mut stream.description.nodes[node as usize];
            (this.role, this.raises) = (Role::Picks, false);
        }
        output
    }

    /// Maps plain items, and keeps those whose flag is set. The code is run for a whole vector without a branch, so that it
    /// can be compiled to wide instructions, and the items that are kept are moved side by side without one too.
    pub fn select<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> Output<O>
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        let code = Arc::new(code);
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), false);
        stream.picks(node);
        stream.finish(node, Arc::new(move |wires| Select::make(&code, wires)));
        Output::new(stream, channel)
    }

    /// Maps plain items, and sends each to one of two channels: to `accept` if its flag is set, and to `reject` if it is not.
    /// Wide instructions are used as in [`NodeBuilder::select`].
    pub fn split<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> (Output<O>, Output<O>)
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        let code = Arc::new(code);
        let (stream, node) = self.stateless();
        let [accept, reject] =
            ["accept", "reject"].map(|name| stream.add_channel::<O>(node, name.to_owned(), Some(1), false));
        stream.picks(node);
        stream.finish(node, Arc::new(move |wires| Split::make(&code, wires)));
        (Output::new(stream, accept), Output::new(stream, reject))
    }

    /// As [`NodeBuilder::select`], with code that is made with the parameters of the run, once for each copy of the stream.
    pub fn select_with<O, F>(self, make: impl Fn(&Parameters) -> F + Send + Sync + 'static) -> Output<O>
    where
        I: Copy,
        O: Copy + Default + 'static,
        F: Fn(I) -> (O, bool) + 'static,
    {
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), false);
        stream.picks(node);
        let factory: Factory = Arc::new(move |wires| Select::make(&Arc::new(make(&wires.parameters)), wires));
        stream.finish(node, factory);
        Output::new(stream, channel)
    }

    /// As [`NodeBuilder::select`], with code that sees the parent of each item in a region around the node. A vector may have items of
    /// several parents: each lane has its own.
    ///
    /// ```
    /// use drawloom_runtime::Loom;
    /// use drawloom_stream::{Stream, source};
    ///
    /// let mut stream = Stream::new("multiples");
    /// let limits = stream.source("limits", source::slice(vec![3_u64, 1, 5]));
    /// let (limit, numbers) = stream.enumerate("numbers", limits, |_| 0..6_u64);
    /// let below = stream.node("below", numbers).select_in(limit, |n, limit| (n, n < limit));
    /// let counts = stream.node("count", below).aggregate_sum(|n| *n, |count, _| count);
    /// let counts = stream.collect("counts", counts);
    /// stream.run(&Loom::builder().workers(1).build().unwrap())?;
    /// assert_eq!(counts.take(), [3, 1, 5]);
    /// # Ok::<(), drawloom_stream::Error>(())
    /// ```
    pub fn select_in<P, O>(
        self,
        region: Region<P>,
        code: impl Fn(I, P) -> (O, bool) + Send + Sync + 'static,
    ) -> Output<O>
    where
        I: Copy,
        P: Copy + 'static,
        O: Copy + Default + 'static,
    {
        let code = Arc::new(code);
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), false);
        let this = &mut stream.description.nodes[node as usize];
        (this.kind, this.bytes_for_each) = (Kind::Select, KEPT_BYTES + size_of::<P>());
        if region.stream == stream.id {
            this.sees.push(region.region);
        } else {
            stream.is_foreign(region.stream, |stream| {
                format!("{} looks at parents of a region of another stream", stream.name_of(node))
            });
        }
        stream.finish(node, Arc::new(move |wires| SelectIn::make(&code, region, wires)));
        Output::new(stream, channel)
    }

    /// Makes any number of items of each. The iterator is asked for more as there is room, so there is no bound.
    pub fn expand<It>(self, code: impl Fn(I) -> It + Send + Sync + 'static) -> Output<It::Item>
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        let code = Arc::new(code);
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<It::Item>(node, "out".to_owned(), None, false);
        let this = &mut stream.description.nodes[node as usize];
        (this.kind, this.own_bytes) = (Kind::Expand, size_of::<It>());
        stream.finish(node, Arc::new(move |wires| Expand::make(&code, wires)));
        Output::new(stream, channel)
    }

    /// Folds the elements of each parent to one item, which leaves the region: one for each parent, those without elements
    /// included.
    pub fn aggregate<A, O>(
        self,
        first: impl Fn() -> A + Send + Sync + 'static,
        fold: impl Fn(&mut A, &I) + Send + Sync + 'static,
        finish: impl Fn(A) -> O + Send + Sync + 'static,
    ) -> Output<O>
    where
        A: 'static,
        O: 'static,
    {
        let code = Arc::new(Folding { first, fold, finish });
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), true);
        stream.finish(node, Arc::new(move |wires| Fold::make(&code, wires)));
        let this = &mut stream.description.nodes[node as usize];
        (this.role, this.own_bytes) = (Role::Folds, size_of::<A>());
        Output::new(stream, channel)
    }

    /// Adds up a number of each element of each parent, and makes an item of how many elements there were and of the sum,
    /// which leaves the region: one for each parent, as [`NodeBuilder::aggregate`] does, and faster where parents have few
    /// elements. A sum that is too large for 64 bits wraps around.
    pub fn aggregate_sum<O: 'static>(
        self,
        value: impl Fn(&I) -> u64 + Send + Sync + 'static,
        finish: impl Fn(u64, u64) -> O + Send + Sync + 'static,
    ) -> Output<O> {
        let code = Arc::new(Adding { value, finish });
        let (stream, node) = self.stateless();
        let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), true);
        stream.finish(node, Arc::new(move |wires| Sum::make(&code, wires)));
        let this = &mut stream.description.nodes[node as usize];
        // A sum for each item.
        (this.role, this.bytes_for_each) = (Role::Folds, size_of::<u64>());
        Output::new(stream, channel)
    }
}

impl<'s, I: 'static, C: Channels> NodeBuilder<'s, I, C> {
    /// A state, made at the beginning of a run, for each copy of the stream.
    pub fn state<S: 'static>(self, init: impl Fn() -> S + Send + Sync + 'static) -> NodeBuilder<'s, I, C, S> {
        self.state_with(move |_| init())
    }

    /// As [`NodeBuilder::state`], made with the parameters of the run.
    pub fn state_with<S: 'static>(
        self,
        init: impl Fn(&Parameters) -> S + Send + Sync + 'static,
    ) -> NodeBuilder<'s, I, C, S> {
        if self.cleanup.is_some() {
            self.stream.means_nothing(self.node, "says what becomes of its state before it says what the state is");
        }
        NodeBuilder { stream: self.stream, node: self.node, init: Arc::new(init), cleanup: None, types: PhantomData }
    }
}

impl<'s, I: 'static, C: Channels, S: 'static> NodeBuilder<'s, I, C, S> {
    /// Where a back edge may lead.
    pub fn input(&self) -> Input<I> {
        Input::new(self.stream.id, self.node)
    }

    /// How many items the node sees at once, at most.
    pub fn width(self, width: usize) -> Self {
        self.stream.description.nodes[self.node as usize].width = width;
        self
    }

    /// How many signals the node raises on a channel at most: in a run, and for each signal that it handles. Without this
    /// it is two, and one. Boundaries of regions that pass through are not counted.
    ///
    /// A node in a region that raises none in a run, and does nothing at boundaries, is called for one parent after the other
    /// without a look at anything else: that is faster where parents have few elements.
    pub fn signals(self, in_a_run: usize, for_a_signal: usize) -> Self {
        self.stream.description.nodes[self.node as usize].signals = (in_a_run, for_a_signal);
        self
    }

    /// Whether the node may run as one with those before and behind it: see [`Stream::fuse`], which forbids it to all.
    pub fn fuse(self, fuses: bool) -> Self {
        self.stream.description.nodes[self.node as usize].fuses = fuses;
        self
    }

    /// What becomes of the state at the end of a run, also of one that fails or is cancelled. Only nodes that say with
    /// [`NodeBuilder::run`] or [`NodeBuilder::each`] what they do have one.
    pub fn cleanup(mut self, cleanup: impl Fn(S) + Send + Sync + 'static) -> Self {
        if self.cleanup.is_some() {
            self.stream.means_nothing(self.node, "says twice what becomes of its state");
        }
        self.cleanup = Some(Arc::new(cleanup));
        self
    }

    /// A channel, to which at most so many items are pushed for each item. More are an error.
    ///
    /// For a function of one item ([`NodeBuilder::each`]) this is so whatever the width of the node. Nobody knows for which of its
    /// items a function over a slice ([`NodeBuilder::run`]) pushes: in a run it may push so many times as many items as it has got.
    ///
    /// A node has at most six channels:
    ///
    /// ```compile_fail,E0277
    /// # use drawloom_stream::{Stream, source};
    /// # let mut stream = Stream::new("seven");
    /// let numbers = stream.source("numbers", source::range(0..10));
    /// let node = stream.node("node", numbers).channel::<u64>("a", 1).channel::<u64>("b", 1).channel::<u64>("c", 1);
    /// let node = node.channel::<u64>("d", 1).channel::<u64>("e", 1).channel::<u64>("f", 1);
    /// let node = node.channel::<u64>("g", 1);
    /// ```
    pub fn channel<T: 'static>(self, name: impl Into<String>, most: usize) -> NodeBuilder<'s, I, C::With<T>, S>
    where
        C: Append,
    {
        self.any_channel::<T>(name.into(), most, false)
    }

    /// A channel that leads out of the innermost region around the node.
    pub fn aggregate_channel<T: 'static>(
        self,
        name: impl Into<String>,
        most: usize,
    ) -> NodeBuilder<'s, I, C::With<T>, S>
    where
        C: Append,
    {
        self.any_channel::<T>(name.into(), most, true)
    }

    fn any_channel<T: 'static>(self, name: String, most: usize, aggregates: bool) -> NodeBuilder<'s, I, C::With<T>, S> {
        self.stream.add_channel::<T>(self.node, name, Some(most), aggregates);
        let Self { stream, node, init, cleanup, types: _ } = self;
        NodeBuilder { stream, node, init, cleanup, types: PhantomData }
    }

    /// How many items are pushed to any channel at most at the begin or end of a parent, or for a signal: one without this.
    pub fn at_signals(self, most: usize) -> Self {
        let node = &mut self.stream.description.nodes[self.node as usize];
        node.at_signal = most;
        for channel in &node.channels {
            self.stream.description.channels[*channel as usize].at_signal = most;
        }
        self
    }

    fn handling(self) -> HandlingNode<'s, I, C, S> {
        let Self { stream, node, init, cleanup, types: _ } = self;
        HandlingNode::new(stream, node, init, cleanup)
    }

    /// What the node does at the begin of each parent of its region. What it pushes belongs to the parent. Where this is said
    /// several times, all of it is done, in that order; the same holds for all that is done at signals.
    pub fn begin<F>(self, code: F) -> HandlingNode<'s, I, C, S>
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.handling().begin(code)
    }

    /// What the node does at the end of each parent of its region. What it pushes belongs to the parent still.
    pub fn end<F>(self, code: F) -> HandlingNode<'s, I, C, S>
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.handling().end(code)
    }

    /// What the node does at the begin of each parent of any region around it, before anything that belongs to the parent.
    ///
    /// Boundaries are always forwarded too: those behind the node count by them which parents are under way. Items can be pushed
    /// only where they belong to a parent that is under way: at a boundary of an outer region, to a channel that leads there.
    pub fn on_begin<P, F>(self, region: Region<P>, code: F) -> HandlingNode<'s, I, C, S>
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.handling().on_begin(region, code)
    }

    /// What the node does at the end of each parent of any region around it: see [`NodeBuilder::on_begin`].
    pub fn on_end<P, F>(self, region: Region<P>, code: F) -> HandlingNode<'s, I, C, S>
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.handling().on_end(region, code)
    }

    /// What the node does with signals of a kind, instead of forwarding them.
    pub fn on<V: 'static, F>(self, tag: Tag<V>, code: F) -> HandlingNode<'s, I, C, S>
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>, &V) + Send + Sync + 'static,
    {
        self.handling().on(tag, code)
    }

    /// What the node does with a vector of items.
    pub fn run<F>(self, code: F) -> C::Outputs
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.handling().run(code)
    }

    /// As [`NodeBuilder::run`], with a function that may fail: the run ends with an error that names the node, and whose source is
    /// the function's.
    ///
    /// ```
    /// use drawloom_runtime::Loom;
    /// use drawloom_stream::{ErrorKind, Stream, source};
    ///
    /// let mut stream = Stream::new("numbers");
    /// let words = stream.source("words", source::slice(vec!["1", "2", "three"]));
    /// let numbers = stream.node("parse", words).try_map(|word| word.parse::<u64>());
    /// stream.discard("numbers", numbers);
    /// let error = stream.run(&Loom::builder().workers(1).build().unwrap()).unwrap_err();
    /// assert_eq!((error.kind(), error.node()), (ErrorKind::Failed, Some("parse")));
    /// assert!(std::error::Error::source(&error).unwrap().is::<std::num::ParseIntError>());
    /// ```
    pub fn try_run<F, E>(self, code: F) -> C::Outputs
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.handling().try_run(code)
    }

    /// What the node does with each item. It may push what its channels declare for one.
    pub fn each<F>(mut self, code: F) -> C::Outputs
    where
        F: for<'b> Fn(&I, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.makes();
        self.handling().each(code)
    }

    /// As [`NodeBuilder::each`], with a function that may fail: see [`NodeBuilder::try_run`]. It is not called for the items behind
    /// one that failed.
    pub fn try_each<F, E>(mut self, code: F) -> C::Outputs
    where
        F: for<'b> Fn(&I, &mut C::Push<'b>) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.makes();
        self.handling().try_each(code)
    }

    /// A function of one item that raises no signals, for one channel, does not see where vectors end.
    fn makes(&mut self) {
        let description = &mut self.stream.description;
        let this = &mut description.nodes[self.node as usize];
        if let ([channel], 0) = (&this.channels[..], this.signals.0)
            && !description.channels[*channel as usize].aggregates
        {
            this.role = Role::Makes;
        }
    }
}

impl Stream {
    /// A node makes at most one item of each, in a loop of ours.
    fn picks(&mut self, node: u32) {
        let node = &mut self.description.nodes[node as usize];
        (node.kind, node.role, node.bytes_for_each) = (Kind::Select, Role::Picks, KEPT_BYTES);
    }

    pub(super) fn finish(&mut self, node: u32, factory: Factory) {
        self.description.nodes[node as usize].factory = Some(factory);
    }
}
