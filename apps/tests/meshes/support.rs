//! Every backend, and what one may expect of it.

use drawloom_mesh::{Backend, Events, Executor, Mode, Threads};

/// Backends whose result has the bits of the serial one.
pub(crate) fn exact() -> Vec<Backend> {
    let threads = |workers: usize| Backend::Threads(Threads::new().workers(workers).blocks(workers + 1));
    vec![Backend::Serial, threads(1), threads(2), threads(3)]
}

/// Backends that may add in another order.
pub(crate) fn reordering() -> Vec<Backend> {
    let fast = |workers: usize| Backend::Threads(Threads::new().workers(workers).blocks(workers + 2).mode(Mode::Fast));
    let mut backends = vec![Backend::Debug { seed: 1 }, fast(1), fast(2), fast(3)];
    backends.extend(executors().map(|executor| Backend::Events(Events::new().executor(executor))));
    backends
}

/// All of them.
pub(crate) fn every() -> Vec<Backend> {
    exact().into_iter().chain(reordering()).collect()
}

fn executors() -> impl Iterator<Item = Executor> {
    [
        Executor::Fifo,
        Executor::Lifo,
        Executor::Random { seed: 2 },
        Executor::Delay { probability: 0.5, seed: 3 },
        Executor::Parallel { workers: 2 },
    ]
    .into_iter()
}

/// Fails unless two numbers agree to within a fraction of the second.
#[track_caller]
pub(crate) fn assert_close(found: f64, known: f64, fraction: f64, of: &dyn std::fmt::Debug) {
    assert!((found - known).abs() <= fraction * known.abs(), "{of:?}: {found:e} instead of {known:e}");
}
