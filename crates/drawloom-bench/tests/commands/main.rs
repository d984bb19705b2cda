//! The commands of `drawloom-bench`.

mod measure;
mod models;
#[path = "../../../drawloom-cli/tests/support/mod.rs"]
mod support;

/// The program that is tested.
const PROGRAM: &str = env!("CARGO_BIN_EXE_drawloom-bench");
