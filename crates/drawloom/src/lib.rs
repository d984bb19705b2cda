//! Programs that are graphs of tasks over shared data.
#![forbid(unsafe_code)]

pub use drawloom_graph as graph;
