//! What is dropped without an end lets nobody wait for ever.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use drawloom_stream::{Plan, Settings, Stream, sink, source};

use crate::{in_time, loom};

/// So long that no test comes to its end by it.
const NEVER: Duration = Duration::from_secs(3600);

/// A stream from a buffer to a buffer.
fn live() -> (source::Giver<u64>, Plan, sink::Drain<u64>) {
    let (giver, numbers) = source::buffer(1, NEVER);
    let (to, drain) = sink::buffer(1);
    let mut stream = Stream::new("live");
    let numbers = stream.source("numbers", numbers);
    stream.sink("to", numbers, to);
    (giver, stream.plan().unwrap(), drain)
}

#[test]
fn a_run_that_is_dropped_is_cancelled() {
    in_time(|| {
        let (giver, plan, mut drain) = live();
        drop(plan.start(&loom(2), &Settings::new()).unwrap());
        assert_eq!(drain.next(), None);
        assert_eq!(giver.give(1), Err(1));
    });
}

#[test]
fn a_panic_while_a_stream_runs_is_not_held_up_by_it() {
    in_time(|| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let (giver, plan, mut drain) = live();
            let running = plan.start(&loom(1), &Settings::new()).unwrap();
            giver.give(1).unwrap();
            running.flush();
            assert_eq!(drain.len(), 77, "a mistake of the user's");
            drop(giver);
            assert_eq!(drain.next(), None);
            running.wait().unwrap();
        }));
        assert!(panicked.is_err());
    });
}

#[test]
fn a_run_that_is_detached_goes_on() {
    in_time(|| {
        let (giver, plan, drain) = live();
        let loom = loom(1);
        plan.start(&loom, &Settings::new()).unwrap().detach();
        let taker = std::thread::spawn(move || drain.sum::<u64>());
        (0..10).try_for_each(|n| giver.give(n)).unwrap();
        drop(giver);
        assert_eq!(taker.join().unwrap(), 45);
    });
}

#[test]
fn runs_of_one_plan_at_once_share_its_buffers_until_the_last_is_over() {
    in_time(|| {
        // One run gets all items, of which the other one is told the end only.
        let (to, mut drain) = sink::buffer(1);
        let mut stream = Stream::new("twice");
        let limit = stream.parameter("limit", 0_u64);
        let numbers = stream.source("numbers", source::range(0..100));
        let node = stream.node("keep", numbers).channel::<u64>("out", 1).run(move |run, out| {
            let limit = *run.parameter(limit);
            run.items().iter().filter(|n| **n < limit).for_each(|n| out.push(*n));
        });
        stream.sink("to", node, to);
        let plan = stream.plan().unwrap();
        let (one, two) = (loom(1), loom(1));
        let long = plan.start(&one, &Settings::new().set(limit, 100)).unwrap();
        assert_eq!(drain.next(), Some(0));
        plan.run(&two).unwrap();
        assert!(drain.by_ref().eq(1..100), "the first run goes on");
        long.wait().unwrap();

        // The same on the other side: who gives is told when nobody takes any more.
        let (giver, plan, drain) = live();
        let taker = std::thread::spawn(move || drain.count());
        let long = plan.start(&one, &Settings::new()).unwrap();
        let short = plan.start(&two, &Settings::new()).unwrap();
        short.cancel();
        short.wait().unwrap_err();
        (0..10).try_for_each(|n| giver.give(n)).unwrap();
        drop(giver);
        long.wait().unwrap();
        assert!(taker.join().unwrap() <= 10);
    });
}

/// What waits for something that will never run: somebody who gives, and somebody who takes.
fn waits_in_vain(giver: source::Giver<u64>, drain: sink::Drain<u64>, drop_it: impl FnOnce() + Send + 'static) {
    in_time(move || {
        let gives = std::thread::spawn(move || (0..).find_map(|n| giver.give(n).err()));
        let takes = std::thread::spawn(move || drain.count());
        std::thread::sleep(Duration::from_millis(20));
        drop_it();
        assert!(gives.join().unwrap().is_some());
        assert_eq!(takes.join().unwrap(), 0);
    });
}

#[test]
fn who_gives_and_takes_is_told_that_nothing_will_run() {
    // A source and a sink that are in no stream.
    let ((giver, numbers), (to, drain)) = (source::buffer::<u64>(1, NEVER), sink::buffer::<u64>(1));
    waits_in_vain(giver, drain, move || drop((numbers, to)));
    // A stream, and a plan.
    let ((giver, numbers), (to, drain)) = (source::buffer::<u64>(1, NEVER), sink::buffer::<u64>(1));
    let mut stream = Stream::new("dropped");
    let numbers = stream.source("numbers", numbers);
    stream.sink("to", numbers, to);
    waits_in_vain(giver, drain, move || drop(stream));
    let (giver, plan, drain) = live();
    waits_in_vain(giver, drain, move || drop(plan));
    // A stream that is refused.
    let ((giver, numbers), (to, drain)) = (source::buffer::<u64>(1, NEVER), sink::buffer::<u64>(1));
    let mut stream = Stream::new("refused").width(0);
    let numbers = stream.source("numbers", numbers);
    stream.sink("to", numbers, to);
    waits_in_vain(giver, drain, move || drop(stream.plan().unwrap_err()));
}
