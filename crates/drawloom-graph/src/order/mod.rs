//! Ordering a checked graph: the required orders, a serial order, the launch list, the critical path.

mod explain;
mod launch;
mod profile;
mod serial;

pub use explain::Explanation;
pub use launch::{Launch, Parameter, Privilege};
pub use profile::Profile;
pub use serial::Order;
