//! All nodes of a region run as one, from its head to the node that folds the elements of each parent.
//!
//! No node of such a region looks at parents, so nobody has to keep them, and no boundary has to travel: the head says behind how
//! many elements each parent ends, and the others work on these segments. A parent of any length goes through piece by piece, so
//! there is no queue that could be full either.

use super::fused::Part;
use super::{Body, Chain, Fault, Ran, Stop};
use crate::machine::pace::Pace;
use crate::machine::signal::Marks;

/// After so many times the room for elements, the machine is asked whether something else is to be done.
const ROUNDS: usize = 16;

/// So many parents may end at a time, if there is room for what becomes of them.
pub(crate) const GROUP: usize = 4096;

/// The head of a region, and all nodes behind it.
pub(crate) struct Whole {
    pub(crate) head: Box<dyn Body>,
    pub(crate) inside: Part,
    pub(crate) region: u32,
    /// The regions around the nodes inside: nobody looks at their parents.
    pub(crate) chain: Chain,
    /// How many elements there is room for at a time.
    pub(crate) room: usize,
    /// How many elements are a vector, and how many vectors there are at a time while nobody is asked.
    pub(crate) width: usize,
    pub(crate) pace: Pace,
    /// Space for the places where parents end: for so many at a time as what becomes of them has room. And for what the nodes say
    /// of them.
    pub(crate) ends: Box<[u32]>,
    pub(crate) pushed: [Vec<u32>; 2],
}

impl Body for Whole {
    fn run(&mut self, input: usize, count: usize, _: &mut Chain, _: Option<&mut Marks<'_>>) -> Result<Ran, Fault> {
        let (mut done, mut filled) = (0, 0);
        while done < count {
            // Where elements are heavy there are less of them, and the machine is asked behind each time.
            let room = self.room.min(self.width.saturating_mul(self.pace.most()));
            if filled >= if room < self.room { room } else { self.room * ROUNDS } {
                // In the middle of a run: it goes on with the next step, unless something else is more urgent.
                return Ok(Ran { done, stop: Stop::Full });
            }
            let begun = self.pace.begin();
            let ended = self.head.pour(input, done..count, room, &mut self.ends);
            let (chain, pushed) = (&mut self.chain, &mut self.pushed);
            let mut marks = Marks::of_ends(self.region, &self.ends[..ended], pushed);
            let mut elements = 0;
            self.inside.pass(|body, made| {
                elements += made;
                body.run(0, made, chain, (ended > 0).then_some(&mut marks))
            })?;
            self.pace.end(begun, elements.div_ceil(self.width));
            filled += elements;
            done += ended;
        }
        Ok(Ran { done, stop: Stop::Done })
    }

    fn finish(&mut self) -> Result<(), Fault> {
        self.head.finish()?;
        self.inside.finish()
    }
}
