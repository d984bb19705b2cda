//! Checkpoints: what is read is what was written, and a program that goes on from one ends as if it had not been stopped.

mod files;
/// Generated meshes; the crate of the applications, which have them, depends on this one.
#[path = "../../../../apps/src/naca/mod.rs"]
#[allow(dead_code, missing_docs, unreachable_pub)]
mod naca;
mod restart;
