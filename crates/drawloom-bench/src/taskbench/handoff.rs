//! How long news takes from one core to another.
//!
//! Where each step of a graph needs what another core did in the step before, no runtime is faster than that. It differs from
//! machine to machine, and on a virtual machine from minute to minute, so a METG says little without it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A pair of flags is passed to and fro so often, and so often in a row; the fastest row counts.
const ROUNDS: u32 = 1000;
const ROWS: u32 = 20;

/// After so many looks a thread lets another one run: both may be on one core for a moment.
const LOOKS: u32 = 10_000;

/// A flag that has a cache line to itself.
#[repr(align(128))]
#[derive(Default)]
struct Flag(AtomicU32);

impl Flag {
    fn wait_for(&self, round: u32) {
        let mut looks = 0_u32;
        // Acquire and release: as data that goes with the news would need it.
        while self.0.load(Ordering::Acquire) != round {
            looks += 1;
            match looks.is_multiple_of(LOOKS) {
                true => thread::yield_now(),
                false => std::hint::spin_loop(),
            }
        }
    }

    fn say(&self, round: u32) {
        self.0.store(round, Ordering::Release);
    }
}

/// How long it takes until one core sees what another one has written, at best; nothing where there is one core.
pub fn handoff() -> Option<Duration> {
    if thread::available_parallelism().map_or(1, usize::from) < 2 {
        return None;
    }
    let (there, back) = (Flag::default(), Flag::default());
    let rows = || (0..ROWS).map(|row| row * ROUNDS + 1..=(row + 1) * ROUNDS);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in rows().flatten() {
                there.wait_for(round);
                back.say(round);
            }
        });
        let times = rows().map(|row| {
            let start = Instant::now();
            for round in row {
                there.say(round);
                back.wait_for(round);
            }
            start.elapsed() / (2 * ROUNDS)
        });
        times.min()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_takes_some_time_where_there_are_two_cores() {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(handoff().is_some_and(|time| time > Duration::ZERO), cores > 1);
    }
}
