//! Streams give what a direct interpreter gives, in as few runs as can be, and say what is wrong with those that cannot run.

mod allocations;
mod budget;
mod counts;
mod defects;
mod dropped;
mod ends;
mod failing;
mod fused;
mod handlers;
mod heavy;
mod interpret;
mod joins;
mod loops;
mod nested;
mod order;
mod parameters;
mod pulled;
mod random;
mod reader;
mod refused;
mod regions;
mod rounds;
mod seeing;
mod sources;
mod waits;
mod wished;
mod workers;
mod wrong;

use std::sync::mpsc;
use std::time::Duration;

use drawloom_runtime::Loom;

/// So that a test can count what its thread asks for.
#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// An engine with so many workers.
fn loom(workers: usize) -> Loom {
    Loom::builder().workers(workers).build().unwrap()
}

/// Does something that must not wait for ever.
fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let done = done;
        let value = what();
        _ = done.send(value);
    });
    match is_done.recv_timeout(Duration::from_secs(20)) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it waits for ever"),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().err().unwrap()),
    }
}

/// A hash that mixes all bits.
fn munge(key: u32) -> u32 {
    let mut k = (key << 15).wrapping_sub(key).wrapping_sub(1);
    k ^= k >> 12;
    k = k.wrapping_add(k << 2);
    k ^= k >> 4;
    k = k.wrapping_mul(2057);
    k ^ (k >> 16)
}
