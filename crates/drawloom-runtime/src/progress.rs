//! Telling the application how a long run goes on.

use std::fmt;
use std::time::Duration;

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::panic;
use crate::stats::Stats;
use crate::sync::Arc;

/// What the application wants to be told.
#[derive(Clone)]
pub(crate) struct Callback(Arc<dyn Fn(&Stats) + Send + Sync>);

impl Callback {
    pub(crate) fn new(callback: impl Fn(&Stats) + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

/// The thread that calls back. It ends when this is dropped.
pub(crate) struct Reporter {
    // Dropping the sender wakes the thread, and tells it to end.
    stop: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Reporter {
    pub(crate) fn start(core: &Arc<Core>, interval: Duration, callback: Callback) -> Result<Self> {
        let core = Arc::clone(core);
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        // Never less than this, so that an interval of zero does not keep a processor busy.
        let interval = interval.max(Duration::from_millis(1));
        let report = move || {
            while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(interval) {
                // A callback that panics once is called again: it is not part of the run.
                let _ = panic::catch(|| (callback.0)(&core.stats()));
            }
        };
        let thread = std::thread::Builder::new()
            .name("drawloom-progress".to_owned())
            .spawn(report)
            .map_err(|e| Error::new(ErrorKind::System, format!("cannot start a thread for progress: {e}")))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // The callback's panics were caught.
            let _ = thread.join();
        }
    }
}
