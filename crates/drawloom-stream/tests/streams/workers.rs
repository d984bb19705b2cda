//! Several copies of a stream, their order, and runs that are stopped.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use drawloom_stream::{ErrorKind, Running, Settings, Stream, source};
use fastrand::Rng;

use crate::random::{case, run, seeds};
use crate::{loom, munge};

#[test]
fn random_streams_give_the_same_items_on_several_workers() {
    let loom = loom(3);
    // These are larger than those for one worker, so there are fewer.
    for seed in seeds(4000, 20) {
        let mut rng = Rng::with_seed(seed);
        // Few have so many numbers that chunks are larger than they must be, and a copy has more than it can take at once.
        let many = rng.usize(..64) == 0;
        let (numbers, nodes) =
            if many { (rng.u64(100_000..300_000), rng.usize(1..3)) } else { (rng.u64(0..6000), rng.usize(1..6)) };
        let (waits, in_order) = (!many && rng.usize(..4) == 0, rng.bool());
        let mut case = case(&mut rng, numbers, nodes, waits, in_order);
        if case.alone {
            continue;
        }
        if run(&mut case, &loom, seed).is_none() {
            continue;
        }
        for (number, (received, mut expected, ordered)) in case.sinks.into_iter().enumerate() {
            let mut items = received();
            assert!(ordered || !in_order, "what is ordered stays so");
            if !in_order {
                items.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(items, expected, "seed {seed}, sink {number}");
        }
    }
}

#[test]
fn a_plan_runs_again_and_sinks_keep_what_they_have() {
    let mut stream = Stream::new("again").ordered();
    let items = stream.source("numbers", source::range(0..5000));
    let kept = stream.node("keep", items).filter(|n| munge(*n as u32).is_multiple_of(3));
    let kept = stream.collect("kept", kept);
    let plan = stream.plan().unwrap();
    let loom = loom(2);
    let expected: Vec<u64> = (0..5000).filter(|n| munge(*n as u32).is_multiple_of(3)).collect();
    plan.run(&loom).unwrap();
    plan.start(&loom, &Settings::new().workers(1)).unwrap().wait().unwrap();
    assert_eq!(kept.len(), 2 * expected.len());
    assert_eq!(kept.take(), [expected.clone(), expected].concat());
    assert!(kept.is_empty());
}

#[test]
fn runs_of_an_ordered_stream_at_once_stay_apart_and_are_collected_when_they_are_over() {
    let (held, is_held) = mpsc::channel();
    let (go_on, gate) = mpsc::channel::<()>();
    let held = Mutex::new(Some((held, gate)));
    let mut stream = Stream::new("twice").ordered();
    let items = stream.source("numbers", source::range(0..20_000));
    // The first run is held in the middle.
    let items = stream.node("hold", items).map(move |n: &u64| {
        // It is locked for a moment only: the second run comes here too.
        let first = if *n == 15_000 { held.lock().unwrap().take() } else { None };
        if let Some((held, gate)) = first {
            held.send(()).unwrap();
            _ = gate.recv();
        }
        *n
    });
    let result = stream.collect("result", items);
    let (plan, loom) = (stream.plan().unwrap(), loom(4));
    let workers = |from: usize| [from, from + 1].map(|n| loom.worker(n).unwrap());
    let contexts = [0, 2].map(|n| loom.context(format!("c{n}")).workers(workers(n)).create().unwrap());
    let first = plan.start(&loom, &Settings::new().in_context(&contexts[0])).unwrap();
    // When something is wrong it is dropped first, and the run goes on.
    let go_on = go_on;
    is_held.recv().unwrap();
    assert!(result.is_empty() && result.take().is_empty(), "nothing comes of a run that is under way");
    plan.start(&loom, &Settings::new().in_context(&contexts[1])).unwrap().wait().unwrap();
    assert!(result.len() == 20_000 && result.take().into_iter().eq(0..20_000));
    drop(go_on);
    first.wait().unwrap();
    assert!(result.take().into_iter().eq(0..20_000));
}

#[test]
fn two_streams_run_at_once_in_their_own_contexts() {
    let loom = loom(2);
    let contexts = [0, 1].map(|n| loom.context(format!("c{n}")).workers([loom.worker(n).unwrap()]).create().unwrap());
    let running = contexts.map(|context| {
        let mut stream = Stream::new("one");
        let items = stream.source("numbers", source::range(0..10_000));
        let result = stream.collect("all", items);
        let settings = Settings::new().workers(1).in_context(&context);
        (stream.plan().unwrap().start(&loom, &settings).unwrap(), result)
    });
    for (running, result) in running {
        running.wait().unwrap();
        assert!(result.take().into_iter().eq(0..10_000));
    }
}

#[test]
fn a_run_in_a_context_has_all_workers_of_the_context() {
    let loom = loom(2);
    let one = loom.context("one").workers([loom.worker(1).unwrap()]).create().unwrap();
    let mut stream = Stream::new("stream");
    let items = stream.source("numbers", source::range(0..100));
    let result = stream.collect("all", items);
    let plan = stream.plan().unwrap();
    let settings = Settings::new().in_context(&one);
    let report = plan.start(&loom, &settings).unwrap().wait().unwrap();
    assert_eq!((report.workers, result.take().len()), (1, 100));
    let error = plan.start(&loom, &settings.clone().workers(2)).err().unwrap();
    assert_eq!(error.to_string(), "2 workers were asked for stream `stream`; context `one` has 1");

    // What the engine refuses is refused where the user asked for it.
    one.resize([]).unwrap();
    let error = plan.start(&loom, &settings).and_then(Running::wait).unwrap_err();
    assert!(error.kind() == ErrorKind::Engine && error.to_string().contains("workers.rs"), "{error}");
    one.delete().unwrap();
    let error = plan.start(&loom, &settings).err().unwrap();
    assert!(error.kind() == ErrorKind::Engine && error.to_string().contains("`one` was deleted"), "{error}");
}

#[test]
fn a_live_source_brings_items_to_the_end_while_more_may_come() {
    let (to, from) = mpsc::channel();
    let (out, results) = mpsc::sync_channel(10_000);
    let mut stream = Stream::new("live").width(128);
    let items = stream.source("arrivals", source::receiver(from, Duration::from_millis(1)));
    let doubled = stream.node("double", items).map(|n: &u64| n * 2);
    stream.sink("results", doubled, drawloom_stream::sink::sender(out));
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    // Each answer comes back before the next item is sent, though no vector is ever full.
    for n in 0..5 {
        to.send(n).unwrap();
        assert_eq!(results.recv().unwrap(), 2 * n);
    }
    drop(to);
    let report = running.wait().unwrap();
    assert_eq!(report.node("double").unwrap().inputs, 5);
}

#[test]
fn an_item_that_goes_around_for_ever_is_cancelled() {
    let (started, has_started) = mpsc::sync_channel(1);
    let mut stream = Stream::new("around");
    let items = stream.source("one", source::range(0..1));
    let node = stream.node("around", items);
    let again = node.input();
    let back = node.channel::<u64>("again", 1).each(move |n, back| {
        _ = started.try_send(());
        back.push(*n);
    });
    stream.back_edge(back, again, 1);
    let running = stream.plan().unwrap().start(&loom(1), &Settings::new()).unwrap();
    has_started.recv().unwrap();
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}

#[test]
fn a_run_that_would_not_end_is_cancelled() {
    let (started, has_started) = mpsc::sync_channel(1);
    let mut stream = Stream::new("endless");
    let items = stream.source("numbers", source::iter(0_u64..));
    let sink = drawloom_stream::sink::callback(move |_: &[u64]| _ = started.try_send(()));
    stream.sink("nowhere", items, sink);
    let running = stream.plan().unwrap().start(&loom(2), &Settings::new()).unwrap();
    has_started.recv().unwrap();
    running.cancel();
    assert_eq!(running.wait().unwrap_err().kind(), ErrorKind::Cancelled);
}
