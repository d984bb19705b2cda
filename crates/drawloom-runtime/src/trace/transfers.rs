//! What is recorded of transfers between memories.

use drawloom_trace::EventKind;

use super::Tracer;
use crate::policy::WorkerId;
use crate::sync::atomic::Ordering;

/// Records transfers that a thread starts, or sees to be done.
pub(crate) struct TransferLog<'a> {
    tracer: &'a Tracer,
    worker: Option<WorkerId>,
}

impl Tracer {
    /// A log of transfers for a worker, or for a thread that is none.
    pub(crate) fn transfers(&self, worker: Option<WorkerId>) -> TransferLog<'_> {
        TransferLog { tracer: self, worker }
    }
}

impl TransferLog<'_> {
    /// A transfer starts. Returns its number, if anything is recorded.
    pub(crate) fn start(&self) -> Option<u32> {
        self.tracer.is_on().then(|| {
            let number = self.tracer.transferred.fetch_add(1, Ordering::Relaxed);
            self.tracer.of_worker(EventKind::TransferStart, self.worker, number);
            number
        })
    }

    /// A transfer with a number is done. One that started before the recording has no number.
    pub(crate) fn end(&self, number: Option<u32>) {
        if let Some(number) = number {
            self.tracer.of_worker(EventKind::TransferEnd, self.worker, number);
        }
    }
}
