//! Streams as tasks of graphs, over regions of the engine.

use std::sync::{Arc, mpsc};

use drawloom_runtime::{Loom, Region};
use drawloom_stream::{Collected, Error, ErrorKind, Given, Place, Settings, Stream, TeamStream, sink, source};

use crate::{loom, munge};

/// Keeps the even hashes of a slice, in order.
fn evens() -> (TeamStream, Place<u32>, Collected<u32>) {
    let mut stream = Stream::new("evens").ordered();
    let (numbers, place) = source::given();
    let numbers = stream.source("numbers", numbers);
    let kept = stream.node("even", numbers).select(|n: u32| (munge(n), munge(n).is_multiple_of(2)));
    let kept = stream.collect("kept", kept);
    (stream.plan().unwrap().in_team(&Settings::new()), place, kept)
}

fn expected(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    numbers.map(munge).filter(|hash| hash.is_multiple_of(2)).collect()
}

#[test]
fn a_stream_reads_and_writes_regions_as_one_task_of_a_graph_that_is_replayed() {
    for loom in [loom(1), loom(3), Loom::serial()] {
        let (stream, place, kept) = evens();
        let a = loom.vector("a", (0..5000).collect::<Vec<u32>>());
        let b = loom.vector("b", vec![0_u32; 5000]);
        let count = loom.value("count", 0_usize);
        let capture = loom.capture("graph");
        capture.task("add").update(&a).run(|a| a.iter_mut().for_each(|n| *n += 1000));
        let most = loom.workers().max(1) as u32;
        capture.task("evens").read(&a).write(&b).write(&count).team(1..=most).run(
            move |member, a, mut b, mut count| {
                stream.run(member, &Given::new().slice(place, a)).unwrap();
                let kept = b.whole(member, |b| {
                    b.fill(0);
                    kept.move_into(b)
                });
                count.whole(member, |count| *count = kept.unwrap_or(0));
            },
        );
        let plan = capture.plan().unwrap();
        for round in 1..4 {
            plan.run().unwrap();
            let expected = expected((0..5000).map(|n| n + 1000 * round));
            assert_eq!(count.get().unwrap(), expected.len());
            assert_eq!(b.read().unwrap()[..expected.len()], expected);
        }
    }
}

#[test]
fn one_stream_is_run_by_several_teams_at_once() {
    let loom = loom(2);
    let mut stream = Stream::new("sums");
    let (numbers, place) = source::given::<u32>();
    let numbers = stream.source("numbers", numbers);
    let kept = stream.node("even", numbers).filter(|n| n % 2 == 0);
    stream.discard("nowhere", kept);
    let stream = Arc::new(stream.plan().unwrap().in_team(&Settings::new()));
    let regions: Vec<_> = (0..20).map(|n| loom.vector(format!("v{n}"), vec![n; 100 * n as usize])).collect();
    let runs = regions.iter().map(|region| {
        let stream = Arc::clone(&stream);
        loom.task("run").read(region).team(1).try_run(move |member, items| {
            let report = stream.run(member, &Given::new().slice(place, items))?;
            Ok::<_, Error>(report.nodes[1].inputs)
        })
    });
    let runs: Vec<_> = runs.collect();
    for (n, run) in (0..20_u64).zip(runs) {
        assert_eq!(run.wait().unwrap(), 100 * n);
    }
}

#[test]
fn a_stream_that_fails_makes_its_task_fail_and_can_be_run_again() {
    let loom = loom(2);
    let mut stream = Stream::new("fails");
    let (numbers, place) = source::given::<u64>();
    let numbers = stream.source("numbers", numbers);
    let kept = stream.node("breaks", numbers).map(|n| {
        assert!(*n != 13, "thirteen");
        *n
    });
    let kept = stream.collect("kept", kept);
    let stream = Arc::new(stream.plan().unwrap().in_team(&Settings::new()));
    for (from, fails) in [(0, true), (20, false), (10, true), (14, false)] {
        let region = loom.vector("numbers", (from..from + 100).collect::<Vec<u64>>());
        let stream = Arc::clone(&stream);
        let task = loom
            .task("run")
            .read(&region)
            .team(1..=2)
            .try_run(move |member, items| stream.run(member, &Given::new().slice(place, items)).map(|_| ()));
        let result = task.wait();
        assert_eq!(result.is_err(), fails);
        if let Err(error) = result {
            assert!(error.to_string().contains("node `breaks` panicked: thirteen"), "{error}");
        } else {
            assert_eq!(kept.take().len(), 100);
        }
        kept.take();
    }
}

#[test]
fn a_stream_inside_of_a_task_is_cancelled() {
    let loom = loom(2);
    let (started, has_started) = mpsc::sync_channel(1);
    let mut stream = Stream::new("endless");
    let items = stream.source("numbers", source::iter(0_u64..));
    stream.sink("nowhere", items, sink::callback(move |_: &[u64]| _ = started.try_send(())));
    let stream = Arc::new(stream.plan().unwrap().in_team(&Settings::new()));
    let theirs = Arc::clone(&stream);
    let task = loom.task("run").team(2).returns(move |member| theirs.run(member, &Given::new()).unwrap_err().kind());
    has_started.recv().unwrap();
    stream.cancel();
    assert_eq!(task.wait().unwrap(), ErrorKind::Cancelled);
}

#[test]
fn a_slice_that_was_not_given_is_missed() {
    let mut stream = Stream::new("missing");
    let (numbers, _) = source::given::<u64>();
    let numbers = stream.source("numbers", numbers);
    stream.discard("nowhere", numbers);
    let error = stream.run(&loom(2)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Source, Some("numbers")));
    assert!(error.to_string().contains("no slice was given"), "{error}");
}
