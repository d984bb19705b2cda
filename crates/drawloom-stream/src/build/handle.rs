//! Names for the parts of a stream that is being described, with the types of what goes through them.

use std::fmt;
use std::marker::PhantomData;

use super::stream::Stream;

/// A channel of a node, from which items of one type come. It leads to exactly one node: whatever takes it consumes it.
///
/// An edge between different types does not compile, whether it leads to a node, to a sink or back:
///
/// ```compile_fail,E0631
/// # use drawloom_stream::{Stream, source};
/// # let mut stream = Stream::new("types");
/// let numbers = stream.source("numbers", source::range(0..10)); // of 64 bits
/// let halves = stream.node("halves", numbers).map(|n: &u32| n / 2);
/// ```
///
/// ```compile_fail,E0308
/// # use drawloom_stream::{Stream, sink, source};
/// # let mut stream = Stream::new("types");
/// let numbers = stream.source("numbers", source::range(0..10));
/// stream.sink("words", numbers, sink::callback(|words: &[String]| {}));
/// ```
///
/// ```compile_fail,E0308
/// # use drawloom_stream::{Stream, source};
/// # let mut stream = Stream::new("types");
/// let numbers = stream.source("numbers", source::range(0..10));
/// let node = stream.node("words", numbers);
/// let again = node.input();
/// let words = node.channel::<String>("words", 1).each(|n, words| words.push(n.to_string()));
/// stream.back_edge(words, again, 1);
/// ```
///
/// Nor does one that leads to two nodes:
///
/// ```compile_fail,E0382
/// # use drawloom_stream::{Stream, source};
/// # let mut stream = Stream::new("twice");
/// let numbers = stream.source("numbers", source::range(0..10));
/// stream.discard("one", numbers);
/// stream.discard("other", numbers);
/// ```
#[must_use = "a channel that leads nowhere is refused: connect it, or discard it"]
pub struct Output<T> {
    pub(crate) stream: u64,
    pub(crate) channel: u32,
    /// What it and its stream are called, for messages where it is used in another one.
    pub(crate) names: Box<(String, String)>,
    items: PhantomData<fn(T) -> T>,
}

/// The entry of a node that is described already: where a back edge may lead.
pub struct Input<T> {
    pub(crate) stream: u64,
    pub(crate) node: u32,
    items: PhantomData<fn(T) -> T>,
}

/// A region: the nodes between an enumeration and the channels that aggregate. Its parents are of type `P`.
pub struct Region<P> {
    pub(crate) stream: u64,
    pub(crate) region: u32,
    parents: PhantomData<fn(P) -> P>,
}

/// A kind of signals that carry a value.
pub struct Tag<V> {
    pub(crate) stream: u64,
    pub(crate) tag: u64,
    values: PhantomData<fn(V) -> V>,
}

impl<T> Output<T> {
    pub(crate) fn new(stream: &Stream, channel: u32) -> Self {
        let names = (stream.description.channel_name(channel), stream.name().to_owned());
        Self { stream: stream.id, channel, names: Box::new(names), items: PhantomData }
    }
}

macro_rules! handles {
    ($($name:ident $field:ident: $id:ty, $phantom:ident;)*) => { $(
        impl<T> $name<T> {
            pub(crate) fn new(stream: u64, $field: $id) -> Self {
                Self { stream, $field, $phantom: PhantomData }
            }
        }
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.$field)
            }
        }
    )* };
}
handles! {
    Input node: u32, items;
    Region region: u32, parents;
    Tag tag: u64, values;
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Output({})", self.channel)
    }
}

/// The channels that lead into one node: one, or several for a join.
pub trait IntoInputs<T> {
    /// The channels, in order.
    #[doc(hidden)]
    fn into_inputs(self) -> Vec<Output<T>>;
}

impl<T> IntoInputs<T> for Output<T> {
    fn into_inputs(self) -> Vec<Output<T>> {
        vec![self]
    }
}

impl<T, const N: usize> IntoInputs<T> for [Output<T>; N] {
    fn into_inputs(self) -> Vec<Output<T>> {
        self.into()
    }
}

impl<T> IntoInputs<T> for Vec<Output<T>> {
    fn into_inputs(self) -> Vec<Output<T>> {
        self
    }
}
