//! Streams that cannot run are refused, and those that do keep within their memory.

#[path = "../common/mod.rs"]
mod common;

mod allocations;
mod budget;
mod defects;
mod refused;
mod wrong;

use common::{in_time, loom, munge};

/// So that a test can count what its thread asks for.
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;
