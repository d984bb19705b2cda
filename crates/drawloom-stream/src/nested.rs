//! Streams that are waited for inside of nodes of other streams.
//!
//! A task of the engine may wait for its children, so a node may start a run and wait for it: that is a child of the task that runs
//! the node's stream. But the copies of a stream wait for each other until all of them are done, and a copy that sleeps gives its
//! worker to nobody. So a run inside of a node of a stream with several copies never gets the workers of the other copies. Such a
//! wait is refused at once, in words of streams, unless it is certain that it needs none of them: when this worker can run it alone,
//! or when those who may run it have no part in the stream around it.
//!
//! A stream with one copy keeps nobody but its own worker, and that worker takes part in what it waits for. Whatever else can
//! go wrong with waits inside of tasks is for the engine to say, after some time: it knows which copies sleep, and so it finds
//! a node that waits for a task which needs them, directly or not.

use std::cell::RefCell;

use drawloom_runtime::{Context, Loom, Member, WorkerId};

use crate::error::{Error, ErrorKind, Result};

/// A stream with several copies, one of which this thread runs.
struct Outer {
    stream: String,
    team: Vec<WorkerId>,
}

thread_local! {
    /// The innermost one is the last.
    static OUTER: RefCell<Vec<Outer>> = const { RefCell::new(Vec::new()) };
}

/// Who is to run a stream that is waited for.
pub(crate) struct Wanted<'a> {
    pub(crate) stream: &'a str,
    pub(crate) workers: usize,
    /// None for all workers of the engine.
    pub(crate) context: Option<&'a Context>,
}

/// Ends when the copy does, however that is.
struct Leave(bool);

impl Drop for Leave {
    fn drop(&mut self) {
        if self.0 {
            OUTER.with_borrow_mut(|outer| _ = outer.pop());
        }
    }
}

/// Runs a member's copy of a stream.
pub(crate) fn inside(stream: &str, member: &Member<'_>, copy: impl FnOnce()) {
    let several = member.size() > 1;
    if several {
        let (stream, team) = (stream.to_owned(), member.workers().to_vec());
        OUTER.with_borrow_mut(|outer| outer.push(Outer { stream, team }));
    }
    let _leave = Leave(several);
    copy();
}

/// Refuses to wait for a run that needs workers which wait for this one.
pub(crate) fn refuse_wait(loom: &Loom, wanted: &Wanted<'_>) -> Result<()> {
    // An engine knows what a task of another one may wait for.
    let Some(own) = loom.current_worker().filter(|_| OUTER.with_borrow(|outer| !outer.is_empty())) else {
        return Ok(());
    };
    let may_come = match wanted.context {
        // A context that is gone cannot run anything, and says so.
        Some(context) => context.workers().unwrap_or_default(),
        None => loom.worker_ids(),
    };
    if wanted.workers == 1 && may_come.contains(&own) {
        return Ok(());
    }
    OUTER.with_borrow(|outer| {
        let Some(outer) = outer.iter().rev().find(|outer| outer.team.iter().any(|w| may_come.contains(w))) else {
            return Ok(());
        };
        let message = format!(
            "a node of stream `{}` waits for stream `{}`, which needs workers that run `{0}` and wait for that node: run it with one \
             worker, in a context of other workers, or before",
            outer.stream, wanted.stream
        );
        Err(Error::new(ErrorKind::Engine, message))
    })
}
