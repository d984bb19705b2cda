//! Progress on standard error, where that is a terminal: a bar while a program runs, and the stage of a long check.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use drawloom_graph::check::Options;
use drawloom_graph::{Explanation, Graph, NodeId, Order, Report};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A check that takes less than this shows nothing.
const GRACE: Duration = Duration::from_secs(1);

/// How often the stage of a check is drawn again.
const TICK: Duration = Duration::from_millis(200);

/// A bar for a number of steps: set its position and its message. It is hidden where standard error is no terminal.
pub(crate) fn bar(name: &'static str, all: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr_with_hz(10));
    bar.with_style(style("{prefix} [{bar:30}] {pos}/{len} {msg}").progress_chars("== ")).with_prefix(name)
}

/// Checks a graph. On a terminal, a check that takes long shows its stage.
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
    let stage = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
        .with_style(style("{prefix}: {msg}, {elapsed}"))
        .with_prefix(name.to_owned())
        .with_message("working");
    let (done, end) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let shown = &stage;
        scope.spawn(move || {
            // Nothing is ever sent: the channel closes at the end of the work, also when that panics.
            if end.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        let result = work(&Options {
            progress: &|what, done, all| {
                stage.set_message(match all {
                    0 => what.to_owned(),
                    all => format!("{what}, {:.0} %", 100.0 * done as f64 / all as f64),
                });
            },
            ..Options::default()
        });
        drop(done);
        result
    })
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates here are valid")
}
