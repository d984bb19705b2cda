//! The commands of `drawloom`, but for `drawloom run`.

mod check;
mod event;
mod explain;
mod fmt;
mod mesh;
mod model;
mod order;
mod program;
mod show;
mod stats;
#[path = "../support/mod.rs"]
mod support;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_drawloom");
