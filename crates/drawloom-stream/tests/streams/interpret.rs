//! What becomes of all that goes through a channel at each kind of node, as a list: the direct interpreter of random streams.

/// What goes through a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Item(u64),
    Begin(u64),
    End,
    Mark(u64),
}

use Event::{Begin, End, Item, Mark};

/// Of which events at the nodes with several channels an event came: the number of each node, and the place among its events.
pub(crate) type Trace = Vec<(usize, usize)>;

/// All that goes through a channel, with what it came of.
pub(crate) type Events = Vec<(Event, Trace)>;

/// What becomes of a list when each event becomes some events.
pub(crate) fn drive(events: &[(Event, Trace)], mut becomes: impl FnMut(Event, &mut Vec<Event>)) -> Events {
    let (mut result, mut some) = (Vec::new(), Vec::new());
    for (event, trace) in events {
        becomes(*event, &mut some);
        result.extend(some.drain(..).map(|event| (event, trace.clone())));
    }
    result
}

/// What becomes of a list when each item becomes some items.
pub(crate) fn each(events: &[(Event, Trace)], mut becomes: impl FnMut(u64, &mut Vec<Event>)) -> Events {
    drive(events, |event, to| match event {
        Item(item) => becomes(item, to),
        other => to.push(other),
    })
}

/// Whether a number goes around no more; and the elements of one that does. A round takes one or two away from it.
pub(crate) fn is_done(n: u64, a: u64) -> bool {
    n % (a + 2) < 2
}

pub(crate) fn elements_of(n: u64, a: u64) -> std::ops::Range<u64> {
    0..(n * 7) % (2 * a + 1)
}

/// What leaves a loop with a region as items that are done, and what aside. Each visit of an item to the head counts for the order.
pub(crate) fn with_rounds(events: &[(Event, Trace)], number: usize, a: u64) -> (Events, Events) {
    let (mut done, mut aside, mut visits) = (Events::new(), Events::new(), 0);
    for (event, trace) in events {
        let mut visit = || {
            visits += 1;
            trace.iter().copied().chain([(number, visits)]).collect::<Trace>()
        };
        let Item(mut n) = *event else {
            let trace = visit();
            done.push((*event, trace.clone()));
            aside.push((*event, trace));
            continue;
        };
        while !is_done(n, a) {
            let stays = elements_of(n - 1, a).filter(|n| n % 2 == 0).count() as u64;
            aside.push((Item(elements_of(n - 1, a).filter(|n| n % 2 == 1).sum()), visit()));
            n = n - 1 - stays % 2;
        }
        done.push((Item(n), visit()));
    }
    (done, aside)
}

/// The sum of each innermost parent, in its place.
pub(crate) fn aggregate(events: &[(Event, Trace)], depth: usize) -> Events {
    let (mut inside, mut sum) = (0, 0_u64);
    drive(events, |event, to| match event {
        Item(item) => sum = sum.wrapping_add(item),
        Mark(_) => to.push(event),
        Begin(_) => {
            inside += 1;
            if inside < depth {
                to.push(event);
            }
        }
        End => {
            to.push(if inside == depth { Item(std::mem::take(&mut sum) % 1000) } else { End });
            inside -= 1;
        }
    })
}

/// Each item with its parent at a depth, and an item more at the end of each innermost parent, if so.
pub(crate) fn with_parents(events: &[(Event, Trace)], at: usize, depth: usize, ends: bool) -> Events {
    let mut parents = Vec::new();
    drive(events, |event, to| match event {
        Item(item) => to.push(Item(item.wrapping_mul(31) % 1000 + parents[at])),
        Begin(parent) => {
            parents.push(parent);
            to.push(event);
        }
        End => {
            to.extend((ends && parents.len() == depth).then(|| Item(parents[at] + 7)));
            parents.pop();
            to.push(End);
        }
        Mark(_) => to.push(event),
    })
}

/// Each item with how many parents at a depth have begun and ended before it, and items at those of the innermost region.
pub(crate) fn with_counts(events: &[(Event, Trace)], at: usize, depth: usize) -> Events {
    let (mut inside, mut seen) = (0, 0);
    drive(events, |event, to| match event {
        Item(item) => to.push(Item(item + seen % 7)),
        Begin(_) => {
            to.push(event);
            inside += 1;
            if inside == at + 1 {
                seen += 1;
                to.extend((inside == depth).then_some(Item(seen % 50)));
            }
        }
        End => {
            if inside == at + 1 {
                seen += 20;
                to.extend((inside == depth).then_some(Item(seen % 50)));
            }
            inside -= 1;
            to.push(End);
        }
        Mark(_) => to.push(event),
    })
}
