//! A sink of fixed size: who takes its items makes room for more.

use std::sync::Arc;

use super::{Chunk, Sink, Take, Taken};
use crate::bell::{Around, Bell};
use crate::error::Failure;
use crate::exchange::Exchange;

/// A sink that keeps up to so many items until they are taken. While it is full the stream waits: no item is lost, and no more
/// memory is used. A capacity of zero counts as one.
///
/// A node that waits for room does not keep others from running; when nobody can run, the worker's thread sleeps until there is
/// room, or the run is cancelled.
///
/// ```
/// use drawloom_runtime::Loom;
/// use drawloom_stream::{Settings, Stream, sink, source};
///
/// let mut stream = Stream::new("numbers");
/// let numbers = stream.source("numbers", source::range(0..1000));
/// let (to, items) = sink::buffer(16);
/// stream.sink("to", numbers, to);
/// let loom = Loom::builder().workers(1).build().unwrap();
/// let running = stream.plan()?.start(&loom, &Settings::new())?;
/// assert_eq!(items.sum::<u64>(), 499_500); // until the run has ended
/// running.wait()?;
/// # Ok::<(), drawloom_stream::Error>(())
/// ```
pub fn buffer<T: Clone + Send + 'static>(capacity: usize) -> (Sink<T>, Drain<T>) {
    let exchange = Exchange::new(capacity);
    let (theirs, begun, ended) = (Arc::clone(&exchange), Arc::clone(&exchange), Arc::clone(&exchange));
    let open = move |_: &Chunk| Box::new(Filling(Arc::clone(&theirs))) as Box<dyn Take<T>>;
    let around = Around { begin: Arc::new(move || begun.begin()), end: Arc::new(move || ended.end()) };
    let sink = Sink { open: Arc::new(open), settle: None, around: Some(around), seamless: false };
    (sink, Drain(exchange))
}

/// Takes the items of a [`buffer`], from another thread than the stream's. As an iterator it waits for items, until the run has
/// ended.
///
/// When it is dropped, a run that has more items fails: nobody receives.
pub struct Drain<T>(Arc<Exchange<T>>);

impl<T> Drain<T> {
    /// Up to so many items. Waits until there is one; there is none when the run has ended.
    pub fn take_up_to(&self, most: usize) -> Vec<T> {
        self.0.take(most)
    }

    /// How many items there are now.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no items now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Iterator for Drain<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.take(1).pop()
    }
}

impl<T> Drop for Drain<T> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<T> std::fmt::Debug for Drain<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Drain({} items)", self.0.len())
    }
}

struct Filling<T>(Arc<Exchange<T>>);

impl<T: Clone> Take<T> for Filling<T> {
    fn take(&mut self, items: &[T], bell: &Arc<Bell>) -> Result<Taken, Failure> {
        let taken = self.0.put_some(items, bell)?;
        Ok(if taken == items.len() { Taken::All } else { Taken::Some { taken, until: None } })
    }

    fn may_wait(&self) -> bool {
        true
    }
}
