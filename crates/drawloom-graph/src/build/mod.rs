//! Building a graph in program order.

mod builder;

pub use builder::{Access, Builder};
