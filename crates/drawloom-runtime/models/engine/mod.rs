//! Whole engines with two or three workers, which run small programs under shuttle.
//!
//! Every lock, atomic, thread and thread's own variable of the engine is shuttle's here, so a schedule decides everything.
//! There is no time: a wake-up that is lost is a deadlock, which shuttle reports, and a wait that gives up although it could
//! go on returns an error, at which a model fails. The bodies of tasks let others run in the middle of what they do, so that
//! two which overlap and must not are found out by what they leave behind.
//!
//! | file | concept |
//! |---|---|
//! | `programs` | tasks on data: orders, children, guards, futures, failures, plans, the end |
//! | `changes` | contexts that change while tasks run |
//! | `teams` | tasks that several workers run |

mod changes;
mod programs;
mod teams;

use super::check_schedules;
use crate::Loom;
use crate::sync::thread;

/// Checks a program. Schedules of whole engines take longer, so fewer of them are tried.
fn check(program: impl Fn() + Send + Sync + 'static) {
    check_schedules(2000, program);
}

fn loom(workers: usize) -> Loom {
    Loom::builder().workers(workers).build().unwrap()
}

/// Changes a number in a way that shows the order of changes, and whether another one came in between.
fn append(digits: &mut u64, digit: u64) {
    let before = *digits;
    thread::yield_now();
    *digits = before * 10 + digit;
}

/// Looks at a number twice. None when it was changed in between.
fn steady(number: &u64) -> Option<u64> {
    let before = *number;
    thread::yield_now();
    // Volatile: the compiler may not assume that what a shared reference leads to stays as it is, which is the question.
    #[allow(unsafe_code)]
    // SAFETY: the reference is valid for reads.
    let after = unsafe { std::ptr::from_ref(number).read_volatile() };
    (before == after).then_some(after)
}
