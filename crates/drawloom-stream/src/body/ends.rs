//! Sources and sinks, as the machine sees them.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::{Body, Chain, Fault, Ran, Stop, Wires, quietly};
use crate::bell::Bell;
use crate::machine::pipe::{Pipe, typed};
use crate::machine::signal::Marks;
use crate::sink::order::Turn;
use crate::sink::{Chunk, Take, Taken};
use crate::source::{Fed, Feed};

/// A node without inputs.
pub(crate) struct SourceEnd<T> {
    output: Rc<Pipe<T>>,
    feed: Box<dyn Feed<T>>,
    /// Tells the sinks which chunk their items are of.
    chunk: Chunk,
    /// Who is told when a chunk is done.
    turn: Option<Arc<Turn>>,
    bell: Arc<Bell>,
}

impl<T: 'static> SourceEnd<T> {
    pub(crate) fn make(feed: Box<dyn Feed<T>>, wires: &Wires) -> Box<dyn Body> {
        let (chunk, turn, bell) = (Rc::clone(&wires.chunk), wires.turn.clone(), Arc::clone(&wires.bell));
        Box::new(Self { output: typed(&wires.outputs[0].pipe), feed, chunk, turn, bell })
    }
}

impl<T: 'static> Body for SourceEnd<T> {
    fn run(&mut self, _: usize, count: usize, _: &mut Chain, _: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let mut buffer = self.output.buffer.borrow_mut();
        let before = buffer.len();
        let fed = self.feed.feed(count, &mut buffer, &self.bell).map_err(Fault::Source)?;
        self.chunk.set(self.feed.chunk().start);
        let done = buffer.len() - before;
        if done > count {
            return Err(Fault::Source("it gave more items than were asked for".into()));
        }
        buffer.measure();
        let stop = match fed {
            Fed::More => Stop::Done,
            Fed::Idle => Stop::Idle,
            Fed::Whole => Stop::Whole,
            Fed::Wait(until) => Stop::Outside(until),
            Fed::Exhausted => Stop::Exhausted,
        };
        Ok(Ran { done, stop })
    }

    fn give_back(&mut self, count: usize) -> Option<usize> {
        let mut buffer = self.output.buffer.borrow_mut();
        self.feed.give_back(count, &mut buffer)
    }

    fn left(&self) -> Option<u64> {
        self.feed.left()
    }

    fn has_returned(&self) -> bool {
        self.feed.has_returned()
    }

    fn patience(&self) -> Option<Duration> {
        self.feed.patience()
    }

    fn complete(&mut self) {
        if let Some(turn) = &self.turn {
            turn.complete(self.feed.chunk());
        }
    }
}

/// A node without channels.
pub(crate) struct SinkEnd<T> {
    inputs: Vec<Rc<Pipe<T>>>,
    take: Box<dyn Take<T>>,
    seamless: bool,
    bell: Arc<Bell>,
    /// Whether it was told that there are no more items.
    finished: bool,
}

impl<T: 'static> SinkEnd<T> {
    pub(crate) fn make(take: Box<dyn Take<T>>, seamless: bool, wires: &Wires) -> Box<dyn Body> {
        let inputs = wires.inputs.iter().map(typed).collect();
        Box::new(Self { inputs, take, seamless, bell: Arc::clone(&wires.bell), finished: false })
    }
}

impl<T: 'static> Body for SinkEnd<T> {
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, _: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        // There may be boundaries only.
        if count == 0 {
            return Ok(Ran::all(0));
        }
        let taken = self.take.take(&self.inputs[input].peek(count), &self.bell).map_err(Fault::Sink)?;
        Ok(match taken {
            Taken::All => Ran::all(count),
            Taken::Some { taken, until } => Ran { done: taken, stop: Stop::Outside(until) },
        })
    }

    fn is_seamless(&self) -> bool {
        self.seamless
    }

    fn can_span(&self) -> bool {
        // A run over boundaries cannot end in the middle.
        !self.take.may_wait()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.finished = true;
        self.take.finish().map_err(Fault::Sink)
    }
}

impl<T> Drop for SinkEnd<T> {
    fn drop(&mut self) {
        // The run did not come to its end: what was taken stays, and the error is known already.
        if !self.finished {
            quietly(|| drop(self.take.finish()));
        }
    }
}
