//! Random streams give what a direct interpreter gives.
//!
//! The interpreter has no queues: it knows, for each channel, the whole list of what goes through it, and makes the lists of a
//! node's channels from those of its edges. Of each event it knows what it came of, at every node with several channels: where such
//! channels join in an ordered stream, that says what comes first. Streams have splits, joins, loops, expansions, signals, and regions inside of each
//! other; the widths, the room in queues and the places for parents are as small as they can be, or a little larger. Some sinks
//! have room for few items, and make the stream wait. There may be several sources, some of which are live; some items are heavy; and some streams are flushed again and again while they run.
//!
//! `DRAWLOOM_CASES` says how many streams there are, and `DRAWLOOM_SEED` which is the first: others than those of every day.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use drawloom_runtime::Loom;
use drawloom_stream::sink::{self, Drain};
use drawloom_stream::source::Giver;
use drawloom_stream::{Code, Output, Push, Region, Report, Run, Settings, Source, Stream, Tag, source};
use fastrand::Rng;

use crate::interpret::Event::{Begin, End, Item, Mark};
use crate::interpret::{
    Event, Events, Trace, aggregate, drive, each, elements_of, is_done, with_counts, with_parents, with_rounds,
};
use crate::loom;

/// A channel that leads nowhere yet, and all that goes through it.
struct Open {
    output: Output<u64>,
    events: Events,
    regions: Vec<Region<u64>>,
    /// Whether items between two signals are in the order of the list.
    ordered: bool,
    /// All nodes that lead to it, and those of them with several channels that everything comes through.
    nodes: BTreeSet<usize>,
    forks: Vec<usize>,
}

impl Open {
    /// The channel, and all that is known of it.
    fn taken(self) -> (Output<u64>, Known) {
        let Self { output, events, regions, ordered, nodes, forks } = self;
        (output, Known { events, regions, ordered, nodes, forks })
    }
}

/// What is known of a channel that leads somewhere.
struct Known {
    events: Events,
    regions: Vec<Region<u64>>,
    ordered: bool,
    nodes: BTreeSet<usize>,
    forks: Vec<usize>,
}

impl Known {
    /// One behind a node.
    fn behind(&self, number: usize, output: Output<u64>, events: Events) -> Open {
        let nodes = self.nodes.iter().copied().chain([number]).collect();
        Open { output, events, regions: self.regions.clone(), ordered: self.ordered, nodes, forks: self.forks.clone() }
    }

    /// One of the channels of a node that has several.
    fn beside(&self, number: usize, output: Output<u64>, becomes: impl FnMut(u64, &mut Vec<Event>)) -> Open {
        let mut before = self.events.clone();
        before.iter_mut().enumerate().for_each(|(at, (_, trace))| trace.push((number, at)));
        let mut open = self.behind(number, output, each(&before, becomes));
        open.forks.push(number);
        open
    }
}

/// More than this is left alone, if it is more than there were at first.
const MANY: usize = 5000;

/// So many numbers come at once. Handed over one by one they would take too long.
const AT_ONCE: u64 = 10_000;

/// A stream, and what is expected of it.
pub(crate) struct Case {
    pub(crate) stream: Stream,
    pub(crate) sinks: Vec<(Received, Vec<u64>, bool)>,
    /// The sinks that have room for few items, and where those go.
    drains: Vec<(Drain<u64>, Kept)>,
    /// Those who give items to live sources, with how many.
    givers: Vec<(Giver<u64>, u64)>,
    /// How often it is to be flushed while it runs.
    flushes: usize,
    /// Whether what a node does depends on items that come before, so that there can be only one copy.
    pub(crate) alone: bool,
    /// The width of most nodes.
    width: usize,
    /// Whether it keeps the order.
    ordered: bool,
}

/// Where the items of a drain go.
type Kept = Arc<Mutex<Vec<u64>>>;

/// Takes what a sink has received.
pub(crate) type Received = Box<dyn Fn() -> Vec<u64>>;

/// A random stream over so many numbers. Whether some of its sinks make it wait, and whether it keeps the order.
pub(crate) fn case(rng: &mut Rng, numbers: u64, nodes: usize, waits: bool, ordered: bool) -> Case {
    let width = rng.usize(1..20);
    let stream = Stream::new("random").width(width).fuse(rng.bool());
    let stream = if ordered { stream.ordered() } else { stream };
    let stream = match rng.usize(..4) {
        0 => stream.span_regions(false),
        1 => stream.span_regions(true),
        _ => stream,
    };
    // Queues as small as they can be, or a little larger, or as a small memory allows.
    let stream = match rng.usize(..4) {
        0 => stream.memory(1 << rng.u32(12..20)),
        _ => stream.queue_scale(rng.usize(1..4)),
    };
    let mark = stream.signal::<u64>();
    let flushes = if rng.usize(..4) == 0 { rng.usize(1..200) } else { 0 };
    let (sinks, drains, givers) = (Vec::new(), Vec::new(), Vec::new());
    let mut case = Case { stream, sinks, drains, givers, flushes, alone: false, width, ordered };
    // Several sources have an order only where one worker runs them, and joins of them have none.
    let sources = if ordered || rng.usize(..3) > 0 { 1 } else { rng.usize(2..4) };
    let mut open: Vec<Open> = (0..sources).map(|number| begin(&mut case, rng, number, numbers)).collect();
    for number in 0..nodes {
        let one = open.swap_remove(rng.usize(..open.len()));
        if one.events.len() > MANY.max(numbers as usize) {
            open.push(one);
            continue;
        }
        if rng.usize(..5) == 0
            && let Some(at) = open.iter().position(|other| can_join(&one, other, ordered))
        {
            let other = open.swap_remove(at);
            open.push(join(&mut case, number, one, other));
        } else {
            step(&mut case, rng, mark, number, one, &mut open);
        }
    }
    for (number, one) in open.into_iter().enumerate() {
        let name = format!("sink {number}");
        let received: Received = if waits && rng.bool() {
            let (to, drain) = sink::buffer(rng.usize(1..30));
            case.stream.sink(name, one.output, to);
            let received = Kept::default();
            case.drains.push((drain, Arc::clone(&received)));
            Box::new(move || std::mem::take(&mut received.lock().unwrap()))
        } else if rng.usize(..3) == 0 {
            let received = Kept::default();
            let theirs = Arc::clone(&received);
            let call = move |items: &[u64]| theirs.lock().unwrap().extend_from_slice(items);
            case.stream.sink(name, one.output, sink::callback(call));
            Box::new(move || std::mem::take(&mut received.lock().unwrap()))
        } else {
            let collected = case.stream.collect(name, one.output);
            Box::new(move || collected.take())
        };
        let items = one.events.iter().filter_map(|(event, _)| if let Item(item) = event { Some(*item) } else { None });
        case.sinks.push((received, items.collect(), one.ordered));
    }
    case
}

/// Adds a source of some numbers: all of them, or fewer if it is not the first.
fn begin(case: &mut Case, rng: &mut Rng, number: usize, numbers: u64) -> Open {
    let numbers = if number == 0 { numbers } else { rng.u64(0..60) };
    let all = match rng.usize(..6) {
        0 => source::range(0..numbers),
        1 => {
            // Some are heavy to make, so that fewer are made at once.
            let every = 32.max(numbers / 200);
            source::indexed(numbers, move |n| {
                work(n % every == 7, 40);
                n
            })
        }
        2 | 3 => source::slice((0..numbers).collect::<Vec<u64>>()),
        4 => source::iter(0..numbers),
        _ if numbers > AT_ONCE => source::range(0..numbers),
        _ => live(case, rng, numbers),
    };
    let output = case.stream.source(format!("numbers {number}"), all);
    let events = (0..numbers).map(|n| (Item(n), Trace::new())).collect();
    Open { output, events, regions: Vec::new(), ordered: true, nodes: BTreeSet::new(), forks: Vec::new() }
}

/// Works for so many microseconds, if an item is heavy.
fn work(is_heavy: bool, micros: u64) {
    let begun = Instant::now();
    while is_heavy && begun.elapsed() < Duration::from_micros(micros) {}
}

/// A source whose items come while the stream runs.
fn live(case: &mut Case, rng: &mut Rng, numbers: u64) -> Source<u64> {
    let (giver, live) = source::buffer(rng.usize(1..30), Duration::from_micros(rng.u64(..3)));
    case.givers.push((giver, numbers));
    live
}

fn is_same(a: &Region<u64>, b: &Region<u64>) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

/// Edges of one region join. Where both have the user's signals it is not said in which order those come. In an ordered stream the
/// ways to a join have no node in common behind the one where they part.
fn can_join(one: &Open, other: &Open, ordered: bool) -> bool {
    let marked = |open: &Open| open.events.iter().any(|(event, _)| matches!(event, Mark(_)));
    let same =
        one.regions.len() == other.regions.len() && one.regions.iter().zip(&other.regions).all(|(a, b)| is_same(a, b));
    let apart = || {
        let head = parts_at(one, other);
        head.is_some_and(|head| one.nodes.intersection(&other.nodes).all(|node| *node <= head))
    };
    same && !marked(one) && !marked(other) && (!ordered || apart())
}

/// The last node that everything comes through on both ways.
fn parts_at(one: &Open, other: &Open) -> Option<usize> {
    one.forks.iter().zip(&other.forks).take_while(|(a, b)| a == b).map(|(a, _)| *a).last()
}

fn join(case: &mut Case, number: usize, one: Open, other: Open) -> Open {
    let head = parts_at(&one, &other);
    let forks = one.forks.iter().zip(&other.forks).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect();
    let nodes = one.nodes.union(&other.nodes).copied().chain([number]).collect();
    let output = case.stream.node(format!("join {number}"), [one.output, other.output]).map(|n| n ^ 1);
    let mut rest = other.events.into_iter().peekable();
    let mut events = Vec::new();
    let place = |trace: &Trace| trace.iter().find(|(node, _)| Some(*node) == head).map(|(_, at)| *at);
    let is_item = |event: &Event| matches!(event, Item(_));
    for (event, trace) in one.events {
        if case.ordered || !is_item(&event) {
            // What came over the other edge of what was at the head before; if this is a boundary, all before the same one.
            let before = |(_, other): &(Event, Trace)| !case.ordered || place(other) < place(&trace);
            while let Some(one) = rest.next_if(|one| is_item(&one.0) && before(one)) {
                events.push(one);
            }
            if !is_item(&event) {
                while let Some(one) = rest.next_if(|one| is_item(&one.0)) {
                    events.push(one);
                }
                rest.next();
            }
        }
        events.push((event, trace));
    }
    events.extend(rest);
    // What it came of at nodes that not everything comes through is of no use to others.
    let keep =
        |trace: Trace| trace.into_iter().take_while(|(node, _)| head.is_some_and(|head| *node <= head)).collect();
    let events = events.into_iter().map(|(event, trace)| {
        let event = if let Item(item) = event { Item(item ^ 1) } else { event };
        (event, keep(trace))
    });
    Open { output, events: events.collect(), regions: one.regions, ordered: case.ordered, nodes, forks }
}

/// Adds a random node.
fn step(case: &mut Case, rng: &mut Rng, mark: Tag<u64>, number: usize, one: Open, open: &mut Vec<Open>) {
    let ordered = one.ordered;
    let (output, mut one) = one.taken();
    let (events, regions) = (&one.events, one.regions.clone());
    // Nodes of one width may run as one.
    let (a, width) = (rng.u64(1..6), if rng.u32(..3) > 0 { case.width } else { rng.usize(1..20) });
    let stream = &mut case.stream;
    let mut name = |what: &str| format!("{what} {number}");
    match rng.usize(..18) {
        15 => {
            // A function of one item that raises no signals, so that it may run as one with others.
            let node = stream.node(name("makes"), output).width(width).signals(0, 1).channel::<u64>("out", a as usize);
            let output = node.each(move |n, out| (0..n % (a + 1)).for_each(|i| out.push(n + i)));
            let events = each(events, |n, to| to.extend((0..n % (a + 1)).map(|i| Item(n + i))));
            open.push(one.behind(number, output, events));
        }
        16 if !regions.is_empty() => {
            let at = rng.usize(..regions.len());
            let region = regions[at];
            let node = stream.node(name("sees"), output).width(width).signals(0, 0).channel::<u64>("out", 1);
            let output = node.run(move |run, out| {
                let parent = run.items().first().map_or(0, |_| *run.parent(region));
                out.select(run.items(), |n: u64| (n + parent % 10, n % 3 < parent % 4));
            });
            let mut parents = Vec::new();
            let events = drive(events, |event, to| match event {
                Item(n) => {
                    let parent: u64 = parents[at];
                    to.extend((n % 3 < parent % 4).then_some(Item(n + parent % 10)));
                }
                Begin(parent) => {
                    parents.push(parent);
                    to.push(event);
                }
                End => {
                    parents.pop();
                    to.push(event);
                }
                Mark(_) => to.push(event),
            });
            open.push(one.behind(number, output, events));
        }
        17 => {
            // Some items are heavy, but not so many that it takes long.
            let (every, micros) = (rng.u64(20..200).max(events.len() as u64 / 50), rng.u64(1..40));
            let node = stream.node(name("heavy"), output).width(width).fuse(rng.bool());
            let output = node.filter(move |n| {
                work(n % every == 7, micros);
                n % 7 != a
            });
            let events = each(events, |n, to| to.extend((n % 7 != a).then_some(Item(n))));
            open.push(one.behind(number, output, events));
        }
        11 | 12 => {
            let node = stream.node(name("select"), output).width(width);
            let output = node.select(move |n: u64| (n + a, n % 5 < a));
            let events = each(events, |n, to| to.extend((n % 5 < a).then_some(Item(n + a))));
            open.push(one.behind(number, output, events));
        }
        13 => {
            let code = move |n: u64| (n + a, n % 3 < a);
            let (accept, reject) = stream.node(name("split"), output).width(width).split(code);
            for (output, flag) in [(accept, true), (reject, false)] {
                let becomes = |n, to: &mut Vec<Event>| to.extend((code(n).1 == flag).then_some(Item(n + a)));
                open.push(one.beside(number, output, becomes));
            }
        }
        0 => {
            let output = stream
                .node(name("filter"), output)
                .width(width)
                .fuse(rng.usize(..6) > 0)
                .filter(move |n| n % (a + 1) != 0);
            let events = each(events, |n, to| to.extend((n % (a + 1) != 0).then_some(Item(n))));
            open.push(one.behind(number, output, events));
        }
        1 => {
            let node = stream.node(name("split"), output).width(width).signals(rng.usize(..2), 1);
            let node = node.channel::<u64>("left", a as usize).channel::<u64>("right", 1);
            let (left, right) = node.each(move |n, (left, right)| {
                (0..n % (a + 1)).for_each(|i| left.push(n + i));
                if n % 3 == 0 {
                    right.push(n / 3);
                }
            });
            open.push(one.beside(number, left, |n, to| to.extend((0..n % (a + 1)).map(|i| Item(n + i)))));
            open.push(one.beside(number, right, |n, to| to.extend((n % 3 == 0).then_some(Item(n / 3)))));
        }
        2 => {
            let output = stream.node(name("expand"), output).width(width).expand(move |n| n..n + n % (4 * a));
            let events = each(events, |n, to| to.extend((n..n + n % (4 * a)).map(Item)));
            open.push(one.behind(number, output, events));
        }
        3 | 4 if regions.len() < 3 => {
            let (region, output) =
                stream.enumerate_with(name("enumerate"), output, rng.usize(1..4), move |n| *n..n + (n * 7) % (3 * a));
            let events = each(events, |n, to| {
                to.push(Begin(n));
                to.extend((n..n + (n * 7) % (3 * a)).map(Item));
                to.push(End);
            });
            one.regions.push(region);
            open.push(one.behind(number, output, events));
        }
        5 | 6 if !regions.is_empty() => {
            let node = stream.node(name("aggregate"), output).width(width);
            let output = if rng.bool() {
                node.aggregate(|| 0_u64, |sum, n| *sum = sum.wrapping_add(*n), |sum| sum % 1000)
            } else {
                node.aggregate_sum(|n| *n, |_, sum| sum % 1000)
            };
            let events = aggregate(events, regions.len());
            one.regions.pop();
            open.push(one.behind(number, output, events));
        }
        7 if !regions.is_empty() => {
            // Items are marked with the parent in any of the regions around them, and each parent with its end.
            let at = rng.usize(..regions.len());
            let region = regions[at];
            let node = stream.node(name("parent"), output).width(width).channel::<u64>("out", 1);
            let code = move |run: &mut Run<'_, u64>, out: &mut Push<'_, u64>| {
                let parent = *run.parent(region);
                run.items().iter().for_each(|n| out.push(n.wrapping_mul(31) % 1000 + parent));
            };
            let ends = rng.bool();
            let output = match ends {
                true => node.end(move |run, out| out.push(*run.parent(region) + 7)).run(code),
                false => node.signals(0, 0).run(code),
            };
            let events = with_parents(events, at, regions.len(), ends);
            open.push(one.behind(number, output, events));
        }
        14 if ordered && !regions.is_empty() => {
            // Begins and ends of the parents of any region around are counted; at those of the innermost one an item more comes.
            case.alone = true;
            let at = rng.usize(..regions.len());
            let (region, innermost) = (regions[at], at + 1 == regions.len());
            let node = stream.node(name("count"), output).width(width).state(|| 0_u64).channel::<u64>("out", 1);
            let hook = move |more: u64| {
                move |run: &mut Run<'_, u64, u64>, out: &mut Push<'_, u64>| {
                    *run.state() += more;
                    if innermost {
                        out.push(*run.state() % 50);
                    }
                }
            };
            let output = node.on_begin(region, hook(1)).on_end(region, hook(20)).run(|run, out| {
                let (items, seen) = (run.items(), *run.state());
                items.iter().for_each(|n| out.push(n + seen % 7));
            });
            let events = with_counts(events, at, regions.len());
            open.push(one.behind(number, output, events));
        }
        8 if ordered => {
            let node = stream.node(name("mark"), output).width(width).signals(width, 1).channel::<u64>("out", 2);
            let output = node.each(move |n, out| {
                out.push(*n);
                if n % (a + 3) == 1 {
                    out.raise(mark, *n);
                }
                if n % 2 == 0 {
                    out.push(n + 1);
                }
            });
            let events = each(events, |n, to| {
                to.push(Item(n));
                to.extend((n % (a + 3) == 1).then_some(Mark(n)));
                to.extend((n % 2 == 0).then_some(Item(n + 1)));
            });
            open.push(one.behind(number, output, events));
        }
        9 => {
            case.alone = true;
            let node = stream.node(name("last mark"), output).width(width).state(|| 0).channel::<u64>("out", 1);
            let output = node.on(mark, |run, _, value| *run.state() = *value).run(|run, out| {
                let (items, last) = (run.items(), *run.state());
                items.iter().for_each(|n| out.push(n + last));
            });
            let mut last = 0;
            let events = drive(events, |event, to| match event {
                Item(item) => to.push(Item(item + last)),
                Mark(value) => last = value,
                other => to.push(other),
            });
            open.push(one.behind(number, output, events));
        }
        10 => {
            one.ordered = case.ordered;
            let (done, aside) = turn_with_region(stream, rng, &mut name, width, output, a);
            let (done_events, aside_events) = with_rounds(events, number, a);
            for (output, events) in [(done, done_events), (aside, aside_events)] {
                let mut open_one = one.behind(number, output, events);
                open_one.forks.push(number);
                open.push(open_one);
            }
        }
        _ => {
            let output = turn(stream, rng, &mut name, width, output, a);
            let events = each(events, |n, to| to.push(Item(n - n % (a + 1))));
            one.ordered = case.ordered;
            open.push(one.behind(number, output, events));
        }
    }
}

/// A loop in which each item goes around some times, through one node or two.
fn turn(
    stream: &mut Stream,
    rng: &mut Rng,
    name: &mut impl FnMut(&str) -> String,
    width: usize,
    output: Output<u64>,
    a: u64,
) -> Output<u64> {
    let node = stream.node(name("loop"), output).width(width);
    let again = node.input();
    let (back, done) = node
        .channel::<u64>("again", 1)
        .channel::<u64>("done", 1)
        .each(move |n, (back, done)| if n % (a + 1) == 0 { done.push(*n) } else { back.push(n - 1) });
    let back = if rng.bool() { stream.node(name("back"), back).map(|n| *n) } else { back };
    stream.back_edge(back, again, rng.usize(1..3));
    done
}

/// A loop with a region in it, whose parents go around. Of the elements of each parent some decide what it is in the next round, and
/// the sum of the others leaves the loop.
fn turn_with_region(
    stream: &mut Stream,
    rng: &mut Rng,
    name: &mut impl FnMut(&str) -> String,
    width: usize,
    output: Output<u64>,
    a: u64,
) -> (Output<u64>, Output<u64>) {
    let node = stream.node(name("loop"), output).width(width);
    let again = node.input();
    let (back, done) = node
        .channel::<u64>("again", 1)
        .channel::<u64>("done", 1)
        .each(move |n, (back, done)| if is_done(*n, a) { done.push(*n) } else { back.push(n - 1) });
    let back = if rng.bool() { stream.node(name("to elements"), back).map(|n| *n) } else { back };
    let (parent, elements) =
        stream.enumerate_with(name("elements"), back, rng.usize(1..4), move |n| elements_of(*n, a));
    let elements = if rng.bool() {
        // Each element is a parent too.
        let (_, ones) = stream.enumerate_with(name("ones"), elements, rng.usize(1..4), |n| 0..*n);
        stream.node(name("sum of ones"), ones).width(width).aggregate(
            || 0_u64,
            |sum, _| *sum = sum.wrapping_add(1),
            |sum| sum,
        )
    } else {
        elements
    };
    let (stays, leaves) = stream.node(name("part"), elements).width(rng.usize(1..20)).split(|n| (n, n % 2 == 0));
    let aside = stream.node(name("aside"), leaves).width(width).aggregate(|| 0, |sum, n| *sum += n, |sum| sum);
    let node = stream.node(name("next"), stays).width(width).state(|| 0_u64).aggregate_channel::<u64>("out", 1);
    let next = node.end(move |run, out| {
        let stays = std::mem::take(run.state());
        out.push(*run.parent(parent) - stays % 2);
    });
    let next = next.run(|run, _| *run.state() += run.items().len() as u64);
    let next = if rng.bool() { stream.node(name("back"), next).map(|n| *n) } else { next };
    stream.back_edge(next, again, rng.usize(1..3));
    (done, aside)
}

/// Runs a stream. None when the memory that it may use is too small.
pub(crate) fn run(case: &mut Case, loom: &Loom, seed: u64) -> Option<Report> {
    let stream = std::mem::replace(&mut case.stream, Stream::new("gone"));
    let plan = match stream.plan() {
        Ok(plan) => plan,
        Err(error) if error.diagnostics().iter().all(|d| d.code() == Code::Memory) => return None,
        Err(error) => panic!("seed {seed}: {error}"),
    };
    std::thread::scope(|scope| {
        for (giver, numbers) in case.givers.drain(..) {
            // A run that fails takes no more.
            scope.spawn(move || (0..numbers).try_for_each(|n| giver.give(n)));
        }
        for (drain, to) in case.drains.drain(..) {
            scope.spawn(move || to.lock().unwrap().extend(drain));
        }
        let running = plan.start(loom, &Settings::new()).unwrap();
        (0..case.flushes).for_each(|_| running.flush());
        Some(running.wait().unwrap_or_else(|error| panic!("seed {seed}: {error}")))
    })
}

/// The seeds of so many cases, or of those that somebody asked for: one of so many.
pub(crate) fn seeds(few: u64, of: u64) -> Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (first, cases) = (number("DRAWLOOM_SEED").unwrap_or(0), number("DRAWLOOM_CASES").unwrap_or(few));
    first..first + cases / of
}

#[test]
fn random_streams_give_what_the_interpreter_gives() {
    let (loom, seeds) = (loom(1), seeds(1500, 1));
    let cases = seeds.end - seeds.start;
    let (mut refused, mut fused) = (0, 0);
    for seed in seeds {
        let mut rng = Rng::with_seed(seed);
        let numbers = rng.u64(0..150);
        let nodes = rng.usize(1..12);
        let waits = rng.usize(..4) == 0;
        let in_order = rng.bool();
        let mut case = case(&mut rng, numbers, nodes, waits, in_order);
        let Some(report) = run(&mut case, &loom, seed) else {
            refused += 1;
            continue;
        };
        for (number, (received, mut expected, ordered)) in case.sinks.into_iter().enumerate() {
            let mut items = received();
            assert!(ordered || !in_order, "what is ordered stays so");
            if !ordered {
                items.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(items, expected, "seed {seed}, sink {number}");
        }
        for edge in &report.edges {
            assert!(edge.high_water <= edge.capacity, "seed {seed}: {edge:?}");
        }
        fused += u64::from(report.nodes.iter().any(|node| node.fused_into.is_some()));
    }
    assert!(fused > cases / 8, "in {fused} of {cases} some nodes run as one");
    assert!(refused < cases / 10, "{refused} of {cases} need more memory than they may use");
}
