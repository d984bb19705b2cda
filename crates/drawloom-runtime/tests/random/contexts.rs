//! Contexts of random programs: they are made, resized, emptied and deleted while tasks run in them.
//!
//! A wait for a task ends only if some worker can take it. So whoever changes contexts gives each of them at least one
//! worker before letting go of the lock that is taken here, except for [`Contexts::empty`], whose effect lasts until the
//! stream waits for something.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use drawloom_runtime::{Context, Error, ErrorKind, Loom, WorkerId};

use crate::program::{ContextOf, Program};

/// The contexts of one run.
pub(crate) struct Contexts {
    loom: Loom,
    described: Vec<ContextOf>,
    list: Vec<Context>,
    changing: Mutex<()>,
}

impl Contexts {
    pub(crate) fn new(loom: &Loom, described: &[ContextOf]) -> Self {
        let mut list: Vec<Context> = Vec::new();
        for (number, context) in described.iter().enumerate() {
            let name = format!("c{number}");
            let builder = match context.around {
                Some(around) => list[around].context(name),
                None => loom.context(name),
            };
            let within = context.around.map_or_else(|| loom.worker_ids(), |around| list[around].workers().unwrap());
            list.push(builder.workers(masked(&within, context.mask)).policy(context.policy).create().unwrap());
        }
        Self { loom: loom.clone(), described: described.to_vec(), list, changing: Mutex::default() }
    }

    pub(crate) fn get(&self, number: usize) -> &Context {
        &self.list[number]
    }

    /// Keeps every context as it is, with at least one worker. The serial engine has none, and would run tasks meanwhile.
    pub(crate) fn hold(&self) -> Option<MutexGuard<'_, ()>> {
        (self.loom.workers() > 0).then(|| {
            let held = self.changing.lock().unwrap();
            self.fill();
            held
        })
    }

    /// Gives a context other workers.
    pub(crate) fn resize(&self, number: usize, mask: u64) {
        let _held = self.changing.lock().unwrap();
        let within = match self.described[number].around.map(|around| self.list[around].workers()) {
            Some(Ok(workers)) => workers,
            _ => self.loom.worker_ids(),
        };
        allow_gone(self.list[number].resize(masked(&within, mask)));
        self.fill();
    }

    /// Takes all workers away from a context.
    pub(crate) fn empty(&self, number: usize) {
        let _held = self.changing.lock().unwrap();
        allow_gone(self.list[number].resize([]));
    }

    pub(crate) fn delete(&self, number: usize) {
        let _held = self.changing.lock().unwrap();
        self.list[number].delete().unwrap();
        self.fill();
    }

    /// Gives each context without workers some, from the outermost inwards.
    fn fill(&self) {
        if self.loom.workers() == 0 {
            return;
        }
        for (number, context) in self.list.iter().enumerate() {
            if !context.workers().is_ok_and(|workers| workers.is_empty()) {
                continue;
            }
            let mut around = self.described[number].around;
            let mut filled = context.resize(self.loom.worker_ids());
            while let (Err(_), Some(outer)) = (&filled, around) {
                filled = self.list[outer].workers().and_then(|workers| context.resize(workers));
                around = self.described[outer].around;
            }
            filled.unwrap();
        }
    }

    /// Deletes what is left.
    pub(crate) fn clear(&self) {
        let _held = self.changing.lock().unwrap();
        for context in &self.list {
            allow_gone(context.delete());
        }
    }

    /// Cancels the tasks of a context, or all tasks, now and then until it is told to stop.
    pub(crate) fn cancel(&self, context: Option<usize>, seed: u64, stop: &AtomicBool) {
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..rng.usize(1..=3) {
            // Not always at the very beginning; how far the tasks are by then does not matter.
            for _ in 0..rng.usize(..20) {
                std::thread::yield_now();
            }
            if stop.load(Ordering::Relaxed) {
                break;
            }
            match context {
                None => self.loom.cancel(),
                Some(context) => allow_gone(self.list[context].cancel()),
            }
        }
    }

    /// Changes contexts at random until it is told to stop.
    pub(crate) fn disturb(&self, program: &Program, seed: u64, stop: &AtomicBool) {
        let all = self.loom.worker_ids();
        let mut rng = fastrand::Rng::with_seed(seed);
        // A team task is refused when its context has too few workers just then.
        let keep_main = program.needs_workers();
        for step in 0..MOST_CHANGES {
            if stop.load(Ordering::Relaxed) || all.is_empty() {
                break;
            }
            let mask = rng.u64(..);
            match rng.u32(..8) {
                0 => {
                    let _held = self.changing.lock().unwrap();
                    let own = self.loom.context(format!("own {step}")).workers(masked(&all, mask)).create().unwrap();
                    let inner = own.context("inner").create().unwrap();
                    own.resize(masked(&all, rng.u64(..))).unwrap();
                    own.delete().unwrap();
                    inner.delete().unwrap();
                }
                1 if !keep_main => self.loom.main_context().resize(masked(&all, mask)).unwrap(),
                2 => {
                    // Whether it is blocked depends on the moment; asking must do no harm.
                    let _ = self.loom.is_blocked_in_team(all[rng.usize(..all.len())]).unwrap();
                }
                3 if !self.list.is_empty() => {
                    let number = rng.usize(..self.list.len());
                    let _held = self.changing.lock().unwrap();
                    allow_gone(self.list[number].resize([]));
                    self.fill();
                }
                _ if self.list.is_empty() => {}
                _ => self.resize(rng.usize(..self.list.len()), mask),
            }
            std::thread::yield_now();
        }
        self.loom.main_context().resize(all).unwrap();
    }
}

/// How often contexts are changed by the one who disturbs, at most: changes must not take all the time.
pub(crate) const MOST_CHANGES: usize = 25;

/// The workers whose numbers are set in a mask, or the first one.
pub(crate) fn masked(workers: &[WorkerId], mask: u64) -> Vec<WorkerId> {
    let chosen: Vec<WorkerId> = workers.iter().copied().filter(|w| mask >> (w.index() % 64) & 1 == 1).collect();
    if chosen.is_empty() { workers.iter().copied().take(1).collect() } else { chosen }
}

/// A context may have been deleted by its stream.
fn allow_gone(result: Result<(), Error>) {
    if let Err(error) = result {
        assert_eq!(error.kind(), ErrorKind::Context, "{error}");
    }
}
