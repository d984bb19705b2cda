//! What the proofs share: generators, oracles, and the meaning of a graph.
//!
//! | file | concept |
//! |---|---|
//! | `confirm` | confirms a diagnostic from first principles, in 80 lines |
//! | `meaning` | the values a graph leaves in memory, to compare graphs that should mean the same |
//! | `oracle` | brute force: the rules over all pairs, and every order of the tasks in a toy memory |
//! | `proof` | everything that is compared, for one graph |
//! | `random` | worlds of regions, graphs and programs from a seed |

// Each test binary includes this folder and uses a part of it.
#![allow(dead_code)]

pub(crate) mod confirm;
pub(crate) mod meaning;
pub(crate) mod oracle;
pub(crate) mod proof;
pub(crate) mod random;
