//! What all test programs of streams use.

use std::sync::mpsc;
use std::time::Duration;

use drawloom_runtime::Loom;

/// An engine with so many workers.
pub(crate) fn loom(workers: usize) -> Loom {
    Loom::builder().workers(workers).build().unwrap()
}

/// Does something that must not wait for ever.
pub(crate) fn in_time<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
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
pub(crate) fn munge(key: u32) -> u32 {
    let mut k = (key << 15).wrapping_sub(key).wrapping_sub(1);
    k ^= k >> 12;
    k = k.wrapping_add(k << 2);
    k ^= k >> 4;
    k = k.wrapping_mul(2057);
    k ^ (k >> 16)
}
