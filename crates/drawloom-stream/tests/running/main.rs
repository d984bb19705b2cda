//! Sources that make streams wait, heavy items, orders among workers, waits inside of nodes, and runs that fail.

#[path = "../common/mod.rs"]
mod common;

mod dropped;
mod failing;
mod heavy;
mod nested;
mod order;
mod pulled;
mod reader;
mod sources;
mod waits;
mod wished;

use common::{in_time, loom, munge};
