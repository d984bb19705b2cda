//! Rules, passes, witnesses and drawings, on small graphs and random ones.

mod check_examples;
mod drawing;
mod pass_cases;
mod pass_outline;
mod pass_random;
mod pass_summary;
mod rules;
#[path = "../support/mod.rs"]
mod support;
mod witness;
