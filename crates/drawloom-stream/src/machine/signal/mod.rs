//! Signals that travel with the items of an edge, and the credits that keep them in their place.
//!
//! A signal stands between two items. It is kept beside the queue of items, with its place: how many items of the edge come
//! before it, counted from the beginning of the run. The *credit* of the first signal is how many items must be consumed until
//! it is its turn: what is between its place and the items consumed so far. Places never go back, so the credits of an edge
//! never exceed its items.
//!
//! Parents come one after the other, so where one ends the next begins as a rule. Such a pair is one *boundary*. As long as an
//! edge has boundaries of one region only, they are [`Turns`]: the first says which parent ends there, and at each that follows
//! the next one does. So a boundary is one number, its place, and a node that does not look at parents passes many of them on
//! at once. Where there are other signals too, each place says what stands there.
//!
//! | file | concept |
//! |---|---|
//! | this one | what a signal says |
//! | [`turns`] | boundaries of one region that follow each other |
//! | [`marks`] | the boundaries among the items of a run |
//! | [`queue`] | the signals of one edge |
//! | [`value`] | the values of the user's signals |

mod marks;
mod queue;
mod turns;
mod value;

pub(crate) use self::marks::Marks;
pub(crate) use self::queue::{SIGNAL_BYTES, Signals};
pub(crate) use self::turns::Turns;
pub(crate) use self::value::{Value, Values, value_bytes};

/// What a signal says.
#[derive(Clone)]
pub(crate) enum Signal {
    /// The items after it belong to a parent of a region, which has this number among the region's parents.
    Begin { region: u32, parent: u32 },
    /// No more items belong to that parent.
    End { region: u32, parent: u32 },
    /// A signal of the user's, with a value.
    User { tag: u64, value: Value },
}

impl Signal {
    /// The region and parent of a boundary, and whether the parent begins.
    pub(crate) fn boundary(&self) -> Option<(u32, u32, bool)> {
        match *self {
            Signal::Begin { region, parent } => Some((region, parent, true)),
            Signal::End { region, parent } => Some((region, parent, false)),
            Signal::User { .. } => None,
        }
    }
}
