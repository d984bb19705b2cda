//! Showing that a long check is still at work.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use drawloom_graph::check::Options;
use drawloom_graph::{Explanation, Graph, NodeId, Order, Report};

/// Work that is over sooner than this is not worth a word.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the line is renewed.
const TICK: Duration = Duration::from_millis(200);

/// Checks a graph. On a terminal, a check that takes long shows on standard error how far it is.
pub(crate) fn check(name: &str, graph: &Graph) -> Report {
    watched(name, |options| graph.check_with(options))
}

/// Checks and orders a graph, in the same way.
pub(crate) fn order(name: &str, graph: &Graph) -> Result<Order, Report> {
    watched(name, |options| graph.order_with(options))
}

/// Explains two nodes, in the same way. The library takes no options for this, so only the time is shown.
pub(crate) fn explain(name: &str, graph: &Graph, a: NodeId, b: NodeId) -> Result<Explanation, Report> {
    watched(name, |_| graph.explain(a, b))
}

fn watched<T>(name: &str, work: impl FnOnce(&Options<'_>) -> T) -> T {
    if !io::stderr().is_terminal() {
        return work(&Options::default());
    }
    let stage = Mutex::new(Stage { what: "working".to_owned(), done: 0, all: 0 });
    let (at_work, watching) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(|| tick(name, &stage, watching));
        let result = work(&Options {
            progress: &|what, done, all| {
                let mut stage = lock(&stage);
                stage.what.replace_range(.., what);
                (stage.done, stage.all) = (done, all);
            },
            ..Options::default()
        });
        // Hanging up ends the ticking; so does a panic, which drops the sender too.
        drop(at_work);
        result
    })
}

/// What a check is doing, and how far it is.
struct Stage {
    what: String,
    done: u64,
    all: u64,
}

/// Renews the line from a thread of its own: a stage may work for long without a word.
fn tick(name: &str, stage: &Mutex<Stage>, watching: mpsc::Receiver<()>) {
    let start = Instant::now();
    let mut pause = PATIENCE;
    while watching.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let line = line(name, &lock(stage), start.elapsed());
        // Failing to show progress is no reason to disturb the work.
        let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
        pause = TICK;
    }
    if pause == TICK {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}

fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

fn line(name: &str, stage: &Stage, since: Duration) -> String {
    let percent = match stage.all {
        0 => String::new(),
        all => format!(" {:.0} %,", 100.0 * stage.done as f64 / all as f64),
    };
    format!("{name}: {},{percent} {:.1} s", stage.what, since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Stage, line};
    use std::time::Duration;

    #[test]
    fn a_line_says_what_is_done_how_far_and_since_when() {
        let since = Duration::from_millis(1500);
        let mut stage = Stage { what: "ordering".to_owned(), done: 1, all: 4 };
        assert_eq!(line("a.loom", &stage, since), "a.loom: ordering, 25 %, 1.5 s");
        stage.all = 0;
        assert_eq!(line("a.loom", &stage, since), "a.loom: ordering, 1.5 s");
    }
}
