//! Rules, passes, witnesses and sentences, on small graphs and random ones.

mod check_examples;
mod dot;
mod index_sets;
mod pass_cases;
mod pass_random;
mod pass_summary;
mod rules;
mod sentence;
#[path = "../support/mod.rs"]
mod support;
mod witness;
