//! The typed builder: accesses become parameters of the body.
//!
//! The type of a builder lists the accesses declared so far. `run` and its siblings exist once for each number of
//! accesses, and take a closure with one parameter for each, whose type is the view that the access gives. So a body cannot
//! read what it only writes, change what it only reads, or touch what was not declared: it does not compile.

use std::alloc::Layout;
use std::marker::PhantomData;

use super::arity::for_each_arity;
use super::body::{self, Body, BodyError};
use super::future::{Future, Pending};
use super::record::TaskId;
use super::spec::Spec;
use crate::access::parameter::Parameter;
use crate::access::reduction::folds;
use crate::access::{
    Access, ByValue, Commute, Lend, Mode, Operator, Read, ReadAll, Reduce, Scratch, Update, UpdateAll, Write,
};
use crate::context::Context;
use crate::core::Core;
use crate::data::region::{Handle, Region};
use crate::data::{element::Element, indexed::Indexed, matrix::Matrix, value::Value, vector::Vector};
use crate::error::ErrorKind;
use crate::sync::Arc;
use crate::team::Bounds;
use crate::team::task::TeamTask;

/// A task that is being described. Nothing happens until `run`, `returns` or `try_run` is called.
#[must_use = "a task is submitted by `run`, `returns` or `try_run`"]
pub struct Task<'a, A = (), S = Submit> {
    core: &'a Arc<Core>,
    spec: Spec,
    /// Where the task goes: to the workers, or into a recording.
    sink: S,
    accesses: PhantomData<A>,
    /// The regions must live until the task is submitted.
    regions: PhantomData<&'a ()>,
}

/// The task is submitted to the runtime.
#[derive(Clone, Copy, Debug)]
pub struct Submit;

/// Where a task goes.
pub trait Sink: Copy {
    /// Notes a region that the task uses.
    #[doc(hidden)]
    fn keep(&self, handle: &Handle);
}

impl Sink for Submit {
    /// The borrow of the region keeps it until the task is submitted; then the order of tasks does.
    #[inline]
    fn keep(&self, _: &Handle) {}
}

/// A list of accesses that can be longer by one.
pub trait Append<X> {
    /// The longer list.
    type List;
}

/// Stands in for a list of more than twelve accesses, which no task can have: declare regions of one kind together with
/// `read_all` and `update_all`, any number of them.
///
/// It is a type of its own for the sake of the compiler's message.
pub struct AtMostTwelveAccesses;

impl<X> Append<X> for AtMostTwelveAccesses {
    type List = Self;
}

impl<X, A, B, C, D, E, F, G, H, I, J, K, L> Append<X> for (A, B, C, D, E, F, G, H, I, J, K, L) {
    type List = AtMostTwelveAccesses;
}

/// Regions whose elements have a known type, for reductions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no region that can be reduced into",
    label = "a `Vector`, `Value`, `Matrix`, `Array` or `Indexed` is needed",
    note = "regions that are left out of the order of tasks cannot be reduced into"
)]
pub trait Elements: Region {
    /// The type of the elements.
    type Element: Send + Sync + 'static;
}

macro_rules! impl_elements {
    ($($kind:ident)*) => { $(
        impl<T: Send + Sync + 'static> Elements for $kind<T> {
            type Element = T;
        }
    )* };
}
impl_elements! { Vector Value Matrix Indexed }
impl<T: Send + Sync + 'static, const N: usize> Elements for crate::data::array::Array<T, N> {
    type Element = T;
}

impl<'a, S> Task<'a, (), S> {
    #[inline]
    pub(crate) fn new(core: &'a Arc<Core>, spec: Spec, sink: S) -> Self {
        Self { core, spec, sink, accesses: PhantomData, regions: PhantomData }
    }
}

/// What a task does with data, however it is run.
impl<'a, A, S: Sink> Task<'a, A, S> {
    #[inline]
    fn with<X, R: Region>(mut self, region: &'a R, mode: Mode) -> Task<'a, A::List, S>
    where
        A: Append<X>,
    {
        self.sink.keep(region.handle());
        self.spec.add(self.core, region, mode);
        self.typed()
    }

    #[inline]
    fn typed<B>(self) -> Task<'a, B, S> {
        Task { core: self.core, spec: self.spec, sink: self.sink, accesses: PhantomData, regions: PhantomData }
    }

    /// The body reads the region.
    #[inline]
    pub fn read<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Read<R>>,
    {
        self.with::<Read<R>, R>(region, Mode::Read)
    }

    /// The body writes every element of the region, and makes no use of what was there.
    #[inline]
    pub fn write<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Write<R>>,
    {
        self.with::<Write<R>, R>(region, Mode::Write)
    }

    /// The body reads and writes the region.
    #[inline]
    pub fn update<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Update<R>>,
    {
        self.with::<Update<R>, R>(region, Mode::Update)
    }

    /// The body reads and writes the region. Tasks that commute run one at a time, in any order.
    pub fn commute<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Commute<R>>,
    {
        self.with::<Commute<R>, R>(region, Mode::Commute)
    }

    /// The body fills a private accumulator, which starts with the operator's identity and is folded into the region
    /// later. Tasks that reduce with the same operator run at the same time. Contributions are folded in an order that
    /// depends only on the order of submission, so the result has the same bits for any number of workers.
    pub fn reduce<R: Elements, O: Operator<R::Element>>(self, region: &'a R, operator: O) -> Task<'a, A::List, S>
    where
        A: Append<Reduce<R>>,
    {
        self.reduce_with(region, operator, true)
    }

    /// As [`Task::reduce`], with contributions folded as they come: less memory, and bits that depend on the run.
    pub fn reduce_in_any_order<R: Elements, O: Operator<R::Element>>(
        self,
        region: &'a R,
        operator: O,
    ) -> Task<'a, A::List, S>
    where
        A: Append<Reduce<R>>,
    {
        self.reduce_with(region, operator, false)
    }

    fn reduce_with<R: Elements, O: Operator<R::Element>>(
        mut self,
        region: &'a R,
        operator: O,
        ordered: bool,
    ) -> Task<'a, A::List, S>
    where
        A: Append<Reduce<R>>,
    {
        let folds = folds::<R::Element, O>(operator, self.core, &self.spec);
        self.spec.extras().folds.push((folds, ordered));
        self.with::<Reduce<R>, R>(region, Mode::Reduce)
    }

    /// The body has a buffer of `len` elements of its own, all zero at first.
    pub fn scratch<T: Element>(mut self, len: usize) -> Task<'a, A::List, S>
    where
        A: Append<Scratch<T>>,
    {
        let layout = match Layout::array::<T>(len) {
            Ok(layout) => Ok(layout),
            Err(_) => Err(format!("{len} elements of {} bytes: no memory has so many", size_of::<T>())),
        };
        let layout = layout.unwrap_or_else(|what| {
            self.spec.refuse(ErrorKind::Shape, format!("cannot have a scratch buffer of {what}"));
            Layout::new::<()>()
        });
        self.spec.extras().scratch.push(layout);
        self.typed()
    }

    /// The body has a copy of a value. It could capture it as well; but what a device runs in the place of the body has only
    /// what was declared: see [`Launch::value`](crate::device::Launch::value).
    pub fn value<T: Element>(mut self, value: T) -> Task<'a, A::List, S>
    where
        A: Append<ByValue<T>>,
    {
        self.spec.extras().parameters.push(Parameter::value(value));
        self.typed()
    }

    /// The body reads each region of a list.
    pub fn read_all<R: Region>(mut self, regions: &'a [R]) -> Task<'a, A::List, S>
    where
        A: Append<ReadAll<R>>,
    {
        self.list(regions, Mode::Read);
        self.typed()
    }

    /// The body reads and writes each region of a list. They must not overlap.
    pub fn update_all<R: Region>(mut self, regions: &'a [R]) -> Task<'a, A::List, S>
    where
        A: Append<UpdateAll<R>>,
    {
        self.list(regions, Mode::Update);
        self.typed()
    }

    fn list<R: Region>(&mut self, regions: &'a [R], mode: Mode) {
        self.spec.extras().parameters.push(Parameter::Count(regions.len()));
        for region in regions {
            self.sink.keep(region.handle());
            self.spec.add(self.core, region, mode);
        }
    }

    /// Tasks with a higher priority start first, where the policy looks at priorities. The default is zero.
    pub fn priority(mut self, priority: i32) -> Self {
        self.spec.priority = priority;
        self
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        self.core
    }

    pub(crate) fn sink(&self) -> &S {
        &self.sink
    }

    pub(crate) fn spec_mut(&mut self) -> &mut Spec {
        &mut self.spec
    }

    pub(crate) fn into_parts(self) -> (Spec, S) {
        (self.spec, self.sink)
    }
}

/// What a task can do beyond touching data.
impl<'a, A, S: Sink> Task<'a, A, S> {
    /// Child tasks of the body may read and write the region, or pieces of it. The body itself has no view of it.
    pub fn lend<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Lend<R>>,
    {
        self.with::<Lend<R>, R>(region, Mode::LendUpdate)
    }

    /// Child tasks of the body write every element of the region, and then may read it. The body itself has no view of it.
    pub fn lend_to_write<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Lend<R>>,
    {
        self.with::<Lend<R>, R>(region, Mode::LendWrite)
    }

    /// Child tasks of the body may read the region, or pieces of it. The body itself has no view of it.
    pub fn lend_to_read<R: Region>(self, region: &'a R) -> Task<'a, A::List, S>
    where
        A: Append<Lend<R>>,
    {
        self.with::<Lend<R>, R>(region, Mode::LendRead)
    }

    /// Runs the task in a context: on one of its workers, as its policy decides.
    pub fn in_context(mut self, context: &Context) -> Self {
        match context.index_in(self.core) {
            Ok(index) => self.spec.context = index,
            Err(e) => self.spec.refuse(e.kind(), e.message().to_owned()),
        }
        self
    }

    /// The task runs on a device of the given kind, in the memory of that device, and nowhere else. What the device runs is
    /// the implementation for its kind, if one was given, and the body otherwise. The serial engine runs the body.
    ///
    /// On a device a body may submit children, but wait for nothing, as the device could do nothing else meanwhile.
    /// Reductions and teams need processors, so a task that names a device cannot have them.
    pub fn on_device(mut self, kind: &str) -> Self {
        match self.core.device_kind(kind) {
            Ok(number) => self.spec.extras().device = number,
            Err(e) => self.spec.refuse(e.kind(), e.message().to_owned()),
        }
        self
    }

    /// Adds what devices of a kind run in the place of the body: a compiled kernel, for example. The device knows its type.
    ///
    /// A task may have an implementation for each of several kinds, beside its body, which is the one for processors.
    /// Whoever is free first runs it: a worker of its context, or a device of one of these kinds. Only processors come into
    /// question when the runtime has no device of a kind, when an element cannot leave this process, and for reductions and
    /// teams. So the same program runs with and without devices.
    pub fn implementation(mut self, kind: &str, implementation: impl std::any::Any + Send + Sync) -> Self {
        if let Ok(Some(number)) = self.core.device_kind(kind) {
            let list = &mut self.spec.extras().implementations;
            list.retain(|(of, _)| *of != number);
            list.push((number, Arc::new(implementation)));
        }
        self
    }

    /// The task needs several workers at once: all of them run the body, each with its own rank.
    ///
    /// One worker may be enough: `team(1..=4)` takes as many as are free. Every task that reduces must do so alone.
    pub fn team(mut self, workers: impl Into<Bounds>) -> TeamTask<'a, A, S> {
        self.spec.extras().team = Some(workers.into());
        TeamTask(self)
    }

    /// When the body fails, what it had overwritten is restored, and it is run again, up to this many times.
    ///
    /// Before the first run a copy of what the body may change is made, so its regions must hold plain elements. A task that
    /// lends regions to be changed by children cannot be retried. What failed attempts contributed to reductions is left out.
    /// So are the children of failed attempts: the next attempt begins when they are complete, and what failed among them
    /// counts as little as the attempt itself.
    pub fn retry(mut self, times: u32) -> RetryTask<'a, A, S> {
        self.spec.refuse_retry();
        self.spec.extras().retries = times;
        RetryTask(self)
    }
}

/// The order among submitted tasks.
impl<'a, A> Task<'a, A> {
    /// The task starts after another one is complete, and is cancelled when that one fails.
    pub fn after(mut self, task: &'a impl Pending) -> Self {
        if let Some(id) = self.own(task, "come after") {
            self.spec.extras().after.push(id);
        }
        self
    }

    /// The task is complete only when another one is, too.
    pub fn ends_with(mut self, task: &impl Pending) -> Self {
        if let Some(id) = self.own(task, "end with") {
            self.spec.extras().ends_with.push(id);
        }
        self
    }

    fn own(&mut self, task: &impl Pending, verb: &str) -> Option<TaskId> {
        if task.belongs_to(self.core) {
            return Some(task.id());
        }
        let message = format!("cannot {verb} {}, which belongs to another runtime", task.describe());
        self.spec.refuse(ErrorKind::Foreign, message);
        None
    }

    #[inline]
    fn submit(self, body: Body) -> TaskId {
        self.core.submit(self.spec, body)
    }
}

/// A task that may be tried again: its body must be able to run more than once.
#[must_use = "a task is submitted by `run`, `returns` or `try_run`"]
pub struct RetryTask<'a, A, S = Submit>(pub(crate) Task<'a, A, S>);

impl<'a, A, S: Sink> RetryTask<'a, A, S> {
    /// As [`Task::team`]: a failure of any member makes the task run again, in another team.
    pub fn team(self, workers: impl Into<Bounds>) -> TeamTask<'a, A, S> {
        self.0.team(workers)
    }
}

/// A list of up to eleven accesses can be longer by one.
macro_rules! append {
    ($($a:ident)*;) => {};
    ($($a:ident)*; $next:ident $($rest:ident)*) => {
        impl<$($a,)* X> Append<X> for ($($a,)*) {
            type List = ($($a,)* X,);
        }
        append! { $($a)* $next; $($rest)* }
    };
}
append! { ; A1 A2 A3 A4 A5 A6 A7 A8 A9 A10 A11 A12 }

macro_rules! submit {
    ($(($($a:ident $x:ident),*))*) => { $(
        #[allow(clippy::type_complexity)]
        impl<'a, $($a: Access),*> Task<'a, ($($a,)*)> {
            /// Submits the task. Its body has one parameter for each access, in the order in which they were declared.
            #[inline]
            pub fn run<F>(self, body: F) -> Future<()>
            where
                F: for<'v> FnOnce($($a::View<'v>),*) + Send + 'static,
            {
                let core = Arc::clone(self.core);
                let id = self.submit(body::once(move |_frame| {
                    $(
                        // SAFETY: the frame's arguments are those that were declared, in this order, and the task runs
                        // only once they are granted.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    body($($x),*);
                    Ok(())
                }));
                Future::without_value(core, id)
            }

            /// Submits the task. What its body returns is the value of the future.
            pub fn returns<F, T>(self, body: F) -> Future<T>
            where
                F: for<'v> FnOnce($($a::View<'v>),*) -> T + Send + 'static,
                T: Send + 'static,
            {
                let (future, result) = Future::new(Arc::clone(self.core));
                let id = self.submit(body::once(move |_frame| {
                    $(
                        // SAFETY: as in `run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    result.set(body($($x),*));
                    Ok(())
                }));
                future.of_task(id)
            }

            /// Submits the task. The value of the future is what its body returns; an error makes the task fail.
            pub fn try_run<F, T, E>(self, body: F) -> Future<T>
            where
                F: for<'v> FnOnce($($a::View<'v>),*) -> Result<T, E> + Send + 'static,
                T: Send + 'static,
                E: Into<BodyError>,
            {
                let (future, result) = Future::new(Arc::clone(self.core));
                let id = self.submit(body::once(move |_frame| {
                    $(
                        // SAFETY: as in `run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    result.set(body($($x),*).map_err(Into::into)?);
                    Ok(())
                }));
                future.of_task(id)
            }
        }

        impl<'a, $($a: Access),*> RetryTask<'a, ($($a,)*)> {
            /// Submits the task. A panic of its body makes it run again.
            pub fn run<F>(self, body: F) -> Future<()>
            where
                F: for<'v> Fn($($a::View<'v>),*) + Send + Sync + 'static,
            {
                let core = Arc::clone(self.0.core);
                let id = self.0.submit(body::again(move |_frame| {
                    $(
                        // SAFETY: as in `Task::run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    body($($x),*);
                    Ok(())
                }));
                Future::without_value(core, id)
            }

            /// Submits the task. What its body returns is the value of the future; a panic makes it run again.
            pub fn returns<F, T>(self, body: F) -> Future<T>
            where
                F: for<'v> Fn($($a::View<'v>),*) -> T + Send + Sync + 'static,
                T: Send + 'static,
            {
                let (future, result) = Future::new(Arc::clone(self.0.core));
                let id = self.0.submit(body::again(move |_frame| {
                    $(
                        // SAFETY: as in `Task::run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    result.set(body($($x),*));
                    Ok(())
                }));
                future.of_task(id)
            }

            /// Submits the task. The value of the future is what its body returns; an error makes it run again.
            pub fn try_run<F, T, E>(self, body: F) -> Future<T>
            where
                F: for<'v> Fn($($a::View<'v>),*) -> Result<T, E> + Send + Sync + 'static,
                T: Send + 'static,
                E: Into<BodyError>,
            {
                let (future, result) = Future::new(Arc::clone(self.0.core));
                let id = self.0.submit(body::again(move |_frame| {
                    $(
                        // SAFETY: as in `Task::run`.
                        let $x = unsafe { $a::view(_frame) };
                    )*
                    result.set(body($($x),*).map_err(Into::into)?);
                    Ok(())
                }));
                future.of_task(id)
            }
        }
    )* };
}

for_each_arity!(submit);
