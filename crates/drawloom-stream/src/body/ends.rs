//! Sources and sinks, as the machine sees them.

use std::rc::Rc;

use super::{Body, Chain, Fault, Ran, Stop, Wires};
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::Marks;
use crate::sink::{Chunk, Take};
use crate::source::{Fed, Feed};

/// A node without inputs.
pub(crate) struct SourceEnd<T> {
    output: Rc<Pipe<T>>,
    feed: Box<dyn Feed<T>>,
    /// Tells the sinks which chunk their items are of.
    chunk: Chunk,
}

impl<T: 'static> SourceEnd<T> {
    pub(crate) fn make(feed: Box<dyn Feed<T>>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self { output: typed(&wires.outputs[0].pipe), feed, chunk: Rc::clone(wires.chunk) })
    }
}

impl<T: 'static> Body for SourceEnd<T> {
    fn run(&mut self, _: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        let mut buffer = self.output.buffer.borrow_mut();
        let space = buffer.space(count);
        let before = space.len();
        let fed = self.feed.feed(count, space).map_err(Fault::Source)?;
        self.chunk.set(self.feed.chunk());
        let done = space.len() - before;
        if done > count {
            return Err(Fault::Source("it gave more items than were asked for".to_owned()));
        }
        buffer.measure();
        let stop = match fed {
            Fed::More => Stop::Done,
            Fed::Idle => Stop::Idle,
            Fed::Exhausted => Stop::Exhausted,
        };
        Ok(Ran { done, stop })
    }
}

/// A node without channels.
pub(crate) struct SinkEnd<T> {
    inputs: Vec<Rc<Pipe<T>>>,
    take: Box<dyn Take<T>>,
}

impl<T: 'static> SinkEnd<T> {
    pub(crate) fn make(take: Box<dyn Take<T>>, wires: &Wires<'_>) -> Box<dyn Body> {
        Box::new(Self { inputs: wires.inputs.iter().map(typed).collect(), take })
    }
}

impl<T: 'static> Body for SinkEnd<T> {
    fn run(&mut self, input: usize, count: usize, _: &Chain) -> Result<Ran, Fault> {
        self.take.take(&self.inputs[input].peek(count)).map_err(Fault::Sink)?;
        Ok(Ran { done: count, stop: Stop::Done })
    }

    fn is_seamless(&self) -> bool {
        self.take.is_seamless()
    }

    fn can_span(&self) -> bool {
        true
    }

    fn span(&mut self, input: usize, count: usize, _: &mut Marks<'_>) -> Result<(), Fault> {
        self.take.take(&self.inputs[input].peek(count)).map_err(Fault::Sink)
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.take.finish().map_err(Fault::Sink)
    }
}
