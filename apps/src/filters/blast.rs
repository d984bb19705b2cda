//! A search for a sequence in a long one, as BLAST does it: places where a few letters agree are found first, and extended.
//!
//! Most places fall out at the first node, a few become several, and what is left takes a different time each: a pipeline whose
//! nodes see very different numbers of items. Sequences are functions of the place, so that any length can be searched.

use std::sync::Arc;

use drawloom_stream::{Result, source};

use super::number::munge;
use super::{Program, Request, Tally};

/// How many letters must agree for a start.
const SEED: u32 = 8;
/// How long the sequence is that is looked for.
const QUERY: u32 = 256;
/// In each so many letters there is a copy of it in which some letters are others.
const BLOCK: u32 = 10_000;
/// One letter of so many is another.
const MUTATION: u32 = 10;
/// An extension ends when its score is so much below the best.
const DROP: i32 = 5;
/// The least score of a place that is kept.
const LEAST: i32 = 20;

/// A letter of the sequence that is looked for: one of four.
fn query(at: u32) -> u32 {
    munge(at ^ 0x5eed) >> 7 & 3
}

/// A letter of the sequence that is searched.
fn subject(at: u32) -> u32 {
    let random = munge(at ^ 0x00da_7a00);
    let place = at % BLOCK;
    let is_copy = place < QUERY && !(random >> 8).is_multiple_of(MUTATION);
    if is_copy { query(place) } else { random >> 3 & 3 }
}

/// Some letters as a number.
fn word(letter: impl Fn(u32) -> u32, at: u32) -> u32 {
    (at..at + SEED).fold(0, |word, at| word << 2 | letter(at))
}

/// Where each word is in the sequence that is looked for.
struct Index {
    /// For each word, where its places begin in the list.
    starts: Vec<u16>,
    places: Vec<u16>,
}

impl Index {
    fn new() -> Self {
        let mut by_word: Vec<(u32, u16)> = (0..=QUERY - SEED).map(|at| (word(query, at), at as u16)).collect();
        by_word.sort_unstable();
        let before = |word: u32| by_word.partition_point(|(other, _)| *other < word) as u16;
        let starts = (0..=1 << (2 * SEED)).map(before).collect();
        Self { starts, places: by_word.into_iter().map(|(_, at)| at).collect() }
    }

    fn find(&self, word: u32) -> std::ops::Range<u16> {
        self.starts[word as usize]..self.starts[word as usize + 1]
    }
}

/// A place of the one sequence and one of the other where some letters agree.
#[derive(Clone, Copy, Debug)]
struct Hit {
    subject: u32,
    query: u32,
}

impl Hit {
    /// The score of the best extension to both sides, without gaps.
    fn score(&self, length: u32) -> i32 {
        let right = best((SEED..).map_while(|step| {
            let (s, q) = (self.subject.checked_add(step)?, self.query + step);
            (s < length && q < QUERY).then(|| subject(s) == query(q))
        }));
        let left = best((1..).map_while(|step| {
            let (s, q) = (self.subject.checked_sub(step)?, self.query.checked_sub(step)?);
            Some(subject(s) == query(q))
        }));
        SEED as i32 + right + left
    }
}

/// The best score of the first some letters, one for each that agrees and one less for each that does not.
fn best(agree: impl Iterator<Item = bool>) -> i32 {
    let (mut score, mut best) = (0, 0);
    for agrees in agree {
        score += if agrees { 1 } else { -1 };
        best = best.max(score);
        if score < best - DROP {
            break;
        }
    }
    best
}

/// A search in n letters. The sum adds the scores of all places that are kept.
pub(super) fn search(request: &Request) -> Result<Program> {
    let mut stream = request.stream("blast");
    // Letters are numbered with 32 bits.
    let length = u32::try_from(request.n).unwrap_or(u32::MAX);
    let index = Arc::new(Index::new());
    let (known, listed) = (Arc::clone(&index), index);
    let starts = (u64::from(length) + 1).saturating_sub(u64::from(SEED));
    let starts = stream.source("letters", source::indexed(starts, |at| at as u32));
    let seeds = stream.node("seed", starts).filter_map(move |at: &u32| {
        let word = word(subject, *at);
        (!known.find(word).is_empty()).then_some((*at, word))
    });
    let hits = stream.node("hits", seeds).expand(move |(subject, word)| {
        let index = Arc::clone(&listed);
        index.find(word).map(move |at| Hit { subject, query: u32::from(index.places[usize::from(at)]) })
    });
    let scores = stream.node("extend", hits).filter_map(move |hit: &Hit| {
        let score = hit.score(length);
        (score >= LEAST).then_some(score as u32)
    });
    let tally = Tally::add(&mut stream, "sink", scores, |score: &u32| u64::from(*score));
    Program::of(stream, vec![("sink", tally)])
}

/// What the search gives, pair of places after pair of places.
#[cfg(test)]
pub(super) fn search_directly(length: u32) -> (u64, u128) {
    let words: Vec<u32> = (0..=QUERY - SEED).map(|at| word(query, at)).collect();
    let (mut count, mut sum) = (0, 0);
    for at in 0..=length - SEED {
        let word = word(subject, at);
        for (place, _) in words.iter().enumerate().filter(|(_, other)| **other == word) {
            let score = Hit { subject: at, query: place as u32 }.score(length);
            if score >= LEAST {
                count += 1;
                sum += score as u128;
            }
        }
    }
    (count, sum)
}
