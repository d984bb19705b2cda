//! A node for which it is being described what happens at signals.

use std::any::Any;
use std::sync::Arc;

use super::handle::{Output, Region, Tag};
use super::node::NodeBuilder;
use super::stream::{PARENTS, Stream};
use crate::body::Factory;
use crate::body::channels::Channels;
use crate::body::handled::Handled;
use crate::body::slice::{Cleanup, Code, Hooks, Init, Run, Slice};
use crate::sink::Sink;

/// A node for which it is being described what happens at signals.
#[must_use = "a node does nothing until it is said what it runs"]
pub struct HandlingNode<'s, I, C: Channels, S> {
    stream: &'s mut Stream,
    node: u32,
    hooks: Hooks<I, S, C>,
}

impl<'s, I: 'static, C: Channels, S: 'static> HandlingNode<'s, I, C, S> {
    pub(super) fn new(stream: &'s mut Stream, node: u32, init: Init<S>, cleanup: Option<Cleanup<S>>) -> Self {
        let hooks =
            Hooks { init, cleanup, begin: Vec::new(), end: Vec::new(), handlers: Vec::new(), boundaries: Vec::new() };
        Self { stream, node, hooks }
    }

    /// See [`NodeBuilder::begin`].
    pub fn begin<F>(mut self, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.stream.description.nodes[self.node as usize].at_parents = true;
        self.hooks.begin.push(Arc::new(code));
        self
    }

    /// See [`NodeBuilder::end`].
    pub fn end<F>(mut self, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.stream.description.nodes[self.node as usize].at_parents = true;
        self.hooks.end.push(Arc::new(code));
        self
    }

    /// See [`NodeBuilder::on_begin`].
    pub fn on_begin<P, F>(self, region: Region<P>, code: F) -> Self
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.on_boundary(region, true, Arc::new(code))
    }

    /// See [`NodeBuilder::on_end`].
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

    /// See [`NodeBuilder::on`].
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

    /// See [`NodeBuilder::run`].
    pub fn run<F>(self, code: F) -> C::Outputs
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        let Self { stream, node, hooks } = self;
        let this = &mut stream.description.nodes[node as usize];
        this.raises = !this.channels.is_empty() && this.signals != (0, 0);
        this.own_bytes = size_of::<S>();
        let (hooks, code) = (Arc::new(hooks), Arc::new(code));
        stream.finish(node, Arc::new(move |wires| Slice::make(&hooks, &code, wires)));
        C::outputs(stream, &stream.description.nodes[node as usize].channels)
    }

    /// See [`NodeBuilder::try_run`].
    pub fn try_run<F, E>(self, code: F) -> C::Outputs
    where
        F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.run(move |run, push| {
            if let Err(error) = code(run, push) {
                run.fail(error);
            }
        })
    }

    /// See [`NodeBuilder::each`].
    pub fn each<F>(self, code: F) -> C::Outputs
    where
        F: for<'b> Fn(&I, &mut C::Push<'b>) + Send + Sync + 'static,
    {
        self.run(move |run, push| {
            C::by_item(push);
            for item in run.items() {
                C::next_item(push);
                code(item, push);
            }
        })
    }

    /// See [`NodeBuilder::try_each`].
    pub fn try_each<F, E>(self, code: F) -> C::Outputs
    where
        F: for<'b> Fn(&I, &mut C::Push<'b>) -> Result<(), E> + Send + Sync + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.try_run(move |run, push| {
            C::by_item(push);
            run.items().iter().try_for_each(|item| {
                C::next_item(push);
                code(item, push)
            })
        })
    }
}

/// Nodes whose channels follow from what they do, enumerations and sinks: their handlers do not push, and what these nodes do
/// themselves at boundaries is done after what their handlers do.
impl<'s, I: 'static, S: 'static> HandlingNode<'s, I, (), S> {
    /// A node that is made in another way has the handlers too. It runs alone: those behind it see what it did at signals.
    fn with<R>(self, make: impl FnOnce(&mut Stream, u32) -> R) -> R {
        let Self { stream, node, hooks } = self;
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

    /// See [`NodeBuilder::map`].
    pub fn map<O: 'static>(self, code: impl Fn(&I) -> O + Send + Sync + 'static) -> Output<O> {
        self.with(|stream, node| NodeBuilder::new(stream, node).map(code))
    }

    /// See [`NodeBuilder::try_map`].
    pub fn try_map<O, E>(self, code: impl Fn(&I) -> Result<O, E> + Send + Sync + 'static) -> Output<O>
    where
        O: 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).try_map(code))
    }

    /// See [`NodeBuilder::filter`].
    pub fn filter(self, keep: impl Fn(&I) -> bool + Send + Sync + 'static) -> Output<I>
    where
        I: Clone,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).filter(keep))
    }

    /// See [`NodeBuilder::filter_map`].
    pub fn filter_map<O: 'static>(self, code: impl Fn(&I) -> Option<O> + Send + Sync + 'static) -> Output<O> {
        self.with(|stream, node| NodeBuilder::new(stream, node).filter_map(code))
    }

    /// See [`NodeBuilder::try_filter_map`].
    pub fn try_filter_map<O, E>(self, code: impl Fn(&I) -> Result<Option<O>, E> + Send + Sync + 'static) -> Output<O>
    where
        O: 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).try_filter_map(code))
    }

    /// See [`NodeBuilder::select`].
    pub fn select<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> Output<O>
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).select(code))
    }

    /// See [`NodeBuilder::select_in`].
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
        self.with(|stream, node| NodeBuilder::new(stream, node).select_in(region, code))
    }

    /// See [`NodeBuilder::split`].
    pub fn split<O>(self, code: impl Fn(I) -> (O, bool) + Send + Sync + 'static) -> (Output<O>, Output<O>)
    where
        I: Copy,
        O: Copy + Default + 'static,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).split(code))
    }

    /// See [`NodeBuilder::expand`].
    pub fn expand<It>(self, code: impl Fn(I) -> It + Send + Sync + 'static) -> Output<It::Item>
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        self.with(|stream, node| NodeBuilder::new(stream, node).expand(code))
    }

    /// See [`NodeBuilder::aggregate`].
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
        self.with(|stream, node| NodeBuilder::new(stream, node).aggregate(first, fold, finish))
    }

    /// See [`NodeBuilder::aggregate_sum`].
    pub fn aggregate_sum<O: 'static>(
        self,
        value: impl Fn(&I) -> u64 + Send + Sync + 'static,
        finish: impl Fn(u64, u64) -> O + Send + Sync + 'static,
    ) -> Output<O> {
        self.with(|stream, node| NodeBuilder::new(stream, node).aggregate_sum(value, finish))
    }

    /// See [`Stream::enumerate`].
    pub fn enumerate<It>(self, elements: impl Fn(&I) -> It + Send + Sync + 'static) -> (Region<I>, Output<It::Item>)
    where
        I: Clone,
        It: Iterator + 'static,
        It::Item: 'static,
    {
        self.enumerate_with(PARENTS, elements)
    }

    /// See [`Stream::enumerate_with`].
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

    /// See [`Stream::sink`].
    pub fn sink(self, sink: Sink<I>) {
        self.with(|stream, node| stream.becomes_sink(node, sink));
    }
}
