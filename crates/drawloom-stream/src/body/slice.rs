//! The user's function over a slice of items.

use std::any::Any;
use std::cell::Ref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::channels::{Bounds, Channels};
use super::{Body, Chain, Fault, Ran, Wires, quietly};
use crate::build::handle::Region;
use crate::error::Failure;
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::{Marks, Signal};
use crate::machine::time::since;
use crate::parameter::{Parameter, Parameters};
use crate::wide::{self, Kernel};

/// What a body sees in a run: up to a vector of items, the node's state, and the parents that the items belong to.
///
/// At the begin and the end of a parent, and in the handler of a signal, there are no items.
pub struct Run<'a, I, S = ()> {
    items: &'a [I],
    state: &'a mut S,
    chain: &'a Chain,
    parameters: &'a Parameters,
    failed: &'a mut Option<Failure>,
}

impl<'a, I, S> Run<'a, I, S> {
    /// The items, in order.
    pub fn items(&self) -> &'a [I] {
        self.items
    }

    /// The state of the node, in this copy of the stream.
    pub fn state(&mut self) -> &mut S {
        self.state
    }

    /// The value of a parameter of the stream, in this run of it.
    ///
    /// # Panics
    /// When the parameter is of another stream. The run of this one fails then, with the name of the node.
    pub fn parameter<T: 'static>(&self, parameter: Parameter<T>) -> &'a T {
        self.parameters.get(parameter)
    }

    /// The parent in a region to which all items of this run belong.
    ///
    /// # Panics
    /// When the node is not inside of the region, or no parent of it is under way. The run of the stream fails then, with the name of
    /// the node and of the one that enumerates.
    pub fn parent<P: 'static>(&self, region: Region<P>) -> Ref<'a, P> {
        self.chain.parent(region).unwrap_or_else(|| panic!("{}", self.chain.why_no_parent(region)))
    }

    /// The node fails: when its function returns, the run of the stream ends with an error that names the node, and whose source
    /// is this one. The first error counts. A function may return a `Result` instead; handlers of signals call this.
    pub fn fail(&mut self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) {
        self.failed.get_or_insert_with(|| error.into());
    }
}

pub(crate) type Code<I, S, C> = dyn for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut <C as Channels>::Push<'b>) + Send + Sync;
type Handler<I, S, C> = dyn for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut <C as Channels>::Push<'b>, &dyn Any) + Send + Sync;

/// The handlers of signals, each with its tag.
type Handlers<I, S, C> = Vec<(u64, Arc<Handler<I, S, C>>)>;

/// The handlers of boundaries, each with its region, and whether it is for the begin of parents.
type Boundaries<I, S, C> = Vec<(u32, bool, Arc<Code<I, S, C>>)>;

/// Makes the state of a node, at the beginning of a run.
pub(crate) type Init<S> = Arc<dyn Fn() -> S + Send + Sync>;

/// What becomes of the state of a node, at the end of a run.
pub(crate) type Cleanup<S> = Arc<dyn Fn(S) + Send + Sync>;

/// What a node does besides its runs.
pub(crate) struct Hooks<I, S, C: Channels> {
    pub(crate) init: Init<S>,
    pub(crate) cleanup: Option<Cleanup<S>>,
    pub(crate) begin: Vec<Arc<Code<I, S, C>>>,
    pub(crate) end: Vec<Arc<Code<I, S, C>>>,
    pub(crate) handlers: Handlers<I, S, C>,
    /// What the node does at boundaries of any region around it: of which region, and whether the parent begins.
    pub(crate) boundaries: Boundaries<I, S, C>,
}

impl<I, S, C: Channels> Hooks<I, S, C> {
    /// Nothing but a state.
    pub(crate) fn new(init: Init<S>) -> Self {
        Self { init, cleanup: None, begin: Vec::new(), end: Vec::new(), handlers: Vec::new(), boundaries: Vec::new() }
    }

    /// Whether nothing is done at signals.
    pub(crate) fn is_empty(&self) -> bool {
        self.handlers.is_empty() && !self.at_boundaries()
    }

    /// Whether something is done at boundaries.
    pub(crate) fn at_boundaries(&self) -> bool {
        !(self.begin.is_empty() && self.end.is_empty() && self.boundaries.is_empty())
    }
}

/// A node with a function over a slice.
pub(crate) struct Slice<I, S, C: Channels, F> {
    inputs: Vec<Rc<Pipe<I>>>,
    ends: C::Ends,
    state: Option<S>,
    hooks: Arc<Hooks<I, S, C>>,
    code: Arc<F>,
    signals: (usize, usize),
    width: usize,
    parameters: Parameters,
}

impl<I, S, C, F> Slice<I, S, C, F>
where
    I: 'static,
    S: 'static,
    C: Channels,
    F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + 'static,
{
    pub(crate) fn make(hooks: &Arc<Hooks<I, S, C>>, code: &Arc<F>, wires: &Wires) -> Box<dyn Body> {
        Box::new(Self {
            inputs: wires.inputs.iter().map(typed).collect(),
            ends: C::connect(wires),
            state: Some((hooks.init)()),
            hooks: Arc::clone(hooks),
            code: Arc::clone(code),
            signals: wires.signals,
            width: wires.width,
            parameters: wires.parameters.clone(),
        })
    }

    /// Runs over items among which there are boundaries: once for the items of each parent.
    fn run_by_parent(
        &mut self,
        input: usize,
        count: usize,
        marks: &mut Marks<'_>,
        chain: &mut Chain,
    ) -> Result<Ran, Fault> {
        marks.clear();
        let Some(state) = &mut self.state else { return Ok(Ran::all(count)) };
        let items = self.inputs[input].peek(count);
        let clock = |chain: &Chain| chain.timed.then(Instant::now);
        let start = clock(chain);
        // There is space for what all parents may bring; how much each may bring is looked at.
        let push = C::open(&self.ends, &Bounds { inputs: Some(count), signals: 0, depth: usize::MAX });
        let opened = since(start);
        let (code, width, ends, parameters) = (&*self.code, self.width, &self.ends, &self.parameters);
        let called = wide::call(Parts { items: &items, width, state, code, push, ends, marks, chain, parameters });
        let start = clock(chain);
        C::settle(&self.ends);
        chain.pushing.set(chain.pushing.get() + opened + since(start));
        marks.calls = Some(called?);
        Ok(Ran::all(count))
    }

    fn call(
        &mut self,
        items: &[I],
        bounds: &Bounds,
        chain: &Chain,
        code: impl FnOnce(&mut Run<'_, I, S>, &mut C::Push<'_>),
    ) -> Result<(), Fault> {
        // The state is there until the run is over, and nothing is called after that.
        let Some(state) = &mut self.state else { return Ok(()) };
        let clock = || chain.timed.then(Instant::now);
        let start = clock();
        let mut push = C::open(&self.ends, bounds);
        let opened = since(start);
        let mut failed = None;
        let mut run = Run { items, state, chain, parameters: &self.parameters, failed: &mut failed };
        wide::call(|| code(&mut run, &mut push));
        let start = clock();
        let closed = C::close(&self.ends, push, bounds);
        chain.pushing.set(chain.pushing.get() + opened + since(start));
        // What it returns is closer to the cause than what it pushed too much.
        failed.map_or(closed, |why| Err(Fault::Node(why)))
    }
}

impl<I, S, C, F> Body for Slice<I, S, C, F>
where
    I: 'static,
    S: 'static,
    C: Channels,
    F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>) + 'static,
{
    fn run(
        &mut self,
        input: usize,
        count: usize,
        chain: &mut Chain,
        marks: Option<&mut Marks<'_>>,
    ) -> Result<Ran, Fault> {
        if let Some(marks) = marks {
            return self.run_by_parent(input, count, marks, chain);
        }
        let (pipe, code) = (Rc::clone(&self.inputs[input]), Arc::clone(&self.code));
        let bounds = Bounds { inputs: Some(count), signals: self.signals.0, depth: usize::MAX };
        self.call(&pipe.peek(count), &bounds, chain, |run, push| code(run, push))?;
        C::settle(&self.ends);
        Ok(Ran::all(count))
    }

    fn handle(&mut self, signal: &Signal, chain: &mut Chain) -> Result<bool, Fault> {
        let hooks = Arc::clone(&self.hooks);
        let bounds = Bounds { inputs: None, signals: self.signals.1, depth: chain.depth() };
        let (region, begins, hook) = match signal {
            Signal::Begin { region, .. } => (*region, true, &hooks.begin),
            Signal::End { region, .. } => (*region, false, &hooks.end),
            Signal::User { tag, value } => {
                let mut handlers = hooks.handlers.iter().filter(|(own, _)| own == tag).peekable();
                let Some(value) = value.get().filter(|_| handlers.peek().is_some()) else { return Ok(false) };
                self.call(&[], &bounds, chain, |run, push| handlers.for_each(|(_, code)| code(run, push, value)))?;
                C::settle(&self.ends);
                return Ok(true);
            }
        };
        let own = chain.regions.last().is_some_and(|(own, _)| *own == region);
        let any = hooks.boundaries.iter().filter(|(of, begin, _)| (*of, *begin) == (region, begins));
        let called = hook.iter().filter(|_| own).chain(any.map(|(_, _, code)| code));
        let mut codes = called.peekable();
        if codes.peek().is_none() {
            return Ok(false);
        }
        // One call for all of them: what they push and raise together is bounded.
        self.call(&[], &bounds, chain, |run, push| codes.for_each(|code| code(run, push)))?;
        C::settle(&self.ends);
        Ok(true)
    }

    fn handles(&self, region: u32) -> bool {
        self.hooks.boundaries.iter().any(|(of, ..)| *of == region)
    }

    fn cuts(&self) -> bool {
        true
    }

    fn can_span(&self) -> bool {
        // What it does at boundaries, and the signals it raises, would have to be told apart from those that pass.
        self.signals.0 == 0 && !self.hooks.at_boundaries()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.clean_up();
        Ok(())
    }
}

impl<I, S, C: Channels, F> Slice<I, S, C, F> {
    fn clean_up(&mut self) {
        if let (Some(state), Some(cleanup)) = (self.state.take(), &self.hooks.cleanup) {
            cleanup(state);
        }
    }
}

impl<I, S, C: Channels, F> Drop for Slice<I, S, C, F> {
    fn drop(&mut self) {
        // There is a state only if the run did not come to its end.
        quietly(|| self.clean_up());
    }
}

/// Calls the user's function for the items of one parent after the other, up to a vector at a time. Says how often it was called, and
/// how often with a full vector.
struct Parts<'a, 'b, I, S, C: Channels, F> {
    items: &'a [I],
    width: usize,
    state: &'a mut S,
    code: &'a F,
    push: C::Push<'a>,
    ends: &'a C::Ends,
    marks: &'a mut Marks<'b>,
    chain: &'a mut Chain,
    parameters: &'a Parameters,
}

impl<I, S, C, F> Kernel for Parts<'_, '_, I, S, C, F>
where
    C: Channels,
    F: for<'a, 'b> Fn(&mut Run<'a, I, S>, &mut C::Push<'b>),
{
    type Output = Result<(usize, usize), Fault>;

    #[inline(always)]
    fn run(self) -> Result<(usize, usize), Fault> {
        let Self { items, width, state, code, mut push, ends, marks, chain, parameters } = self;
        let mut before = [0; 2];
        C::look(&push, &mut before);
        let mut waiting = before;
        let (mut at, mut calls, mut full, mut failed) = (0, 0, 0, None);
        // Behind the last boundary there may be items too.
        let all = marks.parents().map(|(place, region, parent)| (place, Some((region, parent))));
        for (place, next) in all.chain([(items.len(), None)]) {
            let of_parent = &items[std::mem::replace(&mut at, place)..place];
            for part in of_parent.chunks(width) {
                let bounds = Bounds { inputs: Some(part.len()), signals: 0, depth: usize::MAX };
                (calls, full) = (calls + 1, full + usize::from(part.len() == width));
                C::renew(ends, &mut push, &bounds);
                let failed = &mut failed;
                code(&mut Run { items: part, state: &mut *state, chain, parameters, failed }, &mut push);
                if let Some(why) = failed.take() {
                    return Err(Fault::Node(why));
                }
                if C::look(&push, &mut waiting) {
                    return C::close(ends, push, &bounds).map(|()| (calls, full));
                }
            }
            if let Some((region, parent)) = next {
                for (noted, (waiting, before)) in marks.pushed.iter_mut().zip(waiting.iter().zip(before)) {
                    noted.push((waiting - before) as u32);
                }
                chain.see(region, parent);
            }
        }
        Ok((calls, full))
    }
}
