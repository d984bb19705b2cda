//! Ordering a checked graph: the required orders, a serial order, the launch list, the critical path.
//!
//! | file | concept |
//! |---|---|
//! | [`serial`] | the serial order, and the graph with its derived orders added |
//! | `required` | the orders beyond dataflow, as a short list |
//! | `timeline` | later mutations by group, earliest first |
//! | [`explain`] | why one node must precede another |
//! | [`launch`] | the parameters of each task, with privileges |
//! | [`profile`] | work, critical path, width |

pub mod explain;
pub mod launch;
pub mod profile;
mod required;
pub mod serial;
mod timeline;

pub use explain::Explanation;
pub use launch::{Launch, Parameter, Privilege};
pub use profile::Profile;
pub use serial::Order;
