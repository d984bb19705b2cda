//! Showing that a long check is still at work.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use drawloom_graph::{Graph, Order, Report};

/// Work that is over sooner than this is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line is renewed.
const TICK: Duration = Duration::from_millis(250);

/// Checks a graph. On a terminal, a check that takes long says so on standard error and counts the seconds.
pub(crate) fn check(name: &str, graph: &Graph) -> Report {
    during(&format!("checking {name}, {} nodes", graph.nodes().len()), || graph.check())
}

/// Checks and orders a graph, in the same way.
pub(crate) fn order(name: &str, graph: &Graph) -> Result<Order, Report> {
    during(&format!("ordering {name}, {} nodes", graph.nodes().len()), || graph.order())
}

/// Does some work, with a line about it on a terminal when it takes long.
fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    let (done, waiting) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || tick(what, &waiting));
        let result = work();
        // Hanging up ends the ticking, also when the work panics.
        drop(done);
        result
    })
}

fn tick(what: &str, waiting: &mpsc::Receiver<()>) {
    let start = Instant::now();
    let mut shown = false;
    let mut pause = PATIENCE;
    // Failing to write a progress line is no reason to disturb the work.
    while waiting.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let _ = write!(io::stderr().lock(), "\r{what}: {:.1} s", start.elapsed().as_secs_f64());
        shown = true;
        pause = TICK;
    }
    if shown {
        // Back to the start of the line, and nothing left on it.
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}
