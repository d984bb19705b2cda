//! A node that is being described.

use std::any::{Any, TypeId};
use std::marker::PhantomData;
use std::sync::Arc;

use super::handle::{Input, Output, Region, Tag};
use super::stream::{PARENTS, Stream};
use crate::body::Factory;
use crate::body::channels::{Append, Channels};
use crate::body::expand::Expand;
use crate::body::fold::{Fold, Functions};
use crate::body::handled::Handled;
use crate::body::lanes::{Pick, Select, Split};
use crate::body::slice::{Code, Hooks, Run, Slice};
use crate::body::sum::{Adding, SUM_BYTES};
use crate::error::{Failure, Outcome};
use crate::plan::{Kind, Role};
use crate::sink::Sink;

/// What it costs to know of an item whether it was kept: a bit, and a number for each 64 items, which is less than this.
const KEPT_BYTES: usize = 1;

/// A node whose channels, state and handlers of signals are being described.
#[must_use = "a node does nothing until it is said what it runs"]
pub struct NodeBuilder<'s, I, C: Channels = (), S = ()> {
    stream: &'s mut Stream,
    node: u32,
    hooks: Hooks<I, S, C>,
    types: PhantomData<fn(I) -> C>,
}

impl<'s, I: 'static> NodeBuilder<'s, I> {
    pub(super) fn new(stream: &'s mut Stream, node: u32) -> Self {
        Self { stream, node, hooks: Hooks::new(Arc::new(|| ())), types: PhantomData }
    }
}

/// Nodes whose channels follow from what they do, enumerations and sinks. Their handlers of signals do not push, and what these nodes
/// do themselves at boundaries is done after what their handlers do.
impl<I: 'static, S: 'static> NodeBuilder<'_, I, (), S> {
    /// Makes a node whose loop is ours, with the handlers that were declared. With handlers it runs alone: the nodes behind it see what
    /// it did at signals.
    fn with<R>(self, make: impl FnOnce(&mut Stream, u32) -> R) -> R {
        let Self { stream, node, hooks, .. } = self;
        if hooks.is_empty() {
            if hooks.cleanup.is_some() {
                let what = "says what becomes of its state, but has none: only nodes with `run` or `each` have a state";
                stream.means_nothing(node, what);
            } else if TypeId::of::<S>() != TypeId::of::<()>() {
                stream.means_nothing(node, "has a state that nothing sees: `run`, `each` and handlers of signals do");
            }
            return make(stream, node);
        }
        let made = make(stream, node);
        let this = &mut stream.description.nodes[node as usize];
        (this.is_handled, this.own_bytes) = (true, this.own_bytes + size_of::<S>());
        if let Some(factory) = this.factory.take() {
            let (hooks, none) = (Arc::new(hooks), Arc::new(|_: &mut Run<'_, I, S>, _: &mut ()| ()));
            let at_boundaries = hooks.at_boundaries();
            let factory: Factory = Arc::new(move |wires| {
                let handlers = Slice::<I, S, (), _>::make(&hooks, &none, wires);
                Box::new(Handled { body: factory(wires), handlers, at_boundaries })
            });
            stream.finish(node, factory);
        }
        made
    }

    /// Maps every item.
    pub fn map<O: 'static>(self, code: impl Fn(&I) -> O + Send + Sync + 'static) -> Output<O> {
        self.filter_map(move |item| Some(code(item)))
    }

    /// As [`NodeBuilder::map`], with a function that may fail: the run ends with an error that names the node, and whose source is
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
    pub fn try_map<O, E>(self, code: impl Fn(&I) -> Result<O, E> + Send + Sync + 'static) -> Output<O>
    where
        O: 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.filter_map(move |item| code(item).map(Some))
    }

    /// Keeps some of the items.
    pub fn filter(self, keep: impl Fn(&I) -> bool + Send + Sync + 'static) -> Output<I>
    where
        I: Clone,
    {
        self.filter_map(move |item| keep(item).then(|| item.clone()))
    }

    /// Maps items, and keeps some of them. The function returns an [`Option`], or a [`Result`] of one, whose error ends the run: see
    /// [`NodeBuilder::try_map`].
    pub fn filter_map<O: 'static, R: Outcome<Option<O>>>(
        self,
        code: impl Fn(&I) -> R + Send + Sync + 'static,
    ) -> Output<O> {
        self.with(|stream, node| {
            let code = Arc::new(move |item: &I| code(item).outcome());
            let each = Arc::clone(&code);
            let output = NodeBuilder::new(stream, node).channel::<O>("out", 1).each(move |item, out| {
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
        })
    }

    /// Maps plain items, and keeps those whose flag is set. The code is run for a whole vector without a branch, so that it
    /// can be compiled to wide instructions, and the items that are kept are moved side by side without one too.
    pub fn select<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> Output<O>
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        let code = Arc::new(code);
        self.with(|stream, node| {
            let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), false);
            stream.picks(node, Arc::new(move |wires| Select::make(&code, wires)));
            Output::new(stream, channel)
        })
    }

    /// Maps plain items, and sends each to one of two channels: to `accept` if its flag is set, and to `reject` if it is not.
    /// Wide instructions are used as in [`NodeBuilder::select`].
    pub fn split<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> (Output<O>, Output<O>)
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        let code = Arc::new(code);
        self.with(|stream, node| {
            let [accept, reject] =
                ["accept", "reject"].map(|name| stream.add_channel::<O>(node, name.to_owned(), Some(1), false));
            stream.picks(node, Arc::new(move |wires| Split::make(&code, wires)));
            (Output::new(stream, accept), Output::new(stream, reject))
        })
    }

    /// Makes any number of items of each. The iterator is asked for more as there is room, so there is no bound.
    pub fn expand<It>(self, code: impl Fn(I) -> It + Send + Sync + 'static) -> Output<It::Item>
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        let code = Arc::new(code);
        self.with(|stream, node| {
            let channel = stream.add_channel::<It::Item>(node, "out".to_owned(), None, false);
            let this = &mut stream.description.nodes[node as usize];
            (this.kind, this.own_bytes) = (Kind::Expand, size_of::<It>());
            stream.finish(node, Arc::new(move |wires| Expand::make(&code, wires)));
            Output::new(stream, channel)
        })
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
        let code = Arc::new(Functions { first, fold, finish });
        self.with(|stream, node| {
            let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), true);
            stream.finish(node, Arc::new(move |wires| Fold::make(&code, wires)));
            let this = &mut stream.description.nodes[node as usize];
            (this.role, this.own_bytes) = (Role::Folds, size_of::<A>());
            Output::new(stream, channel)
        })
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
        self.with(|stream, node| {
            let channel = stream.add_channel::<O>(node, "out".to_owned(), Some(1), true);
            stream.finish(node, Arc::new(move |wires| Fold::make(&code, wires)));
            let this = &mut stream.description.nodes[node as usize];
            (this.role, this.bytes_for_each) = (Role::Folds, SUM_BYTES);
            Output::new(stream, channel)
        })
    }

    /// As [`Stream::enumerate`].
    pub fn enumerate<It>(self, elements: impl Fn(&I) -> It + Send + Sync + 'static) -> (Region<I>, Output<It::Item>)
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        self.enumerate_with(PARENTS, elements)
    }

    /// As [`Stream::enumerate_with`].
    pub fn enumerate_with<It>(
        self,
        parents: usize,
        elements: impl Fn(&I) -> It + Send + Sync + 'static,
    ) -> (Region<I>, Output<It::Item>)
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        self.with(|stream, node| stream.becomes_head(node, parents, elements))
    }

    /// As [`Stream::sink`].
    pub fn sink(self, sink: Sink<I>) {
        self.with(|stream, node| stream.becomes_sink(node, sink));
    }
}

impl<'s, I: 'static, C: Channels> NodeBuilder<'s, I, C> {
    /// A state, made at the beginning of a run, for each copy of the stream. It is declared before what the node does at signals.
    pub fn state<S: 'static>(self, init: impl Fn() -> S + Send + Sync + 'static) -> NodeBuilder<'s, I, C, S> {
        let Self { stream, node, hooks, types } = self;
        if hooks.cleanup.is_some() {
            stream.means_nothing(node, "says what becomes of its state before it says what the state is");
        }
        if !hooks.is_empty() {
            stream.means_nothing(node, "says what it does at signals before it says what its state is");
        }
        NodeBuilder { stream, node, hooks: Hooks::new(Arc::new(init)), types }
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
        if self.hooks.cleanup.is_some() {
            self.stream.means_nothing(self.node, "says twice what becomes of its state");
        }
        self.hooks.cleanup = Some(Arc::new(cleanup));
        self
    }

    /// A channel, to which at most so many items are pushed for each item. More are an error. Channels are declared before what the node
    /// does at signals.
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
        let Self { stream, node, hooks, .. } = self;
        if !hooks.is_empty() {
            let what = format!("says what it does at signals before it says that it has the channel `{name}`");
            stream.means_nothing(node, &what);
        }
        stream.add_channel::<T>(node, name, Some(most), aggregates);
        let hooks = Hooks { cleanup: hooks.cleanup, ..Hooks::new(hooks.init) };
        NodeBuilder { stream, node, hooks, types: PhantomData }
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

    /// What the node does at the begin of each parent of its region. What it pushes belongs to the parent. Where this is said
    /// several times, all of it is done, in that order; the same holds for all that is done at signals.
    pub fn begin<F>(mut self, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.stream.description.nodes[self.node as usize].at_parents = true;
        self.hooks.begin.push(Arc::new(code));
        self
    }

    /// What the node does at the end of each parent of its region. What it pushes belongs to the parent still.
    pub fn end<F>(mut self, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.stream.description.nodes[self.node as usize].at_parents = true;
        self.hooks.end.push(Arc::new(code));
        self
    }

    /// What the node does at the begin of each parent of any region around it, before anything that belongs to the parent.
    ///
    /// Boundaries are always forwarded too: those behind the node count by them which parents are under way. Items can be pushed
    /// only where they belong to a parent that is under way: at a boundary of an outer region, to a channel that leads there.
    pub fn on_begin<P, F>(self, region: Region<P>, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.on_boundary(region, true, Arc::new(code))
    }

    /// What the node does at the end of each parent of any region around it: see [`NodeBuilder::on_begin`].
    pub fn on_end<P, F>(self, region: Region<P>, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.on_boundary(region, false, Arc::new(code))
    }

    fn on_boundary<P>(mut self, region: Region<P>, begins: bool, code: Arc<Code<I, S, C>>) -> Self {
        let node = self.node;
        let foreign =
            |stream: &Stream| format!("{} handles boundaries of a region of another stream", stream.name_of(node));
        if !self.stream.is_foreign(region.stream, foreign) {
            self.stream.description.nodes[self.node as usize].handles.push(region.region);
            self.hooks.boundaries.push((region.region, begins, code));
        }
        self
    }

    /// What the node does with signals of a kind, instead of forwarding them.
    pub fn on<V: 'static, F>(mut self, tag: Tag<V>, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>, &V) + Send + Sync + 'static,
    {
        let node = self.node;
        let foreign = |stream: &Stream| format!("{} handles signals of another stream", stream.name_of(node));
        if self.stream.is_foreign(tag.stream, foreign) {
            return self;
        }
        let handler = move |run: &mut Run<'_, I, S>, push: &mut C::Push<'_>, value: &dyn Any| {
            // A tag belongs to one stream and one type of values.
            if let Some(value) = value.downcast_ref::<V>() {
                code(run, push, value);
            }
        };
        self.hooks.handlers.push((tag.tag, Arc::new(handler)));
        self
    }

    /// What the node does with a vector of items. The function returns nothing, or a [`Result`] whose error ends the run: see
    /// [`NodeBuilder::try_map`].
    pub fn run<F, R>(self, code: F) -> C::Outputs
    where
        R: Outcome<()>,
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) -> R + Send + Sync + 'static,
    {
        let Self { stream, node, hooks, .. } = self;
        let this = &mut stream.description.nodes[node as usize];
        this.raises = !this.channels.is_empty() && this.signals != (0, 0);
        this.own_bytes = size_of::<S>();
        let code = move |run: &mut Run<'_, I, S>, push: &mut C::Push<'_>| {
            if let Err(error) = code(run, push).outcome() {
                run.fail(error);
            }
        };
        let (hooks, code) = (Arc::new(hooks), Arc::new(code));
        stream.finish(node, Arc::new(move |wires| Slice::make(&hooks, &code, wires)));
        C::outputs(stream, &stream.description.nodes[node as usize].channels)
    }

    /// What the node does with each item. It may push what its channels declare for one. The function returns nothing, or a [`Result`]
    /// whose error ends the run: it is not called for the items behind one that failed.
    pub fn each<F, R>(self, code: F) -> C::Outputs
    where
        R: Outcome<()>,
        F: for<'b> Fn(&I, &mut C::Push<'b>) -> R + Send + Sync + 'static,
    {
        let description = &mut self.stream.description;
        let this = &mut description.nodes[self.node as usize];
        // A function of one item that raises no signals, for one channel, does not see where vectors end.
        if let ([channel], 0, true) = (&this.channels[..], this.signals.0, self.hooks.is_empty())
            && !description.channels[*channel as usize].aggregates
        {
            this.role = Role::Makes;
        }
        self.run(move |run, push| {
            C::by_item(push);
            run.items().iter().try_for_each(|item| {
                C::next_item(push);
                code(item, push).outcome()
            })
        })
    }
}

impl Stream {
    /// A node makes at most one item of each, in a loop of ours.
    fn picks(&mut self, node: u32, factory: Factory) {
        let this = &mut self.description.nodes[node as usize];
        (this.kind, this.role, this.bytes_for_each) = (Kind::Select, Role::Picks, KEPT_BYTES);
        self.finish(node, factory);
    }

    fn finish(&mut self, node: u32, factory: Factory) {
        self.description.nodes[node as usize].factory = Some(factory);
    }
}
