//! The commands of `drawloom`, but for `drawloom run`.

mod check;
mod event;
mod explain;
mod fmt;
mod measure;
mod mesh;
mod model;
mod order;
mod program;
mod show;
mod stats;
#[path = "../support/mod.rs"]
mod support;
