//! Executors in rounds: all waiting devices send, then all messages arrive.

use super::part::{Part, Stop};
use super::ring::Ring;
use crate::handlers::pins;

/// Runs until all is quiet: messages arrive in the order they were sent.
pub(crate) fn fifo(part: &mut Part) -> Result<(), Stop> {
    let (mut ring, mut turn) = (Ring::default(), Vec::new());
    loop {
        std::mem::swap(&mut part.waiting, &mut turn);
        for device in turn.drain(..) {
            part.turn(device, pins::first, &mut ring)?;
        }
        ring.drain(part)?;
        part.check_limit()?;
        if part.waiting.is_empty() && !part.quiet()? {
            return Ok(());
        }
    }
}

/// Runs until all is quiet: the newest of all comes first, devices, pins, messages and edges.
pub(crate) fn lifo(part: &mut Part) -> Result<(), Stop> {
    let (mut ring, mut turn, mut starts) = (Ring::default(), Vec::new(), Vec::new());
    loop {
        std::mem::swap(&mut part.waiting, &mut turn);
        for device in turn.drain(..).rev() {
            part.turn(device, pins::last, &mut ring)?;
        }
        ring.drain_newest(part, &mut starts)?;
        part.check_limit()?;
        if part.waiting.is_empty() && !part.quiet()? {
            return Ok(());
        }
    }
}
