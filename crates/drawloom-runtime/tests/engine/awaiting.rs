//! Futures that are awaited: polled any number of times, by any executor.

use std::future::{Future as _, IntoFuture};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use drawloom_runtime::{Error, ErrorKind, Future, Loom, Region};

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

/// Calls something when it is woken, which a worker does.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// Polls a future of a task that waits for a guard once, with a waker, and lets the task go on.
fn wake_by_a_worker(loom: &Loom, call: impl Fn() + Send + Sync + 'static) {
    let x = loom.value("x", 1);
    let guard = x.write().unwrap();
    let mut future = pin!(loom.task("late").read(&x).returns(|x| *x).into_future());
    let waker = Waker::from(Arc::new(Calls(call)));
    assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop((guard, waker));
    loom.wait_all().unwrap();
}

#[test]
fn a_waker_may_submit_tasks_when_there_is_no_room_for_more() {
    let loom = Loom::builder().workers(1).in_flight(4).build().unwrap();
    let (count, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (inner, counter) = (loom.clone(), Arc::clone(&count));
    let done = Arc::clone(&seen);
    wake_by_a_worker(&loom, move || {
        for _ in 0..100 {
            let counter = Arc::clone(&counter);
            inner.task("more").run(move || {
                counter.fetch_add(1, Ordering::Relaxed);
            });
        }
        done.fetch_add(1, Ordering::Relaxed);
    });
    while seen.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    loom.wait_all().unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 100);
}

#[test]
fn a_waker_that_would_wait_for_what_its_worker_has_to_do_is_told_so() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let (said, heard) = std::sync::mpsc::channel();
    let inner = loom.clone();
    wake_by_a_worker(&loom, move || {
        let other = inner.value("other", 0);
        let task = inner.task("other").update(&other).run(|x| *x += 1);
        let errors = [task.wait().err(), inner.wait_all().err(), other.get().err(), inner.shutdown().err()];
        let _ = said.send(errors.map(|error| error.map(|e| e.to_string())));
    });
    let errors = heard.recv().unwrap().map(Option::unwrap);
    for (error, what) in errors.iter().zip(["task `other`", "all tasks", "region `other`", "shuts the runtime"]) {
        assert!(error.contains("a waker, a destructor or a hook that a worker calls"), "{error}");
        assert!(error.contains(what), "{error}");
    }
    loom.wait_all().unwrap();
}

#[test]
fn a_child_that_ends_wakes_nobody_who_awaits_its_parent() {
    let loom = Loom::builder().workers(1).build().unwrap();
    let x = loom.value("x", 0);
    let guard = x.write().unwrap();
    let (inner, (said, heard), (go, may_go)) = (loom.clone(), std::sync::mpsc::channel(), std::sync::mpsc::channel());
    let may_go = std::sync::Mutex::new(may_go);
    let parent = loom.task("parent").read(&x).run(move |_| {
        let first = inner.task("first").run(|| ());
        inner.task("second").after(&first).run(move || {
            said.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        });
    });
    let mut future = pin!(parent.into_future());
    let counts = Arc::new(Counts::default());
    assert!(future.as_mut().poll(&mut Context::from_waker(&Counted::waker(&counts))).is_pending());
    drop(guard);
    heard.recv().unwrap();
    assert_eq!(counts.woken.load(Ordering::Relaxed), 0);
    go.send(()).unwrap();
    loom.wait_all().unwrap();
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!(counts.woken.load(Ordering::Relaxed), 1);
}

/// What a future says that is polled once, by whoever cannot be woken.
fn poll_once<T: 'static>(future: Future<T>) -> Poll<Result<T, Error>> {
    pin!(future.into_future()).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_task_that_awaits_its_child_runs_it_as_one_that_waits_does() {
    for workers in [1, 2] {
        let loom = Loom::builder().workers(workers).build().unwrap();
        let inner = loom.clone();
        let parent = loom.task("parent").returns(move || {
            let child = inner.task("child").returns(|| 41);
            // A parent that only went to sleep would keep the one worker from ever running the child.
            matches!(poll_once(child), Poll::Ready(Ok(41)))
        });
        assert!(parent.wait().unwrap());
    }
}

#[test]
fn a_task_that_awaits_what_is_not_its_child_is_told_with_both_names() {
    let (loom, other) = (Loom::builder().workers(1).build().unwrap(), Loom::builder().workers(1).build().unwrap());
    for theirs in [&loom, &other] {
        let x = theirs.value("x", 0);
        let guard = x.write().unwrap();
        let outside = theirs.task("outside").read(&x).returns(|x| *x);
        let inside = loom.task("inside").returns(move || poll_once(outside));
        let Poll::Ready(Err(error)) = inside.wait().unwrap() else { panic!("it was not told") };
        assert_eq!(error.kind(), ErrorKind::WaitInTask);
        let text = error.to_string();
        assert!(text.starts_with("task `inside` (") && text.contains("waits for task `outside` ("), "{text}");
        drop(guard);
        theirs.wait_all().unwrap();
    }
}
