//! The end of a runtime.

use drawloom_runtime::Loom;

/// A worker that has just decided to sleep when the runtime ends must not miss that. How long it looks for work before it
/// sleeps is tens of microseconds, so the end is tried at many moments around that; a worker that misses it is waited for
/// for ever.
#[test]
fn a_runtime_ends_whatever_its_workers_are_about_to_do() {
    for moment in 0..2000 {
        let loom = Loom::builder().workers(2).build().expect("threads can be started");
        loom.task("last").run(|| ()).wait().expect("an empty task succeeds");
        for _ in 0..moment * 4 {
            std::hint::spin_loop();
        }
        drop(loom);
    }
}
