//! Times that cost little to read.
//!
//! A recording reads the time three times for each task, so the time is the processor's own counter where that can be trusted,
//! read by two instructions, and the system's monotonic clock elsewhere. Ticks are turned into nanoseconds when a recording
//! is collected: by then, two moments are known in both clocks, and everything else lies between them.

#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::time::Instant;

/// Where ticks come from.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    /// The system's time when the clock was made; ticks are nanoseconds since then, unless the counter is used.
    origin: Instant,
    /// What the counter had at that time, where it is used.
    counter: Option<u64>,
}

/// One moment in both clocks.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    ticks: u64,
    nanoseconds: u64,
}

impl Clock {
    /// The clock of this process.
    pub(crate) fn get() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| {
            let counter = counter_is_trusted().then(read_counter);
            Self { origin: Instant::now(), counter }
        })
    }

    /// Ticks since the clock was made. What the calling thread did and saw before this call happened before it; a time
    /// read by another thread after that is not smaller.
    #[inline]
    pub(crate) fn now(self) -> u64 {
        match self.counter {
            Some(first) => read_counter().wrapping_sub(first),
            None => self.nanoseconds(),
        }
    }

    /// As `now`, but what the thread did and saw just before may come after it: the counter may be read a little early. What
    /// the thread shows to others after this call is still later. Costs half as much, or nothing where the processor has
    /// something else to wait for.
    #[inline]
    pub(crate) fn now_nearly(self) -> u64 {
        match self.counter {
            Some(first) => read_counter_early().wrapping_sub(first),
            None => self.nanoseconds(),
        }
    }

    /// This moment in both clocks.
    pub(crate) fn moment(self) -> Moment {
        match self.counter {
            Some(_) => {
                // The time between the two calls is an error of all times; of several tries the shortest counts.
                let tries = (0..4).map(|_| {
                    let before = self.now();
                    let nanoseconds = self.nanoseconds();
                    let after = self.now();
                    (after.saturating_sub(before), Moment { ticks: before, nanoseconds })
                });
                tries.min_by_key(|(width, _)| *width).expect("there are four tries").1
            }
            None => {
                let ticks = self.now();
                Moment { ticks, nanoseconds: ticks }
            }
        }
    }

    fn nanoseconds(self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// Nanoseconds from ticks, by two moments.
pub(crate) struct Scale {
    began: Moment,
    now: Moment,
}

impl Scale {
    pub(crate) fn new(began: Moment, now: Moment) -> Self {
        Self { began, now }
    }

    /// Nanoseconds from the first moment to some ticks; zero for what was before.
    pub(crate) fn since_began(&self, ticks: u64) -> u64 {
        let ticks = ticks.saturating_sub(self.began.ticks);
        let all_ticks = self.now.ticks.saturating_sub(self.began.ticks);
        let all_nanoseconds = self.now.nanoseconds.saturating_sub(self.began.nanoseconds);
        if all_ticks == all_nanoseconds || all_ticks == 0 {
            return ticks;
        }
        let scaled = u128::from(ticks) * u128::from(all_nanoseconds) / u128::from(all_ticks);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

/// Whether the processor's counter runs at one rate on all processors alike. The system knows, after tests of its own: it
/// makes the counter its clock only then.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(any(miri, loom, feature = "shuttle"))))]
fn counter_is_trusted() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| name.trim() == "tsc")
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(any(miri, loom, feature = "shuttle")))))]
fn counter_is_trusted() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter() -> u64 {
    // SAFETY: both instructions exist on every processor of this architecture, and touch no memory. A system that forbids
    // the second one to programs does not use the counter as its clock for them either, and this is not called.
    unsafe {
        // Without the fence, the counter might be read before what the thread waited for has happened.
        std::arch::x86_64::_mm_lfence();
        std::arch::x86_64::_rdtsc()
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn read_counter_early() -> u64 {
    // SAFETY: as in `read_counter`.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn read_counter() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn read_counter_early() -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds_between_two_moments() {
        let scale = Scale::new(Moment { ticks: 100, nanoseconds: 5000 }, Moment { ticks: 300, nanoseconds: 5050 });
        assert_eq!([0, 100, 104, 300, 500].map(|ticks| scale.since_began(ticks)), [0, 0, 1, 50, 100]);
        let same = Scale::new(Moment { ticks: 7, nanoseconds: 7 }, Moment { ticks: 7, nanoseconds: 7 });
        assert_eq!([0, 7, 9].map(|ticks| same.since_began(ticks)), [0, 0, 2]);
        let far = Scale::new(Moment { ticks: 0, nanoseconds: 0 }, Moment { ticks: 1, nanoseconds: u64::MAX });
        assert_eq!(far.since_began(u64::MAX), u64::MAX);
    }

    #[test]
    fn time_does_not_go_back_on_either_clock_or_between_threads() {
        for clock in [Clock::get(), Clock { origin: Instant::now(), counter: None }] {
            let mut last = 0;
            for _ in 0..1000 {
                let now = std::thread::scope(|scope| {
                    let here = clock.now();
                    assert!(here >= last);
                    let there = scope.spawn(move || clock.now()).join().unwrap();
                    assert!(there >= here);
                    there
                });
                last = now;
            }
        }
    }
}
