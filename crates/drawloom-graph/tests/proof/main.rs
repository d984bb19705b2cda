//! Random graphs and programs against brute force.

mod builder;
mod determinism;
mod meaning;
mod oracle;
mod regions;
#[path = "../support/mod.rs"]
mod support;
