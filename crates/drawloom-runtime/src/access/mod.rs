//! What a task declares about the data it touches, and the borrow that its body receives for it.
//!
//! | file | concept |
//! |---|---|
//! | [`arg`] | one argument of a task: a piece and a mode, in one word |
//! | [`kinds`] | the types that stand for accesses in the builder, each with the view it gives |
//! | [`frame`] | what a body runs in: its arguments, resolved to addresses |
//! | [`parameter`] | what parameters of a body need beyond arguments: lengths of lists, and values |
//! | [`operator`] | operators of reductions |
//! | [`reduction`] | private contributions, and the order in which they are folded |

#![allow(unsafe_code)]

mod arg;
pub(crate) mod frame;

mod kinds;
mod operator;
pub(crate) mod parameter;
pub(crate) mod reduction;

pub(crate) use arg::{Arg, Mode};
pub use frame::{Frame, Scratchpad};
pub use kinds::{
    Access, ByValue, Commute, Lend, Lent, Read, ReadAll, Reduce, Scratch, Update, UpdateAll, Views, ViewsMut, Write,
};
pub use operator::{Max, Min, Operator, Product, Sum};
pub use reduction::fold_pairwise;
