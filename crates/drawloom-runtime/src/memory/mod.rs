//! Memories, and where the elements of a region are.
//!
//! The memory of this process is node zero, and most runtimes have no other. A device may bring a memory of its own. Then a
//! region may have a *replicate* in several memories, each of which holds some of its elements properly. Before a task
//! starts on a worker, what it reads is made proper in the memory of that worker; what it changes is proper only there
//! afterwards.
//!
//! | file | concept |
//! |---|---|
//! | [`node`] | a memory: allocate, free, copy |
//! | [`replicate`] | the copies of one region, and which elements are proper where |
//! | [`validity`] | whether bytes that come from another memory are values |
//! | [`acquisition`] | the arguments of one task, on their way to a memory |

#![allow(unsafe_code)]

pub(crate) mod acquisition;
pub mod node;
pub(crate) mod replicate;
pub(crate) mod validity;

pub use node::{Address, CopyToken, Direction, Memory, MemoryId};
