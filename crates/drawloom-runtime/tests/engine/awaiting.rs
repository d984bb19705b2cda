//! Futures that are awaited: polled any number of times, by any executor.

use std::future::{Future as _, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use drawloom_runtime::{Loom, Region};

#[derive(Default)]
struct Counts {
    alive: AtomicUsize,
    woken: AtomicUsize,
}

/// A waker that counts itself, and how often it was woken.
struct Counted(Arc<Counts>);

impl Counted {
    fn waker(counts: &Arc<Counts>) -> Waker {
        counts.alive.fetch_add(1, Ordering::Relaxed);
        Waker::from(Arc::new(Counted(Arc::clone(counts))))
    }
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.woken.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_future_keeps_one_waker_however_often_it_is_polled() {
    for same in [true, false] {
        let loom = Loom::builder().workers(1).build().unwrap();
        let x = loom.value("x", 1);
        let guard = x.write().unwrap();
        let mut future = pin!(loom.task("late").read(&x).returns(|x| *x).into_future());
        let counts = Arc::new(Counts::default());
        let mut waker = Counted::waker(&counts);
        for _ in 0..1000 {
            if !same {
                waker = Counted::waker(&counts);
            }
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(counts.alive.load(Ordering::Relaxed), 1, "only the last waker is kept");
        }
        drop(guard);
        loom.wait_all().unwrap();
        assert_eq!(counts.woken.load(Ordering::Relaxed), 1);
        assert!(matches!(future.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(1))));
    }
}
