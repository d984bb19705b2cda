//! Nodes that lead to themselves.

use drawloom_stream::{Result, source};

use super::number::{Divisor, munge};
use super::plain::STAGES;
use super::{Program, Request, Tally};

/// The filters of ModFilter as one node: an item knows which of them is next.
pub(super) fn modulo(request: &Request) -> Result<Program> {
    let mut stream = request.stream("loopfilter");
    let numbers = stream.source("numbers", source::indexed(request.n, |i| (2 * i as u32, 0_u8)));
    let node = stream.node("filter", numbers);
    let again = node.input();
    let divisors = STAGES.map(|(_, number)| Divisor::new(number));
    let (back, out) = node.channel("again", 1).channel("out", 1).each(move |(item, stage): &(u32, u8), (back, out)| {
        let hash = munge(*item);
        let next = stage + 1;
        if divisors[usize::from(*stage)].divides(hash) {
            if usize::from(next) < divisors.len() { back.push((hash, next)) } else { out.push(hash) }
        }
    });
    stream.back_edge(back, again, 1);
    let tally = Tally::add(&mut stream, "sink", out, |v: &u32| u64::from(*v));
    Program::of(stream, vec![("sink", tally)])
}

/// The most iterations at a point.
const MOST: u8 = 255;

/// A point, and where its iteration is.
#[derive(Clone, Copy, Debug)]
struct Point {
    c: (f64, f64),
    z: (f64, f64),
    iterations: u8,
}

impl Point {
    /// One of n points on a square grid over the set.
    fn new(number: u64, side: u64) -> Self {
        let at = |k: u64| k as f64 / side as f64;
        let c = (at(number % side) * 3.0 - 2.25, at(number / side) * 3.0 - 1.5);
        Self { c, z: (0.0, 0.0), iterations: if in_bulbs(c) { MOST } else { 0 } }
    }

    /// One iteration. False when there is none left to do.
    fn step(&mut self) -> bool {
        let (x, y) = self.z;
        if self.iterations == MOST || x * x + y * y > 4.0 {
            return false;
        }
        self.z = (x * x - y * y + self.c.0, 2.0 * x * y + self.c.1);
        self.iterations += 1;
        true
    }
}

/// Whether a point is in the large cardioid or the disc beside it, where no iteration would end.
fn in_bulbs((x, y): (f64, f64)) -> bool {
    let q = (x - 0.25) * (x - 0.25) + y * y;
    q * (q + (x - 0.25)) <= 0.25 * y * y || (x + 1.0) * (x + 1.0) + y * y <= 0.0625
}

/// The side of a square of at least n points.
fn side(n: u64) -> u64 {
    let root = n.isqrt();
    (root + u64::from(root * root < n)).max(1)
}

/// The set at n points.
pub(super) fn mandelbrot(request: &Request) -> Result<Program> {
    let mut stream = request.stream("mandelbrot");
    let side = side(request.n);
    let points = stream.source("points", source::indexed(request.n, move |i| Point::new(i, side)));
    let node = stream.node("iterate", points);
    let again = node.input();
    let (back, done) = node.channel("again", 1).channel("done", 1).each(|point: &Point, (back, done)| {
        let mut point = *point;
        if point.step() { back.push(point) } else { done.push(point) }
    });
    stream.back_edge(back, again, 1);
    let tally = Tally::add(&mut stream, "sink", done, |point: &Point| u64::from(point.iterations));
    Program::of(stream, vec![("sink", tally)])
}

/// What Mandelbrot gives, computed point after point.
#[cfg(test)]
pub(super) fn mandelbrot_directly(n: u64) -> u128 {
    let iterations = |i: u64| {
        let mut point = Point::new(i, side(n));
        while point.step() {}
        u128::from(point.iterations)
    };
    (0..n).map(iterations).sum()
}
