//! Values that each run may set.

use drawloom_stream::{ErrorKind, Output, Parameter, Settings, Stream, source};

use crate::loom;

/// A module: two nodes that read the same parameter.
fn twice(stream: &mut Stream, name: &str, from: Output<u64>, more: Parameter<u64>) -> Output<u64> {
    let once = stream.node(format!("{name} once"), from).channel::<u64>("out", 1);
    let once = once.run(move |run, out| run.items().iter().for_each(|n| out.push(n + run.parameter(more))));
    let node = stream.node(format!("{name} twice"), once).channel::<u64>("out", 1);
    node.run(move |run, out| run.items().iter().for_each(|n| out.push(n + run.parameter(more))))
}

#[test]
fn a_plan_is_run_with_other_values_without_being_described_anew() {
    let mut stream = Stream::new("parameters").ordered();
    let modulus = stream.parameter("modulus", 2_u64);
    let more = stream.parameter("more", 0_u64);
    let numbers = stream.source("numbers", source::range(0..1000));
    let kept = stream.node("keep", numbers).channel::<u64>("out", 1).run(move |run, out| {
        let modulus = *run.parameter(modulus);
        out.select(run.items(), |n: u64| (n, n.is_multiple_of(modulus)));
    });
    let result = twice(&mut stream, "add", kept, more);
    let result = stream.collect("result", result);
    let plan = stream.plan().unwrap();
    let loom = loom(2);
    let expect = |settings: &Settings, modulus: usize, more: u64| {
        plan.start(&loom, settings).unwrap().wait().unwrap();
        assert!(result.take().into_iter().eq((0..1000).step_by(modulus).map(|n| n + 2 * more)));
    };
    expect(&Settings::new(), 2, 0);
    expect(&Settings::new().set(modulus, 7), 7, 0);
    expect(&Settings::new().set(more, 5).set(modulus, 9).set(modulus, 3), 3, 5);
    expect(&Settings::new(), 2, 0);
}

#[test]
fn values_of_other_streams_are_refused() {
    let mut other = Stream::new("other");
    let foreign = other.parameter("foreign", 1_u32);
    let mut stream = Stream::new("own");
    let numbers = stream.source("numbers", source::range(0..10));
    let node = stream.node("reads", numbers).channel::<u32>("out", 1);
    let read = node.run(move |run, out| out.push(*run.parameter(foreign)));
    stream.discard("nowhere", read);
    let plan = stream.plan().unwrap();
    let error = plan.start(&loom(1), &Settings::new().set(foreign, 2)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Setting);
    assert!(error.to_string().contains("parameter `foreign`"), "{error}");
    assert!(error.to_string().contains("stream `own`"), "{error}");
    let error = plan.run(&loom(1)).unwrap_err();
    assert_eq!((error.kind(), error.node()), (ErrorKind::Panic, Some("reads")), "{error}");
    assert!(error.to_string().contains("parameter `foreign`"), "{error}");
    assert!(format!("{foreign:?}").contains("foreign"), "{foreign:?}");
}
