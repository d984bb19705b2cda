//! Streams give what a direct interpreter gives, in as few runs as can be.

#[path = "../common/mod.rs"]
mod common;

mod counts;
mod ends;
mod fused;
mod handlers;
mod interpret;
mod joins;
mod loops;
mod parameters;
mod random;
mod regions;
mod rounds;
mod seeing;
mod workers;

use common::{in_time, loom, munge};
