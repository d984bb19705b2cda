//! Time, processor time and memory of a piece of work.
//!
//! On a machine shared with others, elapsed time says little and processor time says more; both are measured. Processor
//! time and memory come from Linux's `/proc`; elsewhere they are absent.

use std::fs;
use std::time::Instant;

/// What a piece of work took.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Elapsed seconds.
    pub seconds: f64,
    /// Seconds on a processor.
    pub cpu_seconds: Option<f64>,
}

/// Measures a piece of work, the best of several runs by processor time (by elapsed time where that is unknown).
pub fn best_of<T>(repeat: u64, mut work: impl FnMut() -> T) -> (Spent, T) {
    let mut best: Option<Spent> = None;
    let mut result = None;
    for _ in 0..repeat.max(1) {
        // The previous result is dropped before the clock starts.
        drop(result.take());
        let (cpu, start) = (cpu_seconds(), Instant::now());
        let value = work();
        let spent = Spent {
            seconds: start.elapsed().as_secs_f64(),
            cpu_seconds: cpu.and_then(|before| Some(cpu_seconds()? - before)),
        };
        let key = |s: &Spent| s.cpu_seconds.unwrap_or(s.seconds);
        if best.is_none_or(|b| key(&spent) < key(&b)) {
            best = Some(spent);
        }
        result = Some(value);
    }
    (best.expect("at least one run"), result.expect("at least one run"))
}

/// Processor time of this thread: it does all the measured work.
fn cpu_seconds() -> Option<f64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Forgets the peak of memory so far.
pub fn reset_peak() {
    // Where this is refused the peak stays, and the figure is too high rather than too low.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Memory held now, and its peak since the last reset, in bytes.
pub fn memory() -> Option<(u64, u64)> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|l| l.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}

/// Memory that can still be had without disturbing others, in bytes.
pub fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Processor time of all threads of this process that are still there, in seconds.
pub fn process_cpu_seconds() -> Option<f64> {
    let mut nanoseconds = 0.0;
    for thread in fs::read_dir("/proc/self/task").ok()? {
        // A thread may end between the listing and the look.
        let Ok(text) = fs::read_to_string(thread.ok()?.path().join("schedstat")) else { continue };
        nanoseconds += text.split_whitespace().next()?.parse::<f64>().ok()?;
    }
    Some(nanoseconds / 1e9)
}
