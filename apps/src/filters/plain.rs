//! Filters.

use drawloom_stream::{Output, Plan, Result, Sink, Source, Stream, sink, source};

use super::number::{Divisor, munge};
use super::{Program, Request, Tally};

/// Even hashes of the numbers below n.
pub(super) fn even(request: &Request) -> Result<Program> {
    let mut stream = request.stream("evenfilter");
    let numbers = stream.source("numbers", source::indexed(request.n, |i| i as u32));
    let kept = stream.node("even", numbers).select(|number: u32| {
        let hash = munge(number);
        (hash, hash & 1 == 0)
    });
    let tally = Tally::add(&mut stream, "sink", kept, |v| u64::from(*v));
    Program::of(stream, vec![("sink", tally)])
}

/// Even and odd hashes of random numbers.
pub(super) fn split(request: &Request, numbers: Source<u32>) -> Result<Program> {
    let mut stream = request.stream("splitfilter");
    let numbers = stream.source("numbers", numbers);
    let (accept, reject) = stream.node("split", numbers).split(|number: u32| {
        let hash = munge(number);
        (hash, hash & 1 == 0)
    });
    let accepted = Tally::add(&mut stream, "accept", accept, |v| u64::from(*v));
    let rejected = Tally::add(&mut stream, "reject", reject, |v| u64::from(*v));
    Program::of(stream, vec![("accept", accepted), ("reject", rejected)])
}

/// The nodes of ModFilter.
pub(super) const STAGES: [(&str, u32); 3] = [("f1", 2), ("f2", 3), ("f3", 5)];

/// A filter that keeps the hashes that are multiples of a number.
fn multiples(stream: &mut Stream, name: &str, from: Output<u32>, number: u32) -> Output<u32> {
    let divisor = Divisor::new(number);
    stream.node(name, from).select(move |item: u32| {
        let hash = munge(item);
        (hash, divisor.divides(hash))
    })
}

/// Three filters in a row.
pub(super) fn modulo(request: &Request) -> Result<Program> {
    let mut stream = request.stream("modfilter");
    let mut items = stream.source("numbers", source::indexed(request.n, |i| 2 * i as u32));
    for (name, number) in STAGES {
        items = multiples(&mut stream, name, items, number);
    }
    let tally = Tally::add(&mut stream, "sink", items, |v| u64::from(*v));
    Program::of(stream, vec![("sink", tally)])
}

/// Three filters, each in a stream of its own, which reads the buffer that the one before it has written.
pub(super) fn one_after_the_other(request: &Request) -> Result<Program> {
    let request = *request;
    let (first, written) = sink::collect();
    let (second, written_again) = sink::collect();
    let tally = Tally::default();
    let one = filter(&request, request.random(0), STAGES[0], first)?;
    let last = tally.sink(|v| u64::from(*v));
    let stages: Vec<super::Stage> = vec![
        Box::new(move || Ok(one)),
        Box::new(move || filter(&request, source::slice(written.take()), STAGES[1], second)),
        Box::new(move || filter(&request, source::slice(written_again.take()), STAGES[2], last)),
    ];
    Ok(Program { stages, sinks: vec![("sink", tally)] })
}

/// One filter from a buffer to a sink.
fn filter(request: &Request, from: Source<u32>, (name, number): (&str, u32), to: Sink<u32>) -> Result<Plan> {
    let mut stream = request.stream(name);
    let items = stream.source("buffer", from);
    let kept = multiples(&mut stream, name, items, number);
    stream.sink(format!("{name} sink"), kept, to);
    stream.plan()
}
