//! Building a graph in program order.
//!
//! | file | concept |
//! |---|---|
//! | [`builder`] | [`Builder`]: calls in, a valid graph out |
//! | `arguments` | which arguments of one call may overlap, and what is done about it |
//! | `live` | the current version of every region, and the Opens and Closes that keep them in order |
//! | `naming` | unique names for tasks and versions |

mod arguments;
pub mod builder;
mod live;
mod naming;

pub use builder::{Access, Builder};
