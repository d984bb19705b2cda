//! Models of the protocols, for the model checkers.
//!
//! The models of single pieces run under loom, which tries all interleavings and reorderings of small ones, and under
//! shuttle, which tries many random schedules of larger ones. Whole engines run under shuttle only. Each test has the name
//! of the guarantee that it checks; the guarantees are listed in `worker/README.md`.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" LOOM_MAX_PREEMPTIONS=3 cargo test --release --lib -p drawloom-runtime models
//! cargo test --release --lib -p drawloom-runtime --features shuttle models
//! DRAWLOOM_SCHEDULES=1000000 DRAWLOOM_SEED=7 cargo test --release --lib -p drawloom-runtime --features shuttle models
//! ```
//!
//! `DRAWLOOM_SCHEDULES` sets how many schedules shuttle tries of each model, and `DRAWLOOM_SEED` which ones.
//!
//! | file | concept |
//! |---|---|
//! | `operations` | scheduling operations and changes: the word of one worker |
//! | `joining` | teams and those who look at them: the word of one worker |
//! | `parking` | who looks for work, who sleeps, who is woken |
//! | `meeting` | the barrier of a team, and waiting for a task |
//! | `engine` | whole engines that run small programs |

#[cfg(not(loom))]
mod engine;
mod joining;
mod meeting;
mod operations;
mod parking;

use crate::sync::atomic::Ordering;
use crate::sync::thread;

/// How many threads there are of a kind beyond the first, and how often they do what they do.
const MORE: usize = if cfg!(loom) { 1 } else { 3 };

/// Checks a model of one piece.
#[cfg(loom)]
fn check(model: impl Fn() + Send + Sync + 'static) {
    loom::model(model);
}

/// Checks a model of one piece.
#[cfg(not(loom))]
fn check(model: impl Fn() + Send + Sync + 'static) {
    check_schedules(3000, model);
}

/// Checks a model under a number of schedules: half of them by lot, and half in which threads are rarely interrupted, so that
/// one may stand at any point for long.
#[cfg(not(loom))]
fn check_schedules(usual: usize, model: impl Fn() + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler};
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let count = number("DRAWLOOM_SCHEDULES").map_or(usual, |n| n as usize);
    let seed = number("DRAWLOOM_SEED").unwrap_or(1);
    let mut config = shuttle::Config::new();
    // Each thread of an engine runs the bodies of tasks, and those of their children.
    config.stack_size = 1 << 18;
    let model = std::sync::Arc::new(model);
    let again = std::sync::Arc::clone(&model);
    let rarely = count / 2;
    shuttle::Runner::new(RandomScheduler::new_from_seed(seed, count - rarely), config.clone()).run(move || model());
    if rarely > 0 {
        shuttle::Runner::new(PctScheduler::new_from_seed(seed, 4, rarely), config).run(move || again());
    }
}

/// Starts a thread of a model.
fn spawn(f: impl FnOnce() + Send + 'static) -> thread::JoinHandle<()> {
    thread::spawn(f)
}

/// Something that only one thread may use at a time: the checker says so when two do.
#[derive(Default)]
struct Exclusive {
    #[cfg(loom)]
    cell: loom::cell::UnsafeCell<u32>,
    users: std::sync::atomic::AtomicUsize,
}

// SAFETY: that the cell is used by one thread at a time is what the models check; loom reports it if not.
#[allow(unsafe_code)]
unsafe impl Sync for Exclusive {}

impl Exclusive {
    fn using(&self, meanwhile: impl FnOnce()) {
        assert_eq!(self.users.fetch_add(1, Ordering::SeqCst), 0, "two threads at once");
        #[cfg(loom)]
        self.cell.with_mut(|_| meanwhile());
        #[cfg(not(loom))]
        meanwhile();
        self.users.fetch_sub(1, Ordering::SeqCst);
    }
}
