//! What the proofs share: generators, oracles, and the meaning of a graph.
//!
//! | file | concept |
//! |---|---|
//! | `meaning` | the values a graph leaves in memory, to compare graphs that should mean the same |
//! | `random` | worlds of regions, graphs and programs from a seed |

// Each test binary includes this folder and uses a part of it.
#![allow(dead_code)]

pub(crate) mod meaning;
pub(crate) mod random;
