//! What nodes do with their items, each in one copy of a stream.
//!
//! | file | concept |
//! |---|---|
//! | this one | [`Body`]: what the machine asks of a node, whatever the types of its items |
//! | [`push`] | what the user's code pushes to |
//! | [`channels`] | the channels of a node, as a tuple of types |
//! | [`slice`] | the user's function over a slice of items |
//! | [`lanes`] | functions of one item, for which the loop is ours |
//! | [`fold`] | the elements of a parent become one item |
//! | [`sum`] | numbers of the elements of a parent are added up |
//! | [`expand`] | one item becomes any number of items, or the elements of a region |
//! | [`handled`] | nodes whose loop is ours, with handlers of the user's |
//! | [`fused`] | two nodes that run as one |
//! | [`whole`] | all nodes of a region run as one |
//! | [`ends`] | sources and sinks |

pub(crate) mod channels;
pub(crate) mod ends;
pub(crate) mod expand;
pub(crate) mod fold;
pub(crate) mod fused;
pub(crate) mod handled;
pub(crate) mod lanes;
pub(crate) mod push;
pub(crate) mod slice;
pub(crate) mod sum;
pub(crate) mod whole;

use std::any::Any;
use std::cell::{Cell, Ref};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::build::handle::Region;
use crate::error::Failure;
use crate::machine::parents::{AnyParents, Parents};
use crate::machine::pipe::AnyPipe;
use crate::machine::signal::{Marks, Signal, Values};
use crate::parameter::Parameters;
use crate::sink::Chunk;
use crate::sink::order::Turn;

/// A node in one copy of a stream: its code, its state, and its ends of edges.
pub(crate) trait Body {
    /// Consumes up to `count` items that wait at an edge; a source produces up to `count` items. Where boundaries of regions are among
    /// the items, it notes at each how many items it had pushed by then. It may stop in the middle of an item, and has noted the
    /// boundaries before it then.
    fn run(
        &mut self,
        input: usize,
        count: usize,
        chain: &mut Chain,
        marks: Option<&mut Marks<'_>>,
    ) -> Result<Ran, Fault>;

    /// Handles a signal: a boundary of the node's own region, or one of the user's. False when the node has nothing to say
    /// about it, so that it is forwarded.
    fn handle(&mut self, signal: &Signal, chain: &mut Chain) -> Result<bool, Fault> {
        let _ = (signal, chain);
        Ok(false)
    }

    /// Whether it has something to say about a boundary of a region that is not its innermost one.
    fn handles(&self, region: u32) -> bool {
        let _ = region;
        false
    }

    /// Whether it does not matter to it where vectors end, so that it can take several at once.
    fn is_seamless(&self) -> bool {
        false
    }

    /// Whether it takes several vectors at once in a run over boundaries: it cuts them into vectors itself. Where there are no boundaries
    /// it takes several in a step, one run after the other.
    fn cuts(&self) -> bool {
        false
    }

    /// Whether there may be boundaries of regions among the items of a run: it does not look at parents, or finds them itself.
    fn can_span(&self) -> bool {
        false
    }

    /// The head of a region pours elements of some of the items that wait at an edge into its channel, which has so much room, and
    /// notes behind how many elements each item ends. Says how many items have ended. It goes on with the next one, or in the
    /// middle of it, when it is asked again.
    fn pour(&mut self, input: usize, items: Range<usize>, room: usize, ends: &mut [u32]) -> usize {
        let _ = (input, room, ends);
        items.len()
    }

    /// A source takes back up to `count` of the last items that nobody has consumed yet, for others. Says how many, if others can
    /// have something now.
    fn give_back(&mut self, count: usize) -> Option<usize> {
        let _ = count;
        None
    }

    /// How many items a source has left for all copies, besides those that it gave; none if that is not known.
    fn left(&self) -> Option<u64> {
        None
    }

    /// Whether a source can give items that another copy took back.
    fn has_returned(&self) -> bool {
        false
    }

    /// How long what a live source gave may be under way.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// All that came of the chunk that a source gave is where it belongs.
    fn complete(&mut self) {}

    /// The run came to its end. A run that fails or is cancelled does not, and whoever has something to hand in or to clean up
    /// does so when it is dropped.
    fn finish(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Runs code of the user after a run that did not come to its end: what goes wrong in it does not hide why.
pub(crate) fn quietly(code: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(code)) {
        // To drop it might panic again.
        std::mem::forget(panic);
    }
}

/// What a node did in a run.
pub(crate) struct Ran {
    /// How many items are done with, or were produced by a source.
    pub(crate) done: usize,
    pub(crate) stop: Stop,
}

impl Ran {
    /// It did all that it was offered.
    pub(crate) fn all(count: usize) -> Self {
        Self { done: count, stop: Stop::Done }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// Everything that was offered is done.
    Done,
    /// A channel has no room, in the middle of an item.
    Full,
    /// The storage of parents has no place.
    Parents,
    /// The source has no more items.
    Exhausted,
    /// The source has no items now, and wants those that it gave to be seen to.
    Idle,
    /// The source has given a whole chunk, and gives no more until all that comes of it is where it belongs.
    Whole,
    /// Somebody outside of the stream has to do something first. The bell rings then; or it is to be tried again at a time.
    Outside(Option<Instant>),
}

/// What the user's code did wrong. The machine adds names.
#[derive(Debug)]
pub(crate) enum Fault {
    /// More items were pushed to a channel than may be, in a run or at a signal.
    Items { channel: usize, most: usize },
    /// More items were pushed to a channel than may be for one item.
    Each { channel: usize, most: usize },
    /// More items were pushed to a channel than its loop may have.
    Loop { channel: usize },
    /// An item was pushed to a channel inside of a region of which no parent is under way.
    Orphan { channel: usize },
    /// More signals were raised on a channel than may be.
    Signals { channel: usize, most: usize },
    /// A signal was raised on all channels, and all of them lead back.
    Nowhere,
    /// A signal ended in the loop in which it was raised.
    Unseen,
    /// The node failed.
    Node(Failure),
    /// The source failed.
    Source(Failure),
    /// The sink failed.
    Sink(Failure),
}

/// Makes the body of a node, for each copy of a stream.
pub(crate) type Factory = Arc<dyn Fn(&Wires) -> Box<dyn Body> + Send + Sync>;

/// What a body is connected to.
pub(crate) struct Wires {
    pub(crate) inputs: Vec<Rc<dyn AnyPipe>>,
    pub(crate) outputs: Vec<Wire>,
    pub(crate) parents: Rc<[Rc<dyn AnyParents>]>,
    /// How many signals may be raised in a run, and for a signal.
    pub(crate) signals: (usize, usize),
    /// How many items the node sees at once, at most.
    pub(crate) width: usize,
    /// The number of the chunk of the source that is worked on.
    pub(crate) chunk: Chunk,
    /// Whose turn it is to deliver, where several workers keep an order.
    pub(crate) turn: Option<Arc<Turn>>,
    /// What rings when somebody outside of the stream has done something for it.
    pub(crate) bell: Arc<Bell>,
    /// What all copies of this node share in one run.
    pub(crate) shared: Option<Arc<dyn Any + Send + Sync>>,
    /// The values of the stream's parameters in this run.
    pub(crate) parameters: Parameters,
}

/// A channel's end of an edge.
pub(crate) struct Wire {
    pub(crate) pipe: Rc<dyn AnyPipe>,
    /// Where the values of signals are kept.
    pub(crate) values: Rc<Values>,
    /// How many items may be pushed for each input, and at a signal.
    pub(crate) most: usize,
    pub(crate) at_signal: usize,
    /// How many regions are around its items.
    pub(crate) depth: usize,
    /// Whether the edge leads back in a loop, and to the very same node.
    pub(crate) back: bool,
    pub(crate) own: bool,
}

/// The regions around a node, the outermost first, with the parents whose items it sees.
pub(crate) struct Chain {
    pub(crate) regions: Vec<(u32, Option<u32>)>,
    pub(crate) parents: Rc<[Rc<dyn AnyParents>]>,
    /// The names of the nodes that enumerate, for messages.
    pub(crate) heads: Rc<[String]>,
    pub(crate) stream: u64,
    /// Whether time is measured, and how many nanoseconds of the last call were spent on pushing.
    pub(crate) timed: bool,
    pub(crate) pushing: Cell<u64>,
}

impl Chain {
    /// Another one like it, for nodes that do not look at parents.
    pub(crate) fn like(&self) -> Self {
        let (parents, heads, pushing) = (Rc::clone(&self.parents), Rc::clone(&self.heads), Cell::new(0));
        Self { regions: Vec::new(), parents, heads, stream: self.stream, timed: self.timed, pushing }
    }

    /// The node sees another parent of a region from now on, or none.
    pub(crate) fn see(&mut self, region: u32, parent: Option<u32>) {
        for (own, place) in &mut self.regions {
            if *own == region {
                *place = parent;
            }
        }
    }

    /// Of how many regions a parent is under way, from the outermost one.
    pub(crate) fn depth(&self) -> usize {
        self.regions.iter().take_while(|(_, parent)| parent.is_some()).count()
    }

    /// The parent of a region whose items the node sees now.
    pub(crate) fn parent<P: 'static>(&self, region: Region<P>) -> Option<Ref<'_, P>> {
        if region.stream != self.stream {
            return None;
        }
        let (_, place) = self.regions.iter().find(|(id, _)| *id == region.region)?;
        let parents: &Parents<P> = self.parents[region.region as usize].as_any().downcast_ref()?;
        parents.get((*place)?)
    }

    /// Why the node sees no parent of a region.
    pub(crate) fn why_no_parent<P>(&self, region: Region<P>) -> String {
        if region.stream != self.stream {
            return "a region of another stream has no parents here".to_owned();
        }
        let head = &self.heads[region.region as usize];
        match self.regions.iter().any(|(id, _)| *id == region.region) {
            true => format!("no parent of the region of node `{head}` is under way"),
            false => format!("the parents of the region of node `{head}` are seen by nodes inside of it only"),
        }
    }
}
