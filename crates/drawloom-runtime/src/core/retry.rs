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

use super::{Core, Local, RUNNING, Running};
use crate::access::{Arg, Mode};
use crate::data::region::for_each_run;
use crate::error::Error;
use crate::order::scope::Scope;
use crate::sync::Arc;
use crate::sync::atomic::Ordering;
use crate::task::record::{Record, TaskId, flag};

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
    pub(super) fn run_retrying(&self, local: &mut Local, id: TaskId, record: &Record, args: &[Arg]) -> Option<Error> {
        let mut left = self.parts(record).1.map_or(0, |e| e.retries);
        let saved = Saved::save(args);
        let failed = loop {
            let Err(error) = self.attempt(local, id, record, args) else { break None };
            let may_retry = left > 0 && record.flags.load(Ordering::Relaxed) & flag::CANCELLED == 0;
            // Where children can never complete there is no next attempt, and they are left to whoever asks for them.
            let retries = may_retry && self.end_attempt(local, id, record).is_ok();
            // What is left behind by the last attempt does not matter: it is spoiled. Still it is put back, so that
            // whoever looks at it in a debugger finds what was there before.
            saved.restore(args);
            if !retries {
                break Some(error);
            }
            left -= 1;
        };
        self.drop_body(record);
        failed
    }

    /// Waits for the children of a failed attempt, and runs them meanwhile. What failed among them is dropped.
    ///
    /// # Errors
    /// When they can never complete.
    pub(super) fn end_attempt(&self, local: &mut Local, id: TaskId, record: &Record) -> Result<(), Error> {
        let Some(inside) = self.children_of(record) else { return Ok(()) };
        let running = Running { core: self, id, record, local, node: None, outer: RUNNING.get() };
        let before = RUNNING.replace((&raw const running).cast());
        let mut left = inside.take_children().into_iter().filter(|child| !self.is_complete(*child));
        let waited = left.try_for_each(|child| self.wait_for_child(&running, child));
        RUNNING.set(before);
        waited?;
        self.forget_attempt(id, &inside);
        Ok(())
    }

    /// Whether the children of a failed attempt are complete. Then what failed among them is dropped.
    pub(super) fn has_attempt_ended(&self, id: TaskId, record: &Record, children: &mut Vec<TaskId>) -> bool {
        let Some(inside) = self.children_of(record) else { return true };
        children.extend(inside.take_children());
        children.retain(|child| !self.is_complete(*child));
        if !children.is_empty() {
            return false;
        }
        self.forget_attempt(id, &inside);
        true
    }

    /// The scope of a task's children, if it had any.
    fn children_of(&self, record: &Record) -> Option<Arc<Scope>> {
        self.parts(record).1.and_then(|extras| extras.inside.clone())
    }

    fn forget_attempt(&self, id: TaskId, inside: &Scope) {
        self.failures.abandon(id);
        inside.forget_failures();
    }
}
