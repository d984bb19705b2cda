//! Parents and their elements.

use std::sync::Arc;

use drawloom_stream::{Result, source};

use super::number::munge;
use super::{Program, Request, Tally};

/// A piece of the numbers below n.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The first number.
    pub start: u32,
    /// The first number after it.
    pub end: u32,
}

/// Cuts n numbers into segments of random lengths, from none to twice the mean.
pub(super) fn segments(n: u64, mean: u64) -> Vec<Segment> {
    // Numbers are of 32 bits, and a mean of zero would never come to an end.
    let (n, mean) = (n.min(u64::from(u32::MAX)), mean.clamp(1, u64::from(u32::MAX)));
    let mut segments = Vec::new();
    let mut start = 0_u64;
    while start < n {
        let length = u64::from(munge(segments.len() as u32)) % (2 * mean + 1);
        let end = n.min(start + length);
        segments.push(Segment { start: start as u32, end: end as u32 });
        start = end;
    }
    segments
}

/// The sum and number of even hashes in a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Evens {
    count: u64,
    sum: u64,
}

/// One sum for each segment, those without elements included.
pub(super) fn sums(request: &Request) -> Result<Program> {
    let mut stream = request.stream("regionsum");
    let segments = segments(request.n, request.mean_length);
    let segments = stream.source("segments", source::slice(segments));
    let (_, elements) = stream.enumerate("elements", segments, |segment: &Segment| segment.start..segment.end);
    let hashes = stream.node("hash", elements).select(|number: u32| {
        let hash = munge(number);
        (hash, hash & 1 == 0)
    });
    let sums = stream.node("acc", hashes).aggregate_sum(|hash| u64::from(*hash), |count, sum| Evens { count, sum });
    let tally = Tally::add_all(&mut stream, "sink", sums, |evens: &Evens| (evens.count, evens.sum));
    Program::of(stream, vec![("sink", tally)])
}

/// The most pairs in a line of Taxi.
const MOST_PAIRS: u32 = 20;

/// A line of text: a tag, and pairs of numbers in brackets.
fn line(tag: u32) -> String {
    let pairs = munge(tag) % (MOST_PAIRS + 1);
    let millionths = |n: u32, below: u32| munge(n) % below;
    let text = (0..pairs).map(|pair| {
        let (a, b) = (millionths(tag ^ (2 * pair), 180_000_000), millionths(!tag ^ (2 * pair + 1), 90_000_000));
        let number = |n: u32| format!("{}.{:06}", n / 1_000_000, n % 1_000_000);
        format!("[{},{}]", number(a), number(b))
    });
    format!("{tag},\"[{}]\"", text.collect::<Vec<_>>().join(","))
}

/// A pair of numbers, and the tag of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    tag: u32,
    second: f64,
    first: f64,
}

impl Pair {
    /// The pair that begins at a place of a line.
    #[inline]
    pub(super) fn of((tag, text): &Line, at: u32) -> Option<Self> {
        let (pair, _) = text.get(at as usize..)?.split_once(']')?;
        let (first, second) = pair.split_once(',')?;
        Some(Self { tag: *tag, second: second.parse().ok()?, first: first.parse().ok()? })
    }

    /// What the sum adds for it.
    #[inline]
    pub(super) fn value(&self) -> u64 {
        // The tag is part of the result, though only the numbers are added up.
        std::hint::black_box(self.tag);
        (self.first * 1e6).round() as u64 + (self.second * 1e6).round() as u64
    }
}

/// A line of text and its tag, shared by all who look at it.
pub type Line = (u32, Arc<str>);

/// Up to so many lines are made before a stream begins; more would need much memory.
const MOST_LINES: u64 = 1 << 19;

/// The first lines.
pub(super) fn lines(n: u64) -> impl Iterator<Item = Line> {
    (0..n).map(|tag| (tag as u32, Arc::from(line(tag as u32))))
}

/// Whether a line is whole: it begins with its tag, so that it is no headline, and nothing is missing at its end.
#[inline]
pub(super) fn is_whole(text: &str) -> bool {
    match text.as_bytes() {
        // Both without a branch between them: so nobody waits for the one to look at the other.
        [first, .., last] => first.is_ascii_digit() & (*last == b'"'),
        _ => false,
    }
}

/// The characters of a text from a place on, and those behind them.
pub(super) fn signs(text: &str, from: u32) -> (&[u8], &[u8]) {
    let signs = text.as_bytes().get(from as usize..).unwrap_or_default();
    (signs, signs.get(1..).unwrap_or_default())
}

/// Where the text behind a character begins, and whether that may be a pair: the character is a bracket, and the one behind it
/// a digit.
#[inline]
pub(super) fn bracket((at, sign, next): (u32, u8, u8)) -> (u32, bool) {
    (at + 1, (sign == b'[') & next.is_ascii_digit())
}

/// The pairs of numbers in lines of text.
pub(super) fn taxi(request: &Request) -> Result<Program> {
    let mut stream = request.stream("taxi");
    let lines = match request.n {
        n if n <= MOST_LINES => source::slice(lines(n).collect::<Vec<Line>>()),
        n => source::indexed(n, |tag| (tag as u32, Arc::from(line(tag as u32)))),
    };
    let lines = stream.source("lines", lines);
    let (region, places) =
        stream.enumerate("characters", lines, |(_, text): &Line| 0..if is_whole(text) { text.len() as u32 } else { 0 });
    let brackets = stream.node("brackets", places).signals(0, 0).channel::<u32>("out", 1).run(move |run, out| {
        // The characters of a line come in order, and all of them, so those of a run are a piece of the text.
        let (parent, places) = (run.parent(region), run.items());
        if let Some(first) = places.first() {
            let (signs, next) = signs(&parent.1, *first);
            out.select((places, signs, next), bracket);
        }
    });
    let pairs =
        stream.node("pairs", brackets).signals(0, 0).aggregate_channel::<Pair>("out", 1).run(move |run, out| {
            let parent = run.parent(region);
            for at in run.items() {
                if let Some(pair) = Pair::of(&parent, *at) {
                    out.push(pair);
                }
            }
        });
    let tally = Tally::add(&mut stream, "sink", pairs, Pair::value);
    Program::of(stream, vec![("sink", tally)])
}
