//! Nodes that make several items of one.

use drawloom_stream::{Push, Result, Run, source};

use super::number::munge;
use super::{Program, Request, Tally};

/// The most items that a node of SynthGain may make of one.
const MOST: usize = 16;
const GAINS: [(&str, f64); 5] = [("gain1", 0.25), ("gain2", 11.5), ("gain3", 0.125), ("gain4", 0.25), ("gain5", 0.5)];

/// Rounds of hashing.
fn work(item: u32, rounds: u32) -> u32 {
    (0..rounds).fold(item, |value, _| munge(value))
}

/// Fixed gains: the first items of a vector get one copy more, so that the whole vector has the gain.
pub(super) fn synthetic(request: &Request) -> Result<Program> {
    let mut stream = request.stream("synthgain");
    let mut items = stream.source("numbers", source::indexed(request.n, |i| i as u32));
    let rounds = request.work;
    for (name, gain) in GAINS {
        let copies = move |run: &mut Run<'_, u32>, out: &mut Push<'_, u32>| {
            let items = run.items();
            let more = (items.len() as f64 * gain.fract()).floor() as usize;
            for (lane, item) in items.iter().enumerate() {
                for _ in 0..gain.floor() as usize + usize::from(lane < more) {
                    out.push(work(*item, rounds));
                }
            }
        };
        items = stream.node(name, items).channel::<u32>("out", MOST).run(copies);
    }
    let tally = Tally::add(&mut stream, "sink", items, |v| u64::from(*v));
    Program::of(stream, vec![("sink", tally)])
}

/// What goes through SameTypePipe: an identifier, and what is computed on the way.
#[derive(Clone, Copy, Default)]
struct Priced {
    id: u32,
    price: f64,
}

/// The price of an option by the formula of Black and Scholes, as work that depends on the item.
fn price(id: u32, rounds: u32) -> f64 {
    let mut price = 0.0;
    for round in 0..rounds {
        let (spot, strike) = (50.0 + f64::from(id % 100), 60.0 + f64::from(round % 50));
        let (rate, volatility, years) = (0.02, 0.3, 1.0_f64);
        let spread = volatility * years.sqrt();
        let d1 = ((spot / strike).ln() + (rate + volatility * volatility / 2.0) * years) / spread;
        price += spot * normal(d1) - strike * (-rate * years).exp() * normal(d1 - spread);
    }
    price
}

/// The normal distribution, by the approximation of Abramowitz and Stegun (26.2.17).
fn normal(x: f64) -> f64 {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let tail =
        k * (0.319_381_53 + k * (-0.356_563_782 + k * (1.781_477_937 + k * (-1.821_255_978 + k * 1.330_274_429))));
    let below = (-x * x / 2.0).exp() * 0.398_942_28 * tail;
    if x < 0.0 { below } else { 1.0 - below }
}

/// Identifiers are ten multiples of this, below the first bound.
const STEP: u32 = 1 << 20;

/// Five nodes of one kind, each of which halves the bound below which it keeps.
pub(super) fn same_type(request: &Request) -> Result<Program> {
    let mut stream = request.stream("sametypepipe");
    let numbers = stream.source("numbers", request.random(1919));
    let rounds = request.work;
    let mut items = stream.node("identify", numbers).map(|number| Priced { id: number % 10 * STEP, price: 0.0 });
    let mut bound = 10 * STEP;
    for name in ["pipe1", "pipe2", "pipe3", "pipe4", "pipe5"] {
        bound /= 2;
        items = stream.node(name, items).filter_map(move |item: &Priced| {
            let price = item.price + price(item.id, rounds);
            (item.id < bound).then_some(Priced { price, ..*item })
        });
    }
    let tally = Tally::add(&mut stream, "sink", items, |item: &Priced| {
        // The price must be computed, though only the identifiers count.
        std::hint::black_box(item.price);
        u64::from(item.id)
    });
    Program::of(stream, vec![("sink", tally)])
}

/// Odd hashes become up to 39 items, of which some are kept.
pub(super) fn interrupted(request: &Request) -> Result<Program> {
    let mut stream = request.stream("interruptsim");
    let numbers = stream.source("numbers", source::indexed(request.n, |i| i as u32));
    let odd = stream.node("odd", numbers).select(|number: u32| {
        let hash = munge(number);
        (hash, hash & 1 == 1)
    });
    let many = stream.node("expand", odd).expand(|hash| {
        let count = munge(hash) % 40;
        (0..count).map(move |j| count + j)
    });
    let kept = stream.node("even", many).select(|item: u32| {
        let hash = munge(item);
        (hash, hash & 1 == 0)
    });
    let tally = Tally::add(&mut stream, "sink", kept, |v| u64::from(*v));
    Program::of(stream, vec![("sink", tally)])
}
