//! Checkpoints: what is read is what was written, and a program that goes on from one ends as if it had not been stopped.

mod files;
mod restart;
