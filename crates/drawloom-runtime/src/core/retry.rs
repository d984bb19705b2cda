//! Trying a failed task again.
//!
//! Before the first attempt, what the body may change is copied; after a failed one it is put back. Only plain elements can
//! be copied, which was checked when the task was submitted.
//!
//! A failed attempt takes its children with it. The next one begins when they are complete, so that those of two attempts
//! never run at the same time, and whatever failed among them is dropped. Children of the last attempt are like those of any
//! other task.
//!
//! A team that fails is dissolved, and its task calls for another one, as if it had become ready again. What is copied stays with
//! the task meanwhile.

use std::mem::MaybeUninit;

use super::{Core, Local, Owned, SharedLocal};
use crate::access::{Arg, Mode};
use crate::data::region::for_each_run;
use crate::error::Error;
use crate::sync::atomic::Ordering;
use crate::task::record::flag;

/// The contents of the arguments that a body may change, as they were.
pub(crate) struct Saved(Vec<Vec<MaybeUninit<u8>>>);

/// The arguments that a body may change.
fn changed(args: &[Arg]) -> impl Iterator<Item = &Arg> {
    args.iter().filter(|a| a.mode().mutates() && a.mode() != Mode::Reduce)
}

impl Saved {
    /// Copies what a body may change. Allocates: retrying is asked for, and has its price.
    pub(super) fn save(args: &[Arg]) -> Self {
        Self(
            changed(args)
                .map(|arg| {
                    let (piece, tree) = (arg.piece(), arg.piece().tree());
                    let mut bytes = vec![MaybeUninit::uninit(); piece.indices.len() as usize * tree.element.size];
                    let mut at = 0;
                    for_each_run(piece, |start, len| {
                        let (start, len) = (start * tree.element.size, len * tree.element.size);
                        // SAFETY: runs lie within the region, to which the task that is about to run has exclusive
                        // access; the copy is as long as all runs together.
                        unsafe {
                            let from = tree.base().add(start).cast::<MaybeUninit<u8>>();
                            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr().add(at), len);
                        }
                        at += len;
                    });
                    bytes
                })
                .collect(),
        )
    }

    /// Puts back what was copied, into the same arguments.
    pub(super) fn restore(&self, args: &[Arg]) {
        for (arg, bytes) in changed(args).zip(&self.0) {
            let tree = arg.piece().tree();
            let mut at = 0;
            for_each_run(arg.piece(), |start, len| {
                let (start, len) = (start * tree.element.size, len * tree.element.size);
                // SAFETY: as in `save`; the body has returned, and elements are plain, so overwriting them drops nothing.
                unsafe {
                    let into = tree.base().add(start).cast::<MaybeUninit<u8>>();
                    std::ptr::copy_nonoverlapping(bytes.as_ptr().add(at), into, len);
                }
                at += len;
            });
        }
    }
}

impl Core {
    /// Runs a body until it succeeds, or has failed too often.
    #[cold]
    pub(super) fn run_retrying(&self, local: &mut Local, task: &Owned<'_>) -> Result<(), Error> {
        let mut left = task.extras().map_or(0, |extras| extras.retries);
        let saved = Saved::save(task.args());
        loop {
            let result = self.attempt(local, task);
            if result.is_ok() {
                return result;
            }
            let may_retry = left > 0 && task.record.flags.load(Ordering::Relaxed) & flag::CANCELLED == 0;
            // Where children can never complete there is no next attempt, and they are left to whoever asks for them.
            let retries = may_retry && self.end_attempt(local, task).is_ok();
            // What is left behind by the last attempt does not matter: it is spoiled. Still it is put back, so that
            // whoever looks at it in a debugger finds what was there before.
            saved.restore(task.args());
            if !retries {
                return result;
            }
            left -= 1;
        }
    }

    /// Waits for the children of a failed attempt, and runs them meanwhile. What failed among them is dropped.
    ///
    /// # Errors
    /// When they can never complete.
    pub(super) fn end_attempt(&self, local: &mut Local, task: &Owned<'_>) -> Result<(), Error> {
        let Some(inside) = task.extras().and_then(|extras| extras.inside.clone()) else { return Ok(()) };
        let mut left = inside.take_children().into_iter().filter(|child| !self.is_complete(*child));
        self.as_running(SharedLocal::new(local), task.id, task.record, None, |running| {
            left.try_for_each(|child| self.wait_for_child(running, child))
        })?;
        self.failures.abandon(task.id);
        inside.forget_failures();
        Ok(())
    }
}
